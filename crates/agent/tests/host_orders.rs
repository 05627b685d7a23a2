//! Orders about the host itself: looked at when asked, answered with a report, and refused when they are old or unknown.
#![allow(clippy::unwrap_used)]

mod world;

use agent::{Record, book::Book};
use api::node_plane::{FromControl, Offer, TaskReport, TasksOffered, ToControl};
use model::{
    runtime::{Finding, FindingAction, FindingKind, ReconcileReport},
    task::{PlanOrder, PlanSlot, Task, TaskFailure, TaskInput, TaskKind, TaskResult},
};
use topology::{
    Tree, discover, readiness,
    simulated::{HostSpec, trees::hgx_h200},
};
use world::{World, lab_bundle, look, node_id, order, slot_id};

fn host() -> Tree {
    hgx_h200(&HostSpec { number: 7, name: "host-7".to_owned(), gpus: 8 })
}

fn world_of(tasks: Vec<Task>) -> World {
    let world = World::new(tasks);
    world.host.machine().shows = host();
    world
}

fn results(said: &[ToControl]) -> Vec<TaskResult> {
    said.iter()
        .filter_map(|message| match message {
            ToControl::Result(answer) => Some(answer.result.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_look_is_answered_with_what_was_seen() {
    let (find, check) = (look(1, TaskKind::SliceTopologyDiscover, 1), look(2, TaskKind::NodeReadiness, 1));
    let mut world = world_of(vec![find.clone(), check.clone()]);
    world.settle();
    let seen = discover(&host());
    assert_eq!(world.result(&find).failure, None);
    assert_eq!(world.reports[&check.id], TaskReport::NodeReadiness(Box::new(readiness(&seen))));
    assert_eq!(world.reports[&find.id], TaskReport::SliceTopologyDiscover(Box::new(seen)));
    assert!(world.effects().is_empty(), "looking changes nothing");
}

#[test]
fn an_answer_is_the_same_after_a_crash_and_its_report_is_dropped_once_it_is_heard() {
    let find = look(1, TaskKind::SliceTopologyDiscover, 1);
    let mut world = world_of(vec![find.clone()]);
    world.offer(std::slice::from_ref(&find));
    for _ in 0..4 {
        world.step(false);
    }
    assert_eq!(world.host.machine().looks, 1);
    world.restart();
    world.host.machine().shows = Tree::default();
    world.settle();
    assert_eq!(world.host.machine().looks, 1, "the journal has what was seen");
    assert_eq!(world.reports[&find.id], TaskReport::SliceTopologyDiscover(Box::new(discover(&host()))));
    assert_eq!(world.agent().book().answers()[&find.id].report, None);
}

#[test]
fn an_older_look_of_the_same_kind_is_refused_even_after_a_rewrite() {
    let mut world = world_of(vec![look(2, TaskKind::SliceTopologyDiscover, 2)]);
    world.settle();
    let records = world.agent().book().records(&node_id());
    let mut again = Book::default();
    records.iter().for_each(|record| again.apply(record));
    assert!(!again.is_newer(&look(1, TaskKind::SliceTopologyDiscover, 1)));
    assert!(again.is_newer(&look(1, TaskKind::NodeReadiness, 1)), "another kind has a count of its own");
    let late = look(1, TaskKind::SliceTopologyDiscover, 1);
    world.offer(std::slice::from_ref(&late));
    let said = world.step(true);
    assert_eq!(results(&said)[0].failure, Some(TaskFailure::StaleFence));
    assert_eq!(world.host.machine().looks, 1);
}

#[test]
fn a_host_that_cannot_be_looked_at_says_so_in_the_words_of_each_order() {
    let usual = [
        (TaskKind::SliceTopologyDiscover, TaskFailure::NotReadable),
        (TaskKind::NodeReadiness, TaskFailure::NotReadable),
        (TaskKind::SlicePlan, TaskFailure::NotReadable),
        (TaskKind::SliceReconcile, TaskFailure::ReconcileFailed),
        (TaskKind::ImagePrefetch, TaskFailure::ImageRefused),
    ];
    for (kind, failure) in usual {
        let asked = look(1, kind, 1);
        let mut world = world_of(vec![asked.clone()]);
        world.host.machine().blind = true;
        world.settle();
        assert_eq!(world.result(&asked).failure, Some(failure), "{kind}");
        assert!(!world.result(&asked).detail.is_empty() && world.reports.is_empty());
    }
}

#[test]
fn plans_and_comparisons_are_answered_with_their_report_and_a_fetched_image_with_none() {
    let (mut plan, compare) = (look(1, TaskKind::SlicePlan, 1), look(2, TaskKind::SliceReconcile, 1));
    plan.input =
        TaskInput::SlicePlan(PlanOrder { slots: vec![PlanSlot { slot_id: slot_id(1), bundle: lab_bundle(1) }] });
    let fetch = look(3, TaskKind::ImagePrefetch, 1);
    let mut world = world_of(vec![plan.clone(), compare.clone(), fetch.clone()]);
    let finding = Finding {
        kind: FindingKind::StraySeed,
        action: FindingAction::Repaired,
        thing: "seed.iso".to_owned(),
        allocation_id: None,
        slot_id: None,
        detail: "It was removed.".to_owned(),
    };
    let found = ReconcileReport { findings: vec![finding], guests: vec![] };
    world.host.machine().findings = found.clone();
    world.settle();
    assert!([&plan, &compare, &fetch].iter().all(|task| world.result(task).failure.is_none()));
    assert!(matches!(&world.reports[&plan.id], TaskReport::SlicePlan(report) if report.disks == ["loop:/disks/1"]));
    assert_eq!(world.reports[&compare.id], TaskReport::SliceReconcile(Box::new(found)));
    assert!(!world.reports.contains_key(&fetch.id));
    assert!(world.effects().is_empty(), "none of them changes a guest");
}

#[test]
fn a_report_that_would_be_refused_is_not_sent() {
    let find = look(1, TaskKind::SliceTopologyDiscover, 1);
    let mut world = world_of(vec![find.clone()]);
    let mut large = Tree::default();
    for at in 0..4000 {
        let function = format!("sys/bus/pci/devices/{:04x}:00:00.0", at);
        large.insert_file(&format!("{function}/vendor"), "0x1234\n").unwrap();
        large.insert_file(&format!("{function}/class"), "0x088000\n").unwrap();
    }
    world.host.machine().shows = large;
    world.settle();
    assert_eq!(world.result(&find).failure, Some(TaskFailure::NotReadable));
    assert!(world.result(&find).detail.contains("bytes"), "{}", world.result(&find).detail);
}

#[test]
fn an_unknown_kind_is_refused_and_the_orders_beside_it_are_done() {
    let find = look(1, TaskKind::SliceTopologyDiscover, 1);
    let newer = order(2, TaskKind::SliceVmProvision, 1, 1);
    let mut offered: serde_json::Value =
        serde_json::to_value(TasksOffered { tasks: vec![Offer::Known(newer.clone()), Offer::Known(find.clone())] })
            .unwrap();
    // What a control plane of next year might send.
    offered["tasks"][0]["input"] = serde_json::json!({"kind": "host.run", "command": "rm -rf /"});
    let offered: TasksOffered = serde_json::from_value(offered).unwrap();
    let mut world = world_of(vec![]);
    world.inbox.push(FromControl::TasksOffered(offered));
    let refused = results(&world.step(true));
    assert_eq!(
        refused.iter().map(|r| (&r.task_id, r.failure)).collect::<Vec<_>>(),
        [(&newer.id, Some(TaskFailure::UnknownKind))]
    );
    world.settle();
    assert!(
        !world.host.journal.records().iter().any(|r| matches!(r, Record::Accepted { task } if task.id == newer.id))
    );
    assert_eq!(world.result(&find).failure, None);
    assert!(world.effects().is_empty());
}
