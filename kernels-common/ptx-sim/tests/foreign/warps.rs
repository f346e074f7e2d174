//! Operations of a warp and of parts of it.

use crate::common::{Params, launch};
use crate::{Random, every, ptx};

#[test]
fn tiles() {
    let n = 333usize;
    let x = Random(1).list(n, |r| r.within(-1000, 1000) as i32);
    let padded: Vec<i32> = x.iter().copied().chain(std::iter::repeat_n(0, 384 - n)).collect();
    let starts: Vec<u32> = (1..=45).collect();
    let steps: Vec<u32> = starts
        .iter()
        .map(|&start| {
            std::iter::successors(Some(u64::from(start)), |x| Some(if x % 2 == 1 { 3 * x + 1 } else { x / 2 }))
                .take_while(|&x| x != 1)
                .count() as u32
        })
        .collect();
    every(ptx!("tiles"), |device| {
        let dx = device.upload(&x);
        for (name, size) in [("reduce_16", 16), ("reduce_8", 8)] {
            let tiles = 384 / size;
            let (sums, maxima) = (device.allocate::<i32>(tiles), device.allocate::<i32>(tiles));
            device.launch(name, launch(4, 96), Params::new().add(dx).add(sums).add(maxima).add(n as i32));
            let expected: Vec<i32> = padded.chunks(size).map(|tile| tile.iter().sum()).collect();
            assert_eq!(device.download::<i32>(sums, tiles), expected, "{name}");
            let expected: Vec<i32> = padded.chunks(size).map(|tile| *tile.iter().max().unwrap()).collect();
            assert_eq!(device.download::<i32>(maxima, tiles), expected, "{name}");
        }

        let (ds, out) = (device.upload(&starts), device.allocate::<u32>(45));
        device.launch("collatz", launch(3, 64), Params::new().add(ds).add(out).add(45i32));
        assert_eq!(device.download::<u32>(out, 45), steps);

        let [rank, size, before] = [0; 3].map(|_| device.allocate::<i32>(n));
        let params = Params::new().add(dx).add(rank).add(size).add(before).add(n as i32);
        device.launch("ranks", launch(3, 128), params);
        let [rank, size, before] = [rank, size, before].map(|at| device.download::<i32>(at, n));
        for i in 0..n {
            let (warp, lane) = (&padded[i / 32 * 32..][..32], i % 32);
            let like = |x: &&i32| (*x & 1) == (padded[i] & 1);
            assert_eq!(rank[i] as usize, warp[..lane].iter().filter(like).count());
            assert_eq!(size[i] as usize, warp.iter().filter(like).count());
            assert_eq!(before[i], warp[..lane].iter().sum::<i32>());
        }
    });
}

#[test]
fn reductions_and_matches() {
    let n = 230usize;
    let keys = Random(2).list(n, |r| r.within(0, 6) as u32);
    let values = Random(3).list(n, |r| r.next() as u32);
    let sums: Vec<u32> = (0..n)
        .map(|i| {
            let warp = i / 32 * 32..(i / 32 * 32 + 32).min(n);
            let mut equal = warp.filter(|&j| keys[j] == keys[i]);
            if equal.clone().next() == Some(i) {
                equal.by_ref().fold(0u32, |sum, j| sum.wrapping_add(values[j]))
            } else {
                0
            }
        })
        .collect();
    // The third warp agrees; the others hardly.
    let votes: Vec<u64> = Random(4).list(128, |r| r.within(0, 3) as u64 | (r.within(0, 1) as u64) << 40);
    let votes: Vec<u64> = votes.iter().enumerate().map(|(i, &v)| if i / 32 == 2 { 3 } else { v }).collect();
    let x = Random(5).list(128, |r| r.next() as i32);
    let reals = Random(6).list(128, |r| r.within(-50, 50) as f64);
    every(ptx!("warps"), |device| {
        let (k, v, out) = (device.upload(&keys), device.upload(&values), device.allocate::<u32>(n));
        device.launch("sum_by_key", launch(2, 128), Params::new().add(k).add(v).add(out).add(n as i32));
        assert_eq!(device.download::<u32>(out, n), sums);

        let (v, peers, same) = (device.upload(&votes), device.allocate::<u32>(128), device.allocate::<i32>(128));
        device.launch("votes", launch(2, 64), Params::new().add(v).add(peers).add(same));
        let (peers, same) = (device.download::<u32>(peers, 128), device.download::<i32>(same, 128));
        for i in 0..128 {
            let warp = &votes[i / 32 * 32..][..32];
            assert_eq!(peers[i], (0..32).filter(|&j| warp[j] == votes[i]).map(|j| 1 << j).sum::<u32>());
            let all_same = warp.iter().all(|&v| v == warp[0]);
            let (all, any) = (warp.iter().all(|&v| v < 5), warp.contains(&3));
            let expected = i32::from(all_same) * 3 + i32::from(all) * 4 + i32::from(any) * 8;
            assert_eq!(same[i], expected, "thread {i}");
        }

        let (dx, out) = (device.upload(&x), device.allocate::<i32>(128));
        device.launch("reductions", launch(1, 128), Params::new().add(dx).add(out));
        let got = device.download::<i32>(out, 128);
        for (i, &got) in got.iter().enumerate() {
            let members: Vec<i32> = (i / 32 * 32..i / 32 * 32 + 32).filter(|j| j % 4 != 1).map(|j| x[j]).collect();
            let (low, high) = (*members.iter().min().unwrap(), *members.iter().max().unwrap());
            let top = members.iter().map(|&x| x as u32).max().unwrap() as i32;
            let bits = members.iter().fold(-1, |all, x| all & (x | 1))
                ^ members.iter().fold(0, |some, x| some | x)
                ^ members.iter().fold(0, |odd, x| odd ^ x);
            let sum = low.wrapping_add(high.wrapping_mul(3)).wrapping_add(top.wrapping_mul(5));
            assert_eq!(got, if i % 4 == 1 { -1 } else { sum.wrapping_add(bits.wrapping_mul(7)) });
        }

        let (dx, out, wide) = (device.upload(&reals), device.allocate::<f64>(128), device.allocate::<i64>(128));
        device.launch("shuffles", launch(2, 64), Params::new().add(dx).add(out).add(wide));
        let (out, wide) = (device.download::<f64>(out, 128), device.download::<i64>(wide, 128));
        for i in 0..128 {
            let up = if i % 32 >= 3 { i - 3 } else { i };
            let down = if i % 8 + 5 < 8 { i + 5 } else { i };
            let (xor, next) = (i ^ 6, i / 4 * 4 + (i + 1) % 4);
            let expected = reals[up] + 10.0 * reals[down] + 100.0 * reals[xor] + 1000.0 * reals[next];
            assert_eq!(out[i], expected, "thread {i}");
            assert_eq!(wide[i], ((i / 32 * 32 + 31 - i % 32) as i64) << 33 | 7);
        }
    });
}
