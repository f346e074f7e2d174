//! Times, on the host and on the device.

use std::hint::black_box;
use std::time::Instant;

use kernels_common::error::Result;
use kernels_common::stream::Stream;

use crate::dtype::Value;

/// What `work` returns, and how many milliseconds of the host's time it took.
pub fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64() * 1e3)
}

/// The milliseconds of device time between events before and after what `work` gives to the stream. Waits for it.
///
/// # Errors
/// The error of `work`, or one that the stream met.
pub fn device_ms(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = stream.record()?;
    work()?;
    let end = stream.record()?;
    end.elapsed_ms_since(&start).map(f64::from)
}

/// The median; the mean of the middle two of an even number; NaN of nothing.
#[must_use]
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len => f64::midpoint(sorted[(len - 1) / 2], sorted[len / 2]),
    }
}

/// Milliseconds that the plain loop `s += x * y` takes on this machine, in one thread: the median of three passes.
#[must_use]
pub fn plain_dot_ms<T: Value>(x: &[T], y: &[T]) -> f64 {
    let times = [(); 3].map(|()| timed(|| black_box(T::plain_dot(black_box(x), black_box(y)))).1);
    median(&times)
}

/// Gigabytes (10⁹ bytes) per second; `None` if no time was seen to pass.
#[must_use]
pub fn gigabytes_per_second(bytes: u64, ms: f64) -> Option<f64> {
    (ms > 0.0).then(|| bytes as f64 / (ms * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 8.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn bandwidth() {
        assert_eq!(gigabytes_per_second(8_000_000, 2.0), Some(4.0));
        assert_eq!(gigabytes_per_second(8, 0.0), None);
    }
}
