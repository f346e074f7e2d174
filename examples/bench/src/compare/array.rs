//! Operations whose result is an array: vector additions and transposes.

use std::thread;

use anyhow::{Context, Result, bail};
use examples::check::compare;
use examples::dtype::Value;
use examples::input::random;
use kernels_common::memory::{DeviceBuffer, PinnedBuffer, PinnedKind, Slice, SliceMut};
use kernels_common::stream::Stream;

use super::size::Size;
use super::subject::{Named, Role, Subject};

/// A way to compute an array of as many elements as each input has.
pub(crate) trait ArrayWay<T: Value> {
    /// Starts computing.
    fn enqueue(&mut self, size: Size, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T>) -> Result<()>;
}

/// What an operation on arrays computes.
#[derive(Clone, Copy)]
pub(crate) struct Operation<T> {
    /// How many inputs it reads, 1 or 2.
    pub(crate) inputs: u64,
    /// The element of the result at an index.
    pub(crate) element: fn(size: Size, index: usize, x: &[T], y: &[T]) -> T,
}

/// A way with its name and what it computes.
struct Way<T: Value> {
    named: Named,
    operation: Operation<T>,
    way: Box<dyn ArrayWay<T>>,
}

/// A copy of the first input, which every device can make.
fn copy<T: Value>() -> Operation<T> {
    Operation { inputs: 1, element: |_, index, x, _| x[index] }
}

/// How many elements are checked at a time.
const CHUNK: usize = 1 << 24;

/// An operation on one or two arrays.
pub(crate) struct Arrays<T: Value> {
    x: Box<[T]>,
    /// Empty unless there are two inputs.
    y: Box<[T]>,
    device_x: DeviceBuffer<T>,
    device_y: DeviceBuffer<T>,
    out: DeviceBuffer<T>,
    /// What fills the output before a check.
    poison: DeviceBuffer<T>,
    chunk: PinnedBuffer<T>,
    stream: Stream,
    ways: Vec<Way<T>>,
}

impl<T: Value> Arrays<T> {
    /// For arrays of up to `n` elements, and operations with so many inputs.
    pub(crate) fn new(stream: &Stream, n: u64, seed: u64, inputs: u64) -> Result<Self> {
        let (x, y) = (random::<T>(n, seed, 0)?, random::<T>(if inputs > 1 { n } else { 0 }, seed, 1)?);
        let (device_x, device_y) = (stream.upload(&x)?, stream.upload(&y)?);
        let chunk = CHUNK.min(x.len());
        // Random values and their sums lie between -2 and 2, or are small integers, or any.
        let poison = stream.upload(&vec![T::from_f64(-12_345.0); chunk])?;
        let (out, chunk) = (stream.alloc_uninit(x.len())?, PinnedBuffer::zeros(stream, chunk, PinnedKind::Cached)?);
        Ok(Self { x, y, device_x, device_y, out, poison, chunk, stream: stream.clone(), ways: Vec::new() })
    }

    /// Adds a way to compute `operation`.
    pub(crate) fn add(&mut self, role: Role, name: &str, operation: Operation<T>, way: impl ArrayWay<T> + 'static) {
        let named = Named { name: name.to_owned(), role };
        self.ways.push(Way { named, operation, way: Box::new(way) });
    }

    /// Adds the driver's copy from device memory to device memory.
    pub(crate) fn add_copy(&mut self) {
        self.add(Role::Ceiling, "memcpy", copy(), Copy);
    }

    /// Fails unless the first `n` elements of the output are what `operation` gives.
    fn compare(&mut self, size: Size, operation: Operation<T>) -> Result<()> {
        let n = size.elements() as usize;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        for start in (0..n).step_by(CHUNK) {
            let len = CHUNK.min(n - start);
            let mut chunk = self.chunk.slice_mut(..len)?;
            chunk.copy_from_slice(self.out.slice(start..start + len)?)?;
            let found = &self.chunk.host()?[..len];
            let (x, y) = (&self.x, &self.y);
            let part = len.div_ceil(threads).max(1 << 12);
            let first = thread::scope(|scope| {
                let check = |(number, found): (usize, &'_ [T])| {
                    let before = start + number * part;
                    compare(found, |index| (operation.element)(size, before + index, x, y))
                        .map(|mismatch| (before, mismatch))
                };
                let parts: Vec<_> =
                    found.chunks(part).enumerate().map(|part| scope.spawn(move || check(part))).collect();
                parts.into_iter().filter_map(|part| part.join().ok().flatten()).next()
            });
            if let Some((before, mismatch)) = first {
                bail!("from index {before} on, {mismatch}");
            }
        }
        Ok(())
    }
}

impl<T: Value> Subject for Arrays<T> {
    fn ways(&self) -> Vec<Named> {
        self.ways.iter().map(|way| way.named.clone()).collect()
    }

    fn bytes(&self, way: usize, size: Size) -> u64 {
        (self.ways[way].operation.inputs + 1) * size.elements() * size_of::<T>() as u64
    }

    fn prepare(&mut self, _: Size) -> Result<()> {
        Ok(())
    }

    fn enqueue(&mut self, way: usize, size: Size) -> Result<()> {
        let n = size.elements() as usize;
        let y = self.device_y.as_slice();
        let (x, y) = (self.device_x.slice(..n)?, if y.is_empty() { y } else { y.slice(..n)? });
        self.ways[way].way.enqueue(size, x, y, self.out.slice_mut(..n)?)
    }

    fn finish(&mut self, way: usize, size: Size) -> Result<()> {
        self.enqueue(way, size)?;
        Ok(self.stream.synchronize()?)
    }

    fn check(&mut self, way: usize, size: Size) -> Result<()> {
        let n = size.elements() as usize;
        for start in (0..n).step_by(CHUNK) {
            let len = CHUNK.min(n - start);
            self.out.slice_mut(start..start + len)?.copy_from_slice(self.poison.slice(..len)?)?;
        }
        self.enqueue(way, size)?;
        self.compare(size, self.ways[way].operation)
    }
}

/// The driver's copy.
struct Copy;

impl<T: Value> ArrayWay<T> for Copy {
    fn enqueue(&mut self, _: Size, x: Slice<'_, T>, _: Slice<'_, T>, mut out: SliceMut<'_, T>) -> Result<()> {
        out.copy_from_slice(x).context("the copy")
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::device::Device;

    use super::*;

    /// Copies all but the last element.
    struct Short;

    impl ArrayWay<f32> for Short {
        fn enqueue(&mut self, _: Size, x: Slice<'_, f32>, _: Slice<'_, f32>, out: SliceMut<'_, f32>) -> Result<()> {
            let end = x.len() - 1;
            Ok(out.slice_mut(..end)?.copy_from_slice(x.slice(..end)?)?)
        }
    }

    #[test]
    fn an_element_that_is_not_written_is_found() {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let mut arrays = Arrays::<f32>::new(&stream, 20_000, 0, 1).unwrap();
        arrays.add_copy();
        arrays.add(Role::Peer, "short", copy(), Short);
        let size = Size::Vector(15_000);
        arrays.check(0, size).unwrap();
        let error = arrays.check(1, size).unwrap_err().to_string();
        assert!(error.contains("1 elements are wrong") && error.contains("-12345 instead of"), "{error}");
        assert_eq!(arrays.bytes(0, size), 2 * 4 * 15_000);
    }
}
