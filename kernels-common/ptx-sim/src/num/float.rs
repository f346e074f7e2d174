//! Single and double precision: NaN results, flushing, minimum and maximum.
//!
//! A single-precision operation whose result is a NaN gives 0x7fffffff. A double-precision operation gives the first
//! operand that is a NaN, made quiet, and 0xfff8000000000000 if it makes a NaN of numbers.

/// The NaN that single-precision operations give.
pub(crate) const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// `x`, or the canonical NaN.
///
/// NaNs are told by their bits: the compiler takes all NaNs for equally good and would drop a choice between two.
#[inline(always)]
pub(crate) fn canonical(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN.to_bits() } else { bits })
}

/// Whether these are the bits of a double-precision NaN.
#[inline(always)]
fn is_nan64(bits: u64) -> bool {
    bits & 0x7fff_ffff_ffff_ffff > 0x7ff0_0000_0000_0000
}

/// A subnormal number becomes a zero of its sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    if bits & 0x7f80_0000 == 0 { f32::from_bits(bits & 0x8000_0000) } else { x }
}

/// Clamps to [0, 1]; a NaN becomes +0.
#[inline(always)]
pub(crate) fn saturate(x: f32) -> f32 {
    // Also −0 becomes +0.
    if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 }
}

/// Clamps to [0, 1]; a NaN becomes +0.
#[inline(always)]
pub(crate) fn saturate64(x: f64) -> f64 {
    if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 }
}

/// The NaN among the operands, or the default one, if the result `r` is a NaN.
#[inline(always)]
pub(crate) fn nan64(operands: [f64; 3], r: f64) -> f64 {
    const QUIET: u64 = 1 << 51;
    let r = r.to_bits();
    let mut bits = if is_nan64(r) { 0xfff8_0000_0000_0000 } else { r };
    for x in operands.map(f64::to_bits).into_iter().rev() {
        bits = if is_nan64(x) { x | QUIET } else { bits };
    }
    f64::from_bits(bits)
}

macro_rules! extremes {
    ($($T:ident $min:ident $max:ident $nan:expr;)+) => {
        $(
            /// The smaller number; −0 is smaller than +0; a NaN only if both are.
            #[inline(always)]
            pub(crate) fn $min(a: $T, b: $T) -> $T {
                let smaller = if a < b { a } else { b };
                let smaller = if a == b { $T::from_bits(a.to_bits() | b.to_bits()) } else { smaller };
                if a.is_nan() {
                    if b.is_nan() { $nan } else { b }
                } else if b.is_nan() {
                    a
                } else {
                    smaller
                }
            }

            /// The larger number; +0 is larger than −0; a NaN only if both are.
            #[inline(always)]
            pub(crate) fn $max(a: $T, b: $T) -> $T {
                let larger = if a > b { a } else { b };
                let larger = if a == b { $T::from_bits(a.to_bits() & b.to_bits()) } else { larger };
                if a.is_nan() {
                    if b.is_nan() { $nan } else { b }
                } else if b.is_nan() {
                    a
                } else {
                    larger
                }
            }
        )+
    };
}

extremes! {
    f32 min max NAN;
    f64 min64 max64 f64::from_bits(0x7fff_ffff_ffff_ffff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_nans_have_an_order() {
        assert_eq!(min(0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(max(-0.0, 0.0).to_bits(), 0);
        assert_eq!(min(f32::NAN, 3.0), 3.0);
        assert_eq!(max(3.0, f32::NAN), 3.0);
        assert_eq!(min(f32::NAN, -f32::NAN).to_bits(), 0x7fff_ffff);
        assert_eq!(max64(-1.0, 2.0), 2.0);
        assert_eq!(min(-2.0, -2.0), -2.0);
        assert_eq!(max(-2.0, -2.0), -2.0);
    }

    #[test]
    fn double_precision_keeps_the_first_nan() {
        let (a, b) = (f64::from_bits(0x7ff0_0000_0000_0005), f64::from_bits(0xfff8_0000_0000_0007));
        assert_eq!(nan64([a, b, 0.0], a + b).to_bits(), 0x7ff8_0000_0000_0005);
        assert_eq!(nan64([1.0, b, 0.0], 1.0 + b).to_bits(), b.to_bits());
        let invalid = f64::INFINITY - f64::INFINITY;
        assert_eq!(nan64([f64::INFINITY, f64::NEG_INFINITY, 0.0], invalid).to_bits(), 0xfff8_0000_0000_0000);
        assert_eq!(nan64([1.0, 2.0, 0.0], 3.0), 3.0);
    }

    #[test]
    fn flushing_keeps_signs() {
        assert_eq!(flush(-1e-40).to_bits(), 0x8000_0000);
        assert_eq!(flush(f32::MIN_POSITIVE), f32::MIN_POSITIVE);
        assert_eq!(saturate(f32::NAN).to_bits(), 0);
        assert_eq!(saturate(-0.0).to_bits(), 0);
        assert_eq!((saturate(0.25), saturate(7.0), saturate(-7.0)), (0.25, 1.0, 0.0));
    }
}
