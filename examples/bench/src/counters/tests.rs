//! The simulator's counters of every kernel of the workspace against those of Nsight Compute on an H200.

use std::collections::HashMap;
use std::sync::LazyLock;

use kernels_common::Counters;
use kernels_common::device::Device;

use super::{Options, Suite};

#[path = "../../../../kernels-common/ptx-sim/tests/profile/record.rs"]
mod record;

use record::{Record, Row};

/// What the profiler counted, by `scripts/record-counters.py`; its first lines say where and when.
const RECORD: &str = include_str!("kernels.csv");
/// The chapter, whose tables are the ones that a test prints.
const CHAPTER: &str = include_str!("../../../../docs/counters.md");

/// A simulator with the multiprocessors of an H200, on which the number of some grids' blocks depends. One of the sums
/// races on purpose.
const H200: &str = "sim:sms=132,cc=9.0,check=no-races";

/// What the simulator counts, by subject.
static OURS: LazyLock<HashMap<String, Counters>> = LazyLock::new(|| {
    let stream = Device::open(H200).unwrap().stream().unwrap();
    let rows = Options { suite: Suite::Kernels, only: Vec::new() }.rows(&stream).unwrap();
    rows.into_iter().map(|row| (row.subject, row.counters.unwrap())).collect()
});

static PROFILED: LazyLock<Record> = LazyLock::new(|| Record::parse(RECORD));

/// The subjects that were profiled, each with what the simulator counts.
fn subjects() -> impl Iterator<Item = (&'static str, Counters, Row<'static>)> {
    PROFILED.rows().map(|row| {
        let subject = row.text("subject");
        let ours = OURS.get(subject).unwrap_or_else(|| panic!("{subject} is not launched any more"));
        (subject, *ours, row)
    })
}

type Counter = fn(&Counters) -> u64;

/// Counters of global memory that equal a metric of the hardware, in the order of the chapter's table.
const GLOBAL: [(Counter, &str); 8] = [
    (|c| c.global_load_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    (|c| c.global_load_sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    (|c| c.global_store_requests, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    (|c| c.global_store_sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    (|c| c.global_reductions, "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
    (|c| c.global_reduction_sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"),
    (|c| c.global_atomics, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
    (|c| c.global_atomic_sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"),
];

/// Counters of shared memory that do.
const SHARED: [(Counter, &str); 3] = [
    (|c| c.shared_load_requests, "smsp__sass_inst_executed_op_shared_ld.sum"),
    (|c| c.shared_store_requests, "smsp__sass_inst_executed_op_shared_st.sum"),
    (|c| c.shared_atomics, "smsp__sass_inst_executed_op_shared_atom.sum"),
];

/// Blocks wait in a loop for those that come later, and look as often as it happens to take.
fn polls(subject: &str) -> bool {
    subject.starts_with("sum/grid-sync/")
}

/// Shared wavefronts: ours, those of the profiler by instruction, and the hardware's total.
fn wavefronts(ours: &Counters, row: Row<'_>) -> [u64; 3] {
    [
        ours.shared_wavefronts(),
        row.number("LDS memory_l1_wavefronts_shared") + row.number("STS memory_l1_wavefronts_shared"),
        row.number("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")
            + row.number("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    ]
}

/// Requests to shared memory: ours, and instructions that the hardware executed for them, whether or not a lane was
/// active.
fn shared_requests(ours: &Counters, row: Row<'_>) -> [u64; 2] {
    [
        ours.shared_load_requests + ours.shared_store_requests,
        row.number("LDS inst_executed") + row.number("STS inst_executed"),
    ]
}

#[test]
fn every_subject_was_profiled() {
    assert_eq!(PROFILED.rows().count(), OURS.len());
    assert_eq!(subjects().count(), OURS.len());
}

#[test]
fn grids_are_those_of_the_hardware() {
    for (subject, ours, row) in subjects() {
        let sizes = |column| row.text(column).split('+').map(|size| size.parse::<u64>().unwrap());
        assert_eq!(ours.blocks, sizes("grid").sum::<u64>(), "{subject}: blocks");
        let threads: u64 = sizes("grid").zip(sizes("block")).map(|(blocks, threads)| blocks * threads).sum();
        assert_eq!(ours.threads, threads, "{subject}: threads");
        assert_eq!(ours.warps, row.number("smsp__warps_launched.sum"), "{subject}: warps");
    }
}

#[test]
fn requests_and_sectors_are_equal() {
    for (subject, ours, row) in subjects() {
        for (counter, metric) in GLOBAL.into_iter().chain(SHARED) {
            if !(polls(subject) && metric.ends_with("_op_ld.sum")) {
                assert_eq!(counter(&ours), row.number(metric), "{subject}: {metric}");
            }
        }
    }
}

#[test]
fn shared_wavefronts_equal_those_of_the_instructions() {
    for (subject, ours, row) in subjects() {
        for (counter, code) in [(ours.shared_load_wavefronts, "LDS"), (ours.shared_store_wavefronts, "STS")] {
            assert_eq!(counter, row.number(&format!("{code} memory_l1_wavefronts_shared")), "{subject}: {code}");
        }
        assert_eq!(ours.shared_atomic_wavefronts, 0, "{subject}: no kernel has atomics in shared memory");
    }
}

/// The hardware's totals count arbitration too: never less, and up to 5 % more, or 128 where there are few. Kernels
/// that use `redux` come to 20 %, and packets of 16-byte elements, which are moved one right after the other, to 7 %.
#[test]
fn shared_wavefronts_are_within_the_arbitration_of_the_totals() {
    for (subject, ours, row) in subjects() {
        let [ours, _, hardware] = wavefronts(&ours, row);
        let percent = match subject {
            _ if subject.starts_with("sum/shuffle-reduce/redux/") => 20,
            _ if subject.starts_with("transpose/packets/16/") => 7,
            _ => 5,
        };
        assert!(hardware >= ours, "{subject}: {ours}, {hardware} on the hardware");
        let most = ours + (ours * percent / 100).max(128);
        assert!(hardware <= most, "{subject}: {ours}, {hardware} on the hardware");
    }
}

/// Where the assembler has made conditions of branches the hardware also executes instructions that no lane takes part
/// in. They are not requests.
#[test]
fn instructions_without_lanes_are_not_requests() {
    for (subject, ours, row) in subjects() {
        let [ours, executed] = shared_requests(&ours, row);
        let predicated = subject.starts_with("sum/tree-reduce/") || subject.starts_with("dot/three-stage/");
        // Some tiles of the packets end at the matrix's edge.
        let at_most = subject.starts_with("transpose/packets/");
        let right = match (predicated, at_most) {
            (true, _) => ours < executed,
            (false, true) => ours <= executed,
            (false, false) => ours == executed,
        };
        assert!(right, "{subject}: {ours} of {executed}");
    }
}

/// A figure that is the same on both sides, or both.
fn cell(ours: u64, profiler: u64) -> String {
    if ours == profiler { ours.to_string() } else { format!("{ours} / {profiler}") }
}

#[test]
fn the_tables_of_the_documentation_are_what_is_counted() {
    let f32_or_4_bytes = |subject: &str| {
        subject.ends_with("/f32/1048576") || (subject.starts_with("transpose/") && subject.ends_with("/4/1024x1024"))
    };
    let wide = |subject: &str| {
        (subject.starts_with("sum/tree-reduce/") && subject.ends_with("/f64/1000003"))
            || (subject.starts_with("transpose/") && subject.ends_with("/16/1024x1024"))
            || subject == "sum/shuffle-reduce/redux/i32/1000003"
    };
    let mut rows = Vec::new();
    for (subject, ours, row) in subjects().filter(|(subject, ..)| f32_or_4_bytes(subject)) {
        let cells = GLOBAL.map(|(counter, metric)| match counter(&ours) {
            _ if polls(subject) && metric.ends_with("_op_ld.sum") => "waits".to_owned(),
            ours => cell(ours, row.number(metric)),
        });
        rows.push(format!("| {subject} | {} |", cells.join(" | ")));
    }
    for (subject, ours, row) in subjects().filter(|(subject, ..)| f32_or_4_bytes(subject) || wide(subject)) {
        let [requests, executed] = shared_requests(&ours, row);
        let [ours, by_instruction, hardware] = wavefronts(&ours, row);
        if ours != 0 {
            let more = 100.0 * (hardware as f64 / ours as f64 - 1.0);
            rows.push(format!(
                "| {subject} | {ours} | {by_instruction} | {hardware} | {more:.1} % | {requests} | {executed} |"
            ));
        }
    }
    println!("\n{}", rows.join("\n"));
    for row in rows {
        assert!(CHAPTER.contains(&row), "docs/counters.md lacks the row: {row}");
    }
}
