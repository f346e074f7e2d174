//! Comparisons on the simulator, whose times mean nothing but whose results do.

use clap::Parser;
use kernels_common::device::Device;

use super::*;
use crate::compare::subject::Role;

#[derive(Parser, Debug)]
struct CommandLine {
    #[command(flatten)]
    options: Options,
}

fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
    CommandLine::try_parse_from([&["bench"], arguments].concat()).map(|line| line.options)
}

fn measured(operation: Operation, arguments: &[&str]) -> Result<(Vec<Series>, Vec<String>)> {
    let options = parse(arguments).unwrap();
    let stream = Device::open("sim:check=all").unwrap().stream().unwrap();
    Comparison::prepare(operation, &options)?.measure(&stream, Peers::none("there is none here"))
}

const BRIEF: [&str; 6] = ["--rounds", "1", "--max-rounds", "1", "--mode", "one-by-one"];
const ALL: [Operation; 6] =
    [Operation::Sum, Operation::Minimum, Operation::Maximum, Operation::Dot, Operation::VecAdd, Operation::Transpose];

#[test]
fn every_operation_is_right_for_every_type() {
    for operation in ALL {
        let size = if operation == Operation::Transpose { "33x5" } else { "1000" };
        let types = "f32,f64,f16,bf16,i32,u32,i64,u64";
        let (series, failures) =
            measured(operation, &[&BRIEF[..], &["--sizes", size, "--types", types]].concat()).unwrap();
        assert_eq!(failures, [""; 0], "{operation:?}");
        assert_eq!(series.len(), 8, "{operation:?}");
        for series in &series {
            let point = &series.points[0];
            assert_eq!((point.size.as_str(), point.ways[0].role), (size, Role::Ours), "{operation:?}");
            // What is missing says so.
            assert!(series.absent.iter().all(|absent| absent.reason.contains("there is none here")), "{series:?}");
            assert!(!series.absent.is_empty(), "{operation:?}");
        }
    }
}

#[test]
fn inputs_start_where_they_are_asked_to() {
    for (operation, offset, name) in [
        (Operation::Sum, "3", "sum@3"),
        (Operation::Minimum, "1", "minimum@1"),
        (Operation::Dot, "1", "dot@1,1"),
        (Operation::Dot, "0,5", "dot@0,5"),
    ] {
        let arguments = [&BRIEF[..], &["--sizes", "999", "--types", "f32,f16", "--offset", offset]].concat();
        let (series, failures) = measured(operation, &arguments).unwrap();
        assert_eq!((failures.len(), &*series[0].operation), (0, name));
    }
    for (operation, offset) in [(Operation::Sum, "0,1"), (Operation::Dot, "1,2,3"), (Operation::VecAdd, "1")] {
        let error = measured(operation, &[&BRIEF[..], &["--sizes", "9", "--offset", offset]].concat()).unwrap_err();
        assert!(error.to_string().starts_with("--offset: "), "{error}");
    }
}

#[test]
fn variants_are_measured_on_request() {
    let ways = |operation, asked: &str| {
        let arguments = [&BRIEF[..], &["--sizes", "64", "--variants", asked]].concat();
        let (series, _) = measured(operation, &arguments).unwrap();
        series[0].ways(Role::is_own)
    };
    assert_eq!(ways(Operation::Dot, "all"), ["dot", "dot/three-stage"]);
    assert_eq!(ways(Operation::VecAdd, "stride,vecadd/grid-2d"), ["vecadd", "vecadd/grid-2d", "vecadd/stride"]);
    assert_eq!(ways(Operation::Transpose, "naive"), ["transpose-padding", "transpose-padding/naive"]);
    let sums = ways(Operation::Sum, "all");
    assert!(sums.len() > 10 && sums[0] == "single-pass", "{sums:?}");
    assert!(sums.iter().all(|sum| !sum.contains("racy")), "{sums:?}");
    let error = measured(Operation::Dot, &["--sizes", "64", "--variants", "all,tree"]).unwrap_err();
    assert!(error.is::<UsageError>());
    assert_eq!(error.to_string(), "--variants: dot has no variant `tree`, but dot/three-stage");
    // It is there, but not for that type.
    let error =
        measured(Operation::Sum, &[&BRIEF[..], &["--sizes", "64", "--variants", "redux"]].concat()).unwrap_err();
    assert!(error.is::<UsageError>());
    let text = format!("{error:#}");
    assert!(text.starts_with("not for f32 on this device: --variants: sum has no variant `redux`"), "{text}");
}

#[test]
fn both_clocks_and_every_size() {
    let arguments = ["--sizes", "1,2^11..2^12", "--mode", "latency,one-by-one", "--rounds", "2", "--max-rounds", "1"];
    let (series, _) = measured(Operation::Sum, &arguments).unwrap();
    assert_eq!(series.iter().map(|series| series.mode).collect::<Vec<_>>(), [Mode::Latency, Mode::OneByOne]);
    for series in &series {
        assert_eq!(series.points.iter().map(|point| point.size.as_str()).collect::<Vec<_>>(), ["1", "2^11", "2^12"]);
        assert!(series.points.iter().all(|point| point.rounds == 2 && point.ways[0].us.median > 0.0));
    }
    let text = describe(&series, Peers::none("there is none here"));
    for part in ["sum of f32, call to result on the host\n", "2^12  single-pass", "without CUB: there is none here"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn sizes_fit_the_operation() {
    let options = |arguments: &[&str]| parse(arguments).unwrap();
    let error = Operation::Dot.sizes(&options(&["--sizes", "3x4"])).unwrap_err();
    assert!(error.to_string().contains("--sizes: `3x4` is a matrix"), "{error}");
    let error = Operation::Transpose.sizes(&options(&["--sizes", "2^40"])).unwrap_err();
    assert!(error.to_string().contains("2^40x2^40 has more elements"), "{error}");
    assert_eq!(Operation::Sum.sizes(&options(&[])).unwrap().len(), 21);
    assert_eq!(Operation::Transpose.sizes(&options(&[])).unwrap().len(), 11);
    assert!(Operation::Sum.sizes(&options(&["--awkward"])).unwrap().contains(&Size::Vector(1_000_000_007)));
    assert!(parse(&["--awkward", "--sizes", "3"]).is_err());
}

#[test]
fn options_are_lists_with_defaults() {
    let options = parse(&[]).unwrap();
    assert_eq!((options.types.as_slice(), options.rounds.get()), (&[Dtype::F32][..], 11));
    assert_eq!(options.mode, [Mode::OneByOne, Mode::Graph, Mode::Latency]);
    let options = parse(&["--types", "f64,bf16", "--mode", "graph", "--peers", "a,b", "--check", "0.99"]).unwrap();
    assert_eq!(options.types, [Dtype::F64, Dtype::Bf16]);
    assert_eq!((options.peers.len(), options.check), (2, Some(0.99)));
    for wrong in [["--types", "f8"], ["--mode", "fast"], ["--check", "0"], ["--noise", "-1"], ["--rounds", "0"]] {
        assert!(parse(&wrong).is_err(), "{wrong:?}");
    }
}
