//! The simulator as its user sees it.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::ast::Space;
use crate::config::Config;
use crate::counters::Counters;
use crate::fault::Fault;
use crate::launch::{self, Launch};
use crate::memory::{Memory, MemoryError};
use crate::program::{CODE_BASE, Kernel, LoadError, Loaded, Program, function_address};
use crate::ptx::Module;

/// A GPU in software: device memory, loaded modules, launches.
#[derive(Debug)]
pub struct Simulator {
    config: Config,
    memory: Memory,
    progress: Option<Arc<AtomicU64>>,
    /// Where the functions of the next module start.
    code: u64,
    output: String,
}

impl Simulator {
    /// A device with empty memory.
    pub fn new(config: Config) -> Simulator {
        let memory = Memory::new(config.memory);
        Simulator { config, memory, progress: None, code: CODE_BASE, output: String::new() }
    }

    /// What the simulator was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of device memory that are not allocated.
    pub fn free_memory(&self) -> u64 {
        self.memory.free_bytes()
    }

    /// Allocates `bytes` bytes and gives their device address, a multiple of 256. The memory is zero, but counts as
    /// uninitialised until it is written. Addresses are not reused soon, and there is a guard gap after every
    /// allocation, so that stray accesses are found.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`].
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, MemoryError> {
        self.memory.allocate(bytes)
    }

    /// Frees the allocation that starts at `address`.
    ///
    /// # Errors
    /// If there is none, or it has been freed before.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        self.memory.free(address)
    }

    /// Copies `bytes` to device memory at `address`.
    ///
    /// # Errors
    /// If the range is not within one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.memory.write(address, bytes)
    }

    /// Copies device memory at `address` to `bytes`. Bytes that nobody has written are zero.
    ///
    /// # Errors
    /// If the range is not within one allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(address, bytes)
    }

    /// Copies `bytes` bytes within device memory; the ranges may overlap. What was uninitialised stays so.
    ///
    /// # Errors
    /// If one of the ranges is not within one allocation.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        self.memory.copy(to, from, bytes)
    }

    /// Fills `bytes` bytes at `address` with repetitions of `pattern`, the last one cut short if need be.
    ///
    /// # Errors
    /// If the range is not within one allocation, or the pattern is empty.
    pub fn fill(&mut self, address: u64, bytes: u64, pattern: &[u8]) -> Result<(), MemoryError> {
        self.memory.fill(address, bytes, pattern)
    }

    /// Host address of the allocation that starts at `address`, for memory that host and device share. It stays valid
    /// until the allocation is freed or the simulator dropped. The allocation counts as initialised from now on.
    ///
    /// Reading and writing through the pointer is up to the caller, who must not do so during a launch, or during any
    /// other call that touches the allocation.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn host_pointer(&mut self, address: u64) -> Result<NonNull<u8>, MemoryError> {
        self.memory.host_pointer(address)
    }

    /// Names the allocation that starts at `address` in fault messages. Does nothing if none starts there.
    pub fn label(&mut self, address: u64, text: &str) {
        self.memory.label(address, text);
    }

    /// Makes a kernel's write to the allocation that starts at `address` a fault, or allows it again. The host may
    /// write in any case.
    ///
    /// # Errors
    /// If no allocation starts there.
    pub fn set_read_only(&mut self, address: u64, read_only: bool) -> Result<(), MemoryError> {
        self.memory.set_read_only(address, read_only)
    }

    /// Gives the module's `.global` and `.const` variables addresses and their initial values. Kernels are lowered
    /// later, when they are first asked for.
    ///
    /// # Errors
    /// If there is no room for a variable, or the module declares one that it does not define.
    pub fn load(&mut self, module: Arc<Module>) -> Result<Program, LoadError> {
        let mut variables = HashMap::new();
        for variable in module.variables() {
            if !matches!(variable.space, Space::Global | Space::Const) {
                continue;
            }
            let place = self.place(&module, variable);
            match place {
                Ok(address) => variables.insert(variable.name.clone(), address),
                Err(error) => {
                    for &address in variables.values() {
                        // Placed above; its removal cannot fail.
                        let _ = self.memory.free(address);
                    }
                    return Err(error);
                }
            };
        }
        let code = self.code;
        self.code = function_address(code, module.functions());
        for variable in module.variables() {
            for initial in &variable.addresses {
                let function = || module.function_number(&initial.symbol).map(|number| function_address(code, number));
                // The module was refused if it is neither.
                let Some(start) = variables.get(&initial.symbol).copied().or_else(function) else { continue };
                let address = start.wrapping_add_signed(initial.addend);
                // Within a variable that was placed above; the write cannot fail.
                let _ = self.memory.write(variables[&variable.name] + initial.offset, &address.to_le_bytes());
            }
        }
        Ok(Program(Arc::new(Loaded::new(module, variables, code))))
    }

    fn place(&mut self, module: &Module, variable: &crate::ast::Variable) -> Result<u64, LoadError> {
        if variable.external {
            return Err(LoadError::External { module: module.name().into(), variable: variable.name.clone() });
        }
        let mut place = || -> Result<u64, MemoryError> {
            let address = self.memory.allocate(variable.size)?;
            // Variables without an initialiser are zero, as fresh memory is.
            self.memory.set_initialised(address)?;
            self.memory.write(address, &variable.init)?;
            self.memory.label(address, &variable.name);
            self.memory.set_read_only(address, variable.space == Space::Const)?;
            Ok(address)
        };
        place().map_err(|error| LoadError::Memory {
            module: module.name().into(),
            variable: variable.name.clone(),
            error,
        })
    }

    /// Frees the module's variables. Kernels of the program that are launched after this fault when they touch one.
    pub fn unload(&mut self, program: &Program) {
        for &address in program.0.variables.values() {
            // Fails only if the program was unloaded before or belongs to another simulator.
            let _ = self.memory.free(address);
        }
    }

    /// The kernel `name` of `program`, lowered on first use.
    ///
    /// # Errors
    /// If there is no such kernel, its text is not PTX, or it uses an instruction that the simulator does not have.
    pub fn kernel(&self, program: &Program, name: &str) -> Result<Arc<Kernel>, LoadError> {
        program.kernel(name, self.config.portable)
    }

    /// Runs `kernel` to its end. `params` is the parameter block: every parameter at its offset, little endian.
    ///
    /// # Errors
    /// The first fault. Memory keeps what the kernel had written, and the simulator stays usable.
    pub fn launch(&mut self, kernel: &Kernel, launch: &Launch, params: &[u8]) -> Result<Counters, Fault> {
        let (memory, output) = (&mut self.memory, &mut self.output);
        launch::run(&self.config, memory, self.progress.as_deref(), output, kernel, launch, params)
    }

    /// Has launches keep the number of PTX instructions that they have executed so far in `counter`, for another thread
    /// to look at while they run. It is brought up to date many times a second, and starts over with every launch.
    pub fn count_into(&mut self, counter: Option<Arc<AtomicU64>>) {
        self.progress = counter;
    }

    /// What kernels have printed since this was last asked for: thread after thread, as they came to their `printf`. A
    /// launch that ends in a fault has printed what came before.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }
}
