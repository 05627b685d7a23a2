//! Every way in which a MAAS server, or what stands before it, can fail a call: each is a fault of its own kind, says whether
//! trying again may help, and gives no secret away.

use crate::server::{CONSUMER, NOW_S, Quirk, SECRET, Server, TOKEN, signing};
use machines::{
    DeployOrder, Fault, MachineProvider, MachineStatus, OrderMark, UserData,
    maas::{Maas, Settings, Signing},
};
use model::Timestamp;

const PASSWORD: &str = "hunter2-in-the-user-data";

fn mark() -> OrderMark {
    "alloc_01".parse().unwrap()
}

fn order() -> DeployOrder {
    let data = UserData::try_from(format!("#cloud-config\npassword: {PASSWORD}\n").into_bytes()).unwrap();
    DeployOrder::new(mark(), "ubuntu", "jammy", data).unwrap()
}

#[tokio::test]
async fn each_refusal_is_a_fault_of_its_kind() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    let read = async |status, text| {
        server.plan("read", Quirk::Says(status, text));
        client.machine(&id).await.unwrap_err()
    };
    for status in [500, 502, 503, 504, 429] {
        let fault = read(status, "Gateway Time-out").await;
        assert!(matches!(&fault, Fault::Refused { status: found, .. } if *found == status), "{fault}");
        assert!(fault.may_try_again(), "{fault}");
    }
    for status in [400, 403, 301, 302] {
        let fault = read(status, "no").await;
        assert_eq!(
            fault.to_string(),
            format!("reading machine abc123 was expected to succeed, but the provider answered {status}: no")
        );
        assert!(!fault.may_try_again(), "{fault}");
    }
    assert_eq!(read(401, "who?").await, Fault::Unauthorized);
    assert_eq!(read(404, "Not Found").await, Fault::NotFound { what: "machine abc123".to_owned() });
    let fault = client.machine(&"zzz999".parse().unwrap()).await.unwrap_err();
    assert_eq!(fault, Fault::NotFound { what: "machine zzz999".to_owned() });
    assert!(!fault.may_try_again());
}

#[tokio::test]
async fn a_conflict_names_the_state_that_is_in_the_way() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    for (status, name) in [(0, "New"), (1, "Commissioning"), (8, "Broken"), (12, "Releasing"), (99, "Melted")] {
        server.change("abc123", |node| node.status = status);
        let fault = client.allocate(&id, &mark()).await.unwrap_err();
        assert!(matches!(&fault, Fault::Conflict { status, .. } if status == name), "{fault}");
        assert!(!fault.may_try_again());
    }
    // The state changes between the look and the call: the second look names it.
    server.change("abc123", |node| node.status = 4);
    let before = server.node("abc123").json().into_bytes();
    server.plan("read", Quirk::Body(before));
    server.change("abc123", |node| node.status = 1);
    let fault = client.allocate(&id, &mark()).await.unwrap_err();
    assert!(matches!(&fault, Fault::Conflict { status, .. } if status == "Commissioning"), "{fault}");
}

#[tokio::test]
async fn a_server_that_is_away_cannot_be_reached() {
    let server = Server::start().await;
    let settings = server.settings();
    // A port that was free a moment ago, with nobody behind it.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let client = Maas::new(&Settings { url: format!("http://127.0.0.1:{port}/MAAS"), ..settings }, signing()).unwrap();
    let fault = client.list().await.unwrap_err();
    assert!(matches!(fault, Fault::Unreachable { .. }), "{fault}");
    assert!(fault.may_try_again());
}

#[tokio::test]
async fn an_answer_that_never_comes_is_waited_for_only_so_long() {
    let server = Server::start().await;
    let (client, id) = (server.hasty_client(), server.add("abc123"));
    server.plan("read", Quirk::Silent);
    let fault = client.machine(&id).await.unwrap_err();
    assert_eq!(fault.to_string(), "reading machine abc123 was expected to be answered within 2000 ms, but was not");
    assert!(fault.may_try_again());
    assert_eq!(client.machine(&id).await.unwrap().status, MachineStatus::Ready);
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("read", Quirk::Body(vec![b' '; 64 * 1024 + 1]));
    server.plan("list", Quirk::Body(vec![b' '; 256 * 1024 + 1]));
    for fault in [client.machine(&id).await.unwrap_err(), client.list().await.unwrap_err()] {
        assert!(fault.to_string().ends_with("bytes, but more came"), "{fault}");
    }
    // Spaces before a machine are fine up to the limit, so the limit is where it says it is.
    let json = server.node("abc123").json();
    let full = format!("{}{json}", " ".repeat(64 * 1024 - json.len()));
    server.plan("read", Quirk::Body(full.into_bytes()));
    client.machine(&id).await.unwrap();
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_not_believed() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    let good: serde_json::Value = serde_json::from_str(&server.node("abc123").json()).unwrap();
    let with = |name: &str, value: serde_json::Value| {
        let mut odd = good.clone();
        odd[name] = value;
        odd.to_string()
    };
    let without = |name: &str| {
        let mut odd = good.clone();
        odd.as_object_mut().unwrap().remove(name);
        odd.to_string()
    };
    for body in [
        "<html>Welcome</html>".to_owned(),
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        good.to_string()[..100].to_owned(),
        without("system_id"),
        without("status"),
        without("tag_names"),
        with("status", "Ready".into()),
        with("system_id", "../../users".into()),
        with("system_id", "other1".into()),
        with("hostname", 7.into()),
        with("workload_annotations", "none".into()),
    ] {
        server.plan("read", Quirk::Body(body.clone().into_bytes()));
        let fault = client.machine(&id).await.unwrap_err();
        assert!(matches!(fault, Fault::Unparsable { .. }), "{body}: {fault}");
        assert!(!fault.to_string().contains("Welcome"), "{fault}");
    }
    for body in ["{}".to_owned(), format!("[{good},{good}]"), format!("[{good},{}]", without("status"))] {
        server.plan("list", Quirk::Body(body.into_bytes()));
        assert!(matches!(client.list().await, Err(Fault::Unparsable { .. })));
    }
    server.plan("update_nodes", Quirk::Body(b"{\"updated\":1}".to_vec()));
    assert!(matches!(client.tag(&id, &"rack".parse().unwrap()).await, Err(Fault::Unparsable { .. })));
}

#[tokio::test]
async fn fields_that_may_be_missing_may_be_missing() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("read", Quirk::Body(br#"{"system_id":"abc123","status":4,"tag_names":[]}"#.to_vec()));
    let seen = client.machine(&id).await.unwrap();
    assert_eq!((seen.serial, seen.owner, seen.mark, seen.pool), (None, None, None, None));
}

#[tokio::test]
async fn a_wrong_key_an_old_clock_and_a_repeated_nonce_are_unauthorized() {
    let server = Server::start().await;
    let id = server.add("abc123");
    let keyed = |key: String| Settings { key: key.parse().unwrap(), ..server.settings() };
    for key in [
        format!("another-consumer:{TOKEN}:{SECRET}"),
        format!("{CONSUMER}:another-token:{SECRET}"),
        format!("{CONSUMER}:{TOKEN}:another-secret"),
    ] {
        let client = Maas::new(&keyed(key), signing()).unwrap();
        assert_eq!(client.machine(&id).await, Err(Fault::Unauthorized));
    }
    let old = Signing::new(|| Timestamp::from_micros(0).plus_seconds(NOW_S - 3_600), || "old-1".to_owned());
    assert_eq!(Maas::new(&server.settings(), old).unwrap().machine(&id).await, Err(Fault::Unauthorized));
    let same = Signing::new(|| Timestamp::from_micros(0).plus_seconds(NOW_S), || "same".to_owned());
    let client = Maas::new(&server.settings(), same).unwrap();
    assert!(client.machine(&id).await.is_ok());
    assert_eq!(client.machine(&id).await, Err(Fault::Unauthorized));
    assert!(!Fault::Unauthorized.may_try_again());
}

#[tokio::test]
async fn a_page_that_repeats_the_request_gives_no_secret_away() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    client.allocate(&id, &mark()).await.unwrap();
    let mut texts = Vec::new();
    server.plan("read", Quirk::Echoes);
    texts.push(client.machine(&id).await.unwrap_err());
    server.plan("deploy", Quirk::Echoes);
    texts.push(client.deploy(&id, &order()).await.unwrap_err());
    let mut text = format!("{client:?} {:?} {:?}", server.settings(), order());
    for fault in texts {
        assert!(matches!(fault, Fault::Refused { status: 500, .. }), "{fault}");
        text.push_str(&format!(" {fault} {fault:?}"));
    }
    for secret in [CONSUMER, TOKEN, SECRET, PASSWORD, "I2Nsb3VkLWNvbmZpZw"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = Server::start().await;
    let (client, id) = (server.client(), server.add("abc123"));
    server.plan("read", Quirk::Moved("/MAAS/api/2.0/machines/"));
    assert!(matches!(client.machine(&id).await, Err(Fault::Refused { status: 302, .. })));
    assert_eq!((server.calls("read"), server.calls("list")), (1, 0));
}

#[tokio::test]
async fn a_server_is_believed_only_with_a_certificate_that_is_trusted() {
    let (server, certificate) = Server::start_with_tls().await;
    let id = server.add("abc123");
    let fault = server.client().machine(&id).await.unwrap_err();
    assert!(matches!(fault, Fault::Unreachable { .. }), "{fault}");
    assert!(server.state().log.is_empty());
    let trusting = Settings { extra_roots_pem: certificate.into_bytes(), ..server.settings() };
    let client = Maas::new(&trusting, signing()).unwrap();
    assert_eq!(client.machine(&id).await.unwrap().status, MachineStatus::Ready);
}
