//! Bytes: all of them, in order, no faster than they are read.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use model::stream::{StreamEnding, StreamKind};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::site::{Echo, InHand, PATIENCE, Site, only_id};

/// What one direction of a stream may hold.
const BUFFER_BYTES: usize = 64 * 1024;

/// Bytes that do not repeat in step with any buffer.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_megabytes_go_both_ways_intact() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let stream = site.open(&allocation, StreamKind::Ssh).await;
    let sent = noise(50 * 1024 * 1024);
    let digest = Sha256::digest(&sent);
    let (mut from, mut to) = stream.into_split();
    let length = sent.len();
    let saying = tokio::spawn(async move {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let mut heard = Vec::with_capacity(length);
    tokio::time::timeout(PATIENCE, from.read_to_end(&mut heard)).await.expect("it stands still").unwrap();
    saying.await.unwrap();
    assert_eq!(heard.len(), length);
    assert_eq!(Sha256::digest(&heard), digest);

    let row = site.ended(&allocation).await;
    let carried = i64::try_from(length).unwrap();
    assert_eq!((row.to_guest_bytes, row.from_guest_bytes), (carried, carried));
    assert_eq!(row.ended.map(|(_, how)| how), Some(StreamEnding::Closed));
    let (now, most) = site.gateway().buffered_bytes();
    assert_eq!(now, 0);
    assert!(most <= 2 * BUFFER_BYTES, "{most} bytes were held at once");

    let told = site.audited(&allocation).await;
    let actions: Vec<&str> = told.iter().map(|(action, _)| action.as_str()).collect();
    assert_eq!(actions, ["allocation_ssh", "stream_end"]);
    let id = only_id(&site.streams(&allocation).await);
    for (_, body) in &told {
        assert_eq!(
            (&body["stream_id"], &body["from"], &body["kind"]),
            (&id.as_str().into(), &"127.0.0.1".into(), &"ssh".into())
        );
    }
    assert_eq!((&told[1].1["how"], &told[1].1["to_guest_bytes"]), (&"closed".into(), &carried.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_stops_the_guest_and_not_our_memory() {
    let site = Site::new().await;
    let door = InHand::default();
    let (_host, allocation) = site.host("host-1", door.clone()).await;
    let mut stream = site.open(&allocation, StreamKind::Ssh).await;
    let mut guest = door.only();
    guest.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let flood = tokio::task::spawn_blocking(move || {
        let (piece, mut sent) = (noise(64 * 1024), 0_usize);
        // Ends when nothing has moved for two seconds: every buffer on the way is full.
        while let Ok(bytes) = guest.write(&piece) {
            sent += bytes;
            assert!(sent < 256 * 1024 * 1024, "{sent} bytes were taken, and nobody reads them");
        }
        (sent, guest)
    });
    let (sent, guest) = flood.await.unwrap();
    let (now, most) = site.gateway().buffered_bytes();
    assert!(now > 0 && most <= 2 * BUFFER_BYTES, "{now} bytes are held, at most {most}");
    drop(guest);
    let mut all = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("it stands still").unwrap();
    assert_eq!(all.len(), sent, "what was sent arrives once it is read");
}

#[tokio::test]
async fn a_client_that_vanishes_takes_the_guest_s_side_with_it() {
    let site = Site::new().await;
    let door = InHand::default();
    let (host, allocation) = site.host("host-1", door.clone()).await;
    let stream = site.open(&allocation, StreamKind::Console).await;
    assert_eq!(host.streams.open_count(), 1);
    drop(stream);
    let mut guest = door.only();
    let end = tokio::task::spawn_blocking(move || std::io::Read::read(&mut guest, &mut [0; 16]).unwrap());
    assert_eq!(tokio::time::timeout(PATIENCE, end).await.expect("the guest's side stays open").unwrap(), 0);
    site.ended(&allocation).await;
    let until = Instant::now() + PATIENCE;
    while host.streams.open_count() > 0 {
        assert!(Instant::now() < until, "the agent keeps it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(site.gateway().open_count(), 0);
}
