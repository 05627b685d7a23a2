//! Agents that misbehave: each is refused, each is in the audit trail, and operators see it with the node.

use api::node_plane::{
    Heartbeat, MESSAGES_BYTES_MAX, MESSAGES_PATH, Poll, REPORT_BYTES_MAX, TaskAnswer, TaskProgress, TaskReport,
    ToControl,
};
use model::{
    NodeId,
    runtime::{WorkProgress, WorkStep},
    supply::IncidentKind,
    task::{Task, TaskFailure, TaskState},
};
use serde_json::json;
use store::tasks::{self, TaskRow};
use topology::{Readiness, simulated};

use crate::world::{Agent, World, code, done};

async fn orders(world: &World, node: &NodeId) -> Vec<TaskRow> {
    let node = node.clone();
    world.read(move |tx| tasks::list_of_node(tx, &node, store::Page::first(50))).await
}

/// A running agent with one open order that it was handed.
async fn with_order(world: &World, name: &str) -> (Agent, Task) {
    let mut agent = world.running(name).await;
    world.order_readiness(&agent.id()).await;
    let mut open = agent.poll(0).await;
    assert_eq!(open.len(), 1);
    (agent, open.remove(0))
}

fn ready() -> Readiness {
    let spec = simulated::HostSpec { number: 1, name: "host-1".to_owned(), gpus: 8 };
    let tree = simulated::trees::hgx_h200(&spec);
    topology::readiness(&topology::discover(&tree))
}

fn answer(agent: &Agent, task: &Task, report: Option<TaskReport>) -> ToControl {
    ToControl::Result(TaskAnswer { node_id: agent.id(), boot: agent.boot, result: done(task), report })
}

#[tokio::test]
async fn nobody_acts_for_another_node() {
    let world = World::new().await;
    let (victim, order) = with_order(&world, "victim").await;
    let mut liar = world.running("liar").await;
    let before = world.node(&victim.id()).await;
    let (node_id, boot) = (victim.id(), victim.boot);
    let progress = |node_id: NodeId| {
        let (task_id, fence) = (order.id.clone(), order.fence);
        ToControl::Progress(TaskProgress { node_id, boot, task_id, fence, progress: WorkProgress::at(WorkStep::Clone) })
    };
    let lies = [
        victim.heartbeat(),
        ToControl::Poll(Poll { node_id: node_id.clone(), boot }),
        answer(&victim, &order, None),
        progress(node_id.clone()),
        // In its own name, about another's order.
        answer(&liar, &order, None),
        progress(liar.id()),
    ];
    for lie in lies {
        let said = format!("{lie:?}");
        let refused = liar.say(&[lie]).await;
        assert_eq!(code(&refused), (403, "node_message_refused"), "{said}");
    }
    let rows = orders(&world, &victim.id()).await;
    assert_eq!((rows[0].state, rows[0].progress.as_deref()), (TaskState::Delivered, None));
    assert_eq!(world.node(&victim.id()).await.version, before.version);
    assert_eq!(world.incidents(&victim.id()).await, []);
    world.only_incident(&liar.id(), IncidentKind::ActedForAnother).await;
}

#[tokio::test]
async fn an_order_has_one_answer_and_a_different_one_later_is_an_incident() {
    let world = World::new().await;
    let (mut agent, order) = with_order(&world, "host-1").await;
    let report = || Some(TaskReport::NodeReadiness(Box::new(ready())));
    let ack = json!([{ "type": "result_ack", "body": { "task_id": order.id } }]);
    for _ in 0..2 {
        let said = answer(&agent, &order, report());
        assert_eq!(agent.say(&[said]).await, (200, ack.clone()), "the same again is no news");
    }
    assert_eq!(world.incidents(&agent.id()).await, []);
    assert!(world.node(&agent.id()).await.readiness.is_some());
    let after = orders(&world, &agent.id()).await;
    let mut changed = done(&order);
    changed.failure = Some(TaskFailure::NotReadable);
    let said = agent.answering(changed);
    assert_eq!(agent.say(&[said]).await, (200, ack), "it need not be said again");
    assert_eq!(orders(&world, &agent.id()).await, after, "and changes nothing");
    world.only_incident(&agent.id(), IncidentKind::ReplayedResult).await;
}

#[tokio::test]
async fn what_is_too_long_is_refused() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let body = vec![b' '; MESSAGES_BYTES_MAX + 1];
    let refused = agent.call(MESSAGES_PATH, body).await;
    assert_eq!(code(&refused), (413, "body_too_large"));
    let incident = world.only_incident(&agent.id(), IncidentKind::OversizedOutput).await;
    assert_eq!(incident.count, 1);
    agent.hang_up();

    let (mut other, order) = with_order(&world, "host-2").await;
    let mut huge = ready();
    huge.checks[0].detail = "x".repeat(REPORT_BYTES_MAX);
    let said = answer(&other, &order, Some(TaskReport::NodeReadiness(Box::new(huge))));
    assert_eq!(other.say(&[said]).await.0, 200, "the order ends, so that it is not said again");
    let rows = orders(&world, &other.id()).await;
    assert_eq!(rows[0].state, TaskState::Failed);
    assert_eq!(rows[0].result.as_ref().unwrap().failure, Some(TaskFailure::ReportRefused));
    assert_eq!(world.node(&other.id()).await.readiness, None);
    world.only_incident(&other.id(), IncidentKind::OversizedOutput).await;

    let (mut third, order) = with_order(&world, "host-3").await;
    let mut result = done(&order);
    result.detail = "x".repeat(200_000);
    let said = third.answering(result);
    assert_eq!(code(&third.say(&[said]).await), (413, "body_too_large"));
    assert_eq!(orders(&world, &third.id()).await[0].state, TaskState::Delivered);
    world.only_incident(&third.id(), IncidentKind::OversizedOutput).await;
}

#[tokio::test]
async fn an_agent_that_looked_must_say_what_it_saw() {
    let world = World::new().await;
    let (mut agent, order) = with_order(&world, "host-1").await;
    let said = answer(&agent, &order, None);
    assert_eq!(agent.say(&[said]).await.0, 200);
    let rows = orders(&world, &agent.id()).await;
    assert_eq!(rows[0].result.as_ref().unwrap().failure, Some(TaskFailure::ReportRefused));
    assert_eq!(world.incidents(&agent.id()).await, [], "careless, not malicious");
}

#[tokio::test]
async fn a_clock_that_is_far_off_is_not_heard() {
    let world = World::new().await;
    let mut agent = world.agent("host-1").await;
    for off_s in [-200, 200] {
        let (node_id, boot, session) = (agent.id(), 1, "first".to_owned());
        let sent_at = world.ports.now().plus_seconds(off_s);
        let refused = agent.say(&[ToControl::Heartbeat(Heartbeat { node_id, boot, session, sent_at })]).await;
        assert_eq!(code(&refused), (403, "node_message_refused"));
        assert!(refused.1["detail"].as_str().unwrap().contains("clock"), "{}", refused.1);
    }
    assert_eq!(world.node(&agent.id()).await.agent_boot, 0);
    world.only_incident(&agent.id(), IncidentKind::ClockFarOff).await;
    assert_eq!(agent.beat().await.0, 200, "with the right time it is heard");
}

#[tokio::test]
async fn of_two_agents_with_one_identity_the_later_start_speaks() {
    let world = World::new().await;
    let mut first = world.running("host-1").await;
    let mut copy = first.twin();
    copy.session = "copy".to_owned();
    assert_eq!(code(&copy.beat().await), (409, "agent_superseded"), "started just as often, and another one");
    world.only_incident(&first.id(), IncidentKind::IdentityShared).await;
    assert_eq!(first.beat().await.0, 200);

    copy.boot = 2;
    assert_eq!(copy.beat().await.0, 200, "started later in the node's own count: it takes over");
    assert_eq!(world.node(&first.id()).await.agent_session, "copy");
    // What is said in the same millisecond could still be late.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    assert_eq!(code(&first.beat().await), (409, "agent_superseded"));
    let asking = first.asking();
    assert_eq!(code(&first.say(&[asking]).await), (409, "agent_superseded"), "it gets no orders");
    assert_eq!(copy.beat().await.0, 200);
    // The first in a second is written at once, the rest is counted and written with the heartbeats.
    let now = world.ports.now().plus_seconds(2);
    world.plane.node_plane().flush(&world.db, now).unwrap();
    let incident = world.only_incident(&first.id(), IncidentKind::IdentityShared).await;
    assert_eq!(incident.count, 2);
}

#[tokio::test]
async fn a_message_from_before_a_restart_is_late_and_no_incident() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let late = agent.heartbeat();
    (agent.boot, agent.session) = (2, "second".to_owned());
    assert_eq!(agent.beat().await.0, 200);
    assert_eq!(code(&agent.say(&[late]).await), (409, "agent_superseded"));
    assert_eq!(world.incidents(&agent.id()).await, []);
}

#[tokio::test]
async fn a_revoked_identity_is_refused_at_once() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let path = format!("/api/v1/admin/nodes/{}/revoke-identity", agent.id());
    let (status, view) = world.api("POST", &path, Some(json!({ "reason": "stolen" }))).await;
    assert_eq!(status, 200, "{view}");
    assert_eq!(code(&agent.beat().await), (403, "node_identity_refused"), "the very next call");
    assert_eq!(code(&agent.renew(agent.request_pem()).await), (403, "node_identity_refused"));
    agent.hang_up();
    assert_eq!(code(&agent.beat().await), (403, "node_identity_refused"));
    world.only_incident(&agent.id(), IncidentKind::RevokedIdentity).await;
    let answer = world.api("POST", &path, Some(json!({ "reason": "again" }))).await;
    assert_eq!(code(&answer), (409, "state_conflict"));
    let (_, list) = world.api("GET", &format!("/api/v1/admin/nodes/{}/incidents", agent.id()), None).await;
    assert_eq!(list["items"][0]["kind"], json!("revoked_identity"));
    let (_, node) = world.api("GET", &format!("/api/v1/admin/nodes/{}", agent.id()), None).await;
    assert_eq!(node["incidents"], json!(1));
}

#[tokio::test]
async fn an_identity_revoked_on_another_replica_is_refused_soon() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let (id, now) = (agent.id(), world.ports.now());
    world.db.write_async(move |tx| store::certificates::revoke_of_node(tx, &id, now)).await.unwrap();
    let refused = async {
        loop {
            let answer = agent.beat().await;
            if answer.0 != 200 {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let answer = tokio::time::timeout(std::time::Duration::from_secs(60), refused).await.unwrap();
    assert_eq!(code(&answer), (403, "node_identity_refused"));
}

#[tokio::test]
async fn misbehaving_fast_fills_one_row() {
    let world = World::new().await;
    let victim = world.running("victim").await;
    let mut liar = world.running("liar").await;
    let before = world.db.counts().closures;
    for _ in 0..100 {
        let lie = victim.heartbeat();
        assert_eq!(code(&liar.say(&[lie]).await).0, 403);
    }
    let written = world.db.counts().closures - before;
    let now = world.ports.now().plus_seconds(2);
    world.plane.node_plane().flush(&world.db, now).unwrap();
    let incident = world.only_incident(&liar.id(), IncidentKind::ActedForAnother).await;
    assert_eq!(incident.count, 100);
    assert!(written < 50, "{written} writes for 100 lies");
    let told = world.audited(&format!("node:{}", liar.id())).await;
    assert!(told.len() <= 2, "one a minute: {told:?}");
}
