//! Every kernel of any text, launched: what a kernel does wrong is a fault, and the host's memory stays whole.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptx_sim::ptx::{KernelSignature, Module};
use ptx_sim::{Checks, Config, Launch, Simulator};

/// Bytes of the buffer that every pointer points to.
const BUFFER: u64 = 4096;

/// What a launch may do before it is a hang, in warp instructions. The first ends it in the middle of most kernels.
const BUDGETS: [u64; 4] = [40, 300, 2000, 10_000];

/// Blocks of the grid.
const GRIDS: [[u32; 3]; 4] = [[1, 1, 1], [2, 1, 1], [5, 1, 1], [2, 2, 2]];

/// The bits of a byte, taken from the lowest on.
struct Choices(u8);

impl Choices {
    fn bits(&mut self, count: u32) -> usize {
        let taken = self.0 & ((1 << count) - 1);
        self.0 >>= count;
        taken.into()
    }

    fn flag(&mut self) -> bool {
        self.bits(1) == 1
    }
}

fn config(mut choices: Choices, seed: u8) -> Config {
    let seed = choices.flag().then_some(seed.into());
    let mut checks = Checks::ALL;
    match choices.bits(2) {
        0 => {}
        1 => checks.bounds = false,
        2 => (checks.initialised, checks.barriers, checks.lanes) = (false, false, false),
        _ => checks = Checks::NONE,
    }
    let threads = if choices.flag() { 3 } else { 1 };
    // Races are looked for by one thread only.
    checks.races &= threads == 1;
    Config {
        seed,
        checks,
        threads,
        budget: BUDGETS[choices.bits(2)],
        capability: if choices.flag() { (9, 0) } else { (7, 5) },
        portable: choices.flag(),
        multiprocessors: 2,
        memory: 64 << 20,
    }
}

fn launch(mut choices: Choices, signature: &KernelSignature) -> Launch {
    let grid = GRIDS[choices.bits(2)];
    let block = [[40, 1, 1], [33, 2, 1], [1, 1, 1], [128, 1, 1]][choices.bits(2)];
    Launch {
        grid,
        block: signature.required_threads.unwrap_or(block),
        dynamic_shared: if choices.flag() { 256 } else { 0 },
        cooperative: choices.flag(),
    }
}

/// Parameters of 64 bits are pointers, those of 32 or less are counts.
fn params(signature: &KernelSignature, buffer: u64) -> Vec<u8> {
    let mut params = vec![];
    for param in &signature.params {
        params.resize(param.offset, 0);
        match param.size {
            8 => params.extend_from_slice(&buffer.to_le_bytes()),
            size => params.extend((0..size).map(|byte| if byte == 0 { 70 } else { 0 })),
        }
    }
    params
}

// Two bytes choose device and launch, the third is the seed, the rest is the text.
fuzz_target!(|bytes: &[u8]| {
    let &[device, shape, seed, ref text @ ..] = bytes else { return };
    let text = String::from_utf8_lossy(text);
    let Ok(module) = Module::parse("fuzz.ptx", &text) else { return };
    let module = Arc::new(module);
    let mut simulator = Simulator::new(config(Choices(device), seed));
    let Ok(program) = simulator.load(module.clone()) else { return };
    let buffer = simulator.allocate(BUFFER).expect("there is room");
    if shape & 0x80 != 0 {
        simulator.fill(buffer, BUFFER, &[0]).expect("it is there");
    }
    for signature in module.kernels() {
        let Ok(kernel) = simulator.kernel(&program, &signature.name) else { continue };
        // What a fault says is made of the kernel's text too.
        if let Err(fault) = simulator.launch(&kernel, &launch(Choices(shape), signature), &params(signature, buffer)) {
            let _ = format!("{fault} {fault:?}");
        }
        simulator.take_output();
    }
});
