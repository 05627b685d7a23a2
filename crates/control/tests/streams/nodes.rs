//! Which node gets a stream: the one that holds the guest, once, and nobody else.

use agent::wire::{CallFault, Client};
use api::node_plane::{FromControl, MESSAGES_PATH, Poll, STREAM_PATH, STREAM_PROTOCOL, StreamWanted, ToControl};
use model::{
    StreamId,
    stream::{StreamKind, StreamState},
    supply::IncidentKind,
};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::site::{Echo, Site, enrolled, open_at};

fn client(dialer: &agent::streams::Dialer) -> Client {
    Client::new(&dialer.server, dialer.pin, Some(&dialer.credential)).unwrap()
}

fn status<T>(answer: &Result<T, CallFault>) -> u16 {
    match answer {
        Err(CallFault::Refused { status, .. }) => *status,
        Err(other) => panic!("{other}"),
        Ok(_) => 101,
    }
}

#[tokio::test]
async fn a_stream_is_its_node_s_and_good_once() {
    let site = Site::new().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (right, own) = enrolled(&site, "right", &folders[0]).await;
    let (wrong, other) = enrolled(&site, "wrong", &folders[1]).await;
    let allocation = site.running(&own.node_id).await;
    let opening = {
        let (server, who, allocation) = (site.http.address(), site.acme.worker.clone(), allocation.clone());
        tokio::spawn(async move { open_at(server, &who, &allocation, StreamKind::Ssh).await })
    };
    // The node hears of it with its poll, and only that node.
    let mut agent = client(&right);
    let ask = [ToControl::Poll(Poll { node_id: own.node_id.clone(), boot: 1 })];
    let path = format!("{MESSAGES_PATH}?wait_s=20");
    let heard: Vec<FromControl> = agent.post(&path, &ask, Duration::from_secs(20)).await.unwrap();
    let wanted = heard.iter().find_map(|said| match said {
        FromControl::StreamWanted(wanted) => Some(wanted.clone()),
        _ => None,
    });
    let StreamWanted { id, allocation_id, kind, address } = wanted.unwrap_or_else(|| panic!("{heard:?}"));
    assert_eq!((allocation_id, kind, address), (allocation.clone(), StreamKind::Ssh, None));
    let ask = [ToControl::Poll(Poll { node_id: other.node_id.clone(), boot: 1 })];
    let nothing: Vec<FromControl> = client(&wrong).post(MESSAGES_PATH, &ask, Duration::ZERO).await.unwrap();
    assert!(!nothing.iter().any(|said| matches!(said, FromControl::StreamWanted(_))), "{nothing:?}");

    let path = format!("{STREAM_PATH}/{id}");
    assert_eq!(status(&client(&wrong).upgrade(&path, STREAM_PROTOCOL).await), 404);
    site.world.only_incident(&other.node_id, IncidentKind::ActedForAnother).await;
    assert_eq!(site.streams(&allocation).await[0].state, StreamState::Wanted, "it still waits for its own node");

    let mut guest = client(&right).upgrade(&path, STREAM_PROTOCOL).await.unwrap();
    let mut stream = opening.await.unwrap().unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    guest.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
    assert_eq!(status(&client(&right).upgrade(&path, STREAM_PROTOCOL).await), 404, "an id is good once");
    stream.write_all(b"again").await.unwrap();
    guest.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"again", "and who tries twice does not disturb it");
}

#[tokio::test]
async fn what_is_no_stream_is_not_found() {
    let site = Site::new().await;
    let (host, _) = site.host("host-1", Echo).await;
    let unknown = StreamId::from_parts(site.world.ports.now(), [3; 10]);
    for path in [format!("{STREAM_PATH}/{unknown}"), format!("{STREAM_PATH}/nonsense")] {
        assert_eq!(status(&client(&host.dialer).upgrade(&path, STREAM_PROTOCOL).await), 404, "{path}");
    }
    assert_eq!(status(&client(&host.dialer).upgrade(&format!("{STREAM_PATH}/{unknown}"), "websocket").await), 426);
    let stranger = Client::new(&host.dialer.server, host.dialer.pin, None);
    assert_eq!(status(&stranger.unwrap().upgrade(&format!("{STREAM_PATH}/{unknown}"), STREAM_PROTOCOL).await), 403);
}
