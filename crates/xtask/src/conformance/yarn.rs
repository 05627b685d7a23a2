//! Players of the cases about taking containers back from queues that hold more than their ideal share.

use super::Played;
use super::read::{entries, fixed, flag, items, number, text};
use govern::division::fraction::Fraction;
use govern::yarn::bundle::{Bundle, Measure, WIDTH};
use govern::yarn::ideal::{Pace, Queue};
use govern::yarn::intra::{First, Serve, UserLimits, Wish, Within, even_limit};
use govern::yarn::victims::{App, Choice, Cluster, Container};
use serde_json::{Map, Value, json};

// No case has nearly so many containers of one app.
const CONTAINERS_MAX: i64 = 100_000;
const ONE_MICRO: u32 = 1_000_000;

fn micro_or(value: Option<&Value>, default: u32) -> u32 {
    value.and_then(|value| fixed(value, 6)).and_then(|micro| u32::try_from(micro).ok()).unwrap_or(default)
}

fn one(amount: i64) -> Bundle {
    let mut bundle = Bundle::ZERO;
    bundle.0[0] = amount;
    bundle
}

// A number or a list of them.
fn bundle(value: Option<&Value>) -> Bundle {
    let mut bundle = Bundle::ZERO;
    match value {
        Some(Value::Array(parts)) => {
            for (place, part) in bundle.0.iter_mut().zip(parts) {
                *place = fixed(part, 0).unwrap_or(0);
            }
        }
        Some(value) => bundle.0[0] = fixed(value, 0).unwrap_or(0),
        None => {}
    }
    bundle
}

fn pace(config: &Value, allowed: Bundle) -> Pace {
    Pace {
        for_reservations: false,
        balance: false,
        conservative: false,
        allowed,
        ignored_over_micro: micro_or(config.get("max_ignored_over_capacity"), 100_000),
        at_once_micro: micro_or(config.get("natural_termination_factor"), 200_000),
    }
}

/// One resource, queues with equal containers.
pub fn proportional(case: &Value) -> Result<Played, String> {
    let nothing = json!({});
    let config = case.get("config").unwrap_or(&nothing);
    let rows = items(case, "queues");
    let place = |name: &str| rows.iter().position(|row| text(row, "name") == Some(name));
    let mut cluster = Cluster {
        measure: Measure { width: 1, total: one(number(case, "cluster_total").ok_or("no total")?) },
        partitions: vec![vec![]],
        apps: vec![],
        containers: vec![],
        nodes: vec![],
        masters_micro: micro_or(config.get("max_master_percent"), 0),
    };
    let masters = flag(config, "first_container_of_each_app_is_master").unwrap_or(false);
    let mut names: Vec<String> = vec![];
    for (row, queue) in rows.iter().zip(0..) {
        let amount = |name: &str| one(number(row, name).unwrap_or(0));
        let parent = text(row, "parent").and_then(place);
        let kept = switched_off(config, row, parent.is_some_and(|at| cluster.partitions[0][at].kept));
        cluster.partitions[0].push(Queue {
            parent,
            guaranteed: amount("guaranteed"),
            max: amount("max"),
            used: amount("used"),
            pending: amount("pending"),
            reserved: amount("reserved"),
            killable: Bundle::ZERO,
            kept,
            priority: number(row, "priority").and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        });
        let apps = items(row, "apps");
        let (count, size) = (i64::try_from(apps.len()).unwrap_or(0), number(row, "container_size").unwrap_or(1).max(1));
        for name in apps {
            let app = cluster.apps.len();
            cluster.apps.push(App { queue, age_rank: app as u64, priority: 0 });
            names.push(name.as_str().unwrap_or_default().to_owned());
            let each = Fraction { over: 1, under: i128::from(count) }.of_up(amount("used").0[0]);
            let containers = Fraction { over: 1, under: i128::from(size) }.of_up(each);
            for number in 0..containers.clamp(0, CONTAINERS_MAX).unsigned_abs() {
                cluster.containers.push(Container {
                    app,
                    size: one(size),
                    priority: 0,
                    number,
                    node: 0,
                    partition: 0,
                    on_sufferance: false,
                    reserved: false,
                    master: masters && number == 0,
                });
            }
        }
    }
    let allowed =
        cluster.measure.total.times(Fraction::millionths(micro_or(config.get("total_preemption_per_round"), 100_000)));
    let mut choice = Choice::new(&cluster, allowed);
    if flag(config, "observe_only") != Some(true) {
        cluster.choose(pace(config, allowed), &mut choice);
    }
    Ok(counted(case, &cluster, &choice, &names))
}

fn switched_off(config: &Value, row: &Value, above: bool) -> bool {
    let own = config.get("preemption_disabled").and_then(|names| flag(names, text(row, "name").unwrap_or_default()));
    own.unwrap_or(above)
}

// How many containers each app loses, of those that the case speaks of.
fn counted(case: &Value, cluster: &Cluster, choice: &Choice, names: &[String]) -> Played {
    let mut counts = vec![0_u64; names.len()];
    for (container, _) in cluster.containers.iter().zip(&choice.chosen).filter(|(_, chosen)| **chosen) {
        counts[container.app] += 1;
    }
    let expected = case.get("expected").cloned().unwrap_or_default();
    if flag(&expected, "no_preemption") == Some(true) {
        return Played { want: json!(0), got: json!(counts.iter().sum::<u64>()) };
    }
    let count_of = |name: &str| -> u64 {
        names.iter().zip(&counts).filter(|(other, _)| *other == name).map(|(_, count)| count).sum()
    };
    let got: Map<String, Value> =
        entries(&expected, "containers_preempted").map(|(name, _)| (name.clone(), json!(count_of(name)))).collect();
    Played { want: expected.get("containers_preempted").cloned().unwrap_or_default(), got: Value::Object(got) }
}

fn width_of(case: &Value) -> usize {
    let lists = entries(case, "partitions").filter_map(|(_, row)| row.get("resource").and_then(Value::as_array));
    lists.map(Vec::len).max().unwrap_or(1).min(WIDTH)
}

fn setting<'a>(case: &'a Value, name: &str) -> Option<&'a Value> {
    case.get("config").and_then(|config| config.get("overrides")).and_then(|overrides| overrides.get(name))
}

// Queues that `setPreemptionDisabled` names, with its value.
fn disabled_by_setting(case: &Value, path: &str) -> Option<bool> {
    let text = setting(case, "setPreemptionDisabled").and_then(Value::as_str)?;
    let named = text.split('"').nth(1).unwrap_or_else(|| text.split(',').next().unwrap_or_default());
    (named == path).then(|| text.rsplit(',').next().is_some_and(|value| value.trim() == "true"))
}

fn queues_of(case: &Value, partition: &str, total: Bundle, exclusive: bool) -> Vec<Queue> {
    let rows = items(case, "queues");
    let mut paths: Vec<String> = vec![];
    let mut queues: Vec<Queue> = vec![];
    for row in rows {
        let name = text(row, "name").unwrap_or_default();
        let parent = text(row, "parent").and_then(|parent| {
            rows.iter().position(|row| text(row, "name") == Some(parent)).filter(|at| *at < queues.len())
        });
        let path = parent.map_or_else(|| name.to_owned(), |at| format!("{}.{name}", paths[at]));
        let properties = row.get("properties").cloned().unwrap_or_default();
        let own = disabled_by_setting(case, &path).or_else(|| flag(&properties, "disable_preemption"));
        let kept = own.unwrap_or_else(|| parent.is_some_and(|at| queues[at].kept));
        let part = row.get("partitions").and_then(|parts| parts.get(partition)).cloned().unwrap_or_default();
        let amount = |name: &str| bundle(part.get(name));
        let priority = properties.get("priority").and_then(|value| fixed(value, 0));
        queues.push(Queue {
            parent,
            guaranteed: amount("guaranteed"),
            max: if exclusive { amount("max") } else { total },
            used: amount("used"),
            pending: amount("pending"),
            reserved: amount("reserved"),
            killable: Bundle::ZERO,
            kept,
            priority: priority.and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
        });
        paths.push(path);
    }
    queues
}

fn apps_of(case: &Value, partitions: &[String], cluster: &mut Cluster) -> Result<Vec<String>, String> {
    let rows = items(case, "queues");
    let nodes: Vec<(&String, &Value)> = entries(case, "nodes").collect();
    let partition = |name: &str| partitions.iter().position(|other| other == name).unwrap_or(0);
    let mut names = vec![];
    for (row, app) in items(case, "apps").iter().zip(0..) {
        let path = text(row, "queue").unwrap_or_default();
        let leaf = path.rsplit('.').next().unwrap_or_default();
        let queue = rows.iter().position(|row| text(row, "name") == Some(leaf)).ok_or("an app without a queue")?;
        names.push(format!("app{}", number(row, "id").unwrap_or_default()));
        let specs = items(row, "containers");
        let priority = specs.first().and_then(|spec| number(spec, "priority")).unwrap_or(0);
        cluster.apps.push(App { queue, age_rank: app as u64, priority: i32::try_from(priority).unwrap_or(0) });
        let mut place = 0;
        for spec in specs {
            let node = nodes.iter().position(|(name, _)| Some(name.as_str()) == text(spec, "host")).unwrap_or(0);
            let home = partition(nodes.get(node).and_then(|(_, node)| text(node, "partition")).unwrap_or_default());
            for _ in 0..number(spec, "count").unwrap_or(0).min(CONTAINERS_MAX) {
                cluster.containers.push(Container {
                    app,
                    size: bundle(spec.get("size")),
                    priority: number(spec, "priority").and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
                    number: place,
                    node,
                    partition: home,
                    on_sufferance: partition(text(spec, "partition").unwrap_or_default()) != home,
                    reserved: flag(spec, "reserved").unwrap_or(false),
                    master: place == 0,
                });
                place += 1;
            }
        }
    }
    Ok(names)
}

// The scheduler that the cases assume gives every user of a queue an even part of its guarantee in the default partition.
struct EvenLimits {
    by_queue: Vec<Bundle>,
}

impl UserLimits for EvenLimits {
    fn limit(&self, queue: usize, _: usize) -> Bundle {
        self.by_queue.get(queue).copied().unwrap_or_default()
    }
}

fn limits_of(case: &Value, cluster: &Cluster, wishes: &[Wish], default: usize) -> EvenLimits {
    let mut percents = items(case, "apps").iter().chain(items(case, "queues"));
    let percent = percents.find_map(|row| number(row, "user_limit_percent").and_then(|part| u32::try_from(part).ok()));
    let total = list_bundle(case, "");
    let limit = |queue: usize| {
        let mut users: Vec<usize> =
            wishes.iter().zip(&cluster.apps).filter(|(_, app)| app.queue == queue).map(|(wish, _)| wish.user).collect();
        users.sort_unstable();
        users.dedup();
        let guaranteed = cluster.partitions[default][queue].guaranteed;
        let capacity = total.times(cluster.measure.against(total).ratio(guaranteed, total));
        even_limit(capacity, users.len(), percent)
    };
    EvenLimits { by_queue: (0..cluster.partitions[default].len()).map(limit).collect() }
}

fn list_bundle(case: &Value, partition: &str) -> Bundle {
    bundle(case.get("partitions").and_then(|parts| parts.get(partition)).and_then(|row| row.get("resource")))
}

fn wishes_of(case: &Value, partitions: &[String]) -> Vec<Wish> {
    let mut users: Vec<String> = vec![];
    let mut wishes = vec![];
    for row in items(case, "apps") {
        let last = items(row, "containers").last();
        let user = last.and_then(|spec| text(spec, "user")).unwrap_or_default().to_owned();
        let place = users.iter().position(|other| *other == user).unwrap_or_else(|| {
            users.push(user);
            users.len() - 1
        });
        let mut pending = vec![Bundle::ZERO; partitions.len()];
        for spec in items(row, "containers") {
            let label = text(spec, "partition").unwrap_or_default();
            if let Some(at) = partitions.iter().position(|other| other == label) {
                pending[at] = bundle(spec.get("pending"));
            }
        }
        wishes.push(Wish { user: place, pending });
    }
    wishes
}

fn is_on(case: &Value, name: &str) -> Option<bool> {
    let overrides = case.get("config").and_then(|config| config.get("overrides"))?;
    flag(overrides, name)
}

fn within(case: &Value) -> Within {
    let mut least = Bundle::ZERO;
    least.0[..width_of(case)].fill(1);
    let says =
        |name: &str, word: &str| setting(case, name).and_then(Value::as_str).is_some_and(|text| text.contains(word));
    Within {
        first: if says("INTRAQUEUE_PREEMPTION_ORDER_POLICY", "priority_first") {
            First::Priority
        } else {
            First::UserLimit
        },
        serve: if says("ORDERING_POLICY", "fair") { Serve::Fairly } else { Serve::Oldest },
        threshold_micro: micro_or(setting(case, "INTRAQUEUE_PREEMPTION_MINIMUM_THRESHOLD"), 500_000),
        at_most_micro: micro_or(setting(case, "INTRAQUEUE_PREEMPTION_MAX_ALLOWABLE_LIMIT"), 200_000),
        conservative: is_on(case, "IN_QUEUE_PREEMPTION_CONSERVATIVE_DRF").unwrap_or(true),
        least,
    }
}

/// Several partitions and resources.
pub fn partitions(case: &Value) -> Result<Played, String> {
    let mut names: Vec<String> = vec![];
    let mut total = Bundle::ZERO;
    let mut trees = vec![];
    for (name, row) in entries(case, "partitions") {
        let whole = bundle(row.get("resource"));
        total = total.plus(whole);
        trees.push(queues_of(case, name, whole, flag(row, "exclusive").unwrap_or(true)));
        names.push(name.clone());
    }
    if names.is_empty() || items(case, "queues").is_empty() {
        return Err("no partitions or no queues".to_owned());
    }
    let measure = Measure { width: width_of(case), total };
    let nodes = entries(case, "nodes").map(|(_, node)| node.get("resource").map(|value| bundle(Some(value)))).collect();
    let mut cluster = Cluster { measure, partitions: trees, apps: vec![], containers: vec![], nodes, masters_micro: 0 };
    let apps = apps_of(case, &names, &mut cluster)?;
    let nothing = json!({});
    let base = case.get("config").and_then(|config| config.get("base")).unwrap_or(&nothing);
    let round = setting(case, "TOTAL_PREEMPTION_PER_ROUND").or_else(|| base.get("total_preemption_per_round"));
    let allowed = total.times(Fraction::millionths(micro_or(round, ONE_MICRO)));
    let mut pace = pace(base, allowed);
    let at_once = setting(case, "PREEMPTION_NATURAL_TERMINATION_FACTOR");
    pace.at_once_micro = micro_or(at_once, pace.at_once_micro);
    pace.ignored_over_micro = micro_or(setting(case, "PREEMPTION_MAX_IGNORED_OVER_CAPACITY"), pace.ignored_over_micro);
    pace.conservative = is_on(case, "CROSS_QUEUE_PREEMPTION_CONSERVATIVE_DRF").unwrap_or(false);
    let mut choice = Choice::new(&cluster, allowed);
    if is_on(case, "PREEMPTION_SELECT_CANDIDATES_FOR_RESERVED_CONTAINERS") == Some(true) {
        cluster.choose_for_reservations(pace, &mut choice);
    }
    let mut obtain = cluster.choose(Pace { allowed: choice.allowed, ..pace }, &mut choice);
    if is_on(case, "PREEMPTION_TO_BALANCE_QUEUES_BEYOND_GUARANTEED") == Some(true) {
        obtain = cluster.choose(Pace { balance: true, allowed: choice.allowed, ..pace }, &mut choice);
    }
    if is_on(case, "INTRAQUEUE_PREEMPTION_ENABLED") == Some(true) {
        let wishes = wishes_of(case, &names);
        let default = names.iter().position(String::is_empty).unwrap_or(0);
        let limits = limits_of(case, &cluster, &wishes, default);
        cluster.choose_within(within(case), &wishes, &limits, &obtain, &mut choice);
    }
    Ok(counted(case, &cluster, &choice, &apps))
}
