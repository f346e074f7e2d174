use crate::common::{Params, launch};
use crate::{every, numbers, ptx};
use ptx_sim::Launch;

#[test]
fn copies_of_a_thread() {
    let x: Vec<f32> = numbers(1, 512, 0, 9).into_iter().map(|x| x as f32).collect();
    every(&ptx!("pipelines"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<f32>(128));
        device.launch("groups", launch(1, 128), Params::new().add(dx).add(out));
        let expected: Vec<f32> =
            (0..128).map(|t| x[t] + 10.0 * x[128 + t] + 100.0 * x[256 + t] + 1000.0 * x[384 + t]).collect();
        assert_eq!(device.download::<f32>(out, 128), expected);

        let out = device.allocate::<f32>(512);
        device.launch("zeros", launch(1, 128), Params::new().add(dx).add(out).add(100i32));
        let packet = |t: usize| if t < 100 { x[4 * t..][..4].to_vec() } else { vec![0.0; 4] };
        let expected: Vec<f32> = (0..128).rev().flat_map(packet).collect();
        assert_eq!(device.download::<f32>(out, 512), expected);
    });
}

#[test]
fn pipelines_of_a_block() {
    let x = numbers(2, 640, -99, 99);
    every(&ptx!("pipelines"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(640));
        let shape = Launch { dynamic_shared: 2 * 4 * 64, ..launch(1, 64) };
        device.launch("stages", shape, Params::new().add(dx).add(out).add(10i32));
        let expected: Vec<i32> = x.chunks(64).flat_map(|chunk| chunk.iter().rev().copied()).collect();
        assert_eq!(device.download::<i32>(out, 640), expected);

        let out = device.allocate::<i32>(640);
        device.launch("roles", launch(1, 96), Params::new().add(dx).add(out).add(10i32));
        let expected: Vec<i32> = x.iter().map(|x| x + 1).collect();
        assert_eq!(device.download::<i32>(out, 640), expected);
    });
}

#[test]
fn barriers() {
    let x = numbers(3, 64, -99, 99);
    let packets = numbers(4, 256, -99, 99);
    every(&ptx!("pipelines"), &|device, _| {
        let dx = device.upload(&x);
        device.launch("phases", launch(1, 64), Params::new().add(dx));
        let twice = |t: usize| 2 * x[t % 64];
        let expected: Vec<i32> = (0..64).map(|t| twice(t + 1) + if t % 2 == 0 { twice(t + 2) } else { 0 }).collect();
        assert_eq!(device.download::<i32>(dx, 64), expected);

        let (dx, out) = (device.upload(&packets), device.allocate::<i32>(256));
        device.launch("counted", launch(1, 64), Params::new().add(dx).add(out));
        let expected: Vec<i32> = packets.chunks(4).rev().flatten().copied().collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
    });
}

#[test]
fn copies_of_groups() {
    let x = numbers(5, 128, -99, 99);
    every(&ptx!("pipelines"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(256));
        let shape = Launch { dynamic_shared: 4 * 128, ..launch(1, 128) };
        device.launch("tiles", shape, Params::new().add(dx).add(out).add(128i32));
        let expected: Vec<i32> = x.iter().rev().copied().chain((0..128).map(|i| x[i ^ 1])).collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
    });
}

#[test]
fn bulk_copies() {
    let x = numbers(6, 256, -99, 99);
    let sums = numbers(7, 256, -99, 99);
    every(&ptx!("pipelines")[2..], &|device, capability| {
        assert_eq!(capability, (9, 0));
        let (dx, ds, out) = (device.upload(&x), device.upload(&sums), device.allocate::<i32>(256));
        device.launch("bulk", launch(1, 256), Params::new().add(dx).add(out).add(ds));
        let expected: Vec<i32> = x.iter().map(|x| x + 1).collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
        let expected: Vec<i32> = expected.iter().zip(&sums).map(|(x, sum)| x + sum).collect();
        assert_eq!(device.download::<i32>(ds, 256), expected);
    });
}
