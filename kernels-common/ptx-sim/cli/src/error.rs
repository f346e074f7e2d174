//! What keeps a kernel from being run.

use std::io;

use ptx_sim::ptx::ParseError;
use ptx_sim::{Fault, LoadError, MemoryError};

use crate::argument::ArgumentError;
use crate::buffer::NameError;
use crate::kernel::KernelError;
use crate::names::with_cpp_names;
use crate::npy::NpyError;
use crate::parameters::ParameterError;
use crate::{INPUT, USAGE};

/// Everything but a fault of the kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{place}, `{text}`: {error}")]
    Argument { place: String, text: String, error: ArgumentError },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("the shape of a block is not known: say --block X, --block X,Y or --block X,Y,Z")]
    NoBlock,
    #[error("{}", with_cpp_names(&.0.to_string()))]
    Launch(Fault),
    #[error("--threads: only one thread looks for races: add --no-check races, or leave --threads out")]
    ThreadsAndRaces,
    #[error(
        "buffer `{name}`: {asked} bytes are asked for, and {free} are free on the simulated device: take fewer elements, \
         or raise --memory if this machine has so much"
    )]
    DeviceMemory { name: String, asked: u64, free: u64 },
    #[error("buffer `{name}`: this machine has no memory for its {bytes} bytes: take fewer elements")]
    HostMemory { name: String, bytes: u64 },
    #[error("buffer `{name}`: {error}")]
    Memory { name: String, error: MemoryError },
    #[error(transparent)]
    Npy(#[from] NpyError),
    #[error("{path}: {}", match .error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::InvalidData => "is no text: name a .ptx file, as `nvcc -ptx` writes it".to_owned(),
        _ => format!("cannot be read: {}", .error),
    })]
    ReadPtx { path: String, error: io::Error },
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Error {
    /// An operation on the memory of a buffer failed.
    pub(crate) fn memory(name: &str, error: MemoryError) -> Error {
        let name = name.to_owned();
        match error {
            MemoryError::OutOfMemory { asked, free } => Error::DeviceMemory { name, asked, free },
            error => Error::Memory { name, error },
        }
    }

    /// The exit code of the program.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Argument { .. }
            | Error::Name(_)
            | Error::Parameter(_)
            | Error::NoBlock
            | Error::ThreadsAndRaces
            | Error::Launch(_)
            | Error::DeviceMemory { .. }
            | Error::HostMemory { .. }
            | Error::Memory { .. } => USAGE,
            Error::Kernel(error) if error.is_usage() => USAGE,
            Error::Kernel(_) | Error::Npy(_) | Error::ReadPtx { .. } | Error::Parse(_) | Error::Load(_) => INPUT,
        }
    }
}
