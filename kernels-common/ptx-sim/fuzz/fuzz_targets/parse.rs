//! Any text through the parser, and every kernel that it finds through lowering, as a user would do.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ptx_sim::ptx::Module;
use ptx_sim::{Config, Simulator};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Ok(module) = Module::parse("fuzz.ptx", &text) else { return };
    let module = Arc::new(module);
    // Stops at the first function that cannot be parsed; the others are parsed below.
    let _ = module.parse_all();
    for kernel in module.kernels() {
        let function = module.function(&kernel.name);
        let selected = module.select(&[&kernel.name]).expect("the kernel is there");
        let alone = Module::parse("selected.ptx", &selected).expect("a selection can be outlined");
        if let (Ok(function), Ok(alone)) = (function, alone.function(&kernel.name)) {
            assert_eq!(function.body, alone.body);
        }
    }
    let mut simulator = Simulator::new(Config::default());
    let Ok(program) = simulator.load(module.clone()) else { return };
    for kernel in module.kernels() {
        if let Ok(kernel) = simulator.kernel(&program, &kernel.name) {
            kernel.occupancy(simulator.config(), 256, 0);
        }
    }
    simulator.unload(&program);
});
