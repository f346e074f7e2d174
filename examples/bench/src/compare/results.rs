//! What was measured: for the record, as a table, and as lines of a CSV file.

use std::path::Path;

use anyhow::{Context, Result};
use examples::report::Table;
use examples::timing::median;
use serde::{Deserialize, Serialize};

use super::batch::Mode;
use super::subject::{Absent, Named, Role};
use crate::statistics::Summary;

/// Not behind a peer: the ratio, less its spread, is at least this. A hundredth is what runs differ by.
const AHEAD: f64 = 0.99;

/// One operation on one type, in one mode, at every size.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Series {
    pub(crate) operation: String,
    pub(crate) dtype: String,
    pub(crate) mode: Mode,
    /// What the memory bus can do, in GB/s.
    pub(crate) bus_gb_per_s: Option<f64>,
    pub(crate) points: Vec<Point>,
    /// What could not be compared with.
    pub(crate) absent: Vec<Absent>,
}

/// All ways at one size.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Point {
    /// As on the command line.
    pub(crate) size: String,
    /// The number of elements.
    pub(crate) n: u64,
    /// Whether all that is read and written fits the second-level cache, where it then stays from call to call.
    pub(crate) in_l2: bool,
    pub(crate) rounds: usize,
    /// Whether the ratios spread by no more than was asked for.
    pub(crate) settled: bool,
    pub(crate) ways: Vec<Timed>,
    pub(crate) ratios: Vec<Ratio>,
}

/// The time of one way.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Timed {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The bytes that have to move.
    pub(crate) bytes: u64,
    /// Calls of a sample; 0 if it was measured elsewhere.
    pub(crate) calls: u32,
    /// Microseconds of a call.
    pub(crate) us: Summary,
    /// `bytes` in the median time.
    pub(crate) gb_per_s: f64,
    /// That as a share of what the memory bus can do.
    pub(crate) bus_share: Option<f64>,
}

/// One of ours beside another way.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Ratio {
    pub(crate) ours: String,
    pub(crate) other: String,
    /// How many times as fast ours is, in each round. Where the other moves more bytes or fewer, its time is that for
    /// as many as ours.
    pub(crate) times: Summary,
    /// Whether ours is not behind by more than the measurement can tell.
    pub(crate) ahead: bool,
}

impl Timed {
    /// Of samples in microseconds.
    pub(crate) fn new(way: &Named, bytes: u64, calls: u32, us: &[f64], bus: Option<f64>) -> Timed {
        Timed::from_summary(way, bytes, calls, Summary::of(us), bus)
    }

    /// Of what samples come to.
    pub(crate) fn from_summary(way: &Named, bytes: u64, calls: u32, us: Summary, bus: Option<f64>) -> Timed {
        let gb_per_s = bytes as f64 / (us.median * 1e3);
        let bus_share = bus.map(|bus| gb_per_s * 1e9 / bus);
        Timed { name: way.name.clone(), role: way.role, bytes, calls, us, gb_per_s, bus_share }
    }

    /// This way beside another one that takes `times` as long as this.
    pub(crate) fn beside(&self, other: &Timed, times: Summary) -> Ratio {
        let times = times.scaled(self.bytes as f64 / other.bytes as f64);
        let ahead = times.median - times.spread >= AHEAD;
        Ratio { ours: self.name.clone(), other: other.name.clone(), times, ahead }
    }
}

impl Point {
    /// The ratio of one of ours to another way.
    pub(crate) fn ratio(&self, ours: &str, other: &str) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.ours == ours && ratio.other == other)
    }
}

impl Series {
    /// What it is, in a few words.
    pub(crate) fn title(&self) -> String {
        let how = match self.mode {
            Mode::OneByOne => "calls one by one",
            Mode::Graph => "calls in a graph",
            Mode::Latency => "call to result on the host",
        };
        format!("{} of {}, {how}", self.operation, self.dtype)
    }

    /// The names of ways that are somewhere among the points, in order.
    pub(crate) fn ways(&self, wanted: impl Fn(Role) -> bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for way in self.points.iter().flat_map(|point| &point.ways).filter(|way| wanted(way.role)) {
            if !names.contains(&way.name) {
                names.push(way.name.clone());
            }
        }
        names
    }

    /// A line for each size and each way of ours. The columns to the right say how many times as fast that is as
    /// others.
    pub(crate) fn table(&self) -> Table {
        let others = self.ways(|role| !role.is_own());
        let mut numbers = vec!["us", "spread"];
        if self.mode != Mode::Latency {
            numbers.extend(["GB/s", "% of bus"]);
        }
        let columns: Vec<String> = others.iter().map(|other| format!("x {other}")).collect();
        numbers.extend(columns.iter().map(String::as_str));
        let mut table = Table::new(&["n", "way", "note"], &numbers);
        for point in &self.points {
            for own in point.ways.iter().filter(|way| way.role.is_own()) {
                let notes = [(point.in_l2, "in L2"), (!point.settled, "noisy")];
                let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
                let mut cells = vec![point.size.clone(), own.name.clone(), notes.join(", ")];
                cells.extend([own.us.median, own.us.spread].map(microseconds));
                if self.mode != Mode::Latency {
                    cells.push(format!("{:.0}", own.gb_per_s));
                    cells.push(own.bus_share.map_or_else(String::new, |share| format!("{:.1}", 100.0 * share)));
                }
                cells.extend(others.iter().map(|other| point.ratio(&own.name, other).map_or_else(String::new, cell)));
                table.row(cells);
            }
        }
        table
    }

    /// What is behind a peer: where the ratio, less its spread, is below `limit`.
    pub(crate) fn behind(&self, limit: f64) -> Vec<String> {
        let mut behind = Vec::new();
        for point in &self.points {
            let role = |name: &str| point.ways.iter().find(|way| way.name == name).map(|way| way.role);
            for ratio in &point.ratios {
                let compared = role(&ratio.ours) == Some(Role::Ours) && role(&ratio.other) == Some(Role::Peer);
                let Summary { median, spread, .. } = ratio.times;
                // A ratio that is no number is behind.
                let enough = median - spread >= limit;
                if compared && !enough {
                    behind.push(format!(
                        "{}, n = {}: {median:.3} ± {spread:.3} times as fast as {}, less than {limit}",
                        self.title(),
                        point.size,
                        ratio.other,
                    ));
                }
            }
        }
        behind
    }
}

/// A ratio with its spread; a star where ours is not behind.
fn cell(ratio: &Ratio) -> String {
    let Summary { median, spread, .. } = ratio.times;
    format!("{median:.3} ±{spread:.3}{}", if ratio.ahead { "*" } else { " " })
}

fn microseconds(us: f64) -> String {
    let decimals = match us {
        _ if us < 100.0 => 2,
        _ if us < 10_000.0 => 1,
        _ => 0,
    };
    format!("{us:.decimals$}")
}

/// A line of the CSV file: one way at one size.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Line {
    operation: String,
    dtype: String,
    mode: Mode,
    size: String,
    n: u64,
    in_l2: bool,
    way: String,
    role: Role,
    bytes: u64,
    calls: u32,
    rounds: usize,
    us: f64,
    us_spread: f64,
    us_min: f64,
    us_max: f64,
    gb_per_s: f64,
    bus_share: Option<f64>,
    /// How many times as fast the default is, unless this is the default.
    default_is_times_as_fast: Option<f64>,
    ratio_spread: Option<f64>,
}

/// All series as lines.
pub(crate) fn lines(series: &[Series]) -> Vec<Line> {
    let mut lines = Vec::new();
    for series in series {
        for point in &series.points {
            let default = point.ways.iter().find(|way| way.role == Role::Ours);
            for way in &point.ways {
                // A variant has the ratio the other way round.
                let to = default.and_then(|default| point.ratio(&default.name, &way.name)).map(|ratio| ratio.times);
                let from = default.and_then(|default| point.ratio(&way.name, &default.name));
                let from = from.map(|ratio| ratio.times.inverted());
                let ratio = to.or(from);
                lines.push(Line {
                    operation: series.operation.clone(),
                    dtype: series.dtype.clone(),
                    mode: series.mode,
                    size: point.size.clone(),
                    n: point.n,
                    in_l2: point.in_l2,
                    way: way.name.clone(),
                    role: way.role,
                    bytes: way.bytes,
                    calls: way.calls,
                    rounds: point.rounds,
                    us: way.us.median,
                    us_spread: way.us.spread,
                    us_min: way.us.min,
                    us_max: way.us.max,
                    gb_per_s: way.gb_per_s,
                    bus_share: way.bus_share,
                    default_is_times_as_fast: ratio.map(|ratio| ratio.median),
                    ratio_spread: ratio.map(|ratio| ratio.spread),
                });
            }
        }
    }
    lines
}

/// Writes all series to a CSV file.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_csv(path: &Path, series: &[Series]) -> Result<()> {
    let write = || -> Result<()> {
        let mut writer = csv::Writer::from_path(path)?;
        for line in lines(series) {
            writer.serialize(line)?;
        }
        Ok(writer.flush()?)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// The geometric middle of the ratios to each peer, for a line below the table: `CUB 1.52 (0.98 to 2.31)`.
pub(crate) fn in_brief(series: &Series) -> Option<String> {
    let default = series.ways(|role| role == Role::Ours).into_iter().next()?;
    let brief = |peer: String| {
        let ratios = series.points.iter().filter_map(|point| point.ratio(&default, &peer));
        let ratios: Vec<f64> = ratios.map(|ratio| ratio.times.median).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (!ratios.is_empty()).then(|| format!("{peer} {:.2} ({least:.2} to {most:.2})", median(&ratios)))
    };
    let peers: Vec<String> = series.ways(|role| role == Role::Peer).into_iter().filter_map(brief).collect();
    (!peers.is_empty()).then(|| format!("times as fast, median over all sizes: {}", peers.join(", ")))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn way(name: &str, role: Role) -> Named {
        Named { name: name.to_owned(), role }
    }

    /// Two sizes; behind the peer at the second.
    pub(crate) fn made_up() -> Series {
        let point = |n: u64, ours: f64, peer: f64| {
            let ours = Timed::new(&way("ours", Role::Ours), 4 * n, 100, &[ours, ours * 1.25, ours * 0.75], Some(4e12));
            let variant = Timed::new(&way("ours/old", Role::Variant), 4 * n, 50, &[2.0 * ours.us.median], Some(4e12));
            let peer = Timed::new(&way("CUB", Role::Peer), 4 * n, 100, &[peer], Some(4e12));
            let ceiling =
                Timed::new(&way("memcpy, \"both\"", Role::Ceiling), 8 * n, 100, &[peer.us.median], Some(4e12));
            let times = |other: &Timed, own: &Timed| Summary::of(&[other.us.median / own.us.median; 3]);
            let mut ratios = Vec::new();
            for own in [&ours, &variant] {
                for other in [&peer, &ceiling] {
                    ratios.push(own.beside(other, times(other, own)));
                }
            }
            ratios.push(variant.beside(&ours, times(&ours, &variant)));
            let ways = vec![ours, variant, peer, ceiling];
            Point {
                size: format!("2^{}", n.ilog2()),
                n,
                in_l2: n < 1 << 20,
                rounds: 3,
                settled: n > 1 << 20,
                ways,
                ratios,
            }
        };
        Series {
            operation: "sum".to_owned(),
            dtype: "f32".to_owned(),
            mode: Mode::Graph,
            bus_gb_per_s: Some(4000.0),
            points: vec![point(1 << 10, 2.0, 4.0), point(1 << 30, 1250.0, 1000.0)],
            absent: vec![Absent { way: "cuBLAS".to_owned(), reason: "no libcublas.so".to_owned() }],
        }
    }

    #[test]
    fn bandwidths_and_ratios() {
        let series = made_up();
        let [small, large] = series.points.as_slice() else { unreachable!() };
        assert_eq!(large.ways[0].gb_per_s, 4.0 * (1u64 << 30) as f64 / 1250e3);
        assert!((large.ways[0].bus_share.unwrap() - 0.859).abs() < 1e-3);
        let ratio = small.ratio("ours", "CUB").unwrap();
        assert!(ratio.ahead && ratio.times.median == 2.0);
        assert!(!large.ratio("ours", "CUB").unwrap().ahead);
        // The copy moves twice the bytes in the time of the peer: per byte it takes half of it.
        assert_eq!(small.ratio("ours", "memcpy, \"both\"").unwrap().times.median, 1.0);
        assert_eq!(small.ratio("ours/old", "ours").unwrap().times.median, 0.5);
    }

    #[test]
    fn ahead_allows_for_a_hundredth_but_not_for_noise() {
        let ours = Timed::new(&way("ours", Role::Ours), 4, 1, &[1.0], None);
        let peer = Timed::new(&way("peer", Role::Peer), 4, 1, &[1.0], None);
        let ahead = |ratios: &[f64]| ours.beside(&peer, Summary::of(ratios)).ahead;
        assert!(ahead(&[0.99]));
        assert!(!ahead(&[0.989]));
        assert!(ahead(&[1.02, 1.0, 1.04]));
        assert!(!ahead(&[1.0, 0.98, 1.02]));
        assert!(!ahead(&[f64::NAN]));
    }

    #[test]
    fn the_table_has_a_line_for_each_of_ours() {
        let table = made_up().table().to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        assert!(lines[0].contains("x CUB") && lines[0].contains("% of bus"), "{table}");
        assert!(lines[1].contains("in L2, noisy") && lines[1].contains("2.000 ±0.000*"), "{table}");
        assert!(lines[3].starts_with("2^30  ours ") && lines[3].contains("0.800 ±0.000"), "{table}");
        let latency = Series { mode: Mode::Latency, ..made_up() };
        assert!(!latency.table().to_string().contains("GB/s"));
        assert_eq!(in_brief(&made_up()).unwrap(), "times as fast, median over all sizes: CUB 1.40 (0.80 to 2.00)");
    }

    #[test]
    fn a_check_is_of_the_default_beside_peers() {
        let behind = made_up().behind(0.99);
        assert_eq!(
            behind,
            ["sum of f32, calls in a graph, n = 2^30: 0.800 ± 0.000 times as fast as CUB, less than 0.99"]
        );
        assert_eq!(made_up().behind(0.8), [""; 0]);
        assert_eq!(made_up().behind(2.5).len(), 2);
    }

    #[test]
    fn a_series_survives_json() {
        let series = made_up();
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
    }

    #[test]
    fn lines_survive_csv() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made-up.csv");
        write_csv(&path, &[made_up()]).unwrap();
        let read: Vec<Line> = csv::Reader::from_path(&path).unwrap().deserialize().map(Result::unwrap).collect();
        assert_eq!(read, lines(&[made_up()]));
        assert_eq!(read.len(), 8);
        let ratios: Vec<_> = read[..4].iter().map(|line| line.default_is_times_as_fast).collect();
        assert_eq!(ratios, [None, Some(2.0), Some(2.0), Some(1.0)]);
        let error = write_csv(&folder.path().join("no/such.csv"), &[]).unwrap_err();
        assert!(format!("{error:#}").contains("such.csv"), "{error:#}");
    }
}
