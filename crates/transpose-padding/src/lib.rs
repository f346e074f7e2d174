//! Matrix transposes on a GPU or on the simulator, and what bank conflicts cost them.
//!
//! ```
//! use kernels_common::device::Device;
//! use kernels_common::memory::{Matrix, MatrixMut};
//! use transpose_padding::Transpose;
//!
//! let stream = Device::open("auto")?.stream()?;
//! let x = stream.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut z = stream.alloc_zeros::<f32>(6)?;
//! let transpose = Transpose::<f32>::new(&stream)?;
//! transpose.enqueue(Matrix::new(&x, 2, 3)?, MatrixMut::new(&mut z, 3, 2)?)?;
//! assert_eq!(z.download()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok::<(), kernels_common::error::Error>(())
//! ```
//!
//! A transpose computes nothing: it is a copy that turns around on the way, and can at best be as fast as one. Rows of
//! the input and rows of the output cross, so that who reads along one writes across the other. The [`Variant`]s show
//! what that costs, and how a tile in shared memory, whose columns do not all lie in one bank, gets rid of the cost.
//!
//! Elements are any plain type of 1, 2, 4, 8 or 16 bytes; they are moved as they are, bit by bit. A matrix may be part
//! of a larger one, and start anywhere.

use std::marker::PhantomData;
use std::sync::OnceLock;

use bytemuck::Pod;
use kernels_common::error::{Error, Result};
use kernels_common::launch::LaunchConfig;
use kernels_common::memory::{Matrix, MatrixMut};
use kernels_common::module::{self, Kernel, Ptx};
use kernels_common::stream::Stream;

/// The runtime whose types are in this crate's interface, for programs that name no version of it themselves.
pub use kernels_common;

const PTX: &[Ptx] = kernels_common::ptx!("transpose-padding");

/// A way from the rows of the input to the rows of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Each element goes straight to its place: reads are contiguous, writes are a pitch apart.
    Naive,
    /// Through `tile[32][32]` in shared memory: reads and writes are contiguous, but the elements of a column of the
    /// tile lie in few banks. Those of 4 bytes lie in one, and 32 threads wait for one another.
    Tile,
    /// Through `tile[32][33]`: an element more in each row, so that a column runs through all banks.
    Padded,
    /// Through `tile[32][32]` with the elements of row r in the order 0 ⊕ r, 1 ⊕ r, …: as good, and without the
    /// additional memory.
    Swizzled,
    /// Packets of 16 bytes from and to both memories, transposed in squares in registers, through a swizzled tile. Where
    /// rows do not start at such packets, through a tile whose columns are shifted so that whole sectors are written.
    #[default]
    Packets,
}

impl Variant {
    /// Every variant, from the plainest to the fastest.
    pub const ALL: [Variant; 5] = [Variant::Naive, Variant::Tile, Variant::Padded, Variant::Swizzled, Variant::Packets];

    /// Its name, such as `padded`. Its kernels are named after it and the size of the elements, such as `padded_4`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Naive => "naive",
            Variant::Tile => "tile",
            Variant::Padded => "padded",
            Variant::Swizzled => "swizzled",
            Variant::Packets => "packets",
        }
    }

    /// What a block moves, for elements of `size` bytes; `None` for a size that there are no kernels for. As in the
    /// device code.
    const fn tile(self, size: usize) -> Option<Tile> {
        let (rows, columns, block) = match (self, size) {
            (Variant::Packets, 1) => (128, 256, [128, 1, 1]),
            (Variant::Packets, 2) => (128, 128, [256, 1, 1]),
            (Variant::Packets, 4) => (64, 64, [256, 1, 1]),
            (Variant::Packets, 8) => (64, 32, [256, 1, 1]),
            (Variant::Packets, 16) => (32, 32, [256, 1, 1]),
            (_, 1 | 2 | 4 | 8 | 16) => (32, 32, [32, 8, 1]),
            _ => return None,
        };
        Some(Tile { rows, columns, reach: 0, block })
    }
}

kernels_common::named_variants!(Variant);

/// What a block moves: rows and columns of the input, and its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    rows: u64,
    columns: u64,
    /// How many rows a column may be shifted up by.
    reach: u64,
    block: [u32; 3],
}

impl Tile {
    /// The tiles of [`Variant::Packets`] for rows that start anywhere, as in the device code. The size of the elements
    /// is one of those that there are kernels for.
    const fn shifted(size: usize) -> Tile {
        let (rows, columns, threads) = match size {
            1 => (128, 240, 512),
            2 => (128, 120, 512),
            4 => (64, 124, 512),
            8 => (64, 62, 512),
            _ => (32, 32, 256),
        };
        Tile { rows, columns, reach: SECTOR / size as u64 - 1, block: [threads, 1, 1] }
    }

    /// A block for each tile, numbered along x.
    fn plan(self, rows: u64, columns: u64) -> Result<LaunchConfig> {
        // The columns of the last tiles end above it by what they are shifted. A number that does not fit 64 bits is
        // too large all the same.
        let reached = if rows == 0 { 0 } else { rows.saturating_add(self.reach) };
        let tiles = reached.div_ceil(self.rows).saturating_mul(columns.div_ceil(self.columns));
        Ok(LaunchConfig { block: self.block, ..LaunchConfig::covering(tiles, 1)? })
    }
}

/// How many blocks of [`Variant::Packets`] a multiprocessor should have at once: enough bytes under way to cover the
/// memory's latency. With more, each row of the output is written here and there, and memory gets slower, see
/// `docs/performance.md`.
const RESIDENT: u32 = 3;

/// Bytes that one thread loads or stores at once.
const PACKET: u64 = 16;
/// Bytes that memory is written in.
const SECTOR: u64 = 32;

/// Whether all rows of a matrix of `T`, of which the first is at `address`, start at multiples of `bytes`, a power of
/// two.
fn rows_start_at_multiples<T>(bytes: u64, address: u64, pitch: u64) -> bool {
    // A pitch beyond what memory has is that of a single row.
    (address | pitch.wrapping_mul(size_of::<T>() as u64)).is_multiple_of(bytes)
}

/// Transposes of matrices of `T` on one stream.
#[derive(Debug)]
pub struct Transpose<T> {
    variant: Variant,
    tile: Tile,
    kernel: Kernel,
    /// The kernel for rows that start anywhere, of [`Variant::Packets`] alone. The driver compiles a kernel when it is
    /// loaded: this one is when such a matrix comes.
    shifted: OnceLock<Kernel>,
    element: PhantomData<fn(T)>,
}

impl<T: Pod> Transpose<T> {
    /// Transposes by the default variant.
    ///
    /// # Errors
    /// [`Error::ElementSize`] unless `T` has 1, 2, 4, 8 or 16 bytes; if the kernel cannot be loaded, see
    /// [`module::load`].
    pub fn new(stream: &Stream) -> Result<Self> {
        Self::with_variant(stream, Variant::default())
    }

    /// Transposes by `variant`.
    ///
    /// # Errors
    /// As [`Transpose::new`].
    pub fn with_variant(stream: &Stream, variant: Variant) -> Result<Self> {
        let size = size_of::<T>();
        let Some(tile) = variant.tile(size) else {
            return Err(Error::ElementSize { size, supported: "1, 2, 4, 8 and 16 bytes" });
        };
        let [kernel] = module::load(stream, PTX, [&format!("{}_{size}", variant.name())])?;
        if variant == Variant::Packets {
            kernel.prefer_resident(RESIDENT)?;
        }
        Ok(Self { variant, tile, kernel, shifted: OnceLock::new(), element: PhantomData })
    }

    /// How elements get to their places.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// The stream that it works on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.kernel.stream()
    }

    /// The launch for an input of `rows` × `columns`: a block for each tile, numbered along x. [`Variant::Packets`] has
    /// other tiles for matrices whose rows do not all start at multiples of 32 bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if there are more than 2³¹ − 1 tiles.
    pub fn plan(&self, rows: u64, columns: u64) -> Result<LaunchConfig> {
        self.tile.plan(rows, columns)
    }

    /// The kernel for rows that start anywhere.
    fn shifted(&self) -> Result<&Kernel> {
        if let Some(kernel) = self.shifted.get() {
            return Ok(kernel);
        }
        let name = format!("{}_shifted_{}", self.variant.name(), size_of::<T>());
        let [kernel] = module::load(self.stream(), PTX, [&name])?;
        Ok(self.shifted.get_or_init(|| kernel))
    }

    /// Starts writing the transpose of `input` to `output`, and returns. What lies between the rows of the output stays
    /// as it is.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `output` has as many rows as `input` has columns, and as many columns as that
    /// has rows; [`Error::StreamMismatch`]; [`Error::TooLarge`] as [`Transpose::plan`]; for the first matrix whose rows do
    /// not start at multiples of 32 bytes, if the kernel cannot be loaded.
    pub fn enqueue(&self, input: Matrix<'_, T>, output: MatrixMut<'_, T>) -> Result<()> {
        let (expected, found) = ((input.columns(), input.rows()), (output.rows(), output.columns()));
        if expected != found {
            return Err(Error::ShapeMismatch { what: "the output", expected, found });
        }
        let (rows, columns) = (input.rows() as u64, input.columns() as u64);
        let (in_pitch, out_pitch) = (input.pitch() as u64, output.pitch() as u64);
        let (input, output) = (input.into_slice(), output.into_slice());
        input.check(self.stream(), "the input")?;
        output.check(self.stream(), "the output")?;
        let anywhere = self.variant == Variant::Packets
            && !(rows_start_at_multiples::<T>(PACKET, input.address(), in_pitch)
                && rows_start_at_multiples::<T>(SECTOR, output.address(), out_pitch));
        let (kernel, tile) =
            if anywhere { (self.shifted()?, Tile::shifted(size_of::<T>())) } else { (&self.kernel, self.tile) };
        let config = tile.plan(rows, columns)?;
        let arguments = (input, in_pitch, output, out_pitch, rows, columns);
        // SAFETY: both slices hold their rows a pitch apart, no thread touches an element that is in none of them, and
        // a unique borrow does not overlap others. The grid has a block for each tile. Kernels that need rows at
        // multiples of a packet and a sector have them.
        unsafe { kernel.launch(config, arguments) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_tiles_reach_the_end_past_32_bits() {
        for size in [1, 2, 4, 8, 16] {
            let tile = Tile::shifted(size);
            assert!(tile.rows.is_multiple_of(tile.reach + 1), "{size}");
            for (rows, columns) in [(1, 1), (64, 1000), ((1 << 33) + 5, 3), (3, (1 << 34) + 1), (1 << 17, 1 << 18)] {
                let blocks = tile.plan(rows, columns).unwrap().blocks();
                let (down, across) = (blocks / columns.div_ceil(tile.columns), columns.div_ceil(tile.columns));
                assert_eq!(down * across, blocks, "{size}, {rows} × {columns}");
                // What the last tiles hold of the column that is shifted most.
                let end = down * tile.rows - tile.reach;
                assert!(end >= rows && end < rows + tile.rows, "{size}, {rows} × {columns}");
            }
            assert_eq!(tile.plan(0, u64::MAX).unwrap().blocks(), 0);
            assert_eq!(tile.plan(u64::MAX, 0).unwrap().blocks(), 0);
            for (rows, columns) in [(u64::MAX, u64::MAX), (u64::MAX, 1), (1 << 40, 1), (1 << 24, 1 << 24)] {
                assert!(matches!(tile.plan(rows, columns), Err(Error::TooLarge { .. })), "{size}, {rows} × {columns}");
            }
        }
    }
}
