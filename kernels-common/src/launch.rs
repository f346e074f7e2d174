//! The shape of a launch, and what may be an argument of a kernel.

use crate::device::Properties;
use crate::element::Element;
use crate::error::{Error, Result};

pub use crate::argument::Arguments;

/// The shape of a launch: a grid of blocks, a block of threads, and the dynamic shared memory of each block.
///
/// Dimensions are in the order x, y, z; x varies fastest. A grid with no blocks launches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
    /// All blocks are resident at once, so that they can wait for each other.
    pub cooperative: bool,
    /// The launch may begin while the one before it on its stream ends: see [`overlapping`](Self::overlapping).
    pub overlapping: bool,
}

impl LaunchConfig {
    /// Most blocks along x, on every GPU since compute capability 3.0.
    pub const MAX_GRID_X: u64 = (1 << 31) - 1;
    /// Most blocks along y and z.
    pub const MAX_GRID_YZ: u64 = 65_535;
    /// The least compute capability of device and PTX for launches that overlap.
    pub(crate) const OVERLAPPING_TARGET: (u32, u32) = (9, 0);

    /// `grid` blocks of `block` threads, in one dimension.
    #[must_use]
    pub const fn linear(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], shared_bytes: 0, cooperative: false, overlapping: false }
    }

    /// The given shape, in three dimensions.
    #[must_use]
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared_bytes: 0, cooperative: false, overlapping: false }
    }

    /// As many blocks of `block` threads, in one dimension, as `items` need at one item a thread. No items, no blocks.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if that is more than 2³¹ − 1 blocks; let each thread take several items then.
    ///
    /// ```
    /// use kernels_common::launch::LaunchConfig;
    /// assert_eq!(LaunchConfig::covering(1024, 1024)?.grid, [1, 1, 1]);
    /// assert_eq!(LaunchConfig::covering(1025, 1024)?.grid, [2, 1, 1]);
    /// assert_eq!(LaunchConfig::covering(0, 1024)?.grid, [0, 1, 1]);
    /// # Ok::<(), kernels_common::error::Error>(())
    /// ```
    pub fn covering(items: u64, block: u32) -> Result<Self> {
        let blocks = items.div_ceil(u64::from(block.max(1)));
        if blocks > Self::MAX_GRID_X {
            return Err(Error::TooLarge {
                what: "the number of blocks in one dimension",
                asked: blocks,
                maximum: Self::MAX_GRID_X,
            });
        }
        Ok(Self::linear(blocks as u32, block))
    }

    /// Blocks of `block` threads in a square grid of s × s, with s the least that gives one thread to each item. The
    /// kernel numbers its blocks `blockIdx.x + blockIdx.y * gridDim.x` and leaves out those past the end.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if s is more than 65535.
    ///
    /// ```
    /// use kernels_common::launch::LaunchConfig;
    /// assert_eq!(LaunchConfig::covering_square(20_000_000, 256)?.grid, [280, 280, 1]);
    /// # Ok::<(), kernels_common::error::Error>(())
    /// ```
    pub fn covering_square(items: u64, block: u32) -> Result<Self> {
        let blocks = items.div_ceil(u64::from(block.max(1)));
        let root = blocks.isqrt();
        let side = if root * root < blocks { root + 1 } else { root };
        if side > Self::MAX_GRID_YZ {
            return Err(Error::TooLarge { what: "the side of a square grid", asked: side, maximum: Self::MAX_GRID_YZ });
        }
        Ok(Self::new([side as u32, side as u32, 1], [block, 1, 1]))
    }

    /// With dynamic shared memory for `count` elements of `T` per block.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the size cannot be represented.
    pub fn shared<T: Element>(mut self, count: u32) -> Result<Self> {
        let bytes = u64::from(count) * size_of::<T>() as u64;
        self.shared_bytes = u32::try_from(bytes).map_err(|_| Error::TooLarge {
            what: "the dynamic shared memory of a block in bytes",
            asked: bytes,
            maximum: u64::from(u32::MAX),
        })?;
        Ok(self)
    }

    /// With all blocks resident at once.
    #[must_use]
    pub const fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// Lets the launch begin while the one before it on its stream ends (programmatic dependent launch), which hides
    /// most of what a launch costs. Has an effect on GPUs of compute capability 9.0 and later, with a driver for CUDA
    /// 12.3 or later, if the kernel's PTX is for 9.0 or later, and not on a cooperative launch.
    ///
    /// Such a kernel has to wait for the launches before it (`wait_for_previous_launch` of `dependency.cuh`, which is
    /// `griddepcontrol.wait`) before it touches memory.
    #[must_use]
    pub const fn overlapping(mut self) -> Self {
        self.overlapping = true;
        self
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        // Each factor is below 2^32, and the limits keep real products far below 2^64.
        self.grid.iter().fold(1, |product: u64, &side| product.saturating_mul(side.into()))
    }

    /// Threads of a block.
    #[must_use]
    pub fn threads_per_block(&self) -> u64 {
        self.block.iter().fold(1, |product: u64, &side| product.saturating_mul(side.into()))
    }

    /// Checks the shape against what the device can launch; `kernel` is for the message.
    pub(crate) fn check(&self, kernel: &str, device: &Properties) -> Result<()> {
        let within = |sides: [u32; 3], most: [u32; 3]| sides.iter().zip(most).all(|(&side, most)| side <= most);
        if !within(self.grid, device.max_grid) || !within(self.block, device.max_block) {
            return self.too_long(kernel, device);
        }
        let too_large =
            |limit, asked, maximum| Err(Error::InvalidLaunch { kernel: kernel.to_owned(), limit, asked, maximum });
        match self.threads_per_block() {
            0 => too_large("the number of threads of a block", 0, device.max_threads_per_block.into()),
            threads if threads > device.max_threads_per_block.into() => {
                too_large("the number of threads of a block", threads, device.max_threads_per_block.into())
            }
            _ => Ok(()),
        }
    }

    /// The error for the first side that is too long.
    #[cold]
    fn too_long(&self, kernel: &str, device: &Properties) -> Result<()> {
        let limits = [
            ("the grid along x", self.grid[0], device.max_grid[0]),
            ("the grid along y", self.grid[1], device.max_grid[1]),
            ("the grid along z", self.grid[2], device.max_grid[2]),
            ("the block along x", self.block[0], device.max_block[0]),
            ("the block along y", self.block[1], device.max_block[1]),
            ("the block along z", self.block[2], device.max_block[2]),
        ];
        limits.into_iter().find(|&(_, asked, maximum)| asked > maximum).map_or(Ok(()), |(limit, asked, maximum)| {
            let (kernel, asked, maximum) = (kernel.to_owned(), asked.into(), maximum.into());
            Err(Error::InvalidLaunch { kernel, limit, asked, maximum })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_cover_every_item_past_32_bits() {
        for n in [(1u64 << 32) - 1, 1 << 32, (1 << 32) + 5, (1 << 38) + 7] {
            let config = LaunchConfig::covering(n, 256).unwrap();
            assert!(config.blocks() * 256 >= n && (config.blocks() - 1) * 256 < n, "{n}");
            let square = LaunchConfig::covering_square(n, 256).unwrap();
            assert!(square.blocks() * 256 >= n, "{n}");
        }
        assert!(matches!(LaunchConfig::covering(u64::MAX, 256), Err(Error::TooLarge { .. })));
        assert!(matches!(LaunchConfig::covering_square(u64::MAX, 256), Err(Error::TooLarge { .. })));
        assert!(matches!(LaunchConfig::covering(1 << 50, 1024), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_square_grid_is_as_small_as_it_can_be() {
        for blocks in [0u64, 1, 2, 3, 4, 5, 8, 9, 10, 65_534 * 65_534, 65_535 * 65_535] {
            let side = u64::from(LaunchConfig::covering_square(blocks * 32, 32).unwrap().grid[0]);
            assert!(side * side >= blocks && (side == 0 || (side - 1) * (side - 1) < blocks), "{blocks}");
        }
    }
}
