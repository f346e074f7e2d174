//! Reports for people.

use std::fmt::{self, Write};

use kernels_common::device::Properties;

/// Lines of a label and a text each, the texts below one another.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    lines: Vec<(&'static str, String)>,
}

impl Lines {
    /// Adds a line.
    pub fn add(&mut self, label: &'static str, text: impl fmt::Display) {
        self.lines.push((label, text.to_string()));
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.lines.push(("", String::new()));
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        for (i, (label, text)) in self.lines.iter().enumerate() {
            let line = format!("{label:<width$}  {text}");
            write!(f, "{}{}", if i == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}

/// A table with a head: columns of words to the left, then columns of numbers to the right.
#[derive(Clone, Debug)]
pub struct Table {
    words: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    #[must_use]
    pub fn new(words: &[&str], numbers: &[&str]) -> Self {
        let head = [words, numbers].concat().into_iter().map(str::to_owned).collect();
        Self { words: words.len(), rows: vec![head] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (i, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                if column < self.words {
                    write!(line, "{gap}{cell:<width$}")?;
                } else {
                    write!(line, "{gap}{cell:>width$}")?;
                }
            }
            write!(f, "{}{}", if i == 0 { "" } else { "\n" }, line.trim_end())?;
        }
        Ok(())
    }
}

/// A number of elements with `_` between groups of three digits.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

/// A time in milliseconds, with digits as they matter.
#[must_use]
pub fn milliseconds(ms: f64) -> String {
    let decimals = match ms {
        _ if ms < 1.0 => 4,
        _ if ms < 100.0 => 2,
        _ => 1,
    };
    format!("{ms:.decimals$} ms")
}

/// A number of any size in few digits.
#[must_use]
pub fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1.0..1e6 => format!("{value:.1}"),
        1e-3..1.0 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A bandwidth, and its share of what the memory bus can do where that is known.
#[must_use]
pub fn bandwidth(gigabytes_per_second: Option<f64>, properties: &Properties) -> String {
    let Some(rate) = gigabytes_per_second else {
        return "too short to measure".to_owned();
    };
    let text = format!("{} GB/s", rounded(rate));
    match (bus_share(gigabytes_per_second, properties), properties.bus_bandwidth()) {
        (Some(share), Some(bus)) => format!("{text}, {:.1} % of the bus limit of {:.0} GB/s", 100.0 * share, bus / 1e9),
        _ => text,
    }
}

/// The share of the bus limit that a bandwidth is, 1 being all of it; `None` without a bus, as on the simulator.
#[must_use]
pub fn bus_share(gigabytes_per_second: Option<f64>, properties: &Properties) -> Option<f64> {
    Some(gigabytes_per_second? * 1e9 / properties.bus_bandwidth()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned() {
        let mut lines = Lines::default();
        lines.add("device", "simulator");
        lines.gap();
        lines.add("n", 3);
        assert_eq!(lines.to_string(), "device  simulator\n\nn       3");
    }

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new(&["variant", "result"], &["ms"]);
        table.row(["stride", "ok", "10.5"].map(str::to_owned));
        assert_eq!(table.to_string(), "variant  result    ms\nstride   ok      10.5");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 20_000_000].map(count), ["0", "999", "1_000", "20_000_000"]);
        assert_eq!(
            [0.03456, 1.0, 99.994, 1234.56].map(milliseconds),
            ["0.0346 ms", "1.00 ms", "99.99 ms", "1234.6 ms"]
        );
    }
}
