//! Sums and dot products have the bits of the host by every path that there is on a device: aligned and not, small,
//! large and by bulk copies, call by call, from a graph, on two streams at once, and as often as one likes.

mod common;

use common::devices;
use dot::Dot;
use examples::input::random;
use kernels_common::device::{BackendKind, Device};
use kernels_common::element::{Accumulator, Element};
use kernels_common::error::Result;
use kernels_common::graph::Graph;
use kernels_common::memory::{DeviceBuffer, Slice, SliceMut};
use kernels_common::stream::Stream;
use single_pass::SinglePass;

/// A reduction of one or two slices.
trait Operation<T: Element>: Sized + 'static {
    fn new(stream: &Stream) -> Result<Self>;
    fn reserve(&mut self, n: usize) -> Result<()>;
    fn enqueue(&mut self, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T::Sum>) -> Result<()>;
    fn value(&mut self, x: Slice<'_, T>, y: Slice<'_, T>) -> Result<T::Sum>;
    fn canonical(x: &[T], y: &[T]) -> T::Sum;
}

impl<T: Element> Operation<T> for SinglePass<T> {
    fn new(stream: &Stream) -> Result<Self> {
        SinglePass::new(stream)
    }
    fn reserve(&mut self, n: usize) -> Result<()> {
        SinglePass::reserve(self, n)
    }
    fn enqueue(&mut self, x: Slice<'_, T>, _: Slice<'_, T>, out: SliceMut<'_, T::Sum>) -> Result<()> {
        SinglePass::enqueue(self, x, out)
    }
    fn value(&mut self, x: Slice<'_, T>, _: Slice<'_, T>) -> Result<T::Sum> {
        SinglePass::value(self, x)
    }
    fn canonical(x: &[T], _: &[T]) -> T::Sum {
        SinglePass::canonical(x)
    }
}

impl<T: Element> Operation<T> for Dot<T> {
    fn new(stream: &Stream) -> Result<Self> {
        Dot::new(stream)
    }
    fn reserve(&mut self, n: usize) -> Result<()> {
        Dot::reserve(self, n)
    }
    fn enqueue(&mut self, x: Slice<'_, T>, y: Slice<'_, T>, out: SliceMut<'_, T::Sum>) -> Result<()> {
        Dot::enqueue(self, x, y, out)
    }
    fn value(&mut self, x: Slice<'_, T>, y: Slice<'_, T>) -> Result<T::Sum> {
        Dot::value(self, x, y)
    }
    fn canonical(x: &[T], y: &[T]) -> T::Sum {
        dot::canonical(x, y).unwrap()
    }
}

/// An operation with its inputs, whose first elements are not part of it, and where results go.
struct Work<T: Element, O> {
    operation: O,
    x: DeviceBuffer<T>,
    y: DeviceBuffer<T>,
    out: DeviceBuffer<T::Sum>,
}

/// Where the inputs start: at aligned addresses, the second at another one, both at others.
const OFFSETS: [[usize; 2]; 3] = [[0, 0], [0, 1], [1, 3]];

impl<T: Element, O: Operation<T>> Work<T, O> {
    fn new(stream: &Stream, values: [&[T]; 2], offsets: [usize; 2], results: usize) -> Result<Self> {
        let upload = |values: &[T], offset: usize| -> Result<DeviceBuffer<T>> {
            let mut buffer = stream.alloc_zeros(values.len() + offset)?;
            buffer.slice_mut(offset..)?.copy_from(values)?;
            Ok(buffer)
        };
        let [x, y] = values;
        let mut operation = O::new(stream)?;
        operation.reserve(x.len())?;
        let (x, y) = (upload(x, offsets[0])?, upload(y, offsets[1])?);
        Ok(Self { operation, x, y, out: stream.alloc_zeros(results)? })
    }

    /// Computes into the result of this number.
    fn enqueue(&mut self, offsets: [usize; 2], result: usize) -> Result<()> {
        let (x, y) = (self.x.slice(offsets[0]..)?, self.y.slice(offsets[1]..)?);
        self.operation.enqueue(x, y, self.out.slice_mut(result..=result)?)
    }

    fn assert_all(&self, expected: T::Sum, context: &str) -> Result<()> {
        for (number, found) in self.out.download()?.into_iter().enumerate() {
            assert_eq!(found.bits(), expected.bits(), "result {number}: {found} instead of {expected}, {context}");
        }
        Ok(())
    }
}

/// `n` elements by every path, `repeats` times by that of single calls.
fn check<T: Element, O: Operation<T>>(device: &Device, name: &str, values: [&[T]; 2], repeats: usize) -> Result<()> {
    let (stream, other) = (device.stream()?, device.stream()?);
    let n = values[0].len();
    let expected = O::canonical(values[0], values[1]);
    // Gigabytes take the host a while.
    let step = if n < 1 << 28 { 1 } else { 2 };
    for offsets in OFFSETS.into_iter().step_by(step) {
        let context = |path| format!("{path}: {name} of {n} {} at {offsets:?} on {device:?}", T::NAME);

        let mut work = Work::<T, O>::new(&stream, values, offsets, repeats)?;
        let value = work.operation.value(work.x.slice(offsets[0]..)?, work.y.slice(offsets[1]..)?)?;
        assert_eq!(value.bits(), expected.bits(), "{value} instead of {expected}, {}", context("a value"));
        for repeat in 0..repeats {
            work.enqueue(offsets, repeat)?;
        }
        work.assert_all(expected, &context("calls"))?;

        // Both streams have work before either is waited for.
        let mut beside = Work::<T, O>::new(&other, values, offsets, 4)?;
        work.out = stream.alloc_zeros(4)?;
        other.synchronize()?;
        for result in 0..4 {
            work.enqueue(offsets, result)?;
            beside.enqueue(offsets, result)?;
        }
        work.assert_all(expected, &context("one of two streams"))?;
        beside.assert_all(expected, &context("the other of two streams"))?;
        drop(beside);

        work.out.as_slice_mut().fill_zero()?;
        let mut graph = Graph::capture(&stream, work, move |work| (0..4).try_for_each(|i| work.enqueue(offsets, i)))?;
        for _ in 0..3 {
            graph.launch()?;
        }
        graph.resources().assert_all(expected, &context("a graph"))?;
    }
    Ok(())
}

fn on_every_device<T: Element + examples::dtype::Value>() {
    // One virtual block, and several; on a GPU also those of every size, and what bulk copies are for.
    let few = [1, 1000, 40_001, 300_003].map(|n| (n, 5));
    let many = [(1000, 10_000), ((1 << 16) + 1, 10_000), (1 << 20, 1000), ((1 << 24) + 3, 20), (100_000_001, 5)];
    for device in devices() {
        let simulated = device.properties().backend == BackendKind::Sim;
        let large = [(1 << 30, 2)];
        let (free, _) = device.memory_info().unwrap();
        // Both inputs on two streams, and something for the driver.
        let fits = |n: u64| free > 4 * n * size_of::<T>() as u64 + (1 << 30);
        let lengths: Vec<(usize, usize)> = match simulated {
            true => few.to_vec(),
            false => many.into_iter().chain(large.into_iter().filter(|&(n, _)| fits(n as u64))).collect(),
        };
        // Large arrays are the same over and over again, at no power of two.
        let pattern = (1 << 20) + 7;
        for (n, repeats) in lengths {
            let values = [0, 1].map(|vector| {
                let pattern = random::<T>(pattern.min(n as u64), 3, vector).unwrap();
                pattern.iter().copied().cycle().take(n).collect::<Vec<T>>()
            });
            let values = values.each_ref().map(Vec::as_slice);
            check::<T, SinglePass<T>>(&device, "the sum", values, repeats).unwrap();
            check::<T, Dot<T>>(&device, "the dot product", values, repeats).unwrap();
        }
    }
}

#[test]
fn every_path_has_the_bits_of_the_host_f32() {
    on_every_device::<f32>();
}

#[test]
fn every_path_has_the_bits_of_the_host_f64() {
    on_every_device::<f64>();
}
