//! Counters as a table and as JSON, with the ratios that people look at.

use std::fmt::Write;

use ptx_sim::Counters;
use serde::Serialize;

/// Ratios of counters. One of nothing to nothing is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratios {
    /// Active lanes of an instruction, of 32.
    lanes_per_instruction: Option<f64>,
    /// Share of the branches at which lanes parted.
    divergent_branch_share: Option<f64>,
    /// Sectors of 32 bytes that a load from global memory touches: 4 for 32 neighbouring `f32`.
    global_load_sectors_per_request: Option<f64>,
    /// Sectors that a store to global memory touches.
    global_store_sectors_per_request: Option<f64>,
    /// Wavefronts of a load from shared memory: 1 without bank conflicts.
    shared_load_wavefronts_per_request: Option<f64>,
    /// Wavefronts of a store to shared memory.
    shared_store_wavefronts_per_request: Option<f64>,
}

impl Ratios {
    pub(crate) fn new(counters: &Counters) -> Ratios {
        let ratio = |of: u64, to: u64| (to != 0).then(|| of as f64 / to as f64);
        Ratios {
            lanes_per_instruction: ratio(counters.lane_instructions, counters.instructions),
            divergent_branch_share: ratio(counters.divergent_branches, counters.branches),
            global_load_sectors_per_request: ratio(counters.global_load_sectors, counters.global_load_requests),
            global_store_sectors_per_request: ratio(counters.global_store_sectors, counters.global_store_requests),
            shared_load_wavefronts_per_request: ratio(counters.shared_load_wavefronts, counters.shared_load_requests),
            shared_store_wavefronts_per_request: ratio(
                counters.shared_store_wavefronts,
                counters.shared_store_requests,
            ),
        }
    }

    /// What to say beside a counter.
    fn beside(&self, counter: &str) -> Option<String> {
        let sectors = |ratio: Option<f64>| ratio.map(|ratio| format!("{ratio:.2} per request"));
        let wavefronts = |ratio: Option<f64>| {
            let bank_conflicts =
                if ratio > Some(1.0) { ": bank conflicts, or accesses of more than 32 bits" } else { "" };
            ratio.map(|ratio| format!("{ratio:.2} per request{bank_conflicts}"))
        };
        match counter {
            "lane_instructions" => self.lanes_per_instruction.map(|ratio| format!("{ratio:.1} of 32 lanes active")),
            "divergent_branches" => self.divergent_branch_share.map(|share| format!("{:.1} % of them", 100.0 * share)),
            "global_load_sectors" => sectors(self.global_load_sectors_per_request),
            "global_store_sectors" => sectors(self.global_store_sectors_per_request),
            "shared_load_wavefronts" => wavefronts(self.shared_load_wavefronts_per_request),
            "shared_store_wavefronts" => wavefronts(self.shared_store_wavefronts_per_request),
            _ => None,
        }
    }
}

/// The group of a counter: a line is left free between two.
fn group(counter: &str) -> &str {
    match counter {
        "blocks" | "warps" | "threads" => "launch",
        "instructions" | "lane_instructions" | "branches" | "divergent_branches" => "instructions",
        _ => match counter.split('_').next() {
            Some(space @ ("global" | "shared" | "local")) => space,
            _ => "synchronisation",
        },
    }
}

/// The counters that are not zero, a line each.
pub(crate) fn table(counters: &Counters) -> String {
    let ratios = Ratios::new(counters);
    let mut text = String::new();
    let mut last = "";
    for (counter, count) in counters.iter().filter(|&(_, count)| count != 0) {
        let group = group(counter);
        if !last.is_empty() && group != last {
            text.push('\n');
        }
        last = group;
        let beside = ratios.beside(counter).map(|beside| format!("   {beside}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:<24} {:>18}{beside}", counter.replace('_', " "), grouped(count));
    }
    text
}

/// A number in groups of three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_groups() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn every_counter_that_is_not_zero_has_a_line() {
        let mut counters = Counters::default();
        assert_eq!(table(&counters), "");
        (counters.instructions, counters.lane_instructions) = (10, 160);
        (counters.shared_load_requests, counters.shared_load_wavefronts) = (4, 32);
        counters.fences = 1234;
        let table = table(&counters);
        assert_eq!(table.lines().filter(|line| !line.is_empty()).count(), 5);
        assert!(table.contains("lane instructions                       160   16.0 of 32 lanes active\n\n"), "{table}");
        assert!(table.contains("32   8.00 per request: bank conflicts"), "{table}");
        assert!(table.ends_with("fences                                1,234\n"), "{table}");
    }
}
