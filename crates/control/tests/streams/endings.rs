//! A stream ends when what it rests on does. How soon is the gateway's recheck interval, which its own tests look at; here it
//! is that it ends at all, on both sides, and for the right reason.

use model::{
    AllocationId,
    stream::{StreamEnding, StreamKind},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::site::{Echo, Host, Site, closed};

struct Talk {
    site: Site,
    host: Host,
    allocation: AllocationId,
    stream: TcpStream,
}

/// A stream that works.
async fn talk() -> Talk {
    let site = Site::new().await;
    let (host, allocation) = site.host("host-1", Echo).await;
    let mut stream = site.open(&allocation, StreamKind::Ssh).await;
    stream.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await.unwrap();
    Talk { site, host, allocation, stream }
}

impl Talk {
    /// Waits for the end, which must be this one; on the guest's side too.
    async fn ends(self, how: StreamEnding) {
        closed(self.stream).await;
        let row = self.site.ended(&self.allocation).await;
        assert_eq!(row.ended.map(|(_, how)| how), Some(how));
        assert_eq!((row.to_guest_bytes, row.from_guest_bytes), (5, 5));
        let told = self.site.audited(&self.allocation).await;
        let end = told.iter().find(|(action, _)| action == "stream_end").unwrap();
        assert_eq!(end.1["how"], json!(how.as_str()));
        let until = std::time::Instant::now() + crate::site::PATIENCE;
        while self.host.streams.open_count() > 0 {
            assert!(std::time::Instant::now() < until, "the agent keeps it");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    async fn act(&self, method: &str, path: &str, body: Option<serde_json::Value>) {
        let (status, answer) = self.site.world.api(method, path, body).await;
        assert!((200..300).contains(&status), "{status} {answer}");
    }
}

#[tokio::test]
async fn a_release_ends_it() {
    let talk = talk().await;
    talk.act("POST", &format!("/api/v1/allocations/{}/release", talk.allocation), None).await;
    talk.ends(StreamEnding::AllocationEnded).await;
}

#[tokio::test]
async fn a_revoked_token_ends_it() {
    let talk = talk().await;
    talk.act("DELETE", &format!("/api/v1/tokens/{}", talk.site.acme.worker.token), None).await;
    talk.ends(StreamEnding::TokenEnded).await;
}

#[tokio::test]
async fn an_expired_token_ends_it() {
    let talk = talk().await;
    talk.site.world.shift_s(86_400);
    talk.ends(StreamEnding::TokenEnded).await;
}

#[tokio::test]
async fn a_removed_membership_ends_it() {
    let talk = talk().await;
    let member = talk.site.acme.worker.member.clone().unwrap();
    crate::site::write(&talk.site.world, move |tx, stamp| {
        let row = store::members::get(tx, &member)?.unwrap();
        store::members::remove(tx, stamp, &row).map(drop)
    })
    .await;
    talk.ends(StreamEnding::RoleLost).await;
}

#[tokio::test]
async fn a_suspended_tenant_ends_it() {
    let talk = talk().await;
    talk.act("POST", &format!("/api/v1/tenants/{}/suspend", talk.site.acme.tenant), None).await;
    talk.ends(StreamEnding::TenantSuspended).await;
}

#[tokio::test]
async fn a_revoked_node_ends_it() {
    let talk = talk().await;
    let path = format!("/api/v1/admin/nodes/{}/revoke-identity", talk.host.node);
    talk.act("POST", &path, Some(json!({"reason": "stolen"}))).await;
    talk.ends(StreamEnding::NodeRevoked).await;
}

#[tokio::test]
async fn a_server_that_stops_ends_it_and_says_so() {
    let Talk { site, host: _host, allocation, stream } = talk().await;
    let Site { world, http, .. } = site;
    http.stop().await;
    closed(stream).await;
    let id = allocation.clone();
    let rows = world.read(move |tx| store::streams::of_allocation(tx, &id, store::Page::first(9))).await;
    assert_eq!(rows[0].ended.map(|(_, how)| how), Some(StreamEnding::ReplicaStopped));
}

#[tokio::test]
async fn an_ordered_release_ends_it_on_the_host_though_nobody_else_has_heard() {
    let Talk { site, host, allocation, stream } = talk().await;
    host.streams.end_of(&allocation);
    closed(stream).await;
    site.ended(&allocation).await;
}
