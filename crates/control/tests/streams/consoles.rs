//! Consoles: everything that is printed is kept, with a digest that the audit trail has too; what is typed is not.

use std::{io::Write as _, time::Duration};

use control::streams::RecordingConfig;
use model::stream::StreamKind;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::site::{Echo, InHand, Site, only_id};

const PRINTED: &[u8] = b"\r\nDebian GNU/Linux 13 guest ttyS0\r\n\r\nguest login: \xff\x00";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn what_a_console_prints_can_be_had_afterwards_and_what_is_typed_cannot() {
    let site = Site::new().await;
    let door = InHand::default();
    let (_host, allocation) = site.host("host-1", door.clone()).await;
    let mut stream = site.open(&allocation, StreamKind::Console).await;
    let mut guest = door.only();
    guest.write_all(PRINTED).unwrap();
    let mut seen = vec![0; PRINTED.len()];
    stream.read_exact(&mut seen).await.unwrap();
    assert_eq!(seen, PRINTED);
    stream.write_all(b"root\nsecret\n").await.unwrap();
    let hear = move || {
        let mut typed = [0; 12];
        std::io::Read::read_exact(&mut guest, &mut typed).unwrap();
        (typed, guest)
    };
    let (typed, _guest) = tokio::task::spawn_blocking(hear).await.unwrap();
    assert_eq!(&typed, b"root\nsecret\n");

    let id = only_id(&site.streams(&allocation).await);
    let path = format!("/api/v1/streams/{id}/recording");
    let (status, _) = site.get(&site.acme.worker, &path).await;
    assert_eq!(status, 409, "not while it is open");
    drop(stream);
    let row = site.ended(&allocation).await;
    let sha256 = hex(&Sha256::digest(PRINTED));
    let kept = row.recording.unwrap();
    assert_eq!(
        (kept.bytes, kept.sha256.as_str(), kept.cut),
        (i64::try_from(PRINTED.len()).unwrap(), sha256.as_str(), false)
    );
    let told = site.audited(&allocation).await;
    assert_eq!(told[1].1["recording"]["sha256"], Value::from(sha256.clone()));
    assert_eq!(told[1].1.get("typed"), None);

    assert_eq!(site.get(&site.acme.worker, &path).await, (200, PRINTED.to_vec()));
    assert_eq!(site.get(&site.acme.viewer, &path).await.0, 403, "a viewer never saw the console");
    assert_eq!(site.get(&site.umbrella.worker, &path).await.0, 404);
    let operator = crate::site::Person { secret: site.world.operator.clone(), ..site.acme.worker.clone() };
    assert_eq!(site.get(&operator, &path).await, (200, PRINTED.to_vec()));
    let files: Vec<_> = std::fs::read_dir(site.folder.path().join("console")).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let (status, shown) = site.get(&site.acme.viewer, &format!("/api/v1/streams/{id}")).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!((status, &shown["recording"]["sha256"], &shown["state"]), (200, &json!(sha256), &json!("ended")));
}

#[tokio::test]
async fn typing_is_kept_where_that_was_asked_for_and_is_not_handed_out() {
    let site = Site::with(|config| {
        let recordings = config.recordings.map(|kept| RecordingConfig { keystrokes: true, ..kept });
        control::streams::GatewayConfig { recordings, ..config }
    })
    .await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let mut stream = site.open(&allocation, StreamKind::Console).await;
    stream.write_all(b"ls\n").await.unwrap();
    let mut back = [0; 3];
    stream.read_exact(&mut back).await.unwrap();
    drop(stream);
    let row = site.ended(&allocation).await;
    let told = site.audited(&allocation).await;
    assert_eq!(told[1].1["typed"]["sha256"], Value::from(hex(&Sha256::digest(b"ls\n"))));
    let typed = std::fs::read(site.folder.path().join("console").join(format!("{}.typed", row.id))).unwrap();
    assert_eq!(typed, b"ls\n");
}

#[tokio::test]
async fn recordings_are_kept_for_so_long_and_their_end_is_audited() {
    let site = Site::with(|config| {
        let hour = Duration::from_secs(3600);
        let quick = Duration::from_millis(50);
        let recordings = config.recordings.map(|kept| RecordingConfig {
            keystrokes: true,
            keep: hour,
            purge_every: quick,
            bytes_max: 10,
            ..kept
        });
        control::streams::GatewayConfig { recordings, ..config }
    })
    .await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let mut stream = site.open(&allocation, StreamKind::Console).await;
    stream.write_all(b"more than ten bytes\n").await.unwrap();
    let mut back = [0; 20];
    stream.read_exact(&mut back).await.unwrap();
    drop(stream);
    let row = site.ended(&allocation).await;
    let kept = row.recording.clone().unwrap();
    assert_eq!((kept.bytes, kept.cut), (10, true), "no longer than it may be");
    let folder = site.folder.path().join("console");
    let files = |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().count();
    std::fs::write(folder.join("notes.txt"), "somebody's").unwrap();
    assert_eq!(files(&folder), 3, "what was printed, what was typed, and what is nobody's business");
    let path = format!("/api/v1/streams/{}/recording", row.id);
    site.world.shift_s(3_000);
    assert_eq!(site.get(&site.acme.worker, &path).await, (200, b"more than ".to_vec()));
    site.world.shift_s(601);
    let until = std::time::Instant::now() + crate::site::PATIENCE;
    while files(&folder) > 1 {
        assert!(std::time::Instant::now() < until, "the recording is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (status, said) = site.get(&site.acme.worker, &path).await;
    assert_eq!(status, 409, "{}", String::from_utf8_lossy(&said));
    assert!(String::from_utf8_lossy(&said).contains("not kept any more"));
    let told = site.audited(&allocation).await;
    let purges: Vec<_> = told.iter().filter(|(action, _)| action == "stream_recording_purge").collect();
    assert_eq!(purges.len(), 1, "{told:?}");
    assert_eq!((&purges[0].1["stream_id"], &purges[0].1["sha256"]), (&json!(row.id), &json!(kept.sha256)));
    assert_eq!(site.streams(&allocation).await[0].recording, row.recording, "who was there is not forgotten");
}

#[tokio::test]
async fn without_a_place_to_record_there_is_no_console() {
    let site = Site::with(|config| control::streams::GatewayConfig { recordings: None, ..config }).await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let (status, problem) = site.try_open(&site.acme.worker, &allocation, StreamKind::Console).await.unwrap_err();
    assert_eq!((status, &problem["code"]), (409, &json!("state_conflict")), "{problem}");
    site.open(&allocation, StreamKind::Ssh).await;
}

#[tokio::test]
async fn a_console_that_cannot_be_recorded_is_not_opened() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    std::fs::write(site.folder.path().join("console"), "a file is in the way").unwrap();
    let (status, _) = site.try_open(&site.acme.worker, &allocation, StreamKind::Console).await.unwrap_err();
    assert_eq!(status, 500);
    let row = site.ended(&allocation).await;
    assert_eq!(row.ended.map(|(_, how)| how), Some(model::stream::StreamEnding::RecordingFailed));
}
