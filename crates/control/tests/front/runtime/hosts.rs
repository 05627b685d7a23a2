//! Orders to hosts that are about all their guests: plans, comparisons with what is claimed, images fetched ahead.

use api::{Code, node_plane::TaskReport};
use model::{
    SlotId,
    runtime::{
        Finding, FindingAction, FindingKind, GuestLeaseState, GuestSeen, GuestStanding, PlanReport, ReconcileReport,
        Refusal,
    },
    task::{Task, TaskInput, TaskKind},
};
use serde_json::{Value, json};

use crate::{
    fleet::{Fleet, code},
    placement::live::Live,
    world::body,
};

fn profile(live: &Live) {
    let body = json!({"slug": "h200-sxm-slice", "name": "Slice", "gpu_model": "h200-sxm", "vcpus": 24, "memory_mib": 65536,
        "min_disk_bytes": 1 << 30, "hugepage_kib": 2048});
    assert_eq!(live.fleet.post("/api/v1/slot-profiles", body).status, 201);
}

fn ordered(live: &Live, path: &str, body: Option<Value>) -> (Task, String) {
    let response = match body {
        Some(body) => live.fleet.post(path, body),
        None => live.fleet.act(path),
    };
    assert_eq!(response.status, 202, "{}", String::from_utf8_lossy(&response.body));
    let (_, task) = live.orders().into_iter().find(|(_, task)| task.input.guest().is_none()).unwrap();
    (task, response.header("Location").unwrap().to_owned())
}

fn slot_of(live: &Live, at: usize) -> SlotId {
    let slots = live.fleet.get(&Fleet::path(&live.nodes[0], "/resource-slots?page_size=200"));
    slots["items"][at]["id"].as_str().unwrap().parse().unwrap()
}

fn slot(live: &Live, id: &SlotId) -> Value {
    live.fleet.get(&format!("/api/v1/admin/resource-slots/{id}"))
}

#[test]
fn a_plan_is_asked_for_shown_and_counts_against_the_slots_it_refuses() {
    let live = Live::new(1);
    let node = live.nodes[0].clone();
    let (path, id) = (Fleet::path(&node, "/plan"), slot_of(&live, 0));
    let wish = json!({"slot_ids": [id]});
    assert_eq!(code(&live.fleet.post(&path, wish.clone())), Code::StateConflict, "nobody said what a slot gets");
    profile(&live);
    let strange = json!({"slot_ids": [SlotId::from_parts(model::Timestamp::from_micros(9), [9; 10])]});
    assert_eq!(code(&live.fleet.post(&path, strange)), Code::UnknownReference);
    assert_eq!(code(&live.fleet.post(&path, json!({"slot_ids": []}))), Code::InvalidBody);
    let plan = |refusals: Vec<Refusal>| PlanReport {
        refusals,
        cells: vec![],
        hugepage_kib: Some(2048),
        pci_addresses: vec![],
        disks: vec![],
        mac: "02:00:00:00:01:05".into(),
        ip: "10.64.0.6".into(),
    };
    let (task, operation) = ordered(&live, &path, Some(wish.clone()));
    let TaskInput::SlicePlan(order) = &task.input else { panic!("{task:?}") };
    assert_eq!((&order.slots[0].slot_id, order.slots[0].bundle.share.hugepage_kib), (&id, Some(2048)));
    assert_eq!(code(&live.fleet.post(&path, wish.clone())), Code::StateConflict, "one at a time");
    let refusal = Refusal {
        check: "hugepages".into(),
        slot_id: Some(id.clone()),
        expected: "32 free".into(),
        found: "3 free".into(),
    };
    live.report(&node, &task, TaskReport::SlicePlan(Box::new(plan(vec![refusal]))));
    assert_eq!(live.fleet.get(&operation)["state"], "succeeded");
    assert_eq!(live.fleet.get(&path)["report"]["refusals"][0]["found"], "3 free");
    assert_eq!(slot(&live, &id)["drift"][0]["field"], "hugepages");

    let (task, _) = ordered(&live, &path, Some(wish));
    live.report(&node, &task, TaskReport::SlicePlan(Box::new(plan(vec![]))));
    assert_eq!(slot(&live, &id)["drift"], json!([]), "a plan that passes takes it back");
}

fn finding(kind: FindingKind, action: FindingAction) -> Finding {
    Finding { kind, action, thing: "gp-1".into(), allocation_id: None, slot_id: None, detail: "It was there.".into() }
}

#[test]
fn a_comparison_carries_every_claim_and_what_is_left_alone_is_not_sold() {
    let live = Live::new(1);
    profile(&live);
    let node = live.nodes[0].clone();
    let id = live.run(live.wish(1));
    let path = Fleet::path(&node, "/reconcile");
    let (task, _) = ordered(&live, &path, None);
    let TaskInput::SliceReconcile(order) = &task.input else { panic!("{task:?}") };
    assert_eq!((order.claims.len(), order.slots.len()), (1, 8));
    assert_eq!(order.claims[0].allocation_id.to_string(), id);
    assert!(order.claims[0].should_run && order.claims[0].slots[0].bundle.is_some());
    let free =
        order.slots.iter().find(|slot| slot.slot_id != order.claims[0].slots[0].slot_id).unwrap().slot_id.clone();
    let mut found = finding(FindingKind::WrongDriver, FindingAction::Quarantined);
    found.slot_id = Some(free.clone());
    let seen = GuestSeen {
        mac: "02:00:00:00:01:05".into(),
        expected_ip: "10.64.0.6".into(),
        actual_ip: None,
        lease_state: GuestLeaseState::Expired,
        host_key: "ssh-ed25519 AAAA guest".into(),
        accelerator: "kvm".into(),
    };
    let guests = vec![GuestStanding { allocation_id: order.claims[0].allocation_id.clone(), running: true, seen }];
    let report =
        ReconcileReport { findings: vec![found, finding(FindingKind::StraySeed, FindingAction::Repaired)], guests };
    live.report(&node, &task, TaskReport::SliceReconcile(Box::new(report)));
    let shown = slot(&live, &free);
    assert_eq!(
        (&shown["drift"][0]["kind"], &shown["drift"][0]["said_by"]),
        (&json!("quarantined"), &json!("reconcile"))
    );
    assert_eq!(live.fleet.get(&path)["report"]["findings"].as_array().unwrap().len(), 2);
    assert_eq!(live.show(&id)["access"]["lease_state"], "expired");
    assert_eq!(live.show(&id)["execution"], "running", "a report touches no tenant");

    let (task, _) = ordered(&live, &path, None);
    live.report(&node, &task, TaskReport::SliceReconcile(Box::default()));
    assert_eq!(slot(&live, &free)["drift"], json!([]));
}

#[test]
fn a_guest_whose_allocation_is_over_is_stopped_and_wiped_again_and_nothing_else_is() {
    let live = Live::new(1);
    profile(&live);
    let node = live.nodes[0].clone();
    let id = live.run(live.wish(1));
    let held = live.inspect(&id);
    let world = live.world();
    assert_eq!(world.act(&world.worker, &format!("/api/v1/allocations/{id}/release")).status, 202);
    let slot_id = live.released(&id);
    assert_eq!(slot(&live, &slot_id)["execution"], "available", "{held}");
    let before = live.orders().len();
    let (task, _) = ordered(&live, &Fleet::path(&node, "/reconcile"), None);
    let mut found = finding(FindingKind::GuestWithoutClaim, FindingAction::Reported);
    found.allocation_id = Some(id.parse().unwrap());
    let report = ReconcileReport { findings: vec![found.clone()], guests: vec![] };
    live.report(&node, &task, TaskReport::SliceReconcile(Box::new(report)));
    assert_eq!(slot(&live, &slot_id)["execution"], "cleanup_blocked");
    live.settle();
    let orders = live.orders();
    assert_eq!(orders.len(), before + 1);
    let again = &orders.last().unwrap().1;
    assert_eq!((again.kind(), again.slots().len()), (TaskKind::SliceVmRelease, 1));
    assert_eq!(again.slots()[0].slot_id, slot_id);
    // Told again while that is being done, nothing more happens.
    let (task, _) = ordered(&live, &Fleet::path(&node, "/reconcile"), None);
    let report = ReconcileReport { findings: vec![found], guests: vec![] };
    live.report(&node, &task, TaskReport::SliceReconcile(Box::new(report)));
    live.settle();
    assert_eq!(live.orders().len(), before + 1);
    // What was proved before is not proved any more; the answer to the new challenge proves it again.
    let told = || world.get(&world.worker, &format!("/api/v1/allocations/{id}/proofs"));
    assert_eq!(body(&told())["slots"][0]["outcome"], "unproved");
    assert_eq!(live.proved(&node, again), slot_id);
    assert_eq!(slot(&live, &slot_id)["execution"], "available");
    let kept = live.fleet.get(&format!("/api/v1/admin/resource-slots/{slot_id}/proofs"));
    assert_eq!(kept["items"].as_array().unwrap().len(), 2, "{kept}");
}

#[test]
fn a_comparison_names_the_slots_of_a_guest_in_the_order_in_which_it_was_built() {
    let live = Live::new(1);
    profile(&live);
    let id = live.launch(live.wish(8));
    live.settle();
    let (node, built) = live.orders().into_iter().find(|(_, task)| !task.slots().is_empty()).unwrap();
    live.answer(&node, &built, None);
    live.settle();
    assert_eq!(live.show(&id)["execution"], "running");
    let (task, _) = ordered(&live, &Fleet::path(&node, "/reconcile"), None);
    let TaskInput::SliceReconcile(order) = &task.input else { panic!("{task:?}") };
    let ids = |slots: &[model::task::TaskSlot]| slots.iter().map(|slot| slot.slot_id.clone()).collect::<Vec<_>>();
    assert_eq!(built.slots().len(), 8);
    assert_eq!(ids(&order.claims[0].slots), ids(built.slots()));
}

#[test]
fn an_image_is_fetched_ahead_only_if_it_can_be_launched() {
    let live = Live::new(1);
    let path = Fleet::path(&live.nodes[0], "/prefetch");
    assert_eq!(code(&live.fleet.post(&path, json!({"image_id": "nothing"}))), Code::UnknownReference);
    let (task, operation) = ordered(&live, &path, Some(json!({"image_id": "simulated"})));
    assert!(matches!(&task.input, TaskInput::ImagePrefetch { image } if image.id == "simulated"));
    live.answer(&live.nodes[0], &task, None);
    assert_eq!(live.fleet.get(&operation)["state"], "succeeded");
    assert_eq!(live.fleet.act("/api/v1/images/simulated/retire").status, 200);
    assert_eq!(code(&live.fleet.post(&path, json!({"image_id": "simulated"}))), Code::StateConflict);
}

#[test]
fn a_host_that_says_it_looked_and_not_what_it_saw_has_not_looked() {
    let live = Live::new(1);
    let path = Fleet::path(&live.nodes[0], "/reconcile");
    let (task, operation) = ordered(&live, &path, None);
    live.answer(&live.nodes[0], &task, None);
    assert_eq!(live.fleet.get(&operation)["state"], "failed");
    let missing = live.world().get(&live.world().operator, &path);
    assert_eq!(missing.status, 404);
}
