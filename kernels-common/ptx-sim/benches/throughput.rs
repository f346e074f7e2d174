//! Lane-instructions per second (criterion's "elements") of whole kernels, with all default checks, without any, with
//! all under a seed, and without any on two host threads; with counters on throughout.
//!
//! `cargo bench -p ptx-sim`

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;

use common::{Device, KERNELS, Params, launch};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_sim::{Checks, Config, Launch};

/// A kernel, its launch, and its parameters from three arrays and an output.
type Job = (&'static str, Launch, fn([u64; 4]) -> Params);

/// Elements of each array; a transpose takes the first 2^20.
const N: usize = 1 << 22;

fn bench(criterion: &mut Criterion) {
    let default = Config::default;
    let unchecked = || Config { checks: Checks::NONE, ..default() };
    for (label, config) in [
        ("checked", default()),
        ("unchecked", unchecked()),
        ("seeded", Config { seed: Some(1), ..default() }),
        ("two_threads", Config { threads: 2, ..unchecked() }),
    ] {
        let mut device = Device::with(config, KERNELS);
        let values: Vec<f32> = (0..N).map(|i| (i % 97) as f32).collect();
        let (x, y, z) = (device.upload(&values), device.upload(&values), device.upload(&values));
        let out = device.upload(&vec![0f32; N / 256]);
        let blocks = |elements: usize| (N / elements) as u32;
        let tile = Launch { grid: [32, 32, 1], block: [32, 8, 1], ..Launch::default() };
        let runs: [Job; 6] = [
            ("vector_add", launch(blocks(256), 256), |[x, y, z, _]| Params::new().add(x).add(y).add(z).add(N as u64)),
            ("vector_add_packets", launch(blocks(1024), 256), |[x, y, z, _]| {
                Params::new().add(x).add(y).add(z).add(N as u64 / 4)
            }),
            ("tree_sequential", launch(blocks(256), 256), |[x, _, _, out]| Params::new().add(x).add(out)),
            ("shuffle_sum", launch(64, 256), |[x, _, _, out]| Params::new().add(x).add(out).add(N as u64)),
            ("dot_packets", launch(64, 512), |[x, y, _, out]| Params::new().add(x).add(y).add(out).add(N as u64 / 4)),
            ("transpose_33", tile, |[x, _, z, _]| Params::new().add(x).add(z).add(1024u32).add(1024u32)),
        ];
        let mut group = criterion.benchmark_group(label);
        group.sample_size(20);
        for (name, shape, params) in runs {
            let params = || params([x, y, z, out]);
            let counters = device.launch(name, shape, params());
            group.throughput(Throughput::Elements(counters.lane_instructions));
            group.bench_function(name, |bencher| bencher.iter(|| black_box(device.launch(name, shape, params()))));
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
