//! Whole kernels with all default checks, without any, with all under a seed, and without any on two host threads,
//! with counters on throughout; and the same jobs as plain Rust loops.
//!
//! Criterion's "elements" of a kernel are lane-instructions; a table at the end has elements of the arrays.
//!
//! `cargo bench -p ptx-sim`

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Device, KERNELS, Params, launch};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use ptx_sim::{Checks, Config, Launch};

/// Elements of each array.
const N: usize = 1 << 22;
/// Elements of the jobs that take fewer: those of a matrix of 1024 rows, and of a dot product.
const FEW: usize = 1 << 20;
/// Threads of a block of most kernels.
const BLOCK: usize = 256;

/// The plain loops, in the table and as criterion's group.
const PLAIN: &str = "plain_rust";

/// The arrays, and where results go.
struct Host {
    x: Vec<f32>,
    y: Vec<f32>,
    z: Vec<f32>,
    out: Vec<f32>,
}

/// The same work by a kernel and by a plain loop.
struct Job {
    /// The kernel.
    name: &'static str,
    elements: usize,
    shape: Launch,
    /// Parameters of the kernel, from the addresses of the arrays in the order of [`Host`].
    params: fn([u64; 4]) -> Params,
    plain: fn(&mut Host),
}

fn jobs() -> Vec<Job> {
    let blocks = |elements: usize, of: usize| (elements / of) as u32;
    let tile = Launch { grid: [32, 32, 1], block: [32, 8, 1], ..Launch::default() };
    vec![
        Job {
            name: "vector_add",
            elements: N,
            shape: launch(blocks(N, BLOCK), 256),
            params: |[x, y, z, _]| Params::new().add(x).add(y).add(z).add(N as u64),
            plain: add,
        },
        Job {
            name: "vector_add_packets",
            elements: N,
            shape: launch(blocks(N, 4 * BLOCK), 256),
            params: |[x, y, z, _]| Params::new().add(x).add(y).add(z).add(N as u64 / 4),
            plain: add,
        },
        Job {
            name: "tree_sequential",
            elements: N,
            shape: launch(blocks(N, BLOCK), 256),
            params: |[x, _, _, out]| Params::new().add(x).add(out),
            plain: |host| {
                for (sum, block) in host.out.iter_mut().zip(host.x.chunks_exact(BLOCK)) {
                    *sum = block.iter().sum();
                }
            },
        },
        Job {
            name: "shuffle_sum",
            elements: N,
            shape: launch(64, 256),
            params: |[x, _, _, out]| Params::new().add(x).add(out).add(N as u64),
            plain: |host| host.out[0] += host.x.iter().sum::<f32>(),
        },
        Job {
            name: "dot_tree",
            elements: FEW,
            shape: launch(blocks(FEW, BLOCK), 256),
            params: |[x, y, _, out]| Params::new().add(x).add(y).add(out),
            plain: |host| host.out[0] += dot(&host.x[..FEW], &host.y[..FEW]),
        },
        Job {
            name: "dot_packets",
            elements: N,
            shape: launch(64, 512),
            params: |[x, y, _, out]| Params::new().add(x).add(y).add(out).add(N as u64 / 4),
            plain: |host| host.out[0] += dot(&host.x, &host.y),
        },
        Job {
            name: "transpose_33",
            elements: FEW,
            shape: tile,
            params: |[x, _, z, _]| Params::new().add(x).add(z).add(1024u32).add(1024u32),
            plain: |host| {
                for (row, values) in host.x[..FEW].chunks_exact(1024).enumerate() {
                    for (column, value) in values.iter().enumerate() {
                        host.z[1024 * column + row] = *value;
                    }
                }
            },
        },
    ]
}

fn add(host: &mut Host) {
    for ((z, x), y) in host.z.iter_mut().zip(&host.x).zip(&host.y) {
        *z = x + y;
    }
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Has criterion measure `run`. Gives the median of the seconds that it took, if it was not left out.
fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut run: impl FnMut()) -> Option<f64> {
    let mut seconds = Vec::new();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let start = Instant::now();
            (0..rounds).for_each(|_| run());
            let elapsed = start.elapsed();
            seconds.push(elapsed.as_secs_f64() / rounds as f64);
            elapsed
        });
    });
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

fn bench(criterion: &mut Criterion) {
    let jobs = jobs();
    let values: Vec<f32> = (0..N).map(|i| (i % 97) as f32).collect();

    let mut host = Host { x: values.clone(), y: values.clone(), z: values.clone(), out: vec![0.0; N / BLOCK] };
    let mut group = criterion.benchmark_group(PLAIN);
    group.sample_size(20);
    let measured = jobs.iter().map(|job| {
        group.throughput(Throughput::Elements(job.elements as u64));
        measure(&mut group, job.name, || (job.plain)(black_box(&mut host)))
    });
    let plain: Vec<Option<f64>> = measured.collect();
    group.finish();

    let default = Config::default;
    let unchecked = || Config { checks: Checks::NONE, ..default() };
    let mut columns = Vec::new();
    for (label, config) in [
        ("checked", default()),
        ("unchecked", unchecked()),
        ("seeded", Config { seed: Some(1), ..default() }),
        ("two_threads", Config { threads: 2, ..unchecked() }),
    ] {
        let mut device = Device::with(config, KERNELS);
        let (x, y, z) = (device.upload(&values), device.upload(&values), device.upload(&values));
        let out = device.upload(&vec![0f32; N / BLOCK]);
        let mut group = criterion.benchmark_group(label);
        group.sample_size(20);
        let measured = jobs.iter().map(|job| {
            let params = || (job.params)([x, y, z, out]);
            let counters = device.launch(job.name, job.shape, params());
            group.throughput(Throughput::Elements(counters.lane_instructions));
            measure(&mut group, job.name, || {
                black_box(device.launch(job.name, job.shape, params()));
            })
        });
        columns.push((label, measured.collect()));
        group.finish();
    }
    report(&jobs, &plain, &columns);
}

/// Prints millions of elements per second, and how many times as long as the plain loop a launch takes.
fn report(jobs: &[Job], plain: &[Option<f64>], columns: &[(&str, Vec<Option<f64>>)]) {
    println!("\nmillions of elements per second (and how many times as long as the plain loop it takes)\n");
    let heads: String = columns.iter().map(|(label, _)| format!("{label:>18}")).collect();
    println!("{:20}{PLAIN:>12}{heads}", "");
    for (index, job) in jobs.iter().enumerate() {
        let rate = |seconds: f64| job.elements as f64 / seconds / 1e6;
        let reference = plain[index].map_or_else(String::new, |seconds| format!("{:.0}", rate(seconds)));
        print!("{:20}{reference:>12}", job.name);
        for (_, seconds) in columns {
            let cell = match (seconds[index], plain[index]) {
                (Some(seconds), Some(plain)) => format!("{:.1} ({:.0})", rate(seconds), seconds / plain),
                (Some(seconds), None) => format!("{:.1}", rate(seconds)),
                (None, _) => String::new(),
            };
            print!("{cell:>18}");
        }
        println!();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
