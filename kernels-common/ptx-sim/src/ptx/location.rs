//! The places in the CUDA source that the `.loc` directives of a function name.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::SourceLocation;

/// Calls within calls that a place keeps, at most.
const MAX_CALLS: u32 = 32;

/// The places named so far.
#[derive(Default)]
pub(super) struct Locations {
    /// By file index, line and column, the last one named so, and the number of calls around it.
    named: HashMap<[u32; 3], (Arc<SourceLocation>, u32)>,
}

impl Locations {
    /// The place that a directive names by file index, line and column. `call` is where the function was inlined, as
    /// an earlier directive named it; that one says where the function around it was inlined, in turn. Line 0, which
    /// stands for code that belongs to no line, is the place of the call, if there is one.
    pub(super) fn add(
        &mut self,
        place: [u32; 3],
        call: Option<[u32; 3]>,
        files: &HashMap<u32, Arc<str>>,
    ) -> Option<SourceLocation> {
        let location = |[file, line, _]: [u32; 3], inlined_at| {
            let file = files.get(&file).filter(|_| line > 0)?;
            Some(SourceLocation { file: file.clone(), line, inlined_at })
        };
        let around = call.and_then(|call| match self.named.get(&call) {
            Some(named) => Some(named.clone()),
            None => location(call, None).map(|call| (Arc::new(call), 0)),
        });
        let (around, calls) = match around {
            Some((around, calls)) if calls < MAX_CALLS => (Some(around), calls + 1),
            _ => (None, 0),
        };
        let Some(here) = location(place, around.clone()) else { return around.as_deref().cloned() };
        self.named.insert(place, (Arc::new(here.clone()), calls));
        Some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> HashMap<u32, Arc<str>> {
        [(1, "a.cu"), (2, "b.h"), (3, "c.h")].map(|(index, name)| (index, name.into())).into()
    }

    #[test]
    fn calls_within_calls() {
        let (files, mut locations) = (files(), Locations::default());
        let mut add = |place, call| locations.add(place, call, &files).map(|place| place.to_string());
        assert_eq!(add([1, 9, 5], None).unwrap(), "a.cu:9");
        assert_eq!(add([2, 20, 1], Some([1, 9, 5])).unwrap(), "b.h:20, inlined at a.cu:9");
        let text = "c.h:30, inlined at b.h:20, inlined at a.cu:9";
        assert_eq!(add([3, 30, 1], Some([2, 20, 1])).unwrap(), text);
        // The same place once more, by way of another call, which no directive has named.
        assert_eq!(add([2, 20, 1], Some([1, 11, 5])).unwrap(), "b.h:20, inlined at a.cu:11");
        assert_eq!(add([3, 30, 1], Some([2, 20, 1])).unwrap(), "c.h:30, inlined at b.h:20, inlined at a.cu:11");
        // Of many calls, the last two are written.
        assert_eq!(
            add([1, 50, 1], Some([3, 30, 1])).unwrap(),
            "a.cu:50, inlined at c.h:30, inlined at b.h:20, inlined at a.cu:11"
        );
        assert_eq!(
            add([2, 60, 1], Some([1, 50, 1])).unwrap(),
            "b.h:60, inlined at ..., inlined at b.h:20, inlined at a.cu:11"
        );
        // Code of no line.
        assert_eq!(add([3, 0, 1], Some([2, 20, 1])).unwrap(), "b.h:20, inlined at a.cu:11");
        assert_eq!((add([3, 0, 1], None), add([7, 1, 1], None)), (None, None));
    }

    #[test]
    fn calls_without_end_are_cut() {
        let (files, mut locations) = (files(), Locations::default());
        for _ in 0..1_000_000 {
            let place = locations.add([1, 5, 1], Some([1, 5, 1]), &files).unwrap();
            let calls = std::iter::successors(place.inlined_at.as_deref(), |place| place.inlined_at.as_deref()).count();
            assert!(calls <= MAX_CALLS as usize, "{calls}");
        }
    }
}
