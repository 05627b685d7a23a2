//! Who may open a stream, to what, and how many.

use std::time::Duration;

use control::streams::GatewayConfig;
use model::stream::{StreamEnding, StreamKind};
use serde_json::{Value, json};

use crate::site::{Echo, InHand, PATIENCE, Person, Site, ask_at, closed};

fn code((status, problem): &(u16, Value)) -> (u16, &str) {
    (*status, problem["code"].as_str().unwrap_or("none"))
}

#[tokio::test]
async fn only_those_who_may_use_the_project_get_in() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let acme = &site.acme;
    for kind in [StreamKind::Ssh, StreamKind::Console] {
        let viewer = site.try_open(&acme.viewer, &allocation, kind).await.unwrap_err();
        assert_eq!(code(&viewer), (403, "forbidden"));
        let foreign = site.try_open(&site.umbrella.worker, &allocation, kind).await.unwrap_err();
        assert_eq!(code(&foreign), (404, "not_found"));
        let absent = model::AllocationId::from_parts(site.world.ports.now(), [9; 10]);
        let nothing = site.try_open(&acme.worker, &absent, kind).await.unwrap_err();
        assert_eq!(nothing, foreign, "what is foreign and what is not there look the same");
        let stranger = Person { secret: "gpuaas_x".to_owned(), ..acme.worker.clone() };
        assert_eq!(site.try_open(&stranger, &allocation, kind).await.unwrap_err().0, 401);
    }
    assert_eq!(site.streams(&allocation).await, [], "who is refused leaves nothing behind");
    assert_eq!(site.audited(&allocation).await, []);
}

#[tokio::test]
async fn a_request_that_does_not_ask_for_a_stream_is_told_so() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let secret = &site.acme.worker.secret;
    for wish in [
        "",
        "upgrade: gpuaas-stream\r\n",
        "connection: upgrade\r\nupgrade: websocket\r\n",
        "connection: keep-alive\r\nupgrade: gpuaas-stream\r\n",
    ] {
        let head = format!(
            "GET /api/v1/allocations/{allocation}/ssh HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n{wish}\r\n"
        );
        let refused = ask_at(site.http.address(), &head).await.unwrap_err();
        assert_eq!(code(&refused), (426, "upgrade_required"), "{wish:?}");
    }
    assert_eq!(site.streams(&allocation).await, []);
}

#[tokio::test]
async fn only_what_runs_can_be_reached() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let (status, _) = site.world.api("POST", &format!("/api/v1/allocations/{allocation}/release"), None).await;
    assert_eq!(status, 202);
    let refused = site.try_open(&site.acme.worker, &allocation, StreamKind::Ssh).await.unwrap_err();
    assert_eq!(code(&refused), (409, "state_conflict"));
}

#[tokio::test]
async fn there_are_no_more_streams_than_there_may_be_and_a_place_comes_back() {
    let site = Site::with(|config| GatewayConfig { per_allocation_max: 2, ..config }).await;
    let (_host, allocation) = site.host("host-1", Echo).await;
    let first = site.open(&allocation, StreamKind::Ssh).await;
    let second = site.open(&allocation, StreamKind::Ssh).await;
    let refused = site.try_open(&site.acme.worker, &allocation, StreamKind::Ssh).await.unwrap_err();
    assert_eq!(code(&refused), (429, "stream_limit"));
    assert_eq!(refused.1["detail"], json!("The allocation has 2 open streams; 2 are allowed."));
    assert!(refused.1["retry_after_s"].is_number());
    drop(first);
    let until = std::time::Instant::now() + PATIENCE;
    let third = loop {
        match site.try_open(&site.acme.worker, &allocation, StreamKind::Ssh).await {
            Ok(third) => break third,
            Err(refused) => assert_eq!(code(&refused), (429, "stream_limit")),
        }
        assert!(std::time::Instant::now() < until, "no place comes back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    drop((second, third));
}

#[tokio::test]
async fn a_host_that_never_opens_is_not_waited_for_longer_than_it_may_take() {
    let site = Site::with(|config| GatewayConfig { open_within: Duration::from_millis(300), ..config }).await;
    let silent = tempfile::tempdir().unwrap();
    let (_, enrolled) = crate::site::enrolled(&site, "silent", &silent).await;
    let allocation = site.running(&enrolled.node_id).await;
    let refused = site.try_open(&site.acme.worker, &allocation, StreamKind::Ssh).await.unwrap_err();
    assert_eq!(code(&refused), (504, "guest_unreachable"));
    let row = site.ended(&allocation).await;
    assert_eq!(row.ended.map(|(_, how)| how), Some(StreamEnding::NotOpened));
    assert_eq!(site.gateway().open_count(), 0);
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_leaves_nothing_behind() {
    let site = Site::new().await;
    let silent = tempfile::tempdir().unwrap();
    let (_, enrolled) = crate::site::enrolled(&site, "silent", &silent).await;
    let allocation = site.running(&enrolled.node_id).await;
    let waiting = {
        let (server, who, allocation) = (site.http.address(), site.acme.worker.clone(), allocation.clone());
        tokio::spawn(async move { crate::site::open_at(server, &who, &allocation, StreamKind::Ssh).await })
    };
    let until = std::time::Instant::now() + PATIENCE;
    while site.gateway().open_count() == 0 {
        assert!(std::time::Instant::now() < until, "it is never waited for");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    waiting.abort();
    let row = site.ended(&allocation).await;
    assert_eq!(row.ended.map(|(_, how)| how), Some(StreamEnding::ClientGone));
}

#[tokio::test]
async fn a_host_that_cannot_says_so_at_once() {
    let site = Site::new().await;
    let (_host, allocation) = site.host("host-1", agent::streams::NoDoor).await;
    let refused = site.try_open(&site.acme.worker, &allocation, StreamKind::Ssh).await.unwrap_err();
    assert_eq!(code(&refused), (504, "guest_unreachable"));
    assert!(refused.1["detail"].as_str().unwrap().contains("no guests that can be reached"), "{}", refused.1);
    let row = site.ended(&allocation).await;
    assert_eq!(row.ended.map(|(_, how)| how), Some(StreamEnding::HostRefused));
}

#[tokio::test]
async fn a_guest_that_closes_closes_the_client() {
    let site = Site::new().await;
    let door = InHand::default();
    let (_host, allocation) = site.host("host-1", door.clone()).await;
    let stream = site.open(&allocation, StreamKind::Ssh).await;
    drop(door.only());
    closed(stream).await;
    site.ended(&allocation).await;
}
