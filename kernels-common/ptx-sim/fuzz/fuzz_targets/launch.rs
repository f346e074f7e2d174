//! Every kernel of any text, launched: what a kernel does wrong is a fault, and the host's memory stays whole.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptx_sim::ptx::Module;
use ptx_sim::{Checks, Config, Launch, Simulator};

// The first byte chooses the launch, the rest is the text.
fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, text)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let Ok(module) = Module::parse("fuzz.ptx", &text) else { return };
    let module = Arc::new(module);
    let config = Config {
        seed: (choice & 1 != 0).then_some(u64::from(choice)),
        checks: if choice & 2 != 0 { Checks::NONE } else { Checks::ALL },
        portable: choice & 4 != 0,
        multiprocessors: 2,
        memory: 64 << 20,
        budget: 2000,
        ..Config::default()
    };
    let mut simulator = Simulator::new(config);
    let Ok(program) = simulator.load(module.clone()) else { return };
    let buffer = simulator.allocate(4096).expect("there is room");
    if choice & 8 != 0 {
        simulator.fill(buffer, 4096, &[0]).expect("it is there");
    }
    for signature in module.kernels() {
        let Ok(kernel) = simulator.kernel(&program, &signature.name) else { continue };
        let mut params = vec![];
        for param in &signature.params {
            params.resize(param.offset, 0);
            // Pointers have 64 bits, counts 32 or less.
            match param.size {
                8 => params.extend_from_slice(&buffer.to_le_bytes()),
                size => params.extend((0..size).map(|byte| if byte == 0 { 70 } else { 0 })),
            }
        }
        let launch = Launch {
            grid: if choice & 16 != 0 { [2, 1, 1] } else { [1; 3] },
            block: signature.required_threads.unwrap_or(if choice & 32 != 0 { [33, 2, 1] } else { [40, 1, 1] }),
            dynamic_shared: if choice & 64 != 0 { 256 } else { 0 },
            cooperative: choice & 128 != 0,
        };
        let _ = simulator.launch(&kernel, &launch, &params);
    }
});
