//! Loaded modules and the kernels lowered from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::ast::Span;
use crate::code::Code;
use crate::config::{Config, Limits};
use crate::independence::blocks_are_independent;
use crate::memory::MemoryError;
use crate::ptx::{KernelSignature, Module, ParseError};

/// Why a module or a kernel could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text of the kernel, or of a function that it calls, is not PTX.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module has no such kernel.
    #[error("module `{module}` has no kernel `{name}`; it has {}", list(.known))]
    UnknownKernel {
        /// The module.
        module: Arc<str>,
        /// The name asked for.
        name: String,
        /// The kernels that it has.
        known: Vec<Arc<str>>,
    },
    /// An instruction, or a form of one, that the simulator does not have.
    #[error(
        "{module}:{}:{}: `{opcode}` in `{function}`: {message}. Write it in another way, or run the kernel on a GPU",
        .span.line, .span.column
    )]
    Unsupported {
        /// The module.
        module: Arc<str>,
        /// The kernel or device function.
        function: Arc<str>,
        /// The opcode as written.
        opcode: Arc<str>,
        /// Its place in the PTX text.
        span: Span,
        /// What about it is not supported.
        message: String,
    },
    /// There is no room for the module's variables.
    #[error("module `{module}`, variable `{variable}`: {error}")]
    Memory {
        /// The module.
        module: Arc<str>,
        /// The variable.
        variable: Arc<str>,
        /// Why.
        error: MemoryError,
    },
    /// A variable that the module only declares.
    #[error(
        "module `{module}` declares the variable `{variable}` without defining it. Define it there: a module is loaded \
         by itself"
    )]
    External {
        /// The module.
        module: Arc<str>,
        /// The variable.
        variable: Arc<str>,
    },
}

fn list(names: &[Arc<str>]) -> String {
    match names {
        [] => "none".to_owned(),
        _ => names.join(", "),
    }
}

/// A module loaded into a [`Simulator`](crate::Simulator): its variables have addresses there.
///
/// Cloning gives another handle to the same program.
#[derive(Clone, Debug)]
pub struct Program(pub(crate) Arc<Loaded>);

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) module: Arc<Module>,
    /// Addresses of `.global` and `.const` variables.
    pub(crate) variables: HashMap<Arc<str>, u64>,
    /// Address of the module's first function.
    code: u64,
    kernels: Mutex<Lowered>,
}

/// Kernels lowered so far, by name and by whether they are for the plain processor.
type Lowered = HashMap<(Arc<str>, bool), Arc<Kernel>>;

impl Loaded {
    pub(crate) fn new(module: Arc<Module>, variables: HashMap<Arc<str>, u64>, code: u64) -> Loaded {
        Loaded { module, variables, code, kernels: Mutex::default() }
    }
}

/// Bytes from the address of one function to that of the next.
const FUNCTION_STEP: u64 = 16;

/// Where the functions of modules start. Nothing can be read or written there.
pub(crate) const CODE_BASE: u64 = 4 << 40;

/// Address of function `number` of a module whose functions start at `code`.
pub(crate) fn function_address(code: u64, number: usize) -> u64 {
    code + number as u64 * FUNCTION_STEP
}

impl Loaded {
    /// Address of the function `name`.
    pub(crate) fn function_address(&self, name: &str) -> Option<u64> {
        self.module.function_number(name).map(|number| function_address(self.code, number))
    }
}

impl Program {
    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        &self.0.module
    }

    /// Device address of the module-scope variable `name`.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.0.variables.get(name).copied()
    }

    pub(crate) fn kernel(&self, name: &str, portable: bool) -> Result<Arc<Kernel>, LoadError> {
        let Loaded { module, kernels, .. } = &*self.0;
        let Some(signature) = module.kernel(name) else {
            return Err(LoadError::UnknownKernel {
                module: module.name().into(),
                name: name.to_owned(),
                known: module.kernels().map(|kernel| kernel.name.clone()).collect(),
            });
        };
        let key = (signature.name.clone(), portable);
        let known = kernels.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(kernel) = known {
            return Ok(kernel);
        }
        let code = crate::lower::kernel(&self.0, name, portable)?;
        // What kernels print has an order, and so have the addresses that they allocate.
        let independent_blocks = code.system_calls.is_empty()
            && blocks_are_independent(code.functions.iter().map(|function| &*function.source));
        let (signature, module) = (signature.clone(), module.clone());
        let kernel = Arc::new(Kernel { signature, module, code, independent_blocks });
        kernels.lock().unwrap_or_else(PoisonError::into_inner).insert(key, kernel.clone());
        Ok(kernel)
    }
}

/// A kernel that is ready to launch.
#[derive(Debug)]
pub struct Kernel {
    signature: KernelSignature,
    /// Not the program, which keeps its kernels: neither would ever be freed.
    module: Arc<Module>,
    pub(crate) code: Code,
    /// Several host threads may run its blocks.
    pub(crate) independent_blocks: bool,
}

impl Kernel {
    /// Its name and parameters.
    pub fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    /// Its module.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Virtual registers that it uses, in units of 32 bits. The assembler's allocation is smaller; there is no telling
    /// by how much.
    pub fn registers(&self) -> u32 {
        self.code.registers
    }

    /// Bytes of shared memory of the variables that it declares, without dynamic shared memory.
    pub fn static_shared_bytes(&self) -> u32 {
        self.code.static_shared
    }

    /// Bytes of thread-local memory of its variables, without those of functions that it calls.
    pub fn local_bytes(&self) -> u32 {
        self.code.functions[0].local_bytes
    }

    /// Blocks of `block_threads` threads with `dynamic_shared` bytes of dynamic shared memory that one multiprocessor
    /// holds at a time, at the limits of `config.capability`. An upper estimate: registers, which PTX does not tell,
    /// are taken to suffice. 0 if a block does not fit at all.
    pub fn occupancy(&self, config: &Config, block_threads: u32, dynamic_shared: u32) -> u32 {
        let limits = Limits::of(config.capability);
        let shared = u64::from(self.static_shared_bytes()) + u64::from(dynamic_shared);
        if block_threads == 0
            || block_threads > crate::config::MAX_BLOCK_THREADS
            || shared > u64::from(limits.shared_per_block)
        {
            return 0;
        }
        let by_threads = limits.threads_per_multiprocessor / block_threads.next_multiple_of(32);
        let by_shared = (u64::from(limits.shared_per_multiprocessor)).checked_div(shared).unwrap_or(u64::MAX);
        limits.blocks_per_multiprocessor.min(by_threads).min(u32::try_from(by_shared).unwrap_or(u32::MAX))
    }
}
