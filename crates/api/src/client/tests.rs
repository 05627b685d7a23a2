//! The client against a scripted server on loopback: what goes over the wire, what is tried again, and what is not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::{
    allocation::{AllocationPath, AllocationRelease},
    catalog::{RegionDelete, RegionPath},
    event::{CloudEvent, EventData},
    operation::OperationView,
    page::PageQuery,
    tenancy::{
        ProjectPath, ProjectShow, TenantCreate, TenantCreateBody, TenantList, TenantPath, TenantUpdate,
        TenantUpdateBody,
    },
};
use model::{
    EventId, TenantId, Timestamp,
    event::{Change, Noun},
};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

const REGION: &str = "rgn_01jh2n6f4zw8q9r0s1t2v3x4y5";
const TENANT: &str = "tnt_01jh2n6f4zw8q9r0s1t2v3x4y5";
const ALLOCATION: &str = "alc_01jh2n6f4zw8q9r0s1t2v3x4y5";

/// Answers one connection after another from a script and remembers what was asked.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// An empty reply hangs up without an answer.
    fn start(script: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&requests), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            for reply in script {
                let (mut stream, _) = listener.accept().unwrap();
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                seen.lock().unwrap().push(read_request(&mut stream));
                // A client that has heard enough may close first.
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        Self { address, requests, over, thread: Some(thread) }
    }

    fn client(&self) -> Client {
        let patience =
            Patience { tries_max: 3, first_wait: Duration::from_millis(1), wait_max: Duration::from_secs(2) };
        Client::new(&format!("http://{}", self.address), "secret").unwrap().with_patience(patience)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread when it still waits for a connection.
        drop(TcpStream::connect(self.address));
        let joined = self.thread.take().unwrap().join();
        assert!(joined.is_ok() || std::thread::panicking(), "the scripted server failed");
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0_u8; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the request stopped early: {text}");
        bytes.extend_from_slice(&buffer[..count]);
    }
}

fn reply(status: u16, more_headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n{more_headers}\r\n{body}", body.len())
}

fn refused(problem: &Problem) -> String {
    reply(problem.status, "content-type: application/problem+json\r\n", &serde_json::to_string(problem).unwrap())
}

fn header(request: &str, name: &str) -> Option<String> {
    request.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

fn tenant_json(id: &str) -> Value {
    json!({ "id": id, "slug": "acme", "name": "Acme", "desired": "active", "execution": "active", "projected": "Usable.",
        "observed": { "projects": 0, "members": 0, "service_accounts": 0, "tokens": 0, "allocations": 0, "claims": 0 },
        "progress": { "since": "2026-01-31T12:00:00.000Z" }, "version": 1, "created_at": "2026-01-31T12:00:00.000Z" })
}

fn operation_json() -> Value {
    json!({ "id": "opn_01jh2n6f4zw8q9r0s1t2v3x4y5", "kind": "allocation_release", "noun": "allocation", "subject_id": ALLOCATION,
        "created_by": "prn_01jh2n6f4zw8q9r0s1t2v3x4y5", "state": "running", "created_at": "2026-01-31T12:00:00.000Z" })
}

fn release() -> Call<AllocationRelease> {
    Call::at(AllocationPath { allocation_id: ALLOCATION.parse().unwrap() })
}

fn rename() -> Call<TenantUpdate> {
    let body = TenantUpdateBody { name: "Acme".parse().unwrap() };
    Call::send(TenantPath { tenant_id: TENANT.parse().unwrap() }, body).at_version(4)
}

#[tokio::test]
async fn a_create_carries_token_key_and_body_and_gives_back_version_and_place() {
    let answer = reply(
        201,
        "etag: \"1\"\r\nlocation: /api/v1/tenants/x\r\nx-request-id: r1\r\n",
        &tenant_json(TENANT).to_string(),
    );
    let server = Server::start(vec![answer]);
    let body = TenantCreateBody { slug: "acme".parse().unwrap(), name: "Acme".parse().unwrap() };
    let answered = server.client().call(Call::<TenantCreate>::send(Nothing {}, body).with_key("k-1")).await.unwrap();
    assert_eq!(
        (answered.status, answered.etag, answered.location.as_deref()),
        (201, Some(1), Some("/api/v1/tenants/x"))
    );
    assert_eq!((answered.value.id.as_str(), answered.request_id.as_deref()), (TENANT, Some("r1")));
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /api/v1/tenants HTTP/1.1\r\n"), "{request}");
    assert_eq!(header(&request, "authorization").as_deref(), Some("Bearer secret"));
    assert_eq!(header(&request, "idempotency-key").as_deref(), Some("\"k-1\""));
    assert_eq!(header(&request, "content-type").as_deref(), Some("application/json"));
    assert!(request.ends_with(r#"{"slug":"acme","name":"Acme"}"#), "{request}");
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_under_the_same_key() {
    let busy = refused(&Problem::new(Code::OutcomeUnknown, "?"));
    let server = Server::start(vec![String::new(), busy, reply(202, "", &operation_json().to_string())]);
    let answered: Answered<OperationView> = server.client().call(release()).await.unwrap();
    assert_eq!(answered.status, 202);
    let keys: Vec<_> = server.requests().iter().map(|request| header(request, "idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 34), "{keys:?}");
}

#[tokio::test]
async fn two_wishes_get_two_keys() {
    let answer = || reply(202, "", &operation_json().to_string());
    let server = Server::start(vec![answer(), answer()]);
    let client = server.client();
    client.call(release()).await.unwrap();
    client.call(release()).await.unwrap();
    let requests = server.requests();
    assert_ne!(header(&requests[0], "idempotency-key"), header(&requests[1], "idempotency-key"));
}

#[tokio::test]
async fn a_change_without_a_key_is_not_repeated_unless_nothing_was_done() {
    let server = Server::start(vec![String::new(), String::new()]);
    let error = server.client().call(rename()).await.unwrap_err();
    assert!(matches!(error, ClientError::Transport { never_arrived: false, .. }), "{error}");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(header(&server.requests()[0], "if-match").as_deref(), Some("\"4\""));
    assert_eq!(header(&server.requests()[0], "idempotency-key"), None);

    let limited = refused(&Problem::new(Code::RateLimited, "slow down"));
    let server = Server::start(vec![limited, reply(200, "etag: \"5\"\r\n", &tenant_json(TENANT).to_string())]);
    assert_eq!(server.client().call(rename()).await.unwrap().etag, Some(5));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_refusal_that_time_does_not_heal_is_given_back_at_once() {
    let server = Server::start(vec![refused(&Problem::not_found()), refused(&Problem::not_found())]);
    let path = ProjectPath { project_id: "prj_01jh2n6f4zw8q9r0s1t2v3x4y5".parse().unwrap() };
    let error = server.client().call(Call::<ProjectShow>::at(path)).await.unwrap_err();
    assert_eq!(error.problem(), Some(&Problem::not_found()));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn patience_ends_and_long_waits_are_left_to_the_caller() {
    let down = || refused(&Problem::new(Code::StoreUnavailable, "down"));
    let server = Server::start(vec![down(), down(), down(), down()]);
    let error = server.client().call(release()).await.unwrap_err();
    assert_eq!(error.problem().map(|problem| problem.code), Some(Code::StoreUnavailable));
    assert_eq!(server.requests().len(), 3);

    let later = Problem::new(Code::RateLimited, "slow down");
    let text = serde_json::to_string(&later).unwrap();
    let server = Server::start(vec![reply(429, "retry-after: 3600\r\nx-request-id: req-7\r\n", &text), down()]);
    let error = server.client().call(release()).await.unwrap_err();
    assert!(matches!(&error, ClientError::Problem { request_id: Some(id), .. } if id == "req-7"), "{error:?}");
    assert_eq!(error.problem().and_then(|problem| problem.retry_after_s), Some(3600));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn waits_double_heed_the_server_and_have_an_end() {
    let patience =
        Patience { tries_max: 4, first_wait: Duration::from_millis(100), wait_max: Duration::from_millis(300) };
    let wait =
        |next, asked: Option<u64>| patience.wait_before(next, asked.map(Duration::from_millis)).map(|w| w.as_millis());
    assert_eq!([wait(2, None), wait(3, None), wait(4, None), wait(5, None)], [Some(100), Some(200), Some(300), None]);
    assert_eq!([wait(2, Some(250)), wait(2, Some(5)), wait(2, Some(301))], [Some(250), Some(100), None]);
}

#[tokio::test]
async fn no_content_and_strange_answers_are_told_apart() {
    let call = || Call::<RegionDelete>::at(RegionPath { region_id: REGION.parse().unwrap() }).at_version(2);
    let server = Server::start(vec!["HTTP/1.1 204 x\r\nconnection: close\r\n\r\n".to_owned()]);
    assert_eq!(server.client().call(call()).await.unwrap().value, Nothing {});
    assert!(server.requests()[0].starts_with(&format!("DELETE /api/v1/regions/{REGION} HTTP/1.1\r\n")));
    for strange in
        [reply(200, "", "<html>"), reply(502, "", "bad gateway"), reply(302, "location: http://127.0.0.1:1/\r\n", "")]
    {
        let server = Server::start(vec![strange]);
        let error = server.client().call(call()).await.unwrap_err();
        assert!(matches!(error, ClientError::Unexpected { .. }), "{error}");
    }
}

#[tokio::test]
async fn pages_are_walked_until_there_is_no_token() {
    let page = |id: &str, next: Option<&str>| {
        let mut body = json!({ "items": [tenant_json(id)] });
        if let Some(next) = next {
            body["next_page_token"] = json!(next);
        }
        reply(200, "", &body.to_string())
    };
    let other = "tnt_01jh2n6f4zw8q9r0s1t2v3x4y6";
    let server = Server::start(vec![page(TENANT, Some("t-1")), page(other, None)]);
    let query = PageQuery { page_size: 1.try_into().ok(), page_token: None };
    let items = server.client().pages::<TenantList, _>(Nothing {}, query).all(10).await.unwrap();
    let ids: Vec<&str> = items.iter().map(|tenant| tenant.id.as_str()).collect();
    assert_eq!(ids, [TENANT, other]);
    assert!(server.requests()[0].starts_with("GET /api/v1/tenants?page_size=1 HTTP/1.1"));
    assert!(server.requests()[1].contains("page_token=t-1"));
}

fn event(sequence: i64) -> CloudEvent {
    CloudEvent {
        specversion: "1.0".to_owned(),
        id: EventId::from_parts(Timestamp::from_micros(sequence), [1; 10]),
        source: "/stores/s".to_owned(),
        event_type: crate::event::event_type(Noun::Tenant, Change::Created),
        subject: TENANT.to_owned(),
        time: Timestamp::from_micros(0),
        datacontenttype: "application/json".to_owned(),
        sequence: sequence.to_string(),
        data: EventData {
            noun: Noun::Tenant,
            change: Change::Created,
            object_version: 1,
            tenant_id: Some(TENANT.parse::<TenantId>().unwrap()),
            project_id: None,
            state_from: None,
            state_to: None,
            reason: None,
            detail: None,
        },
    }
}

fn stream(sequences: &[i64]) -> String {
    let mut text =
        "HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\n".to_owned();
    for sequence in sequences {
        let data = serde_json::to_string(&event(*sequence)).unwrap();
        text.push_str(&format!("id: {sequence}\nevent: t\ndata: {data}\n\n"));
    }
    text
}

#[tokio::test]
async fn a_broken_stream_goes_on_behind_the_last_event_and_repeats_nothing() {
    let server = Server::start(vec![stream(&[5, 6]), String::new(), stream(&[6, 7])]);
    let mut follower = server.client().events(Some(4));
    for expected in 5..=7 {
        assert_eq!(follower.next().await.unwrap(), event(expected));
    }
    assert_eq!(follower.position(), Some(7));
    let resumed: Vec<_> = server.requests().iter().map(|request| header(request, "last-event-id").unwrap()).collect();
    assert_eq!(resumed, ["4", "6", "6"]);
}

#[tokio::test]
async fn a_refused_stream_says_why() {
    let server = Server::start(vec![refused(&Problem::new(Code::TokenRevoked, "gone"))]);
    let error = server.client().events(None).next().await.unwrap_err();
    assert_eq!(error.problem().map(|problem| problem.code), Some(Code::TokenRevoked));
    assert_eq!(header(&server.requests()[0], "last-event-id"), None);
}

#[tokio::test]
async fn nobody_listening_is_a_transport_error() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let patience = Patience { tries_max: 1, ..Patience::default() };
    let client = Client::new(&format!("http://{address}"), "secret").unwrap().with_patience(patience);
    let error = client.call(release()).await.unwrap_err();
    assert!(matches!(error, ClientError::Transport { never_arrived: true, .. }), "{error}");
    assert!(!format!("{client:?}").contains("secret"));
}

#[test]
fn bad_addresses_tokens_and_keys_are_refused_before_anything_is_sent() {
    for address in ["", "localhost", "ftp://x", "mailto:a@b"] {
        assert!(matches!(Client::new(address, "t"), Err(ClientError::Usage(_))), "{address}");
    }
    assert!(matches!(Client::new("http://x", "a\nb"), Err(ClientError::Usage(_))));
    let client = Client::new("https://x/prefix/", "t").unwrap();
    let bad_key = client.request(&release().with_key("not a key")).err().unwrap();
    assert_eq!(bad_key.problem().map(|problem| problem.code), Some(Code::InvalidHeader));
    let url = client.request(&release()).unwrap().url;
    assert_eq!(url.as_str(), format!("https://x/prefix/api/v1/allocations/{ALLOCATION}/release"));
}

#[test]
fn no_value_can_leave_its_segment() {
    for (value, encoded) in
        [("a/b?c#d", "a%2Fb%3Fc%23d"), ("..", "%2E%2E"), ("é", "%C3%A9"), ("a.b-c_d~e", "a.b-c_d~e"), ("%2F", "%252F")]
    {
        assert_eq!(percent_encoded(value), encoded);
    }
    assert_eq!(filled_path("/a/{x}/b", &json!({ "x": "1/2" })).unwrap(), "/a/1%2F2/b");
    assert!(filled_path("/a/{x}/b", &json!({})).is_err());
}
