//! Line charts as SVG, over powers of two.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, ShapeStyle, TextStyle, WHITE};

use crate::chart::{cannot_write, group_color};

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Twice as wide: what the chart is about.
    Bold,
    /// A thin line.
    Plain,
    /// Broken: what others are measured against.
    Dashed,
}

/// A curve with its points, in order of x.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it stands for.
    pub label: String,
    /// Its group, which has one colour.
    pub group: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// x and y; those that are not finite, or whose x is not positive, are left out.
    pub points: Vec<(f64, f64)>,
}

/// A line chart whose x axis is logarithmic, and whose y axis begins at zero.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// What it shows, on what, in one line.
    pub title: String,
    /// What x means.
    pub x_axis: String,
    /// What y means, with its unit.
    pub y_axis: String,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Horizontal lines to compare with: value and name.
    pub lines: Vec<(f64, String)>,
}

const WIDTH: u32 = 960;
const HEIGHT: u32 = 540;
/// Room for the names of the curves.
const LEGEND: u32 = 220;
/// Height of a name, and length of the line before it.
const ENTRY: i32 = 22;
const SAMPLE: i32 = 26;
/// Pixels of a dash and of the gap after it.
const DASH: f64 = 6.0;

impl LineChart {
    /// The chart as the text of an SVG file.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, (WIDTH, HEIGHT))).map_err(|error| anyhow!("drawing: {error}"))?;
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
        // Powers of two are what lengths are mostly chosen from.
        let place = |&(x, y): &(f64, f64)| (x > 0.0 && x.is_finite() && y.is_finite()).then(|| (x.log2(), y));
        let curves: Vec<(&Curve, Vec<(f64, f64)>)> =
            self.curves.iter().map(|curve| (curve, curve.points.iter().filter_map(place).collect())).collect();
        let points = || curves.iter().flat_map(|(_, points)| points);
        let lines: Vec<_> = self.lines.iter().filter(|(value, _)| value.is_finite()).collect();
        let highest = points().map(|point| point.1).chain(lines.iter().map(|line| line.0)).fold(0.0, f64::max);
        let top = if highest > 0.0 { highest * 1.05 } else { 1.0 };
        let first = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let last = points().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
        let (first, last) = if first < last { (first, last) } else { (first.min(30.0) - 1.0, first.min(30.0) + 1.0) };

        let (plot, legend) = area.split_horizontally(WIDTH - LEGEND);
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(first..last, 0.0..top)?;
        let power = |x: &f64| if x.fract() == 0.0 { format!("2^{x:.0}") } else { String::new() };
        chart
            .configure_mesh()
            .x_desc(&self.x_axis)
            .y_desc(&self.y_axis)
            .x_labels(((last - first) as usize + 1).clamp(2, 12))
            .x_label_formatter(&power)
            .light_line_style(WHITE)
            .bold_line_style(BLACK.mix(0.1))
            .draw()?;

        let small = |pos: Pos| TextStyle::from(("sans-serif", 13).into_font()).color(&BLACK).pos(pos);
        for (value, name) in lines {
            let style: ShapeStyle = BLACK.mix(0.6).stroke_width(1);
            chart.draw_series([PathElement::new([(first, *value), (last, *value)], style)])?;
            let above = Pos::new(HPos::Left, VPos::Bottom);
            chart.draw_series([Text::new(name.clone(), (first, *value), small(above))])?;
        }
        for (number, (curve, points)) in curves.iter().enumerate() {
            let color = group_color(curve.group);
            let style = color.stroke_width(if curve.stroke == Stroke::Bold { 3 } else { 1 });
            let pixels: Vec<(i32, i32)> = points.iter().map(|point| chart.backend_coord(point)).collect();
            let y = 50 + ENTRY * number as i32;
            let sample = [(6, y), (6 + SAMPLE, y)];
            if curve.stroke == Stroke::Dashed {
                for dash in dashes(&pixels) {
                    area.draw(&PathElement::new(dash, style))?;
                }
                for dash in dashes(&sample) {
                    legend.draw(&PathElement::new(dash, style))?;
                }
            } else {
                area.draw(&PathElement::new(pixels.clone(), style))?;
                legend.draw(&PathElement::new(sample, style))?;
            }
            let radius = if curve.stroke == Stroke::Bold { 3 } else { 2 };
            for pixel in pixels {
                area.draw(&Circle::new(pixel, radius, color.filled()))?;
            }
            let beside = Pos::new(HPos::Left, VPos::Center);
            legend.draw(&Text::new(curve.label.clone(), (12 + SAMPLE, y), small(beside)))?;
        }
        area.present()?;
        Ok(())
    }
}

/// The dashes of a line through all points, the gaps as long as they are.
fn dashes(points: &[(i32, i32)]) -> Vec<Vec<(i32, i32)>> {
    let (mut dashes, mut dash, mut left, mut drawing) = (Vec::new(), Vec::new(), DASH, true);
    let pixel = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
    for pair in points.windows(2) {
        let [from, to] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |done: f64| {
            let share = if length > 0.0 { done / length } else { 0.0 };
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        let mut done = 0.0;
        while length - done > left {
            if drawing {
                dash.extend([pixel(at(done)), pixel(at(done + left))]);
                dashes.push(std::mem::take(&mut dash));
            }
            done += left;
            (left, drawing) = (DASH, !drawing);
        }
        left -= length - done;
        if drawing {
            dash.extend([pixel(at(done)), pixel(to)]);
        }
    }
    dashes.extend((!dash.is_empty()).then_some(dash));
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: &[(f64, f64)]) -> LineChart {
        let curve = |(group, stroke)| Curve {
            label: format!("curve <{group}>"),
            group,
            stroke,
            points: points.iter().map(|(x, y)| (*x, y * (1.0 + group as f64))).collect(),
        };
        LineChart {
            title: "A & B".to_owned(),
            x_axis: "elements".to_owned(),
            y_axis: "GB/s".to_owned(),
            curves: [(0, Stroke::Bold), (1, Stroke::Plain), (2, Stroke::Dashed)].into_iter().map(curve).collect(),
            lines: vec![(3.0, "limit".to_owned()), (f64::NAN, "absent".to_owned())],
        }
    }

    #[test]
    fn draws_every_curve_with_its_name() {
        let points = [(1024.0, 1.0), (4096.0, 2.0), (65536.0, 2.5), (0.0, 7.0), (2048.0, f64::NAN)];
        let svg = chart(&points).svg().unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for text in ["curve &lt;0&gt;", "curve &lt;2&gt;", "A &amp; B", "limit", "GB/s", "2^10", "2^16"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(!svg.contains("absent"));
        // Those that can be drawn, of each curve.
        assert_eq!(svg.matches("<circle").count(), 3 * 3);
    }

    #[test]
    fn one_point_and_none_are_charts_too() {
        assert_eq!(chart(&[(1e6, 2.0)]).svg().unwrap().matches("<circle").count(), 3);
        assert!(chart(&[]).svg().unwrap().contains("A &amp; B"));
    }

    #[test]
    fn dashes_cover_half_of_a_line() {
        assert_eq!(dashes(&[(0, 0), (18, 0)]), [[(0, 0), (6, 0)], [(12, 0), (18, 0)]]);
        // A dash goes around a corner.
        assert_eq!(dashes(&[(0, 0), (3, 0), (3, 9)]), [[(0, 0), (3, 0), (3, 0), (3, 3)]]);
        assert!(dashes(&[(1, 1)]).is_empty());
    }
}
