//! What people ask about schedulers before they trust one, answered for this engine and shown with figures of the run at hand.
//! The answer says what holds; the figures are taken from the comparison and say nothing where a policy was not compared.

use crate::{
    measure::Outcome,
    policy::Policy::{self, Drf, Fair, Fifo, Gpuaas, Kai, Kueue, Lifo, Priority},
    run::{AGEING_S, Aside, Comparison},
    words::{duration, gpu_hours, grouped, index, percent},
};
use serde::Serialize;

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// What it is about.
    pub topic: &'static str,
    /// What is asked.
    pub question: &'static str,
    /// What holds.
    pub answer: &'static str,
    /// What this run shows.
    pub measured: String,
}

// One figure of each of these policies that was compared.
fn each(run: &Comparison, policies: &[Policy], figure: impl Fn(&Outcome) -> String) -> String {
    let known = policies.iter().filter_map(|policy| run.of(*policy));
    let all: Vec<String> = known.map(|outcome| format!("{} {}", outcome.policy, figure(outcome))).collect();
    if all.is_empty() {
        let names: Vec<&str> = policies.iter().map(|policy| policy.name()).collect();
        return format!("not measured, because none of {} was compared", names.join(", "));
    }
    all.join("; ")
}

// Mean waits of the classes, lowest first.
fn classes(outcome: &Outcome) -> String {
    let each = outcome.by_class.iter().map(|(name, waits)| format!("{name} {}", duration(waits.mean_s)));
    each.collect::<Vec<String>>().join(" / ")
}

fn sizes(outcome: &Outcome) -> String {
    let each = outcome.by_size.iter().map(|(name, waits)| format!("{name}: {}", duration(waits.mean_s)));
    each.collect::<Vec<String>>().join(", ")
}

// The teams that wait least and longest on average, of those with enough jobs to speak of an average.
fn extremes(outcome: &Outcome) -> String {
    let teams = || outcome.by_team.iter().filter(|(_, waits)| waits.jobs >= 10);
    let (least, most) = (teams().min_by_key(|(_, waits)| waits.mean_s), teams().max_by_key(|(_, waits)| waits.mean_s));
    let say = |(name, waits): &(String, crate::measure::Waits)| format!("{name} {}", duration(waits.mean_s));
    match (least, most) {
        (Some(least), Some(most)) => format!("from {} to {}", say(least), say(most)),
        _ => "no team with ten jobs".to_owned(),
    }
}

fn high(outcome: &Outcome) -> String {
    outcome.by_class.last().map_or_else(String::new, |(_, waits)| duration(waits.mean_s))
}

fn stops(outcome: &Outcome) -> String {
    let stops = &outcome.stops;
    format!(
        "{} ({} by class, {} reclaimed, {} by fair share)",
        grouped(stops.count),
        grouped(stops.by_priority),
        grouped(stops.by_reclaim),
        grouped(stops.by_fair_share)
    )
}

fn about(aside: &Aside) -> String {
    format!("mean {}, longest {}", duration(aside.about.mean_s), duration(aside.about.longest_s))
}

/// All questions, answered.
#[must_use]
pub fn answers(run: &Comparison) -> Vec<Answer> {
    let mut all = fairness(run);
    all.extend(priority(run));
    all.extend(preemption(run));
    all.extend(models(run));
    all.extend(ownership(run));
    all
}

fn fairness(run: &Comparison) -> Vec<Answer> {
    let topic = "Scheduling and fairness";
    vec![
        Answer {
            topic,
            question: "What problem does fairness solve that priority does not?",
            answer: "Priority says which job matters more; it does not say how much one team may take. A team that sends many \
                     jobs of the same class gets as much as it sends. Fair sharing serves the team with the smallest share \
                     next, so what a team gets depends on its weight and not on how much it asks for.",
            measured: format!(
                "Jain index while somebody waited: {}. Mean wait by team: {}.",
                each(run, &[Priority, Fifo, Fair, Gpuaas], |outcome| index(outcome.jain_ppm)),
                each(run, &[Priority, Fair, Gpuaas], extremes),
            ),
        },
        Answer {
            topic,
            question: "When does fairness actively hurt critical workloads?",
            answer: "When the critical job belongs to a team that already has its share, or needs many GPUs at once: fair \
                     sharing without classes makes it wait behind other teams' unimportant work, and small jobs slip past \
                     a large gang.",
            measured: format!(
                "Mean wait of the highest class: {}. Mean wait by size: {}.",
                each(run, &[Priority, Fair, Drf, Gpuaas], high),
                each(run, &[Fifo, Fair], sizes),
            ),
        },
        Answer {
            topic,
            question: "Can FIFO ever be fair? When?",
            answer: "Yes: while nobody waits every order is fair, and where teams send alike, the order of coming is the order \
                     of shares. Once one team sends a burst, everybody stands behind it. LIFO is no cure: it serves whoever \
                     sends last, and the oldest jobs starve.",
            measured: format!(
                "Time in which somebody waited: {}. Jain index in that time: {}. Longest wait: {}.",
                each(run, &[Fifo], |outcome| {
                    let whole = outcome.series.whole();
                    percent(whole.contended_s.saturating_mul(1_000_000) / whole.seconds.max(1))
                }),
                each(run, &[Fifo, Lifo, Fair], |outcome| index(outcome.jain_ppm)),
                each(run, &[Fifo, Lifo, Fair], |outcome| duration(outcome.waits.longest_s)),
            ),
        },
    ]
}

fn priority(run: &Comparison) -> Vec<Answer> {
    let topic = "Priority";
    let Comparison { asides, .. } = run;
    vec![
        Answer {
            topic,
            question: "What does \u{201c}priority\u{201d} actually mean in each system?",
            answer: "Under `priority`, everything: the place in the one line, and the right to stop lower classes. Under `kueue` \
                     and `gpuaas`, the place among the jobs of one team, and whom the team's own jobs may stop; between teams \
                     quota and shares come first. Under `kai` the same inside a queue. Under `fifo`, `lifo`, `fair` and `drf` \
                     it means nothing.",
            measured: format!(
                "Mean wait by class: {}.",
                each(run, &[Fifo, Priority, Fair, Kueue, Kai, Gpuaas], classes)
            ),
        },
        Answer {
            topic,
            question: "Is priority absolute or relative?",
            answer: "Absolute in one line of strict priority: no number of low jobs outweighs a high one. Relative where teams \
                     have quota: a high job of a team beyond its share waits while a low one of a team below its share runs.",
            measured: format!(
                "How much longer the lowest class waits than the highest: {}.",
                each(run, &[Priority, Kueue, Kai, Gpuaas], |outcome| {
                    let of = |at: usize| outcome.by_class.get(at).map_or(0, |(_, waits)| waits.mean_s);
                    match of(0).saturating_mul(10).checked_div(of(2)) {
                        Some(tenths) => format!("{}.{} times", grouped(tenths / 10), tenths % 10),
                        None => "without limit (high ones do not wait)".to_owned(),
                    }
                }),
            ),
        },
        Answer {
            topic,
            question: "Can low-priority workloads starve forever?",
            answer: "Under strict priority yes, for as long as higher classes keep coming. Quota puts an end to it between \
                     teams, ageing puts an end to it inside one.",
            measured: format!(
                "Longest wait of the lowest class: {}. Waits of more than a day, all classes: {}.",
                each(run, &[Fifo, Priority, Gpuaas], |outcome| {
                    outcome.by_class.first().map_or_else(String::new, |(_, waits)| duration(waits.longest_s))
                }),
                each(run, &[Fifo, Lifo, Priority, Fair, Kueue, Kai, Gpuaas], |outcome| {
                    grouped(outcome.waits.over_a_day)
                }),
            ),
        },
        Answer {
            topic,
            question: "Can priority change dynamically at runtime?",
            answer: "Yes. The engine gives a job that waits its new place at once; nothing is submitted again. Raising those that \
                     wait is such a change.",
            measured: format!(
                "{} jobs of the busiest time on {} GPUs under `priority`, lowest class: with fixed classes {}; raised by a class \
                 after every {} of waiting {}.",
                grouped(asides.jobs),
                asides.gpus,
                about(&asides.classes_fixed),
                duration(u64::from(AGEING_S)),
                about(&asides.classes_rise),
            ),
        },
    ]
}

fn preemption(run: &Comparison) -> Vec<Answer> {
    let topic = "Preemption";
    let Comparison { asides, .. } = run;
    let stopping = [Priority, Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "What triggers preemption?",
            answer: "A job that waits, has a right to what it asks for, and does not find it free: a higher class in the same \
                     queue, a team that wants back what it lent, or a team whose share is smaller. No timer, and no load limit.",
            measured: format!("Stops: {}.", each(run, &stopping, stops)),
        },
        Answer {
            topic,
            question: "Is preemption deterministic or best-effort?",
            answer: "Here it is deterministic: the same work at the same times stops the same jobs, because victims are taken in a \
                     total order (lowest class, then latest start, then identity). Whether rules come to rest is another matter: \
                     some can undo at once what they just did.",
            measured: format!(
                "Moments at which rules went round in circles and were cut short: {}.",
                each(run, &stopping, |outcome| grouped(outcome.stops.cut)),
            ),
        },
        Answer {
            topic,
            question: "Can partial preemption exist in GPU?",
            answer: "Only for a job that says it can run on fewer GPUs; then the engine shrinks it before it stops anybody. A gang \
                     that needs all its GPUs is worth nothing without one of them, so it goes whole.",
            measured: format!(
                "No job of this trace says that it can run on less, so all {} stops took a whole job; {}.",
                grouped(run.outcomes.iter().map(|outcome| outcome.stops.count).sum()),
                each(run, &stopping, |outcome| format!("{} jobs at least once", grouped(outcome.stops.jobs))),
            ),
        },
        Answer {
            topic,
            question: "What are the risks of aggressive preemption?",
            answer: "Work is done twice, and a job that is stopped again before its next checkpoint gets nowhere. Checkpoints bound \
                     what one stop costs; a time that nobody takes away, fewest victims and a dead zone bound how many there are.",
            measured: format!(
                "Lost work: {}. {} jobs under `priority`: {} stops; with checkpoints mean wait {}, without any {}.",
                each(run, &stopping, |outcome| gpu_hours(outcome.stops.lost_gpu_s)),
                grouped(asides.jobs),
                grouped(asides.classes_fixed.stops),
                duration(asides.classes_fixed.waits.mean_s),
                duration(asides.no_checkpoints.waits.mean_s),
            ),
        },
        Answer {
            topic,
            question: "How does preemption impact user trust?",
            answer: "A user remembers the job that was stopped five times, not the mean. So the worst case counts, and every stop \
                     must say by whom, under which rule and what happens next.",
            measured: format!(
                "The most often stopped job: {}.",
                each(run, &stopping, |outcome| match outcome.stops.most {
                    0 => "none".to_owned(),
                    most => format!("{most} times (line {} of the trace)", outcome.stops.most_line),
                }),
            ),
        },
    ]
}

fn models(run: &Comparison) -> Vec<Answer> {
    let topic = "GPU semantics";
    let Comparison { asides, .. } = run;
    let either =
        |aside: &Aside| format!("mean wait {}, p99 {}", duration(aside.waits.mean_s), duration(aside.waits.p99_s));
    vec![
        Answer {
            topic,
            question: "How does the system reason about GPU types?",
            answer: "A model is a flavor with quota of its own. A queue lists its flavors in order of preference; a job gets the \
                     first that suits and has room, else the best of those that would do with borrowing or with others going.",
            measured: format!(
                "{} jobs of the busiest time on {} GPUs, half of each of two models, under `fair`: {} of the GPUs busy.",
                grouped(asides.jobs),
                asides.gpus,
                percent(asides.any_model.busy_ppm),
            ),
        },
        Answer {
            topic,
            question: "Can it distinguish between \u{201c}any GPU\u{201d} and \u{201c}specific GPU models\u{201d}?",
            answer: "Yes: a job that names a model waits for that model even while another is free; one that names none takes \
                     either. What being particular costs depends on how the wishes fall.",
            measured: format!(
                "The same jobs: every job takes either model, {}; every job wants one of the two, {}.",
                either(&asides.any_model),
                either(&asides.one_model),
            ),
        },
        Answer {
            topic,
            question: "How does heterogeneity affect fairness?",
            answer: "Shares are summed over flavors, so a team that can only use one model competes for half of the GPUs and is \
                     measured against all of them. Where models differ in speed, equal counts are not equal work, and weights \
                     have to say so.",
            measured: format!(
                "Jain index: either model {}, one model {}.",
                index(asides.any_model.jain_ppm),
                index(asides.one_model.jain_ppm),
            ),
        },
    ]
}

fn ownership(run: &Comparison) -> Vec<Answer> {
    let topic = "Quotas and ownership";
    let Comparison { asides, .. } = run;
    let largest = run.teams.iter().map(|(_, milli)| *milli).max().unwrap_or(0).max(0).unsigned_abs() / 1000;
    let quoted = [Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "How is GPU ownership expressed?",
            answer: "As nominal quota of a queue in a tree: so many GPUs of a flavor are a team's own, the rest of the tree may \
                     borrow what it does not use, and a lending limit says what it keeps even then.",
            measured: format!(
                "{} teams on {} GPUs; the largest quota is {} GPUs.",
                run.teams.len(),
                run.gpus,
                grouped(largest),
            ),
        },
        Answer {
            topic,
            question: "Is ownership enforced or advisory?",
            answer: "Enforced, at the moment of need: nobody keeps a team from its own, because what others borrowed is taken back. \
                     As long as the owner does not need it, others use it.",
            measured: format!(
                "Taken back by owners or by fair share: {}. GPUs busy while jobs came: {}.",
                each(run, &quoted, |outcome| grouped(outcome.stops.by_reclaim + outcome.stops.by_fair_share)),
                each(run, &quoted, |outcome| percent(outcome.busy_ppm)),
            ),
        },
        Answer {
            topic,
            question: "Can quotas encode priority?",
            answer: "In part: a team with more quota waits less, whatever the classes. But quota cannot tell an urgent job of a team \
                     from a casual one of the same team; that is what classes are for.",
            measured: format!(
                "Team {} under `gpuaas`: with its quota {}; without any {}.",
                asides.team,
                about(&asides.with_quota),
                about(&asides.without_quota),
            ),
        },
        Answer {
            topic,
            question: "What happens when a team exceeds its quota?",
            answer: "It borrows what others leave, up to its borrowing limit; beyond what is free it waits. What it borrowed can be \
                     reclaimed, what is its own cannot.",
            measured: format!(
                "Mean wait by team: {}. Lost to reclaim and the like: {}.",
                each(run, &quoted, extremes),
                each(run, &quoted, |outcome| gpu_hours(outcome.stops.lost_gpu_s)),
            ),
        },
        Answer {
            topic,
            question: "Can a team with zero ownership still run workloads? How, and why is there that ability?",
            answer: "Yes, on borrowed GPUs alone. The alternative is GPUs that stand idle next to people who wait. The price is that \
                     all it runs can be reclaimed.",
            measured: format!(
                "Team {} with no quota at all: {} of its {} jobs ran to their end, {}; they were stopped {} times, against {} with \
                 quota.",
                asides.team,
                grouped(asides.without_quota.about_ended),
                grouped(asides.without_quota.about.jobs),
                about(&asides.without_quota),
                grouped(asides.without_quota.about_stops),
                grouped(asides.with_quota.about_stops),
            ),
        },
    ]
}
