//! PTX that nvcc wrote.

use std::collections::BTreeSet;

use ptx_sim::ast::{Operand, Space, Type};
use ptx_sim::ptx::Module;

pub(crate) const CALLS: &str = include_str!("nvcc/calls.sm_75.ptx");
pub(crate) const GRID: &str = include_str!("nvcc/grid.sm_80.ptx");
pub(crate) const DEBUG: &str = include_str!("nvcc/debug.sm_90.ptx");

fn parse(text: &str) -> Module {
    let module = Module::parse("nvcc.ptx", text).unwrap();
    module.parse_all().unwrap();
    module
}

#[test]
fn calls() {
    let module = parse(CALLS);
    assert_eq!((module.version(), module.target().capability), ((9, 0), (7, 5)));
    let names: Vec<&str> = module.kernels().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["_Z5callsPi5Point", "_Z6choosePii", "_Z5localPiii"]);

    let calls = module.function("_Z5callsPi5Point").unwrap();
    let struct_by_value = &module.kernel("_Z5callsPi5Point").unwrap().params[1];
    assert_eq!((struct_by_value.ty, struct_by_value.size, struct_by_value.offset), (Type::B8, 16, 8));
    let call = calls.body.iter().find(|instruction| instruction.opcode.starts_with("call")).unwrap();
    assert_eq!(call.operands[1], Operand::Symbol("_Z5pointif".into()));
    let inlined = calls.body.iter().find(|instruction| instruction.opcode.starts_with("atom")).unwrap();
    assert_eq!(&*inlined.source.as_ref().unwrap().file, "device_atomic_functions.hpp");

    assert_eq!(module.kernel("_Z6choosePii").unwrap().max_threads, Some([128, 1, 1]));
    let local = module.function("_Z5localPiii").unwrap();
    assert!(local.variables.iter().any(|variable| variable.space == Space::Local && variable.size == 160));
    let table = module.variables().iter().find(|variable| &*variable.name == "table").unwrap();
    assert_eq!((table.space, &table.init[..8]), (Space::Const, &[0, 0, 128, 63, 0, 0, 32, 192][..]));
}

#[test]
fn cooperative_grid() {
    let module = parse(GRID);
    let dynamic = module.variables().iter().find(|variable| &*variable.name == "raw").unwrap();
    assert_eq!((dynamic.space, dynamic.size, dynamic.align, dynamic.external), (Space::Shared, 0, 16, true));
    let grid = module.function("_Z4gridPfi").unwrap();
    let sources: BTreeSet<&str> =
        grid.body.iter().filter_map(|instruction| Some(&*instruction.source.as_ref()?.file)).collect();
    assert!(sources.contains("grid.cu") && sources.contains("sync.h"), "{sources:?}");
    let is_special = |operand: &Operand| matches!(operand, Operand::Special(name) if name.starts_with("%envreg"));
    assert!(grid.body.iter().any(|instruction| instruction.operands.iter().any(is_special)));
}

#[test]
fn compiled_for_debugging() {
    let module = parse(DEBUG);
    let scale = module.function("_Z5scalePffi").unwrap();
    assert_eq!(scale.labels.iter().filter(|(name, _)| name.starts_with("$L__func_")).count(), 2);
    assert_eq!(scale.body.last().unwrap().source.as_ref().unwrap().line, 8);
}

#[test]
fn each_kernel_alone_parses_to_the_same() {
    for text in [CALLS, GRID, DEBUG] {
        let whole = parse(text);
        for kernel in whole.kernels() {
            let alone = parse(&whole.select(&[&kernel.name]).unwrap());
            assert_eq!(alone.kernels().collect::<Vec<_>>(), [kernel]);
            assert_eq!(alone.function(&kernel.name).unwrap(), whole.function(&kernel.name).unwrap());
        }
    }
}
