//! The report: one page that needs nothing else, with its pictures and its style in it, readable in light and dark; and the
//! same figures as JSON for other programs.

use crate::{
    measure::{ONE_PPM, Outcome, Sample},
    plot::{Axes, Curve, lines, lines_by_wait},
    policy::{ALL, Policy},
    questions::{Answer, Measured, answers},
    run::Comparison,
    words::{duration, gpu_hours, grouped, index, percent},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use std::fmt::Write;

const STYLE: &str = include_str!("report.css");
/// Colours of the policies, for the light and for the dark page; both can be told apart by most who see colours differently.
const COLOURS: [(&str, &str); 8] = [
    ("#6b7280", "#a8b0bc"),
    ("#a16207", "#e0b050"),
    ("#be123c", "#ff7a90"),
    ("#15803d", "#5fd38a"),
    ("#0e7490", "#4fd0e6"),
    ("#1d4ed8", "#82aaff"),
    ("#7e22ce", "#cf9bff"),
    ("#111827", "#ffffff"),
];

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    answers: Vec<Answer>,
}

/// All figures as JSON.
///
/// # Errors
/// When they cannot be written; they always can.
pub fn json(run: &Comparison) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&Whole { comparison: run, answers: answers(run) })
}

/// The page.
#[must_use]
pub fn page(run: &Comparison) -> String {
    let style = PreEscaped(format!("{STYLE}{}", colours()));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Policy lab: " (run.form) }
                style { (style) }
            }
            body {
                main {
                    (opening(run))
                    (table(run))
                    (waits(run))
                    (over_time(run))
                    (preemptions(run))
                    (starvation(run))
                    (groups(run))
                    (asked(run))
                }
            }
        }
    };
    markup.into_string()
}

// The place of a policy among all, which is its colour's.
fn place(outcome: &Outcome) -> u8 {
    let at = ALL.iter().position(|policy| policy.name() == outcome.policy);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or_default()
}

// The stand-in colours of the pictures, and those of the tables.
fn colours() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    for (at, (in_light, in_dark)) in COLOURS.iter().enumerate() {
        let rule =
            |colour: &str| format!("svg [stroke=\"#1010{at:02X}\"]{{stroke:{colour}}}.p{at}{{background:{colour}}}\n");
        light.push_str(&rule(in_light));
        dark.push_str(&rule(in_dark));
    }
    format!("{light}@media (prefers-color-scheme: dark){{{dark}}}")
}

fn opening(run: &Comparison) -> Markup {
    let kept = match run.checkpoint_s {
        0 => "nothing of what it had done".to_owned(),
        seconds => format!("what it had done at its last checkpoint ({} min apart)", grouped(seconds / 60)),
    };
    html! {
        h1 { "Policy lab" }
        p.lead {
            (grouped(run.jobs)) " jobs of " (run.teams.len()) " teams (" (run.form) "), which came over "
            (duration(run.span_s)) ", replayed on " (grouped(u64::from(run.gpus))) " GPUs under "
            (run.outcomes.len()) " policies."
        }
        p {
            "Time is virtual; every decision is made by the engine that decides in production. Jobs start with all they ask for or "
            "not at all. A job that is stopped keeps " (kept) ", and does the rest over. A wait is all the time that a job spent "
            "waiting, before it started and after it was stopped."
            @if run.left_out > 0 { " " (grouped(run.left_out)) " rows that ask for no GPU, or run for no time, are left out." }
            @if !run.several_resources {
                " " (code("This trace asks for GPUs alone, so the dominant share is the share of GPUs, and `drf` decides as `fair` does."))
            }
        }
        dl.legend {
            @for outcome in &run.outcomes {
                div {
                    dt { (name(outcome)) }
                    dd { (Policy::from_name(outcome.policy).map_or("", Policy::about)) }
                }
            }
        }
    }
}

fn name(outcome: &Outcome) -> Markup {
    html! { span.policy { i class={ "p" (place(outcome)) } {} (outcome.policy) } }
}

// A figure in a table: its text, and how good it is where less is better or more is.
struct Column {
    title: &'static str,
    text: fn(&Outcome) -> String,
    value: fn(&Outcome) -> u64,
    more_is_better: bool,
}

const COLUMNS: &[Column] = &[
    Column {
        title: "mean wait",
        text: |outcome| duration(outcome.waits.mean_s),
        value: |outcome| outcome.waits.mean_s,
        more_is_better: false,
    },
    Column {
        title: "p50",
        text: |outcome| duration(outcome.waits.p50_s),
        value: |outcome| outcome.waits.p50_s,
        more_is_better: false,
    },
    Column {
        title: "p90",
        text: |outcome| duration(outcome.waits.p90_s),
        value: |outcome| outcome.waits.p90_s,
        more_is_better: false,
    },
    Column {
        title: "p99",
        text: |outcome| duration(outcome.waits.p99_s),
        value: |outcome| outcome.waits.p99_s,
        more_is_better: false,
    },
    Column {
        title: "longest",
        text: |outcome| duration(outcome.waits.longest_s),
        value: |outcome| outcome.waits.longest_s,
        more_is_better: false,
    },
    Column {
        title: "busy",
        text: |outcome| percent(outcome.busy_ppm),
        value: |outcome| outcome.busy_ppm,
        more_is_better: true,
    },
    Column {
        title: "Jain",
        text: |outcome| index(outcome.jain_ppm),
        value: |outcome| outcome.jain_ppm,
        more_is_better: true,
    },
    Column {
        title: "share gap",
        text: |outcome| percent(outcome.gap_ppm),
        value: |outcome| outcome.gap_ppm,
        more_is_better: false,
    },
    Column {
        title: "stops",
        text: |outcome| grouped(outcome.stops.count),
        value: |outcome| outcome.stops.count,
        more_is_better: false,
    },
    Column {
        title: "lost work",
        text: |outcome| gpu_hours(outcome.stops.lost_gpu_s),
        value: |outcome| outcome.stops.lost_gpu_s,
        more_is_better: false,
    },
    Column {
        title: "turnaround",
        text: |outcome| duration(outcome.turnaround_mean_s),
        value: |outcome| outcome.turnaround_mean_s,
        more_is_better: false,
    },
];

fn best(run: &Comparison, column: &Column) -> Option<u64> {
    let values = run.outcomes.iter().map(column.value);
    if column.more_is_better { values.max() } else { values.min() }
}

fn table(run: &Comparison) -> Markup {
    html! {
        h2 { "All policies" }
        div.wide {
            table {
                thead { tr { th { "policy" } @for column in COLUMNS { th { (column.title) } } } }
                tbody {
                    @for outcome in &run.outcomes {
                        tr {
                            th scope="row" { (name(outcome)) }
                            @for column in COLUMNS {
                                td.best[best(run, column) == Some((column.value)(outcome))] { ((column.text)(outcome)) }
                            }
                        }
                    }
                }
            }
        }
        p.note {
            "Busy is the part of the GPUs in use while jobs came, lost work included. Jain index and share gap are means over the "
            "time in which somebody waited. Figures that no policy betters are in bold."
        }
        @if run.outcomes.iter().any(|outcome| outcome.unfinished > 0) {
            p.warning {
                "Some jobs never ended: "
                @for outcome in run.outcomes.iter().filter(|outcome| outcome.unfinished > 0) {
                    (outcome.policy) " " (grouped(outcome.unfinished)) ". "
                }
            }
        }
    }
}

fn legend(run: &Comparison) -> Markup {
    html! { p.names { @for outcome in &run.outcomes { (name(outcome)) " " } } }
}

fn waits(run: &Comparison) -> Markup {
    // An axis by tens has no zero: who did not wait stands at one second.
    let curve = |outcome: &Outcome| Curve {
        colour: place(outcome),
        points: outcome.wait_curve.iter().map(|(wait, part)| ((*wait).max(1), *part)).collect(),
    };
    let curves: Vec<Curve> = run.outcomes.iter().map(curve).collect();
    let longest = run.outcomes.iter().map(|outcome| outcome.waits.longest_s).max().unwrap_or(1);
    let axes = Axes {
        size: (900, 340),
        label: "Part of the jobs that waited no longer than a time, for each policy",
        x_name: "wait, from seconds to days",
        y_name: "% of the jobs",
        x_words: &|seconds| round(*seconds),
        y_words: &|ppm| format!("{} %", ppm / 10_000),
        most: (longest.saturating_add(1), ONE_PPM),
    };
    html! {
        h2 { "Waits" }
        figure data-plot="waits" {
            figcaption { (title("Jobs that waited no longer than so long", "% of all jobs")) }
            div.wide { (PreEscaped(lines_by_wait(&axes, &curves))) }
            (legend(run))
        }
    }
}

const SINCE_START: &str = "time since the first job came";

// A figure's title, and what is counted.
fn title(what: &str, unit: &str) -> Markup {
    html! { strong { (what) } " (" (unit) ")" }
}

// A time that is a round one.
fn round(seconds: u64) -> String {
    match seconds {
        0 => "0".to_owned(),
        _ if seconds.is_multiple_of(86_400) => format!("{} d", seconds / 86_400),
        _ if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

// One value of each sample, where it stands in time.
fn through(outcome: &Outcome, value: impl Fn(&Sample) -> u64) -> Vec<(u64, u64)> {
    let width = outcome.series.width_s;
    (0_u64..).zip(&outcome.series.samples).map(|(at, sample)| (at * width + width / 2, value(sample))).collect()
}

fn over_time(run: &Comparison) -> Markup {
    let until = run.outcomes.iter().map(|outcome| outcome.makespan_s).max().unwrap_or(1);
    let axes = |label, y_name, most| Axes {
        size: (400, 200),
        label,
        x_name: SINCE_START,
        y_name,
        x_words: &|seconds| round(*seconds),
        y_words: &|ppm| format!("{} %", ppm / 10_000),
        most: (until, most),
    };
    let small = |outcome: &Outcome, axes: &Axes<'_>, value: &dyn Fn(&Sample) -> u64| {
        let colour = place(outcome);
        PreEscaped(lines(axes, &[Curve { colour, points: through(outcome, value) }]))
    };
    let gap_most = run.outcomes.iter().flat_map(|outcome| through(outcome, Sample::gap_ppm)).map(|(_, gap)| gap).max();
    let jain = Axes { y_words: &|ppm| index(*ppm), ..axes("Jain index over time", "Jain index", ONE_PPM) };
    let busy = axes("Part of the GPUs in use over time", "% of the GPUs", ONE_PPM);
    let gap = axes("Gap between dominant shares over time", "% of the GPUs", gap_most.unwrap_or(ONE_PPM));
    let rows = |kind: &str, what: &str, of: &dyn Fn(&Outcome) -> PreEscaped<String>| {
        html! {
            div.grid {
                @for outcome in &run.outcomes {
                    figure data-plot={ (kind) "-" (outcome.policy) } {
                        figcaption { (name(outcome)) ": " (what) }
                        (of(outcome))
                    }
                }
            }
        }
    };
    html! {
        h2 { "Jobs that wait" }
        (queue_plot(run, until))
        h2 { "Utilisation over time" }
        p { "GPUs in use, lost work included, from when the first job came to when the last one ended." }
        (rows("utilisation", "GPUs in use", &|outcome| small(outcome, &busy, &|sample| sample.busy_ppm(run.gpus))))
        h2 { "Fairness over time" }
        p {
            "The Jain index of what teams use of what they are due: one is perfectly fair. Where nobody waits there is nothing to "
            "be fair about, and it is one."
        }
        (rows("fairness", "Jain index", &|outcome| small(outcome, &jain, &Sample::jain_ppm)))
        p { "The gap between the largest dominant share and the smallest of a team that waits; none is perfectly even." }
        (rows("gap", "share gap", &|outcome| small(outcome, &gap, &Sample::gap_ppm)))
    }
}

fn queue_plot(run: &Comparison, until: u64) -> Markup {
    let mean = |sample: &Sample| sample.waiting / sample.seconds.max(1);
    let curves: Vec<Curve> =
        run.outcomes.iter().map(|outcome| Curve { colour: place(outcome), points: through(outcome, mean) }).collect();
    let most = curves.iter().flat_map(|curve| &curve.points).map(|(_, waiting)| *waiting).max().unwrap_or(1);
    let axes = Axes {
        size: (900, 280),
        label: "Jobs that wait over time, for each policy",
        x_name: SINCE_START,
        y_name: "jobs",
        x_words: &|seconds| round(*seconds),
        y_words: &|count| grouped(*count),
        most: (until, most),
    };
    html! {
        figure data-plot="queue" {
            figcaption { (title("Jobs that wait", "how many")) }
            div.wide { (PreEscaped(lines(&axes, &curves))) }
            (legend(run))
        }
    }
}

// Bars as wide as their value.
fn bars(
    run: &Comparison,
    kind: &str,
    about: Markup,
    value: impl Fn(&Outcome) -> u64,
    text: impl Fn(&Outcome) -> String,
) -> Markup {
    let most = run.outcomes.iter().map(&value).max().unwrap_or(0).max(1);
    let width = |outcome: &Outcome| u128::from(value(outcome)) * 1000 / u128::from(most);
    html! {
        figure data-plot=(kind) {
            figcaption { (about) }
            div.bars {
                @for outcome in &run.outcomes {
                    (name(outcome))
                    div.bar { i class={ "p" (place(outcome)) } style={ "width:" (width(outcome) / 10) "." (width(outcome) % 10) "%" } {} }
                    span.value { (text(outcome)) }
                }
            }
        }
    }
}

fn preemptions(run: &Comparison) -> Markup {
    let unlucky = |outcome: &Outcome| match outcome.stops.most {
        0 => "nobody".to_owned(),
        most => format!("{most} times, line {}", outcome.stops.most_line),
    };
    html! {
        h2 { "Preemptions" }
        (bars(run, "stops", title("Stops", "how often a job was stopped for another"), |outcome| outcome.stops.count, |outcome| grouped(outcome.stops.count)))
        (bars(run, "lost", title("Work that had to be done over", "GPU-hours"), |outcome| outcome.stops.lost_gpu_s, |outcome| gpu_hours(outcome.stops.lost_gpu_s)))
        div.wide {
            table {
                thead {
                    tr {
                        th { "policy" } th { "stops" } th { "by class" } th { "reclaimed" } th { "by fair share" } th { "jobs stopped" }
                        th { "most stopped job" } th { "lost GPU-hours" } th { "cut short" }
                    }
                }
                tbody {
                    @for outcome in &run.outcomes {
                        tr {
                            th scope="row" { (name(outcome)) }
                            td { (grouped(outcome.stops.count)) }
                            td { (grouped(outcome.stops.by_priority)) }
                            td { (grouped(outcome.stops.by_reclaim)) }
                            td { (grouped(outcome.stops.by_fair_share)) }
                            td { (grouped(outcome.stops.jobs)) }
                            td { (unlucky(outcome)) }
                            td { (grouped(outcome.stops.lost_gpu_s / 3600)) }
                            td { (grouped(outcome.stops.cut)) }
                        }
                    }
                }
            }
        }
        p.note { "Cut short: moments at which rules undid what they had just done, until the replay went on without them." }
    }
}

fn starvation(run: &Comparison) -> Markup {
    html! {
        h2 { "Starvation" }
        (bars(run, "longest", title("The longest wait of any job", "time"), |outcome| outcome.waits.longest_s, |outcome| duration(outcome.waits.longest_s)))
        (bars(run, "over-a-day", title("Jobs that waited for more than a day", "how many"), |outcome| outcome.waits.over_a_day, |outcome| grouped(outcome.waits.over_a_day)))
    }
}

fn groups(run: &Comparison) -> Markup {
    let some = run.outcomes.first();
    let heads = |first: &str, names: Vec<String>| html! { thead { tr { th { (first) } @for name in names { th { (name) } } } } };
    let classes = some.map_or(vec![], |first| {
        first.by_class.iter().chain(&first.by_size).map(|(name, _)| (*name).to_owned()).collect()
    });
    html! {
        h2 { "Who waits" }
        p { "Mean waits by class of priority and by size of the job; then by team, with its quota in GPUs." }
        div.wide {
            table {
                (heads("policy", classes))
                tbody {
                    @for outcome in &run.outcomes {
                        tr {
                            th scope="row" { (name(outcome)) }
                            @for (_, waits) in outcome.by_class.iter().chain(&outcome.by_size) { td { (duration(waits.mean_s)) } }
                        }
                    }
                }
            }
        }
        div.wide {
            table {
                (heads("team", ["jobs", "quota"].map(str::to_owned).into_iter().chain(run.outcomes.iter().map(|outcome| outcome.policy.to_owned())).collect()))
                tbody {
                    @for (at, (team, quota)) in run.teams.iter().enumerate() {
                        tr {
                            th scope="row" { (team) }
                            td { (grouped(some.and_then(|first| first.by_team.get(at)).map_or(0, |(_, waits)| waits.jobs))) }
                            td { (quota / 1000) }
                            @for outcome in &run.outcomes {
                                td { (outcome.by_team.get(at).map_or_else(String::new, |(_, waits)| duration(waits.mean_s))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn asked(run: &Comparison) -> Markup {
    let answers = answers(run);
    html! {
        h2 { "Questions, answered with this run" }
        @for topic in answers.chunk_by(|one, other| one.topic == other.topic) {
            h3 { (topic.first().map_or("", |answer| answer.topic)) }
            @for answer in topic {
                details open {
                    summary { (answer.question) }
                    p { (code(answer.answer)) }
                    div.measured {
                        p { b { "Run: " } (code(&answer.ran)) }
                        @for one in &answer.measured { (measured(one)) }
                        p { b { "Meaning: " } (code(&answer.means)) }
                    }
                }
            }
        }
    }
}

fn measured(one: &Measured) -> Markup {
    html! {
        dl.figures {
            dt { (one.what) }
            @if one.figures.is_empty() { dd { "not measured, because none of the policies that show it was compared" } }
            @for (under, figure) in &one.figures { dd { span.under { (under) } " " (figure) } }
        }
    }
}

// Names between backticks stand out.
fn code(text: &str) -> PreEscaped<String> {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        let part = html! { (part) }.into_string();
        let _ = if at % 2 == 1 { write!(out, "<code>{part}</code>") } else { write!(out, "{part}") };
    }
    PreEscaped(out)
}
