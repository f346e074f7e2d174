//! The command `list`.

use std::fmt::Write;
use std::sync::Arc;

use ptx_sim::ptx::{KernelSignature, Module};
use ptx_sim::{Config, Kernel, LoadError, Program, Simulator};
use serde::Serialize;

use crate::Output;
use crate::error::Error;
use crate::names;
use crate::options::ListOptions;
use crate::parameters::{advice, ptx_type};
use crate::report::{FORMAT, json};
use crate::run::read_module;

/// A file as JSON.
#[derive(Debug, Serialize)]
struct ListReport {
    format: u32,
    file: String,
    /// `.version`
    version: String,
    /// `.target`
    target: String,
    kernels: Vec<KernelReport>,
}

#[derive(Debug, Serialize)]
struct KernelReport {
    /// Name of the entry.
    name: String,
    /// Its C++ name, or the same again.
    signature: String,
    parameters: Vec<ParameterReport>,
    /// Bytes of the shared variables that it declares; null if it cannot be run.
    static_shared: Option<u32>,
    /// `.reqntid`
    required_block: Option<[u32; 3]>,
    /// `.maxntid`
    max_block: Option<[u32; 3]>,
    /// Why the simulator cannot run it.
    unsupported: Option<String>,
}

#[derive(Debug, Serialize)]
struct ParameterReport {
    /// As PTX writes it: `.f32`, or `.b8[24]` for a structure.
    #[serde(rename = "type")]
    ty: String,
    size: usize,
    align: usize,
    offset: usize,
    /// It is known to be a pointer.
    pointer: bool,
    #[serde(skip)]
    advice: String,
}

/// Lists the kernels of a file.
pub(crate) fn list(options: &ListOptions) -> Result<Output, Error> {
    let module = Arc::new(read_module(&options.file)?);
    let mut simulator = Simulator::new(Config::default());
    let program = simulator.load(module.clone());
    let kernels = module.kernels().map(|signature| report(&simulator, &program, signature)).collect();
    let report = ListReport {
        format: FORMAT,
        file: options.file.clone(),
        version: format!("{}.{}", module.version().0, module.version().1),
        target: target(&module),
        kernels,
    };
    let text = if options.json { json(&report) } else { report.text() };
    Ok(Output { text, complaint: None })
}

fn target(module: &Module) -> String {
    let target = module.target();
    let (major, minor) = target.capability;
    format!("sm_{major}{minor}{}", target.suffix.map(String::from).unwrap_or_default())
}

fn report(simulator: &Simulator, program: &Result<Program, LoadError>, signature: &KernelSignature) -> KernelReport {
    let kernel: Result<Arc<Kernel>, LoadError> = match program {
        Ok(program) => simulator.kernel(program, &signature.name),
        Err(error) => Err(error.clone()),
    };
    KernelReport {
        name: signature.name.to_string(),
        signature: names::display_name(&signature.name),
        parameters: signature
            .params
            .iter()
            .map(|param| ParameterReport {
                ty: ptx_type(param),
                size: param.size,
                align: param.align,
                offset: param.offset,
                pointer: param.pointer,
                advice: advice(signature, param),
            })
            .collect(),
        static_shared: kernel.as_ref().ok().map(|kernel| kernel.static_shared_bytes()),
        required_block: signature.required_threads,
        max_block: signature.max_threads,
        unsupported: kernel.err().map(|error| error.to_string()),
    }
}

impl ListReport {
    fn text(&self) -> String {
        let mut text = format!("{}: PTX {} for {}", self.file, self.version, self.target);
        text += match self.kernels.len() {
            0 => ", no kernels\n",
            _ => "\n",
        };
        for kernel in &self.kernels {
            // Writing to a string does not fail.
            let _ = writeln!(text, "\n{}", kernel.signature);
            if kernel.name != kernel.signature {
                let _ = writeln!(text, "    entry {}", kernel.name);
            }
            for (number, parameter) in (1..).zip(&kernel.parameters) {
                let ParameterReport { ty, size, pointer, advice, .. } = parameter;
                let kind = if *pointer { "pointer" } else { "value" };
                let _ = writeln!(text, "    {number:>2}  {kind:<8} {ty:<8} {size:>3} bytes   {advice}");
            }
            let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
            if let Some(bytes) = kernel.static_shared.filter(|&bytes| bytes > 0) {
                let _ = writeln!(text, "    static shared memory: {bytes} bytes");
            }
            if let Some(required) = kernel.required_block {
                let _ = writeln!(text, "    block: {} is required", shape(required));
            } else if let Some(most) = kernel.max_block {
                let most = most.iter().fold(1u64, |product, &count| product.saturating_mul(count.into()));
                let _ = writeln!(text, "    block: at most {most} threads");
            }
            if let Some(reason) = &kernel.unsupported {
                let _ = writeln!(text, "    cannot be run: {reason}");
            }
        }
        text
    }
}
