//! Who is let in, and who is not.

use std::sync::Arc;

use api::node_plane::{EnrollAnswer, RenewAnswer};
use model::{
    EnrollmentTokenId,
    supply::{GpuModel, IncidentKind, NodeState},
};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use serde_json::json;
use store::{certificates, enrollment, testing::both_engines};
use x509_parser::extensions::GeneralName;

use crate::world::{Agent, World, code};

#[tokio::test]
async fn a_host_comes_in_with_a_token_and_speaks() {
    let mut world = World::new().await;
    let (token, secret) = world.token("host-1").await;
    assert!(secret.starts_with("gpe_") && secret.len() == 47, "{secret}");
    let mut agent = Agent::new(&world);
    let (status, answer) = agent.enroll(&secret, Some("SN-1")).await;
    assert_eq!(status, 200, "{answer}");
    let answer: EnrollAnswer = serde_json::from_value(answer).unwrap();
    assert_eq!(answer.heartbeat_s, 10);

    let node = world.node(&answer.node_id).await;
    assert_eq!((node.name.as_str(), node.gpu_model, node.state), ("host-1", GpuModel::A100Sxm, NodeState::Enrolled));
    assert_eq!(
        (node.partitions.as_str(), node.promoted, node.hardware_serial.as_deref()),
        ("null", None, Some("SN-1"))
    );
    assert_eq!((node.agent_version.as_str(), node.version), ("1.2.3", 1));
    assert_eq!(node.public_key, hex(agent.key.public_key_raw()));

    let certificate = rustls::pki_types::pem::PemObject::from_pem_slice(answer.certificate_pem.as_bytes());
    let certificate: rustls::pki_types::CertificateDer<'_> = certificate.unwrap();
    let (_, read) = x509_parser::parse_x509_certificate(&certificate).unwrap();
    let names = &read.subject_alternative_name().unwrap().unwrap().value.general_names;
    let identity = format!("spiffe://test.example/node/{}", answer.node_id);
    assert!(matches!(names.as_slice(), [GeneralName::URI(uri)] if *uri == identity), "{names:?}");
    let life_s = read.validity().not_after.timestamp() - read.validity().not_before.timestamp();
    assert!(life_s <= 24 * 3600 && !read.is_ca(), "{life_s}");
    let usage = read.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.client_auth && !usage.server_auth);

    let told = world.audited(&format!("enrollment:{token}")).await;
    assert_eq!(told.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["node_enroll"]);
    let (_, shown) = world.api("GET", &format!("/api/v1/admin/enrollment-tokens/{token}"), None).await;
    assert_eq!(shown["node_id"], json!(answer.node_id));
    assert!(shown["used_at"].is_string());

    assert_eq!(agent.beat().await, (200, json!([])));
    let node = world.node(&answer.node_id).await;
    assert_eq!((node.agent_boot, node.agent_session.as_str()), (1, "first"));
    assert_eq!(node.agent_version, "9.8.7", "the version of the process that speaks now");
    let now = world.ports.now();
    world.plane.step(now);
    assert!(world.node(&answer.node_id).await.last_seen.is_some());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that a refused try must leave alone, as numbers that any change moves.
async fn state(world: &World) -> [i64; 4] {
    [
        world.count("SELECT COUNT(*) + SUM(version) FROM nodes").await,
        world.count("SELECT COUNT(*) + SUM(version) FROM enrollment_tokens").await,
        world.count("SELECT COUNT(*) FROM node_certificates").await,
        world.count("SELECT COUNT(*) FROM events").await,
    ]
}

/// A request with the signature of another.
fn forged(request: &str, other: &str) -> String {
    let mut lines: Vec<&str> = request.lines().collect();
    let last = lines.len() - 2;
    lines[last] = other.lines().nth(last).unwrap();
    lines.join("\n")
}

#[tokio::test]
async fn a_token_that_does_not_fit_lets_nobody_in_and_changes_nothing() {
    let world = World::new().await;
    world.agent("known").await;
    let (_, secret) = world.token("with-board").await;
    let mut board = Agent::new(&world);
    assert_eq!(board.enroll(&secret, Some("SN-9")).await.0, 200);
    let (used_id, used) = world.token("used").await;
    assert_eq!(Agent::new(&world).enroll(&used, None).await.0, 200);
    let (revoked_id, revoked) = world.token("revoked").await;
    let path = format!("/api/v1/admin/enrollment-tokens/{revoked_id}");
    assert_eq!(world.api("DELETE", &path, None).await.0, 204);
    let wants = |serial: &str, name: &str| json!({ "pool_id": world.pool, "node_name": name, "lifetime_s": 900, "hardware_serial": serial });
    let (wanted_id, wanted) = world.token_with(wants("SN-1", "picky")).await;
    let (taken_id, taken) = world.token_with(wants("SN-9", "thief")).await;
    let (key_id, key) = world.token("copy").await;
    let (again_id, again) = world.token("with-board").await;
    let (bad_id, bad) = world.token("bad").await;
    let elsewhere = json!({ "pool_id": world.other_pool, "node_name": "moved", "lifetime_s": 900 });
    let (moved_id, moved) = world.token_with(elsewhere).await;
    let (_, here) = world.token("moved").await;
    assert_eq!(Agent::new(&world).enroll(&here, None).await.0, 200, "the name is taken after the token was made");
    let (late_id, late) =
        world.token_with(json!({ "pool_id": world.pool, "node_name": "late", "lifetime_s": 60 })).await;

    let before = state(&world).await;
    let ed25519 = || rcgen::CertificateParams::default();
    let ecdsa = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let ecdsa = ed25519().serialize_request(&ecdsa).unwrap().pem().unwrap();
    let request = |agent: &Agent| agent.request_pem();
    let fresh = || Agent::new(&world);
    let forged = forged(&fresh().request_pem(), &fresh().request_pem());
    let stranger = format!("gpe_{}", "A".repeat(43));
    let cases = [
        ("is not known", stranger.as_str(), None, request(&fresh()), None),
        ("is not known", "nonsense", None, request(&fresh()), None),
        ("is not known", &world.operator, None, request(&fresh()), None),
        ("was used", &used, None, request(&fresh()), Some(&used_id)),
        ("was taken back", &revoked, None, request(&fresh()), Some(&revoked_id)),
        ("another serial number", &wanted, Some("SN-2"), request(&fresh()), Some(&wanted_id)),
        ("does not say its serial", &wanted, Some("To be filled by O.E.M."), request(&fresh()), None),
        ("serial number belongs to another", &taken, Some("SN-9"), request(&fresh()), Some(&taken_id)),
        ("key belongs to another", &key, None, request(&board), Some(&key_id)),
        ("another serial number", &again, Some("SN-3"), request(&fresh()), Some(&again_id)),
        ("in another pool", &moved, None, request(&fresh()), Some(&moved_id)),
        ("certificate request", &bad, None, "nonsense".to_owned(), Some(&bad_id)),
        ("Ed25519", &bad, None, ecdsa, None),
        ("certificate request", &bad, None, forged, None),
    ];
    for (why, secret, serial, csr, audited) in cases {
        let answer = fresh().enroll_with(secret, serial, csr).await;
        assert_eq!(code(&answer), (403, "enrollment_refused"), "{why}");
        assert!(answer.1["detail"].as_str().unwrap().contains(why), "{why}: {}", answer.1);
        if let Some(token) = audited {
            let told = world.audited(&format!("enrollment:{token}")).await;
            assert!(told.iter().any(|row| row.0 == "node_enroll_refused" && row.1.contains(why)), "{why}: {told:?}");
        }
    }
    world.shift_s(61);
    let answer = fresh().enroll(&late, None).await;
    assert_eq!(code(&answer), (403, "enrollment_refused"));
    assert!(answer.1["detail"].as_str().unwrap().contains("has expired"), "{}", answer.1);
    let told = world.audited(&format!("enrollment:{late_id}")).await;
    assert_eq!(told.len(), 1);
    assert_eq!(state(&world).await, before);
}

#[test]
fn a_token_brings_one_host_in_however_many_try_at_once() {
    both_engines(|db| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async move {
            let world = Arc::new(World::on(db, |config| config).await);
            let (_, secret) = world.token("contested").await;
            let tries: Vec<_> = (0..8)
                .map(|_| {
                    let (world, secret) = (world.clone(), secret.clone());
                    tokio::spawn(async move { Agent::new(&world).enroll(&secret, None).await })
                })
                .collect();
            let mut won = 0;
            for one in tries {
                let answer = one.await.unwrap();
                match answer.0 {
                    200 => won += 1,
                    _ => assert_eq!(code(&answer), (403, "enrollment_refused"), "{}", answer.1),
                }
            }
            assert_eq!(won, 1);
            assert_eq!(world.count("SELECT COUNT(*) FROM nodes").await, 1);
            assert_eq!(world.count("SELECT COUNT(*) FROM node_certificates").await, 1);
        });
    });
}

#[test]
fn hosts_that_come_at_once_get_numbers_of_their_own() {
    both_engines(|db| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async move {
            let world = Arc::new(World::on(db, |config| config).await);
            let mut tries = Vec::new();
            for number in 0..12 {
                let (_, secret) = world.token(&format!("host-{number}")).await;
                let world = world.clone();
                tries.push(tokio::spawn(async move { Agent::new(&world).enroll(&secret, None).await }));
            }
            for one in tries {
                let answer = one.await.unwrap();
                assert_eq!(answer.0, 200, "{}", answer.1);
            }
            assert_eq!(world.count("SELECT COUNT(DISTINCT number) FROM nodes").await, 12);
            assert_eq!(world.count("SELECT MAX(pool_number) FROM nodes").await, 12);
        });
    });
}

#[tokio::test]
async fn a_host_that_is_enrolled_again_keeps_its_node_and_loses_its_old_identity() {
    let world = World::new().await;
    let mut old = world.running("host-1").await;
    let mut fresh = world.agent("host-1").await;
    assert_eq!(fresh.id(), old.id());
    let refused = old.beat().await;
    assert_eq!(code(&refused), (403, "node_identity_refused"), "on the connection that was open all the time");
    old.hang_up();
    assert_eq!(code(&old.beat().await), (403, "node_identity_refused"), "and on a new one");
    world.only_incident(&old.id(), IncidentKind::RevokedIdentity).await;
    assert_eq!(fresh.beat().await.0, 200, "its count of starts begins anew");
    let node = world.node(&fresh.id()).await;
    assert_eq!((node.agent_boot, node.version), (1, 4), "created, heard, enrolled again, heard");
    let id = fresh.id();
    let all = world.read(move |tx| certificates::of_node(tx, &id)).await;
    assert_eq!(all.iter().filter(|one| one.revoked.is_none()).count(), 1);
}

#[tokio::test]
async fn a_certificate_is_renewed_with_the_same_key_only() {
    let world = World::new().await;
    let mut agent = world.running("host-1").await;
    let answer = agent.renew(agent.request_pem()).await;
    assert_eq!(answer.0, 200, "{}", answer.1);
    let renewed: RenewAnswer = serde_json::from_value(answer.1).unwrap();
    assert_ne!(Some(&renewed.certificate_pem), agent.certificate.as_ref());
    assert_eq!(world.node(&agent.id()).await.agent_version, "1.2.4");
    assert_eq!(agent.beat().await.0, 200, "the old one is good until it ends");
    agent.certificate = Some(renewed.certificate_pem);
    agent.hang_up();
    assert_eq!(agent.beat().await.0, 200);

    let other = Agent::new(&world);
    let answer = agent.renew(other.request_pem()).await;
    assert_eq!(code(&answer), (403, "node_identity_refused"));
    assert!(answer.1["detail"].as_str().unwrap().contains("another key"), "{}", answer.1);
    assert_eq!(code(&agent.renew("nonsense".to_owned()).await), (403, "node_identity_refused"));
    assert_eq!(world.count("SELECT COUNT(*) FROM node_certificates").await, 2);

    world.shift_s(24 * 3600);
    let answer = agent.renew(agent.request_pem()).await;
    assert_eq!(code(&answer), (403, "node_identity_refused"));
    assert!(answer.1["detail"].as_str().unwrap().contains("expired"), "{}", answer.1);
}

#[tokio::test]
async fn tokens_are_made_shown_and_taken_back_through_the_api() {
    let world = World::new().await;
    let body = json!({ "pool_id": world.pool, "node_name": "host-1", "lifetime_s": 900 });
    let request = || {
        control::front_door::Request::new("POST", "/api/v1/admin/enrollment-tokens")
            .bearer(&world.operator)
            .key("one-wish")
            .json(body.to_string())
    };
    let first = world.door.serve(&world.db, request()).await;
    let again = world.door.serve(&world.db, request()).await;
    assert_eq!((first.status, &first.body), (201, &again.body), "a retry hears the same secret");
    let stored = world.count("SELECT COUNT(*) FROM idempotency WHERE answer LIKE '%gpe\\_%' ESCAPE '\\'").await;
    let sealed = world.count("SELECT COUNT(*) FROM idempotency WHERE answer LIKE '%sealed:gpe\\_%' ESCAPE '\\'").await;
    assert_eq!((stored, sealed), (1, 1), "and the store does not know it");

    let id: EnrollmentTokenId = serde_json::from_slice::<serde_json::Value>(&first.body).unwrap()["token"]["id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let path = format!("/api/v1/admin/enrollment-tokens/{id}");
    let (status, shown) = world.api("GET", &path, None).await;
    assert_eq!((status, shown["version"].as_i64()), (200, Some(1)));
    assert!(shown.get("secret").is_none());
    assert_eq!(world.api("DELETE", &path, None).await.0, 204);
    assert_eq!(world.api("DELETE", &path, None).await.0, 204, "taking back what is taken back changes nothing");
    let made = id.clone();
    assert_eq!(world.read(move |tx| enrollment::get(tx, &made)).await.unwrap().version, 2);
    let (status, list) = world.api("GET", "/api/v1/admin/enrollment-tokens", None).await;
    assert_eq!((status, list["items"].as_array().unwrap().len()), (200, 1));

    let (used, secret) = world.token("host-2").await;
    assert_eq!(Agent::new(&world).enroll(&secret, None).await.0, 200);
    let answer = world.api("DELETE", &format!("/api/v1/admin/enrollment-tokens/{used}"), None).await;
    assert_eq!(code(&answer), (409, "state_conflict"));
    let moved = json!({ "pool_id": world.other_pool, "node_name": "host-2", "lifetime_s": 900 });
    let answer = world.api("POST", "/api/v1/admin/enrollment-tokens", Some(moved)).await;
    assert_eq!(code(&answer), (409, "state_conflict"));
    let nowhere = json!({ "pool_id": "pol_01jh2n6f4zw8q9r0s1t2v3x4y5", "node_name": "x", "lifetime_s": 900 });
    let answer = world.api("POST", "/api/v1/admin/enrollment-tokens", Some(nowhere)).await;
    assert_eq!(code(&answer), (422, "unknown_reference"));
}

#[test]
fn only_an_ed25519_key_is_a_nodes_key() {
    let request = |key: &KeyPair| rcgen::CertificateParams::default().serialize_request(key).unwrap().pem().unwrap();
    let good = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let read = control::authority::NodeRequest::read(&request(&good)).unwrap();
    assert_eq!(read.public_key(), hex(good.public_key_raw()));
    let other = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    assert!(control::authority::NodeRequest::read(&request(&other)).is_err());
    assert!(control::authority::NodeRequest::read(&"x".repeat(20_000)).is_err());
}
