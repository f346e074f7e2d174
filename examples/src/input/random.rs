//! Random vectors that are the same on every machine.

use std::thread;

use anyhow::{Result, anyhow};
use kernels_common::element::Element;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::dtype::Value;
use crate::report;

/// Elements that one stream of the generator makes. Streams are independent of one another, so that any thread can make
/// any of them.
const CHUNK: usize = 1 << 16;

/// `n` random values, see [`Value::uniform`], from ChaCha with 8 rounds. They depend on the seed, on `vector` (0 or
/// 1: which vector of the program it is) and on the type; a longer vector starts with a shorter one.
///
/// # Errors
/// Not enough memory.
pub fn random<T: Value>(n: u64, seed: u64, vector: u64) -> Result<Box<[T]>> {
    generate(n, seed, vector, |chunk| {
        for value in chunk {
            *value = T::uniform(bytemuck::cast(*value));
        }
    })
}

/// `n` random integers from −8 to 8, from 0 to 16 for unsigned types. As long as their partial sums stay below 2²⁴,
/// every type of sum holds them exactly, so that any order of additions gives the same sum: a result is right or wrong,
/// with nothing in between.
///
/// # Errors
/// Not enough memory.
pub fn small_integers<T: Value>(n: u64, seed: u64) -> Result<Box<[T]>> {
    let lowest = if T::IS_FLOAT || T::from_f64(-1.0) < T::default() { -8.0 } else { 0.0 };
    let choices: [T; 17] = std::array::from_fn(|i| T::from_f64(lowest + i as f64));
    generate(n, seed, 0, |chunk| {
        for value in chunk {
            let byte = bytemuck::bytes_of(value)[0];
            *value = choices[usize::from(byte) % choices.len()];
        }
    })
}

/// `n` values that `finish` makes of random bits, a chunk at a time.
fn generate<T: Value>(n: u64, seed: u64, vector: u64, finish: impl Fn(&mut [T]) + Sync) -> Result<Box<[T]>> {
    let mut values = zeros::<T>(n)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let per_thread = values.len().div_ceil(CHUNK).div_ceil(threads).max(1);
    thread::scope(|scope| {
        let finish = &finish;
        for (thread, part) in values.chunks_mut(per_thread * CHUNK).enumerate() {
            scope.spawn(move || {
                for (i, chunk) in part.chunks_mut(CHUNK).enumerate() {
                    let number = (thread * per_thread + i) as u64;
                    fill(chunk, seed, 2 * number + vector);
                    finish(chunk);
                }
            });
        }
    });
    Ok(values)
}

/// `n` zeros.
///
/// # Errors
/// Not enough memory.
pub fn zeros<T: Element>(n: u64) -> Result<Box<[T]>> {
    let zeros = usize::try_from(n).ok().and_then(|n| bytemuck::allocation::try_zeroed_slice_box(n).ok());
    zeros.ok_or_else(|| {
        anyhow!("there is not enough memory for {} elements of {}: use fewer", report::count(n), T::NAME)
    })
}

fn fill<T: Value>(chunk: &mut [T], seed: u64, stream: u64) {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream);
    generator.fill_bytes(bytemuck::cast_slice_mut(chunk));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;
    use crate::for_dtype;
    use clap::ValueEnum;

    #[test]
    fn the_same_seed_gives_the_same_values() {
        let n = 3 * CHUNK as u64 + 5;
        let x: Box<[f32]> = random(n, 7, 0).unwrap();
        assert_eq!(x, random(n, 7, 0).unwrap());
        assert_ne!(x, random(n, 7, 1).unwrap());
        assert_ne!(x, random(n, 8, 0).unwrap());
        assert_ne!(x[..CHUNK], x[CHUNK..2 * CHUNK]);
        assert_eq!(x[..CHUNK + 1], *random::<f32>(CHUNK as u64 + 1, 7, 0).unwrap());
        // Not only on this machine and today.
        assert_eq!(*random::<u64>(2, 0, 0).unwrap(), [0xb585_f767_a79a_3b6c, 0x7746_a55f_bad8_c037]);
        assert_eq!(random::<f32>(CHUNK as u64 + 1, 1, 1).unwrap()[CHUNK], 0.281_296_3);
    }

    #[test]
    fn values_are_in_range_and_differ() {
        for dtype in Dtype::value_variants() {
            for_dtype!(*dtype, T => {
                let values: Box<[T]> = random(10_000, 0, 0).unwrap();
                let mean = values.iter().map(|value| value.to_f64()).sum::<f64>() / values.len() as f64;
                let (low, high) = match dtype {
                    Dtype::I32 => (-32768.0, 32768.0),
                    Dtype::U32 => (0.0, 65536.0),
                    Dtype::I64 => (i64::MIN as f64, i64::MAX as f64),
                    Dtype::U64 => (0.0, u64::MAX as f64),
                    _ => (-1.0, 1.0),
                };
                assert!(values.iter().all(|value| (low..=high).contains(&value.to_f64())), "{dtype}");
                // Ten times the standard deviation of the mean.
                let (middle, deviation) = ((low + high) / 2.0, (high - low) / 12f64.sqrt() / 100.0);
                assert!((mean - middle).abs() < 10.0 * deviation, "{dtype}: {mean}");
            });
        }
    }

    #[test]
    fn small_integers_sum_up_exactly_in_any_order() {
        for dtype in Dtype::value_variants() {
            for_dtype!(*dtype, T => {
                let values: Box<[T]> = small_integers(10_000, 3).unwrap();
                let (low, high) = if matches!(dtype, Dtype::U32 | Dtype::U64) { (0.0, 16.0) } else { (-8.0, 8.0) };
                let value = |i: usize| values[i].to_f64();
                assert!((0..10_000).all(|i| (low..=high).contains(&value(i)) && value(i).fract() == 0.0), "{dtype}");
                assert!([low, high].iter().all(|end| (0..10_000).any(|i| value(i) == *end)), "{dtype}");
            });
        }
    }

    #[test]
    fn nothing_and_too_much() {
        assert!(random::<f32>(0, 0, 0).unwrap().is_empty());
        let error = random::<f64>(u64::MAX / 8, 0, 0).unwrap_err().to_string();
        // Programs name their sizes differently.
        assert!(error.contains("2_305_843_009_213_693_951 elements of f64: use fewer"), "{error}");
    }
}
