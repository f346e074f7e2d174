//! One variant of a kernel, or all of them: on the command line and in reports.

use std::error::Error;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<V> {
    /// One variant.
    One(V),
    /// Every variant.
    All,
}

impl<V: Copy> Choice<V> {
    /// A parser for one of `names`, or `all`.
    pub fn parser(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = Choice<V>>
    where
        V: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Send + Sync + 'static,
    {
        PossibleValuesParser::new(names.into_iter().chain(["all"])).try_map(|name| match name.as_str() {
            "all" => Ok(Choice::All),
            name => name.parse().map(Choice::One),
        })
    }

    /// Runs the one variant, or each of `all`.
    ///
    /// # Errors
    /// The first error of `run`.
    pub fn run<R: Verdict, E>(self, all: &[V], mut run: impl FnMut(V) -> Result<R, E>) -> Result<Results<R>, E> {
        Ok(match self {
            Choice::One(variant) => Results::One(run(variant)?),
            Choice::All => {
                let variants = all.iter().map(|&variant| run(variant)).collect::<Result<Vec<R>, E>>()?;
                Results::All { variant: "all", ok: variants.iter().all(Verdict::is_ok), variants }
            }
        })
    }
}

/// A result that is right or wrong.
pub trait Verdict {
    /// Whether it is right.
    fn is_ok(&self) -> bool;
}

/// What came of it. In JSON, the fields of the one result, or an array `variants` of all.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Results<R> {
    /// Of one variant.
    One(R),
    /// Of every variant.
    All {
        /// `all`.
        variant: &'static str,
        /// Whether all are right.
        ok: bool,
        /// Their results.
        variants: Vec<R>,
    },
}

impl<R> Results<R> {
    /// All results.
    pub fn as_slice(&self) -> &[R] {
        match self {
            Results::One(result) => std::slice::from_ref(result),
            Results::All { variants, .. } => variants,
        }
    }
}

impl<R: Verdict> Verdict for Results<R> {
    fn is_ok(&self) -> bool {
        self.as_slice().iter().all(Verdict::is_ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize)]
    struct Square {
        square: u32,
        ok: bool,
    }

    impl Verdict for Square {
        fn is_ok(&self) -> bool {
            self.ok
        }
    }

    fn square(n: u32) -> Result<Square, &'static str> {
        if n < 9 { Ok(Square { square: n * n, ok: n != 8 }) } else { Err("too large") }
    }

    fn json(choice: Choice<u32>, all: &[u32]) -> String {
        serde_json::to_string(&choice.run(all, square).unwrap()).unwrap()
    }

    #[test]
    fn runs_one_or_all() {
        assert_eq!(json(Choice::One(2), &[1, 2]), r#"{"square":4,"ok":true}"#);
        assert_eq!(
            json(Choice::All, &[1, 8]),
            r#"{"variant":"all","ok":false,"variants":[{"square":1,"ok":true},{"square":64,"ok":false}]}"#
        );
        assert!(Choice::All.run(&[1, 2], square).unwrap().is_ok());
        assert!(!Choice::One(8).run(&[1, 2], square).unwrap().is_ok());
        assert_eq!(Choice::All.run(&[1, 9], square).unwrap_err(), "too large");
    }
}
