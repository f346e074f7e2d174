//! Times that were measured elsewhere: a program such as `peers/torch_peers.py` or the one in `peers/rust` measures a
//! peer in a process of its own, and writes them to a file.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Result, bail};
use examples::program::UsageError;
use serde::{Deserialize, Serialize};

use super::batch::Mode;
use super::results::{Series, Timed};
use super::subject::{Absent, Named, Role};
use crate::statistics::Summary;

/// The file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Measurements {
    /// Name and version of what was measured.
    peer: String,
    results: Vec<Measurement>,
}

/// One operation at one size.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct Measurement {
    operation: String,
    dtype: String,
    mode: Mode,
    /// As on the command line.
    size: String,
    us: Summary,
}

impl Measurements {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not of that form.
    pub(crate) fn read(path: &Path) -> Result<Measurements, UsageError> {
        let read = || -> Result<Measurements> {
            let read: Measurements = serde_json::from_reader(BufReader::new(File::open(path)?))?;
            let timed = |us: &Summary| us.median.is_finite() && us.median > 0.0;
            match read.results.iter().find(|result| !timed(&result.us)) {
                Some(result) => bail!("{} of {}, n = {}: no time", result.operation, result.dtype, result.size),
                None => Ok(read),
            }
        };
        read().map_err(|error| {
            let path = path.display();
            let writers = "torch_peers.py and rust-peers write";
            UsageError(format!("--times: cannot use {path} as times, such as {writers}: {error:#}"))
        })
    }

    /// Adds a way to each point that there is a time for, or a note that there is none at all. There are no common rounds: a
    /// ratio is of two medians, and spreads by as much as both do together.
    pub(crate) fn add_to(&self, series: &mut Series) {
        let way = Named { name: self.peer.clone(), role: Role::Peer };
        let bus = series.bus_gb_per_s.map(|bus| bus * 1e9);
        let fits = |found: &&Measurement| {
            found.operation == series.operation && found.dtype == series.dtype && found.mode == series.mode
        };
        let found: Vec<&Measurement> = self.results.iter().filter(fits).collect();
        let sizes = &series.points;
        if !sizes.iter().any(|point| found.iter().any(|found| found.size == point.size)) {
            let reason =
                format!("there are no times of {} of {}, {}", series.operation, series.dtype, series.mode.name());
            series.absent.push(Absent { way: self.peer.clone(), reason });
        }
        for point in &mut series.points {
            let Some(found) = found.iter().find(|found| found.size == point.size) else { continue };
            let Some(default) = point.ways.iter().find(|way| way.role == Role::Ours) else { continue };
            let peer = Timed::from_summary(&way, default.bytes, 0, found.us, bus);
            for own in point.ways.iter().filter(|way| way.role.is_own()) {
                let times = quotient(&peer.us, &own.us);
                point.ratios.push(own.beside(&peer, times));
            }
            point.ways.push(peer);
        }
    }
}

/// The ratio of two quantities that were not measured together.
fn quotient(of: &Summary, by: &Summary) -> Summary {
    let median = of.median / by.median;
    Summary {
        samples: of.samples.min(by.samples),
        median,
        spread: median * (of.spread / of.median + by.spread / by.median),
        min: of.min / by.max,
        max: of.max / by.min,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::made_up;

    const FILE: &str = r#"{"peer": "PyTorch 2.11.0", "results": [
        {"operation": "sum", "dtype": "f32", "mode": "graph", "size": "2^10",
         "us": {"samples": 3, "median": 3.0, "spread": 0.03, "min": 2.9, "max": 3.2}},
        {"operation": "sum", "dtype": "f32", "mode": "latency", "size": "2^30", "way": "what bench does not ask for",
         "us": {"samples": 3, "median": 3.0, "spread": 0.03, "min": 2.9, "max": 3.2}}]}"#;

    #[test]
    fn what_fits_a_point_is_added_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("torch.json");
        std::fs::write(&path, FILE).unwrap();
        let mut series = made_up();
        Measurements::read(&path).unwrap().add_to(&mut series);
        let [small, large] = series.points.as_slice() else { unreachable!() };
        assert_eq!(large, &made_up().points[1]);
        let way = small.ways.last().unwrap();
        assert_eq!((way.name.as_str(), way.role, way.bytes), ("PyTorch 2.11.0", Role::Peer, 4096));
        let ratio = small.ratio("ours", "PyTorch 2.11.0").unwrap();
        // 2 µs with a spread of a quarter, beside 3 µs with one of a hundredth.
        assert!((ratio.times.median - 1.5).abs() < 1e-9 && (ratio.times.spread - 0.39).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.ahead);
        assert!(small.ratio("ours/old", "PyTorch 2.11.0").is_some());
    }

    #[test]
    fn several_files_are_as_many_ways() {
        let folder = tempfile::tempdir().unwrap();
        let mut series = made_up();
        for peer in ["PyTorch 2.11.0", "candle-core 0.11.1"] {
            let path = folder.path().join("times.json");
            std::fs::write(&path, FILE.replace("PyTorch 2.11.0", peer)).unwrap();
            Measurements::read(&path).unwrap().add_to(&mut series);
        }
        let point = &series.points[0];
        assert_eq!(point.ways.len(), made_up().points[0].ways.len() + 2);
        for peer in ["PyTorch 2.11.0", "candle-core 0.11.1"] {
            assert!((point.ratio("ours", peer).unwrap().times.median - 1.5).abs() < 1e-9, "{peer}");
        }
    }

    #[test]
    fn a_file_without_a_time_that_fits_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times.json");
        std::fs::write(&path, FILE.replace("\"f32\"", "\"f64\"")).unwrap();
        let mut series = made_up();
        Measurements::read(&path).unwrap().add_to(&mut series);
        assert_eq!(series.points, made_up().points);
        let note = series.absent.last().unwrap();
        assert_eq!(note.way, "PyTorch 2.11.0");
        assert_eq!(note.reason, "there are no times of sum of f32, graph");
    }

    #[test]
    fn no_time_at_all_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times.json");
        std::fs::write(&path, FILE.replace("\"median\": 3.0", "\"median\": 0.0")).unwrap();
        let error = format!("{:#}", Measurements::read(&path).unwrap_err());
        assert!(error.contains("times.json") && error.contains("sum of f32, n = 2^10: no time"), "{error}");
    }

    #[test]
    fn another_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.json");
        let text = |path| format!("{:#}", Measurements::read(path).unwrap_err());
        assert!(text(&path).contains("other.json"));
        std::fs::write(&path, "{}").unwrap();
        assert!(text(&path).contains("such as torch_peers.py and rust-peers write"));
    }
}
