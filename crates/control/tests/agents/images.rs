//! Images for agents: the right bytes, from any place on, to nodes alone, and nothing that the catalogue does not have.

use api::node_plane::IMAGES_PATH;
use control::{bootstrap, front_door::Request, image_files::ImageFiles};
use ed25519_dalek::{Signer as _, SigningKey};
use model::{
    IdBits, PrincipalId, Timestamp,
    image::{ImageFormat, ImageKind, ImageSpec, ImageState},
};
use sha2::{Digest as _, Sha256};
use store::{Stamp, images};

use crate::world::{Agent, World, memory};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A world with an image in its catalogue, and its bytes in a folder.
async fn world(bytes: &[u8], state: ImageState) -> (World, tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let files = ImageFiles::open(folder.path()).unwrap();
    let world = World::on(memory(), |config| control::agents::AgentsConfig { images: Some(files), ..config }).await;
    let sha256 = hex(&Sha256::digest(bytes));
    std::fs::write(folder.path().join(&sha256), bytes).unwrap();
    let key = SigningKey::from_bytes(&[7; 32]);
    let mut spec = ImageSpec {
        id: "debian-12".into(),
        sha256: sha256.clone(),
        size_bytes: bytes.len() as u64,
        format: ImageFormat::Raw,
        virtual_size_bytes: bytes.len() as u64,
        minimum_disk_bytes: bytes.len() as u64,
        kind: ImageKind::Base,
        signer_key_id: "signer".into(),
        signature: String::new(),
    };
    spec.signature = hex(&key.sign(spec.signed_text().as_bytes()).to_bytes());
    let ports = world.ports.clone();
    let public = hex(key.verifying_key().as_bytes());
    let write = move |tx: &mut store::Tx<'_>| {
        let mut bits = || ports.id_bits();
        let mut stamp = Stamp::new(ports.now(), &mut bits);
        let by = PrincipalId::from_parts(Timestamp::from_micros(1), IdBits::default());
        images::insert_key(tx, &mut stamp, &"signer".parse().unwrap(), &public.parse().unwrap(), &by)?;
        images::insert(tx, &mut stamp, &spec)?;
        let row = images::get(tx, &"debian-12".parse().unwrap())?.unwrap();
        if state != ImageState::Registered {
            images::enter(tx, &mut stamp, &row, state)?;
        }
        bootstrap::simulated_image(tx, &mut stamp, &ports, &by)
    };
    world.db.write_async(write).await.unwrap();
    (world, folder, sha256)
}

#[tokio::test]
async fn a_download_that_broke_off_goes_on_where_it_ended() {
    let bytes: Vec<u8> = (0..700_000u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    let bytes = &bytes[..699_904];
    let (world, _folder, sha256) = world(bytes, ImageState::Available).await;
    let mut agent = world.running("host-1").await;
    let path = format!("{IMAGES_PATH}/{sha256}");
    let (status, head, whole) = agent.fetch(&path, None).await;
    assert_eq!((status, whole.as_ref()), (200, bytes));
    assert_eq!((head["content-length"].as_str(), head["accept-ranges"].as_str()), ("699904", "bytes"));
    let (status, head, rest) = agent.fetch(&path, Some("bytes=300000-")).await;
    assert_eq!((status, rest.as_ref()), (206, &bytes[300_000..]));
    assert_eq!(head["content-range"], "bytes 300000-699903/699904");
    let (status, _, some) = agent.fetch(&path, Some("bytes=10-19")).await;
    assert_eq!((status, some.as_ref()), (206, &bytes[10..20]));
    assert_eq!(agent.fetch(&path, Some("bytes=699904-")).await.0, 416);
    assert_eq!(agent.fetch(&path, Some("bytes=1-2,5-6")).await.2.as_ref(), bytes, "several ranges are no range");
}

#[tokio::test]
async fn only_nodes_get_images_and_only_those_of_the_catalogue() {
    let (world, folder, sha256) = world(&[7u8; 4096], ImageState::Available).await;
    let path = format!("{IMAGES_PATH}/{sha256}");
    let mut stranger = Agent::new(&world);
    assert_eq!(stranger.fetch(&path, None).await.0, 403);
    let mut agent = world.running("host-1").await;
    let (status, answer) = agent.call(&path, vec![]).await;
    assert_eq!((status, answer["code"].as_str()), (405, Some("method_not_allowed")));
    let other = hex(&Sha256::digest(b"secret"));
    std::fs::write(folder.path().join(&other), b"secret").unwrap();
    std::fs::write(folder.path().join("notes"), b"secret").unwrap();
    for odd in [format!("/{other}"), "/notes".to_owned(), "/..%2fnotes".to_owned(), format!("/{}", "0".repeat(64))] {
        assert_eq!(agent.fetch(&format!("{IMAGES_PATH}{odd}"), None).await.0, 404, "{odd}");
    }
    std::fs::write(folder.path().join(&sha256), [7u8; 4000]).unwrap();
    assert_eq!(agent.fetch(&path, None).await.0, 404, "a file that somebody cut is not sent");
    std::fs::remove_file(folder.path().join(&sha256)).unwrap();
    assert_eq!(agent.fetch(&path, None).await.0, 404);
}

#[tokio::test]
async fn an_entry_alone_is_no_image_and_a_retired_one_still_is() {
    for (state, status) in [(ImageState::Registered, 404), (ImageState::Retired, 200)] {
        let (world, _folder, sha256) = world(&[7u8; 4096], state).await;
        let mut agent = world.running("host-1").await;
        assert_eq!(agent.fetch(&format!("{IMAGES_PATH}/{sha256}"), None).await.0, status, "{state}");
        let shown =
            world.door.perform(&world.db, Request::new("GET", "/api/v1/images/debian-12").bearer(&world.operator));
        assert_eq!(shown.status, 200);
    }
}
