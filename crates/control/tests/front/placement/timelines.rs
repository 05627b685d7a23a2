//! The timeline: every step once and in order, percent of the one under way, pages that add up, an end.

use model::{runtime::WorkStep, task::TaskFailure};
use serde_json::{Value, json};

use super::live::Live;
use crate::world::body;

fn entries(live: &Live, id: &str) -> Vec<Value> {
    let page = live.fleet.get(&format!("/api/v1/allocations/{id}/timeline?page_size=200"));
    page["items"].as_array().unwrap().clone()
}

fn steps(entries: &[Value]) -> Vec<String> {
    let word = |entry: &Value| format!("{} {}", entry["step"].as_str().unwrap(), entry["state"].as_str().unwrap());
    entries.iter().map(word).collect()
}

#[test]
fn a_launch_is_told_step_by_step_until_it_is_given_back() {
    let live = Live::new(1);
    let world = live.world();
    let id = live.launch(live.wish(1));
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    live.settle();
    assert_eq!(steps(&entries(&live, &id)), ["admission done", "placement done", "order begun", "order done"]);
    live.progress(&node, &task, WorkStep::Clone, 0);
    world.pass(10);
    live.progress(&node, &task, WorkStep::Clone, 40);
    live.settle();
    let told = entries(&live, &id);
    assert_eq!(steps(&told)[4..], ["clone begun", "clone progress"]);
    let under_way = told.last().unwrap();
    assert_eq!((&under_way["percent"], &under_way["position"]), (&json!(40), &told[4]["position"]));
    // 10 seconds for 40 percent: 15 more.
    let eta: model::Timestamp = under_way["eta"].as_str().unwrap().parse().unwrap();
    assert_eq!(eta.micros_since(world.ports.now()), 15_000_000);
    use WorkStep::{Clone, SshReady, Start, Waiting};
    for (step, percent) in [(Clone, 90), (Start, 10), (Clone, 95), (Waiting, 1), (SshReady, 0)] {
        live.progress(&node, &task, step, percent);
    }
    live.answer(&node, &task, None);
    world.pass(1);
    live.settle();
    assert_eq!(
        steps(&entries(&live, &id))[4..],
        ["clone begun", "boot begun", "ssh_ready begun", "ssh_ready done", "running done"],
        "steps only go on, and work that nobody waits for is no step"
    );
    let path = format!("/api/v1/allocations/{id}");
    assert_eq!(world.act(&world.worker, &format!("{path}/release")).status, 202);
    live.work();
    let told = entries(&live, &id);
    assert_eq!(
        steps(&told)[9..],
        ["release_wanted done", "stopping begun", "order begun", "order done", "proof done", "released done"]
    );
    let positions: Vec<i64> = told.iter().map(|entry| entry["position"].as_i64().unwrap()).collect();
    assert!(positions.is_sorted_by(|one, other| one < other), "{positions:?}");
    assert_eq!(live.fleet.get(&format!("{path}/timeline?page_size=200"))["ended"], true);
}

#[test]
fn a_host_that_is_at_work_is_waited_for_and_one_that_falls_silent_is_not() {
    let live = Live::new(1);
    let id = live.launch(live.wish(1));
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    for percent in [10, 20, 30] {
        live.world().pass(200);
        live.progress(&node, &task, WorkStep::Clone, percent);
        live.settle();
        assert_eq!(live.orders().pop().unwrap().1.id, task.id, "the same order after {percent} %");
    }
    live.world().pass(301);
    live.settle();
    assert_ne!(live.orders().pop().unwrap().1.id, task.id, "it is told again");
    assert_eq!(live.show(&id)["execution"], "provisioning");
}

#[test]
fn pages_add_up_to_the_whole() {
    let live = Live::new(1);
    let id = live.run(live.wish(1));
    let whole = entries(&live, &id);
    let (mut after, mut parts) = (0, Vec::new());
    loop {
        let page = live.fleet.get(&format!("/api/v1/allocations/{id}/timeline?page_size=2&after={after}"));
        assert!(page["next_after"].as_i64().unwrap() >= after);
        after = page["next_after"].as_i64().unwrap();
        parts.extend(page["items"].as_array().unwrap().clone());
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(parts, whole);
    let foreign = live.world().get(&live.world().umbrella.admin, &format!("/api/v1/allocations/{id}/timeline"));
    assert_eq!(foreign.status, 404);
}

#[test]
fn failures_are_told_and_a_refusal_is_an_end() {
    let live = Live::new(1);
    let id = live.launch(live.wish(1));
    live.settle();
    let (node, task) = live.orders().pop().unwrap();
    live.answer(&node, &task, Some(TaskFailure::ProvisionFailed));
    live.work();
    let told = steps(&entries(&live, &id));
    assert!(told.contains(&"boot failed".to_owned()), "{told:?}");
    assert_eq!(told.last().unwrap(), "released failed");

    let cap = format!("/api/v1/projects/{}", live.world().acme.project);
    let world = live.world();
    assert_eq!(world.patch(&world.operator, &cap, world.version(&cap), json!({"gpu_cap": 64})).status, 200);
    let refused = live.launch(live.wish(8));
    live.settle();
    let page = live.fleet.get(&format!("/api/v1/allocations/{refused}/timeline"));
    assert_eq!(steps(page["items"].as_array().unwrap()), ["admission done", "placement failed"]);
    assert_eq!(page["ended"], true);
    let shown = body(&world.get(&world.viewer, &format!("/api/v1/allocations/{refused}")));
    assert_eq!(shown["execution"], "refused");
}
