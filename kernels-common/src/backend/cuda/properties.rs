//! What the driver says about a GPU.

use std::ffi::{CStr, c_int, c_uint};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute_enum as Attribute};

use super::driver::Driver;
use crate::device::{BackendKind, Properties};
use crate::error::{Error, Result};

/// How many GPUs the driver shows.
pub(super) fn count(driver: &Driver) -> Result<usize> {
    let mut count = 0;
    // SAFETY: the argument can be written to.
    unsafe { driver.device_get_count(&mut count)? };
    Ok(usize::try_from(count).unwrap_or(0))
}

/// The driver's handle for a GPU.
pub(super) fn handle(driver: &Driver, ordinal: usize) -> Result<CUdevice> {
    let found = count(driver)?;
    let number = c_int::try_from(ordinal).ok().filter(|_| ordinal < found);
    let Some(number) = number else {
        return Err(Error::NoDevice { wanted: format!("cuda:{ordinal}"), found });
    };
    let mut device = 0;
    // SAFETY: the argument can be written to.
    unsafe { driver.device_get(&mut device, number)? };
    Ok(device)
}

/// Everything that is asked once when a device is opened.
pub(super) fn read(driver: &Driver, device: CUdevice, ordinal: usize) -> Result<Properties> {
    let attribute = |name: Attribute| attribute(driver, device, name);
    let flag = |name: Attribute| Ok::<_, Error>(attribute(name)? != 0);
    Ok(Properties {
        name: name(driver, device)?,
        backend: BackendKind::Cuda,
        selector: format!("cuda:{ordinal}"),
        capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        warp_size: attribute(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        max_threads_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_block: [
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid: [
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        max_threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
        shared_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        shared_per_block_optin: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory: total_memory(driver, device)?,
        l2_cache: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        cooperative_launch: flag(Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)?,
        concurrent_managed_access: flag(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)?,
        memory_pools: flag(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)?,
        driver: driver.version(),
    })
}

/// Whether the device has unified memory at all.
pub(super) fn has_managed_memory(driver: &Driver, device: CUdevice) -> Result<bool> {
    Ok(attribute(driver, device, Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)? != 0)
}

fn attribute(driver: &Driver, device: CUdevice, attribute: Attribute) -> Result<u32> {
    let mut value = 0;
    // SAFETY: the argument can be written to.
    unsafe { driver.device_get_attribute(&mut value, attribute as c_uint, device)? };
    Ok(u32::try_from(value).unwrap_or(0))
}

fn name(driver: &Driver, device: CUdevice) -> Result<String> {
    let mut text = [0u8; 256];
    // SAFETY: the buffer is as long as said, and the driver terminates what it writes.
    unsafe { driver.device_get_name(text.as_mut_ptr().cast(), text.len() as c_int, device)? };
    let text = CStr::from_bytes_until_nul(&text).map_or_else(|_| String::new().into(), CStr::to_string_lossy);
    Ok(text.into_owned())
}

fn total_memory(driver: &Driver, device: CUdevice) -> Result<u64> {
    let mut bytes = 0;
    // SAFETY: the argument can be written to.
    unsafe { driver.device_total_mem(&mut bytes, device)? };
    Ok(bytes as u64)
}
