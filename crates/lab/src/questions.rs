//! What people ask about schedulers before they trust one, answered for this engine and shown with figures of the run at hand.
//! The answer says what holds; then comes what was run, what was measured, and what the figures say. Figures are taken from
//! the comparison and say nothing where a policy was not compared.

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
    /// What was run to see it.
    pub ran: String,
    /// What was measured.
    pub measured: Vec<Measured>,
    /// What the figures say.
    pub means: String,
}

/// One figure of several runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// Of what.
    pub what: &'static str,
    /// Under which policy, or in which of the runs, and how much.
    pub figures: Vec<(String, String)>,
}

// One figure of each of these policies that was compared.
fn each(run: &Comparison, what: &'static str, policies: &[Policy], figure: impl Fn(&Outcome) -> String) -> Measured {
    let known = policies.iter().filter_map(|policy| run.of(*policy));
    Measured { what, figures: known.map(|outcome| (outcome.policy.to_owned(), figure(outcome))).collect() }
}

// The same of runs beside the comparison.
fn beside<const N: usize>(what: &'static str, figures: [(&str, String); N]) -> Measured {
    Measured { what, figures: figures.map(|(name, figure)| (name.to_owned(), figure)).to_vec() }
}

// The comparison, in words.
fn whole(run: &Comparison) -> String {
    format!("All {} jobs on {} GPUs, once for each policy.", grouped(run.jobs), grouped(u64::from(run.gpus)))
}

// A run beside it.
fn part(run: &Comparison, how: &str) -> String {
    let (jobs, gpus) = (grouped(run.asides.jobs), grouped(u64::from(run.asides.gpus)));
    format!("{jobs} jobs of the busiest time on {gpus} GPUs, {how}.")
}

// Who has least of something, and who most.
fn ends(run: &Comparison, policies: &[Policy], value: impl Fn(&Outcome) -> u64, [least, most]: [&str; 2]) -> String {
    let known = || policies.iter().filter_map(|policy| run.of(*policy));
    match (known().min_by_key(|outcome| value(outcome)), known().max_by_key(|outcome| value(outcome))) {
        (Some(low), Some(high)) if value(low) < value(high) => {
            format!("{least}: `{}`; {most}: `{}`.", low.policy, high.policy)
        }
        (Some(_), Some(_)) => "No difference between the policies that were compared.".to_owned(),
        _ => "Nothing: none of these policies was compared.".to_owned(),
    }
}

// How one figure of a run beside the comparison compares to another.
fn against(one: u64, other: u64, [less, same, more]: [&'static str; 3]) -> String {
    match one.cmp(&other) {
        std::cmp::Ordering::Less => less,
        std::cmp::Ordering::Equal => same,
        std::cmp::Ordering::Greater => more,
    }
    .to_owned()
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

fn high_s(outcome: &Outcome) -> u64 {
    outcome.by_class.last().map_or(0, |(_, waits)| waits.mean_s)
}

fn high(outcome: &Outcome) -> String {
    duration(high_s(outcome))
}

// How many times as long the lowest class waits as the highest, in tenths.
fn class_ratio(outcome: &Outcome) -> u64 {
    let low = outcome.by_class.first().map_or(0, |(_, waits)| waits.mean_s);
    low.saturating_mul(10).checked_div(high_s(outcome)).unwrap_or(u64::MAX)
}

const fn taken_back(outcome: &Outcome) -> u64 {
    outcome.stops.by_reclaim.saturating_add(outcome.stops.by_fair_share)
}

fn with_stops(aside: &Aside) -> String {
    format!("{}, {} stops", duration(aside.waits.mean_s), grouped(aside.stops))
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
    all.extend(starvation(run));
    all.extend(preemption(run));
    all.extend(trust(run));
    all.extend(models(run));
    all.extend(unlike_models(run));
    all.extend(ownership(run));
    all.extend(quota_as_priority(run));
    all.extend(beyond_quota(run));
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
            ran: whole(run),
            measured: vec![
                each(run, "Jain index while somebody waited", &[Priority, Fifo, Fair, Gpuaas], |outcome| {
                    index(outcome.jain_ppm)
                }),
                each(run, "mean wait, from the luckiest team to the unluckiest", &[Priority, Fair, Gpuaas], extremes),
            ],
            means: ends(
                run,
                &[Priority, Fifo, Fair, Gpuaas],
                |outcome| outcome.jain_ppm,
                ["Least fair here", "fairest"],
            ),
        },
        Answer {
            topic,
            question: "When does fairness actively hurt critical workloads?",
            answer: "When the critical job belongs to a team that already has its share, or needs many GPUs at once: fair \
                     sharing without classes makes it wait behind other teams' unimportant work, and small jobs slip past \
                     a large gang.",
            ran: whole(run),
            measured: vec![
                each(run, "mean wait of the highest class", &[Priority, Fair, Drf, Gpuaas], high),
                each(run, "mean wait by size", &[Fifo, Fair], sizes),
            ],
            means: ends(
                run,
                &[Priority, Fair, Drf, Gpuaas],
                high_s,
                ["The highest class waits least under", "longest under"],
            ),
        },
        Answer {
            topic,
            question: "Can FIFO ever be fair? When?",
            answer: "Yes: while nobody waits every order is fair, and where teams send alike, the order of coming is the order \
                     of shares. Once one team sends a burst, everybody stands behind it. LIFO is no cure: it serves whoever \
                     sends last, and the oldest jobs starve.",
            ran: whole(run),
            measured: vec![
                each(run, "time in which somebody waited", &[Fifo], |outcome| {
                    let whole = outcome.series.whole();
                    percent(whole.contended_s.saturating_mul(1_000_000) / whole.seconds.max(1))
                }),
                each(run, "Jain index in that time", &[Fifo, Lifo, Fair], |outcome| index(outcome.jain_ppm)),
                each(run, "longest wait", &[Fifo, Lifo, Fair], |outcome| duration(outcome.waits.longest_s)),
            ],
            means: ends(
                run,
                &[Fifo, Lifo, Fair],
                |outcome| outcome.jain_ppm,
                ["Least fair once somebody waits", "fairest"],
            ),
        },
    ]
}

fn priority(run: &Comparison) -> Vec<Answer> {
    let topic = "Priority";
    vec![
        Answer {
            topic,
            question: "What does \u{201c}priority\u{201d} actually mean in each system?",
            answer: "Under `priority`, everything: the place in the one line, and the right to stop lower classes. Under `kueue` \
                     and `gpuaas`, the place among the jobs of one team, and whom the team's own jobs may stop; between teams \
                     quota and shares come first. Under `kai` the same inside a queue. Under `fifo`, `lifo`, `fair` and `drf` \
                     it means nothing.",
            ran: whole(run),
            measured: vec![each(run, "mean wait by class", &[Fifo, Priority, Fair, Kueue, Kai, Gpuaas], classes)],
            means: ends(
                run,
                &[Fifo, Priority, Fair, Kueue, Kai, Gpuaas],
                class_ratio,
                ["A class matters least under", "most under"],
            ),
        },
        Answer {
            topic,
            question: "Is priority absolute or relative?",
            answer: "Absolute in one line of strict priority: no number of low jobs outweighs a high one. Relative where teams \
                     have quota: a high job of a team beyond its share waits while a low one of a team below its share runs.",
            ran: whole(run),
            measured: vec![each(
                run,
                "how much longer the lowest class waits than the highest",
                &[Priority, Kueue, Kai, Gpuaas],
                |outcome| match class_ratio(outcome) {
                    u64::MAX => "without limit: high ones do not wait".to_owned(),
                    tenths => format!("{}.{} times", grouped(tenths / 10), tenths % 10),
                },
            )],
            means: ends(run, &[Priority, Kueue, Kai, Gpuaas], class_ratio, ["Least absolute", "most"]),
        },
    ]
}

fn starvation(run: &Comparison) -> Vec<Answer> {
    let topic = "Priority";
    let Comparison { asides, .. } = run;
    vec![
        Answer {
            topic,
            question: "Can low-priority workloads starve forever?",
            answer: "Under strict priority yes, for as long as higher classes keep coming. Quota puts an end to it between \
                     teams, ageing puts an end to it inside one.",
            ran: whole(run),
            measured: vec![
                each(run, "longest wait of the lowest class", &[Fifo, Priority, Gpuaas], |outcome| {
                    outcome.by_class.first().map_or_else(String::new, |(_, waits)| duration(waits.longest_s))
                }),
                each(
                    run,
                    "waits of more than a day, all classes",
                    &[Fifo, Lifo, Priority, Fair, Kueue, Kai, Gpuaas],
                    |outcome| grouped(outcome.waits.over_a_day),
                ),
            ],
            means: ends(
                run,
                &[Fifo, Lifo, Priority, Fair, Kueue, Kai, Gpuaas],
                |outcome| outcome.waits.over_a_day,
                ["Fewest wait for more than a day under", "most under"],
            ),
        },
        Answer {
            topic,
            question: "Can priority change dynamically at runtime?",
            answer: "Yes. The engine gives a job that waits its new place at once; nothing is submitted again. Raising those that \
                     wait is such a change.",
            ran: part(run, "under `priority`"),
            measured: vec![
                beside(
                    "waits of the lowest class",
                    [("classes fixed", about(&asides.classes_fixed)), ("classes rise", about(&asides.classes_rise))],
                ),
                beside("raised by a class after every", [("classes rise", duration(u64::from(AGEING_S)))]),
            ],
            means: against(
                asides.classes_rise.about.mean_s,
                asides.classes_fixed.about.mean_s,
                [
                    "Rising classes shorten the mean wait of the lowest.",
                    "Rising classes make no difference here.",
                    "Here rising classes lengthen the mean wait of the lowest: those that rise stand in the way of those behind.",
                ],
            ),
        },
    ]
}

fn preemption(run: &Comparison) -> Vec<Answer> {
    let topic = "Preemption";
    let stopping = [Priority, Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "What triggers preemption?",
            answer: "A job that waits, has a right to what it asks for, and does not find it free: a higher class in the same \
                     queue, a team that wants back what it lent, or a team whose share is smaller. No timer, and no load limit.",
            ran: whole(run),
            measured: vec![each(run, "stops, and by which rule", &stopping, stops)],
            means: ends(run, &stopping, |outcome| outcome.stops.count, ["Fewest stops", "most"]),
        },
        Answer {
            topic,
            question: "Is preemption deterministic or best-effort?",
            answer: "Here it is deterministic: the same work at the same times stops the same jobs, because victims are taken in a \
                     total order (lowest class, then latest start, then identity). Whether rules come to rest is another matter: \
                     some can undo at once what they just did.",
            ran: whole(run),
            measured: vec![each(
                run,
                "moments at which rules went round in circles and were cut short",
                &stopping,
                |outcome| grouped(outcome.stops.cut),
            )],
            means: ends(run, &stopping, |outcome| outcome.stops.cut, ["Comes to rest best", "worst"]),
        },
        Answer {
            topic,
            question: "Can partial preemption exist in GPU?",
            answer: "Only for a job that says it can run on fewer GPUs; then the engine shrinks it before it stops anybody. A gang \
                     that needs all its GPUs is worth nothing without one of them, so it goes whole.",
            ran: whole(run),
            measured: vec![each(
                run,
                "jobs that were stopped, always whole: none of this trace says that it can run on less",
                &stopping,
                |outcome| grouped(outcome.stops.jobs),
            )],
            means: ends(run, &stopping, |outcome| outcome.stops.jobs, ["Fewest jobs are hit under", "most under"]),
        },
    ]
}

fn trust(run: &Comparison) -> Vec<Answer> {
    let topic = "Preemption";
    let Comparison { asides, .. } = run;
    let stopping = [Priority, Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "What are the risks of aggressive preemption?",
            answer: "Work is done twice, and a job that is stopped again before its next checkpoint gets nowhere. Checkpoints bound \
                     what one stop costs; a time that nobody takes away, fewest victims and a dead zone bound how many there are.",
            ran: format!("{} Beside it: {}", whole(run), part(run, "under `priority`, with and without checkpoints")),
            measured: vec![
                each(run, "work that had to be done over", &stopping, |outcome| gpu_hours(outcome.stops.lost_gpu_s)),
                beside(
                    "mean wait, and stops",
                    [
                        ("with checkpoints", with_stops(&asides.classes_fixed)),
                        ("without any", with_stops(&asides.no_checkpoints)),
                    ],
                ),
            ],
            means: ends(run, &stopping, |outcome| outcome.stops.lost_gpu_s, ["Least is lost under", "most under"]),
        },
        Answer {
            topic,
            question: "How does preemption impact user trust?",
            answer: "A user remembers the job that was stopped five times, not the mean. So the worst case counts, and every stop \
                     must say by whom, under which rule and what happens next.",
            ran: whole(run),
            measured: vec![each(run, "the most often stopped job", &stopping, |outcome| match outcome.stops.most {
                0 => "none".to_owned(),
                most => format!("{most} times (line {} of the trace)", outcome.stops.most_line),
            })],
            means: ends(
                run,
                &stopping,
                |outcome| u64::from(outcome.stops.most),
                ["The unluckiest job has most luck under", "least under"],
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
            ran: part(run, "half of them of each of two models, under `fair`"),
            measured: vec![beside(
                "GPUs busy",
                [
                    ("either model", percent(asides.any_model.busy_ppm)),
                    ("one model", percent(asides.one_model.busy_ppm)),
                ],
            )],
            means: against(
                asides.one_model.busy_ppm,
                asides.any_model.busy_ppm,
                [
                    "GPUs of one model stand idle while jobs wait for the other.",
                    "Neither model stands idle longer than the other.",
                    "Wishes for a model cost no GPU time here.",
                ],
            ),
        },
        Answer {
            topic,
            question: "Can it distinguish between \u{201c}any GPU\u{201d} and \u{201c}specific GPU models\u{201d}?",
            answer: "Yes: a job that names a model waits for that model even while another is free; one that names none takes \
                     either. What being particular costs depends on how the wishes fall.",
            ran: part(run, "half of them of each of two models, under `fair`"),
            measured: vec![beside(
                "mean wait and p99",
                [
                    ("every job takes either", either(&asides.any_model)),
                    ("every job wants one", either(&asides.one_model)),
                ],
            )],
            means: against(
                asides.one_model.waits.mean_s,
                asides.any_model.waits.mean_s,
                [
                    "Being particular costs nothing here.",
                    "Being particular makes no difference here.",
                    "Being particular costs waiting.",
                ],
            ),
        },
    ]
}

fn unlike_models(run: &Comparison) -> Vec<Answer> {
    let topic = "GPU semantics";
    let Comparison { asides, .. } = run;
    vec![Answer {
        topic,
        question: "How does heterogeneity affect fairness?",
        answer: "Shares are summed over flavors, so a team that can only use one model competes for half of the GPUs and is \
                     measured against all of them. Where models differ in speed, equal counts are not equal work, and weights \
                     have to say so.",
        ran: part(run, "half of them of each of two models, under `fair`"),
        measured: vec![beside(
            "Jain index",
            [("either model", index(asides.any_model.jain_ppm)), ("one model", index(asides.one_model.jain_ppm))],
        )],
        means: against(
            asides.one_model.jain_ppm,
            asides.any_model.jain_ppm,
            [
                "Who needs one model gets less of what it is due.",
                "Models make no difference to fairness here.",
                "Wishes for a model happen to spread teams evenly here.",
            ],
        ),
    }]
}

fn ownership(run: &Comparison) -> Vec<Answer> {
    let topic = "Quotas and ownership";
    let largest = run.teams.iter().map(|(_, milli)| *milli).max().unwrap_or(0).max(0).unsigned_abs() / 1000;
    let quoted = [Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "How is GPU ownership expressed?",
            answer: "As nominal quota of a queue in a tree: so many GPUs of a flavor are a team's own, the rest of the tree may \
                     borrow what it does not use, and a lending limit says what it keeps even then.",
            ran: whole(run),
            measured: vec![beside(
                "quota",
                [
                    ("teams", grouped(u64::try_from(run.teams.len()).unwrap_or(u64::MAX))),
                    ("GPUs", grouped(u64::from(run.gpus))),
                    ("largest quota", format!("{} GPUs", grouped(largest))),
                ],
            )],
            means: "Quota divides the GPUs among the teams; only what a team leaves unused is lent.".to_owned(),
        },
        Answer {
            topic,
            question: "Is ownership enforced or advisory?",
            answer: "Enforced, at the moment of need: nobody keeps a team from its own, because what others borrowed is taken back. \
                     As long as the owner does not need it, others use it.",
            ran: whole(run),
            measured: vec![
                each(run, "taken back by owners or by fair share", &quoted, |outcome| grouped(taken_back(outcome))),
                each(run, "GPUs busy while jobs came", &quoted, |outcome| percent(outcome.busy_ppm)),
            ],
            means: ends(run, &quoted, taken_back, ["Least is taken back under", "most under"]),
        },
    ]
}

fn quota_as_priority(run: &Comparison) -> Vec<Answer> {
    let topic = "Quotas and ownership";
    let Comparison { asides, .. } = run;
    vec![Answer {
        topic,
        question: "Can quotas encode priority?",
        answer: "In part: a team with more quota waits less, whatever the classes. But quota cannot tell an urgent job of a team \
                     from a casual one of the same team; that is what classes are for.",
        ran: part(run, &format!("under `gpuaas`, waits of team {}", asides.team)),
        measured: vec![beside(
            "waits of that team",
            [("with its quota", about(&asides.with_quota)), ("with none", about(&asides.without_quota))],
        )],
        means: against(
            asides.with_quota.about.mean_s,
            asides.without_quota.about.mean_s,
            [
                "Quota shortens this team's waits, as a higher class would.",
                "Quota makes no difference to this team.",
                "Without quota this team waits less: what it would own is lent to it anyway.",
            ],
        ),
    }]
}

fn beyond_quota(run: &Comparison) -> Vec<Answer> {
    let topic = "Quotas and ownership";
    let Comparison { asides, .. } = run;
    let quoted = [Kueue, Kai, Gpuaas];
    vec![
        Answer {
            topic,
            question: "What happens when a team exceeds its quota?",
            answer: "It borrows what others leave, up to its borrowing limit; beyond what is free it waits. What it borrowed can be \
                     reclaimed, what is its own cannot.",
            ran: whole(run),
            measured: vec![
                each(run, "mean wait, from the luckiest team to the unluckiest", &quoted, extremes),
                each(run, "work lost to reclaim and the like", &quoted, |outcome| gpu_hours(outcome.stops.lost_gpu_s)),
            ],
            means: ends(
                run,
                &quoted,
                |outcome| outcome.waits.mean_s,
                ["Beyond quota and within, waits are shortest under", "longest under"],
            ),
        },
        Answer {
            topic,
            question: "Can a team with zero ownership still run workloads? How, and why is there that ability?",
            answer: "Yes, on borrowed GPUs alone. The alternative is GPUs that stand idle next to people who wait. The price is that \
                     all it runs can be reclaimed.",
            ran: part(run, &format!("under `gpuaas`, team {} with no quota at all", asides.team)),
            measured: vec![
                beside(
                    "that team",
                    [
                        ("jobs", grouped(asides.without_quota.about.jobs)),
                        ("ran to their end", grouped(asides.without_quota.about_ended)),
                        ("waits", about(&asides.without_quota)),
                    ],
                ),
                beside(
                    "how often its jobs were stopped",
                    [
                        ("with quota", grouped(asides.with_quota.about_stops)),
                        ("with none", grouped(asides.without_quota.about_stops)),
                    ],
                ),
            ],
            means: against(
                asides.without_quota.about_ended,
                asides.without_quota.about.jobs,
                [
                    "Some of its jobs never ended.",
                    "All of its jobs ran, on what others lent.",
                    "All of its jobs ran, on what others lent.",
                ],
            ),
        },
    ]
}
