//! The command line.

use std::thread::available_parallelism;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ptx_sim::{Checks, Config};

use crate::argument::Buffer;
use crate::error::Error;
use crate::number;
use crate::shape;

/// Runs the kernels of a PTX file on the CPU, without a GPU: finds faults, and counts what a profiler counts.
#[derive(Debug, Parser)]
#[command(name = "ptx-sim", version, after_help = EXIT_CODES)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 the kernel ran; 1 a fault, or outputs that differ with --reproducible; 2 a mistake on the command line; \
3 a file that cannot be used.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the kernels of a PTX file with their parameters
    List(ListOptions),
    /// Run a kernel once, or under many seeds
    Run(Box<RunOptions>),
}

#[derive(Args, Debug)]
pub(crate) struct ListOptions {
    /// PTX file, as `nvcc -ptx` writes it
    #[arg(value_name = "FILE.ptx")]
    pub(crate) file: String,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "`--help` explains arguments and has examples.", after_long_help = RUN_HELP)]
pub(crate) struct RunOptions {
    /// PTX file, as `nvcc -ptx` writes it; with `-lineinfo`, faults name the line of the CUDA source too
    #[arg(value_name = "FILE.ptx")]
    pub(crate) file: String,

    /// Name of the kernel, if the file has several: mangled or as in C++, or a part that no other has. Then its
    /// arguments, in order
    #[arg(value_name = "[KERNEL] ARGUMENT")]
    pub(crate) words: Vec<String>,

    /// Blocks; X may also be N/B, which is N divided by B, rounded up
    #[arg(long, value_name = "X[,Y[,Z]]", default_value = "1", value_parser = shape::parse)]
    pub(crate) grid: Shape,

    /// Threads of a block; a kernel that requires a shape (`.reqntid`) has it by default
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = shape::parse)]
    pub(crate) block: Option<Shape>,

    /// Bytes of dynamic shared memory of a block
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = number_u32)]
    pub(crate) shared: u32,

    /// A cooperative launch: all blocks are resident and may wait for each other
    #[arg(long)]
    pub(crate) cooperative: bool,

    /// Memory that is no argument itself, written like a buffer; arguments refer to it by @NAME
    #[arg(long = "buffer", value_name = "BUFFER")]
    pub(crate) buffers: Vec<String>,

    /// Compute capability, for limits and occupancy
    #[arg(long, value_name = "X.Y", default_value = "7.5", value_parser = capability)]
    pub(crate) cc: (u32, u32),

    /// Multiprocessors, for the largest cooperative launch
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive_u32)]
    pub(crate) sms: u32,

    /// Draw a schedule by chance: how many blocks run at the same time, which warp is next, at which instruction its
    /// turn ends, in which order lanes write. The same seed draws the same schedule
    #[arg(long, value_name = "N", value_parser = number_u64)]
    pub(crate) seed: Option<u64>,

    /// Run under the seeds from 0 to N-1, each time from the same start; stop at the first fault, and say where outputs
    /// differ
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = positive_u64)]
    pub(crate) seeds: Option<u64>,

    /// Fail if any two seeds give different bits in any buffer
    #[arg(long, requires = "seeds")]
    pub(crate) reproducible: bool,

    /// Host threads that run the blocks of a launch, or `all` of this machine: needs --no-check races. Results are
    /// those of one; kernels whose code lets the order of blocks matter are run by one
    #[arg(
        long,
        value_name = "N|all",
        default_value = "1",
        value_parser = threads,
        conflicts_with_all = ["seed", "seeds", "cooperative"]
    )]
    pub(crate) threads: Threads,

    /// Look for these faults too
    #[arg(long, value_name = "CHECK", value_enum, value_delimiter = ',')]
    pub(crate) check: Vec<Check>,

    /// Do not look for these faults
    #[arg(long, value_name = "CHECK", value_enum, value_delimiter = ',', hide_possible_values = true)]
    pub(crate) no_check: Vec<Check>,

    /// Bytes of device memory
    #[arg(long, value_name = "BYTES", default_value = "2^34", value_parser = number_u64)]
    pub(crate) memory: u64,

    /// Warp instructions after which a launch is called a hang
    #[arg(long, value_name = "N", default_value = "2^32", value_parser = positive_u64)]
    pub(crate) budget: u64,

    /// Print the first elements of a buffer: 10, or COUNT
    #[arg(long, value_name = "NAME[:COUNT]", value_parser = print)]
    pub(crate) print: Vec<(String, u64)>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// X, Y and Z.
pub(crate) type Shape = [u32; 3];

/// Host threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    Number(usize),
    /// As many as the machine runs at the same time.
    All,
}

/// What can be looked for, by the names of [`Checks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Check {
    /// All of them
    All,
    /// Accesses outside an allocation, through null, to read-only memory, or misaligned
    Bounds,
    /// Reads of memory that nobody has written
    Initialised,
    /// Block barriers that some lanes of a warp skip, or that warps reach at different instructions
    Barriers,
    /// Warp operations that read a lane which is not there
    Lanes,
    /// Accesses to shared and global memory by different threads that nothing orders
    Races,
    /// Block barriers that complete only because threads have left (not looked for by default)
    Exited,
}

impl RunOptions {
    /// The simulator that is asked for, without a seed.
    ///
    /// # Errors
    /// If several threads are to look for races.
    pub(crate) fn config(&self) -> Result<Config, Error> {
        let mut checks = Checks::default();
        let choices =
            self.check.iter().map(|check| (check, true)).chain(self.no_check.iter().map(|check| (check, false)));
        for (check, on) in choices {
            match check {
                Check::All => checks = if on { Checks::ALL } else { Checks::NONE },
                Check::Bounds => checks.bounds = on,
                Check::Initialised => checks.initialised = on,
                Check::Barriers => checks.barriers = on,
                Check::Lanes => checks.lanes = on,
                Check::Races => checks.races = on,
                Check::Exited => checks.exited = on,
            }
        }
        let threads = match self.threads {
            Threads::Number(1) => 1,
            _ if checks.races => return Err(Error::ThreadsAndRaces),
            Threads::Number(number) => number,
            Threads::All => available_parallelism().map_or(1, usize::from),
        };
        Ok(Config {
            checks,
            threads,
            multiprocessors: self.sms,
            capability: self.cc,
            budget: self.budget,
            memory: self.memory,
            ..Config::default()
        })
    }
}

fn number_u64(text: &str) -> Result<u64, String> {
    let number = number::integer(text).and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| format!("`{text}` is no number from 0 to 2^64-1"))
}

fn number_u32(text: &str) -> Result<u32, String> {
    let number = number_u64(text).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("`{text}` is no number from 0 to 2^32-1"))
}

fn positive_u64(text: &str) -> Result<u64, String> {
    number_u64(text).ok().filter(|&number| number > 0).ok_or_else(|| format!("`{text}` is no number from 1 to 2^64-1"))
}

fn positive_u32(text: &str) -> Result<u32, String> {
    number_u32(text).ok().filter(|&number| number > 0).ok_or_else(|| format!("`{text}` is no number from 1 to 2^32-1"))
}

/// More host threads than any machine needs.
const MOST_THREADS: u64 = 1024;

fn threads(text: &str) -> Result<Threads, String> {
    if text == "all" {
        return Ok(Threads::All);
    }
    let number = number_u64(text).ok().filter(|number| (1..=MOST_THREADS).contains(number));
    let number = number.and_then(|number| usize::try_from(number).ok());
    number
        .map(Threads::Number)
        .ok_or_else(|| format!("`{text}` is neither `all` nor a number from 1 to {MOST_THREADS}"))
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is no compute capability: write one such as 7.5 or 9.0"))
}

fn print(text: &str) -> Result<(String, u64), String> {
    match text.split_once(':') {
        None => Ok((text.to_owned(), 10)),
        Some((name, count)) => Ok((name.to_owned(), number_u64(count)?)),
    }
}

/// Reads a buffer that is no argument.
pub(crate) fn buffer(text: &str) -> Result<Buffer, crate::argument::ArgumentError> {
    text.parse()
}

const RUN_HELP: &str = "\
Arguments, one for each parameter, in order:
  f32=2.5  i32=-1  u64=2^20     a scalar: f16 bf16 f32 f64 i8 u8 i16 u16 i32 u32 i64 u64 bool
  i32=len:x                     the number of elements of the buffer x
  i32=3,f32=2.5,@x              a structure, laid out as in C
  bytes=0000803f                a value by its bytes in memory
  x.npy                         a buffer with the elements of a NumPy file
  zeros:f32:1000                a new buffer; also ones, iota (0, 1, 2 ...), full:f32:1000:2.5,
                                random:f32:1000[:SEED] and uninit (reading it is a fault);
                                a shape may have dimensions, as in zeros:f32:64x32
  @x  @x+5                      the address of the buffer x of another argument, or of its element 5
  null                          a null pointer
A buffer may be followed by ,out=FILE.npy to save it after the run, and by ,name=NAME. Without a name it is called as \
its file is (x for x.npy), or arg1, arg2 ... by its parameter.

Examples, with the kernel `void saxpy(float a, const float* x, float* y, int n)`:
  ptx-sim run saxpy.ptx f32=2 x.npy y.npy,out=y.npy i32=len:x --grid 1000/256 --block 256
  ptx-sim run saxpy.ptx f32=2 iota:f32:9 ones:f32:9,name=y i32=9 --block 32 --print y:4
  ptx-sim run saxpy.ptx saxpy f32=2 random:f32:64 zeros:f32:64 i32=64 --block 64 --json
  ptx-sim run saxpy.ptx f32=2 x.npy y.npy i32=1000 --grid 4 --block 256 --seeds 8 --reproducible

Exit codes: 0 the kernel ran; 1 a fault, or outputs that differ with --reproducible; 2 a mistake on the command line; \
3 a file that cannot be used.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn run(words: &[&str]) -> Result<RunOptions, String> {
        let words = ["ptx-sim", "run", "k.ptx"].iter().chain(words);
        match Options::try_parse_from(words) {
            Ok(Options { command: Command::Run(options) }) => Ok(*options),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn checks_are_those_of_the_simulator_by_default_and_one_by_one() {
        let checks = |words: &[&str]| run(words).unwrap().config().unwrap().checks;
        assert_eq!(checks(&[]), Checks::default());
        assert_eq!(checks(&["--check", "all"]), Checks::ALL);
        assert_eq!(checks(&["--no-check", "all"]), Checks::NONE);
        let mut expected = Checks::default();
        (expected.lanes, expected.bounds, expected.exited) = (false, false, true);
        assert_eq!(checks(&["--no-check", "lanes,bounds", "--check", "exited"]), expected);
        // Every check has a name: without all that have one, none is left.
        let names: Vec<String> = Check::value_variants()
            .iter()
            .filter(|check| **check != Check::All)
            .map(|check| check.to_possible_value().unwrap().get_name().to_owned())
            .collect();
        assert_eq!(checks(&["--check", "all", "--no-check", &names.join(",")]), Checks::NONE);
        for name in names {
            assert_ne!(checks(&["--check", "all", "--no-check", &name]), Checks::ALL, "{name}");
        }
    }

    #[test]
    fn several_threads_look_for_no_races() {
        let config = |words: &[&str]| run(words).unwrap().config();
        assert_eq!(config(&[]).unwrap().threads, 1);
        assert_eq!(config(&["--threads", "1"]).unwrap().threads, 1);
        for threads in ["2", "all"] {
            let refused = config(&["--threads", threads]).unwrap_err();
            assert!(refused.to_string().contains("--no-check races"), "{refused}");
            assert_eq!(refused.exit_code(), crate::USAGE);
            for other in [&["--seed", "1"][..], &["--seeds", "2"], &["--cooperative"]] {
                let words = [&["--no-check", "races", "--threads", threads][..], other].concat();
                assert!(run(&words).unwrap_err().contains("cannot be used with"), "{words:?}");
            }
        }
        assert_eq!(config(&["--no-check", "races", "--threads", "3"]).unwrap().threads, 3);
        let all = config(&["--no-check", "all", "--threads", "all"]).unwrap().threads;
        assert_eq!(all, available_parallelism().unwrap().get());
    }

    #[test]
    fn numbers_that_are_none_are_named() {
        for (words, says) in [
            (["--grid", "0"], "is no number from 1"),
            (["--block", "1,2,3,4"], "more than three dimensions"),
            (["--shared", "-1"], "-1"),
            (["--shared", "2^32"], "from 0 to 2^32-1"),
            (["--sms", "0"], "from 1 to 2^32-1"),
            (["--seed", "x"], "from 0 to 2^64-1"),
            (["--seeds", "0"], "from 1 to 2^64-1"),
            (["--budget", "0"], "from 1 to 2^64-1"),
            (["--threads", "0"], "neither `all` nor a number from 1 to 1024"),
            (["--threads", "1025"], "neither `all` nor a number from 1 to 1024"),
            (["--cc", "9"], "is no compute capability"),
            (["--print", "x:y"], "is no number"),
            (["--check", "everything"], "invalid value"),
        ] {
            let message = run(&words).unwrap_err();
            assert!(message.contains(says), "{words:?}: {message}");
        }
    }
}
