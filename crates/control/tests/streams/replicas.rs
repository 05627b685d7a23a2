//! Several replicas on one store: the client is at one, the agent polls at another, and they still meet.

use std::sync::Arc;

use agent::streams::Streams;
use control::{
    agents::{self as agents_door, AgentsConfig, AgentsParts, AgentsServer, Revocations},
    front_door::{FrontDoor, FrontDoorConfig},
    http::{EventFeed, HttpConfig, HttpServer, Parts},
    metrics::Metrics,
    plane::{ControlPlane, PlaneConfig},
    streams::{Gateway, GatewayConfig},
};
use model::stream::{StreamEnding, StreamKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::site::{Echo, PATIENCE, Site, open_at, quick};

struct Replica {
    http: HttpServer,
    agents: AgentsServer,
    gateway: Gateway,
}

/// Another replica on the same store.
async fn another(site: &Site, name: &str) -> Replica {
    let (world, gateway) = (&site.world, Gateway::new(quick(site.folder.path())));
    let revocations = Revocations::default();
    let config = FrontDoorConfig {
        replica: name.to_owned(),
        revocations: revocations.clone(),
        gateway: gateway.clone(),
        ..FrontDoorConfig::default()
    };
    let door = FrontDoor::new(world.ports.clone(), config).unwrap();
    let plane = ControlPlane::new(world.db.clone(), world.ports.clone(), PlaneConfig::new(name));
    let parts = AgentsParts {
        db: world.db.clone(),
        ports: world.ports.clone(),
        authority: Arc::clone(&world.authority),
        node_plane: plane.node_plane(),
        revocations,
        poke: plane.poke(),
        metrics: Metrics::new(),
        gateway: gateway.clone(),
    };
    let agents = agents_door::start(AgentsConfig::new("127.0.0.1:0".parse().unwrap()), parts).await.unwrap();
    let (db, poke, feed) = (world.db.clone(), plane.poke(), EventFeed::default());
    let parts = Parts { door, db, metrics: Metrics::new(), poke, feed };
    let http = control::http::start(HttpConfig::new("127.0.0.1:0".parse().unwrap()), parts).await.unwrap();
    Replica { http, agents, gateway }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_polls_at_one_replica_reaches_the_client_at_another() {
    let site = Site::new().await;
    let (host, allocation) = site.host("host-1", Echo).await;
    let second = another(&site, "second").await;
    second.gateway.advertise(format!("https://{}", second.agents.address()));
    let opened = open_at(second.http.address(), &site.acme.worker, &allocation, StreamKind::Ssh).await;
    let mut stream = opened.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!((&heard, host.streams.open_count()), (b"hello", 1));
    let row = site.streams(&allocation).await.remove(0);
    assert_eq!(row.replica, "second");
    assert_eq!((second.gateway.open_count(), site.gateway().open_count()), (1, 0));
    // A change that went through the first replica ends it at the second.
    let (status, _) = site.world.api("POST", &format!("/api/v1/allocations/{allocation}/release"), None).await;
    assert_eq!(status, 202);
    let row = site.ended(&allocation).await;
    assert_eq!(row.ended.map(|(_, how)| how), Some(StreamEnding::AllocationEnded));
    second.agents.stop().await;
    second.http.stop().await;
}

#[tokio::test]
async fn a_replica_without_the_client_sends_the_agent_on() {
    let site = Site::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (dialer, enrolled) = crate::site::enrolled(&site, "host-1", &folder).await;
    let allocation = site.running(&enrolled.node_id).await;
    let second = another(&site, "second").await;
    let (server, who, to) = (second.http.address(), site.acme.worker.clone(), allocation.clone());
    let opening = tokio::spawn(async move { open_at(server, &who, &to, StreamKind::Ssh).await });
    let until = std::time::Instant::now() + PATIENCE;
    let row = loop {
        match site.streams(&allocation).await.pop() {
            Some(row) => break row,
            None => assert!(std::time::Instant::now() < until, "it is never wanted"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    // Asked at the wrong replica first, as behind one name for several: the agent tries until it meets the right one.
    let path = format!("{}/{}", api::node_plane::STREAM_PATH, row.id);
    let mut first = agent::wire::Client::new(&dialer.server, dialer.pin, Some(&dialer.credential)).unwrap();
    let refused = first.upgrade(&path, api::node_plane::STREAM_PROTOCOL).await.map(drop).unwrap_err();
    assert!(matches!(refused, agent::wire::CallFault::Refused { status: 409, .. }), "{refused}");
    let streams = Streams::new(Echo);
    let address = format!("https://{}", second.agents.address());
    let wanted = api::node_plane::StreamWanted {
        id: row.id,
        allocation_id: row.allocation_id,
        kind: row.kind,
        address: Some(address),
    };
    streams.hear(&[api::node_plane::FromControl::StreamWanted(wanted)], &dialer);
    opening.await.unwrap().unwrap();
    second.agents.stop().await;
    second.http.stop().await;
}

#[tokio::test]
async fn what_a_lost_replica_carried_is_ended_by_the_others() {
    let site = Site::with(|config| GatewayConfig { alive: std::time::Duration::from_millis(200), ..config }).await;
    let (host, allocation) = site.host("host-1", Echo).await;
    let (id, node, estate) = (allocation.clone(), host.node.clone(), site.acme.clone());
    let stream = crate::site::write(&site.world, move |tx, stamp| {
        let stream = model::StreamId::from_parts(stamp.now, stamp.bits());
        let person = store::tokens::get(tx, &estate.worker.token)?.unwrap();
        let new = store::streams::StreamNew {
            id: &stream,
            allocation_id: &id,
            tenant_id: &estate.tenant,
            project_id: &estate.project,
            node_id: &node,
            kind: StreamKind::Ssh,
            principal_id: &person.principal_id,
            token_id: &estate.worker.token,
            request_id: "req",
            came_from: "192.0.2.1",
            replica: "gone",
            agent_address: None,
            open_by: stamp.now.plus_seconds(-20),
            alive_until: stamp.now.plus_seconds(-10),
        };
        store::streams::insert(tx, new, stamp.now.plus_seconds(-30))?;
        Ok(stream)
    })
    .await;
    let row = site.ended(&allocation).await;
    assert_eq!((row.id, row.ended.map(|(_, how)| how)), (stream, Some(StreamEnding::ReplicaLost)));
    let told = site.audited(&allocation).await;
    assert_eq!(told.iter().filter(|(action, _)| action == "stream_end").count(), 1, "{told:?}");
}
