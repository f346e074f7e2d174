//! Counters of single accesses, in many patterns of addresses.

mod accesses;
#[path = "../common/mod.rs"]
mod common;

use accesses::{ELEMENTS, KINDS, Kind, LANES, Pattern, SLOTS, offsets, patterns};
use common::{Device, Params, launch};
use ptx_sim::Counters;

const PTX: &str = include_str!("accesses.sm_75.ptx");

/// What a kernel of `kind` does with these patterns.
fn counted(kind: Kind, patterns: &[Pattern]) -> Counters {
    let mut device = Device::new(PTX);
    let memory = device.upload(&vec![0u8; 16 * ELEMENTS]);
    let out = device.allocate::<u32>(LANES);
    let offsets = device.upload(&offsets(patterns, kind.width));
    let params = Params::new().add(offsets).add(memory).add(out).add(0u32);
    device.launch(kind.kernel, launch(1, LANES as u32), params)
}

#[test]
fn patterns_are_distinct_and_within_memory() {
    let patterns = patterns();
    for (index, pattern) in patterns.iter().enumerate() {
        let Pattern { name, elements } = pattern;
        assert!(elements.iter().any(Option::is_some), "{name}: no lane makes an access");
        assert!(elements.iter().flatten().all(|&element| (element as usize) < ELEMENTS), "{name}");
        for other in &patterns[..index] {
            assert_ne!(*name, other.name);
            assert_ne!(*elements, other.elements, "{name} and {}", other.name);
        }
    }
}

/// The kernels make as many accesses as they are given patterns, whatever the patterns.
#[test]
fn every_access_is_a_request() {
    for kind in KINDS {
        for batch in patterns().chunks(SLOTS) {
            let (counters, idle) = (counted(kind, batch), counted(kind, &[]));
            let requests = |counters: Counters| {
                counters.global_load_requests
                    + counters.global_store_requests
                    + counters.global_reductions
                    + counters.global_atomics
                    + counters.shared_load_requests
                    + counters.shared_store_requests
                    + counters.shared_atomics
                    + counters.local_load_requests
                    + counters.local_store_requests
            };
            assert_eq!(requests(counters) - requests(idle), batch.len() as u64, "{}", kind.kernel);
        }
    }
}
