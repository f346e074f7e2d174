//! Runs the kernels of a source, and compares what is reported with the marks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ptx_sim::ast::SourceLocation;
use ptx_sim::ptx::Module;
use ptx_sim::schedules::Seeds;
use ptx_sim::{Checks, Config, Counters, Fault, FaultKind, FaultSite, Launch};

use crate::common::{Device, Params, Plain};

/// Seeds with which a broken kernel runs.
const SEEDS_OF_BROKEN: u64 = 16;

/// Seeds with which a sound kernel runs, unless `PTX_SIM_SEEDS` says how many.
const SEEDS_OF_SOUND: u64 = 4;

/// A CUDA source and what nvcc made of it.
pub(crate) struct Source {
    /// Name of the `.cu` file.
    pub(crate) file: &'static str,
    /// Its text.
    pub(crate) cuda: &'static str,
    /// The PTX.
    pub(crate) ptx: &'static str,
    /// Warp instructions that a launch may execute, if not as many as any other.
    pub(crate) budget: Option<u64>,
}

impl Source {
    /// No sound kernel executes more than `budget` warp instructions.
    pub(crate) fn within(self, budget: u64) -> Source {
        Source { budget: Some(budget), ..self }
    }
}

/// The source `$name.cu` and its PTX, for compute capability 7.5 or that which is given.
macro_rules! source {
    ($name:literal) => {
        source!($name, 75)
    };
    ($name:literal, $arch:literal) => {
        $crate::corpus::Source {
            file: concat!($name, ".cu"),
            cuda: include_str!(concat!($name, ".cu")),
            ptx: include_str!(concat!($name, ".sm_", $arch, ".ptx")),
            budget: None,
        }
    };
}
pub(crate) use source;

/// Looks at what a kernel has left.
type Test = dyn Fn(&Device);

/// What the kernels of a source are launched with, and what the sound ones leave.
pub(crate) struct Case {
    launch: Launch,
    params: Params,
    results: Vec<Box<Test>>,
}

impl Case {
    /// A launch.
    pub(crate) fn new(launch: Launch, params: Params) -> Case {
        Case { launch, params, results: Vec::new() }
    }

    /// A sound kernel leaves `expected` at `address`.
    pub(crate) fn leaves<T: Plain + PartialEq + std::fmt::Debug + 'static>(self, address: u64, expected: &[T]) -> Case {
        let expected = expected.to_vec();
        self.leaves_such(address, expected.len(), move |found: Vec<T>| assert_eq!(found, expected))
    }

    /// `test` holds for the `count` values that a sound kernel leaves at `address`.
    pub(crate) fn leaves_such<T: Plain>(mut self, address: u64, count: usize, test: impl Fn(Vec<T>) + 'static) -> Case {
        self.results.push(Box::new(move |device| test(device.download(address, count))));
        self
    }
}

/// A fault as the marks name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    AbsentLane,
    BadOperand,
    Budget,
    CallDepth,
    Deadlock,
    DivergentBarrier,
    ExitedThreads,
    Livelock,
    Misaligned,
    Null,
    OutOfBounds,
    Race,
    ReadOnly,
    UninitialisedRead,
}

impl Kind {
    const WORDS: [(&'static str, Kind); 14] = [
        ("absent lane", Kind::AbsentLane),
        ("bad operand", Kind::BadOperand),
        ("budget exceeded", Kind::Budget),
        ("call stack overflow", Kind::CallDepth),
        ("deadlock", Kind::Deadlock),
        ("divergent barrier", Kind::DivergentBarrier),
        ("barrier after exit", Kind::ExitedThreads),
        ("livelock", Kind::Livelock),
        ("misaligned", Kind::Misaligned),
        ("null pointer", Kind::Null),
        ("out of bounds", Kind::OutOfBounds),
        ("race", Kind::Race),
        ("write to read-only memory", Kind::ReadOnly),
        ("uninitialised read", Kind::UninitialisedRead),
    ];

    fn of(fault: &Fault) -> Kind {
        match &fault.kind {
            FaultKind::AbsentLane { .. } => Kind::AbsentLane,
            FaultKind::BadOperand(_) => Kind::BadOperand,
            FaultKind::Budget { .. } => Kind::Budget,
            FaultKind::CallDepth { .. } => Kind::CallDepth,
            FaultKind::Deadlock { .. } => Kind::Deadlock,
            FaultKind::DivergentBarrier { .. } => Kind::DivergentBarrier,
            FaultKind::ExitedThreads { .. } => Kind::ExitedThreads,
            FaultKind::Livelock { .. } => Kind::Livelock,
            FaultKind::Misaligned { .. } => Kind::Misaligned,
            FaultKind::Null { .. } => Kind::Null,
            FaultKind::OutOfBounds { .. } => Kind::OutOfBounds,
            FaultKind::Race { .. } => Kind::Race,
            FaultKind::ReadOnly { .. } => Kind::ReadOnly,
            FaultKind::UninitialisedRead { .. } => Kind::UninitialisedRead,
            _ => panic!("no mark can name this: {fault}"),
        }
    }

    fn named(word: &str) -> Option<Kind> {
        Kind::WORDS.iter().find(|(name, _)| *name == word).map(|&(_, kind)| kind)
    }
}

/// What may be reported at a line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Mark {
    /// Reported there in at least one order.
    must: Vec<Kind>,
    /// Reported there, or not.
    may: Vec<Kind>,
}

impl Mark {
    /// The mark at the end of `line`: kinds, separated by commas, the optional ones last and in parentheses.
    fn of(line: &str) -> Option<Mark> {
        let text = line.split_once("// <- ")?.1.trim();
        let (must, may) = match text.split_once('(') {
            Some((must, may)) => {
                (must, may.strip_suffix(')').unwrap_or_else(|| panic!("no closing parenthesis: {line}")))
            }
            None => (text, ""),
        };
        let kinds = |text: &str| {
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(|word| Kind::named(word).unwrap_or_else(|| panic!("no fault is called so: {line}"))).collect()
        };
        Some(Mark { must: kinds(must), may: kinds(may) })
    }

    fn allows(&self, kind: Kind) -> bool {
        self.must.contains(&kind) || self.may.contains(&kind)
    }
}

/// A function of a source: a kernel, or one of the device that kernels call.
struct Function<'a> {
    /// Its name, if it is a kernel.
    kernel: Option<&'a str>,
    /// Its marks by line.
    marks: BTreeMap<u32, Mark>,
}

/// The functions of a source. Each starts at a line that has `__global__` or `__device__`, and ends where the next one
/// starts.
fn functions(cuda: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    for (line, number) in cuda.lines().zip(1..) {
        if let Some((_, rest)) = line.split_once("__global__ void ") {
            functions.push(Function { kernel: rest.split('(').next(), marks: BTreeMap::new() });
        } else if line.starts_with("__device__") {
            functions.push(Function { kernel: None, marks: BTreeMap::new() });
        }
        if let Some(mark) = Mark::of(line) {
            let function = functions.last_mut().unwrap_or_else(|| panic!("a mark outside any function: {line}"));
            function.marks.insert(number, mark);
        }
    }
    functions
}

/// The lines of `file` that a place in the source stands for: its own, and those that it was inlined at.
fn lines(site: Option<&FaultSite>, file: &str) -> Vec<u32> {
    let source = site.and_then(|site| site.source.as_ref());
    let chain = std::iter::successors(source, |place| place.inlined_at.as_deref());
    chain.filter(|place| &*place.file == file).map(|&SourceLocation { line, .. }| line).collect()
}

/// The instructions that a fault names: two for a race, else one.
fn sites(fault: &Fault) -> Vec<Option<&FaultSite>> {
    match &fault.kind {
        FaultKind::Race { first, second, .. } => vec![first.site.as_ref(), second.site.as_ref()],
        _ => vec![fault.site.as_ref()],
    }
}

/// Runs all kernels of a source. `setup` prepares one launch.
pub(crate) fn check(source: Source, setup: impl Fn(&mut Device) -> Case) {
    let functions = functions(source.cuda);
    let module = Arc::new(Module::parse(source.file, source.ptx).unwrap());
    let trial = Trial { module, source, setup: &setup };
    let (mut sound, mut broken) = (0, 0);
    for function in &functions {
        let Some(kernel) = function.kernel else { continue };
        if function.marks.is_empty() {
            sound += 1;
            trial.check_sound(kernel);
        } else {
            broken += 1;
            let of_device = functions.iter().filter(|function| function.kernel.is_none());
            let marks = of_device.chain([function]).flat_map(|function| &function.marks);
            trial.check_broken(kernel, &marks.map(|(&line, mark)| (line, mark)).collect());
        }
    }
    let file = trial.source.file;
    assert!(sound > 0 && broken > 0, "{file} has {sound} sound and {broken} broken kernels");
}

/// A source, and how its kernels are launched.
struct Trial<'a> {
    source: Source,
    module: Arc<Module>,
    setup: &'a dyn Fn(&mut Device) -> Case,
}

impl Trial<'_> {
    /// Runs a kernel in one order.
    fn run(&self, kernel: &str, seed: Option<u64>) -> (Device, Case, Result<Counters, Fault>) {
        let mut config = Config { seed, checks: Checks::ALL, ..Config::default() };
        config.budget = self.source.budget.unwrap_or(config.budget);
        let mut device = Device::loaded(config, self.module.clone()).unwrap();
        let case = (self.setup)(&mut device);
        let outcome = device.try_launch(kernel, case.launch, case.params.clone());
        (device, case, outcome)
    }

    fn check_sound(&self, kernel: &str) {
        let seeds = Seeds::from_environment(SEEDS_OF_SOUND).unwrap_or_else(|error| panic!("{error}"));
        let outcome = seeds.try_each(|seed| {
            let (device, case, outcome) = self.run(kernel, seed);
            outcome?;
            assert!(!case.results.is_empty(), "nothing tells whether {kernel} is right");
            println!("{kernel}, seed {seed:?}: silent");
            case.results.iter().for_each(|test| test(&device));
            Ok::<(), Fault>(())
        });
        outcome.unwrap_or_else(|failed| panic!("{kernel} is sound, but reported: {failed}"));
    }

    fn check_broken(&self, kernel: &str, marks: &BTreeMap<u32, &Mark>) {
        let file = self.source.file;
        let mut reported = BTreeSet::new();
        let (mut runs, mut caught, mut example) = (0, 0, String::new());
        for seed in Seeds::first(SEEDS_OF_BROKEN).iter() {
            runs += 1;
            let (.., outcome) = self.run(kernel, seed);
            let Err(fault) = outcome else { continue };
            caught += 1;
            let (kind, text) = (Kind::of(&fault), fault.to_string());
            for site in sites(&fault) {
                let lines = lines(site, file);
                let marked = lines.iter().filter(|line| marks.get(line).is_some_and(|mark| mark.allows(kind)));
                let marked: Vec<(u32, Kind)> = marked.map(|&line| (line, kind)).collect();
                assert!(!marked.is_empty(), "seed {seed:?}: {kind:?} at {lines:?}, which no mark allows: {text}");
                reported.extend(marked);
                for line in lines {
                    assert!(text.contains(&format!("{file}:{line}")), "line {line} is not in the message: {text}");
                }
            }
            example = text;
            // It takes the simulator some seconds to call a wait endless: one order that shows it is enough.
            if kind == Kind::Livelock {
                break;
            }
        }
        println!("{kernel}: caught in {caught} of {runs} orders: {reported:?}\n{example}\n");
        assert!(caught > 0, "{kernel} is not caught in any order");
        for (&line, mark) in marks {
            for &kind in &mark.must {
                assert!(reported.contains(&(line, kind)), "{kernel}: no order gives {kind:?} at {file}:{line}");
            }
        }
    }
}

#[test]
fn marks_are_read() {
    let cuda = "// <= text\n__device__ int f() {\n    g(); // <- deadlock (livelock, null pointer)\n}\n\
                extern \"C\" __global__ void one(int n) {\n}\n\
                extern \"C\" __global__ void two(int n) {\n    h(); // <- (misaligned)\n}\n";
    let functions = functions(cuda);
    let names: Vec<Option<&str>> = functions.iter().map(|function| function.kernel).collect();
    assert_eq!(names, [None, Some("one"), Some("two")]);
    let marks: Vec<Vec<u32>> = functions.iter().map(|function| function.marks.keys().copied().collect()).collect();
    assert_eq!(marks, [vec![3], vec![], vec![8]]);
    let must = Mark { must: vec![Kind::Deadlock], may: vec![Kind::Livelock, Kind::Null] };
    assert_eq!(functions[0].marks[&3], must);
    assert_eq!(functions[2].marks[&8], Mark { must: vec![], may: vec![Kind::Misaligned] });
}
