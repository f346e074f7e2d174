//! Medians and spreads.

use examples::timing::median;
use serde::{Deserialize, Serialize};

/// Samples of one quantity, in brief.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Summary {
    /// How many samples there were.
    pub(crate) samples: usize,
    /// Their median.
    pub(crate) median: f64,
    /// The median distance of a sample from the median: unlike a standard deviation, a few outliers do not move it.
    pub(crate) spread: f64,
    /// The least sample.
    pub(crate) min: f64,
    /// The greatest sample.
    pub(crate) max: f64,
}

impl Summary {
    /// Sums up samples, of which there is at least one.
    pub(crate) fn of(samples: &[f64]) -> Summary {
        let center = median(samples);
        let distances: Vec<f64> = samples.iter().map(|sample| (sample - center).abs()).collect();
        Summary {
            samples: samples.len(),
            median: center,
            spread: median(&distances),
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// All samples multiplied by a positive number.
    pub(crate) fn scaled(self, factor: f64) -> Summary {
        let Summary { samples, median, spread, min, max } = self;
        Summary { samples, median: median * factor, spread: spread * factor, min: min * factor, max: max * factor }
    }

    /// One divided by each sample, all of them positive. The spread is right to first order.
    pub(crate) fn inverted(self) -> Summary {
        let Summary { samples, median, spread, min, max } = self;
        Summary { samples, median: 1.0 / median, spread: spread / (median * median), min: 1.0 / max, max: 1.0 / min }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_moves_neither_median_nor_spread() {
        let summary = Summary::of(&[10.0, 11.0, 9.0, 12.0, 1000.0]);
        assert_eq!(summary, Summary { samples: 5, median: 11.0, spread: 1.0, min: 9.0, max: 1000.0 });
    }

    #[test]
    fn factors_and_inverses() {
        let summary = Summary::of(&[2.0, 4.0, 8.0]);
        assert_eq!(summary.scaled(0.5), Summary::of(&[1.0, 2.0, 4.0]));
        let inverted = summary.inverted();
        assert_eq!((inverted.median, inverted.min, inverted.max), (0.25, 0.125, 0.5));
        assert_eq!(inverted.spread, summary.spread / 16.0);
    }
}
