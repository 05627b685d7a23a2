//! Polls that are held until there is an order.

use std::{sync::Arc, time::Duration};

use api::node_plane::{MESSAGES_PATH, TaskProgress, ToControl};
use control::runner;
use model::runtime::{WorkProgress, WorkStep};
use model::task::{Fence, Task, TaskInput, TaskState};
use model::{NodeId, TaskId};
use serde_json::json;
use store::{Stamp, tasks};

use crate::world::{World, memory, orders};

/// An order that another replica gave: written into the store, and nobody here is told.
async fn order_from_elsewhere(world: &World, node: &NodeId, attempt: i64) -> TaskId {
    let (ports, node_id) = (world.ports.clone(), node.clone());
    let now = ports.now();
    let id = TaskId::from_parts(now, ports.id_bits());
    let task = Task {
        id: id.clone(),
        node_id,
        input: TaskInput::NodeReadiness {},
        fence: Fence { incarnation: 1, generation: 0, attempt },
        deadline: now.plus_seconds(600),
    };
    let write = move |tx: &mut store::Tx<'_>| {
        let mut bits = || ports.id_bits();
        tasks::insert(tx, &mut Stamp::new(now, &mut bits), tasks::TaskNew { task: &task, owner: None })
    };
    world.db.write_async(write).await.unwrap();
    id
}

#[tokio::test]
async fn a_held_poll_ends_with_the_order_that_it_waited_for() {
    let world = Arc::new(World::new().await);
    let mut agent = world.running("host-1").await;
    let node = agent.id();
    let held = tokio::spawn(async move { (agent.poll(30).await, agent) });
    // Whether the order comes before or after the poll is held, the poll hears of it.
    tokio::task::yield_now().await;
    world.order_readiness(&node).await;
    let (heard, mut agent) = held.await.unwrap();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].node_id, node);

    // What was handed out does not end the next poll, but is handed out again at its end.
    assert_eq!(agent.poll(1).await, heard);
    agent.hang_up();
    assert_eq!(agent.poll(30).await, heard, "a new connection is told at once: the old one may have lost it");
}

#[tokio::test]
async fn an_order_that_another_replica_gave_is_found() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let node = agent.id();
    let held = tokio::spawn(async move { (agent.poll(30).await, agent) });
    let id = order_from_elsewhere(&world, &node, 1).await;
    let (heard, mut agent) = held.await.unwrap();
    assert_eq!(heard.iter().map(|task| &task.id).collect::<Vec<_>>(), [&id]);
    let next = order_from_elsewhere(&world, &node, 2).await;
    let heard = agent.poll(30).await;
    assert_eq!(heard.iter().map(|task| &task.id).collect::<Vec<_>>(), [&id, &next]);
}

#[tokio::test]
async fn a_poll_without_orders_ends_empty_when_its_time_is_up() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    assert_eq!(agent.poll(1).await, []);
    assert_eq!(agent.poll(0).await, []);
    let body = serde_json::to_vec(&[agent.asking()]).unwrap();
    for query in ["wait_s=31", "wait_s=-1", "wait_s=x", "other=1", "wait_s=1&wait_s=2"] {
        let answer = agent.call(&format!("{MESSAGES_PATH}?{query}"), body.clone()).await;
        assert_eq!(crate::world::code(&answer), (400, "invalid_parameter"), "{query}");
    }
}

#[tokio::test]
async fn held_polls_take_no_place_from_anybody() {
    let few = |config| control::agents::AgentsConfig { store_calls_at_once: 2, ..config };
    let world = World::on(memory(), few).await;
    let mut waiting = Vec::new();
    for number in 0..40 {
        let mut agent = world.running(&format!("host-{number}")).await;
        waiting.push(tokio::spawn(async move { agent.poll(30).await }));
    }
    let mut other = world.running("other").await;
    world.order_readiness(&other.id()).await;
    assert_eq!(other.poll(30).await.len(), 1, "while forty others wait");
    assert!(waiting.iter().all(|poll| !poll.is_finished()));
    world.server.stop().await;
    for poll in waiting {
        assert_eq!(poll.await.unwrap(), [], "a door that closes answers them");
    }
}

#[tokio::test]
async fn an_order_of_the_running_leader_reaches_a_held_poll() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let node = agent.id();
    let World { plane, db, poke, server, ports, .. } = world;
    let runner = runner::spawn(plane, || {}).unwrap();
    let held = tokio::spawn(async move { (agent.poll(30).await, agent) });
    let at = ports.now();
    let task = Task {
        id: TaskId::from_parts(at, ports.id_bits()),
        node_id: node.clone(),
        input: TaskInput::NodeReadiness {},
        fence: Fence { incarnation: 1, generation: 0, attempt: 1 },
        deadline: at.plus_seconds(600),
    };
    let (given, stamps) = (task.clone(), ports.clone());
    db.write_async(move |tx| {
        let mut bits = || stamps.id_bits();
        tasks::insert(tx, &mut Stamp::new(at, &mut bits), tasks::TaskNew { task: &given, owner: None })
    })
    .await
    .unwrap();
    poke.poke();
    let (heard, mut agent) = held.await.unwrap();
    assert_eq!(heard.iter().map(|task| &task.id).collect::<Vec<_>>(), [&task.id]);

    let progress = ToControl::Progress(TaskProgress {
        node_id: node.clone(),
        boot: 1,
        task_id: task.id.clone(),
        fence: task.fence,
        progress: WorkProgress { percent: Some(40), ..WorkProgress::at(WorkStep::Look) },
    });
    assert_eq!(agent.say(&[progress]).await, (200, json!([])));
    let id = task.id.clone();
    let row = db.read_async(move |tx| tasks::get(tx, &id)).await.unwrap().unwrap();
    let said: serde_json::Value = serde_json::from_str(row.progress.as_deref().unwrap()).unwrap();
    assert_eq!((row.state, said["progress"]["percent"].as_i64()), (TaskState::Delivered, Some(40)));
    assert_eq!(said["progress"]["step"], "look");
    server.stop().await;
    tokio::task::spawn_blocking(move || runner.stop()).await.unwrap();
}

#[tokio::test]
async fn an_answer_and_a_poll_in_one_call_are_both_answered() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    world.order_readiness(&agent.id()).await;
    let task = agent.poll(0).await.remove(0);
    let messages = [agent.heartbeat(), agent.asking(), agent.answering(crate::world::done(&task))];
    let body = serde_json::to_vec(&messages).unwrap();
    let (status, answer) = agent.call(&format!("{MESSAGES_PATH}?wait_s=30"), body).await;
    assert_eq!(status, 200);
    let parts = answer.as_array().unwrap();
    assert_eq!(parts[0]["type"], json!("result_ack"), "the order that was just answered is not offered again");
    assert_eq!(orders(&json!([parts[1]])), []);
    tokio::time::timeout(Duration::from_secs(60), agent.beat()).await.unwrap();
}
