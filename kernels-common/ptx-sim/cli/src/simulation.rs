//! One launch on a simulator of its own, from the same start every time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_sim::ptx::{KernelSignature, Module};
use ptx_sim::{Config, Counters, Fault, FaultKind, Launch, MemoryError, Simulator};

use crate::argument::Argument;
use crate::buffer::{Contents, Prepared, zeroed};
use crate::error::Error;
use crate::parameters;
use crate::progress::Progress;

/// What to launch.
pub(crate) struct Simulation<'a> {
    pub(crate) module: Arc<Module>,
    pub(crate) signature: &'a KernelSignature,
    pub(crate) arguments: Vec<Argument>,
    /// Those of the arguments, in order, then others.
    pub(crate) buffers: Vec<Prepared>,
    /// Which of them are read back.
    pub(crate) keep: Vec<bool>,
    pub(crate) launch: Launch,
    pub(crate) config: Config,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) result: Result<Counters, Fault>,
    /// The elements of each buffer that is kept.
    pub(crate) contents: Vec<Vec<u8>>,
    /// What the kernel has printed.
    pub(crate) printed: String,
    pub(crate) elapsed: Duration,
}

impl Simulation<'_> {
    /// Launches with this seed.
    ///
    /// # Errors
    /// If the launch cannot start. A fault of the kernel is an outcome.
    pub(crate) fn run(&self, seed: Option<u64>, progress: &Progress) -> Result<Outcome, Error> {
        let mut simulator = Simulator::new(Config { seed, ..self.config.clone() });
        let program = simulator.load(self.module.clone())?;
        let kernel = simulator.kernel(&program, &self.signature.name)?;
        let mut addresses = Vec::new();
        for buffer in &self.buffers {
            let placed = place(&mut simulator, buffer);
            addresses.push(placed.map_err(|error| Error::memory(&buffer.name, error))?);
        }
        let params = parameters::block(self.signature, &self.arguments, &self.buffers, &addresses);
        simulator.count_into(Some(progress.instructions().clone()));
        let begin = Instant::now();
        let result = simulator.launch(&kernel, &self.launch, &params);
        let elapsed = begin.elapsed();
        if let Err(fault) = &result
            && let FaultKind::BadLaunch(_) = fault.kind
        {
            return Err(Error::Launch(fault.clone()));
        }
        let mut contents = Vec::new();
        for ((buffer, address), &keep) in self.buffers.iter().zip(addresses).zip(&self.keep) {
            let mut bytes = zeroed(&buffer.name, if keep { buffer.bytes() } else { 0 })?;
            simulator.read(address, &mut bytes).map_err(|error| Error::memory(&buffer.name, error))?;
            contents.push(bytes);
        }
        Ok(Outcome { result, contents, printed: simulator.take_output(), elapsed })
    }
}

fn place(simulator: &mut Simulator, buffer: &Prepared) -> Result<u64, MemoryError> {
    let address = simulator.allocate(buffer.bytes())?;
    simulator.label(address, &buffer.name);
    match &buffer.contents {
        Contents::Filled(value) => simulator.fill(address, buffer.bytes(), &value.to_bytes())?,
        Contents::Bytes(bytes) => simulator.write(address, bytes)?,
        Contents::Nothing => {}
    }
    Ok(address)
}
