//! Devices: the GPUs of this machine, and the simulator.

mod selector;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_sim::Counters;

pub use selector::SimOptions;
use selector::{Selector, parse};

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::module::LoadedModule;
use crate::stream::Stream;

/// Which kind of device computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// An NVIDIA GPU, through its driver.
    Cuda,
    /// The simulator, on the CPU.
    Sim,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Cuda => "cuda",
            BackendKind::Sim => "sim",
        })
    }
}

/// What a device can do.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Properties {
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// GPU or simulator.
    pub backend: BackendKind,
    /// The selector that opens it, such as `cuda:0` or `sim`.
    pub selector: String,
    /// Compute capability: major, minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors (SMs).
    pub multiprocessors: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Most threads of a block.
    pub max_threads_per_block: u32,
    /// Most threads of a block along x, y and z.
    pub max_block: [u32; 3],
    /// Most blocks of a grid along x, y and z.
    pub max_grid: [u32; 3],
    /// Most threads resident on one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Bytes of shared memory a block may use without asking.
    pub shared_per_block: u32,
    /// Bytes of shared memory a block may use at most.
    pub shared_per_block_optin: u32,
    /// Bytes of device memory.
    pub memory: u64,
    /// Bytes of second-level cache.
    pub l2_cache: u32,
    /// Memory clock in kHz; 0 where it has none.
    pub memory_clock_khz: u32,
    /// Width of the memory bus in bits; 0 where it has none.
    pub memory_bus_bits: u32,
    /// Can launch cooperative grids.
    pub cooperative_launch: bool,
    /// Host and device may use unified memory at the same time.
    pub concurrent_managed_access: bool,
    /// Frees and allocates memory in stream order.
    pub memory_pools: bool,
    /// CUDA version that the driver supports: major, minor; (0, 0) on the simulator.
    pub driver: (u32, u32),
}

impl Properties {
    /// The device as the subject of a sentence.
    pub(crate) fn subject(&self) -> String {
        match self.backend {
            BackendKind::Cuda => self.name.clone(),
            BackendKind::Sim => format!("the {}", self.name),
        }
    }

    /// The bandwidth of the memory bus in bytes per second: clock × 2 (double data rate) × width / 8. `None` where
    /// there is no bus, as on the simulator.
    ///
    /// This is the limit that no kernel can beat on data that is not in a cache.
    #[must_use]
    pub fn bus_bandwidth(&self) -> Option<f64> {
        let bandwidth = f64::from(self.memory_clock_khz) * 1e3 * 2.0 * f64::from(self.memory_bus_bits) / 8.0;
        (bandwidth > 0.0).then_some(bandwidth)
    }
}

/// Modules that a device has loaded, by the address and length of their text and the kernels taken from it. The text of
/// a module is `'static`, so where it lies names it.
type ModuleCache = HashMap<(usize, usize, Vec<String>), Arc<LoadedModule>>;

pub(crate) struct DeviceInner {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) modules: Mutex<ModuleCache>,
    fallback: Option<String>,
}

/// A device: a GPU or the simulator. Cheap to clone; clones are the same device.
///
/// ```
/// use kernels_common::device::Device;
/// let device = Device::open("sim")?;
/// assert_eq!(device.properties().warp_size, 32);
/// # Ok::<(), kernels_common::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<DeviceInner>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.properties().selector).finish()
    }
}

impl Device {
    /// The environment variable that `auto` looks at first.
    pub const SELECTOR_VARIABLE: &'static str = "KERNELS_DEVICE";

    /// Opens a device:
    ///
    /// - `auto`: what the environment variable `KERNELS_DEVICE` names; without it the first GPU, else the simulator.
    ///   [`Device::fallback_reason`] then says why no GPU was taken. A build without the simulator gives that reason as
    ///   the error;
    /// - `cuda` or `cuda:N`: that GPU;
    /// - `sim`, or `sim:OPTION=VALUE,…`: the simulator, see [`SimOptions`].
    ///
    /// Each call makes a device of its own, also of one GPU, whose streams, buffers and events do not mix with those of
    /// another call ([`Error::DeviceMismatch`]): open it once and clone it.
    ///
    /// # Errors
    /// [`Error::BadSelector`] for a text that is none of these. For a named GPU that cannot be had, the reason:
    /// [`Error::NoDriver`], [`Error::StubDriver`], [`Error::DriverTooOld`], [`Error::NoDevice`] or another error of the
    /// driver. A named device is never replaced by another. What goes wrong with the device that `KERNELS_DEVICE` names
    /// comes as [`Error::Variable`].
    pub fn open(selector: &str) -> Result<Device> {
        match parse(selector)? {
            Selector::Auto => match std::env::var_os(Self::SELECTOR_VARIABLE) {
                Some(named) if !named.is_empty() => {
                    // What is no Unicode names no device, and the error shows where.
                    let value = named.to_string_lossy().into_owned();
                    let device = parse(&value).and_then(|selector| Self::open_named(&selector));
                    let variable = Self::SELECTOR_VARIABLE;
                    device.map_err(|error| Error::Variable { variable, value, reason: Box::new(error) })
                }
                _ => Self::open_any(),
            },
            selector => Self::open_named(&selector),
        }
    }

    fn open_any() -> Result<Device> {
        match Self::open_named(&Selector::Cuda(0)) {
            Ok(device) => Ok(device),
            Err(reason) => Self::instead(reason, Self::open_named(&Selector::Sim(SimOptions::default()))),
        }
    }

    /// The simulator instead of a GPU that cannot be had for `reason`, which is also the error where there is none.
    fn instead(reason: Error, simulator: Result<Device>) -> Result<Device> {
        let Ok(mut device) = simulator else { return Err(reason) };
        if let Some(inner) = Arc::get_mut(&mut device.inner) {
            inner.fallback = Some(reason.to_string());
        }
        Ok(device)
    }

    fn open_named(selector: &Selector) -> Result<Device> {
        match selector {
            Selector::Auto => Self::open_any(),
            #[cfg(feature = "cuda")]
            Selector::Cuda(ordinal) => Ok(Self::new(crate::backend::cuda::Cuda::open(*ordinal)?)),
            #[cfg(not(feature = "cuda"))]
            Selector::Cuda(ordinal) => {
                Err(Error::BackendDisabled { wanted: format!("cuda:{ordinal}"), feature: "cuda" })
            }
            #[cfg(feature = "sim")]
            Selector::Sim(options) => Ok(Self::new(crate::backend::sim::Sim::open(options))),
            #[cfg(not(feature = "sim"))]
            Selector::Sim(_) => Err(Error::BackendDisabled { wanted: "sim".to_owned(), feature: "sim" }),
        }
    }

    pub(crate) fn new(backend: impl Backend + 'static) -> Device {
        let inner = DeviceInner { backend: Arc::new(backend), modules: Mutex::default(), fallback: None };
        Device { inner: Arc::new(inner) }
    }

    /// All devices of this machine: the GPUs in the driver's order, then the simulator.
    ///
    /// A driver that is missing or too old shows no GPUs; `Device::open("cuda")` says why.
    #[must_use]
    pub fn list() -> Vec<Properties> {
        let mut devices = Vec::new();
        #[cfg(feature = "cuda")]
        devices.extend(crate::backend::cuda::list().unwrap_or_default());
        #[cfg(feature = "sim")]
        devices.extend([crate::backend::sim::Sim::open(&SimOptions::default()).properties().clone()]);
        devices
    }

    /// What the device is and can do.
    #[must_use]
    pub fn properties(&self) -> &Properties {
        self.inner.backend.properties()
    }

    /// Why `auto` took the simulator instead of a GPU; `None` if it did not have to.
    #[must_use]
    pub fn fallback_reason(&self) -> Option<&str> {
        self.inner.fallback.as_deref()
    }

    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn memory_info(&self) -> Result<(u64, u64)> {
        self.inner.backend.memory_info()
    }

    /// A new stream. Work on one stream happens in the order it was given; different streams may overlap.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self)
    }

    /// The counters of all launches on this device since the last call; `None` on a GPU, which only a profiler can
    /// ask.
    #[must_use]
    pub fn take_counters(&self) -> Option<Counters> {
        self.inner.backend.take_counters()
    }

    /// Refuses another device; `what` names what belongs to it.
    pub(crate) fn check(&self, other: &Device, what: impl FnOnce() -> String) -> Result<()> {
        if self == other { Ok(()) } else { Err(Error::DeviceMismatch { what: what() }) }
    }

    /// A module from the cache, or loaded by `load` and put there.
    pub(crate) fn cached_module(
        &self,
        text: &'static str,
        kernels: &[&str],
        load: impl FnOnce() -> Result<LoadedModule>,
    ) -> Result<Arc<LoadedModule>> {
        let key = (text.as_ptr() as usize, text.len(), kernels.iter().map(|&name| name.to_owned()).collect());
        let mut modules = self.inner.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&key) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(load()?);
        modules.insert(key, Arc::clone(&module));
        Ok(module)
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_simulator_the_reason_why_there_is_no_gpu_is_told() {
        let disabled = || Err(Error::BackendDisabled { wanted: "sim".to_owned(), feature: "sim" });
        assert!(matches!(Device::instead(Error::StubDriver, disabled()), Err(Error::StubDriver)));
        let device = Device::instead(Error::StubDriver, Device::open("sim")).unwrap();
        assert_eq!(device.fallback_reason(), Some(&*Error::StubDriver.to_string()));
    }
}
