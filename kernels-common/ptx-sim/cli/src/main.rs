//! The program `ptx-sim`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptx_sim_cli::main()
}
