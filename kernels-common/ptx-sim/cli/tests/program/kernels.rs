//! Whole kernels with arrays from files, against plain Rust.

use crate::{Folder, foreign};
use half::f16;

/// Repeatable numbers without a pattern.
fn scrambled(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24)
}

#[test]
fn saxpy_keeps_the_shape_of_arrays() {
    let folder = Folder::new();
    let x: Vec<f32> = (0..1000).map(|i| i as f32 / 8.0).collect();
    let y: Vec<f32> = (0..1000).map(|i| 1000.0 - i as f32).collect();
    folder.write("x.npy", &[1000], &x);
    folder.write("y.npy", &[25, 4, 10], &y);
    let ptx = foreign("saxpy");
    let line = format!("run {ptx} f32=2.5 x.npy y.npy,out=z.npy i32=len:x --grid 1000/256 --block 256");
    assert!(folder.line(&line).fine().contains("y: f32 (25, 4, 10) written to z.npy"));
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5 * x + y).collect();
    assert_eq!(folder.read::<f32>("z.npy"), (vec![25, 4, 10], expected));
}

#[test]
fn a_histogram_of_bytes() {
    let folder = Folder::new();
    let data: Vec<u8> = scrambled(10_000).map(|value| (value % 200) as u8).collect();
    folder.write("data.npy", &[10_000], &data);
    let ptx = foreign("histogram");
    let line = "histogram data.npy u64=len:data zeros:u32:256,out=counts.npy --grid 4 --block 128";
    folder.line(&format!("run {ptx} {line}")).fine();
    let mut counts = vec![0u32; 256];
    data.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    assert_eq!(folder.read::<u32>("counts.npy").1, counts);
}

#[test]
fn a_product_of_matrices_that_tiles_do_not_divide() {
    let folder = Folder::new();
    let (m, n, k) = (20usize, 17, 33);
    let a: Vec<f32> = scrambled((m * k) as u64).map(|value| (value % 17) as f32 - 8.0).collect();
    let b: Vec<f32> = scrambled((k * n) as u64).map(|value| (value % 13) as f32 - 6.0).collect();
    folder.write("a.npy", &[20, 33], &a);
    folder.write("b.npy", &[33, 17], &b);
    let ptx = foreign("matmul");
    let line = "matmul_float a.npy b.npy uninit:f32:20x17,out=c.npy i32=20 i32=17 i32=33";
    folder.line(&format!("run {ptx} {line} --grid 17/16,20/16 --block 16,16")).fine();
    let dot = |row: usize, column: usize| (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum::<f32>();
    let expected: Vec<f32> = (0..m * n).map(|place| dot(place / n, place % n)).collect();
    assert_eq!(folder.read::<f32>("c.npy"), (vec![20, 17], expected));
}

#[test]
fn a_sort_in_dynamic_shared_memory_and_in_place() {
    let folder = Folder::new();
    let x: Vec<i32> = scrambled(1000).map(|value| value as i32).collect();
    folder.write("x.npy", &[1000], &x);
    let ptx = foreign("bitonic");
    let line = "sort_ints x.npy,out=x.npy i32=len:x i32=256 --shared 1024 --grid 1000/256 --block 64";
    folder.line(&format!("run {ptx} {line}")).fine();
    let mut expected = x;
    expected.chunks_mut(256).for_each(<[i32]>::sort_unstable);
    assert_eq!(folder.read::<i32>("x.npy").1, expected);
}

#[test]
fn a_stencil_on_a_grid_of_two_dimensions() {
    let folder = Folder::new();
    let (width, height) = (45i32, 19i32);
    let x: Vec<f32> = scrambled(45 * 19).map(|value| (value % 1000) as f32 / 10.0).collect();
    folder.write("x.npy", &[19, 45], &x);
    let ptx = foreign("stencil");
    let line = "heat x.npy zeros:f32:19x45,out=y.npy i32=45 i32=19 f32=0.1 --grid 45/32,19/8 --block 32,8";
    folder.line(&format!("run {ptx} {line}")).fine();
    let at = |column: i32, row: i32| x[(row.clamp(0, height - 1) * width + column.clamp(0, width - 1)) as usize];
    let expected: Vec<f32> = (0..width * height)
        .map(|place| {
            let (column, row) = (place % width, place / width);
            let around = (at(column, row - 1) + at(column, row + 1)) + (at(column - 1, row) + at(column + 1, row));
            0.1f32.mul_add((-4.0f32).mul_add(at(column, row), around), at(column, row))
        })
        .collect();
    assert_eq!(folder.read::<f32>("y.npy").1, expected);
}

/// Structures in memory are arrays of bytes; one that is a parameter is written by its fields.
#[test]
fn structures() {
    let folder = Folder::new();
    let n = 100;
    let kinds: Vec<i16> = scrambled(n).map(|value| (value % 7) as i16).collect();
    let values: Vec<f64> = scrambled(n).map(|value| (value % 64) as f64).collect();
    let reading = |i: usize| {
        let (kind, value) = (kinds[i].to_le_bytes(), values[i].to_le_bytes());
        // short, unsigned char, double, int, float: 24 bytes with what lies between.
        [&kind[..], &[0; 6], &value, &1i32.to_le_bytes(), &0f32.to_le_bytes()].concat()
    };
    let bytes: Vec<u8> = (0..n as usize).flat_map(reading).collect();
    folder.write("in.npy", &[n, 24], &bytes);
    let ptx = foreign("structs");
    let rule = "u8=128,f64=0.5,i16=2,i16=5,f32=-1,f32=-1,f32=-1";
    folder.line(&format!("run {ptx} prefix in.npy uninit:u8:100x24,out=out.npy i32=100 {rule} --block 128")).fine();
    let (shape, out) = folder.read::<u8>("out.npy");
    assert_eq!(shape, [100, 24]);
    let (mut sum, mut count) = (0.0, 0);
    for i in 0..n as usize {
        if (2..=5).contains(&kinds[i]) {
            sum += values[i] * 0.5;
            count += 1;
        }
        let found = &out[24 * i..][..24];
        assert_eq!(f64::from_le_bytes(found[8..16].try_into().unwrap()), sum, "{i}");
        assert_eq!(i32::from_le_bytes(found[16..20].try_into().unwrap()), count, "{i}");
    }
    assert!(count > 10 && count < 90);
}

#[test]
fn recursion() {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, _) => n + 1,
            (_, 0) => ackermann(m - 1, 1),
            _ => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let folder = Folder::new();
    let ptx = foreign("calls");
    let line = format!("run {ptx} recursion uninit:u32:15,name=found --block 15 --print found:15 --json");
    let json = folder.line(&line).json();
    let expected: Vec<u32> = (0..15).map(|t| ackermann(t % 3, t / 3 % 5)).collect();
    assert_eq!(json["outputs"][0]["values"], serde_json::json!(expected));
}

#[test]
fn backtracking_in_local_memory() {
    let folder = Folder::new();
    let ptx = foreign("calls");
    for (size, solutions) in [(6, 4), (8, 92)] {
        let line = format!("run {ptx} queens i32={size} zeros:u32:1,name=solutions --block 32 --print solutions");
        assert!(folder.line(&line).fine().contains(&format!("solutions: u32 (1) = [{solutions}]\n")));
    }
}

#[test]
fn an_instance_of_a_template() {
    let folder = Folder::new();
    let x: Vec<i8> = scrambled(100).map(|value| value as i8).collect();
    folder.write("x.npy", &[100], &x);
    let ptx = foreign("templates");
    let line = "axpy_max<signed_char> i8=3 x.npy zeros:i8:100 uninit:i8:100,name=z,out=z.npy uninit:i8:2,out=largest.npy \
                i32=100 --grid 2 --block 50 --shared 50";
    let words: Vec<String> = line.split_whitespace().map(|word| word.replace("signed_char", "signed char")).collect();
    let words = [&["run", &ptx][..], &words.iter().map(String::as_str).collect::<Vec<_>>()].concat();
    folder.words(&words).fine();
    let z: Vec<i8> = x.iter().map(|x| x.wrapping_mul(3)).collect();
    assert_eq!(folder.read::<i8>("z.npy").1, z);
    let largest: Vec<i8> = z.chunks(50).map(|block| *block.iter().max().unwrap()).collect();
    assert_eq!(folder.read::<i8>("largest.npy").1, largest);
}

#[test]
fn a_cooperative_launch() {
    let folder = Folder::new();
    let n = 200usize;
    let mut cells: Vec<u8> = scrambled(n as u64).map(|value| (value & 1) as u8).collect();
    folder.write("a.npy", &[200], &cells);
    let ptx = foreign("grid");
    let line = "automaton a.npy,out=b.npy uninit:u8:200 i32=200 i32=10 --grid 6 --block 32 --cooperative";
    folder.line(&format!("run {ptx} {line}")).fine();
    for _ in 0..10 {
        let around = |i: usize| cells[(i + n - 1) % n] << 2 | cells[i] << 1 | cells[(i + 1) % n];
        cells = (0..n).map(|i| 110 >> around(i) & 1).collect();
    }
    assert_eq!(folder.read::<u8>("b.npy").1, cells);
}

#[test]
fn halves_in_arrays_and_by_value() {
    let folder = Folder::new();
    let x: Vec<f16> = (0..200).map(|i| f16::from_f32(i as f32 / 4.0 - 20.0)).collect();
    folder.write("x.npy", &[100, 2], &x);
    let ptx = foreign("half2");
    let line = "clip x.npy uninit:f16:100x2,out=y.npy uninit:u8:100 uninit:i16:100 i32=100 f16=-8 f16=12 --block 128";
    folder.line(&format!("run {ptx} {line}")).fine();
    let clipped = |(i, x): (usize, &f16)| {
        let (x, clipped) = (x.to_f32(), x.to_f32().clamp(-8.0, 12.0));
        let step = if i % 2 == 0 { 0.5 } else { 0.25 };
        f16::from_f32(2.0 * clipped - if clipped == x { 0.0 } else { step })
    };
    let expected: Vec<f16> = x.iter().enumerate().map(clipped).collect();
    assert_eq!(folder.read::<f16>("y.npy").1, expected);
}

#[test]
fn escape_times_in_unsigned_short() {
    let folder = Folder::new();
    let ptx = foreign("mandelbrot");
    let line = "uninit:u16:24x32,out=steps.npy i32=32 i32=24 f64=-2 f64=1.2 f64=0.1 i32=50 --grid 2,3 --block 16,8";
    folder.line(&format!("run {ptx} {line}")).fine();
    let (shape, steps) = folder.read::<u16>("steps.npy");
    assert_eq!(shape, [24, 32]);
    let escape = |column: usize, row: usize| {
        let (cx, cy) = ((column as f64).mul_add(0.1, -2.0), (-(row as f64)).mul_add(0.1, 1.2));
        let (mut x, mut y, mut step) = (0f64, 0f64, 0);
        while step < 50 && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, (2.0 * x).mul_add(y, cy));
            step += 1;
        }
        step
    };
    let expected: Vec<u16> = (0..24 * 32).map(|place| escape(place % 32, place / 32)).collect();
    assert_eq!(steps, expected);
}

#[test]
fn blocks_that_wait_for_one_another() {
    let folder = Folder::new();
    let x: Vec<u32> = scrambled(2000).map(|value| (value % 1000) as u32).collect();
    folder.write("x.npy", &[2000], &x);
    let ptx = foreign("scan");
    let line = "scan_lookback x.npy uninit:u32:2000,out=y.npy zeros:u64:8 zeros:u32:1 u32=len:x --grid 2000/256 \
                --block 256 --seed 3";
    assert!(folder.line(&format!("run {ptx} {line}")).fine().contains(", seed 3; "));
    let mut sum = 0;
    let expected: Vec<u32> = x.iter().map(|x| (sum += x, sum).1).collect();
    assert_eq!(folder.read::<u32>("y.npy").1, expected);
}

/// The structure holds addresses of buffers that are no arguments.
#[test]
fn pointers_in_a_structure() {
    let folder = Folder::new();
    // 0 - 1, 0 - 2, 2 - 3.
    folder.write("starts.npy", &[5], &[0u32, 2, 3, 5, 6]);
    folder.write("neighbours.npy", &[6], &[1u32, 2, 0, 0, 3, 2]);
    folder.write("distance.npy", &[4], &[0i32, -1, -1, -1]);
    let ptx = foreign("bfs");
    let step = |queue: &str, level: u32| {
        let line = format!(
            "run {ptx} bfs_step @starts,@neighbours,u32=4 distance.npy,out=distance.npy {queue} u32=len:queue \
             uninit:u32:4,name=next zeros:u32:1,name=length i32={level} --block 64 --buffer starts.npy \
             --buffer neighbours.npy --print length"
        );
        folder.line(&line).fine().to_owned()
    };
    assert!(step("zeros:u32:1,name=queue", 1).contains("length: u32 (1) = [2]"));
    folder.write("level.npy", &[2], &[2u32, 1]);
    assert!(step("level.npy,name=queue", 2).contains("length: u32 (1) = [1]"));
    assert_eq!(folder.read::<i32>("distance.npy").1, [0, 1, 1, 2]);
}

/// The address of an element that is not the first, twice in one launch.
#[test]
fn parts_of_a_buffer() {
    let folder = Folder::new();
    let x: Vec<u8> = (0..64).collect();
    folder.write("x.npy", &[64], &x);
    let ptx = foreign("transport");
    let line = "copy @x+5 @x+40 u64=16 --grid 1 --block 32 --buffer x.npy,out=y.npy";
    folder.line(&format!("run {ptx} {line}")).fine();
    let mut expected = x;
    expected.copy_within(5..21, 40);
    assert_eq!(folder.read::<u8>("y.npy").1, expected);
}
