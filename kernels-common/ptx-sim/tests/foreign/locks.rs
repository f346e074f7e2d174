//! Threads that wait for each other: locks, rings, barriers of the grid; and atomic operations.

use crate::common::{Params, launch};
use crate::{Random, every_in_any_order, ptx};
use ptx_sim::Launch;

/// An account as the kernels lay it out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Account {
    lock: i32,
    deposits: i32,
    balance: i64,
    last: i32,
    history: i32,
}

impl Account {
    fn bytes(self) -> Vec<u8> {
        let mut bytes = [self.lock.to_le_bytes(), self.deposits.to_le_bytes()].concat();
        bytes.extend(self.balance.to_le_bytes());
        bytes.extend(self.last.to_le_bytes());
        bytes.extend(self.history.to_le_bytes());
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Account> {
        let word = |bytes: &[u8], at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        bytes
            .chunks(24)
            .map(|b| Account {
                lock: word(b, 0),
                deposits: word(b, 4),
                balance: i64::from_le_bytes(b[8..16].try_into().unwrap()),
                last: word(b, 16),
                history: word(b, 20),
            })
            .collect()
    }
}

#[test]
fn spin_locks() {
    let (n, count) = (300usize, 7usize);
    let amounts = Random(1).list(n, |r| r.within(-100, 100) as i32);
    let empty = Account { lock: 0, deposits: 0, balance: 1 << 40, last: -1, history: 0 }.bytes().repeat(count);
    let transfers: Vec<i32> =
        Random(2).list(100, |r| [r.within(0, 6), r.within(0, 6), r.within(1, 50)].map(|x| x as i32)).concat();
    every_in_any_order(ptx!("spinlock"), |device| {
        let (accounts, da) = (device.upload(&empty), device.upload(&amounts));
        let params = Params::new().add(accounts).add(count as i32).add(da).add(n as i32);
        device.launch("deposit", launch(4, 80), params);
        let after = Account::all(&device.download::<u8>(accounts, empty.len()));
        let mut balances = Vec::new();
        for (a, account) in after.iter().enumerate() {
            let mine = || (0..n as i32).filter(|i| *i as usize % count == a);
            balances.push((1i64 << 40) + mine().map(|i| i64::from(amounts[i as usize])).sum::<i64>());
            assert_eq!((account.lock, account.deposits), (0, mine().count() as i32));
            assert_eq!((account.balance, account.history), (balances[a], mine().fold(0, |all, i| all ^ i)));
            assert_eq!(account.last as usize % count, a);
        }

        let dt = device.upload(&transfers);
        device.launch("transfer", launch(2, 64), Params::new().add(accounts).add(dt).add(100i32));
        for t in transfers.chunks(3) {
            balances[t[0] as usize] -= i64::from(t[2]);
            balances[t[1] as usize] += i64::from(t[2]);
        }
        let after = Account::all(&device.download::<u8>(accounts, empty.len()));
        assert_eq!(after.iter().map(|account| account.balance).collect::<Vec<_>>(), balances);
        assert!(after.iter().all(|account| account.lock == 0));

        let warps = 9;
        let (next, serving) = (device.upload(&[0u32]), device.upload(&[0u32]));
        let log = device.upload(&vec![1u32; warps + 1]);
        device.launch("ticket_lock", launch(3, 96), Params::new().add(next).add(serving).add(log));
        let expected: Vec<u32> = (0..warps as u32)
            .scan(1u32, |value, ticket| {
                *value = *value * 5 + ticket;
                Some(*value)
            })
            .collect();
        assert_eq!(device.download::<u32>(log, warps), expected);
        assert_eq!(device.download::<u32>(serving, 1), [warps as u32]);
    });
}

#[test]
fn within_a_block() {
    let n = 1300usize;
    let x = Random(3).list(n, |r| r.next() as i32);
    let sums: Vec<i64> = x.chunks(512).map(|part| part.iter().map(|&x| i64::from(x)).sum()).collect();
    let items = Random(4).list(250, |r| r.within(-30000, 30000) as i16);
    every_in_any_order(ptx!("volatile"), |device| {
        let (dx, out) = (device.upload(&x), device.allocate::<i64>(3));
        device.launch("sum_blocks", launch(3, 256), Params::new().add(dx).add(out).add(n as i32));
        assert_eq!(device.download::<i64>(out, 3), sums);

        let (dx, out) = (device.upload(&items), device.allocate::<i32>(250));
        device.launch("pipeline", launch(1, 64), Params::new().add(dx).add(out).add(250i32));
        for (i, got) in device.download::<i32>(out, 250).into_iter().enumerate() {
            let partner = items.get(i / 32 * 32 + 31 - i % 32).copied().unwrap_or(0);
            assert_eq!(got, i32::from(items[i]) + 1000 * i32::from(partner));
        }
    });
}

#[test]
fn grid_barriers() {
    let n = 301usize;
    let cells = Random(5).list(n, |r| (r.next() & 1) as u8);
    let after = (0..6).fold(cells.clone(), |now, _| {
        (0..n).map(|i| 110 >> (now[(i + n - 1) % n] << 2 | now[i] << 1 | now[(i + 1) % n]) & 1).collect()
    });
    let x = Random(6).list(n, |r| r.within(1, 9) as f32);
    let total: f32 = x.iter().sum();
    let normalised: Vec<f32> = x.iter().map(|x| x / total).collect();
    let ints = Random(7).list(41, |r| r.within(-99, 99) as i32);
    let mut sorted = ints.clone();
    sorted.sort_unstable();
    every_in_any_order(ptx!("grid"), |device| {
        let cooperative = Launch { cooperative: true, ..launch(3, 48) };
        let (a, b) = (device.upload(&cells), device.allocate::<u8>(n));
        device.launch("automaton", cooperative, Params::new().add(a).add(b).add(n as i32).add(6i32));
        assert_eq!(device.download::<u8>(a, n), after);

        let (dx, sum) = (device.upload(&x), device.upload(&[0f32]));
        device.launch("normalise", cooperative, Params::new().add(dx).add(n as i32).add(sum));
        assert_eq!(device.download::<f32>(dx, n), normalised);

        let (dx, swaps) = (device.upload(&ints), device.upload(&[0i32; 3]));
        let square = Launch { grid: [2, 2, 1], block: [3, 2, 1], cooperative: true, ..Launch::default() };
        device.launch("transposition_sort", square, Params::new().add(dx).add(41i32).add(swaps));
        assert_eq!(device.download::<i32>(dx, 41), sorted);
    });
}

/// The bits of a whole number in half precision.
fn half(x: i32) -> u16 {
    crate::reals::F16.encode(f64::from(x))
}

#[test]
fn atomic_sums_and_tickets() {
    let n = 500usize;
    let x = Random(8).list(n, |r| r.within(-3, 3) as i32);
    let total: i32 = x.iter().sum();
    every_in_any_order(ptx!("atomics"), |device| {
        let (dx, f32s, f64s) = (device.upload(&x), device.upload(&[0f32]), device.upload(&[0f64]));
        let (f16s, f16x2) = (device.upload(&[0u16; 3]), device.upload(&[0u16; 2]));
        let params = Params::new().add(dx).add(n as i32).add(f32s).add(f64s).add(f16s).add(f16x2);
        device.launch("sums", launch(4, 128), params);
        assert_eq!(device.download::<f32>(f32s, 1), [total as f32]);
        assert_eq!(device.download::<f64>(f64s, 1), [f64::from(total)]);
        let thirds = [0, 1, 2].map(|k| half(x.iter().skip(k).step_by(3).sum()));
        assert_eq!(device.download::<u16>(f16s, 3), thirds);
        assert_eq!(device.download::<u16>(f16x2, 2), [half(total), half(-total)]);

        let (counters, wide) = (device.upload(&[0u32, 0, 0, n as u32 - 1]), device.upload(&[77u64]));
        let seen = device.upload(&vec![0u32; 5 * n]);
        let params = Params::new().add(counters).add(wide).add(seen).add(n as i32);
        device.launch("tickets", launch(4, 128), params);
        let once = vec![1u32; n];
        let mut tenths = vec![n as u32 / 10; n];
        tenths[10..].fill(0);
        let expected = [&once[..], &tenths, &tenths, &once, &once].concat();
        assert_eq!(device.download::<u32>(seen, 5 * n), expected);
        assert_eq!(device.download::<u64>(wide, 1), [77 + ((n as u64) << 32)]);
        assert_eq!(device.download::<u32>(counters, 4), [n as u32, 0, 0, u32::MAX]);
    });
}

#[test]
fn atomic_extremes_and_loops() {
    let n = 250usize;
    let mut random = Random(9);
    let (x, wide) = (random.list(n, |r| r.next() as i32), random.list(n, Random::next));
    let reals = random.list(n, |r| [0.5, 2.0, -1.0, -4.0, 0.25, 1.0][r.within(0, 5) as usize] as f32);
    let product: f64 = reals.iter().map(|&x| f64::from(x)).product();
    let all = wide.iter().fold(u64::MAX, |all, w| all & (w | 0xffff_0000_ffff_0000));
    every_in_any_order(ptx!("atomics"), |device| {
        let (dx, dw) = (device.upload(&x), device.upload(&wide));
        let (low, high) = (device.upload(&[i32::MAX]), device.upload(&[0u32]));
        let (signed, unsigned) = (device.upload(&[i64::MAX, i64::MIN]), device.upload(&[0u64, u64::MAX]));
        let (bits, wide_bits) = (device.upload(&[u32::MAX, 0, 0]), device.upload(&[u64::MAX, 0, 0]));
        let params = Params::new().add(dx).add(dw).add(n as i32).add(low).add(high);
        let params = params.add(signed).add(unsigned).add(bits).add(wide_bits);
        device.launch("extremes", launch(3, 100), params);
        assert_eq!(device.download::<i32>(low, 1)[0], *x.iter().min().unwrap());
        assert_eq!(device.download::<u32>(high, 1)[0], x.iter().map(|&x| x as u32).max().unwrap());
        let signs = || wide.iter().map(|&w| w as i64);
        assert_eq!(device.download::<i64>(signed, 2), [signs().min().unwrap(), signs().max().unwrap()]);
        assert_eq!(device.download::<u64>(unsigned, 2), [*wide.iter().max().unwrap(), *wide.iter().min().unwrap()]);
        let words = || x.iter().map(|&x| x as u32);
        let expected = [
            words().fold(u32::MAX, |all, x| all & (x | 0xff)),
            words().fold(0, |some, x| some | x & 0xf0f0),
            words().fold(0, |odd, x| odd ^ x),
        ];
        assert_eq!(device.download::<u32>(bits, 3), expected);
        // Each block has a part of its own, but what the blocks leave is joined by "or" in the last word.
        let parts = wide.chunks(100).map(|part| part.iter().fold(u64::MAX, |all, w| all & (w | 0xffff_0000_ffff_0000)));
        let expected = [all, wide.iter().fold(0, |odd, w| odd ^ w), parts.fold(0, |some, part| some | part)];
        assert_eq!(device.download::<u64>(wide_bits, 3), expected);

        let (dx, dp, largest) = (device.upload(&reals), device.upload(&[1f64]), device.upload(&[f32::NEG_INFINITY]));
        let params = Params::new().add(dx).add(n as i32).add(dp).add(largest);
        device.launch("loops", launch(3, 100), params);
        assert_eq!(device.download::<f64>(dp, 1), [product]);
        assert_eq!(device.download::<f32>(largest, 1), [2.0]);
    });
}

#[test]
fn messages_and_exchanges() {
    let blocks = 6u32;
    let relayed = (0..blocks as i32).fold(5, |data, block| data * 3 + block);
    let n = 96usize;
    every_in_any_order(ptx!("atomics"), |device| {
        for cooperative in [false, true] {
            let data = device.upload(&[5i32, 1, 0, 1, 1, 0, 1]);
            let (flag, last) = (device.upload(&[0u32; 3]), device.allocate::<i32>(1));
            let shape = Launch { cooperative, ..launch(blocks, 32) };
            device.launch("relay", shape, Params::new().add(data).add(flag).add(last));
            assert_eq!(device.download::<i32>(last, 1), [relayed]);
            assert_eq!(device.download::<u32>(flag, 3), [blocks, 4, 2]);
        }

        let values = device.upload(&vec![-1i32; n + 1]);
        let floats = device.upload(&vec![-1f32; n + 1]);
        let wide = device.upload(&vec![u64::MAX; n + 2]);
        let params = Params::new().add(values).add(floats).add(wide).add(n as i32);
        device.launch("exchanges", launch(2, 48), params);
        let mut values = device.download::<i32>(values, n + 1);
        let mut floats = device.download::<f32>(floats, n + 1);
        let mut wide: Vec<i64> = device.download::<u64>(wide, n + 2).into_iter().map(|w| w as i64).collect();
        values.sort_unstable();
        floats.sort_unstable_by(f32::total_cmp);
        wide.sort_unstable();
        assert_eq!(values, (-1..n as i32).collect::<Vec<_>>());
        assert_eq!(floats, (-1..n as i32).map(|x| x as f32).collect::<Vec<_>>());
        assert_eq!(wide, [-1].into_iter().chain(-1..n as i64).collect::<Vec<_>>());
    });
}
