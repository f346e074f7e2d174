//! The operations of a reduction.

use std::fmt::Debug;

use kernels_common::canonical;
use kernels_common::element::Element;

mod sealed {
    pub trait Sealed {}
}

/// An operation that joins two values to one, associative and commutative up to rounding: [`Plus`], [`Product`],
/// [`Minimum`], [`Maximum`].
pub trait Operation<T: Element>: sealed::Sealed + Debug + Copy + Default + Send + Sync + 'static {
    /// The type of a result.
    type Output: Element;

    /// What the operation makes: `sum`, `product`, `minimum`, `maximum`.
    const NAME: &'static str;

    /// The reduction of `x` on the host, in canonical order.
    #[must_use]
    fn canonical(x: &[T]) -> Self::Output;
}

macro_rules! operation {
    ($(#[$doc:meta])+ $Op:ident -> $Output:ty, $function:ident) => {
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $Op;

        impl sealed::Sealed for $Op {}

        impl<T: Element> Operation<T> for $Op {
            type Output = $Output;
            const NAME: &'static str = stringify!($function);

            fn canonical(x: &[T]) -> Self::Output {
                canonical::$function(x)
            }
        }
    };
}

operation! {
    /// Addition: [`canonical::sum`].
    Plus -> T::Sum, sum
}

operation! {
    /// Multiplication: [`canonical::product`].
    Product -> T::Sum, product
}

operation! {
    /// The lesser of two: [`canonical::minimum`].
    Minimum -> T, minimum
}

operation! {
    /// The greater of two: [`canonical::maximum`].
    Maximum -> T, maximum
}
