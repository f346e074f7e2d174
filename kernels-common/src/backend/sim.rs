//! The simulator as a backend.
//!
//! Work is done at once, in the order it is given by the calling thread: one of the orders that a device could take,
//! because whatever waits for an event waits for work that was given earlier.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ptx_sim::ptx::Module;
use ptx_sim::{Checks, Config, Counters, Kernel, Launch, LoadError, MemoryError, Program, Simulator};

use super::{Backend, HostMemory, KernelLimits, RawEvent, RawExecutable, RawGraph, RawKernel, RawModule, RawStream};
use crate::argument::Argument;
use crate::device::{BackendKind, Properties, SimOptions};
use crate::error::{Error, MemoryKind, Result};
use crate::launch::LaunchConfig;

#[derive(Debug)]
pub(crate) struct Sim {
    properties: Properties,
    config: Config,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    simulator: Simulator,
    events: HashMap<u64, Option<Instant>>,
    programs: HashMap<u64, Program>,
    kernels: HashMap<u64, (RawModule, Arc<Kernel>)>,
    /// What is captured so far, by the stream that it is given to.
    captures: HashMap<u64, Vec<Operation>>,
    graphs: HashMap<u64, Arc<[Operation]>>,
    executables: HashMap<u64, Arc<[Operation]>>,
    counters: Counters,
    /// Handles are numbers that are never used twice.
    next_handle: u64,
}

/// Work that can be captured.
#[derive(Debug)]
enum Operation {
    Launch { kernel: RawKernel, config: LaunchConfig, arguments: Box<[Argument]> },
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { address: u64, value: u8, bytes: u64 },
}

impl Operation {
    /// Whether a driver would turn this node of a graph into the other.
    fn can_become(&self, other: &Operation) -> bool {
        match (self, other) {
            (Operation::Launch { config: this, .. }, Operation::Launch { config: other, .. }) => {
                this.cooperative == other.cooperative
            }
            (Operation::Copy { .. }, Operation::Copy { .. }) | (Operation::Fill { .. }, Operation::Fill { .. }) => true,
            _ => false,
        }
    }
}

impl State {
    /// Does work, or captures it, if that is what `stream` is for.
    fn submit(&mut self, stream: RawStream, operation: Operation) -> Result<()> {
        match self.captures.get_mut(&stream.0) {
            Some(captured) => {
                captured.push(operation);
                Ok(())
            }
            None => self.perform(&operation),
        }
    }

    fn perform(&mut self, operation: &Operation) -> Result<()> {
        match *operation {
            Operation::Launch { kernel, ref config, ref arguments } => self.launch(kernel, config, arguments),
            Operation::Copy { to, from, bytes } => self.simulator.copy(to, from, bytes).map_err(memory_error),
            Operation::Fill { address, value, bytes } => {
                self.simulator.fill(address, bytes, &[value]).map_err(memory_error)
            }
        }
    }

    fn launch(&mut self, kernel: RawKernel, config: &LaunchConfig, arguments: &[Argument]) -> Result<()> {
        let Some((_, kernel)) = self.kernels.get(&kernel.0) else {
            return Err(Error::SimulatorLoad("the kernel's module was unloaded".to_owned()));
        };
        let kernel = Arc::clone(kernel);
        let params = &kernel.signature().params;
        let mut block = vec![0u8; params.last().map_or(0, |param| param.offset + param.size)];
        for (param, argument) in params.iter().zip(arguments) {
            block[param.offset..param.offset + param.size].copy_from_slice(&argument.bytes[..param.size]);
        }
        let launch = Launch {
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.shared_bytes,
            cooperative: config.cooperative,
        };
        let outcome = self.simulator.launch(&kernel, &launch, &block);
        // As on a device, what a kernel prints is for the standard output.
        print!("{}", self.simulator.take_output());
        self.counters += outcome.map_err(Box::new)?;
        Ok(())
    }

    fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    /// The work of a graph, which is there as long as its handle is used.
    fn graph(&self, graph: RawGraph) -> Arc<[Operation]> {
        self.graphs.get(&graph.0).cloned().unwrap_or_default()
    }

    fn executable(&self, executable: RawExecutable) -> Arc<[Operation]> {
        self.executables.get(&executable.0).cloned().unwrap_or_default()
    }

    fn allocate(&mut self, memory: MemoryKind, bytes: u64) -> Result<u64> {
        let free = self.simulator.free_memory();
        self.simulator.allocate(bytes).map_err(|error| match error {
            MemoryError::OutOfMemory { .. } => Error::OutOfMemory { memory, bytes, free: Some(free) },
            error => memory_error(error),
        })
    }

    fn allocate_shared(&mut self, memory: MemoryKind, bytes: u64) -> Result<HostMemory> {
        let device = self.allocate(memory, bytes)?;
        Ok(HostMemory { host: self.simulator.host_pointer(device).map_err(memory_error)?, device })
    }
}

fn memory_error(error: MemoryError) -> Error {
    Error::SimulatorMemory(error.to_string())
}

fn load_error(error: LoadError) -> Error {
    match error {
        LoadError::Parse(error) => Error::PtxSyntax(error),
        error => Error::SimulatorLoad(error.to_string()),
    }
}

impl Sim {
    pub(crate) fn open(options: &SimOptions) -> Sim {
        let mut checks = Checks::default();
        checks.initialised = options.check_initialised;
        checks.barriers = options.check_barriers;
        checks.lanes = options.check_barriers;
        checks.races = options.check_races;
        let config = Config {
            seed: options.seed,
            checks,
            threads: options.threads,
            multiprocessors: options.multiprocessors,
            capability: options.capability,
            memory: options.memory,
            ..Config::default()
        };
        let limits = config.limits();
        let properties = Properties {
            name: "simulator".to_owned(),
            backend: BackendKind::Sim,
            selector: options.to_string(),
            capability: config.capability,
            multiprocessors: config.multiprocessors,
            warp_size: 32,
            max_threads_per_block: limits.threads_per_block,
            max_block: limits.block,
            max_grid: limits.grid,
            max_threads_per_multiprocessor: limits.threads_per_multiprocessor,
            shared_per_block: limits.shared_per_block.min(48 << 10),
            shared_per_block_optin: limits.shared_per_block,
            memory: config.memory,
            l2_cache: 0,
            memory_clock_khz: 0,
            memory_bus_bits: 0,
            cooperative_launch: options.cooperative_launch,
            concurrent_managed_access: options.concurrent_managed_access,
            memory_pools: true,
            driver: (0, 0),
        };
        let state = State {
            simulator: Simulator::new(config.clone()),
            events: HashMap::new(),
            programs: HashMap::new(),
            kernels: HashMap::new(),
            captures: HashMap::new(),
            graphs: HashMap::new(),
            executables: HashMap::new(),
            counters: Counters::default(),
            next_handle: 0,
        };
        Sim { properties, config, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Sim {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory_info(&self) -> Result<(u64, u64)> {
        Ok((self.state().simulator.free_memory(), self.config.memory))
    }

    fn create_stream(&self) -> Result<RawStream> {
        Ok(RawStream(self.state().handle()))
    }

    unsafe fn destroy_stream(&self, _: RawStream) {}

    fn synchronize(&self, _: RawStream) -> Result<()> {
        Ok(())
    }

    fn is_capturing(&self, _: RawStream) -> Result<bool> {
        Ok(false)
    }

    fn begin_capture(&self) -> Result<RawStream> {
        let mut state = self.state();
        let stream = state.handle();
        state.captures.insert(stream, Vec::new());
        Ok(RawStream(stream))
    }

    fn end_capture(&self, stream: RawStream) -> Result<RawGraph> {
        let mut state = self.state();
        let captured = state.captures.remove(&stream.0).unwrap_or_default();
        let graph = state.handle();
        state.graphs.insert(graph, captured.into());
        Ok(RawGraph(graph))
    }

    fn instantiate(&self, graph: RawGraph) -> Result<RawExecutable> {
        let mut state = self.state();
        let operations = state.graph(graph);
        let executable = state.handle();
        state.executables.insert(executable, operations);
        Ok(RawExecutable(executable))
    }

    fn update(&self, executable: RawExecutable, graph: RawGraph) -> Result<bool> {
        let mut state = self.state();
        let (old, new) = (state.executable(executable), state.graph(graph));
        let fits = old.len() == new.len() && old.iter().zip(&*new).all(|(old, new)| old.can_become(new));
        if fits {
            state.executables.insert(executable.0, new);
        }
        Ok(fits)
    }

    unsafe fn launch_graph(&self, _: RawStream, executable: RawExecutable) -> Result<()> {
        let mut state = self.state();
        let operations = state.executable(executable);
        operations.iter().try_for_each(|operation| state.perform(operation))
    }

    unsafe fn destroy_graph(&self, graph: RawGraph) {
        self.state().graphs.remove(&graph.0);
    }

    unsafe fn destroy_executable(&self, executable: RawExecutable) {
        self.state().executables.remove(&executable.0);
    }

    fn create_event(&self) -> Result<RawEvent> {
        let mut state = self.state();
        let handle = state.handle();
        state.events.insert(handle, None);
        Ok(RawEvent(handle))
    }

    unsafe fn destroy_event(&self, event: RawEvent) {
        self.state().events.remove(&event.0);
    }

    fn record(&self, event: RawEvent, _: RawStream) -> Result<()> {
        self.state().events.insert(event.0, Some(Instant::now()));
        Ok(())
    }

    fn wait(&self, _: RawStream, _: RawEvent) -> Result<()> {
        Ok(())
    }

    fn synchronize_event(&self, _: RawEvent) -> Result<()> {
        Ok(())
    }

    fn elapsed_ms(&self, start: RawEvent, end: RawEvent) -> Result<f32> {
        let state = self.state();
        let time = |event: RawEvent| state.events.get(&event.0).copied().flatten();
        // Public events are always recorded; an unrecorded one took no time.
        let elapsed = time(start).zip(time(end)).map(|(start, end)| end.saturating_duration_since(start));
        Ok(elapsed.unwrap_or_default().as_secs_f32() * 1e3)
    }

    fn allocate(&self, _: RawStream, bytes: u64) -> Result<u64> {
        self.state().allocate(MemoryKind::Device, bytes)
    }

    unsafe fn free(&self, _: RawStream, address: u64) {
        // Fails only for an address that was not allocated here, which the callers rule out.
        let _ = self.state().simulator.free(address);
    }

    fn allocate_pinned(&self, bytes: u64, _: bool) -> Result<HostMemory> {
        self.state().allocate_shared(MemoryKind::Pinned, bytes)
    }

    unsafe fn free_pinned(&self, memory: HostMemory) {
        let _ = self.state().simulator.free(memory.device);
    }

    fn allocate_unified(&self, bytes: u64, _: bool) -> Result<HostMemory> {
        self.state().allocate_shared(MemoryKind::Unified, bytes)
    }

    unsafe fn free_unified(&self, memory: HostMemory) {
        let _ = self.state().simulator.free(memory.device);
    }

    fn attach_to_stream(&self, _: RawStream, _: HostMemory) -> Result<()> {
        Ok(())
    }

    fn prefetch(&self, _: RawStream, _: HostMemory, _: u64, _: bool) -> Result<()> {
        Ok(())
    }

    unsafe fn copy_to_device(&self, _: RawStream, to: u64, from: *const u8, bytes: u64) -> Result<()> {
        // SAFETY: the caller's range is readable and unchanged for the length of this call.
        let from = unsafe { std::slice::from_raw_parts(from, bytes as usize) };
        self.state().simulator.write(to, from).map_err(memory_error)
    }

    unsafe fn copy_to_host(&self, _: RawStream, to: *mut u8, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: the caller's range is writable, and nobody else uses it for the length of this call.
        let to = unsafe { std::slice::from_raw_parts_mut(to, bytes as usize) };
        self.state().simulator.read(from, to).map_err(memory_error)
    }

    unsafe fn copy(&self, stream: RawStream, to: u64, from: u64, bytes: u64) -> Result<()> {
        self.state().submit(stream, Operation::Copy { to, from, bytes })
    }

    unsafe fn fill_bytes(&self, stream: RawStream, address: u64, value: u8, bytes: u64) -> Result<()> {
        self.state().submit(stream, Operation::Fill { address, value, bytes })
    }

    fn load(&self, name: &str, text: &str) -> Result<RawModule> {
        let module = Arc::new(Module::parse(name, text)?);
        let mut state = self.state();
        let program = state.simulator.load(module).map_err(load_error)?;
        let handle = state.handle();
        state.programs.insert(handle, program);
        Ok(RawModule(handle))
    }

    unsafe fn unload(&self, module: RawModule) {
        let mut state = self.state();
        state.kernels.retain(|_, (owner, _)| *owner != module);
        if let Some(program) = state.programs.remove(&module.0) {
            state.simulator.unload(&program);
        }
    }

    fn kernel(&self, module: RawModule, name: &str) -> Result<(RawKernel, KernelLimits)> {
        let mut state = self.state();
        let Some(program) = state.programs.get(&module.0) else {
            return Err(Error::SimulatorLoad("the module was unloaded".to_owned()));
        };
        let kernel = state.simulator.kernel(program, name).map_err(load_error)?;
        let declared = kernel
            .signature()
            .max_threads
            .map_or(u64::MAX, |sides| sides.iter().fold(1u64, |product, &side| product.saturating_mul(side.into())));
        let limits = KernelLimits {
            threads_per_block: declared.min(self.properties.max_threads_per_block.into()) as u32,
            dynamic_shared: self.properties.shared_per_block_optin.saturating_sub(kernel.static_shared_bytes()),
        };
        let handle = state.handle();
        state.kernels.insert(handle, (module, kernel));
        Ok((RawKernel(handle), limits))
    }

    fn blocks_per_multiprocessor(&self, kernel: RawKernel, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let state = self.state();
        Ok(state
            .kernels
            .get(&kernel.0)
            .map_or(0, |(_, kernel)| kernel.occupancy(&self.config, threads, dynamic_shared)))
    }

    fn prefer_shared(&self, _: RawKernel, _: u32) -> Result<()> {
        Ok(())
    }

    unsafe fn launch(
        &self,
        stream: RawStream,
        kernel: RawKernel,
        config: &LaunchConfig,
        arguments: &[Argument],
    ) -> Result<()> {
        let arguments = arguments.into();
        self.state().submit(stream, Operation::Launch { kernel, config: *config, arguments })
    }

    fn take_counters(&self) -> Option<Counters> {
        Some(std::mem::take(&mut self.state().counters))
    }
}
