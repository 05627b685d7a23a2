//! The catalogue of images: who may sign, what is taken and what is not, and bytes on a real socket.

use api::Code;
use control::{
    bootstrap::SIMULATED_IMAGE,
    front_door::{FrontDoorConfig, Request, Response},
    image_files::{ImageFiles, Received},
};
use ed25519_dalek::{Signer as _, SigningKey};
use model::image::{ImageFormat, ImageKind, ImageSpec};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::{
    fleet::code,
    sockets::{self, config},
    world::{World, body},
};

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// An entry for bytes, signed.
pub fn entry(id: &str, bytes: &[u8]) -> ImageSpec {
    let mut entry = ImageSpec {
        id: id.to_owned(),
        sha256: hex(&Sha256::digest(bytes)),
        size_bytes: bytes.len() as u64,
        format: ImageFormat::Raw,
        virtual_size_bytes: bytes.len() as u64,
        minimum_disk_bytes: bytes.len() as u64,
        kind: ImageKind::Base,
        signer_key_id: "signer".to_owned(),
        signature: String::new(),
    };
    sign(&mut entry, &key());
    entry
}

pub fn sign(entry: &mut ImageSpec, key: &SigningKey) {
    entry.signature = hex(&key.sign(entry.signed_text().as_bytes()).to_bytes());
}

pub fn trust(world: &World) {
    let body = json!({"key_id": "signer", "public_key": hex(key().verifying_key().as_bytes())});
    assert_eq!(world.post(&world.operator, "/api/v1/image-keys", body).status, 201);
}

fn register(world: &World, entry: &ImageSpec) -> Response {
    world.post(&world.operator, "/api/v1/images", json!(entry))
}

fn bring(world: &World, id: &str, received: Received) -> Response {
    let path = format!("/api/v1/images/{id}/content");
    world.send(Request::new("PUT", &path).bearer(&world.operator.secret).bringing(received))
}

/// Registers an image and brings its bytes.
pub fn available(world: &World, entry: &ImageSpec) {
    assert_eq!(register(world, entry).status, 201);
    let received = Received { sha256: entry.sha256.clone(), size_bytes: entry.size_bytes };
    assert_eq!(bring(world, &entry.id, received).status, 200);
}

fn ids(response: &Response) -> Vec<String> {
    assert_eq!(response.status, 200);
    let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
    body(response)["items"].as_array().unwrap().iter().map(id).collect()
}

#[test]
fn only_what_a_trusted_key_signed_is_registered() {
    let world = World::new();
    let good = entry("debian-12", &[7; 4096]);
    assert_eq!(code(&register(&world, &good)), Code::ImageRefused, "nobody trusts the key yet");
    trust(&world);
    for change in [
        |entry: &mut ImageSpec| entry.minimum_disk_bytes *= 2,
        |entry: &mut ImageSpec| entry.sha256 = "ab".repeat(32),
        |entry: &mut ImageSpec| sign(entry, &SigningKey::from_bytes(&[9; 32])),
        |entry: &mut ImageSpec| entry.signer_key_id = SIMULATED_IMAGE.to_owned(),
    ] {
        let mut bad = good.clone();
        change(&mut bad);
        assert_eq!(code(&register(&world, &bad)), Code::ImageRefused, "{bad:?}");
    }
    let mut odd = good.clone();
    odd.virtual_size_bytes = 100;
    assert_eq!(code(&register(&world, &odd)), Code::InvalidBody);
    assert_eq!(register(&world, &good).status, 201);
    assert_eq!(code(&register(&world, &good)), Code::NameTaken);
    let revoked = world.delete(&world.operator, "/api/v1/image-keys/signer", None);
    assert_eq!(revoked.status, 204);
    assert_eq!(code(&register(&world, &entry("debian-13", &[8; 4096]))), Code::ImageRefused);
    assert_eq!(code(&world.delete(&world.operator, "/api/v1/image-keys/signer", None)), Code::StateConflict);
    let weak = json!({"key_id": "weak", "public_key": "0".repeat(64)});
    assert_eq!(code(&world.post(&world.operator, "/api/v1/image-keys", weak)), Code::ImageRefused);
}

#[test]
fn an_image_is_seen_and_launched_once_its_bytes_are_there() {
    let world = World::new();
    trust(&world);
    let spec = entry("debian-12", &[7; 4096]);
    assert_eq!(register(&world, &spec).status, 201);
    assert_eq!(ids(&world.get(&world.viewer, "/api/v1/images")), [SIMULATED_IMAGE]);
    assert_eq!(ids(&world.get(&world.auditor, "/api/v1/images")), ["debian-12", SIMULATED_IMAGE]);
    assert_eq!(world.get(&world.viewer, "/api/v1/images/debian-12").status, 404);
    let path = "/api/v1/images/debian-12";
    let early = world.patch(&world.operator, path, 1, json!({"is_default": true}));
    assert_eq!(code(&early), Code::StateConflict);
    let put = Request::new("PUT", &format!("{path}/content")).bearer(&world.operator.secret);
    assert_eq!(code(&world.send(put)), Code::ImageRefused, "without bytes");
    for (sha256, size_bytes) in [(spec.sha256.clone(), 4095), ("ab".repeat(32), 4096), (spec.sha256.clone(), 4097)] {
        assert_eq!(code(&bring(&world, "debian-12", Received { sha256, size_bytes })), Code::ImageRefused);
    }
    let received = Received { sha256: spec.sha256.clone(), size_bytes: 4096 };
    assert_eq!(body(&bring(&world, "debian-12", received.clone()))["state"], "available");
    assert_eq!(bring(&world, "debian-12", received.clone()).status, 200, "again is the same");
    assert_eq!(ids(&world.get(&world.viewer, "/api/v1/images")), ["debian-12", SIMULATED_IMAGE]);

    let made = world.patch(&world.operator, path, world.version(path), json!({"is_default": true}));
    assert_eq!(body(&made)["is_default"], true);
    assert_eq!(body(&world.get(&world.operator, "/api/v1/images/simulated"))["is_default"], false);
    let retired = world.act(&world.operator, &format!("{path}/retire"));
    assert_eq!(
        (body(&retired)["state"].clone(), body(&retired)["is_default"].clone()),
        (json!("retired"), json!(false))
    );
    assert_eq!(world.get(&world.viewer, path).status, 404);
    assert_eq!(code(&bring(&world, "debian-12", received)), Code::StateConflict);
    assert_eq!(code(&world.act(&world.operator, &format!("{path}/retire"))), Code::StateConflict);
}

async fn put(address: std::net::SocketAddr, secret: &str, id: &str, bytes: &[u8], said: usize) -> sockets::Answer {
    let head = format!(
        "PUT /api/v1/images/{id}/content HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\ncontent-length: {said}\r\n\r\n"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    // Who is refused early hears so before everything is sent.
    let _ = stream.write_all(bytes).await;
    sockets::receive(&mut stream).await
}

#[tokio::test]
async fn bytes_on_a_socket_are_kept_only_if_they_are_what_the_entry_says() {
    let world = World::new();
    trust(&world);
    let folder = tempfile::tempdir().unwrap();
    let files = ImageFiles::open(folder.path()).unwrap();
    let (bytes, other) = (vec![7u8; 3 * 1024 * 1024], vec![8u8; 3 * 1024 * 1024]);
    let spec = entry("debian-12", &bytes);
    assert_eq!(register(&world, &spec).status, 201);
    let world = world.through(FrontDoorConfig { images: Some(files), ..FrontDoorConfig::default() });
    let (server, _) = sockets::serve(&world, config()).await;
    let (address, operator) = (server.address(), world.operator.secret.clone());
    let left = || std::fs::read_dir(folder.path()).unwrap().count();

    let mut told = Vec::new();
    told.push(put(address, &world.viewer.secret, "debian-12", &bytes, bytes.len()).await);
    told.push(put(address, &world.acme.admin.secret, "debian-12", &bytes, bytes.len()).await);
    told.push(put(address, &operator, "nothing", &bytes, bytes.len()).await);
    told.push(put(address, &operator, "debian-12", &other, other.len()).await);
    told.push(put(address, &operator, "debian-12", &bytes[..100], 100).await);
    told.push(put(address, "gpuaas_nobody", "debian-12", &bytes, bytes.len()).await);
    let codes: Vec<(u16, String)> =
        told.iter().map(|answer| (answer.status, answer.json()["code"].as_str().unwrap().to_owned())).collect();
    let expected = [
        (404, "not_found"),
        (404, "not_found"),
        (404, "not_found"),
        (422, "image_refused"),
        (422, "image_refused"),
        (401, "unauthenticated"),
    ];
    assert_eq!(codes, expected.map(|(status, code)| (status, code.to_owned())));
    assert_eq!(left(), 0, "nothing of it was kept");

    for _ in 0..2 {
        let answer = put(address, &operator, "debian-12", &bytes, bytes.len()).await;
        assert_eq!((answer.status, answer.json()["state"].clone()), (200, json!("available")), "{}", answer.body);
    }
    assert_eq!(std::fs::read(folder.path().join(&spec.sha256)).unwrap(), bytes);
    assert_eq!(left(), 1);
    let forbidden = put(address, &world.viewer.secret, "debian-12", &bytes, bytes.len()).await;
    assert_eq!(forbidden.status, 403, "it is seen now, and not theirs to bring");
    server.stop().await;
}
