use crate::common::{Params, launch};
use crate::{every, numbers, ptx};

#[test]
fn sums() {
    let x = numbers(1, 128, -1000, 1000);
    every(&ptx!("blocks"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(130));
        device.launch("sums", launch(1, 128), Params::new().add(dx).add(out));
        let segment = |t: usize| if t < 32 && t.is_multiple_of(5) { x[t..(t + 5).min(32)].iter().sum() } else { 0 };
        let totals = [x.iter().sum::<i32>(), *x.iter().max().unwrap()];
        let expected: Vec<i32> = totals.into_iter().chain((0..128).map(segment)).collect();
        assert_eq!(device.download::<i32>(out, 130), expected);
    });
}

#[test]
fn scans() {
    let x = numbers(2, 512, -1000, 1000);
    every(&ptx!("blocks"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(512));
        device.launch("scans", launch(1, 128), Params::new().add(dx).add(out));
        let expected: Vec<i32> = (0..512).map(|i| x[..i].iter().sum()).collect();
        assert_eq!(device.download::<i32>(out, 512), expected);
    });
}

#[test]
fn sorts() {
    let keys = numbers(3, 256, -99, 99);
    let reals: Vec<f32> = numbers(4, 256, -9999, 9999).into_iter().map(|x| x as f32 / 7.0).collect();
    every(&ptx!("blocks"), &|device, _| {
        let (dk, dr, out) = (device.upload(&keys), device.upload(&reals), device.allocate::<i32>(512));
        device.launch("sorts", launch(1, 128), Params::new().add(dk).add(out).add(dr));
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        let expected: Vec<i32> = sorted.iter().copied().chain(sorted.iter().rev().copied()).collect();
        assert_eq!(device.download::<i32>(out, 512), expected);
        let mut sorted = reals.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        assert_eq!(device.download::<f32>(dr, 256), sorted);
    });
}

#[test]
fn heads() {
    let x = numbers(5, 256, 0, 2);
    every(&ptx!("blocks"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<i32>(256));
        device.launch("heads", launch(1, 128), Params::new().add(dx).add(out));
        let expected: Vec<i32> = (0..256).map(|i| i32::from(i == 0 || x[i] != x[i - 1])).collect();
        assert_eq!(device.download::<i32>(out, 256), expected);
    });
}
