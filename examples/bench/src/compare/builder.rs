//! What is needed to put the ways of an operation together.

use anyhow::{Result, bail};
use examples::dtype::Value;
use kernels_common::element::Element;
use kernels_common::stream::Stream;

use super::peers::{Peers, Reading};
use super::scalar::{Reader, Scalar};
use super::subject::{Absent, Role};

/// What `--variants` asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variants {
    names: Vec<String>,
    /// Those of `names` that there are.
    found: Vec<String>,
}

impl Variants {
    /// Of a list of names: `all`, that of a variant, that of its crate, or both with `/` between them.
    pub(crate) fn new(names: &[String]) -> Variants {
        Variants { names: names.to_vec(), found: Vec::new() }
    }

    /// Whether a variant, `CRATE/NAME`, is asked for.
    pub(crate) fn wants(&mut self, name: &str) -> bool {
        let fits = |asked: &&String| *asked == "all" || *asked == name || name.split('/').any(|part| part == *asked);
        let found: Vec<String> = self.names.iter().filter(fits).cloned().collect();
        let wanted = !found.is_empty();
        self.found.extend(found);
        wanted
    }

    /// Names that no variant has.
    pub(crate) fn unknown(&self) -> Vec<&str> {
        let unknown = |name: &&String| *name != "all" && !self.found.contains(name);
        self.names.iter().filter(unknown).map(String::as_str).collect()
    }
}

/// Collects the ways of one operation.
pub(crate) struct Builder<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) peers: Peers,
    /// The number of elements of the largest input.
    pub(crate) largest: u64,
    /// Where the inputs start: so many elements behind an address that is aligned.
    pub(crate) offsets: [usize; 2],
    pub(crate) seed: u64,
    pub(crate) variants: &'a mut Variants,
    pub(crate) absent: Vec<Absent>,
}

impl Builder<'_> {
    /// Whether a variant, `CRATE/NAME`, is asked for.
    pub(crate) fn wants(&mut self, name: &str) -> bool {
        self.variants.wants(name)
    }

    /// Whether any variant is asked for.
    pub(crate) fn wants_variants(&self) -> bool {
        !self.variants.names.is_empty()
    }

    /// What can be had; what cannot goes to the notes of the report.
    pub(crate) fn present<W>(&mut self, name: &str, way: Result<W>) -> Option<W> {
        way.map_err(|error| self.absent.push(Absent { way: name.to_owned(), reason: format!("{error:#}") })).ok()
    }

    /// Adds the ways that only read.
    pub(crate) fn add_readers<T: Value, R: Element, const N: usize>(&mut self, scalar: &mut Scalar<T, R, N>) {
        for (name, reading) in [("read", Reading::Loads), ("read, bulk copies", Reading::Bulk)] {
            let library = self.peers.library.map_err(anyhow::Error::msg);
            let aligned = self.offsets == [0, 0];
            let library =
                library.and_then(|library| if aligned { Ok(library) } else { bail!("it reads aligned inputs") });
            let reader = library.and_then(|library| Reader::new(library, reading, self.stream));
            if let Some(reader) = self.present(name, reader) {
                scalar.add(Role::Ceiling, name, reader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_asked_for_by_any_part_of_their_name() {
        let mut variants =
            Variants::new(&["tree-reduce".to_owned(), "stride".to_owned(), "dot/three-stage".to_owned()]);
        assert!(variants.wants("tree-reduce/sequential"));
        assert!(variants.wants("vecadd/stride"));
        assert!(!variants.wants("vecadd/grid-1d"));
        assert_eq!(variants.unknown(), ["dot/three-stage"]);
        assert!(variants.wants("dot/three-stage"));
        assert_eq!(variants.unknown(), [""; 0]);
    }

    #[test]
    fn all_is_every_variant() {
        let mut variants = Variants::new(&["all".to_owned()]);
        assert!(variants.wants("dot/three-stage"));
        assert_eq!(variants.unknown(), [""; 0]);
        assert!(!Variants::default().wants("dot/three-stage"));
    }
}
