//! The canonical order is frozen: the table of virtual blocks, and reductions on the host, against committed bits.
//!
//! With `KERNELS_WRITE_GOLDEN=1` the files are written. For another version of the order they may be anything; for the
//! same one results may only be added.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use half::{bf16, f16};
use kernels_common::canonical;
use kernels_common::element::{Accumulator, Element};
use kernels_common::for_every_element;
use kernels_common::order::{self, ORDER_VERSION};
use kernels_common::testing::golden::{Kind, OPERATIONS, REDUCTIONS, VIRTUAL_BLOCKS, bits, second};

const WRITE: &str = "KERNELS_WRITE_GOLDEN";

/// What a difference means.
fn frozen() -> String {
    format!(
        "Version {ORDER_VERSION} of the canonical order is frozen: results of one version have the same bits for ever. \
         If the order has to change, raise `order::ORDER_VERSION`, then write the golden bits of the new version with \
         {WRITE}=1 cargo test -p kernels-common --test golden"
    )
}

/// The first line of a file, which tells its version.
fn head(columns: &str) -> String {
    format!("# The canonical order, version {ORDER_VERSION}\n{columns}\n")
}

/// Compares a file with what was computed, or writes it. `difference` tells what is committed and came out otherwise.
fn hold(name: &str, committed: &str, computed: &str, difference: Option<String>) {
    let write = std::env::var_os(WRITE).is_some();
    let of_this_version = committed.lines().next() == computed.lines().next();
    if let Some(difference) = difference.filter(|_| of_this_version || !write) {
        panic!("golden/{name}: {difference}.\n{}", frozen());
    }
    if write {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name), computed).unwrap();
    } else {
        assert!(computed == committed, "golden/{name} lacks lines that the test computes: write it with {WRITE}=1");
    }
}

/// The table of virtual blocks of elements of type `T`. The size of a virtual block changes after powers of two alone,
/// which the test checks as well.
fn virtual_blocks<T: Element>(table: &mut String) {
    let mut from = 0;
    for log2 in 0..=64 {
        let last = if log2 == 64 { u64::MAX } else { 1 << log2 };
        let v = order::virtual_block::<T>(last);
        for n in [from, from + (last - from) / 2, last] {
            assert_eq!(order::virtual_block::<T>(n), v, "{n} elements of {} bytes", size_of::<T>());
        }
        if last == u64::MAX || order::virtual_block::<T>(last + 1) != v {
            writeln!(table, "{},{last},{v}", size_of::<T>()).unwrap();
        }
        from = last.saturating_add(1);
    }
}

#[test]
fn the_table_of_virtual_blocks_is_frozen() {
    let mut table = head("bytes of an element,most elements,of a virtual block");
    virtual_blocks::<f16>(&mut table);
    virtual_blocks::<f32>(&mut table);
    virtual_blocks::<f64>(&mut table);
    // Every line goes on where the one before ends: with another line, there or not, the table is another.
    let difference = (table != VIRTUAL_BLOCKS).then(|| format!("the table is now\n{table}"));
    hold("virtual-blocks.csv", VIRTUAL_BLOCKS, &table, difference);
}

/// Around every boundary of lanes, warps and rows of packets, and every change of the size of virtual blocks but the
/// last two; and between them. Integers, whose results depend on no order, have the shorter ones.
fn lengths<T: Element>() -> Vec<u64> {
    let lanes = order::lanes::<T>();
    let row = order::THREADS * lanes;
    let around = [lanes, 32, 32 * lanes, 512, row, 2 * row, 4 * row, 8 * row, 16 * row];
    let mut lengths: Vec<u64> = around.iter().flat_map(|&n| [n - 1, n, n + 1]).collect();
    lengths.extend([
        0,
        1,
        2,
        3,
        5,
        1000,
        5003,
        3 * row + 5,
        13 * row - 3,
        17 * row - 1,
        20 * row,
        31 * row + lanes + 1,
    ]);
    lengths.extend([32, 64, 256, 1024].iter().flat_map(|&rows| [rows * row, rows * row + 1]));
    lengths.extend([50 * row + 3, 100 * row + 77, 700 * row + row / 2 + 1, 1025 * row + 1]);
    lengths.retain(|&n| T::IS_FLOAT || n <= 100 * row + 77);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// Lengths for inputs of special values: one element, a few, more than a row, and several virtual blocks.
fn few_lengths<T: Element>() -> Vec<u64> {
    let row = order::THREADS * order::lanes::<T>();
    vec![1, 2, 5, 1000, row + 1, 17 * row - 1]
}

/// Slices of the two largest sizes of virtual blocks, several hundred of them, of which the last has one element. For
/// one type of each size that rounds.
fn large_lengths<T: Element>() -> Vec<u64> {
    let row = order::THREADS * order::lanes::<T>();
    if matches!(T::NAME, "f16" | "f32" | "f64") { vec![4096 * row + 1, 16_384 * row + 1] } else { Vec::new() }
}

fn write_line<T: Element>(lines: &mut String, kind: Kind, n: u64, results: &[Option<u64>]) {
    write!(lines, "{},{},{n}", T::NAME, kind.name()).unwrap();
    for result in results {
        lines.push(',');
        if let Some(bits) = result {
            write!(lines, "{bits:x}").unwrap();
        }
    }
    lines.push('\n');
}

/// The lines of every kind and length for elements of type `T`.
fn reductions<T: Element>(lines: &mut String) -> Result<(), ()> {
    let longest = *lengths::<T>().last().unwrap();
    let y = second::<T>(longest);
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_for::<T>()) {
        let many = matches!(kind, Kind::Spread | Kind::NearOne | Kind::Cancelling);
        let lengths = if many { lengths::<T>() } else { few_lengths::<T>() };
        let x = kind.input::<T>(*lengths.last().unwrap());
        for n in lengths {
            let (x, y) = (&x[..n as usize], &y[..n as usize]);
            let results = [
                bits(canonical::sum(x)),
                bits(canonical::product(x)),
                bits(canonical::minimum(x)),
                bits(canonical::maximum(x)),
                bits(canonical::dot(x, y).unwrap()),
            ];
            write_line::<T>(lines, kind, n, &results.map(Some));
        }
    }
    for n in large_lengths::<T>() {
        let sum = bits(canonical::sum(&Kind::Spread.input::<T>(n)));
        write_line::<T>(lines, Kind::Spread, n, &[Some(sum), None, None, None, None]);
    }
    Ok(())
}

/// The sum of a slice that is never in memory, of thousands of virtual blocks of the largest size.
fn thousands_of_virtual_blocks(lines: &mut String) {
    let n = 4097 * order::virtual_block::<f32>(u64::MAX) + 1;
    let accumulate = |sums: &mut [f32], range: Range<usize>| {
        for (sum, index) in sums.iter_mut().zip(range) {
            *sum += Kind::Spread.element::<f32>(index as u64);
        }
    };
    let sum = canonical::reduce::<f32, f32>(n as usize, 0.0, accumulate, Accumulator::add).normalised();
    write_line::<f32>(lines, Kind::Spread, n, &[Some(bits(sum)), None, None, None, None]);
}

#[test]
fn reductions_have_their_golden_bits() {
    let mut lines = head(&format!("type,input,n,{}", OPERATIONS.join(",")));
    let mut run = || -> Result<(), ()> {
        for_every_element!(reductions(&mut lines));
        Ok(())
    };
    run().unwrap();
    thousands_of_virtual_blocks(&mut lines);
    let computed: HashSet<&str> = lines.lines().collect();
    let lost: Vec<&str> = REDUCTIONS.lines().filter(|line| !computed.contains(line)).collect();
    let difference = lost.first().map(|first| {
        let input: Vec<&str> = first.split(',').take(3).collect();
        let input = input.join(",") + ",";
        let now = lines.lines().find(|line| line.starts_with(&input)).unwrap_or("not computed");
        format!("{} lines came out otherwise, of which the first\n{first}\nis now\n{now}", lost.len())
    });
    hold("reductions.csv", REDUCTIONS, &lines, difference);
}

/// By another program, from the description of the kinds alone.
#[test]
fn inputs_are_frozen() {
    fn check<T: Element>(kind: Kind, index: u64, expected: u64) {
        let found = bits(kind.element::<T>(index));
        assert_eq!(found, expected, "{} {} {index}: {found:x}, not {expected:x}", T::NAME, kind.name());
    }
    check::<f32>(Kind::Spread, 0, 0x4489_90c0);
    check::<f32>(Kind::Spread, 5_000_000, 0x4575_8c1b);
    check::<f64>(Kind::Spread, 1, 0xc032_6430_2ad0_3ffb);
    check::<f16>(Kind::Spread, 2, 0x538f);
    check::<bf16>(Kind::Spread, 3, 0xc2fe);
    check::<i32>(Kind::Spread, 4, 0x5c45_d53e);
    check::<u64>(Kind::Spread, 5, 0xa73d_9bcb_a7e3_d3bb);
    check::<f32>(Kind::NearOne, 6, 0xbf7f_48ba);
    check::<f64>(Kind::NearOne, 7, 0xbff0_0a53_5fba_30ea);
    check::<f16>(Kind::NearOne, 8, 0x3bf2);
    check::<bf16>(Kind::NearOne, 9, 0xbf80);
    check::<i64>(Kind::NearOne, 10, 0xcc58_dae9_0428_f9fb);
    check::<f32>(Kind::Cancelling, 10, 0x38a8_f9fb);
    check::<f32>(Kind::Cancelling, 11, 0xb8a8_f9fa);
    check::<f64>(Kind::Subnormal, 12, 0x0007_f9fe_2177_487f);
    check::<f16>(Kind::Zeros, 13, 0x8000);
    check::<bf16>(Kind::NegativeZeros, 14, 0x8000);
    check::<f32>(Kind::Infinities, 1009, 0x7f80_0000);
    check::<f64>(Kind::Infinities, 1709, 0xfff0_0000_0000_0000);
    check::<f16>(Kind::NaN, 2018, 0xffff);
    assert_eq!(bits(second::<f32>(8)[7]), 0x3b72_802a);
}
