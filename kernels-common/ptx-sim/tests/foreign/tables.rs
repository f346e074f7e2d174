//! Histograms, hash tables, graphs and texts.

use std::collections::HashMap;

use crate::common::{Params, launch};
use crate::{Random, every, every_in_any_order, launch_shared, ptx};

#[test]
fn histograms() {
    let n = 3001usize;
    // Few values are frequent.
    let data = Random(1).list(n, |r| (r.within(0, 255) & r.within(0, 255)) as u8);
    let count = |data: &[u8]| {
        let mut counts = vec![0u32; 256];
        for &byte in data {
            counts[usize::from(byte)] += 1;
        }
        counts
    };
    let expected = count(&data);
    every(ptx!("histogram"), |device| {
        let (x, counts) = (device.upload(&data), device.upload(&[0u32; 256]));
        device.launch("histogram", launch(3, 200), Params::new().add(x).add(n as u64).add(counts));
        assert_eq!(device.download::<u32>(counts, 256), expected);

        let counts = device.upload(&[0u32; 256]);
        let params = Params::new().add(x).add(n as u32 / 4).add(counts);
        device.launch("histogram_packed", launch_shared(6, 128, 512), params);
        assert_eq!(device.download::<u32>(counts, 256), count(&data[..n / 4 * 4]));

        let counts = device.upload(&[0u32; 256]);
        device.launch("histogram_aggregated", launch(12, 256), Params::new().add(x).add(n as u32).add(counts));
        assert_eq!(device.download::<u32>(counts, 256), expected);
    });
}

#[test]
fn hash_tables() {
    let n = 700usize;
    let slots = 512usize;
    let keys = Random(2).list(n, |r| (r.within(0, 299) as u32 * 0x0101_0101) & 0x7fff_ffff);
    let mut counts = HashMap::<u32, u32>::new();
    for &key in &keys {
        *counts.entry(key).or_default() += 1;
    }
    let pairs = Random(3).list(2 * n, |r| r.within(0, 249) as u32);
    let mut largest = HashMap::<u32, u32>::new();
    for pair in pairs.chunks(2) {
        let value = largest.entry(pair[0]).or_default();
        *value = pair[1].max(*value);
    }
    let asked: Vec<u32> = (0..300).collect();
    let answers: Vec<i32> = asked.iter().map(|key| largest.get(key).map_or(-1, |&value| value as i32)).collect();
    // Components of a graph of 100 vertices: the smallest vertex of each.
    let edges = Random(4).list(160, |r| r.within(0, 99) as u16);
    let mut component: Vec<u16> = (0..100).collect();
    for _ in 0..100 {
        for edge in edges.chunks(2) {
            let [a, b] = [edge[0], edge[1]].map(usize::from);
            let smaller = component[a].min(component[b]);
            (component[a], component[b]) = (smaller, smaller);
        }
    }
    every_in_any_order(ptx!("hash"), |device| {
        let (k, table, totals) =
            (device.upload(&keys), device.upload(&vec![u32::MAX; slots]), device.upload(&vec![0u32; slots]));
        let mask = slots as u32 - 1;
        let params = Params::new().add(k).add(n as i32).add(table).add(totals).add(mask);
        device.launch("count_keys", launch(6, 128), params);
        let (table, totals) = (device.download::<u32>(table, slots), device.download::<u32>(totals, slots));
        let got: HashMap<u32, u32> = table.into_iter().zip(totals).filter(|&(key, _)| key != u32::MAX).collect();
        assert_eq!(got, counts);

        let (p, table) = (device.upload(&pairs), device.upload(&vec![u64::MAX; slots]));
        device.launch("insert_pairs", launch(6, 128), Params::new().add(p).add(n as i32).add(table).add(mask));
        let (ask, values) = (device.upload(&asked), device.allocate::<i32>(300));
        let params = Params::new().add(table).add(mask).add(ask).add(300i32).add(values);
        device.launch("look_up", launch(3, 128), params);
        assert_eq!(device.download::<i32>(values, 300), answers);

        let (e, parent) = (device.upload(&edges), device.upload(&(0..100).collect::<Vec<u16>>()));
        device.launch("unite", launch(2, 64), Params::new().add(e).add(80i32).add(parent));
        let parent = device.download::<u16>(parent, 100);
        for (vertex, &root) in component.iter().enumerate() {
            let mut at = vertex as u16;
            while parent[usize::from(at)] != at {
                at = parent[usize::from(at)];
            }
            assert_eq!(at, root, "vertex {vertex}");
        }
    });
}

#[test]
fn graphs() {
    let vertices = 400usize;
    let mut random = Random(5);
    // The last vertices have no edge to them; vertex 0 has many.
    let neighbours: Vec<Vec<u32>> = (0..vertices)
        .map(|v| {
            let degree = if v == 0 { 90 } else { random.within(0, 3) as usize };
            random.list(degree, |r| r.within(0, vertices as i64 - 20) as u32)
        })
        .collect();
    let mut starts = vec![0u32];
    for list in &neighbours {
        starts.push(starts.last().unwrap() + list.len() as u32);
    }
    let flat = neighbours.concat();
    let mut distance = vec![-1i32; vertices];
    distance[0] = 0;
    let mut queue = std::collections::VecDeque::from([0usize]);
    while let Some(v) = queue.pop_front() {
        for &w in &neighbours[v] {
            if distance[w as usize] < 0 {
                distance[w as usize] = distance[v] + 1;
                queue.push_back(w as usize);
            }
        }
    }
    let edges: Vec<[i32; 3]> = neighbours
        .iter()
        .enumerate()
        .flat_map(|(v, list)| list.iter().map(move |&w| [v as i32, w as i32, (v as i32 * 7 + w as i32) % 11 + 1]))
        .collect();
    let mut shortest = vec![1i32 << 30; vertices];
    shortest[0] = 0;
    for _ in 0..vertices {
        for &[from, to, length] in &edges {
            shortest[to as usize] = shortest[to as usize].min(shortest[from as usize].saturating_add(length));
        }
    }
    for distance in &mut shortest {
        *distance = (*distance).min(1 << 30);
    }
    every_in_any_order(ptx!("bfs"), |device| {
        let (ds, dn) = (device.upload(&starts), device.upload(&flat));
        let mut before = vec![-1i32; vertices];
        before[0] = 0;
        let dd = device.upload(&before);
        let (mut queue, mut next) = (device.upload(&vec![0u32; vertices]), device.upload(&vec![0u32; vertices]));
        let mut length = 1u32;
        for level in 1.. {
            let next_length = device.upload(&[0u32]);
            let params = Params::new().add(ds).add(dn).add(vertices as u32).add(dd).add(queue).add(length);
            let params = params.add(next).add(next_length).add(level);
            device.launch("bfs_step", launch(length.div_ceil(64), 64), params);
            length = device.download::<u32>(next_length, 1)[0];
            (queue, next) = (next, queue);
            if length == 0 {
                break;
            }
        }
        assert_eq!(device.download::<i32>(dd, vertices), distance);

        let mut before = vec![1i32 << 30; vertices];
        before[0] = 0;
        let (de, dd) = (device.upload(&edges.concat()), device.upload(&before));
        loop {
            let changed = device.upload(&[0u8]);
            let blocks = (edges.len() as u32).div_ceil(128);
            device.launch(
                "relax",
                launch(blocks, 128),
                Params::new().add(de).add(edges.len() as i32).add(dd).add(changed),
            );
            if device.download::<u8>(changed, 1) == [0] {
                break;
            }
        }
        assert_eq!(device.download::<i32>(dd, vertices), shortest);
    });
}

#[test]
fn texts() {
    let text: Vec<u8> = Random(6).list(1500, |r| b"abAB. "[r.within(0, 5) as usize]);
    let pattern = b"a?B";
    let matches = |i: usize| {
        pattern.iter().enumerate().all(|(j, &p)| text.get(i + j).is_some_and(|&byte| p == b'?' || byte == p))
    };
    let found: Vec<u8> = (0..text.len()).map(|i| u8::from(matches(i))).collect();
    let folded: Vec<u8> = text.iter().map(u8::to_ascii_lowercase).collect();
    let words = folded.split(|byte| !byte.is_ascii_lowercase()).filter(|word| !word.is_empty()).count();
    every(ptx!("search"), |device| {
        let set = |device: &mut crate::common::Device, name: &str, bytes: &[u8]| {
            let address = device.program.variable(name).unwrap();
            device.simulator.write(address, bytes).unwrap();
        };
        set(device, "pattern", pattern);
        set(device, "pattern_length", &3i32.to_le_bytes());
        set(device, "fold", &(0..=255u8).map(|byte| byte.to_ascii_lowercase()).collect::<Vec<u8>>());
        let n = text.len();
        let (t, hits) = (device.upload(&text), device.allocate::<u8>(n));
        let (count, first) = (device.upload(&[0i32]), device.upload(&[i32::MAX]));
        let params = Params::new().add(t).add(n as i32).add(hits).add(count).add(first);
        device.launch("search", launch(6, 256), params);
        assert_eq!(device.download::<u8>(hits, n), found);
        assert_eq!(device.download::<i32>(count, 1)[0], found.iter().map(|&hit| i32::from(hit)).sum::<i32>());
        assert_eq!(device.download::<i32>(first, 1)[0] as usize, found.iter().position(|&hit| hit == 1).unwrap());

        let (starts, out) = (device.upload(&[0u32]), device.allocate::<u8>(n));
        device.launch("words", launch(6, 256), Params::new().add(t).add(n as i32).add(starts).add(out));
        assert_eq!(device.download::<u32>(starts, 1)[0] as usize, words);
        assert_eq!(device.download::<u8>(out, n), folded);
    });
}
