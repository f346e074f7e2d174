//! The program `ptx-sim`: runs the kernels of a PTX file on the CPU, finds faults and counts what a profiler counts.
//!
//! The page "The program ptx-sim" of the book (`docs/ptx-sim.md`) is for its users. As a library this crate has what
//! tests need: the [grammar of arguments](argument) and [`main`].

pub mod argument;
pub mod dtype;

mod buffer;
mod counters;
mod error;
mod fault;
mod kernel;
mod list;
mod names;
mod npy;
mod number;
mod options;
mod parameters;
mod pointee;
mod progress;
mod report;
mod run;
mod shape;
mod simulation;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::options::{Command, Options};

/// A fault, or outputs that differ where they must not.
pub const FAULT: u8 = 1;
/// A mistake on the command line.
pub const USAGE: u8 = 2;
/// A file that cannot be used: a PTX text that the simulator cannot run, an array that is none.
pub const INPUT: u8 = 3;

/// What a command has to say.
struct Output {
    /// For standard output, with a line break at its end.
    text: String,
    /// For standard error.
    complaint: Option<String>,
}

/// Runs the command line: prints a report to standard output, what went wrong to standard error, and gives the exit
/// code: 0, [`FAULT`], [`USAGE`] or [`INPUT`].
pub fn main() -> ExitCode {
    let result = match Options::parse().command {
        Command::List(options) => list::list(&options),
        Command::Run(options) => run::run(&options),
    };
    let (mut out, mut err) = (io::stdout().lock(), io::stderr().lock());
    let code = match result {
        Ok(Output { text, complaint }) => {
            let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            if let Some(complaint) = &complaint {
                // Where even standard error is closed, the exit code has to do.
                let _ = writeln!(err, "error: {complaint}");
            }
            match written {
                // A reader that closes the pipe early is no failure.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    let _ = writeln!(err, "error: standard output: {error}");
                    INPUT
                }
                _ if complaint.is_some() => FAULT,
                _ => 0,
            }
        }
        Err(error) => {
            let _ = writeln!(err, "error: {error}");
            error.exit_code()
        }
    };
    ExitCode::from(code)
}
