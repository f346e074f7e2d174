//! Memory of the device, in stream order.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{from_ref, null_mut};

use cudarc::driver::sys::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream};

use super::driver::Driver;
use super::failure::{INVALID_VALUE, OUT_OF_MEMORY};
use super::graph::{Captures, Resource};
use crate::error::{Error, MemoryKind, Result};

const RELEASE_THRESHOLD: c_uint = 4;
const RESERVED_NOW: c_uint = 5;
const USED_NOW: c_uint = 7;

/// `CUmemPoolProps` as the driver reads it. It is written out because its reserved part gets other names in every CUDA
/// version, and with them cudarc's.
#[repr(C)]
pub(super) struct PoolProperties {
    allocation_type: c_int,
    handle_types: c_int,
    location_type: c_int,
    location: c_int,
    security_attributes: *mut c_void,
    reserved: [u8; 64],
}

impl PoolProperties {
    /// Plain device memory that is not shared with other processes.
    fn of_device(device: CUdevice) -> Self {
        const PINNED: c_int = 1;
        const ON_DEVICE: c_int = 1;
        Self {
            allocation_type: PINNED,
            handle_types: 0,
            location_type: ON_DEVICE,
            location: device,
            security_attributes: null_mut(),
            reserved: [0; 64],
        }
    }
}

/// A memory pool of this backend's own: what it keeps and how long is then no matter of anybody else in the process.
///
/// It keeps all memory that it ever had until the device is closed, so that an allocation of a size that was freed
/// before costs about a microsecond. The driver takes unused memory back by itself when an allocation elsewhere in the
/// process would fail without.
#[derive(Debug)]
pub(super) struct Pool(CUmemoryPool);

// SAFETY: the handle is a name; the driver's pool functions may be called from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    pub(super) fn create(driver: &Driver, device: CUdevice) -> Result<Pool> {
        let mut pool = Pool(null_mut());
        // SAFETY: both point to what the driver expects.
        unsafe { driver.pool_create(&mut pool.0, &PoolProperties::of_device(device))? };
        let everything = u64::MAX;
        // SAFETY: the pool is alive, and this attribute is a 64-bit integer, which is only read.
        let set =
            unsafe { driver.pool_set_attribute(pool.0, RELEASE_THRESHOLD, from_ref(&everything).cast_mut().cast()) };
        if let Err(error) = set {
            // SAFETY: the pool is alive and empty.
            let _ = unsafe { pool.destroy(driver) };
            return Err(error);
        }
        Ok(pool)
    }

    /// # Safety
    /// The pool is not used afterwards, except that its allocations may still be freed.
    pub(super) unsafe fn destroy(&self, driver: &Driver) -> Result<()> {
        // SAFETY: the caller uses the pool no more. Allocations that are still alive keep its memory until they are
        // freed.
        unsafe { driver.pool_destroy(self.0) }
    }

    /// Bytes that the pool holds but nobody uses.
    pub(super) fn unused(&self, driver: &Driver) -> Result<u64> {
        let attribute = |attribute| {
            let mut value = 0u64;
            // SAFETY: the pool is alive, and these attributes are 64-bit integers.
            unsafe { driver.pool_get_attribute(self.0, attribute, (&raw mut value).cast())? };
            Ok::<_, Error>(value)
        };
        let reserved = attribute(RESERVED_NOW)?;
        Ok(reserved.saturating_sub(attribute(USED_NOW)?))
    }

    fn allocate(&self, driver: &Driver, stream: CUstream, bytes: usize) -> Result<CUdeviceptr> {
        let mut address = 0;
        // SAFETY: the pool and the stream are alive.
        unsafe { driver.mem_alloc_from_pool(&mut address, bytes, self.0, stream)? };
        Ok(address)
    }

    /// Gives back all memory that nobody uses.
    fn trim(&self, driver: &Driver) {
        // SAFETY: the pool is alive. That nothing could be given back is no error.
        let _ = unsafe { driver.pool_trim(self.0, 0) };
    }
}

/// Allocates device memory in stream order if there is a pool, else at once. The context must be current. `wait` waits
/// for work that may still use memory.
pub(super) fn allocate(
    driver: &Driver,
    pool: Option<&Pool>,
    stream: CUstream,
    bytes: u64,
    wait: impl FnOnce() -> Result<()>,
) -> Result<u64> {
    let size = usize::try_from(bytes).map_err(|_| out_of_memory(MemoryKind::Device, bytes, None))?;
    let attempt = || match pool {
        Some(pool) => pool.allocate(driver, stream, size),
        None => {
            let mut address = 0;
            // SAFETY: the argument can be written to.
            unsafe { driver.mem_alloc(&mut address, size) }.map(|()| address)
        }
    };
    attempt()
        .or_else(|error| match (error, pool) {
            // Memory whose free waits for other work, or that lies in pieces, may do after all.
            (Error::Driver { code: OUT_OF_MEMORY, .. }, Some(pool)) => {
                // An error is one of earlier work and will be met again.
                let _ = wait();
                pool.trim(driver);
                attempt()
            }
            (error, _) => Err(error),
        })
        .map_err(|error| named(error, MemoryKind::Device, bytes, free_memory(driver, pool).ok()))
}

/// Frees device memory in stream order if there is a pool, else when the stream is done. Errors are ignored: after a
/// fault nothing can be freed, and the memory goes with the process.
///
/// # Safety
/// The context is current and that of the captures, and nothing uses the memory afterwards but work that the stream
/// waits for.
pub(super) unsafe fn free(driver: &Driver, captures: &Captures, pooled: bool, stream: CUstream, address: u64) {
    // SAFETY: the caller gives up the memory.
    let freed = if pooled { unsafe { driver.mem_free_async(address, stream) } } else { Ok(()) };
    // Memory that came from elsewhere need not be from a pool.
    let foreign = matches!(freed, Err(Error::Driver { code: INVALID_VALUE, .. }));
    if !pooled || foreign {
        // SAFETY: as above; the wait makes it unused now.
        unsafe {
            if driver.stream_synchronize(stream).is_ok() {
                captures.release(driver, Resource::Device(address));
            }
        }
    }
}

/// Free and total bytes of device memory: what the pool keeps unused counts as free.
pub(super) fn memory_info(driver: &Driver, pool: Option<&Pool>) -> Result<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the arguments can be written to.
    unsafe { driver.mem_get_info(&mut free, &mut total)? };
    let unused = pool.map_or(Ok(0), |pool| pool.unused(driver))?;
    Ok((free as u64 + unused, total as u64))
}

fn free_memory(driver: &Driver, pool: Option<&Pool>) -> Result<u64> {
    memory_info(driver, pool).map(|(free, _)| free)
}

fn out_of_memory(memory: MemoryKind, bytes: u64, free: Option<u64>) -> Error {
    Error::OutOfMemory { memory, bytes, free }
}

/// The error of an allocation, as [`Error::OutOfMemory`] if it is that.
pub(super) fn named(error: Error, memory: MemoryKind, bytes: u64, free: Option<u64>) -> Error {
    match error {
        Error::Driver { code: OUT_OF_MEMORY, .. } => out_of_memory(memory, bytes, free),
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_properties_have_the_size_that_the_driver_reads() {
        assert_eq!(size_of::<PoolProperties>(), size_of::<cudarc::driver::sys::CUmemPoolProps>());
    }
}
