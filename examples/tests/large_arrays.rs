//! Arrays of more elements than 32 bits count, and the same code with fewer.
//!
//! The large cases run on the device that `auto` opens, if that is a GPU with enough free memory, one after another.
//! The environment variable `KERNELS_LARGE`, set to anything, forces them on any device; on the simulator they take
//! very long.

mod common;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytemuck::Pod;
use common::devices;
use dot::Dot;
use examples::dtype::half::f16;
use examples::rungs::{self, Rung};
use grid_sync::GridSync;
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::{Accumulator, Element};
use kernels_common::error::{Error, Result};
use kernels_common::memory::{DeviceBuffer, Matrix, MatrixMut, PinnedBuffer, PinnedKind, Slice};
use kernels_common::stream::Stream;
use kernels_common::sum::Sum;
use transpose_padding::Transpose;
use vecadd::VecAdd;

/// One element more than 32 bits count.
const LARGE: usize = (1 << 32) + 1;
/// What sums are taken of: on both sides of where a signed and an unsigned index of 32 bits end.
const LENGTHS: [usize; 3] = [(1 << 31) - 1, (1 << 31) + 1, LARGE];

/// The same with few elements: beside a power of two, too.
const SMALL: usize = (1 << 16) + 1;
const SMALL_LENGTHS: [usize; 3] = [(1 << 15) - 1, (1 << 15) + 1, SMALL];

/// Runs `test`, which needs so many bytes for its arrays, where there is room for them.
fn on_large_memory(name: &str, bytes: usize, test: impl FnOnce(&Stream) -> Result<()>) {
    /// Two such tests at once would take each other's memory.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::open("auto").unwrap();
    let forced = std::env::var_os("KERNELS_LARGE").is_some_and(|value| !value.is_empty());
    if !forced {
        if device.properties().backend == BackendKind::Sim {
            println!("skipped: {name}: takes too long on the simulator; KERNELS_LARGE=1 forces it");
            return;
        }
        let (free, _) = device.memory_info().unwrap();
        // Room for partials, and for what the driver needs by itself.
        let needed = bytes as u64 + (1 << 30);
        if free < needed {
            println!(
                "skipped: {name}: {needed} bytes of memory are needed, {free} are free; KERNELS_LARGE=1 forces it"
            );
            return;
        }
    }
    let began = Instant::now();
    let stream = device.stream().unwrap();
    test(&stream).unwrap();
    // Until this, memory that the test freed counts as used.
    stream.synchronize().unwrap();
    println!("{name}: {:.1} s on {device:?}", began.elapsed().as_secs_f64());
}

/// Runs `test` on every device.
fn on_every_device(test: impl Fn(&Stream) -> Result<()>) {
    for device in devices() {
        test(&device.stream().unwrap()).unwrap_or_else(|error| panic!("{device:?}: {error}"));
    }
}

/// `n` elements, the first of which are `pattern`, and the others the same over and over again. Only the pattern comes
/// from the host.
fn repeated<T: Pod>(stream: &Stream, pattern: &[T], n: usize) -> Result<DeviceBuffer<T>> {
    let mut array = stream.alloc_uninit(n)?;
    let mut filled = pattern.len().min(n);
    array.slice_mut(..filled)?.copy_from(&pattern[..filled])?;
    while filled < n {
        let (done, rest) = array.as_slice_mut().split_at(filled)?;
        let count = filled.min(rest.len());
        rest.slice_mut(..count)?.copy_from_slice(done.as_slice().slice(..count)?)?;
        filled += count;
    }
    Ok(array)
}

fn ones<T: Element>(stream: &Stream, n: usize) -> Result<DeviceBuffer<T>> {
    repeated(stream, &vec![T::from_f64(1.0); n.min(1 << 20)], n)
}

/// Zeros, but for a power of two each at the first and the last place, at some between, and at those where an index of
/// 31 or 32 bits ends. Whatever the order of additions, their sum is exact, and tells which of them count; it is
/// returned too.
fn set_landmarks<T: Element>(array: &mut DeviceBuffer<T>) -> Result<f64> {
    let n = array.len();
    let mut places = vec![0, n / 3, n - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32];
    places.retain(|&place| place < n);
    places.sort_unstable();
    places.dedup();
    array.as_slice_mut().fill_zero()?;
    let mut sum = 0.0;
    for (value, place) in places.into_iter().enumerate().map(|(i, place)| (f64::from(1 << i), place)) {
        array.slice_mut(place..=place)?.copy_from(&[T::from_f64(value)])?;
        sum += value;
    }
    Ok(sum)
}

/// Ones that are added to the result of a floating-point sum at a time, where those are so few that large sums stall:
/// from 2^24 times as many on, what is added is half of the result's last bit, and is rounded away.
fn stalls_by<T: Element>(rung: &Rung<T>) -> Option<u64> {
    match (rung.of_crate(), rung.name()) {
        ("atomic-reduce", "per-element") if T::IS_FLOAT => Some(1),
        ("atomic-reduce", "warp-leader") if T::IS_FLOAT => Some(32),
        _ => None,
    }
}

/// Every rung over ones, and over landmarks.
///
/// In `f32`, all but the two rungs of [`stalls_by`] give the sum of ones rounded once: the sums of their blocks are
/// multiples of 256, and so are exact when added up to 2^32. That of the last block is one off such a multiple, and is
/// rounded to it on the way.
fn sums<T: Element>(stream: &Stream, lengths: &[usize]) -> Result<()> {
    let most = lengths[lengths.len() - 1];
    let mut array = ones::<T>(stream, most)?;
    let mut out = stream.alloc_zeros::<T::Sum>(1)?;
    let mut sum = |rung: &mut Rung<T>, input: Slice<'_, T>| {
        rung.enqueue(input, out.as_slice_mut())?;
        Ok::<_, Error>(out.download()?[0])
    };
    let mut rungs = rungs::all::<T>(stream)?;
    rungs.retain(|rung| !rung.is_racy());
    for rung in &mut rungs {
        let name = format!("{} {} of {}", rung.of_crate(), rung.name(), T::NAME);
        rung.reserve(most)?;
        for &n in lengths {
            let result = sum(rung, array.slice(..n)?)?;
            match stalls_by(rung).map(|ones| ones << 24) {
                Some(limit) if n as u64 > limit => {
                    let result = result.to_f64();
                    assert!(result >= limit as f64 && result < n as f64, "{name}: {n} ones add up to {result}");
                    // Longer arrays show nothing else, and take long.
                    break;
                }
                _ => {
                    let expected = <T::Sum as Element>::from_f64(n as f64);
                    assert_eq!(result.bits(), expected.bits(), "{name}: {n} ones add up to {result}");
                }
            }
        }
    }
    let expected = set_landmarks(&mut array)?;
    for rung in &mut rungs {
        let result = sum(rung, array.as_slice())?.to_f64();
        assert_eq!(result, expected, "{} {} of {}", rung.of_crate(), rung.name(), T::NAME);
    }
    Ok(())
}

#[test]
fn sums_of_i32() {
    on_every_device(|stream| sums::<i32>(stream, &SMALL_LENGTHS));
}

#[test]
fn sums_of_f32() {
    on_every_device(|stream| sums::<f32>(stream, &SMALL_LENGTHS));
}

#[test]
fn large_sums_of_i32() {
    on_large_memory("sums of i32", LARGE * size_of::<i32>(), |stream| sums::<i32>(stream, &LENGTHS));
}

#[test]
fn large_sums_of_f32() {
    on_large_memory("sums of f32", LARGE * size_of::<f32>(), |stream| sums::<f32>(stream, &LENGTHS));
}

/// A block for every 256 elements are more than can be resident, which is an error that says how many can be; as many
/// as that add up all elements.
fn too_many_blocks(stream: &Stream, n: usize) -> Result<()> {
    if !stream.device().properties().cooperative_launch {
        println!("skipped: {:?} has no cooperative launches", stream.device());
        return Ok(());
    }
    let array = ones::<f32>(stream, n)?;
    let blocks = u32::try_from(n / 256).unwrap();
    for variant in grid_sync::Variant::ALL {
        let mut sum = GridSync::<f32>::new(stream, variant)?;
        match GridSync::<f32>::with_blocks(stream, variant, blocks) {
            Err(Error::CooperativeTooLarge { asked, maximum, .. }) => {
                assert_eq!((asked, maximum), (blocks.into(), sum.max_blocks().into()), "{variant}");
            }
            other => panic!("{variant}: {other:?}"),
        }
        assert!(sum.plan(n as u64).blocks() <= sum.max_blocks().into(), "{variant}");
        assert_eq!(sum.sum(array.as_slice())?, n as f32, "{variant}");
        // As many as the error allows.
        let mut most = GridSync::<f32>::with_blocks(stream, variant, sum.max_blocks())?;
        assert_eq!(most.sum(array.as_slice())?, n as f32, "{variant}");
    }
    Ok(())
}

#[test]
fn more_blocks_than_are_resident() {
    on_every_device(|stream| {
        // More than there are on any simulated device of the usual size, and few enough for it.
        let most = GridSync::<f32>::new(stream, grid_sync::Variant::OneBarrier).map(|sum| sum.max_blocks() as usize);
        too_many_blocks(stream, 256 * (most.unwrap_or(0) + 1))
    });
}

#[test]
fn a_block_for_every_256_of_many_elements() {
    let n = 1 << 28;
    on_large_memory("blocks of a cooperative launch", n * size_of::<f32>(), |stream| too_many_blocks(stream, n));
}

/// Dot products of halves: of ones, and of ones with landmarks.
fn dots(stream: &Stream, n: usize) -> Result<()> {
    let x = ones::<f16>(stream, n)?;
    let mut landmarks = stream.alloc_uninit::<f16>(n)?;
    let expected = set_landmarks(&mut landmarks)?;
    for variant in dot::Variant::ALL {
        let mut dot = Dot::<f16>::with_variant(stream, variant)?;
        assert_eq!(dot.value(&x, &x)?, n as f32, "{variant}");
        assert_eq!(f64::from(dot.value(&x, &landmarks)?), expected, "{variant}");
        assert_eq!(f64::from(dot.value(&landmarks, &x)?), expected, "{variant}");
    }
    Ok(())
}

#[test]
fn dot_products() {
    on_every_device(|stream| dots(stream, SMALL));
}

#[test]
fn large_dot_products() {
    on_large_memory("dot products of f16", 2 * LARGE * size_of::<f16>(), |stream| dots(stream, LARGE));
}

/// What elements are taken from, by their index modulo its length. A prime, so that no power of two, which is what a
/// wrong index is off by, is a multiple of it.
fn cycle<T>(length: usize, value: fn(u16) -> T) -> Vec<T> {
    (0..length).map(|i| value(u16::try_from(i).unwrap())).collect()
}

/// The cycle as often as makes it about 2^20 elements, to repeat further.
fn tile<T: Pod>(cycle: &[T]) -> Vec<T> {
    cycle.repeat((1 << 20) / cycle.len() + 1)
}

/// Calls `check` with the elements of `array` on the host, in parts of up to `part` elements, and where each starts.
fn for_each_part<T: Pod>(array: &DeviceBuffer<T>, part: usize, mut check: impl FnMut(usize, &[T])) -> Result<()> {
    let part = part.min(array.len());
    let mut host = PinnedBuffer::<T>::zeros(array.stream(), part, PinnedKind::Cached)?;
    for start in (0..array.len()).step_by(part) {
        let count = part.min(array.len() - start);
        host.as_slice_mut().slice_mut(..count)?.copy_from_slice(array.slice(start..start + count)?)?;
        check(start, &host.host()?[..count]);
    }
    Ok(())
}

/// As bytes, of which even a build without optimisation compares gigabytes quickly.
fn same_bytes<T: Pod>(a: &[T], b: &[T]) -> bool {
    bytemuck::cast_slice::<T, u8>(a) == bytemuck::cast_slice::<T, u8>(b)
}

/// z = x + x, then z = (x + x) + z, of halves that tell their index: every element of the result is compared.
fn additions(stream: &Stream, n: usize) -> Result<()> {
    const CYCLE: usize = 251;
    let x = repeated(stream, &tile(&cycle(CYCLE, |i| f16::from_f32(i.into()))), n)?;
    let expected = tile(&cycle(CYCLE, |i| f16::from_f32(4.0 * f32::from(i))));
    for variant in vecadd::Variant::ALL {
        let mut z = stream.alloc_zeros::<f16>(n)?;
        let add = VecAdd::<f16>::with_variant(stream, variant)?;
        add.add(&x, &x, &mut z)?;
        add.accumulate(&x, &x, &mut z)?;
        for_each_part(&z, expected.len(), |start, z| {
            assert!(same_bytes(z, &expected[..z.len()]), "{variant}: the elements from {start} on");
        })?;
    }
    Ok(())
}

#[test]
fn vector_additions() {
    on_every_device(|stream| additions(stream, SMALL));
}

#[test]
fn large_vector_additions() {
    on_large_memory("vector additions of f16", 2 * LARGE * size_of::<f16>(), |stream| additions(stream, LARGE));
}

/// Transposes of a matrix whose elements tell their index: every element of the result is compared.
fn transposes<T: Pod>(stream: &Stream, [rows, columns]: [usize; 2], cycle: &[T]) -> Result<()> {
    let n = rows * columns;
    let x = repeated(stream, &tile(cycle), n)?;
    // Element r of row c of the result is that of index r · columns + c of the input. So a row goes round the cycle in
    // steps of `columns`, from c on: all rows are parts of one sequence.
    let period = cycle.len();
    let sequence: Vec<T> = (0..period + rows).map(|step| cycle[step * (columns % period) % period]).collect();
    let mut starts = vec![usize::MAX; period];
    for step in 0..period {
        starts[step * (columns % period) % period] = step;
    }
    for variant in transpose_padding::Variant::ALL {
        let mut z = stream.alloc_zeros::<T>(n)?;
        let transpose = Transpose::<T>::with_variant(stream, variant)?;
        transpose.enqueue(Matrix::new(&x, rows, columns)?, MatrixMut::new(&mut z, columns, rows)?)?;
        let whole_rows = ((1 << 26) / (rows * size_of::<T>())).max(1);
        for_each_part(&z, whole_rows * rows, |start, z| {
            for (i, row) in z.chunks(rows).enumerate() {
                let column = start / rows + i;
                let first = starts[column % period];
                let right = same_bytes(row, &sequence[first..first + rows]);
                assert!(right, "{variant}, {rows} × {columns}: row {column} of the result");
            }
        })?;
    }
    Ok(())
}

fn transposes_of_f32(stream: &Stream, long: usize) -> Result<()> {
    let cycle = cycle(65_521, f32::from);
    transposes(stream, [long, 4], &cycle)?;
    transposes(stream, [4, long], &cycle)
}

fn transposes_of_bytes(stream: &Stream, side: usize) -> Result<()> {
    transposes(stream, [side, side], &cycle(251, |i| i as u8))
}

#[test]
fn transposes_with_a_long_side() {
    on_every_device(|stream| transposes_of_f32(stream, 32_771));
}

#[test]
fn transposes_with_a_very_long_side() {
    let long = 2_097_121;
    on_large_memory("transposes with a long side", 8 * long * size_of::<f32>(), |stream| {
        transposes_of_f32(stream, long)
    });
}

#[test]
fn square_transposes() {
    on_every_device(|stream| transposes_of_bytes(stream, 257));
}

#[test]
fn large_square_transposes() {
    let side = (1 << 16) + 1;
    on_large_memory("transposes of bytes", 2 * side * side, |stream| transposes_of_bytes(stream, side));
}
