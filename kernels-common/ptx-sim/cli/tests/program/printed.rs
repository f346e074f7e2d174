//! What kernels tell.

use crate::Folder;

const FAULT: u8 = ptx_sim_cli::FAULT;
const REPORTS: &str = include_str!("../../../tests/programs/reports.sm_80.ptx");

#[test]
fn printf_comes_before_the_report() {
    let folder = Folder::with(REPORTS);
    let line = "run k.ptx plain zeros:i32:1 --block 1";
    let execution = folder.line(line);
    let (printed, report) = execution.fine().split_at("12\nnothing to fill in\n".len());
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["12", "nothing to fill in"]);
    assert!(!report.is_empty() && !report.contains("nothing to fill in"), "{report}");
    let json = folder.line(&format!("{line} --json")).json();
    assert_eq!(json["printed"], printed);
}

#[test]
fn a_failed_assertion_is_a_fault() {
    let folder = Folder::with(REPORTS);
    let execution = folder.line("run k.ptx asserts zeros:i32:32 i32=20 --block 32 --json");
    let says = execution.failure(FAULT);
    assert!(says.contains("assertion failed: `threadIdx.x < n`") && says.contains("reports.cu:"), "{says}");
    assert_eq!(execution.json()["fault"]["kind"], "assertion");
}
