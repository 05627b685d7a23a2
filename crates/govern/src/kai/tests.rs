//! Rules of the scheduler, one by one, and what must hold whatever is scheduled.

use super::account::{Accounts, Block, Bound, Outlook};
use super::action::{Action, Why};
use super::model::{
    Amounts, ClusterSpec, GPU, GpuAsk, JobSpec, NodeSpec, Partitioning, QueueSpec, Rules, Safe, Share, Status, TaskSpec,
};
use super::room::{Presence, Room, When};
use super::session::{Cause, Event, Session};
use crate::amount::Amount;
use proptest::prelude::*;
use std::cmp::Ordering;

const ALL: [Action; 5] =
    [Action::Allocate, Action::Consolidate, Action::Reclaim, Action::Preempt, Action::EvictStaleGangs];

fn node(gpus: u32) -> NodeSpec {
    NodeSpec {
        cpu_milli: 100_000,
        memory: 1000,
        gpus,
        gpu_memory_mib: 100,
        partitioning: Partitioning::Off,
        instances: vec![],
        tasks_max: 100,
    }
}

fn queue(parent: Option<usize>, quota: i64, weight: u64, rank: u64) -> QueueSpec {
    let free = Share { quota: Amount::UNLIMITED, limit: Amount::UNLIMITED, weight: 1, usage_ppb: 0 };
    let quota = if quota < 0 { Amount::UNLIMITED } else { Amount::new(quota * GPU) };
    QueueSpec {
        parent,
        shares: [free, free, Share { quota, weight, ..free }],
        priority: 100,
        rank,
        safe: Safe::default(),
    }
}

fn task(gpu: GpuAsk) -> TaskSpec {
    TaskSpec {
        cpu_milli: 100,
        memory: 1,
        gpu,
        status: Status::Pending,
        node: None,
        devices: vec![],
        rank: 0,
        nodes: None,
        legacy: false,
    }
}

fn job(queue: usize, priority: i32, rank: u64, tasks: Vec<TaskSpec>) -> JobSpec {
    let preemptible = priority < 100;
    let min_available = u32::try_from(tasks.len()).unwrap();
    JobSpec { queue, priority, preemptible, min_available, rank, stale_s: None, ran_s: None, tasks }
}

fn running(spec: JobSpec, node: usize) -> JobSpec {
    let tasks = spec.tasks.iter().cloned().map(|task| TaskSpec { status: Status::Running, node: Some(node), ..task });
    JobSpec { tasks: tasks.collect(), ..spec }
}

fn whole(count: u32) -> Vec<TaskSpec> {
    vec![task(GpuAsk::Whole(count))]
}

// Two queues below one group, on so many nodes.
fn cluster(gpus: &[u32], quotas: [i64; 2], jobs: Vec<JobSpec>) -> ClusterSpec {
    ClusterSpec {
        nodes: gpus.iter().map(|gpus| node(*gpus)).collect(),
        queues: vec![queue(None, -1, 0, 0), queue(Some(0), quotas[0], 1, 0), queue(Some(0), quotas[1], 1, 1)],
        jobs,
        profiles: vec![],
        stale_grace_s: 60,
        rules: Rules::default(),
    }
}

fn after(cluster: &ClusterSpec, actions: &[Action]) -> Vec<Vec<Status>> {
    let mut session = Session::open(cluster);
    actions.iter().for_each(|action| session.act(*action));
    statuses(&session)
}

fn statuses(session: &Session) -> Vec<Vec<Status>> {
    session.jobs.iter().map(|job| job.tasks.iter().map(|task| session.tasks[*task].status).collect()).collect()
}

#[test]
fn a_gang_is_placed_whole_or_not_at_all() {
    let gang = |count| job(1, 50, 0, vec![task(GpuAsk::Whole(1)); count]);
    assert_eq!(after(&cluster(&[2, 1], [3, 0], vec![gang(3)]), &[Action::Allocate]), [[Status::Binding; 3]]);
    assert_eq!(after(&cluster(&[2, 1], [4, 0], vec![gang(4)]), &[Action::Allocate]), [[Status::Pending; 4]]);
}

#[test]
fn what_is_fixed_stays_within_the_quota() {
    let jobs = vec![job(1, 100, 0, whole(1)), job(1, 100, 1, whole(1)), job(1, 50, 2, whole(1))];
    let got = after(&cluster(&[3], [1, 0], jobs), &[Action::Allocate]);
    assert_eq!(got, [[Status::Binding], [Status::Pending], [Status::Binding]]);
}

#[test]
fn a_queue_below_its_share_reclaims_from_one_above() {
    let held = |rank| running(job(1, 50, rank, whole(1)), 0);
    let jobs = vec![held(0), held(1), job(2, 50, 2, whole(1))];
    let got = after(&cluster(&[2], [1, 1], jobs.clone()), &[Action::Reclaim]);
    assert_eq!(got, [[Status::Running], [Status::Releasing], [Status::Pipelined]], "the youngest goes");
    let got = after(&cluster(&[2], [2, 0], jobs), &[Action::Reclaim]);
    assert_eq!(got, [[Status::Running], [Status::Running], [Status::Pending]], "in quota nothing is taken");
}

#[test]
fn within_a_queue_only_a_lower_priority_is_preempted() {
    let jobs = vec![running(job(1, 50, 0, whole(1)), 0), job(1, 60, 1, whole(1)), job(1, 50, 2, whole(1))];
    let got = after(&cluster(&[1], [1, 1], jobs), &[Action::Preempt]);
    assert_eq!(got, [[Status::Releasing], [Status::Pipelined], [Status::Pending]]);
}

#[test]
fn what_is_beyond_a_gang_goes_before_the_gang() {
    let elastic = JobSpec { min_available: 1, ..running(job(1, 50, 0, vec![task(GpuAsk::Whole(1)); 2]), 0) };
    let got = after(&cluster(&[2], [2, 0], vec![elastic, job(1, 60, 1, whole(1))]), &[Action::Preempt]);
    assert_eq!(got, [vec![Status::Running, Status::Releasing], vec![Status::Pipelined]]);
}

#[test]
fn consolidation_moves_and_never_stops() {
    let jobs = vec![running(job(1, 50, 0, whole(1)), 0), running(job(1, 50, 1, whole(1)), 1), job(1, 50, 2, whole(2))];
    let mut session = Session::open(&cluster(&[2, 2], [4, 0], jobs));
    session.act(Action::Consolidate);
    let flat: Vec<Status> = statuses(&session).concat();
    assert_eq!(flat.iter().filter(|status| **status == Status::Pipelined).count(), 2, "{flat:?}");
    assert!(!flat.contains(&Status::Releasing));
    let full = vec![running(job(1, 50, 0, whole(1)), 0), job(1, 50, 2, whole(2))];
    assert_eq!(after(&cluster(&[2], [4, 0], full), &[Action::Consolidate])[1], [Status::Pending]);
}

#[test]
fn parts_share_a_device_before_a_new_one_is_opened() {
    let half = || vec![task(GpuAsk::Part { micro: GPU / 2, devices: 1 })];
    let jobs = vec![job(1, 50, 0, half()), job(1, 50, 1, half()), job(1, 50, 2, half())];
    let mut session = Session::open(&cluster(&[2, 2], [4, 0], jobs));
    session.act(Action::Allocate);
    assert_eq!((0..3).map(|task| session.node_of(task)).collect::<Vec<_>>(), [Some(0); 3]);
    assert_eq!((session.rooms[0].gpus_idle(), session.rooms[1].gpus_idle()), (0, 2));
    assert_eq!(session.devices_of(0), session.devices_of(1));
    assert_ne!(session.devices_of(0), session.devices_of(2));
}

#[test]
fn a_gang_that_must_wait_for_one_waits_with_all() {
    let leaving = JobSpec {
        tasks: vec![TaskSpec { status: Status::Releasing, node: Some(0), ..task(GpuAsk::Whole(1)) }],
        ..job(2, 50, 0, whole(1))
    };
    let got = after(
        &cluster(&[2], [2, 0], vec![leaving, job(1, 50, 1, vec![task(GpuAsk::Whole(1)); 2])]),
        &[Action::Allocate],
    );
    assert_eq!(got[1], [Status::Pipelined; 2]);
}

#[test]
fn the_rest_of_a_broken_gang_is_stopped_after_a_while() {
    let gang = |stale_s| {
        let mut gang = running(job(1, 50, 0, vec![task(GpuAsk::Whole(1)); 2]), 0);
        gang.tasks[1].status = Status::Failed;
        JobSpec { stale_s, ..gang }
    };
    let first = |stale_s| after(&cluster(&[2], [2, 0], vec![gang(stale_s)]), &[Action::EvictStaleGangs])[0][0];
    assert_eq!([first(None), first(Some(59)), first(Some(60))], [Status::Running, Status::Running, Status::Releasing]);
}

#[test]
fn work_is_safe_for_as_long_as_its_queue_says() {
    let held = |ran_s| JobSpec { ran_s, ..running(job(1, 50, 0, whole(1)), 0) };
    let first = |safe: Safe, above: Safe, ran_s: u64, claimant: usize| {
        let mut spec = cluster(&[1], [0, 1], vec![held(Some(ran_s)), job(claimant, 60, 1, whole(1))]);
        (spec.queues[1].safe, spec.queues[0].safe) = (safe, above);
        after(&spec, &[Action::Reclaim, Action::Preempt])[0][0]
    };
    let says = |from_preemption_s, from_reclaim_s| Safe { from_preemption_s, from_reclaim_s };
    let silent = Safe::default();
    assert_eq!(first(says(None, Some(60)), silent, 59, 2), Status::Running);
    assert_eq!(first(says(None, Some(60)), silent, 60, 2), Status::Releasing);
    assert_eq!(first(silent, says(None, Some(60)), 59, 2), Status::Running, "the one above says it");
    assert_eq!(first(says(Some(60), None), silent, 59, 2), Status::Releasing, "that is for its own queue");
    assert_eq!(first(says(Some(60), None), silent, 59, 1), Status::Running);
    let elastic =
        JobSpec { min_available: 1, ran_s: Some(0), ..running(job(1, 50, 0, vec![task(GpuAsk::Whole(1)); 2]), 0) };
    let mut spec = cluster(&[2], [2, 0], vec![elastic, job(1, 60, 1, whole(1)), job(1, 60, 2, whole(1))]);
    spec.queues[1].safe = says(Some(60), None);
    let got = after(&spec, &[Action::Preempt]);
    assert_eq!(got, [vec![Status::Running, Status::Releasing], vec![Status::Pipelined], vec![Status::Pending]]);
}

#[test]
fn past_use_and_a_stricter_rule_keep_a_queue_from_more() {
    let mut spec = cluster(&[4], [0, 0], vec![]);
    spec.queues[1].shares[2].usage_ppb = 500_000_000;
    let mut accounts = Accounts::open(&spec, [100_000, 1000, 6 * GPU]);
    accounts.ask(1, [0, 0, 6 * GPU]);
    accounts.ask(2, [0, 0, 6 * GPU]);
    accounts.divide_all();
    assert_eq!([accounts.fair(1)[2], accounts.fair(2)[2]], [2 * GPU, 4 * GPU]);
    let may = |saturation_milli| {
        let mut spec = cluster(&[6], [2, 2], vec![]);
        spec.rules = Rules { saturation_milli, ..Rules::default() };
        let mut accounts = Accounts::open(&spec, [100_000, 1000, 4 * GPU]);
        accounts.ask(1, [0, 0, 2 * GPU]);
        accounts.ask(2, [0, 0, 2 * GPU]);
        accounts.divide_all();
        accounts.book(1, [0, 0, 6 * GPU], false, 1);
        accounts.book(2, [0, 0, 2 * GPU], false, 1);
        accounts.reclaim_is_fair(2, [0, 0, GPU], false, &[(1, vec![[0, 0, GPU]])])
    };
    assert!(may(1000), "three halves against five halves");
    assert!(!may(2000), "twice three halves is more");
}

#[test]
fn by_halves_the_same_victims_are_found() {
    // Fourteen run in a queue that is sure of six; the other one is sure of eight and wants so many at once.
    let stopped = |wanted: u32, action: Action, by_halves: bool| {
        let runs = |rank: u64| running(job(2, 50, rank, whole(1)), 0);
        let mut jobs: Vec<JobSpec> = (0..14).map(runs).collect();
        jobs.push(job(if action == Action::Preempt { 2 } else { 1 }, 60, 20, whole(wanted)));
        let mut spec = cluster(&[14], [8, 6], jobs);
        spec.rules.by_halves = by_halves;
        after(&spec, &[action])
    };
    for action in [Action::Reclaim, Action::Preempt] {
        for wanted in [1, 3, 7, 8, 9, 15] {
            let found = stopped(wanted, action, true);
            assert_eq!(found, stopped(wanted, action, false), "{action:?} of {wanted}");
            let count = found.iter().filter(|job| **job == [Status::Releasing]).count();
            let may = wanted <= if action == Action::Preempt { 14 } else { 8 };
            assert_eq!(count, if may { wanted as usize } else { 0 }, "{action:?} of {wanted}");
        }
    }
}

#[test]
fn who_is_stopped_is_told_for_whom_and_by_which_rule() {
    let jobs = vec![running(job(1, 50, 0, whole(1)), 0), job(1, 60, 1, whole(1))];
    let mut session = Session::open(&cluster(&[1], [1, 1], jobs));
    session.act(Action::Preempt);
    let cause = Cause { action: Action::Preempt, job: Some(1) };
    assert_eq!(session.events, [Event::Evicted { task: 0, cause }, Event::Pipelined { task: 1, node: 0 }]);
}

#[test]
fn who_waits_is_told_what_is_in_its_way() {
    let why = |quota: i64, spec: JobSpec| {
        let held = running(job(1, 100, 0, whole(1)), 0);
        Session::open(&cluster(&[3], [quota, 0], vec![held, spec])).why_waiting(1)
    };
    let fixed = |gpus| job(1, 100, 1, whole(gpus));
    let block = Block { queue: 1, resource: 2, bound: Bound::Quota, bound_at: GPU, used: GPU, asked: GPU };
    assert_eq!(why(1, fixed(1)), Some(Why::Blocked(block)));
    assert_eq!(why(4, fixed(3)), Some(Why::NoRoom { placed: 0, needs: 1 }));
    let gang = job(1, 50, 1, vec![task(GpuAsk::Whole(1)); 3]);
    assert_eq!(why(1, gang.clone()), Some(Why::NoRoom { placed: 2, needs: 3 }));
    assert_eq!(why(1, JobSpec { min_available: 4, ..gang }), Some(Why::GangTooSmall { has: 3, needs: 4 }));
    assert_eq!(why(4, fixed(2)), Some(Why::Next));
    assert_eq!(why(4, JobSpec { queue: 99, ..fixed(1) }), Some(Why::NoSuchQueue));
    assert_eq!(why(4, running(fixed(2), 0)), None);
}

#[test]
fn queues_are_served_by_need() {
    let gain = |gpus: i64| Outlook { gain: [0, 0, gpus * GPU], loss: [0; 3] };
    let spec = cluster(&[4], [1, 3], vec![]);
    let mut accounts = Accounts::open(&spec, [100_000, 1000, 4 * GPU]);
    accounts.ask(1, [0, 0, 4 * GPU]);
    accounts.ask(2, [0, 0, 4 * GPU]);
    accounts.divide_all();
    assert_eq!([accounts.fair(1)[2], accounts.fair(2)[2]], [GPU, 3 * GPU]);
    let order = |accounts: &Accounts, left: (usize, Outlook), right: (usize, Outlook)| {
        accounts.standing(left.0, left.1).order(&accounts.standing(right.0, right.1))
    };
    assert_eq!(order(&accounts, (1, gain(1)), (2, gain(1))), Ordering::Greater, "a third is less than one");
    assert_eq!(order(&accounts, (1, gain(1)), (2, gain(4))), Ordering::Less, "four would pass the quota");
    accounts.book(2, [0, 0, 3 * GPU], false, 1);
    assert_eq!(order(&accounts, (1, gain(1)), (2, gain(1))), Ordering::Less);
    assert!(accounts.may_reclaim(1, [0, 0, GPU], false) && !accounts.may_reclaim(2, [0, 0, GPU], false));
}

#[test]
fn a_unit_that_straddles_the_quota_is_taken_whole() {
    let spec = cluster(&[4], [2, 2], vec![]);
    let mut accounts = Accounts::open(&spec, [100_000, 1000, 4 * GPU]);
    accounts.ask(1, [0, 0, 4 * GPU]);
    accounts.ask(2, [0, 0, 2 * GPU]);
    accounts.book(1, [0, 0, 4 * GPU], false, 1);
    accounts.divide_all();
    let unit = |gpus: i64| -> Amounts { [0, 0, gpus * GPU] };
    let fair = |units: Vec<Amounts>| accounts.reclaim_is_fair(2, unit(2), false, &[(1, units)]);
    assert!(fair(vec![unit(4)]), "four at once");
    assert!(fair(vec![unit(2)]));
    assert!(!fair(vec![unit(2), unit(2)]), "the second is within the quota");
    assert!(!accounts.reclaim_is_fair(2, unit(3), true, &[(1, vec![unit(2)])]), "fixed beyond its quota");
}

fn any_ask() -> impl Strategy<Value = GpuAsk> {
    prop_oneof![
        Just(GpuAsk::None),
        (1_u32..3).prop_map(GpuAsk::Whole),
        (1_i64..10, 1_u32..3).prop_map(|(tenths, devices)| GpuAsk::Part { micro: tenths * GPU / 10, devices }),
        (1_i64..100).prop_map(|mib| GpuAsk::Memory { mib, devices: 1 }),
    ]
}

#[test]
fn a_node_takes_what_would_fit_were_it_empty() {
    let room = Room::new(node(2));
    let fits = |gpu| room.fits_when_empty(&task(gpu));
    assert!(fits(GpuAsk::Whole(2)) && fits(GpuAsk::Memory { mib: 100, devices: 2 }) && fits(GpuAsk::None));
    assert!(!fits(GpuAsk::Whole(3)) && !fits(GpuAsk::Memory { mib: 101, devices: 1 }));
    assert!(!fits(GpuAsk::Part { micro: 1, devices: 3 }) && !fits(GpuAsk::Partitions(vec![(0, 1)])));
    assert!(!room.fits_when_empty(&TaskSpec { memory: 1001, ..task(GpuAsk::None) }));
}

#[test]
fn amounts_that_no_sum_can_hold_are_bounded() {
    let huge =
        TaskSpec { cpu_milli: i64::MAX, memory: i64::MAX, ..task(GpuAsk::Memory { mib: i64::MAX, devices: u32::MAX }) };
    let mut spec =
        cluster(&[1], [1, 1], vec![running(job(1, 50, 0, vec![huge.clone(); 3]), 0), job(2, 50, 1, vec![huge])]);
    spec.nodes[0] = NodeSpec { cpu_milli: i64::MAX, memory: i64::MAX, gpu_memory_mib: i64::MAX, ..node(1) };
    let got = after(&spec, &ALL);
    assert_eq!(got[1], [Status::Pending], "no node has so many devices");
}

prop_compose! {
    fn any_job()(queue in 1_usize..5, priority in prop_oneof![Just(50), Just(75), Just(100)],
        asks in (any_ask(), 1_usize..4), min in 1_u32..4, rank in 0_u64..100) -> JobSpec {
        let tasks = vec![task(asks.0); asks.1];
        let min_available = min.min(u32::try_from(tasks.len()).unwrap());
        JobSpec { min_available, ..job(queue, priority, rank, tasks) }
    }
}

fn any_cluster() -> impl Strategy<Value = ClusterSpec> {
    let quotas = (0_i64..4, 0_i64..4, 0_i64..3, 0_i64..3);
    (prop::collection::vec(1_u32..5, 1..4), quotas, prop::collection::vec(any_job(), 1..10)).prop_map(
        |(gpus, quotas, jobs)| ClusterSpec {
            nodes: gpus.into_iter().map(node).collect(),
            queues: vec![
                queue(None, -1, 0, 0),
                queue(Some(0), quotas.0, 1, 0),
                queue(Some(0), quotas.1, 2, 1),
                queue(Some(5), quotas.2, 1, 2),
                queue(Some(5), quotas.3, 0, 3),
                queue(None, 2, 1, 1),
            ],
            jobs,
            profiles: vec![],
            stale_grace_s: 60,
            rules: Rules::default(),
        },
    )
}

// Who was told to stop waits again, who was placed runs.
fn next(cluster: &mut ClusterSpec, session: &Session) {
    let mut now = 0;
    for job in &mut cluster.jobs {
        for task in &mut job.tasks {
            let place = (session.node_of(now), session.devices_of(now).to_vec());
            (task.status, (task.node, task.devices)) = match session.tasks[now].status {
                Status::Binding | Status::Running => (Status::Running, place),
                _ => (Status::Pending, (None, vec![])),
            };
            now += 1;
        }
    }
}

fn check(cluster: &ClusterSpec) -> Result<(), TestCaseError> {
    let session = Session::open(cluster);
    for room in &session.rooms {
        prop_assert!(room.gpus_idle() >= 0, "more GPUs in use than there are");
        let nothing = TaskSpec { cpu_milli: 0, memory: 0, ..task(GpuAsk::None) };
        prop_assert!(room.fits(&nothing, When::Soon));
    }
    for (at, queue) in cluster.queues.iter().enumerate() {
        let fixed = cluster.jobs.iter().enumerate().filter(|(_, job)| job.queue == at && !job.preemptible);
        let used: i64 = fixed
            .flat_map(|(job, _)| session.jobs[job].tasks.clone())
            .filter(|task| session.tasks[*task].status.is_active())
            .map(|task| session.amounts_held(&session.tasks[task].spec, session.node_of(task))[2])
            .sum();
        prop_assert!(Amount::new(used) <= queue.shares[2].quota, "fixed work beyond the quota");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_gang_starts_in_part(cluster in any_cluster()) {
        let mut session = Session::open(&cluster);
        session.act(Action::Allocate);
        for (at, job) in cluster.jobs.iter().enumerate() {
            let active = session.count(at, Status::is_active);
            prop_assert!(active == 0 || active >= job.min_available as usize);
        }
    }

    #[test]
    fn nothing_is_given_twice(cluster in any_cluster()) {
        let mut cluster = cluster;
        for _ in 0..5 {
            let mut session = Session::open(&cluster);
            ALL.iter().for_each(|action| session.act(*action));
            next(&mut cluster, &session);
            check(&cluster)?;
        }
    }

    #[test]
    fn the_order_of_the_list_of_jobs_does_not_matter(cluster in any_cluster()) {
        let mut cluster = cluster;
        cluster.jobs.iter_mut().zip(0..).for_each(|(job, rank)| job.rank = rank);
        let mut reversed = cluster.clone();
        reversed.jobs.reverse();
        for _ in 0..3 {
            let mut sessions = [Session::open(&cluster), Session::open(&reversed)];
            sessions.iter_mut().for_each(|session| ALL.iter().for_each(|action| session.act(*action)));
            let mut back = statuses(&sessions[1]);
            back.reverse();
            prop_assert_eq!(statuses(&sessions[0]), back);
            next(&mut cluster, &sessions[0]);
            next(&mut reversed, &sessions[1]);
        }
    }

    #[test]
    fn what_is_taken_back_leaves_no_trace(cluster in any_cluster()) {
        let mut cluster = cluster;
        let mut session = Session::open(&cluster);
        session.act(Action::Allocate);
        next(&mut cluster, &session);
        let mut session = Session::open(&cluster);
        let before = (session.rooms.clone(), session.accounts.clone(), session.tasks.clone());
        for task in 0..session.tasks.len() {
            if session.tasks[task].status == Status::Running {
                session.evict(task);
                let (node, devices) = (session.node_of(task), session.devices_of(task).to_vec());
                session.pipeline(task, node.unwrap(), devices);
            } else {
                session.allocate(task, 0, vec![7, 8]);
            }
        }
        session.rollback(0);
        prop_assert_eq!(before, (session.rooms, session.accounts, session.tasks));
    }

    #[test]
    fn adding_and_removing_are_inverse(asks in prop::collection::vec((any_ask(), 0_u32..3, 0_usize..3), 1..8)) {
        let mut room = Room::new(node(4));
        let ways = [Presence::Holds, Presence::Leaves, Presence::Comes];
        let rows: Vec<_> = asks.into_iter().map(|(ask, device, way)| (task(ask), [device], ways[way])).collect();
        let mut seen = vec![room.clone()];
        for (task, devices, way) in &rows {
            room.add(task, devices, *way);
            seen.push(room.clone());
        }
        for (task, devices, way) in rows.iter().rev() {
            let with = seen.pop().unwrap();
            prop_assert_eq!(with.gpus_idle(), room.gpus_idle());
            prop_assert_eq!(with.gpus_releasing(), room.gpus_releasing());
            room.remove(task, devices, *way);
        }
        prop_assert_eq!((room.gpus_idle(), room.gpus_releasing()), (4, 0));
    }
}
