//! A small fleet at once: all are heard, and a heartbeat of a known agent asks the store nothing.

use std::sync::{Arc, mpsc};

use control::authority::NodeRequest;
use model::{NodeId, supply::GpuModel};
use store::{Stamp, StoreError, certificates, nodes};

use crate::world::{Agent, World, memory};

const AGENTS: usize = 60;
const BEATS: usize = 5;

/// Agents of nodes that are enrolled already.
async fn fleet(world: &World, count: usize) -> Vec<Agent> {
    let mut agents: Vec<Agent> = (0..count).map(|_| Agent::new(world)).collect();
    let mut rows = Vec::new();
    for (number, agent) in agents.iter_mut().enumerate() {
        let id = NodeId::from_parts(world.ports.now(), world.ports.id_bits());
        let request = NodeRequest::read(&agent.request_pem()).unwrap();
        let signed = world.authority.sign_node(&request, &id, &world.ports).unwrap();
        rows.push((id.clone(), format!("host-{number}"), request.public_key(), signed.serial, signed.not_after));
        (agent.node_id, agent.certificate) = (Some(id), Some(signed.pem));
    }
    let (ports, pool) = (world.ports.clone(), world.pool.clone());
    let write = move |tx: &mut store::Tx<'_>| {
        let mut bits = || ports.id_bits();
        let stamp = &mut Stamp::new(ports.now(), &mut bits);
        for (id, name, key, serial, not_after) in &rows {
            let new = nodes::NodeNew {
                id,
                pool_id: &pool,
                name,
                gpu_model: GpuModel::A100Sxm,
                public_key: key,
                partitions: "null",
                hardware_serial: None,
                profiles: "[]",
                promoted: None,
            };
            nodes::insert(tx, stamp, new)?;
            certificates::insert(tx, serial, id, *not_after, stamp.now)?;
        }
        Ok::<_, StoreError>(())
    };
    world.db.write_async(write).await.unwrap();
    agents
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_that_comes_at_once_is_heard_and_then_costs_the_store_nothing() {
    let mut world = World::on(memory(), |config| config).await;
    let agents = fleet(&world, AGENTS).await;
    let greeting = agents.into_iter().map(|mut agent| {
        tokio::spawn(async move {
            assert_eq!(agent.beat().await.0, 200);
            agent
        })
    });
    let mut agents = Vec::new();
    for one in greeting.collect::<Vec<_>>() {
        agents.push(one.await.unwrap());
    }
    let now = world.ports.now();
    world.plane.step(now);
    assert_eq!(world.count("SELECT COUNT(*) FROM nodes WHERE last_seen_us IS NOT NULL AND agent_boot = 1").await, 60);

    // From here on the store's one thread is held: whoever asks it anything waits.
    let (held, release) = (Arc::new(tokio::sync::Notify::new()), mpsc::channel::<()>());
    let (told, release_rx) = (Arc::clone(&held), std::sync::Mutex::new(release.1));
    let holding = world.db.write_async(move |_| {
        told.notify_one();
        let _ = release_rx.lock().unwrap().recv();
        Ok::<_, StoreError>(())
    });
    let holding = tokio::spawn(holding);
    held.notified().await;
    let beating = agents.into_iter().map(|mut agent| {
        tokio::spawn(async move {
            for _ in 0..BEATS {
                assert_eq!(agent.beat().await.0, 200);
            }
        })
    });
    for one in beating.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert!(!holding.is_finished());
    release.0.send(()).unwrap();
    holding.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_door_that_was_closed_knows_its_fleet_when_it_opens_again() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let before = world.node(&agent.id()).await.version;
    let parts = control::agents::AgentsParts {
        db: world.db.clone(),
        ports: world.ports.clone(),
        authority: world.authority.clone(),
        node_plane: control::plane::ControlPlane::new(
            world.db.clone(),
            world.ports.clone(),
            control::plane::PlaneConfig::new("another"),
        )
        .node_plane(),
        revocations: control::agents::Revocations::default(),
        poke: world.poke.clone(),
        metrics: control::metrics::Metrics::new(),
        gateway: control::streams::Gateway::default(),
    };
    let config = control::agents::AgentsConfig::new("127.0.0.1:0".parse().unwrap());
    let again = control::agents::start(config, parts).await.unwrap();
    agent.move_to(again.address());
    assert_eq!(agent.beat().await.0, 200);
    assert_eq!(world.node(&agent.id()).await.version, before, "nothing is news");
    agent.session = "copy".to_owned();
    assert_eq!(agent.beat().await.0, 409);
}
