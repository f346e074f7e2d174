//! Stands in for kernels-common: its real macro and the type that it makes, without the rest.

mod ptx;

pub mod module {
    pub use crate::ptx::Ptx;
}
