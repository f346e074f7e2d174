//! Tests under many schedules.
//!
//! A kernel that is wrong in some order of its threads may be right in all orders that a test happens to run. A
//! [seed](crate::Config::seed) gives an order of its own, so a test that runs under many seeds sees many orders, and
//! the one that fails can be run again:
//!
//! ```
//! use ptx_sim::schedules::Seeds;
//! use ptx_sim::{Config, Simulator};
//!
//! Seeds::from_environment(4)?.try_each(|seed| {
//!     let mut simulator = Simulator::new(Config { seed, ..Config::default() });
//!     // Upload, launch, compare: an `Err` or a panic ends the test, and is said to be that of this seed.
//! #   simulator.allocate(4)?;
//!     Ok::<(), Box<dyn std::error::Error>>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `PTX_SIM_SEEDS=64` | no seed, then the seeds from 0 to 63, whatever number the test asks for |
//! | `PTX_SIM_SEED=17` | this seed only |
//! | `PTX_SIM_SEED=none` | no seed only |
//!
//! What the outcome of a schedule can show is an order of whole instructions: each is executed at once, and all threads
//! see its effect. A fence that is missing changes no outcome; it is found as a [race](crate#races).

use std::fmt;

/// The variable that names one seed.
pub const SEED_VARIABLE: &str = "PTX_SIM_SEED";
/// The variable that says how many seeds.
pub const SEEDS_VARIABLE: &str = "PTX_SIM_SEEDS";

/// The schedules that a test runs under: values for [`Config::seed`](crate::Config::seed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds(Which);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Only(Option<u64>),
    First(u64),
}

/// An environment variable that says something else than seeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value}: {expected}")]
pub struct BadVariable {
    /// The variable.
    pub variable: &'static str,
    /// What it says.
    pub value: String,
    expected: &'static str,
}

/// A test that failed, with the schedule under which it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSchedule<E> {
    /// The seed.
    pub seed: Option<u64>,
    /// What to set to run this schedule again.
    pub repeat: String,
    /// How the test failed.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for FailedSchedule<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.error, Note { seed: self.seed, repeat: &self.repeat })
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for FailedSchedule<E> {}

/// Which schedule failed, and how to run it again.
struct Note<'a> {
    seed: Option<u64>,
    repeat: &'a str,
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            Some(seed) => write!(f, "under seed {seed}; {} repeats it", self.repeat),
            None => write!(f, "under no seed; {} repeats it", self.repeat),
        }
    }
}

/// Prints the note of a test that panics.
struct OnPanic<'a>(Note<'a>);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

impl Seeds {
    /// No seed, then the seeds from 0 on, `count` of them.
    #[must_use]
    pub const fn first(count: u64) -> Seeds {
        Seeds(Which::First(count))
    }

    /// This seed, or none, and no other.
    #[must_use]
    pub const fn only(seed: Option<u64>) -> Seeds {
        Seeds(Which::Only(seed))
    }

    /// What the [variables](self) say; where they say nothing, no seed and the first `default` seeds.
    ///
    /// # Errors
    /// If a variable is neither empty nor a number (or `none`, where that is allowed).
    pub fn from_environment(default: u64) -> Result<Seeds, BadVariable> {
        let read = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Seeds::from_values(read(SEED_VARIABLE), read(SEEDS_VARIABLE), default)
    }

    fn from_values(seed: Option<String>, seeds: Option<String>, default: u64) -> Result<Seeds, BadVariable> {
        let bad = |variable, value, expected| BadVariable { variable, value, expected };
        let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
        if let Some(value) = given(seed) {
            return match value.trim() {
                "none" => Ok(Seeds::only(None)),
                number => match number.parse() {
                    Ok(seed) => Ok(Seeds::only(Some(seed))),
                    Err(_) => Err(bad(SEED_VARIABLE, value, "give the number of a seed, or `none`")),
                },
            };
        }
        let Some(value) = given(seeds) else { return Ok(Seeds::first(default)) };
        match value.trim().parse() {
            Ok(count) => Ok(Seeds::first(count)),
            Err(_) => Err(bad(SEEDS_VARIABLE, value, "give a number of seeds")),
        }
    }

    /// The seeds, in the order in which tests run under them.
    pub fn iter(self) -> impl Iterator<Item = Option<u64>> {
        let (only, count) = match self.0 {
            Which::Only(seed) => (seed, 0),
            Which::First(count) => (None, count),
        };
        std::iter::once(only).chain((0..count).map(Some))
    }

    /// Runs `test` with each seed until one fails. If it panics, the seed is printed to the standard error.
    ///
    /// # Errors
    /// The first failure.
    pub fn try_each<E>(self, test: impl FnMut(Option<u64>) -> Result<(), E>) -> Result<(), FailedSchedule<E>> {
        self.try_each_named(Seeds::repeat, test)
    }

    /// The setting that has a test run with this seed only, such as `PTX_SIM_SEED=17`.
    #[must_use]
    pub fn repeat(seed: Option<u64>) -> String {
        format!("{SEED_VARIABLE}={}", seed.map_or_else(|| "none".to_owned(), |seed| seed.to_string()))
    }

    /// [`Seeds::try_each`] where something else than `PTX_SIM_SEED` runs a schedule again: `repeat` says what.
    ///
    /// # Errors
    /// As [`Seeds::try_each`].
    pub fn try_each_named<E>(
        self,
        repeat: impl Fn(Option<u64>) -> String,
        mut test: impl FnMut(Option<u64>) -> Result<(), E>,
    ) -> Result<(), FailedSchedule<E>> {
        for seed in self.iter() {
            let repeat = repeat(seed);
            let note = OnPanic(Note { seed, repeat: &repeat });
            let outcome = test(seed);
            drop(note);
            outcome.map_err(|error| FailedSchedule { seed, repeat, error })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(seed: &str, seeds: &str) -> Result<Seeds, String> {
        Seeds::from_values(Some(seed.into()), Some(seeds.into()), 4).map_err(|error| error.to_string())
    }

    #[test]
    fn variables() {
        assert_eq!(Seeds::from_values(None, None, 4), Ok(Seeds::first(4)));
        assert_eq!(read("", " "), Ok(Seeds::first(4)));
        assert_eq!(read("", "64"), Ok(Seeds::first(64)));
        assert_eq!(read("", "0"), Ok(Seeds::first(0)));
        assert_eq!(read(" 17", "64"), Ok(Seeds::only(Some(17))));
        assert_eq!(read("none", ""), Ok(Seeds::only(None)));
        assert!(read("x", "64").unwrap_err().contains("PTX_SIM_SEED=x: give the number of a seed"));
        assert!(read("", "-1").unwrap_err().contains("PTX_SIM_SEEDS=-1: give a number"));
    }

    #[test]
    fn runs_every_seed_up_to_the_first_that_fails() {
        let mut seen = Vec::new();
        let outcome = Seeds::first(9).try_each(|seed| {
            seen.push(seed);
            if seed == Some(2) { Err("a wrong sum") } else { Ok(()) }
        });
        assert_eq!(seen, [None, Some(0), Some(1), Some(2)]);
        let failure = outcome.unwrap_err();
        assert_eq!(failure.seed, Some(2));
        assert_eq!(failure.to_string(), "a wrong sum\nunder seed 2; PTX_SIM_SEED=2 repeats it");

        let none = Seeds::first(9).try_each(|_| Err("nothing")).unwrap_err();
        assert_eq!(none.to_string(), "nothing\nunder no seed; PTX_SIM_SEED=none repeats it");
        assert_eq!(Seeds::only(Some(5)).iter().collect::<Vec<_>>(), [Some(5)]);
    }
}
