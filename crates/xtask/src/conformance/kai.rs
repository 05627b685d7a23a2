//! Player of the cases about scheduling jobs of queues on nodes: one action, or rounds of all of them.

use super::Played;
use super::read::{entries, fixed, flag, items, micro, number, text};
use govern::amount::Amount;
use govern::kai::action::Action;
use govern::kai::model::{
    ClusterSpec, GPU, GpuAsk, JobSpec, NodeSpec, Partitioning, Profile, QueueSpec, Rules, Safe, Share, Status, TaskSpec,
};
use govern::kai::session::{Session, Tally};
use serde_json::{Map, Value, json};

const CPU_DEFAULT: i64 = 20_000;
const MEMORY_DEFAULT: i64 = 20_000_000_000;
const GPU_MEMORY_DEFAULT: i64 = 100;
const TASK_CPU_DEFAULT: i64 = 1;
const TASK_MEMORY_DEFAULT: i64 = 1_000_000_000;
const MILLI: i64 = 1000;
const MEGA: i64 = 1_000_000;
const ROUNDS_MAX: i64 = 100;
const TASKS_DEFAULT: u32 = 110;
const STALE_GRACE_S: u64 = 60;

// Names in the order of the engine's lists.
struct Names {
    nodes: Vec<String>,
    profiles: Vec<String>,
    queues: Vec<String>,
}

impl Names {
    fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|other| other == name)
    }
}

fn names(case: &Value) -> Names {
    let mut nodes: Vec<String> = entries(case, "nodes").map(|(name, _)| name.clone()).collect();
    nodes.sort();
    let of_nodes = entries(case, "nodes").flat_map(|(_, node)| entries(node, "mig_instances"));
    let tasks = items(case, "jobs").iter().flat_map(|job| items(job, "tasks"));
    let of_tasks = tasks.flat_map(|task| entries(task, "mig"));
    let mut profiles: Vec<String> = of_nodes.chain(of_tasks).map(|(name, _)| name.clone()).collect();
    profiles.sort();
    profiles.dedup();
    let rows = items(case, "departments").iter().chain(items(case, "queues"));
    let queues = rows.filter_map(|row| text(row, "name").map(str::to_owned)).collect();
    Names { nodes, profiles, queues }
}

// "…/mig-1g.10gb" counts for one GPU.
fn profile(name: &str) -> Profile {
    let digits: String =
        name.rsplit("mig-").next().unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    Profile { gpus: digits.parse().unwrap_or(1) }
}

fn instances(row: &Value, field: &str, names: &Names) -> Vec<(usize, u32)> {
    entries(row, field)
        .filter_map(|(name, count)| {
            let at = names.profiles.iter().position(|other| other == name)?;
            Some((at, u32::try_from(fixed(count, 0)?).ok()?))
        })
        .collect()
}

fn node(row: &Value, names: &Names) -> NodeSpec {
    let partitioning = match text(row, "mig_strategy") {
        Some("mixed") => Partitioning::Mixed,
        Some("single") => Partitioning::Single,
        _ => Partitioning::Off,
    };
    let gpus = u32::try_from(number(row, "gpus").unwrap_or(0)).unwrap_or(0);
    let memory = number(row, "gpu_memory_mib").unwrap_or(GPU_MEMORY_DEFAULT);
    NodeSpec {
        // Processors of nodes and tasks are whole ones here, those of queues thousandths.
        cpu_milli: number(row, "cpu_milli").unwrap_or(CPU_DEFAULT).saturating_mul(MILLI),
        memory: number(row, "memory_bytes").unwrap_or(MEMORY_DEFAULT),
        gpus: if partitioning == Partitioning::Mixed { 0 } else { gpus },
        gpu_memory_mib: memory - memory % 100,
        partitioning,
        instances: instances(row, "mig_instances", names),
        tasks_max: containing(row, "task").and_then(|count| u32::try_from(count).ok()).unwrap_or(TASKS_DEFAULT),
    }
}

// A unit of none stands for GPUs, which are read in millionths and have no quota unless one is given.
fn share(row: &Value, name: &str, unit: Option<i64>, default_weight: u64) -> Share {
    let amount = |field: &str, missing: Amount| match number(row, field) {
        None => missing,
        Some(-1) => Amount::UNLIMITED,
        Some(_) => {
            let value = unit
                .map_or_else(|| micro(row, field), |unit| number(row, field).map(|value| value.saturating_mul(unit)));
            Amount::new(value.unwrap_or(0))
        }
    };
    let limit = amount(&format!("limit_{name}"), Amount::UNLIMITED);
    let weight = micro(row, &format!("over_quota_weight_{name}")).map(|weight| weight.max(0).unsigned_abs());
    Share {
        quota: amount(&format!("quota_{name}"), if unit.is_none() { Amount::ZERO } else { Amount::UNLIMITED }),
        limit: if unit.is_none() && limit == Amount::ZERO { Amount::UNLIMITED } else { limit },
        weight: weight.unwrap_or(default_weight),
        usage_ppb: row.get(format!("usage_{name}")).and_then(|usage| fixed(usage, 9)).unwrap_or(0).unsigned_abs(),
    }
}

fn queue(row: &Value, rank: usize, names: &Names, departments: usize) -> QueueSpec {
    let is_department = rank < departments;
    let gpu = share(row, "gpus", None, if is_department { quota_weight(row) } else { 0 });
    let parent = text(row, "parent").and_then(|parent| names.queues.iter().position(|other| other == parent));
    let age = number(row, "creation_order").map_or(rank as u64, i64::unsigned_abs);
    QueueSpec {
        parent,
        shares: [share(row, "cpu_milli", Some(1), 1), share(row, "memory", Some(MEGA), 1), gpu],
        priority: number(row, "priority").and_then(|number| i32::try_from(number).ok()).unwrap_or(100),
        rank: age,
        safe: Safe {
            from_preemption_s: seconds(row, "preempt_min_runtime_seconds"),
            from_reclaim_s: seconds(row, "reclaim_min_runtime_seconds"),
        },
    }
}

fn seconds(row: &Value, name: &str) -> Option<u64> {
    number(row, name).map(i64::unsigned_abs)
}

fn quota_weight(row: &Value) -> u64 {
    micro(row, "quota_gpus").map_or(0, |quota| quota.max(0).unsigned_abs())
}

fn status(name: Option<&str>) -> Status {
    match name {
        Some("running") => Status::Running,
        Some("binding" | "bound") => Status::Binding,
        Some("pipelined") => Status::Pipelined,
        Some("releasing") => Status::Releasing,
        Some("stuck_releasing") => Status::Stuck,
        Some("failed") => Status::Failed,
        Some("succeeded") => Status::Succeeded,
        _ => Status::Pending,
    }
}

const fn status_name(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Allocated => "allocated",
        Status::Binding => "binding",
        Status::Pipelined => "pipelined",
        Status::Running => "running",
        Status::Releasing => "releasing",
        Status::Stuck => "stuck_releasing",
        Status::Failed => "failed",
        Status::Succeeded => "succeeded",
    }
}

// The number in the first field whose name has this in it.
fn containing(row: &Value, part: &str) -> Option<i64> {
    let fields = row.as_object()?;
    fields.iter().filter(|(name, _)| name.contains(part)).find_map(|(_, value)| fixed(value, 0))
}

fn gpu_ask(job: &Value, task: &Value, names: &Names) -> GpuAsk {
    let devices = containing(job, "device").and_then(|count| u32::try_from(count).ok()).unwrap_or(1);
    let partitions = instances(task, "mig", names);
    let gpus = micro(task, "gpus").or_else(|| micro(job, "gpus_per_task")).unwrap_or(0);
    let memory = number(job, "gpu_memory_mib_per_task").unwrap_or(0);
    if !partitions.is_empty() {
        GpuAsk::Partitions(partitions)
    } else if memory > 0 {
        GpuAsk::Memory { mib: memory, devices }
    } else if gpus == 0 {
        GpuAsk::None
    } else if gpus % GPU == 0 {
        GpuAsk::Whole(u32::try_from(gpus / GPU).unwrap_or(u32::MAX))
    } else {
        GpuAsk::Part { micro: gpus, devices }
    }
}

fn task(job: &Value, row: &Value, rank: u64, names: &Names) -> TaskSpec {
    let best_effort = flag(job, "best_effort").unwrap_or(false);
    let or = |value: Option<i64>, default: i64| {
        if best_effort { 0 } else { value.filter(|value| *value != 0).unwrap_or(default) }
    };
    let allowed = row.get("node_affinity").map(|_| {
        items(row, "node_affinity").iter().filter_map(|name| names.node(name.as_str().unwrap_or_default())).collect()
    });
    let devices = items(row, "gpu_groups").iter().filter_map(|group| group.as_str().map(device_number)).collect();
    TaskSpec {
        cpu_milli: or(number(job, "cpu_milli_per_task"), TASK_CPU_DEFAULT).saturating_mul(MILLI),
        memory: or(number(job, "memory_bytes_per_task"), TASK_MEMORY_DEFAULT),
        gpu: if best_effort { GpuAsk::None } else { gpu_ask(job, row, names) },
        status: status(text(row, "state")),
        node: text(row, "node").and_then(|name| names.node(name)),
        devices,
        rank,
        nodes: allowed,
        legacy: flag(row, "legacy_mig").unwrap_or(false),
    }
}

// Numbers of devices below 2^16 are those of the case.
fn device_number(group: &str) -> u32 {
    let number: u32 =
        group.parse().unwrap_or_else(|_| group.bytes().fold(7, |sum, byte| sum * 31 % 60_000 + u32::from(byte)));
    number % 65_536
}

// Tasks by their priority, higher first, then by name.
fn task_ranks(name: &str, tasks: &[Value]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|at| {
        (std::cmp::Reverse(number(&tasks[*at], "task_priority").unwrap_or(0)), format!("{name}-{at}"))
    });
    let mut ranks = vec![0; tasks.len()];
    order.iter().zip(0..).for_each(|(at, rank)| ranks[*at] = rank);
    ranks
}

fn jobs(case: &Value, names: &Names) -> Vec<(String, JobSpec)> {
    let mut rows: Vec<&Value> = items(case, "jobs").iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(number(row, "priority").unwrap_or(0)));
    let count = rows.len() as u64;
    let mut jobs = vec![];
    for (row, at) in rows.into_iter().zip(0..) {
        let name = text(row, "name").unwrap_or_default().to_owned();
        let queue = text(row, "queue").and_then(|queue| names.queues.iter().position(|other| other == queue));
        let priority = number(row, "priority").and_then(|number| i32::try_from(number).ok()).unwrap_or(0);
        let tasks = items(row, "tasks");
        let ranks = task_ranks(&name, tasks);
        let age_minutes = number(row, "age_minutes").map_or(count - at, i64::unsigned_abs);
        let spec = JobSpec {
            // A job of a queue that does not exist waits for ever.
            queue: queue.unwrap_or(usize::MAX),
            priority,
            preemptible: flag(row, "preemptible").unwrap_or(priority < 100),
            min_available: number(row, "min_available").and_then(|min| u32::try_from(min).ok()).unwrap_or(1),
            rank: u64::MAX - age_minutes,
            stale_s: seconds(row, "stale_seconds"),
            ran_s: seconds(row, "running_seconds"),
            tasks: tasks.iter().zip(ranks).map(|(task_row, rank)| task(row, task_row, rank, names)).collect(),
        };
        jobs.push((name, spec));
    }
    jobs
}

fn action(name: &Value) -> Option<Action> {
    Some(match name.as_str()? {
        "allocate" => Action::Allocate,
        "consolidation" => Action::Consolidate,
        "reclaim" => Action::Reclaim,
        "preempt" => Action::Preempt,
        "stalegangeviction" => Action::EvictStaleGangs,
        _ => return None,
    })
}

// What a round leaves for the next: who was told to stop waits again, who was placed runs.
fn next_round(cluster: &mut ClusterSpec, session: &Session, stays: &[bool]) {
    for (job, at) in cluster.jobs.iter_mut().zip(0..) {
        let mut tasks: Vec<usize> = session.jobs[at].tasks.clone();
        tasks.sort_unstable();
        for (task, now) in job.tasks.iter_mut().zip(tasks) {
            let place = (session.node_of(now), session.devices_of(now).to_vec());
            (task.status, (task.node, task.devices)) = match session.tasks[now].status {
                Status::Releasing if stays[at] => (Status::Releasing, place),
                Status::Releasing | Status::Pipelined => (Status::Pending, (None, vec![])),
                Status::Binding => (Status::Running, place),
                other => (other, place),
            };
        }
    }
}

/// One action, or rounds of all of them.
pub fn scheduling(case: &Value) -> Result<Played, String> {
    let names = names(case);
    let departments = items(case, "departments").len();
    let rows = items(case, "departments").iter().chain(items(case, "queues"));
    let named = jobs(case, &names);
    let mut cluster = ClusterSpec {
        nodes: names.nodes.iter().map(|name| node(&case["nodes"][name], &names)).collect(),
        queues: rows.enumerate().map(|(rank, row)| queue(row, rank, &names, departments)).collect(),
        jobs: named.iter().map(|(_, spec)| spec.clone()).collect(),
        profiles: names.profiles.iter().map(|name| profile(name)).collect(),
        stale_grace_s: STALE_GRACE_S,
        rules: Rules::default(),
    };
    let row_of = |name: &str| items(case, "jobs").iter().find(|row| text(row, "name") == Some(name));
    let stays: Vec<bool> = named
        .iter()
        .map(|(name, _)| row_of(name).and_then(|row| flag(row, "delete_in_test")).unwrap_or(false))
        .collect();
    let actions: Vec<Action> = items(case, "actions").iter().filter_map(action).collect();
    let expected = case.get("expected").cloned().unwrap_or_default();
    let mut want = wanted(&expected);
    if let Some(tasks) = want["tasks"].as_object_mut() {
        tasks.retain(|name, _| task_place(name, &named).is_some());
    }
    let rounds = text(case, "mode") == Some("rounds");
    let until = if rounds { number(case, "rounds_until_match").unwrap_or(2).clamp(1, ROUNDS_MAX) } else { 1 };
    let after = if rounds { number(case, "rounds_after_match").unwrap_or(5).clamp(0, ROUNDS_MAX) } else { 0 };
    let mut tally = Tally::default();
    let mut session = Session::open(&cluster);
    for round in 1..=until + after {
        actions.iter().for_each(|action| session.act(*action));
        tally = worst(tally, session.tally);
        if rounds {
            next_round(&mut cluster, &session, &stays);
            session = Session::open(&cluster);
        }
        if round >= until {
            let got = seen(&expected, &session, &names, &named, tally);
            if got != want || round == until + after {
                return Ok(Played { want, got });
            }
        }
    }
    Err("no round was played".to_owned())
}

// The job and the place in it of a task that is named JOB-PLACE. Names that no task has are not compared.
fn task_place(name: &str, named: &[(String, JobSpec)]) -> Option<(usize, usize)> {
    let (job, at) = name.rsplit_once('-')?;
    let (job, at) = (named.iter().position(|(other, _)| other == job)?, at.parse().ok()?);
    (at < named[job].1.tasks.len()).then_some((job, at))
}

fn worst(left: Tally, right: Tally) -> Tally {
    Tally {
        binds: left.binds.max(right.binds),
        evictions: left.evictions.max(right.evictions),
        pipelines: left.pipelines.max(right.pipelines),
    }
}

// What is compared: statuses and nodes, what nodes have left, and that nothing was done too often.
fn wanted(expected: &Value) -> Value {
    let part = |name: &str, fields: &[&str]| -> Map<String, Value> {
        let pick = |row: &Value| -> Value {
            let fields =
                fields.iter().filter_map(|field| row.get(*field).map(|value| ((*field).to_owned(), value.clone())));
            Value::Object(fields.collect())
        };
        entries(expected, name).map(|(name, row)| (name.clone(), pick(row))).collect()
    };
    let within: Map<String, Value> =
        entries(expected, "at_most").map(|(name, _)| (name.clone(), json!(true))).collect();
    json!({
        "jobs": part("jobs", &["status", "node"]),
        "tasks": part("tasks", &["status", "node"]),
        "nodes": part("nodes", &["idle_gpus", "releasing_gpus"]),
        "at_most": within,
    })
}

fn seen(expected: &Value, session: &Session, names: &Names, named: &[(String, JobSpec)], tally: Tally) -> Value {
    let show = |task: usize, like: &Value| {
        let mut row = Map::new();
        if like.get("status").is_some() {
            row.insert("status".to_owned(), json!(status_name(session.tasks[task].status)));
        }
        if like.get("node").is_some() {
            let node = session.node_of(task).or(session.tasks[task].spec.node).map(|node| names.nodes[node].clone());
            let nowhere = session.tasks[task].status == Status::Pending;
            row.insert("node".to_owned(), if nowhere { like["node"].clone() } else { json!(node) });
        }
        Value::Object(row)
    };
    let tasks_of = |name: &str| -> Vec<usize> {
        let job = named.iter().position(|(other, _)| other == name);
        let mut tasks = job.map_or_else(Vec::new, |job| session.jobs[job].tasks.clone());
        tasks.sort_unstable();
        tasks
    };
    let mut jobs = Map::new();
    for (name, like) in entries(expected, "jobs") {
        let rows: Vec<Value> = tasks_of(name).into_iter().map(|task| show(task, like)).collect();
        let same = rows.windows(2).all(|pair| pair[0] == pair[1]);
        let row = if same { rows.first().cloned().unwrap_or_default() } else { json!(rows) };
        jobs.insert(name.clone(), row);
    }
    let mut tasks = Map::new();
    for (name, like) in entries(expected, "tasks") {
        if let Some((job, at)) = task_place(name, named) {
            tasks.insert(name.clone(), show(tasks_of(&named[job].0)[at], like));
        }
    }
    let mut nodes = Map::new();
    for (name, _) in entries(expected, "nodes") {
        let room = names.node(name).map(|node| &session.rooms[node]);
        let row = room.map(|room| json!({ "idle_gpus": room.gpus_idle(), "releasing_gpus": room.gpus_releasing() }));
        nodes.insert(name.clone(), json!(row));
    }
    let done = |name: &str| match name {
        "binds" => tally.binds,
        "evictions" => tally.evictions,
        _ => tally.pipelines,
    };
    let at_most = entries(expected, "at_most").map(|(name, most)| {
        (
            name.clone(),
            if i64::from(done(name)) <= fixed(most, 0).unwrap_or(0) { json!(true) } else { json!(done(name)) },
        )
    });
    json!({ "jobs": jobs, "tasks": tasks, "nodes": nodes, "at_most": at_most.collect::<Map<String, Value>>() })
}
