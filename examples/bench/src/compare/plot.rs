//! Series as charts: bandwidth against the number of elements, ours and others.

use std::path::{Path, PathBuf};

use anyhow::Result;
use examples::curves::{Curve, LineChart, Stroke};

use super::batch::Mode;
use super::results::{Point, Series, Timed};
use super::subject::Role;

/// The file of one of several charts: `sum.svg` becomes `sum-f32-graph.svg`.
pub(crate) fn file(path: &Path, dtype: &str, mode: Mode) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{dtype}-{}.svg", mode.name()))
}

/// The chart of a series that was measured on `device`: GB/s, or microseconds where those are what counts.
pub(crate) fn chart(series: &Series, device: &str) -> LineChart {
    let latency = series.mode == Mode::Latency;
    let value = |way: &Timed| if latency { way.us.median } else { way.gb_per_s };
    let curve = |(group, name): (usize, String)| {
        let timed =
            |point: &Point| point.ways.iter().find(|way| way.name == name).map(|way| (point.n as f64, value(way)));
        let role = series.points.iter().flat_map(|point| &point.ways).find(|way| way.name == name).map(|way| way.role);
        let stroke = match role {
            Some(Role::Ours) => Stroke::Bold,
            Some(Role::Ceiling) => Stroke::Dashed,
            _ => Stroke::Plain,
        };
        Curve { points: series.points.iter().filter_map(timed).collect(), label: name, group, stroke }
    };
    let limit = series.bus_gb_per_s.filter(|_| !latency);
    LineChart {
        title: format!("{}: {device}", series.title()),
        x_axis: "elements".to_owned(),
        y_axis: if latency { "microseconds" } else { "GB/s" }.to_owned(),
        curves: series.ways(|_| true).into_iter().enumerate().map(curve).collect(),
        lines: limit.map(|limit| (limit, format!("memory bus, {limit:.0} GB/s"))).into_iter().collect(),
    }
}

/// Writes the chart of each series.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(path: &Path, series: &[Series], device: &str) -> Result<()> {
    series.iter().try_for_each(|series| chart(series, device).write(&file(path, &series.dtype, series.mode)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::made_up;

    #[test]
    fn every_way_is_a_curve_and_the_bus_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let latency = Series { mode: Mode::Latency, ..made_up() };
        write(&folder.path().join("sum.svg"), &[made_up(), latency], "Some GPU").unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let svg = read("sum-f32-graph.svg");
        for text in
            ["sum of f32, calls in a graph: Some GPU", "ours/old", "CUB", "memcpy", "memory bus, 4000 GB/s", "2^30"]
        {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let svg = read("sum-f32-latency.svg");
        assert!(svg.contains("microseconds") && !svg.contains("memory bus"), "{svg}");
    }
}
