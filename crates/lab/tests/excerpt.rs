//! What the policies must do on work that was really done: 500 jobs of the Philly trace.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use lab::{
    policy::{ALL, Policy},
    questions::answers,
    replay::{Replayed, replay},
    report,
    run::{Comparison, compare},
    stage::{Setup, Stage},
    trace::{Trace, read},
};
use std::sync::OnceLock;

const EXCERPT: &str = include_str!("data/philly_excerpt.csv");

fn trace() -> Trace {
    read(EXCERPT, None).unwrap()
}

fn replayed(trace: &Trace, policy: Policy) -> Replayed {
    let setup = Setup::default();
    replay(trace, &Stage::new(trace, &setup).unwrap(), &setup, policy).unwrap()
}

// All policies, compared once for all tests.
fn comparison() -> &'static Comparison {
    static ONCE: OnceLock<Comparison> = OnceLock::new();
    ONCE.get_or_init(|| compare(&trace(), &Setup::default(), &ALL).unwrap())
}

#[test]
fn the_same_trace_gives_the_same_report() {
    let again = || compare(&read(EXCERPT, Some(200)).unwrap(), &Setup::default(), &ALL).unwrap();
    let (one, other) = (again(), again());
    assert_eq!(report::json(&one).unwrap(), report::json(&other).unwrap());
    assert_eq!(report::page(&one), report::page(&other));
}

#[test]
fn every_job_is_done_under_every_policy_and_the_work_is_the_same() {
    let whole: u64 = trace().jobs.iter().map(|job| job.asks.gpu_milli / 1000 * job.run_s).sum();
    for outcome in &comparison().outcomes {
        assert_eq!((outcome.unfinished, outcome.done_gpu_s), (0, whole), "{}", outcome.policy);
        // What kept GPUs busy is what was done and what was lost, and nothing else.
        let busy = outcome.series.whole().busy / 1000;
        assert_eq!(busy, whole + outcome.stops.lost_gpu_s, "{}", outcome.policy);
        let most = outcome.series.samples.iter().map(|sample| sample.busy_ppm(comparison().gpus)).max();
        assert!(most.unwrap() <= 1_000_000, "{}: more in use than there is", outcome.policy);
    }
}

#[test]
fn policies_without_preemption_stop_nobody_and_the_others_do() {
    for outcome in &comparison().outcomes {
        let stops_jobs = Policy::from_name(outcome.policy).unwrap().stops_jobs();
        assert_eq!(outcome.stops.count > 0, stops_jobs, "{}", outcome.policy);
        let by_rule = outcome.stops.by_priority + outcome.stops.by_reclaim + outcome.stops.by_fair_share;
        assert_eq!(outcome.stops.count, by_rule);
    }
}

#[test]
fn fifo_starts_jobs_in_the_order_in_which_they_came() {
    let trace = trace();
    let fates = replayed(&trace, Policy::Fifo).fates;
    assert!(fates.is_sorted_by_key(|fate| fate.started_s));
    assert!(fates.iter().any(|fate| fate.waited_s > 0), "nobody waited, so nothing is shown");
}

#[test]
fn lifo_starts_nobody_while_somebody_newer_waits() {
    let trace = trace();
    let fates = replayed(&trace, Policy::Lifo).fates;
    let mut overtaken = 0;
    for (at, older) in fates.iter().enumerate() {
        let (came, started) = (trace.jobs[at].submitted_s, older.started_s.unwrap());
        for (newer, job) in fates.iter().zip(&trace.jobs).skip(at + 1).filter(|(_, job)| job.submitted_s > came) {
            let waits_then = job.submitted_s <= started && newer.started_s.unwrap() > started;
            assert!(!waits_then, "line {} started before line {}", trace.jobs[at].line, job.line);
            overtaken += u32::from(newer.started_s.unwrap() < started);
        }
    }
    assert!(overtaken > 0, "nobody was overtaken, so nothing is shown");
}

#[test]
fn strict_priority_serves_the_higher_class_better() {
    let strict = comparison().of(Policy::Priority).unwrap();
    let waits: Vec<u64> = strict.by_class.iter().map(|(_, waits)| waits.mean_s).collect();
    assert!(waits[2] <= waits[1] && waits[1] < waits[0], "{waits:?}");
    let trace = trace();
    let fates = replayed(&trace, Policy::Priority).fates;
    // Nobody of the highest class can be stopped, because nobody is higher.
    assert!(fates.iter().zip(&trace.jobs).all(|(fate, job)| job.priority < 2 || fate.stops == 0));
}

#[test]
fn fair_sharing_is_fairer_than_first_come() {
    let jain = |policy| comparison().of(policy).unwrap().jain_ppm;
    assert!(jain(Policy::Fair) > jain(Policy::Fifo), "{} against {}", jain(Policy::Fair), jain(Policy::Fifo));
    assert!(jain(Policy::Gpuaas) > jain(Policy::Fair));
}

#[test]
fn with_one_resource_the_dominant_share_is_the_share() {
    let (fair, drf) = (comparison().of(Policy::Fair).unwrap(), comparison().of(Policy::Drf).unwrap());
    assert_eq!((fair.waits, &fair.series), (drf.waits, &drf.series));
}

#[test]
fn with_several_resources_it_is_not() {
    // Both teams ask for GPUs alike, one of them for many processors, too. By GPUs both are served alike; by dominant share
    // the one with the processors has enough sooner.
    let mut text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,creation_time,deletion_time\n".to_owned();
    for at in 0..40 {
        text += &format!("g{at},1000,1024,2,1000,LS,{at},{}\nc{at},6000,1024,2,1000,BE,{at},{}\n", at + 600, at + 600);
    }
    let trace = read(&text, None).unwrap();
    let setup = Setup { gpus: Some(16), ..Setup::default() };
    let run = compare(&trace, &setup, &[Policy::Fair, Policy::Drf]).unwrap();
    assert!(run.several_resources);
    let gap = |policy| run.of(policy).unwrap().gap_ppm;
    assert!(gap(Policy::Drf) < gap(Policy::Fair), "{} against {}", gap(Policy::Drf), gap(Policy::Fair));
}

#[test]
fn a_gang_starts_whole_and_never_on_part_of_what_it_asks_for() {
    let rows = "2017-10-09 07:00:00,100,5,0,a\n2017-10-09 07:00:01,50,8,0,b\n2017-10-09 07:00:02,10,3,0,a\n";
    let trace = read(&format!("timestamp,duration,num_gpus,gpu_time,cluster\n{rows}"), None).unwrap();
    let setup = Setup { gpus: Some(8), ..Setup::default() };
    let stage = Stage::new(&trace, &setup).unwrap();
    let started = |policy| {
        let fates = replay(&trace, &stage, &setup, policy).unwrap().fates;
        fates.iter().map(|fate| fate.started_s.unwrap()).collect::<Vec<_>>()
    };
    // Three GPUs are free from the start; the gang of eight waits for all of them.
    assert_eq!(started(Policy::Fifo), [0, 100, 150], "the third waits behind the gang");
    assert_eq!(started(Policy::Fair), [0, 100, 2], "the third slips past");
}

#[test]
fn what_is_lost_depends_on_checkpoints() {
    // The low job runs for 5000 s when the high one comes; of that 3600 s are kept, or nothing.
    let low = "2017-10-09 07:00:00,9000,8,0,a\n".to_owned();
    let filler = "2017-10-09 07:00:00,0,1,0,a\n".repeat(8);
    let high = "2017-10-09 08:23:20,10,8,0,a\n";
    let text = |first: &str| format!("timestamp,duration,num_gpus,gpu_time,cluster\n{first}{low}{filler}{high}");
    // The first row of ten is high, so a row that runs for no time goes before the low one.
    let trace = read(&text("2017-10-09 07:00:00,0,1,0,a\n"), None).unwrap();
    assert_eq!(trace.jobs.iter().map(|job| job.priority).collect::<Vec<_>>(), [1, 2]);
    let lost = |checkpoint_s| {
        let setup = Setup { gpus: Some(8), checkpoint_s, ..Setup::default() };
        let outcome = replay(&trace, &Stage::new(&trace, &setup).unwrap(), &setup, Policy::Priority).unwrap().outcome;
        (outcome.stops.count, outcome.stops.lost_gpu_s, outcome.makespan_s)
    };
    assert_eq!(lost(3600), (1, 1400 * 8, 9000 + 1400 + 10));
    assert_eq!(lost(0), (1, 5000 * 8, 9000 + 5000 + 10));
}

#[test]
fn ageing_helps_the_lowest_class_and_models_and_quotas_matter() {
    let asides = &comparison().asides;
    assert!(asides.classes_rise.about.mean_s < asides.classes_fixed.about.mean_s);
    assert!(asides.one_model.waits.mean_s > asides.any_model.waits.mean_s, "being particular costs");
    let lent = &asides.without_quota;
    assert_eq!(
        (lent.about_ended, lent.about.jobs),
        (lent.about.jobs, asides.with_quota.about.jobs),
        "all ran, on what was lent"
    );
}

#[test]
fn the_page_is_well_formed_and_has_every_plot() {
    let page = report::page(comparison());
    let start = page.find("<main>").unwrap();
    let end = page.find("</main>").unwrap() + "</main>".len();
    let mut reader = quick_xml::Reader::from_str(&page[start..end]);
    let mut depth = 0_i32;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(_) => depth += 1,
            quick_xml::events::Event::End(_) => depth -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    let mut plots = ["waits", "queue", "stops", "lost", "longest", "over-a-day"].map(str::to_owned).to_vec();
    for policy in ALL {
        plots.extend(["utilisation", "fairness", "gap"].map(|kind| format!("{kind}-{}", policy.name())));
    }
    for plot in plots {
        assert_eq!(page.matches(&format!("data-plot=\"{plot}\"")).count(), 1, "{plot}");
    }
    assert_eq!(page.matches("<svg ").count(), 2 + 3 * ALL.len());
    assert!(!page.contains("could not be drawn"));
    for foreign in ["<script", "<link", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(foreign), "the page asks for something elsewhere: {foreign}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
}

#[test]
fn every_question_is_answered_with_figures_of_the_run() {
    let all = answers(comparison());
    assert_eq!(all.len(), 20);
    for answer in &all {
        let has_digit = |text: &str| text.chars().any(|letter| letter.is_ascii_digit());
        assert!(has_digit(&answer.ran) && !answer.means.is_empty(), "{}", answer.question);
        for one in &answer.measured {
            assert!(one.figures.iter().any(|(_, figure)| has_digit(figure)), "{}: {}", answer.question, one.what);
        }
    }
    // Figures come from the run: another run has others, and a policy that was not compared has none.
    let one = compare(&trace(), &Setup { gpus: Some(128), ..Setup::default() }, &[Policy::Fifo]).unwrap();
    let other = answers(&one);
    let same = all.iter().zip(&other).filter(|(one, other)| one.measured == other.measured).count();
    assert!(same <= 6, "{same} of the answers do not depend on the run");
    assert!(other.iter().any(|answer| answer.measured.iter().all(|one| one.figures.is_empty())));
    assert!(report::page(&one).contains("not measured, because none of"));
}

#[test]
fn names_in_a_trace_are_escaped() {
    let rows = "2017-10-09 07:00:00,100,5,0,<b>&\n";
    let trace = read(&format!("timestamp,duration,num_gpus,gpu_time,cluster\n{rows}"), None).unwrap();
    let page = report::page(&compare(&trace, &Setup::default(), &[Policy::Fifo]).unwrap());
    assert!(page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&"));
}
