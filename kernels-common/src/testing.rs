//! What the tests of kernel crates share: the devices to run on and the schedules to run in, inputs that are likely to
//! break something, a second opinion on sums, and the bits that the canonical order is frozen with.

pub mod golden;
pub mod pairwise;
pub mod schedules;
pub mod sums;

use std::ops::Range;
use std::sync::OnceLock;

use proptest::prelude::*;

use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::memory::DeviceBuffer;
use crate::stream::Stream;

/// The devices to test on: the one that `KERNELS_DEVICE` names, or else the simulator, the simulator with a shuffled
/// schedule and a later compute capability, and every GPU that is there.
///
/// # Panics
/// If `KERNELS_DEVICE` names a device that cannot be opened: a test that was told to use it must not pass without.
#[must_use]
pub fn devices() -> &'static [Device] {
    // A failure is kept too: the other tests, and a property test that looks for a smaller case, fail at once.
    static DEVICES: OnceLock<Result<Vec<Device>, String>> = OnceLock::new();
    DEVICES.get_or_init(open_devices).as_ref().unwrap_or_else(|reason| panic!("{reason}"))
}

fn open_devices() -> Result<Vec<Device>, String> {
    if std::env::var_os(Device::SELECTOR_VARIABLE).is_some_and(|named| !named.is_empty()) {
        return Device::open("auto").map(|device| vec![device]).map_err(|error| error.to_string());
    }
    let open = |selector: &str| Device::open(selector).map_err(|error| format!("{selector}: {error}"));
    let mut devices = vec![open("sim:sms=4")?, open("sim:sms=3,seed=2026,cc=9.0")?];
    devices.extend((0..).map_while(|ordinal| Device::open(&format!("cuda:{ordinal}")).ok()));
    Ok(devices)
}

/// The GPU for tests of what only a GPU has: the one that `KERNELS_DEVICE` names, or else the first. `None`, and a line
/// that says why, where there is none or `KERNELS_DEVICE` names the simulator.
///
/// # Panics
/// If `KERNELS_DEVICE` names a GPU that cannot be opened: a test that was told to use it must not pass without.
#[must_use]
pub fn gpu() -> Option<Device> {
    let named = std::env::var(Device::SELECTOR_VARIABLE).unwrap_or_default();
    let named = named.trim();
    if named.starts_with("sim") {
        println!("skipped: {}={named}", Device::SELECTOR_VARIABLE);
        return None;
    }
    let is_named = named.starts_with("cuda");
    match Device::open(if is_named { "auto" } else { "cuda" }) {
        Ok(device) => Some(device),
        Err(error) if is_named => panic!("{error}"),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// How many bytes past a multiple of 16 a slice starts; by default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset(usize);

impl Offset {
    /// The offset in elements of type `T`, rounded down.
    #[must_use]
    pub const fn elements<T: Element>(self) -> usize {
        self.0 / size_of::<T>()
    }
}

/// Offsets that misalign, from 0 to 16 bytes: 16 is aligned again, one packet on.
pub fn offsets() -> impl Strategy<Value = Offset> {
    (0usize..=16).prop_map(Offset)
}

/// Every place within a packet of 16 bytes at which a slice of `T` can start, in elements.
#[must_use]
pub const fn every_offset<T: Element>() -> Range<usize> {
    0..16 / size_of::<T>()
}

/// Numbers of threads of a block, from 1 to 1024, with a liking for whole warps, for those beside one, and for sizes
/// that are no powers of two.
pub fn block_sizes() -> impl Strategy<Value = u32> {
    let edges = [1u32, 31, 32, 33, 45, 48, 64, 96, 128, 255, 256, 257, 512, 768, 1023, 1024];
    prop_oneof![2 => proptest::sample::select(edges.to_vec()), 1 => 1u32..=1024]
}

/// Uploads `values` so that the first lies `offset` elements into the buffer. The last is the buffer's last: on the
/// simulator a read past the end is a fault.
///
/// # Errors
/// As [`Stream::upload`].
pub fn upload_at<T: Element>(stream: &Stream, values: &[T], offset: usize) -> Result<DeviceBuffer<T>> {
    let mut padded = vec![T::from_f64(77.0); offset];
    padded.extend_from_slice(values);
    stream.upload(&padded)
}

/// Lengths from 0 through several virtual blocks, with a liking for those beside a power of two, a warp, a block of
/// threads or a packet.
pub fn lengths() -> impl Strategy<Value = usize> {
    let around = |center: usize| (center.saturating_sub(2)..=center + 2).boxed();
    let edges = [1usize, 8, 32, 256, 512, 1024, 2048, 4096, 8192, 3 * 4096, 16384];
    prop_oneof![
        2 => 0usize..40,
        4 => proptest::sample::select(edges.to_vec()).prop_flat_map(around),
        3 => 0usize..20_000,
    ]
}

/// The kinds of values of an [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// All one.
    Ones,
    /// Integers from −8 to 8: every sum of a few thousand of them is exact in every type but the halves.
    Small,
    /// Uniform in \[−1, 1), for integers over the whole type.
    Uniform,
    /// Large values and their negatives in turn, with a little noise: almost everything cancels.
    Cancelling,
    /// Any bit pattern: every exponent, subnormal numbers, infinities, NaN.
    AnyBits,
    /// Uniform, with a few infinities of one sign.
    Infinite,
    /// −0.0 only; for integers zero.
    NegativeZeros,
}

/// Reproducible values of any length and type: a kind and a seed.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// What kind of values.
    pub values: Values,
    /// What they are drawn from.
    pub seed: u64,
}

/// Inputs of every kind.
pub fn inputs() -> impl Strategy<Value = Input> {
    let kinds = [
        Values::Ones,
        Values::Small,
        Values::Uniform,
        Values::Cancelling,
        Values::AnyBits,
        Values::Infinite,
        Values::NegativeZeros,
    ];
    (proptest::sample::select(kinds.to_vec()), any::<u64>()).prop_map(|(values, seed)| Input { values, seed })
}

impl Input {
    /// `len` values of type `T`.
    #[must_use]
    pub fn generate<T: Element>(&self, len: usize) -> Vec<T> {
        let mut random = SplitMix(self.seed);
        (0..len).map(|index| self.value(index, &mut random)).collect()
    }

    fn value<T: Element>(&self, index: usize, random: &mut SplitMix) -> T {
        let bits = random.next();
        let unit = (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        let any: T = bytemuck::pod_read_unaligned(&bits.to_le_bytes()[..size_of::<T>()]);
        let uniform = if T::IS_FLOAT { T::from_f64(unit) } else { any };
        match self.values {
            Values::Ones => T::from_f64(1.0),
            Values::Small => T::from_f64((bits % 17) as f64 - 8.0),
            Values::Cancelling if T::IS_FLOAT => {
                let sign = if index.is_multiple_of(2) { 1.0 } else { -1.0 };
                T::from_f64(sign * 3.0e4 + unit)
            }
            Values::Cancelling | Values::AnyBits => any,
            Values::Infinite if T::IS_FLOAT && bits.is_multiple_of(97) => T::from_f64(f64::INFINITY),
            Values::Uniform | Values::Infinite => uniform,
            Values::NegativeZeros => T::from_f64(-0.0),
        }
    }
}

/// Steele, Lea and Flood's `SplitMix64`: a few lines, and good enough for test data.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Runs a generic test function for every element type: `for_every_element!(check(arguments…))` calls
/// `check::<T>(arguments…)?` for each `T`, and `for_every_element!(check::<F>(arguments…))` calls
/// `check::<F, T>(arguments…)?`.
#[macro_export]
macro_rules! for_every_element {
    ($function:ident $(::<$family:ident>)? ($($argument:expr),* $(,)?)) => {{
        $function::<$($family,)? f32>($($argument),*)?;
        $function::<$($family,)? f64>($($argument),*)?;
        $function::<$($family,)? $crate::element::f16>($($argument),*)?;
        $function::<$($family,)? $crate::element::bf16>($($argument),*)?;
        $function::<$($family,)? i32>($($argument),*)?;
        $function::<$($family,)? u32>($($argument),*)?;
        $function::<$($family,)? i64>($($argument),*)?;
        $function::<$($family,)? u64>($($argument),*)?;
    }};
}
