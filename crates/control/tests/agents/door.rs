//! The door itself: TLS on both sides, what has no certificate, what is no call, and an authority that is not ours.

use std::{os::unix::fs::PermissionsExt as _, sync::Arc};

use api::node_plane::{ENROLL_PATH, MESSAGES_PATH, RENEW_PATH};
use control::{
    Ports,
    authority::{Authority, AuthorityFault, KEY_FILE, NodeRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use model::NodeId;
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncReadExt as _, net::TcpStream};
use tokio_rustls::TlsConnector;

use crate::world::{Agent, World, client_config, code, connect, post};

#[tokio::test]
async fn without_a_certificate_only_enrolling_is_answered() {
    let world = World::new().await;
    let mut stranger = Agent::new(&world);
    for path in [MESSAGES_PATH, RENEW_PATH] {
        assert_eq!(code(&stranger.call(path, b"[]".to_vec()).await), (403, "node_identity_refused"), "{path}");
    }
    assert_eq!(code(&stranger.call(ENROLL_PATH, b"{}".to_vec()).await), (400, "invalid_body"));
    assert_eq!(code(&stranger.call(ENROLL_PATH, b"{".to_vec()).await), (400, "malformed_json"));
    assert_eq!(code(&stranger.call("/api/v1", vec![]).await), (404, "route_not_found"), "the API is not here");
    let mut agent = world.running("host-1").await;
    assert_eq!(code(&agent.call(MESSAGES_PATH, b"{}".to_vec()).await), (400, "invalid_body"));
    let many = format!("[{}]", ["{}"; 3].join(","));
    assert_eq!(code(&agent.call(MESSAGES_PATH, many.into_bytes()).await), (400, "invalid_body"));
}

#[tokio::test]
async fn the_door_shows_the_authority_that_agents_are_told_to_trust() {
    let world = World::new().await;
    let config = Arc::new(client_config(&world.authority, None));
    let address = world.server.address();
    for name in [ServerName::from(address.ip()), ServerName::try_from("localhost").unwrap()] {
        let stream = TcpStream::connect(address).await.unwrap();
        let stream = TlsConnector::from(config.clone()).connect(name, stream).await.unwrap();
        let (_, tls) = stream.get_ref();
        assert_eq!(tls.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        let last = tls.peer_certificates().unwrap().last().unwrap();
        let sha256: String = Sha256::digest(last).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sha256, world.authority.sha256());
    }
    let stream = TcpStream::connect(address).await.unwrap();
    let other = ServerName::try_from("elsewhere.example").unwrap();
    assert!(TlsConnector::from(config).connect(other, stream).await.is_err(), "it is good for its own names only");
}

#[tokio::test]
async fn older_tls_is_not_spoken() {
    let world = World::new().await;
    let mut roots = RootCertStore::empty();
    roots.add(world.authority.certificate().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let old = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS12]);
    let old = Arc::new(old.unwrap().with_root_certificates(roots).with_no_client_auth());
    assert!(connect(world.server.address(), &old).await.is_err());
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_by_the_handshake() {
    let world = World::new().await;
    let node = world.running("host-1").await.id();
    let place = world.folder().join("forged");
    Authority::create(&place, &Ports::system()).unwrap();
    let forger = Authority::open(&place, "test.example").unwrap();
    let agent = Agent::new(&world);
    let request = NodeRequest::read(&agent.request_pem()).unwrap();
    let forged = forger.sign_node(&request, &node, &Ports::system()).unwrap();
    let config = Arc::new(client_config(&world.authority, Some((&forged.pem, &agent.key))));
    let heard = match connect(world.server.address(), &config).await {
        // With TLS 1.3 a client hears of it only when it reads.
        Ok(mut sender) => post(&mut sender, MESSAGES_PATH, b"[]".to_vec()).await.is_ok(),
        Err(_) => false,
    };
    assert!(!heard);
}

#[tokio::test]
async fn a_certificate_of_another_trust_domain_names_nobody_here() {
    let world = World::new().await;
    let node = world.running("host-1").await.id();
    let elsewhere = Authority::open(&world.folder().join("authority"), "other.example").unwrap();
    let agent = Agent::new(&world);
    let request = NodeRequest::read(&agent.request_pem()).unwrap();
    let strange = elsewhere.sign_node(&request, &node, &Ports::system()).unwrap();
    let config = Arc::new(client_config(&world.authority, Some((&strange.pem, &agent.key))));
    let mut sender = connect(world.server.address(), &config).await.unwrap();
    let answer = post(&mut sender, MESSAGES_PATH, b"[]".to_vec()).await.unwrap();
    assert_eq!(code(&answer), (403, "node_identity_refused"));
}

#[tokio::test]
async fn a_node_that_is_not_there_is_nobody() {
    let world = World::new().await;
    let mut agent = Agent::new(&world);
    let node = NodeId::from_parts(world.ports.now(), [7; 10]);
    let request = NodeRequest::read(&agent.request_pem()).unwrap();
    let signed = world.authority.sign_node(&request, &node, &world.ports).unwrap();
    (agent.node_id, agent.certificate) = (Some(node), Some(signed.pem));
    assert_eq!(code(&agent.beat().await), (403, "node_identity_refused"));
    assert_eq!(code(&agent.renew(agent.request_pem()).await), (403, "node_identity_refused"), "it is not on record");
}

#[tokio::test]
async fn http_2_is_spoken_by_those_who_ask_for_it() {
    let world = World::new().await;
    let agent = world.running("host-1").await;
    let shown = agent.certificate.as_deref().map(|pem| (pem, &agent.key));
    let mut config = client_config(&world.authority, shown);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let address = world.server.address();
    let stream = TcpStream::connect(address).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(ServerName::from(address.ip()), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.unwrap();
    tokio::spawn(connection);
    let body = serde_json::to_vec(&[agent.heartbeat()]).unwrap();
    let request = hyper::Request::post(format!("https://localhost{MESSAGES_PATH}"))
        .body(http_body_util::Full::new(bytes::Bytes::from(body)))
        .unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn who_says_nothing_is_hung_up_on() {
    let hasty = |config| control::agents::AgentsConfig { handshake: std::time::Duration::from_millis(50), ..config };
    let world = World::on(crate::world::memory(), hasty).await;
    let mut stream = TcpStream::connect(world.server.address()).await.unwrap();
    let mut room = [0u8; 1];
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), stream.read(&mut room)).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)));
}

#[test]
fn an_authority_is_made_once_and_kept_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("authority");
    let ports = Ports::system();
    Authority::create(&place, &ports).unwrap();
    assert!(matches!(Authority::create(&place, &ports), Err(AuthorityFault::Exists(_))));
    let key = place.join(KEY_FILE);
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    let first = Authority::open(&place, "a.example").unwrap();
    assert_eq!(Authority::open(&place, "b.example").unwrap().sha256(), first.sha256());
    assert!(!format!("{first:?}").contains("PRIVATE"));
    for bad in ["", "A.example", "a/b", "a b"] {
        assert!(matches!(Authority::open(&place, bad), Err(AuthorityFault::TrustDomain(_))), "{bad:?}");
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(Authority::open(&place, "a.example"), Err(AuthorityFault::Exposed(_))));
    let other = folder.path().join("other");
    Authority::create(&other, &ports).unwrap();
    std::fs::copy(other.join(KEY_FILE), &key).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(Authority::open(&place, "a.example"), Err(AuthorityFault::Unusable { .. })));
}
