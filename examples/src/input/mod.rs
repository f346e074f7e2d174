//! Input vectors: made up from a seed, or read from NumPy files.

mod npy;
mod random;

use std::fmt;
use std::path::Path;

use anyhow::Result;

pub use npy::{Array, NpyFile};
pub use random::{random, small_integers, zeros};

use crate::dtype::{Dtype, Value};
use crate::options::VectorOptions;
use crate::program::UsageError;
use crate::report;

/// How many elements are made up unless the command line says otherwise.
pub const DEFAULT_N: u64 = 20_000_000;

/// Where two vectors of one type and length come from.
#[derive(Debug)]
pub enum Source {
    /// Made up.
    Random {
        /// Their type.
        dtype: Dtype,
        /// Their length.
        n: u64,
        /// The seed of the generator.
        seed: u64,
    },
    /// Files, opened and checked.
    Files {
        /// Their type.
        dtype: Dtype,
        /// The first vector.
        x: NpyFile,
        /// The second vector.
        y: NpyFile,
    },
}

/// Two vectors of one length.
#[derive(Debug)]
pub struct Pair<T> {
    /// The first.
    pub x: Array<T>,
    /// The second.
    pub y: Array<T>,
}

impl Source {
    /// Finds out what the command line asks for, and opens and checks the files if it names any.
    ///
    /// # Errors
    /// [`UsageError`] for a file that cannot be used, for files whose types or lengths differ from one another or from
    /// what the command line says.
    pub fn open(options: &VectorOptions, seed: u64) -> Result<Source, UsageError> {
        let dtype = options.dtype;
        let (Some(x), Some(y)) = (&options.x, &options.y) else {
            return Ok(Source::Random { dtype: dtype.unwrap_or(Dtype::F32), n: options.n.unwrap_or(DEFAULT_N), seed });
        };
        let (x, y) = (NpyFile::open(x)?, NpyFile::open(y)?);
        let (x_dtype, y_dtype) = (x.dtype(dtype)?, y.dtype(dtype)?);
        if x_dtype != y_dtype {
            return Err(UsageError(format!(
                "{} holds {x_dtype} and {} holds {y_dtype}: convert one of them, with `.astype(...)` in NumPy",
                x.path().display(),
                y.path().display()
            )));
        }
        if x.len() != y.len() {
            return Err(UsageError(format!(
                "{} has {} elements and {} has {}: both vectors must have the same length",
                x.path().display(),
                report::count(x.len()),
                y.path().display(),
                report::count(y.len())
            )));
        }
        match options.n {
            Some(n) if n != x.len() => Err(UsageError(format!(
                "--n is {} but {} has {} elements: leave --n out to use all of them",
                report::count(n),
                x.path().display(),
                report::count(x.len())
            ))),
            _ => Ok(Source::Files { dtype: x_dtype, x, y }),
        }
    }

    /// The type of the elements.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        match self {
            Source::Random { dtype, .. } | Source::Files { dtype, .. } => *dtype,
        }
    }

    /// The length of each vector.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Source::Random { n, .. } => *n,
            Source::Files { x, .. } => x.len(),
        }
    }

    /// Whether the vectors have no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The seed, if the vectors are made up.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        match self {
            Source::Random { seed, .. } => Some(*seed),
            Source::Files { .. } => None,
        }
    }

    /// The files' paths, if the vectors come from files.
    #[must_use]
    pub fn paths(&self) -> Option<[&Path; 2]> {
        match self {
            Source::Random { .. } => None,
            Source::Files { x, y, .. } => Some([x.path(), y.path()]),
        }
    }

    /// The two vectors. `T` must be the type that [`Source::dtype`] names.
    ///
    /// # Errors
    /// Not enough memory; [`UsageError`] for a file that holds another type.
    pub fn load<T: Value>(self) -> Result<Pair<T>> {
        Ok(match self {
            Source::Random { n, seed, .. } => {
                Pair { x: Array::Owned(random(n, seed, 0)?), y: Array::Owned(random(n, seed, 1)?) }
            }
            Source::Files { x, y, .. } => Pair { x: x.load()?, y: y.load()? },
        })
    }
}

/// The vectors in one line.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2 × {} {}", report::count(self.len()), self.dtype())?;
        match self {
            Source::Random { seed, .. } => write!(f, ", random from seed {seed}"),
            Source::Files { x, y, .. } => write!(f, " from {} and {}", x.path().display(), y.path().display()),
        }
    }
}
