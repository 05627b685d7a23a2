//! Leases that end, releases by force, and evacuation.

use api::Code;
use model::task::TaskKind;
use serde_json::{Value, json};

use super::live::Live;
use crate::{
    fleet::{Fleet, code},
    world::body,
};

fn leased(live: &Live, gpus: i64, seconds: i64) -> Value {
    let mut wish = live.wish(gpus);
    let ends = live.world().ports.now().plus_seconds(seconds).to_string();
    wish["lease_ends_at"] = json!(ends);
    wish
}

#[test]
fn a_lease_is_warned_of_and_ends_by_itself() {
    let live = Live::new(1);
    let world = live.world();
    let id = live.run(leased(&live, 1, 36_000));
    for (pass, warned) in [(35_000, false), (101, true)] {
        world.pass(pass);
        live.settle();
        assert_eq!(live.show(&id)["lease_warned_at"].is_string(), warned, "after {pass}");
    }
    let path = format!("/api/v1/allocations/{id}");
    let timeline = live.fleet.get(&format!("{path}/timeline?page_size=200"));
    assert!(timeline["items"].as_array().unwrap().iter().any(|entry| entry["step"] == "lease"), "{timeline}");
    world.pass(900);
    live.settle();
    let shown = live.show(&id);
    assert_eq!(
        (&shown["desired"], &shown["desired_reason"], &shown["execution"]),
        (&json!("released"), &json!("lease_ended"), &json!("releasing"))
    );
    assert_eq!(
        shown["projected"].as_str().unwrap().split_once('.').unwrap().0,
        "Its lease has ended; it is being given back"
    );
    live.work();
    assert_eq!(live.show(&id)["execution"], "released");
}

#[test]
fn a_lease_can_be_extended_while_it_runs_and_only_to_later() {
    let live = Live::with(1, |config| config.lease_warning_s = 60);
    let world = live.world();
    let id = live.run(leased(&live, 1, 3_600));
    let extend = format!("/api/v1/allocations/{id}/extend");
    let until = |seconds: i64| json!({"lease_ends_at": world.ports.now().plus_seconds(seconds).to_string()});
    let sooner = world.post(&world.worker, &extend, until(1_800));
    let told = sooner.as_problem().unwrap();
    assert_eq!((told.code, told.errors[0].pointer.as_str()), (Code::LeaseRefused, "/lease_ends_at"));
    assert_eq!(code(&world.post(&world.viewer, &extend, until(7_200))), Code::Forbidden);
    world.pass(3_550);
    live.settle();
    assert!(live.show(&id)["lease_warned_at"].is_string(), "warned at the configured time");
    assert_eq!(world.post(&world.worker, &extend, until(3_600)).status, 200);
    assert!(live.show(&id)["lease_warned_at"].is_null(), "and will be warned again");
    world.pass(100);
    live.settle();
    assert_eq!(live.show(&id)["execution"], "running", "the old end has passed");
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{id}/release")).status, 202);
    assert_eq!(code(&world.post(&world.worker, &extend, until(9_000))), Code::StateConflict);
}

#[test]
fn a_dead_host_is_not_waited_for_and_its_slots_stay_blocked() {
    let live = Live::new(1);
    let world = live.world();
    let id = live.run(live.wish(2));
    let force = format!("/api/v1/admin/allocations/{id}/force-release");
    assert_eq!(code(&world.post(&world.acme.admin, &force, json!({"reason": "mine"}))), Code::NotFound);
    // The host falls silent.
    world.pass(60);
    live.settle_without_nodes();
    let started = live.fleet.post(&force, json!({"reason": "host burnt down"}));
    assert_eq!(started.status, 202);
    let operation = started.header("Location").unwrap().to_owned();
    live.settle_without_nodes();
    let shown = live.show(&id);
    assert_eq!((&shown["execution"], &shown["desired_reason"]), (&json!("released"), &json!("force_released")));
    assert_eq!(live.fleet.get(&operation)["state"], "succeeded");
    assert_eq!(code(&live.fleet.post(&force, json!({"reason": "again"}))), Code::StateConflict);
    let inspected = live.inspect(&id);
    assert!(
        inspected["claims"].as_array().unwrap().iter().all(|claim| claim["released_at"].is_string()),
        "{inspected}"
    );
    let blocked = live.fleet.slots(&live.nodes[0]).iter().filter(|slot| slot["execution"] == "cleanup_blocked").count();
    assert_eq!(blocked, 2, "never for sale without proof");
    let orders = inspected["tasks"].as_array().unwrap();
    let last = orders.iter().max_by_key(|task| task["attempt"].as_i64()).unwrap();
    assert_eq!(
        (&last["kind"], &last["execution"]),
        (&json!("slice.vm_release"), &json!("pending")),
        "for when it is back"
    );
    assert!(orders.iter().all(|task| task["kind"] != "slice.vm_provision" || task["execution"] != "pending"));
    // The host is back: it finds the order, and without proof nothing is for sale.
    live.settle();
    let orders = live.orders();
    let (node, task) = orders.into_iter().find(|(_, task)| task.kind() == TaskKind::SliceVmRelease).unwrap();
    assert_eq!(task.slots().len(), 2);
    live.answer(&node, &task, None);
    live.settle();
    let blocked = live.fleet.slots(&live.nodes[0]).iter().filter(|slot| slot["execution"] == "cleanup_blocked").count();
    assert_eq!(blocked, 2);
    assert_eq!(control::auditor::check(&world.db, 10).unwrap(), []);
}

#[test]
fn a_host_that_is_heard_of_ends_a_forced_release_properly() {
    let live = Live::new(1);
    let id = live.run(live.wish(1));
    let force = format!("/api/v1/admin/allocations/{id}/force-release");
    assert_eq!(live.fleet.post(&force, json!({"reason": "stuck"})).status, 202);
    live.settle();
    assert_eq!(live.show(&id)["execution"], "releasing", "it gets one chance");
    let (node, task) = live.orders().pop().unwrap();
    live.answer(&node, &task, None);
    live.settle();
    assert_eq!(live.show(&id)["execution"], "released");
    assert_eq!(control::auditor::check(&live.world().db, 10).unwrap(), []);
}

#[test]
fn evacuation_moves_what_may_be_moved_and_says_what_stays() {
    let live = Live::new(2);
    let world = live.world();
    let mut wish = live.wish(2);
    wish["may_recreate"] = json!(true);
    wish["labels"] = json!([{"key": "team", "value": "vision"}]);
    let moves = live.run(wish);
    let stays = live.run(live.wish(1));
    let node = live.inspect(&moves)["node_id"].as_str().unwrap().to_owned();
    assert_eq!(live.inspect(&stays)["node_id"], node.as_str(), "slices go where slices are");
    let path = format!("/api/v1/admin/nodes/{node}/evacuate");
    assert_eq!(code(&world.post(&world.acme.admin, &path, json!({"reason": "x"}))), Code::NotFound);
    let answer = live.fleet.post(&path, json!({"reason": "mainboard"}));
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let view = body(&answer);
    assert_eq!((&view["leaving"][0]["allocation_id"], &view["leaving"][0]["recreated"]), (&json!(moves), &json!(true)));
    assert_eq!(
        (&view["staying"][0]["allocation_id"], &view["staying"][0]["reason"]),
        (&json!(stays), &json!("no_consent"))
    );
    let again = body(&live.fleet.post(&path, json!({"reason": "mainboard"})));
    assert_eq!(
        (&again["leaving"], &again["staying"]),
        (&view["leaving"], &view["staying"]),
        "asking again changes nothing"
    );
    live.work();
    let gone = live.show(&moves);
    assert_eq!((&gone["execution"], &gone["desired_reason"]), (&json!("released"), &json!("evacuated")));
    let new = gone["recreated_as"].as_str().unwrap().to_owned();
    let shown = live.show(&new);
    assert_eq!(
        (&shown["recreated_from"], &shown["labels"], &shown["execution"]),
        (&json!(moves), &gone["labels"], &json!("running"))
    );
    assert_ne!(live.inspect(&new)["node_id"], node.as_str());
    assert_eq!(live.show(&stays)["execution"], "running");
    assert_eq!(live.fleet.get(&Fleet::path(&node.parse().unwrap(), ""))["desired"], "drained");
    assert_eq!(control::auditor::check(&world.db, 10).unwrap(), []);
}

#[test]
fn what_has_no_other_place_stays_and_an_owner_may_change_their_mind() {
    let live = Live::new(2);
    let world = live.world();
    let mut wish = live.wish(4);
    wish["may_recreate"] = json!(true);
    let first = live.run(wish.clone());
    let cap = format!("/api/v1/projects/{}", world.acme.project);
    assert_eq!(world.patch(&world.operator, &cap, world.version(&cap), json!({"gpu_cap": 64})).status, 200);
    live.run(live.wish(4));
    live.run(live.wish(8));
    let node = live.inspect(&first)["node_id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/admin/nodes/{node}/evacuate");
    let view = body(&live.fleet.post(&path, json!({"reason": "fan"})));
    let staying: Vec<&str> =
        view["staying"].as_array().unwrap().iter().map(|one| one["reason"].as_str().unwrap()).collect();
    assert!(staying.contains(&"no_other_place"), "{view}");
    assert_eq!(live.show(&first)["desired"], "running");
    // Room is made, it is evacuated, and its owner gives it back for good before it is gone.
    let whole = live.nodes.iter().find(|other| other.as_str() != node).unwrap().clone();
    let other =
        live.fleet.get(&Fleet::path(&whole, "/claims"))["items"][0]["allocation_id"].as_str().unwrap().to_owned();
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{other}/release")).status, 202);
    live.work();
    // Without proof its slots stay blocked; a third host has room.
    let third = live.fleet.promoted(3);
    let mut live = live;
    live.nodes.push(third);
    live.settle();
    let view = body(&live.fleet.post(&path, json!({"reason": "fan"})));
    assert_eq!(view["leaving"][0]["allocation_id"], json!(first), "{view}");
    let world = live.world();
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{first}/release")).status, 202);
    live.work();
    assert!(live.show(&first)["recreated_as"].is_null(), "nobody wants it again");
}
