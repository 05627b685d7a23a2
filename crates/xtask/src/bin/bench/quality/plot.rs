//! The table as pictures: one SVG for the requests that need a node of their own, one for GPU-hours.

use super::{ALL, Outcome, large, percent};
use plotters::{
    backend::SVGBackend,
    chart::{ChartBuilder, SeriesLabelPosition},
    drawing::IntoDrawingArea,
    element::PathElement,
    series::LineSeries,
    style::{Color, RGBColor, ShapeStyle, WHITE},
};

const SIZE: (u32, u32) = (720, 420);
const FONT: &str = "sans-serif";
const COLOURS: [RGBColor; 5] = [
    RGBColor(0x1b, 0x6c, 0xa8),
    RGBColor(0xc0, 0x39, 0x2b),
    RGBColor(0xd6, 0x89, 0x10),
    RGBColor(0x7d, 0x85, 0x90),
    RGBColor(0x1e, 0x84, 0x49),
];

/// Writes both pictures to `target/bench/`.
pub fn write(table: &[(u64, Vec<Outcome>)]) -> Result<(), String> {
    let rejected = drawn("Rejected requests for 8 GPUs or bare metal", table, |outcome| outcome.rejected(&large()))?;
    let missed = drawn("GPU-hours not placed", table, |outcome| 100_000 - outcome.placed())?;
    std::fs::create_dir_all("target/bench").map_err(|error| error.to_string())?;
    for (name, picture) in [("quality_rejected", rejected), ("quality_gpu_hours", missed)] {
        std::fs::write(format!("target/bench/{name}.svg"), picture).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn drawn(title: &str, table: &[(u64, Vec<Outcome>)], value: impl Fn(&Outcome) -> u64) -> Result<String, String> {
    // Random placement is far off the others; the scale is for them, and its line runs along the edge.
    let random = ALL.iter().position(|(_, name)| *name == "random").unwrap_or(usize::MAX);
    let others = table.iter().flat_map(|(_, of)| of.iter().enumerate().filter(|(at, _)| *at != random));
    let highest = others.map(|(_, outcome)| value(outcome)).max().unwrap_or(0).max(100);
    let top = highest + highest / 10;
    let (first, last) = (table.first().map_or(0, |row| row.0), table.last().map_or(1, |row| row.0));
    let mut svg = String::new();
    let mut draw = || {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, (FONT, 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(first..last, 0..top)?;
        chart
            .configure_mesh()
            .max_light_lines(1)
            .x_desc("offered load")
            .x_labels(table.len())
            .x_label_formatter(&|load| format!("{} %", load / 10))
            .y_label_formatter(&|value| format!("{} %", percent(*value)))
            .label_style((FONT, 13))
            .disable_x_mesh()
            .draw()?;
        for (at, ((_, name), colour)) in ALL.iter().zip(COLOURS).enumerate() {
            let line = ShapeStyle::from(colour).stroke_width(2);
            let points = table.iter().filter_map(|(load, of)| Some((*load, value(of.get(at)?).min(top))));
            let beyond = table.iter().any(|(_, of)| of.get(at).is_some_and(|outcome| value(outcome) > top));
            let label = if beyond { format!("{name} (beyond the scale)") } else { (*name).to_owned() };
            let sample = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], line);
            chart.draw_series(LineSeries::new(points, line))?.label(label).legend(sample);
        }
        let mut names = chart.configure_series_labels();
        names.position(SeriesLabelPosition::MiddleLeft).background_style(WHITE.mix(0.8)).label_font((FONT, 13));
        names.draw()?;
        area.present()
    };
    draw().map_err(|error| error.to_string())?;
    Ok(svg)
}
