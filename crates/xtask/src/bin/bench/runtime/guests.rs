//! Guests launched on real parts, from the request over HTTP until the control plane says that they run.
//!
//! ```text
//!   request ── placed, ordered ── image, plan ── qemu-img ── seed, network ── virsh start ┄ guest boots ┄ banner ── ready
//!              ours               ours           not ours    ours    (OVS not) not ours    not ours      ours
//! ```
//!
//! What is left without the programs' own time and the guest's is the platform's. The root process logs when each program began
//! and ended, and when the guest's first word on SSH arrived, which is its banner. How long that word may have waited to be heard
//! is told beside it: the time since the last look that found nothing.

use super::{
    spans::{self, Log, Span, covered_us},
    stage::{self, Stage},
};
use crate::{
    figure::{Limit, Report, median, say},
    process,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::{
    fs,
    time::{Duration, Instant},
};

const ROUNDS_ALONE: usize = 9;
const ROUNDS_BOTH: usize = 3;
const LOOK_EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(300);
const OVERHEAD_MS_MAX: u64 = 300;
const AGENT_KB_MAX: u64 = 30_000;

/// Measures in a box; nothing where the machine cannot have one.
pub fn measure() -> Result<(), String> {
    let here = std::env::current_dir().map_err(|error| error.to_string())?.display().to_string();
    let Some(world) = hostbox::world_for("guests", &["guests", &here], &stage::programs()) else { return Ok(()) };
    // Who comes into a box stands at its root; reports and programs are where they were.
    let folder = std::env::args().nth(2).ok_or("nobody said where the reports go")?;
    std::env::set_current_dir(folder).map_err(|error| error.to_string())?;
    let mut report = Report::new("guests");
    let stage = Stage::open(&world)?;
    // The first brings the image to the host and fills what is filled once.
    stage.until_free()?;
    let first = launch_all(&stage, 1)?;
    release_all(&stage, &first)?;
    let (mut alone, mut both, mut cpu_ms) = (vec![], vec![], vec![]);
    for _ in 0..ROUNDS_ALONE {
        let before = own_cpu_ms(&stage);
        let launched = launch_all(&stage, 1)?;
        cpu_ms.push(own_cpu_ms(&stage) - before);
        alone.extend(parts(&stage, &launched)?);
        release_all(&stage, &launched)?;
    }
    let (mut agent_kb, mut hostd_kb) = (vec![], vec![]);
    for _ in 0..ROUNDS_BOTH {
        let launched = launch_all(&stage, 2)?;
        both.extend(parts(&stage, &launched)?);
        agent_kb.push(process::resident_kib(stage.agent.pid()) * 1024 / 1000);
        hostd_kb.push(process::resident_kib(stage.hostd.pid()) * 1024 / 1000);
        release_all(&stage, &launched)?;
    }
    figures(&mut report, &alone, &both);
    report.figure("launch_cpu", &cpu_ms, "ms", Limit::None);
    report.figure("agent_resident_two_guests", &agent_kb, "kB", Limit::AtMost(AGENT_KB_MAX));
    report.figure("hostd_resident_two_guests", &hostd_kb, "kB", Limit::None);
    keep_log(&stage);
    report.write().map_err(|error| error.to_string())
}

// The CPU time of the platform's own three processes, without the programs that they run. Whoever looks whether the guest runs
// costs the server some of it.
fn own_cpu_ms(stage: &Stage<'_>) -> u64 {
    [stage.server.pid(), stage.agent.pid(), stage.hostd.pid()].into_iter().map(process::own_cpu_ms).sum()
}

// One launch.
struct Launched {
    id: String,
    whole: Span,
}

// Where the time of a launch went, in microseconds.
struct Parts {
    whole: u64,
    overhead: u64,
    // Of the overhead: until the root process was asked to build, from there to the start of the guest, and from its banner to
    // the end.
    ordering: u64,
    building: u64,
    ending: u64,
    // Between the last look that heard nothing and the banner.
    unheard: u64,
    guest: u64,
    clone: u64,
    others: u64,
}

fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or(0);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + nanoseconds / 1000
}

fn launch_all(stage: &Stage<'_>, count: usize) -> Result<Vec<Launched>, String> {
    std::thread::scope(|scope| {
        let hands: Vec<_> = (0..count).map(|_| scope.spawn(|| launch(stage))).collect();
        hands.into_iter().map(|hand| hand.join().map_err(|_| "a launch ended badly")?).collect()
    })
}

fn launch(stage: &Stage<'_>) -> Result<Launched, String> {
    let from_us = now_us();
    let answer = stage.ask(&format!("POST {}", stage.launch_path), &stage.launch_body.to_string())?;
    let id = answer["subject_id"].as_str().ok_or_else(|| format!("no allocation in {answer}"))?.to_owned();
    until(stage, &id, "running")?;
    Ok(Launched { id, whole: Span { from_us, to_us: now_us() } })
}

fn until(stage: &Stage<'_>, id: &str, state: &str) -> Result<Value, String> {
    let begun = Instant::now();
    loop {
        let seen = stage.ask(&format!("GET /api/v1/allocations/{id}"), "")?;
        if seen["execution"] == state {
            return Ok(seen);
        }
        if seen["execution"] == "failed" || begun.elapsed() > PATIENCE {
            keep_log(stage);
            return Err(format!("{id} is not {state}: {seen}"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn release_all(stage: &Stage<'_>, launched: &[Launched]) -> Result<(), String> {
    for one in launched {
        stage.ask(&format!("POST /api/v1/allocations/{}/release", one.id), "")?;
    }
    launched.iter().try_for_each(|one| until(stage, &one.id, "released").map(drop))?;
    stage.until_free()
}

fn parts(stage: &Stage<'_>, launched: &[Launched]) -> Result<Vec<Parts>, String> {
    let log = spans::read(&stage.hostd_log()?);
    let of = |one: &Launched| parts_of(one, &log).ok_or_else(|| format!("the log does not tell of {}", one.id));
    let all = launched.iter().map(of).collect::<Result<Vec<Parts>, String>>()?;
    for Parts { whole, overhead, ordering, building, ending, unheard, guest, clone, others } in &all {
        say(&format!(
            "# us: launch {whole}, guest {guest}, qemu-img {clone}, other programs {others}; ours {overhead}: \
             ordering {ordering}, building {building}, ending {ending}; the banner was heard within {unheard}"
        ));
    }
    Ok(all)
}

// Programs whose own time is not the platform's.
fn is_foreign(line: &str) -> bool {
    ["/qemu-img ", "/virsh ", "/ovs-vsctl ", "/ovs-ofctl "].iter().any(|name| line.contains(name))
}

fn parts_of(one: &Launched, log: &Log) -> Option<Parts> {
    let whole = one.whole;
    let within = |at_us: &u64| (whole.from_us..whole.to_us).contains(at_us);
    let programs = || log.programs.iter().filter(|(span, _)| within(&span.from_us));
    // Of two launches at once each has a start of its own: the last one before its own first look.
    let own_looks = || log.not_ready_us.iter().filter(|(_, id)| *id == one.id).map(|(at_us, _)| *at_us);
    let first_look = own_looks().min()?;
    let banner_us = log.spoke_us.iter().filter(|(_, id)| *id == one.id).map(|(at_us, _)| *at_us).min()?;
    let unheard = own_looks().filter(|at_us| *at_us < banner_us).max().map_or(0, |at_us| banner_us - at_us);
    let starts = programs().filter(|(span, line)| line.contains(" start ") && span.from_us < first_look);
    let start_us = starts.map(|(span, _)| span.from_us).max()?;
    let guest = Span { from_us: start_us, to_us: banner_us };
    let of =
        |wanted: &dyn Fn(&str) -> bool| programs().filter(|(_, line)| wanted(line)).map(|(span, _)| *span).collect();
    let mut foreign: Vec<Span> = of(&is_foreign);
    let others: Vec<Span> = of(&|line| !is_foreign(line));
    let cloning: Vec<Span> = of(&|line| line.contains("/qemu-img convert"));
    foreign.push(guest);
    let asked_us = log.steps.iter().map(|(at_us, _)| *at_us).filter(|at_us| within(at_us)).min()?;
    let ours = |from_us: u64, to_us: u64| {
        let span = Span { from_us, to_us };
        span.us() - covered_us(span, &foreign)
    };
    Some(Parts {
        whole: whole.us(),
        overhead: ours(whole.from_us, whole.to_us),
        ordering: ours(whole.from_us, asked_us),
        building: ours(asked_us, start_us),
        ending: ours(banner_us, whole.to_us),
        unheard,
        guest: guest.us(),
        clone: cloning.iter().map(|span| span.us()).max().unwrap_or(0),
        others: covered_us(whole, &others),
    })
}

fn figures(report: &mut Report, alone: &[Parts], both: &[Parts]) {
    let ms = |parts: &[Parts], of: fn(&Parts) -> u64| parts.iter().map(|part| of(part) / 1000).collect::<Vec<u64>>();
    let ceiling = Limit::AtMost(OVERHEAD_MS_MAX);
    for (name, parts) in [("launch", alone), ("launch_two_at_once", both)] {
        let overhead = ms(parts, |part| part.overhead);
        report.figure(&format!("{name}_overhead"), &overhead, "ms", ceiling);
        let worst = overhead.iter().copied().max().unwrap_or(0);
        report.figure(&format!("{name}_overhead_worst"), &[worst], "ms", ceiling);
        report.figure(&format!("{name}_overhead_ordering"), &ms(parts, |part| part.ordering), "ms", Limit::None);
        report.figure(&format!("{name}_overhead_building"), &ms(parts, |part| part.building), "ms", Limit::None);
        report.figure(&format!("{name}_overhead_ending"), &ms(parts, |part| part.ending), "ms", Limit::None);
        report.figure(&format!("{name}_banner_heard_within"), &ms(parts, |part| part.unheard), "ms", Limit::None);
        report.figure(&format!("{name}_overhead_other_programs"), &ms(parts, |part| part.others), "ms", Limit::None);
    }
    // What two at once cost each other: as a whole, and where they only wait for the same disk and the same processors.
    for (name, of) in [
        ("whole", (|part: &Parts| part.whole) as fn(&Parts) -> u64),
        ("guest", |part: &Parts| part.guest),
        ("clone", |part: &Parts| part.clone),
    ] {
        let one = report.figure(&format!("launch_{name}"), &ms(alone, of), "ms", Limit::None);
        report.figure(&format!("launch_two_at_once_{name}"), &ms(both, of), "ms", Limit::AtMost(one));
    }
    let (one, two) = (median(&ms(alone, |part| part.overhead)), median(&ms(both, |part| part.overhead)));
    say(&format!("# of a launch {one} ms are the platform's, of each of two at once {two} ms"));
}

// The log says where the time went; kept for whoever asks.
fn keep_log(stage: &Stage<'_>) {
    for (from, to) in [("hostd.err", "guests.hostd.log"), ("agent.err", "guests.agent.log")] {
        let _ = fs::copy(stage.world.path(from), format!("target/bench/{to}"));
    }
}
