//! Arguments of kernels, from the types of Rust to bytes.
//!
//! The module is private and its items are only nameable here: [`Arguments`] is sealed.

use half::{bf16, f16};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::{Slice, SliceMut};
use crate::module::Kernel;
use crate::stream::Stream;

/// What an argument is, for the check against the kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// An address of device-visible memory.
    Pointer,
    /// An integer.
    Integer,
    /// A floating-point number.
    Float,
}

/// One argument, ready to be handed to a backend.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct Argument {
    /// The value's bytes in memory order; the first `size` count. Aligned for every type, so that a driver can read the
    /// value where it is.
    pub bytes: [u8; 8],
    /// Bytes that count.
    pub size: u8,
    /// What they are.
    pub kind: ArgumentKind,
}

impl Argument {
    fn scalar<T: Element>(value: T) -> Self {
        let mut bytes = [0; 8];
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        let kind = if T::IS_FLOAT { ArgumentKind::Float } else { ArgumentKind::Integer };
        Self { bytes, size: size_of::<T>() as u8, kind }
    }

    fn pointer(address: u64) -> Self {
        Self { bytes: address.to_ne_bytes(), size: 8, kind: ArgumentKind::Pointer }
    }
}

/// Where an argument goes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The kernel that is launched.
    pub kernel: &'a Kernel,
    /// The argument's place in the list.
    pub index: usize,
}

impl Place<'_> {
    /// Refuses memory of another stream than the kernel's.
    #[inline]
    fn check(self, stream: &Stream) -> Result<()> {
        if stream == self.kernel.stream() { Ok(()) } else { Err(self.foreign(stream)) }
    }

    #[cold]
    fn foreign(self, stream: &Stream) -> Error {
        let Place { kernel, index } = self;
        match kernel.stream().device().check(stream.device(), || format!("argument {index} of `{}`", kernel.name())) {
            Ok(()) => Error::ArgumentStream { kernel: kernel.name().to_owned(), index },
            Err(error) => error,
        }
    }
}

/// What can be an argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a kernel",
    label = "neither a number nor a slice",
    note = "pass memory as `buffer.as_slice()` or `buffer.as_slice_mut()`, lengths as `u64` (`x.len() as u64`), and \
            numbers as `f32 f64 f16 bf16 i32 u32 i64 u64`"
)]
pub trait ToArgument {
    /// The argument, if its memory belongs to the stream of the launch.
    fn to_argument(&self, place: Place<'_>) -> Result<Argument>;
}

/// A tuple of arguments.
pub trait Tuple {
    /// An array of as many arguments as the tuple has.
    type Array: AsRef<[Argument]>;

    /// The arguments for a launch of `kernel`.
    fn to_arguments(&self, kernel: &Kernel) -> Result<Self::Array>;
}

// One by one, so that the compiler's message for other types speaks of arguments and not of elements.
macro_rules! number {
    ($($type:ident)*) => {$(
        impl ToArgument for $type {
            #[inline]
            fn to_argument(&self, _: Place<'_>) -> Result<Argument> {
                Ok(Argument::scalar(*self))
            }
        }
    )*};
}

number!(f32 f64 f16 bf16 i32 u32 i64 u64);

impl<T> ToArgument for Slice<'_, T> {
    #[inline]
    fn to_argument(&self, place: Place<'_>) -> Result<Argument> {
        place.check(self.stream())?;
        self.keep_in_graph()?;
        Ok(Argument::pointer(self.address()))
    }
}

impl<T> ToArgument for SliceMut<'_, T> {
    #[inline]
    fn to_argument(&self, place: Place<'_>) -> Result<Argument> {
        place.check(self.stream())?;
        self.keep_in_graph()?;
        Ok(Argument::pointer(self.address()))
    }
}

/// The arguments of a kernel: a tuple of scalars (any [`Element`]), [`Slice`]s and [`SliceMut`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of kernel arguments",
    label = "not a tuple of at most 12 arguments",
    note = "pass a tuple, also of one argument: `(x.as_slice(),)`"
)]
pub trait Arguments: Tuple {}

impl<T: Tuple> Arguments for T {}

macro_rules! tuple {
    ($count:literal: $($name:ident $index:tt),*) => {
        impl<$($name: ToArgument),*> Tuple for ($($name,)*) {
            type Array = [Argument; $count];
            #[inline]
            fn to_arguments(&self, _kernel: &Kernel) -> Result<[Argument; $count]> {
                Ok([$(self.$index.to_argument(Place { kernel: _kernel, index: $index })?),*])
            }
        }
    };
}

tuple!(0:);
tuple!(1: A 0);
tuple!(2: A 0, B 1);
tuple!(3: A 0, B 1, C 2);
tuple!(4: A 0, B 1, C 2, D 3);
tuple!(5: A 0, B 1, C 2, D 3, E 4);
tuple!(6: A 0, B 1, C 2, D 3, E 4, F 5);
tuple!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuple!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuple!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuple!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuple!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
