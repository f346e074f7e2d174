//! Prefixes, compaction and sorting.

use crate::common::{Params, launch};
use crate::{Random, every, every_in_any_order, launch_shared, ptx};
use ptx_sim::Launch;

fn inclusive(x: &[u32]) -> Vec<u32> {
    x.iter()
        .scan(0u32, |sum, &x| {
            *sum = sum.wrapping_add(x);
            Some(*sum)
        })
        .collect()
}

#[test]
fn scan() {
    let n = 2000;
    let blocks = 8;
    let x = Random(1).list(n, |r| r.next() as u32);
    let expected = inclusive(&x);
    every(ptx!("scan"), |device| {
        let (dx, y, totals) = (device.upload(&x), device.allocate::<u32>(n), device.allocate::<u32>(blocks));
        let n32 = n as u32;
        device.launch("scan_tiles", launch(8, 256), Params::new().add(dx).add(y).add(totals).add(n32));
        device.launch("scan_totals", launch(1, 256), Params::new().add(totals).add(blocks as u32));
        device.launch("add_totals", launch(8, 256), Params::new().add(y).add(totals).add(n32));
        assert_eq!(device.download::<u32>(y, n), expected);
        for name in ["scan_lookback", "scan_warp_lookback"] {
            let (y, states, ticket) =
                (device.allocate::<u32>(n), device.upload(&vec![0u64; blocks]), device.upload(&[0u32]));
            device.launch(name, launch(8, 256), Params::new().add(dx).add(y).add(states).add(ticket).add(n32));
            assert_eq!(device.download::<u32>(y, n), expected, "{name}");
        }
    });
}

#[test]
fn compaction() {
    let n = 900usize;
    let x = Random(2).list(n, |r| r.within(-500, 500) as i32);
    let kept: Vec<i32> = x.iter().copied().filter(|x| x % 3 == 0).collect();
    let mut found: Vec<i32> = x.iter().copied().filter(|&x| x >= 0).collect();
    found.sort_unstable();
    every_in_any_order(ptx!("compact"), |device| {
        let dx = device.upload(&x);
        // CUDA promises that it ends if the launch is cooperative; here waiting blocks let others begin in any case.
        for cooperative in [false, true] {
            let (out, ends) = (device.upload(&vec![i32::MIN; n]), device.upload(&[-1i32; 5]));
            let params = Params::new().add(dx).add(out).add(ends).add(n as i32).add(3i32);
            device.launch("compact", Launch { cooperative, ..launch(5, 192) }, params);
            assert_eq!(device.download::<i32>(ends, 5)[4] as usize, kept.len());
            assert_eq!(device.download::<i32>(out, kept.len()), kept);
        }

        let (out, count) = (device.allocate::<i32>(n), device.upload(&[0u32]));
        device.launch("collect", launch(8, 128), Params::new().add(dx).add(out).add(count).add(n as i32));
        assert_eq!(device.download::<u32>(count, 1)[0] as usize, found.len());
        let mut got = device.download::<i32>(out, found.len());
        got.sort_unstable();
        assert_eq!(got, found);
    });
}

#[test]
fn bitonic() {
    let (n, part) = (1000usize, 256usize);
    let ints = Random(3).list(n, |r| r.next() as i32);
    let sorted: Vec<i32> = ints
        .chunks(part)
        .flat_map(|chunk| {
            let mut chunk = chunk.to_vec();
            chunk.sort_unstable();
            chunk
        })
        .collect();
    let doubles = Random(4).list(330, |r| r.real(-1e6, 1e6));
    let sorted_doubles: Vec<f64> = doubles
        .chunks(32)
        .flat_map(|chunk| {
            let mut chunk = chunk.to_vec();
            chunk.sort_unstable_by(f64::total_cmp);
            chunk
        })
        .collect();
    every(ptx!("bitonic"), |device| {
        let x = device.upload(&ints);
        let shape = launch_shared(4, 96, 4 * part as u32);
        device.launch("sort_ints", shape, Params::new().add(x).add(n as i32).add(part as i32));
        assert_eq!(device.download::<i32>(x, n), sorted);
        let x = device.upload(&doubles);
        device.launch("sort_doubles_of_warp", launch(6, 64), Params::new().add(x).add(330i32));
        assert_eq!(device.download::<f64>(x, 330), sorted_doubles);
    });
}

#[test]
fn radix() {
    let n = 600usize;
    let blocks = n.div_ceil(128);
    // Keys of twelve bits: many are equal, so that their order shows whether the passes are stable.
    let keys = Random(5).list(n, |r| r.within(0, 4095) as u32 / 8 * 8);
    let values: Vec<u32> = (0..n as u32).collect();
    let mut order = values.clone();
    order.sort_by_key(|&i| keys[i as usize]);
    let sorted: Vec<u32> = order.iter().map(|&i| keys[i as usize]).collect();
    every(ptx!("radix"), |device| {
        let (mut k, mut v) = (device.upload(&keys), device.upload(&values));
        for shift in [0i32, 4, 8] {
            let counts = device.allocate::<u32>(16 * blocks);
            let (next_k, next_v) = (device.allocate::<u32>(n), device.allocate::<u32>(n));
            let shape = launch(blocks as u32, 128);
            device.launch("radix_count", shape, Params::new().add(k).add(n as i32).add(shift).add(counts));
            device.launch("radix_scan", launch(1, 32), Params::new().add(counts).add(16 * blocks as i32));
            let params = Params::new().add(k).add(v).add(n as i32).add(shift).add(counts).add(next_k).add(next_v);
            device.launch("radix_scatter", shape, params);
            (k, v) = (next_k, next_v);
        }
        assert_eq!(device.download::<u32>(k, n), sorted);
        assert_eq!(device.download::<u32>(v, n), order);
    });
}

#[test]
fn cub_blocks() {
    let n = 600usize;
    let keys = Random(6).list(n, |r| r.within(-90, 90) as f32 / 4.0 + 0.125);
    let values: Vec<u32> = (0..n as u32).collect();
    let mut order = values.clone();
    order.sort_by(|&i, &j| (i / 256).cmp(&(j / 256)).then(keys[i as usize].total_cmp(&keys[j as usize])));
    let sorted: Vec<f32> = order.iter().map(|&i| keys[i as usize]).collect();
    let x = Random(7).list(250, |r| r.next() as i32);
    every(ptx!("blocks"), |device| {
        let (k, v) = (device.upload(&keys), device.upload(&values));
        let (out_k, out_v) = (device.allocate::<f32>(n), device.allocate::<u32>(n));
        let params = Params::new().add(k).add(v).add(out_k).add(out_v).add(n as i32);
        device.launch("cub_sort", launch(3, 64), params);
        assert_eq!(device.download::<f32>(out_k, n), sorted);
        assert_eq!(device.download::<u32>(out_v, n), order);

        let (dx, prefix, total) = (device.upload(&x), device.allocate::<i64>(250), device.allocate::<i64>(6));
        device.launch("cub_scan", launch(3, 96), Params::new().add(dx).add(prefix).add(total).add(250i32));
        let (prefix, total) = (device.download::<i64>(prefix, 250), device.download::<i64>(total, 6));
        for (block, chunk) in x.chunks(96).enumerate() {
            let mut sum = 0;
            for (i, &value) in chunk.iter().enumerate() {
                assert_eq!(prefix[96 * block + i], sum);
                sum += i64::from(value);
            }
            assert_eq!(total[2 * block..][..2], [sum, i64::from(*chunk.iter().max().unwrap())]);
        }
    });
}
