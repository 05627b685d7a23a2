//! The pictures of a report, as SVG. They are drawn in stand-in colours, each of which the page's style sheet maps to the
//! colour that suits the light or the dark page; so one picture serves both.

use plotters::{
    backend::SVGBackend,
    chart::ChartBuilder,
    coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter},
    drawing::IntoDrawingArea,
    prelude::{BindKeyPoints, IntoLogRange},
    series::LineSeries,
    style::{Color, RGBColor, ShapeStyle, TextStyle, text_anchor},
};

/// Lines and text of a picture.
pub(crate) const INK: RGBColor = RGBColor(0x01, 0x01, 0x01);
/// Lines that help reading.
pub(crate) const GRID: RGBColor = RGBColor(0x02, 0x02, 0x02);
const FONT: &str = "sans-serif";
// Marks along an axis of time are one of these apart, in seconds, and no more than so many.
const TIME_STEPS: [u64; 14] =
    [60, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000, 1_728_000, 4_320_000, 8_640_000];
const TICKS_MOST: u64 = 8;
// Marks along an axis of waits, in seconds.
const WAITS: [u64; 9] = [1, 10, 60, 600, 3600, 21_600, 86_400, 864_000, 8_640_000];

/// The stand-in colour of the line at this place.
pub(crate) const fn colour(at: u8) -> RGBColor {
    RGBColor(0x10, 0x10, at)
}

/// A line of a picture.
pub(crate) struct Curve {
    /// Its colour's place.
    pub(crate) colour: u8,
    /// Its points.
    pub(crate) points: Vec<(u64, u64)>,
}

/// How a picture's axes are told.
pub(crate) struct Axes<'a> {
    /// Its size.
    pub(crate) size: (u32, u32),
    /// What is told of it to those who do not see it.
    pub(crate) label: &'a str,
    /// Along the bottom.
    pub(crate) x_name: &'a str,
    /// Up the side.
    pub(crate) y_name: &'a str,
    /// A value along the bottom, in words.
    pub(crate) x_words: &'a dyn Fn(&u64) -> String,
    /// A value up the side, in words.
    pub(crate) y_words: &'a dyn Fn(&u64) -> String,
    /// The largest values.
    pub(crate) most: (u64, u64),
}

/// Lines over time.
pub(crate) fn lines(axes: &Axes<'_>, curves: &[Curve]) -> String {
    let until = axes.most.0.max(1);
    let step = TIME_STEPS.into_iter().find(|step| until / step <= TICKS_MOST).unwrap_or(until);
    let ticks = (0..=until / step).map(|at| at * step).collect();
    drawn(axes, (0..until).with_key_points(ticks), curves)
}

/// Lines over waits, on an axis on which a minute, an hour and a day are about as far from each other.
pub(crate) fn lines_by_wait(axes: &Axes<'_>, curves: &[Curve]) -> String {
    let until = axes.most.0.max(10);
    let ticks = WAITS.into_iter().filter(|wait| *wait < until).collect();
    drawn(axes, (1..until).log_scale().with_key_points(ticks), curves)
}

fn drawn<X>(axes: &Axes<'_>, range: X, curves: &[Curve]) -> String
where
    X: AsRangedCoord<Value = u64>,
    X::CoordDescType: Ranged<ValueType = u64> + ValueFormatter<u64>,
{
    let mut svg = String::new();
    let words = TextStyle::from((FONT, 12)).color(&INK);
    let draw = |svg: &mut String| -> Result<(), String> {
        let area = SVGBackend::with_string(svg, axes.size).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .margin_right(22)
            .x_label_area_size(38)
            .y_label_area_size(62)
            .build_cartesian_2d(range, 0..axes.most.1.max(1))
            .map_err(|error| error.to_string())?;
        chart
            .configure_mesh()
            .max_light_lines(1)
            .light_line_style(GRID.stroke_width(1))
            .bold_line_style(GRID.stroke_width(1))
            .axis_style(INK.stroke_width(1))
            .x_desc(axes.x_name)
            .y_desc(axes.y_name)
            .y_labels(5)
            .x_label_formatter(&|value| (axes.x_words)(value))
            .y_label_formatter(&|value| (axes.y_words)(value))
            .label_style(words.clone().pos(text_anchor::Pos::default()))
            .axis_desc_style(words.clone())
            .draw()
            .map_err(|error| error.to_string())?;
        for curve in curves {
            let style = ShapeStyle::from(colour(curve.colour)).stroke_width(2);
            let points = curve.points.iter().map(|(x, y)| (*x, (*y).min(axes.most.1)));
            chart.draw_series(LineSeries::new(points, style)).map_err(|error| error.to_string())?;
        }
        area.present().map_err(|error| error.to_string())
    };
    match draw(&mut svg) {
        // The label is one of ours and has nothing in it that would need escaping.
        Ok(()) => svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{}\" ", axes.label), 1),
        Err(why) => maud::html! { p { "This picture could not be drawn: " (why) } }.into_string(),
    }
}
