//! The command `run`.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ptx_sim::Launch;
use ptx_sim::ptx::{KernelSignature, Module};

use crate::Output;
use crate::argument::{Argument, Buffer, names_a_kernel};
use crate::buffer::{self, Given};
use crate::counters::Ratios;
use crate::dtype::Literal;
use crate::error::Error;
use crate::fault::FaultReport;
use crate::kernel;
use crate::names;
use crate::npy::{self, Array};
use crate::options::{self, RunOptions};
use crate::parameters;
use crate::progress::Progress;
use crate::report::{Difference, FORMAT, LaunchReport, Number, OutputReport, RunReport, SeedsReport, json};
use crate::simulation::{Outcome, Simulation};

/// Reads a PTX file.
pub(crate) fn read_module(path: &str) -> Result<Module, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::ReadPtx { path: path.to_owned(), error })?;
    Ok(Module::parse(path, &text)?)
}

/// Runs a kernel.
pub(crate) fn run(options: &RunOptions) -> Result<Output, Error> {
    let module = Arc::new(read_module(&options.file)?);
    let (wanted, words) = match options.words.split_first() {
        Some((first, rest)) if names_a_kernel(first) => (Some(first.as_str()), rest),
        _ => (None, options.words.as_slice()),
    };
    let signature = kernel::find(&module, wanted)?;
    let simulation = prepare(options, module.clone(), signature, words)?;
    for (name, _) in &options.print {
        known(&simulation, name)?;
    }
    simulation.buffers.iter().filter_map(|buffer| buffer.out.as_deref()).try_for_each(npy::check_writable)?;
    let series = run_seeds(&simulation, options)?;
    let outputs = outputs(&simulation, options, &series)?;
    let Series { first, fault, printed, differences, run, elapsed } = series;
    let differ = options.reproducible && !differences.is_empty();
    let report = RunReport {
        format: FORMAT,
        file: options.file.clone(),
        kernel: signature.name.to_string(),
        signature: names::display_name(&signature.name),
        launch: LaunchReport::new(&simulation.launch, &simulation.config, options.seed),
        seconds: elapsed.as_secs_f64(),
        counters: first.as_ref().and_then(|outcome| outcome.result.as_ref().ok()).copied(),
        ratios: first.as_ref().and_then(|outcome| outcome.result.as_ref().ok()).map(Ratios::new),
        fault,
        printed,
        seeds: options.seeds.map(|asked| SeedsReport { run, asked, differences }),
        outputs,
    };
    let complaint = match &report.fault {
        Some(fault) => Some(fault.text()),
        None if differ => Some("buffers differ between seeds, and --reproducible allows none to".to_owned()),
        None => None,
    };
    // Where nothing came out but a fault, there is no table to print.
    let empty = report.counters.is_none() && report.outputs.is_empty();
    let text = match options.json {
        true => json(&report),
        // As on a device, what a kernel prints is for the standard output.
        false if empty => report.printed.clone(),
        false => report.printed.clone() + &report.text(),
    };
    Ok(Output { text, complaint })
}

/// Reads arguments and files, and checks all that can be checked before a launch.
fn prepare<'a>(
    options: &RunOptions,
    module: Arc<Module>,
    signature: &'a KernelSignature,
    words: &[String],
) -> Result<Simulation<'a>, Error> {
    let wrong = |place: String, text: &String, error| Error::Argument { place, text: text.clone(), error };
    let mut arguments: Vec<Argument> = Vec::new();
    for (number, text) in (1..).zip(words) {
        arguments.push(text.parse().map_err(|error| wrong(format!("argument {number}"), text, error))?);
    }
    let mut others: Vec<Buffer> = Vec::new();
    for text in &options.buffers {
        others.push(options::buffer(text).map_err(|error| wrong("--buffer".to_owned(), text, error))?);
    }
    let own = (1..).zip(&arguments).filter_map(|(number, argument)| match argument {
        Argument::Buffer(buffer) => Some((Some(number), buffer)),
        Argument::Value(_) => None,
    });
    let given: Vec<Given<'_>> = own.chain(others.iter().map(|buffer| (None, buffer))).collect();
    let config = options.config()?;
    let mut buffers = Vec::new();
    for ((place, (_, buffer)), name) in given.iter().enumerate().zip(buffer::names(&given)?) {
        buffers.push(buffer::prepare(buffer, name, place, config.memory)?);
    }
    parameters::check(signature, &arguments, &buffers)?;
    let block = options.block.or(signature.required_threads).ok_or(Error::NoBlock)?;
    let launch = Launch { grid: options.grid, block, dynamic_shared: options.shared, cooperative: options.cooperative };
    // Without an order to compare with another, only what somebody wants to see is copied.
    let printed = |name: &String| options.print.iter().any(|(wanted, _)| wanted == name);
    let keep =
        buffers.iter().map(|buffer| options.seeds.is_some() || buffer.out.is_some() || printed(&buffer.name)).collect();
    Ok(Simulation { module, signature, arguments, buffers, keep, launch, config })
}

/// Checks that a buffer is there.
fn known(simulation: &Simulation<'_>, name: &str) -> Result<(), Error> {
    if simulation.buffers.iter().any(|buffer| buffer.name == name) {
        return Ok(());
    }
    let buffers = simulation.buffers.iter().map(|buffer| buffer.name.clone()).collect();
    let (given, name) = (format!("--print {name}"), name.to_owned());
    Err(parameters::ParameterError::NoBuffer { given, name, buffers }.into())
}

/// What came of one run, or of one for each seed.
struct Series {
    /// The first run.
    first: Option<Outcome>,
    /// The first fault.
    fault: Option<FaultReport>,
    /// What was printed in the first run, or in the one with the fault.
    printed: String,
    differences: Vec<Difference>,
    /// Runs, with the one that failed.
    run: u64,
    elapsed: Duration,
}

fn run_seeds(simulation: &Simulation<'_>, options: &RunOptions) -> Result<Series, Error> {
    let progress = Progress::new();
    let mut series = Series {
        first: None,
        fault: None,
        printed: String::new(),
        differences: Vec::new(),
        run: 0,
        elapsed: Duration::ZERO,
    };
    for number in 0..options.seeds.unwrap_or(1) {
        let seed = options.seeds.map(|_| number).or(options.seed);
        if let Some(seeds) = options.seeds {
            progress.launch(format!("(seed {number} of {seeds})"));
        }
        let outcome = simulation.run(seed, &progress)?;
        series.run += 1;
        series.elapsed += outcome.elapsed;
        let failed = outcome.result.as_ref().err();
        series.fault = failed.map(|fault| FaultReport::new(fault, &simulation.module, seed));
        if series.first.is_none() || series.fault.is_some() {
            series.printed.clone_from(&outcome.printed);
        }
        match &series.first {
            None => series.first = Some(outcome),
            Some(first) if series.fault.is_none() => {
                compare(simulation, first, &outcome, number, &mut series.differences);
            }
            Some(_) => {}
        }
        if series.fault.is_some() {
            break;
        }
    }
    Ok(series)
}

/// Notes the buffers that differ from those of the first run, each once.
fn compare(simulation: &Simulation<'_>, first: &Outcome, outcome: &Outcome, seed: u64, found: &mut Vec<Difference>) {
    for (number, buffer) in simulation.buffers.iter().enumerate() {
        let (one, two) = (&first.contents[number], &outcome.contents[number]);
        if one == two || found.iter().any(|difference| difference.buffer == buffer.name) {
            continue;
        }
        let size = buffer.dtype.size();
        let element = one.chunks(size).zip(two.chunks(size)).position(|(one, two)| one != two).unwrap_or_default();
        let value = |bytes: &[u8]| Number(Literal::from_bytes(buffer.dtype, &bytes[element * size..]));
        found.push(Difference {
            buffer: buffer.name.clone(),
            element: element as u64,
            seeds: [0, seed],
            values: [value(one), value(two)],
        });
    }
}

/// Writes the files, and gathers what is to be printed: of the first run. After a fault no file is written.
fn outputs(simulation: &Simulation<'_>, options: &RunOptions, series: &Series) -> Result<Vec<OutputReport>, Error> {
    let mut outputs = Vec::new();
    let Some(first) = &series.first else { return Ok(outputs) };
    for (buffer, bytes) in simulation.buffers.iter().zip(&first.contents) {
        let file = buffer.out.clone().filter(|_| series.fault.is_none());
        if let Some(path) = &file {
            let array = Array { dtype: buffer.dtype, shape: buffer.shape.clone(), bytes: bytes.clone() };
            npy::write(path, &array)?;
        }
        let print = options.print.iter().find(|(name, _)| *name == buffer.name);
        let values = print.map(|&(_, count)| {
            let elements = bytes.chunks(buffer.dtype.size()).take(usize::try_from(count).unwrap_or(usize::MAX));
            elements.map(|element| Number(Literal::from_bytes(buffer.dtype, element))).collect()
        });
        if file.is_some() || values.is_some() {
            let (name, dtype, shape) = (buffer.name.clone(), buffer.dtype.name(), buffer.shape.clone());
            outputs.push(OutputReport { name, dtype, shape, file, values });
        }
    }
    Ok(outputs)
}
