//! Bar charts as SVG.

use std::fs::{self, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE};

use crate::program::UsageError;

/// A bar: what it stands for, how long it is, and what to write beside it.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it stands for; bars of one group have one colour.
    pub label: String,
    /// Its group.
    pub group: usize,
    /// Its length; anything but a positive number draws no bar.
    pub value: f64,
    /// What is written at its end.
    pub note: String,
    /// Whether to draw it hatched out: something is wrong with it.
    pub wrong: bool,
}

/// A horizontal bar chart.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// What it shows, on what, in one line.
    pub title: String,
    /// What the length of a bar means, with its unit.
    pub axis: String,
    /// The bars, from above.
    pub bars: Vec<Bar>,
    /// Vertical lines to compare with: value and name.
    pub lines: Vec<(f64, String)>,
}

/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const GROUPS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 120),
];
/// The colour of a group; after seven they begin anew.
pub(crate) fn group_color(group: usize) -> RGBColor {
    GROUPS[group % GROUPS.len()]
}

const WRONG: RGBColor = RGBColor(190, 0, 0);

const WIDTH: u32 = 960;
const BAR: u32 = 26;
const LABELS: u32 = 230;
const MARGINS: u32 = 110;

/// Finds out whether `path` can be written before the work is done whose result goes there. Leaves what the file
/// holds, and none where there was none.
///
/// # Errors
/// [`UsageError`] if the file cannot be written.
pub fn check_writable(path: &Path) -> Result<(), UsageError> {
    let is_new = !path.exists();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let error = |error| UsageError(format!("{}: {error}", cannot_write(path)));
    opened.map(drop).map_err(error)?;
    if is_new { fs::remove_file(path).map_err(error) } else { Ok(()) }
}

pub(crate) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

impl BarChart {
    /// The chart as the text of an SVG file.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        let mut text = String::new();
        let height = MARGINS + BAR * self.bars.len().max(1) as u32;
        self.draw(SVGBackend::with_string(&mut text, (WIDTH, height))).map_err(|error| anyhow!("drawing: {error}"))?;
        Ok(text)
    }

    /// Writes the chart to an SVG file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.svg()?).with_context(|| cannot_write(path))
    }

    fn draw(&self, backend: SVGBackend<'_>) -> Result<(), Box<dyn std::error::Error + '_>> {
        let area = backend.into_drawing_area();
        area.fill(&WHITE)?;
        let values = self.bars.iter().map(|bar| bar.value).chain(self.lines.iter().map(|line| line.0));
        let longest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        // Room for the notes to the right of the longest bar.
        let end = if longest > 0.0 { longest * 1.25 } else { 1.0 };
        let count = self.bars.len() as f64;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(LABELS)
            .build_cartesian_2d(0.0..end, count.max(1.0)..0.0)?;
        chart.configure_mesh().disable_y_mesh().disable_y_axis().x_desc(&self.axis).light_line_style(WHITE).draw()?;

        let small = |pos: Pos| TextStyle::from(("sans-serif", 13).into_font()).color(&BLACK).pos(pos);
        let after = Pos::new(HPos::Left, VPos::Center);
        for (i, bar) in self.bars.iter().enumerate() {
            let (top, middle, bottom) = (i as f64 + 0.15, i as f64 + 0.5, i as f64 + 0.85);
            let color = if bar.wrong { WRONG } else { group_color(bar.group) };
            let length = if bar.value.is_finite() { bar.value.max(0.0) } else { 0.0 };
            let style = if bar.wrong { color.mix(0.35).filled() } else { color.filled() };
            chart.draw_series([Rectangle::new([(0.0, top), (length, bottom)], style)])?;
            let note = format!(" {}", bar.note);
            chart.draw_series([Text::new(note, (length, middle), small(after))])?;
            let place = chart.backend_coord(&(0.0, middle));
            let before = Pos::new(HPos::Right, VPos::Center);
            area.draw(&Text::new(bar.label.clone(), (place.0 - 6, place.1), small(before)))?;
        }
        for (value, name) in self.lines.iter().filter(|(value, _)| value.is_finite()) {
            let style: ShapeStyle = BLACK.mix(0.6).stroke_width(1);
            chart.draw_series([PathElement::new([(*value, 0.0), (*value, count)], style)])?;
            let place = chart.backend_coord(&(*value, 0.0));
            let above = Pos::new(HPos::Center, VPos::Bottom);
            area.draw(&Text::new(name.clone(), (place.0, place.1 - 2), small(above)))?;
        }
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64]) -> BarChart {
        let bar = |&value: &f64| Bar {
            label: format!("bar {value}"),
            group: 1,
            value,
            note: format!("{value} <units>"),
            wrong: value < 0.0,
        };
        BarChart {
            title: "A & B".to_owned(),
            axis: "units".to_owned(),
            bars: values.iter().map(bar).collect(),
            lines: vec![(3.0, "limit".to_owned()), (f64::NAN, "absent".to_owned())],
        }
    }

    #[test]
    fn draws_every_bar_with_its_label_and_note() {
        let svg = chart(&[1.0, 2.5, 0.0, -1.0, f64::NAN, f64::INFINITY]).svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["bar 1\n", "bar 2.5", "2.5 &lt;units&gt;", "A &amp; B", "limit", "bar NaN"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(!svg.contains("absent"));
    }

    #[test]
    fn nothing_is_a_chart_too() {
        assert!(chart(&[]).svg().unwrap().contains("A &amp; B"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = chart(&[1.0]).write(Path::new("no/such/folder/chart.svg")).unwrap_err();
        assert!(format!("{error:#}").contains("chart.svg"), "{error:#}");
    }
}
