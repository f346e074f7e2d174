//! Operations whose result is one value: reductions and dot products.

use anyhow::{Context, Result, bail, ensure};
use examples::dtype::Value;
use examples::input::{random, small_integers};
use kernels_common::element::Element;
use kernels_common::memory::{DeviceBuffer, Slice, SliceMut};
use kernels_common::stream::Stream;

use super::peers::{PeerLibrary, Reading};
use super::size::Size;
use super::subject::{Named, Role, Subject};

/// A way to compute one value of slices of one length.
pub(crate) trait ScalarWay<T: Value, R: Element, const N: usize> {
    /// Makes its memory large enough for `n` elements.
    fn reserve(&mut self, n: usize) -> Result<()> {
        let _ = n;
        Ok(())
    }

    /// Starts computing into the one element of `out`.
    fn enqueue(&mut self, inputs: [Slice<'_, T>; N], out: SliceMut<'_, R>) -> Result<()>;

    /// Computes, and returns the value when the host has it. `out` is there for those who need room for it.
    fn value(&mut self, inputs: [Slice<'_, T>; N], out: SliceMut<'_, R>) -> Result<R>;

    /// Fails unless it computes `expected` of `inputs`. Where `exactly` is not set the inputs round, and a way may
    /// round as it likes.
    fn check(
        &mut self,
        inputs: [Slice<'_, T>; N],
        mut out: SliceMut<'_, R>,
        expected: &Expected<R>,
        exactly: bool,
    ) -> Result<()> {
        // Nothing that a sum of these inputs could be.
        out.copy_from(&[R::from_f64(-0x7b05 as f64)])?;
        self.enqueue(inputs, out.reborrow())?;
        let mut found = [R::default()];
        out.as_slice().copy_to(&mut found)?;
        let value = self.value(inputs, out)?;
        for found in [found[0], value] {
            let same = bytemuck::bytes_of(&found) == bytemuck::bytes_of(&expected.value);
            ensure!(!exactly || same, "the result is {found} instead of {}", expected.value);
        }
        Ok(())
    }
}

/// What comes of inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<R> {
    value: R,
    /// The sum of the 32-bit words of all packets of 16 bytes, modulo 2³².
    words: u32,
}

/// The inputs of both kinds, on the host and on the device.
struct Inputs<T, const N: usize> {
    host: [Box<[T]>; N],
    device: [DeviceBuffer<T>; N],
    /// Where each starts.
    offsets: [usize; N],
}

impl<T: Value, const N: usize> Inputs<T, N> {
    fn upload(stream: &Stream, host: [Result<Box<[T]>>; N], offsets: [usize; N]) -> Result<Self> {
        let mut both = Vec::new();
        for host in host {
            let host = host?;
            let device = stream.upload(&host)?;
            both.push((host, device));
        }
        let (host, device): (Vec<_>, Vec<_>) = both.into_iter().unzip();
        let unequal = "an input is missing";
        let (host, device) = (host.try_into().ok().context(unequal)?, device.try_into().ok().context(unequal)?);
        Ok(Self { host, device, offsets })
    }

    fn host(&self, n: usize) -> [&[T]; N] {
        std::array::from_fn(|input| &self.host[input][self.offsets[input]..][..n])
    }

    fn device(&self, n: usize) -> Result<[Slice<'_, T>; N]> {
        let mut slices = self.device.each_ref().map(DeviceBuffer::as_slice);
        for (slice, start) in slices.iter_mut().zip(self.offsets) {
            *slice = slice.slice(start..start + n)?;
        }
        Ok(slices)
    }
}

/// An operation on `N` vectors.
pub(crate) struct Scalar<T: Value, R: Element, const N: usize> {
    /// Random values, which are timed.
    random: Inputs<T, N>,
    /// Small integers, whose sums and products no order of additions rounds: every correct result has the same bits.
    small: Inputs<T, N>,
    out: DeviceBuffer<R>,
    ways: Vec<(Named, Box<dyn ScalarWay<T, R, N>>)>,
    canonical: fn([&[T]; N]) -> Result<R>,
    /// Whether the order of the elements never changes a bit of the result.
    any_order: bool,
    /// For random values and for small integers.
    expected: Option<(Size, [Expected<R>; 2])>,
}

impl<T: Value, R: Element, const N: usize> Scalar<T, R, N> {
    /// The operation that `canonical` computes on the host, for vectors of up to `n` elements that start at `offsets`.
    /// The default has the same bits, and so has every way where those depend on no order.
    pub(crate) fn new(
        stream: &Stream,
        n: u64,
        offsets: [usize; N],
        seed: u64,
        any_order: bool,
        canonical: fn([&[T]; N]) -> Result<R>,
    ) -> Result<Self> {
        // The second small vector has another seed: of which vector they are is no part of what makes them.
        let vectors: [u64; N] = std::array::from_fn(|vector| vector as u64);
        let n = n + offsets.into_iter().max().unwrap_or(0) as u64;
        let small = vectors.map(|vector| small_integers(n, seed.wrapping_add(vector)));
        Ok(Self {
            random: Inputs::upload(stream, vectors.map(|vector| random(n, seed, vector)), offsets)?,
            small: Inputs::upload(stream, small, offsets)?,
            out: stream.alloc_zeros(1)?,
            ways: Vec::new(),
            canonical,
            any_order,
            expected: None,
        })
    }

    /// Adds a way.
    pub(crate) fn add(&mut self, role: Role, name: impl Into<String>, way: impl ScalarWay<T, R, N> + 'static) {
        self.ways.push((Named { name: name.into(), role }, Box::new(way)));
    }

    fn expected_of(&self, inputs: [&[T]; N]) -> Result<Expected<R>> {
        let words = inputs.map(packet_words).into_iter().fold(0, u32::wrapping_add);
        Ok(Expected { value: (self.canonical)(inputs)?, words })
    }
}

/// The sum of the 32-bit words of whole packets of 16 bytes, modulo 2³².
fn packet_words<T: Value>(x: &[T]) -> u32 {
    let bytes: &[u8] = bytemuck::cast_slice(x);
    let bytes = &bytes[..bytes.len() / 16 * 16];
    let sum = |bytes: &[u8]| {
        let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
        words.fold(0, u32::wrapping_add)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = bytes.len().div_ceil(threads).next_multiple_of(16).max(1 << 20);
    std::thread::scope(|scope| {
        let parts: Vec<_> = bytes.chunks(part).map(|part| scope.spawn(move || sum(part))).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).fold(0, u32::wrapping_add)
    })
}

impl<T: Value, R: Element, const N: usize> Subject for Scalar<T, R, N> {
    fn ways(&self) -> Vec<Named> {
        self.ways.iter().map(|(named, _)| named.clone()).collect()
    }

    fn bytes(&self, _: usize, size: Size) -> u64 {
        // A ceiling reads nothing of a last packet that is not whole, which is less than can be measured.
        N as u64 * size.elements() * size_of::<T>() as u64 + size_of::<R>() as u64
    }

    fn prepare(&mut self, size: Size) -> Result<()> {
        let n = size.elements() as usize;
        if self.expected.is_none_or(|(of, _)| of != size) {
            let expected = [self.expected_of(self.random.host(n))?, self.expected_of(self.small.host(n))?];
            self.expected = Some((size, expected));
        }
        Ok(())
    }

    fn enqueue(&mut self, way: usize, size: Size) -> Result<()> {
        let inputs = self.random.device(size.elements() as usize)?;
        self.ways[way].1.enqueue(inputs, self.out.as_slice_mut())
    }

    fn finish(&mut self, way: usize, size: Size) -> Result<()> {
        let inputs = self.random.device(size.elements() as usize)?;
        std::hint::black_box(self.ways[way].1.value(inputs, self.out.as_slice_mut())?);
        Ok(())
    }

    fn check(&mut self, way: usize, size: Size) -> Result<()> {
        let Some((_, expected)) = self.expected.filter(|(of, _)| *of == size) else {
            bail!("{size} was not made ready");
        };
        let n = size.elements() as usize;
        let (named, way) = &mut self.ways[way];
        way.reserve(n)?;
        let inputs = [(&self.random, named.role == Role::Ours || self.any_order), (&self.small, true)];
        for ((inputs, exactly), expected) in inputs.into_iter().zip(&expected) {
            way.check(inputs.device(n)?, self.out.as_slice_mut(), expected, exactly)?;
        }
        Ok(())
    }
}

/// Reads the inputs and computes as little as can be checked.
pub(crate) struct Reader {
    library: &'static PeerLibrary,
    reading: Reading,
    sum: DeviceBuffer<u32>,
}

impl Reader {
    /// Fails where the device has no such way to read.
    pub(crate) fn new(library: &'static PeerLibrary, reading: Reading, stream: &Stream) -> Result<Reader> {
        library.prepare(reading)?;
        Ok(Reader { library, reading, sum: stream.alloc_zeros(1)? })
    }
}

impl<T: Value, R: Element, const N: usize> ScalarWay<T, R, N> for Reader {
    fn enqueue(&mut self, inputs: [Slice<'_, T>; N], _: SliceMut<'_, R>) -> Result<()> {
        self.library.read(self.reading, &inputs, self.sum.as_slice_mut())
    }

    fn value(&mut self, inputs: [Slice<'_, T>; N], _: SliceMut<'_, R>) -> Result<R> {
        self.library.read(self.reading, &inputs, self.sum.as_slice_mut())?;
        let sum = self.library.fetch(self.sum.as_slice())?;
        Ok(R::from_f64(f64::from(sum)))
    }

    fn check(&mut self, inputs: [Slice<'_, T>; N], _: SliceMut<'_, R>, expected: &Expected<R>, _: bool) -> Result<()> {
        // It adds to what is there.
        const BEFORE: u32 = 0xdead_beef;
        self.sum.as_slice_mut().copy_from(&[BEFORE])?;
        self.library.read(self.reading, &inputs, self.sum.as_slice_mut())?;
        let found = self.sum.download()?[0].wrapping_sub(BEFORE);
        ensure!(found == expected.words, "the sum of all words is {found:#x} instead of {:#x}", expected.words);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels_common::canonical;
    use kernels_common::device::Device;

    use super::*;

    /// Adds up all elements but the last, on the host.
    struct Short;

    impl ScalarWay<f32, f32, 1> for Short {
        fn enqueue(&mut self, [x]: [Slice<'_, f32>; 1], mut out: SliceMut<'_, f32>) -> Result<()> {
            let x = x.download()?;
            Ok(out.copy_from(&[canonical::sum(&x[..x.len() - 1])])?)
        }

        fn value(&mut self, [x]: [Slice<'_, f32>; 1], _: SliceMut<'_, f32>) -> Result<f32> {
            Ok(canonical::sum(&x.download()?))
        }
    }

    /// Adds up from the end, which rounds in another way.
    struct Backwards;

    impl ScalarWay<f32, f32, 1> for Backwards {
        fn enqueue(&mut self, inputs: [Slice<'_, f32>; 1], mut out: SliceMut<'_, f32>) -> Result<()> {
            let value = self.value(inputs, out.reborrow())?;
            Ok(out.copy_from(&[value])?)
        }

        fn value(&mut self, [x]: [Slice<'_, f32>; 1], _: SliceMut<'_, f32>) -> Result<f32> {
            Ok(x.download()?.iter().rev().sum())
        }
    }

    fn check(role: Role, any_order: bool, way: impl ScalarWay<f32, f32, 1> + 'static) -> Result<()> {
        let stream = Device::open("sim").unwrap().stream().unwrap();
        let mut scalar =
            Scalar::new(&stream, 5000, [2], 0, any_order, |[x]: [&[f32]; 1]| Ok(canonical::sum(x))).unwrap();
        scalar.add(role, "way", way);
        let size = Size::Vector(4321);
        assert!(scalar.check(0, size).is_err(), "nothing is expected yet");
        scalar.prepare(size)?;
        scalar.check(0, size)
    }

    #[test]
    fn an_element_that_is_left_out_is_found() {
        let error = check(Role::Peer, false, Short).unwrap_err().to_string();
        assert!(error.starts_with("the result is "), "{error}");
    }

    #[test]
    fn a_peer_may_round_as_it_likes_where_an_order_matters() {
        check(Role::Peer, false, Backwards).unwrap();
        assert!(check(Role::Ours, false, Backwards).is_err());
        assert!(check(Role::Peer, true, Backwards).is_err());
    }

    #[test]
    fn words_of_whole_packets_are_added() {
        assert_eq!(packet_words(&[1u32, 2, 3, 4, 5]), 10);
        assert_eq!(packet_words(&[u32::MAX, 1, 0, 3]), 3);
        assert_eq!(packet_words::<f32>(&[]), 0);
        let many = vec![1u32; 3_000_001];
        assert_eq!(packet_words(&many), 3_000_000);
    }
}
