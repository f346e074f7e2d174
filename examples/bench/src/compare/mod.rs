//! The kernels of these crates beside other libraries, on the same inputs, in turn.
//!
//! [`reduce`], [`dot`], [`vecadd`] and [`transpose`] list the ways to compute an operation; [`peers`] loads those of
//! other libraries. A [`contest`] checks each of them, then times them in [`rounds`] of [`batch`]es.

mod array;
mod batch;
mod builder;
mod contest;
mod dot;
mod graph;
mod peers;
mod plot;
mod reduce;
mod results;
mod rounds;
mod scalar;
mod size;
mod subject;
mod times;
mod transpose;
mod vecadd;

use std::num::NonZeroU32;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use examples::chart::check_writable;
use examples::dtype::Dtype;
use examples::for_dtype;
use examples::options::{parse_seed, parse_times};
use examples::program::UsageError;
use examples::progress::Progress;
use kernels_common::device::Device;
use kernels_common::stream::Stream;

use crate::Measured;
use batch::Mode;
use builder::{Builder, Variants};
use contest::{Contest, Outcome};
use peers::Peers;
use results::Series;
use rounds::Plan;
use size::{Size, Sizes};
use subject::{Absent, Subject};
use times::Measurements;

/// Options of a comparison.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Numbers of elements, separated by commas: `2^10..2^30` is every power of two from one to the other. For
    /// transposes sides of squares, or `ROWSxCOLUMNS` [default: 2^10..2^30; 2^5..2^15 for transposes]
    #[arg(long, value_name = "SIZES", value_parser = size::parse, conflicts_with = "awkward",
          allow_negative_numbers = true)]
    sizes: Option<Sizes>,

    /// Sizes that are no powers of two: next to them, primes, round in decimals; oblong matrices
    #[arg(long)]
    awkward: bool,

    /// Elements between the start of memory and that of each input of a reduction or a dot product: `1` moves all of
    /// them, `0,1` the second of two. From 0 to 65535
    #[arg(long, value_name = "ELEMENTS", value_delimiter = ',', default_value = "0", value_parser = parse_offset,
          allow_negative_numbers = true)]
    offset: Vec<u16>,

    /// Types of the elements
    #[arg(long, value_name = "TYPES", value_enum, value_delimiter = ',', default_value = "f32")]
    types: Vec<Dtype>,

    /// How to call and to time
    #[arg(long, value_name = "MODES", value_enum, value_delimiter = ',', default_value = "one-by-one,graph,latency")]
    mode: Vec<Mode>,

    /// Other ways of these crates to measure too: `all`, or crates and variants by name, such as
    /// `tree-reduce,dot/three-stage`. Some take seconds at large sizes
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    variants: Vec<String>,

    /// Folders to look for `librungs_peers.so` and cuBLAS in, before `peers` beside the program's folder and, for
    /// cuBLAS, where the system keeps libraries
    #[arg(long, value_name = "FOLDERS", value_delimiter = ',')]
    peers: Vec<PathBuf>,

    /// Also compare with the times in this file, which `torch_peers.py` or `rust-peers` wrote; can be repeated
    #[arg(long, value_name = "FILE")]
    times: Vec<PathBuf>,

    /// Seed of the inputs
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = parse_seed, allow_negative_numbers = true)]
    seed: u64,

    /// How many rounds at least
    #[arg(long, value_name = "TIMES", default_value = "11", value_parser = parse_times, allow_negative_numbers = true)]
    rounds: NonZeroU32,

    /// How many rounds at most
    #[arg(long, value_name = "TIMES", default_value = "31", value_parser = parse_times, allow_negative_numbers = true)]
    max_rounds: NonZeroU32,

    /// Enough rounds once every ratio spreads by no more than this share of itself
    #[arg(long, value_name = "SHARE", default_value = "0.005", value_parser = crate::parse_limit,
          allow_negative_numbers = true)]
    noise: f64,

    /// Write every time to a CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw charts: one file for each type and mode, such as FILE-f32-graph.svg
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,

    /// Fail where the default is not this many times as fast as a peer, by the median ratio less its spread
    #[arg(long, value_name = "RATIO", value_parser = crate::parse_limit,
          allow_negative_numbers = true)]
    check: Option<f64>,
}

fn parse_offset(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number of elements from 0 to {}", u16::MAX))
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Sum,
    Minimum,
    Maximum,
    Dot,
    VecAdd,
    Transpose,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Sum => "sum",
            Operation::Minimum => "minimum",
            Operation::Maximum => "maximum",
            Operation::Dot => "dot",
            Operation::VecAdd => "vecadd",
            Operation::Transpose => "transpose",
        }
    }

    /// The sizes that the options ask for.
    fn sizes(self, options: &Options) -> Result<Vec<Size>, UsageError> {
        let sizes = |default: fn() -> Sizes, awkward: fn() -> Sizes| match &options.sizes {
            Some(sizes) => sizes.clone(),
            None if options.awkward => awkward(),
            None => default(),
        };
        if self == Operation::Transpose {
            let matrices = sizes(|| Sizes::powers(5..=15), Sizes::awkward_matrices).matrices();
            let too_large = |size: &&Size| size.checked_elements().is_none();
            if let Some(size) = matrices.iter().find(too_large) {
                return Err(UsageError(format!("--sizes: {size} has more elements than fit 64 bits")));
            }
            Ok(matrices)
        } else {
            let vectors = sizes(|| Sizes::powers(10..=30), Sizes::awkward_vectors).vectors();
            vectors.map_err(|error| UsageError(format!("--sizes: {error}")))
        }
    }

    /// Where the inputs start, by the options.
    fn offsets(self, options: &Options) -> Result<[usize; 2], UsageError> {
        let inputs = match self {
            Operation::Sum | Operation::Minimum | Operation::Maximum => 1,
            Operation::Dot => 2,
            Operation::VecAdd | Operation::Transpose => 0,
        };
        match options.offset[..] {
            [0] => Ok([0, 0]),
            [all] if inputs > 0 => Ok([all.into(); 2]),
            [first, second] if inputs == 2 => Ok([first.into(), second.into()]),
            _ if inputs == 0 => Err(UsageError(format!("--offset: the inputs of {} start at 0", self.name()))),
            _ => Err(UsageError(format!("--offset: {} has {inputs} input(s)", self.name()))),
        }
    }

    /// Its variants but the default, as `CRATE/NAME`: those of the crates, some of which a type or a device rules out.
    fn variants(self) -> Vec<String> {
        match self {
            Operation::Sum => reduce::variants(),
            Operation::Minimum | Operation::Maximum => Vec::new(),
            Operation::Dot => dot::variants().map(|(_, name)| name).collect(),
            Operation::VecAdd => vecadd::variants().map(|(_, name)| name).collect(),
            Operation::Transpose => transpose::variants().map(|(_, name)| name).collect(),
        }
    }

    /// The error that there are no such variants.
    fn without_variants(self, names: &[&str]) -> UsageError {
        let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let there_are = match self.variants().join(", ") {
            none if none.is_empty() => "and none at all".to_owned(),
            some => format!("but {some}"),
        };
        UsageError(format!("--variants: {} has no variant {}, {there_are}", self.name(), quoted(names)))
    }

    /// Its name, with where the inputs start if that is not at 0: `dot@0,1`.
    fn at(self, offsets: [usize; 2]) -> String {
        match (self, offsets) {
            (_, [0, 0]) => self.name().to_owned(),
            (Operation::Dot, [first, second]) => format!("dot@{first},{second}"),
            (_, [first, _]) => format!("{}@{first}", self.name()),
        }
    }

    /// All ways to compute it on one element type.
    fn subject(self, dtype: Dtype, builder: &mut Builder<'_>) -> Result<Box<dyn Subject>> {
        for_dtype!(dtype, T => Ok(match self {
            Operation::Sum => Box::new(reduce::sum::<T>(builder)?),
            Operation::Minimum => Box::new(reduce::minimum::<T>(builder)?),
            Operation::Maximum => Box::new(reduce::maximum::<T>(builder)?),
            Operation::Dot => Box::new(dot::dot::<T>(builder)?),
            Operation::VecAdd => Box::new(vecadd::vecadd::<T>(builder)?),
            Operation::Transpose => Box::new(transpose::transpose::<T>(builder)?),
        }))
    }
}

/// A comparison with whose options nothing is wrong.
#[derive(Debug)]
pub(crate) struct Comparison<'a> {
    operation: Operation,
    options: &'a Options,
    sizes: Vec<Size>,
    offsets: [usize; 2],
    times: Vec<Measurements>,
}

impl<'a> Comparison<'a> {
    /// Checks all that can be checked without a device.
    ///
    /// # Errors
    /// A mistake in the command line, such as a file that cannot be read or written.
    pub(crate) fn prepare(operation: Operation, options: &'a Options) -> Result<Self, UsageError> {
        let (sizes, offsets) = (operation.sizes(options)?, operation.offsets(options)?);
        let mut variants = Variants::new(&options.variants);
        for name in operation.variants() {
            variants.wants(&name);
        }
        let unknown = variants.unknown();
        if !unknown.is_empty() {
            return Err(operation.without_variants(&unknown));
        }
        if let Some(folder) = options.peers.iter().find(|folder| !folder.is_dir()) {
            return Err(UsageError(format!("--peers: {} is no folder", folder.display())));
        }
        let times = options.times.iter().map(|path| Measurements::read(path)).collect::<Result<_, _>>()?;
        if let Some(path) = &options.csv {
            check_writable(path)?;
        }
        if let Some(path) = &options.plot {
            let types = options.types.iter();
            for (dtype, mode) in types.flat_map(|dtype| options.mode.iter().map(move |mode| (dtype, mode))) {
                check_writable(&plot::file(path, dtype.name(), *mode))?;
            }
        }
        Ok(Self { operation, options, sizes, offsets, times })
    }

    /// Compares.
    ///
    /// # Errors
    /// A wrong result of the default; an error of the device; a file that cannot be written; a variant that the types
    /// or the device rule out.
    pub(crate) fn run(&self, device: &Device) -> Result<Measured> {
        let options = self.options;
        let stream = device.stream()?;
        let peers = Peers::load(&options.peers, &stream)?;
        let (series, mut failures) = self.measure(&stream, peers)?;

        if let Some(limit) = options.check {
            failures.extend(series.iter().flat_map(|series| series.behind(limit)));
        }
        if let Some(path) = &options.csv {
            results::write_csv(path, &series)?;
        }
        if let Some(path) = &options.plot {
            plot::write(path, &series, &device.properties().name)?;
        }
        let text = describe(&series, peers);
        Ok(Measured { name: self.operation.name(), text, results: serde_json::to_value(&series)?, failures })
    }

    /// All series, and what went wrong with others than the default.
    fn measure(&self, stream: &Stream, peers: Peers) -> Result<(Vec<Series>, Vec<String>)> {
        let &Self { operation, options, ref sizes, offsets, ref times } = self;
        let progress = Progress::new("making inputs");
        let plan = Plan { least: options.rounds.get(), most: options.max_rounds.get(), noise: options.noise };
        let plan = Plan { most: plan.most.max(plan.least), ..plan };
        let l2_cache = stream.device().properties().l2_cache.into();
        let contest = Contest { stream, sizes, modes: &options.mode, plan, l2_cache };
        let largest = sizes.iter().map(|size| size.elements()).max().unwrap_or(0);
        let mut variants = Variants::new(&options.variants);
        let (mut all, mut failures) = (Vec::new(), Vec::new());
        for &dtype in &options.types {
            progress.step(format!("{dtype}: making inputs"));
            let seed = options.seed;
            let mut builder =
                Builder { stream, peers, largest, offsets, seed, variants: &mut variants, absent: Vec::new() };
            let mut subject = operation.subject(dtype, &mut builder)?;
            let absent = builder.absent;
            let unknown = variants.unknown();
            if !unknown.is_empty() {
                let error = anyhow::Error::from(operation.without_variants(&unknown));
                return Err(error.context(format!("not for {dtype} on this device")));
            }
            let outcome = contest.run(subject.as_mut(), |step| progress.step(format!("{dtype}, {step}")));
            let Outcome { points, failures: failed } = outcome.with_context(|| dtype.name())?;
            failures.extend(failed.into_iter().map(|failure| format!("{dtype}: {failure}")));
            for (points, &mode) in points.into_iter().zip(&options.mode) {
                let bus = stream.device().properties().bus_bandwidth();
                let mut series = Series {
                    operation: operation.at(offsets),
                    dtype: dtype.name().to_owned(),
                    mode,
                    bus_gb_per_s: bus.map(|bus| bus / 1e9),
                    points,
                    absent: absent.clone(),
                };
                for times in times {
                    times.add_to(&mut series);
                }
                all.push(series);
            }
        }
        Ok((all, failures))
    }
}

/// What a series says, for people.
fn describe(series: &[Series], peers: Peers) -> String {
    let mut parts = Vec::new();
    let versions =
        [peers.library.map(|library| library.description().to_owned()), peers.cublas.map(peers::Cublas::description)];
    let versions: Vec<String> = versions.into_iter().flatten().collect();
    if !versions.is_empty() {
        parts.push(format!("beside {}", versions.join("; ")));
    }
    for series in series {
        let brief = results::in_brief(series).map(|brief| format!("\n{brief}")).unwrap_or_default();
        parts.push(format!("{}\n{}{brief}", series.title(), series.table()));
    }
    let mut absent: Vec<&Absent> = Vec::new();
    for note in series.iter().flat_map(|series| &series.absent) {
        if !absent.contains(&note) {
            absent.push(note);
        }
    }
    parts.extend(absent.into_iter().map(|Absent { way, reason }| format!("without {way}: {reason}")));
    parts.push(
        "x NAME: how many times as fast as NAME, byte for byte; the median of the rounds' ratios ± their spread, and \
         * where that less its spread is at least 0.99."
            .to_owned(),
    );
    parts.join("\n\n")
}

#[cfg(test)]
mod tests;
