//! PTX modules and the kernels in them.

use std::sync::Arc;

use ptx_sim::ast::Type;
use ptx_sim::ptx::{KernelSignature, Module as Outline, Param};

use crate::argument::{Argument, ArgumentKind, Arguments};
use crate::backend::{Backend, KernelLimits, RawKernel, RawModule};
use crate::device::Properties;
use crate::error::{Error, Result};
use crate::graph::capture;
use crate::launch::LaunchConfig;
pub use crate::ptx::Ptx;
use crate::stream::Stream;

/// A module on a device; unloaded with its last owner.
#[derive(Debug)]
pub(crate) struct LoadedModule {
    backend: Arc<dyn Backend>,
    raw: RawModule,
    kernels: Vec<LoadedKernel>,
    /// The compute capability that its PTX is for.
    target: (u32, u32),
}

#[derive(Debug)]
struct LoadedKernel {
    raw: RawKernel,
    limits: KernelLimits,
    signature: KernelSignature,
}

impl LoadedModule {
    /// Reads `text`, hands the device what `kernels` need of it, and looks the kernels up.
    fn load(backend: &Arc<dyn Backend>, name: &str, text: &str, kernels: &[&str]) -> Result<Self> {
        let outline = Outline::parse(name, text)?;
        let signatures = kernels
            .iter()
            .map(|&kernel| outline.kernel(kernel).cloned().ok_or_else(|| unknown_kernel(kernel, &outline)))
            .collect::<Result<Vec<_>>>()?;
        check_target(&outline, backend.properties())?;
        let target = outline.target().capability;
        let raw = backend.load(name, &outline.select(kernels)?)?;
        let mut module = Self { backend: Arc::clone(backend), raw, kernels: Vec::with_capacity(kernels.len()), target };
        for signature in signatures {
            let (raw, limits) = backend.kernel(module.raw, &signature.name)?;
            module.kernels.push(LoadedKernel { raw, limits, signature });
        }
        Ok(module)
    }
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: a `Kernel` holds its module alive, so none is left.
        unsafe { self.backend.unload(self.raw) }
    }
}

/// Refuses a text for a newer target than the device. The driver would too, but need not say why.
fn check_target(outline: &Outline, device: &Properties) -> Result<()> {
    let target = outline.target();
    let (needed, has) = (target.capability, device.capability);
    if needed <= has {
        return Ok(());
    }
    let name = format!("sm_{}{}{}", needed.0, needed.1, target.suffix.map(String::from).unwrap_or_default());
    Err(Error::PtxRejected {
        module: outline.name().to_owned(),
        version: format!("{}.{}", outline.version().0, outline.version().1),
        reason: format!(
            "target {name} is for compute capability {}.{} and later, and {} has {}.{}: compile the kernel for sm_{}{} \
             or less",
            needed.0,
            needed.1,
            device.subject(),
            has.0,
            has.1,
            has.0,
            has.1
        ),
        target: name,
    })
}

fn unknown_kernel(kernel: &str, outline: &Outline) -> Error {
    let available: Vec<&str> = outline.kernels().map(|signature| &*signature.name).collect();
    Error::UnknownKernel {
        kernel: kernel.to_owned(),
        module: outline.name().to_owned(),
        available: if available.is_empty() { "none".to_owned() } else { available.join(", ") },
    }
}

/// The newest of `variants` that a device of this compute capability can run.
///
/// # Errors
/// [`Error::NoVariant`].
pub fn newest(variants: &[Ptx], capability: (u32, u32)) -> Result<&Ptx> {
    let able = variants.iter().filter(|ptx| ptx.capability() <= capability);
    able.max_by_key(|ptx| ptx.capability()).ok_or_else(|| {
        let needed: Vec<String> =
            variants.iter().map(|ptx| format!("{}.{}", ptx.capability().0, ptx.capability().1)).collect();
        Error::NoVariant {
            module: variants.first().map_or("?", Ptx::module).to_owned(),
            capability,
            needed: needed.join(" or "),
        }
    })
}

/// The name of the file that holds it.
fn file_name(ptx: &Ptx) -> String {
    let (major, minor) = ptx.capability();
    format!("{}.sm_{major}{minor}.ptx", ptx.module())
}

/// Loads kernels of a crate for the device of `stream`: from the newest of `variants` that the device can run, and of
/// that only what these kernels need. Loading again gives the same module without work.
///
/// The kernels come in the order of `names` and launch on `stream`.
///
/// # Errors
/// [`Error::NoVariant`], [`Error::UnknownKernel`], [`Error::PtxSyntax`], [`Error::PtxRejected`], on the simulator
/// [`Error::SimulatorLoad`] if it cannot run one of them.
pub fn load<const N: usize>(stream: &Stream, variants: &[Ptx], names: [&str; N]) -> Result<[Kernel; N]> {
    let device = stream.device();
    let ptx = newest(variants, device.properties().capability)?;
    let module = device.cached_module(ptx.text(), &names, || {
        LoadedModule::load(&device.inner.backend, &file_name(ptx), ptx.text(), &names)
    })?;
    Ok(kernels(stream, &module))
}

/// Loads kernels from a PTX text that came from elsewhere, such as a file; `name` stands for it in messages.
///
/// # Errors
/// As [`load`].
pub fn load_text<const N: usize>(stream: &Stream, name: &str, text: &str, names: [&str; N]) -> Result<[Kernel; N]> {
    let module = LoadedModule::load(&stream.device().inner.backend, name, text, &names)?;
    Ok(kernels(stream, &Arc::new(module)))
}

fn kernels<const N: usize>(stream: &Stream, module: &Arc<LoadedModule>) -> [Kernel; N] {
    std::array::from_fn(|index| Kernel { stream: stream.clone(), module: Arc::clone(module), index })
}

/// A kernel, ready to launch on its stream.
#[derive(Clone, Debug)]
pub struct Kernel {
    stream: Stream,
    module: Arc<LoadedModule>,
    index: usize,
}

impl Kernel {
    fn loaded(&self) -> &LoadedKernel {
        &self.module.kernels[self.index]
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.loaded().signature.name
    }

    /// The stream that it launches on.
    #[must_use]
    #[inline]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// How many blocks of `threads` threads, with `shared_bytes` of dynamic shared memory each, one multiprocessor
    /// holds at once.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn blocks_per_multiprocessor(&self, threads: u32, shared_bytes: u32) -> Result<u32> {
        self.stream.backend().blocks_per_multiprocessor(self.loaded().raw, threads, shared_bytes)
    }

    /// How many such blocks the device holds at once: the most that a cooperative launch may have.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32> {
        let multiprocessors = self.stream.device().properties().multiprocessors;
        Ok(self.blocks_per_multiprocessor(threads, shared_bytes)?.saturating_mul(multiprocessors))
    }

    /// Asks that a multiprocessor has shared memory for so many blocks of the kernel, which use no dynamic shared memory,
    /// and uses the rest as first-level cache. Then no more of them are resident at once than fit what it has.
    ///
    /// This is a hint: the device has few sizes to choose from, and takes the next larger one. No result depends on it.
    /// The simulator ignores it.
    ///
    /// # Errors
    /// An error of the driver.
    pub fn prefer_resident(&self, blocks: u32) -> Result<()> {
        let kernel = self.loaded();
        let largest = self.stream.device().properties().shared_per_block_optin;
        let block = largest.saturating_sub(kernel.limits.dynamic_shared);
        self.stream.backend().prefer_shared(kernel.raw, shared_percent(blocks, block, largest))
    }

    /// Queues a launch and returns. A grid without blocks queues nothing.
    ///
    /// The arguments are checked against the kernel's parameters, and the shape against the limits of kernel and
    /// device, before the driver is asked.
    ///
    /// # Errors
    /// [`Error::ArgumentMismatch`], [`Error::ArgumentStream`] for memory of another stream, [`Error::InvalidLaunch`],
    /// [`Error::CooperativeTooLarge`]; [`Error::Unsupported`] for memory that cannot be part of a graph, while the
    /// stream's work is captured into one. On the simulator, the faults of the kernel itself ([`Error::Fault`]); on a
    /// GPU they appear when the stream is waited for, as [`Error::Driver`], and no work runs on that GPU from then on
    /// until the process ends, whereas on the simulator it goes on.
    ///
    /// # Safety
    /// With these arguments and this shape, the kernel stays within the memory of its slices, writes only to those that
    /// are [`SliceMut`](crate::memory::SliceMut), and ends. If the launch is
    /// [`overlapping`](LaunchConfig::overlapping) and its PTX is for compute capability 9.0 or later, it touches no
    /// memory before it has waited for the launches before it.
    ///
    /// If it is captured into a [`Graph`](crate::graph::Graph), this holds at each launch of that, whatever the memory
    /// contains by then: a kernel that takes indices from memory that safe code can write to has to check them.
    #[inline]
    pub unsafe fn launch(&self, config: LaunchConfig, arguments: impl Arguments) -> Result<()> {
        let arguments = arguments.to_arguments(self)?;
        // SAFETY: the caller answers for what the kernel does.
        unsafe { self.launch_with(config, arguments.as_ref()) }
    }

    /// The part of [`Kernel::launch`] that is the same for all types of arguments.
    unsafe fn launch_with(&self, mut config: LaunchConfig, arguments: &[Argument]) -> Result<()> {
        let kernel = self.loaded();
        check_arguments(&kernel.signature, arguments)?;
        if config.blocks() == 0 {
            return Ok(());
        }
        self.check(&config)?;
        // PTX for earlier targets cannot wait.
        config.overlapping &= self.module.target >= LaunchConfig::OVERLAPPING_TARGET;
        capture::keep_module(&self.stream, &self.module);
        // SAFETY: arguments and shape were checked; the caller answers for what the kernel does.
        self.stream.submit(|backend, raw| unsafe { backend.launch(raw, kernel.raw, &config, arguments) })
    }

    /// Checks a shape against the limits of kernel and device, as [`Kernel::launch`] does.
    ///
    /// # Errors
    /// [`Error::InvalidLaunch`], [`Error::CooperativeTooLarge`]; [`Error::Unsupported`] for a cooperative launch on a
    /// device that has none.
    pub fn check(&self, config: &LaunchConfig) -> Result<()> {
        config.check(self.name(), self.stream.device().properties())?;
        let limits = &self.loaded().limits;
        let threads = config.threads_per_block();
        let invalid =
            |limit, asked, maximum| Err(Error::InvalidLaunch { kernel: self.name().to_owned(), limit, asked, maximum });
        if threads > limits.threads_per_block.into() {
            return invalid("the number of threads of a block", threads, limits.threads_per_block.into());
        }
        if config.shared_bytes > limits.dynamic_shared {
            return invalid(
                "the dynamic shared memory of a block in bytes",
                config.shared_bytes.into(),
                limits.dynamic_shared.into(),
            );
        }
        if config.cooperative {
            let device = self.stream.device().properties();
            if !device.cooperative_launch {
                return Err(Error::Unsupported {
                    device: device.subject(),
                    what: "cooperative launches",
                    instead: "Launch the kernel once for each part between two grid barriers",
                });
            }
            let maximum = u64::from(self.resident_blocks(threads as u32, config.shared_bytes)?);
            if config.blocks() > maximum {
                return Err(Error::CooperativeTooLarge {
                    kernel: self.name().to_owned(),
                    asked: config.blocks(),
                    maximum,
                });
            }
        }
        Ok(())
    }
}

/// The share of a multiprocessor's shared memory that `blocks` blocks of `block` bytes each take, where the largest block
/// has `largest` bytes. The device adds a KiB to each block.
fn shared_percent(blocks: u32, block: u32, largest: u32) -> u32 {
    const ADDED: u64 = 1 << 10;
    let taken = u64::from(blocks).saturating_mul(u64::from(block) + ADDED);
    taken.saturating_mul(100).div_ceil(u64::from(largest) + ADDED).min(100) as u32
}

/// What the type of a parameter says about its values.
enum Declared {
    Float,
    Integer,
    /// Bits without a meaning, such as structures.
    Bits,
}

impl Declared {
    fn of(ty: Type) -> Declared {
        match ty {
            Type::F16 | Type::BF16 | Type::F32 | Type::F64 => Declared::Float,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
                Declared::Integer
            }
            _ => Declared::Bits,
        }
    }
}

/// Checks number, sizes and kinds of the arguments.
fn check_arguments(signature: &KernelSignature, arguments: &[Argument]) -> Result<()> {
    let mismatch = |reason: String| {
        Err(Error::ArgumentMismatch {
            kernel: signature.name.to_string(),
            reason,
            parameters: describe(&signature.params),
        })
    };
    if arguments.len() != signature.params.len() {
        return mismatch(format!("{} arguments for {} parameters", arguments.len(), signature.params.len()));
    }
    for (index, (param, argument)) in signature.params.iter().zip(arguments).enumerate() {
        let given = || match argument.kind {
            ArgumentKind::Pointer => "a slice".to_owned(),
            ArgumentKind::Integer => format!("an integer of {} bytes", argument.size),
            ArgumentKind::Float => format!("a float of {} bytes", argument.size),
        };
        if usize::from(argument.size) != param.size {
            return mismatch(format!("argument {index} is {}, parameter {index} has {} bytes", given(), param.size));
        }
        let is_slice = argument.kind == ArgumentKind::Pointer;
        // nvcc marks pointers for some targets only. Where it does not, those are known that the kernel plainly
        // converts to an address, and another parameter may be a pointer too.
        let expected = match Declared::of(param.ty) {
            _ if param.pointer && !is_slice => "a pointer",
            _ if signature.marks_pointers && is_slice && !param.pointer => "no pointer",
            Declared::Float if argument.kind != ArgumentKind::Float => "a float",
            Declared::Integer if argument.kind == ArgumentKind::Float => "an integer",
            _ => continue,
        };
        return mismatch(format!("argument {index} is {}, parameter {index} is {expected}", given()));
    }
    Ok(())
}

/// A parameter list for a message, such as `u64 pointer, u64, f32`.
fn describe(params: &[Param]) -> String {
    let describe = |param: &Param| {
        let pointer = if param.pointer { " pointer" } else { "" };
        format!("{:?}{pointer}", param.ty).to_lowercase()
    };
    params.iter().map(describe).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::shared_percent;

    #[test]
    fn shared_memory_is_asked_for_in_percent() {
        const KIB: u32 = 1 << 10;
        // Three blocks of 16 KiB: 51 of 228, of 164, of 100 and of 64 KiB.
        for (largest, percent) in [(227, 23), (163, 32), (99, 51), (63, 80)] {
            assert_eq!(shared_percent(3, 16 * KIB, largest * KIB), percent);
        }
        // Three of 32 KiB: 99 of 228, a little more than the device's size of 100 KiB once it is rounded up.
        assert_eq!(shared_percent(3, 32 * KIB, 227 * KIB), 44);
        assert_eq!(shared_percent(0, 16 * KIB, 227 * KIB), 0);
        assert_eq!(shared_percent(100, 16 * KIB, 227 * KIB), 100);
        assert_eq!(shared_percent(u32::MAX, u32::MAX, 0), 100);
        // A device adds to blocks that have none, too.
        assert_eq!(shared_percent(1, 0, 99 * KIB), 1);
    }
}
