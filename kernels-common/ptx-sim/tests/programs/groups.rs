use std::sync::Arc;

use crate::common::{Params, launch};
use crate::{every, numbers, ptx};
use ptx_sim::ptx::Module;
use ptx_sim::{Config, LoadError, Simulator};

#[test]
fn reductions_and_scans_of_tiles() {
    let x = numbers(1, 128, -1000, 1000);
    let each = |size: usize, f: &dyn Fn(&[i32], usize) -> i32| -> Vec<i32> {
        x.chunks(size).flat_map(|tile| (0..size).map(|rank| f(tile, rank)).collect::<Vec<_>>()).collect()
    };
    let expected = [
        each(32, &|tile, _| tile.iter().sum()),
        each(8, &|tile, _| *tile.iter().min().unwrap()),
        each(32, &|tile, _| tile.iter().fold(0, |odd, x| odd ^ x)),
        each(32, &|tile, rank| tile[..=rank].iter().sum()),
        each(8, &|tile, rank| tile[..rank].iter().sum()),
    ]
    .concat();
    every(&ptx!("groups"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(640));
        device.launch("reductions", launch(1, 128), Params::new().add(dx).add(out));
        assert_eq!(device.download::<i32>(out, 640), expected);
    });
}

#[test]
fn groups_by_what_threads_have() {
    let x = numbers(2, 128, 0, 99);
    every(&ptx!("groups"), &|device, _| {
        let (dx, out, total) = (device.upload(&x), device.allocate::<i32>(128), device.upload(&[0i32]));
        device.launch("coalesced", launch(1, 128), Params::new().add(dx).add(out).add(total));
        let odd = |warp: usize| x[32 * warp..][..32].iter().copied().filter(|x| x % 2 == 1).collect::<Vec<i32>>();
        let expected: Vec<i32> =
            (0..128).map(|t| if x[t] % 2 == 1 { 100 * odd(t / 32)[0] + odd(t / 32).len() as i32 } else { 0 }).collect();
        assert_eq!(device.download::<i32>(out, 128), expected);
        assert_eq!(device.download::<i32>(total, 1)[0], x.iter().filter(|&x| x % 2 == 1).sum::<i32>());

        device.launch("partitions", launch(1, 128), Params::new().add(dx).add(out));
        let sum = |t: usize, like: &dyn Fn(i32, i32) -> bool| -> i32 {
            x[t / 32 * 32..][..32].iter().filter(|&&other| like(other, x[t])).sum()
        };
        let expected: Vec<i32> =
            (0..128).map(|t| 1000 * sum(t, &|a, b| a % 3 == b % 3) + sum(t, &|a, b| a & 4 == b & 4)).collect();
        assert_eq!(device.download::<i32>(out, 128), expected);
    });
}

#[test]
fn tiles_of_several_warps() {
    let x = numbers(3, 256, -1000, 1000);
    every(&ptx!("groups"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(256));
        device.launch("large_tiles", launch(1, 256), Params::new().add(dx).add(out));
        let expected: Vec<i32> =
            (0..256).map(|t| x[t / 128 * 128..][..128].iter().sum::<i32>() + t as i32 / 128).collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
    });
}

#[test]
fn one_of_a_group() {
    every(&ptx!("groups"), &|device, _| {
        let out = device.upload(&[0i32; 2]);
        device.launch("one", launch(3, 64), Params::new().add(out));
        assert_eq!(device.download::<i32>(out, 2), [3, 3 * (32 * 5 + 32 * 6)]);
    });
}

#[test]
fn clusters_of_one_block() {
    let x = numbers(4, 64, -1000, 1000);
    every(&ptx!("groups")[2..], &|device, _| {
        let dx = device.upload(&x);
        device.launch("cluster", launch(1, 64), Params::new().add(dx));
        assert_eq!(device.download::<i32>(dx, 64), x.iter().rev().copied().collect::<Vec<i32>>());
    });
}

#[test]
fn larger_clusters_are_refused() {
    let (name, text) = ptx!("groups")[2];
    let mut simulator = Simulator::new(Config::default());
    let program = simulator.load(Arc::new(Module::parse(name, text).unwrap())).unwrap();
    let error = simulator.kernel(&program, "two_blocks").unwrap_err();
    let LoadError::Unsupported { opcode, span, message, .. } = &error else { panic!("{error}") };
    assert_eq!(&**opcode, ".reqnctapercluster");
    assert!(text.lines().nth(span.line as usize - 1).unwrap().contains("two_blocks"), "{error}");
    assert!(message.contains("[2, 1, 1]"), "{error}");
}
