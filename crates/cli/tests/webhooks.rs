//! Webhooks from the command line: the control plane as a process sends to a receiver of the test, and the command sets it
//! up, tries it out, reads what was delivered and has it sent again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::{Duration, Instant};

use common::{
    Answer, Fake, Ran, json,
    plane::{Plane, operator_token, store_url},
};
use serde_json::{Value, json as value};

fn read(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

struct Desk<'a> {
    home: &'a std::path::Path,
    plane: &'a Plane,
    token: &'a str,
}

impl Desk<'_> {
    fn run(&self, words: &[&str]) -> Ran {
        self.plane.run(self.home, self.token, words)
    }

    fn json(&self, words: &[&str]) -> Value {
        read(&self.run(&[words, &["-o", "json"]].concat()))
    }

    /// Waits for something that the platform does by itself.
    fn eventually(&self, words: &[&str], so: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let found = self.json(words);
            if so(&found) {
                return found;
            }
            assert!(Instant::now() < until, "{words:?}: {found}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_webhook_is_set_up_tried_out_and_told_from_the_command_line() {
    let home = tempfile::tempdir().unwrap();
    let token = operator_token(home.path());
    let receiver = Fake::new(|_| json(200, value!({"thanks": true})));
    let address = format!("{}/in", receiver.url);
    let database = store_url(home.path());
    let words = ["serve", "--database", &database, "--listen", "127.0.0.1:0", "--log", "warn"];
    {
        let strict = Plane::start(home.path(), &words);
        let desk = Desk { home: home.path(), plane: &strict, token: &token };
        let refused = desk.run(&["webhook", "create", &address, "--platform"]);
        assert!(refused.code == 5 && refused.stderr.contains("webhook_refused"), "{} {}", refused.code, refused.stderr);
    }
    let plane = Plane::start(home.path(), &[&words[..], &["--webhook-allow", "127.0.0.0/8"]].concat());
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let made = desk.json(&["webhook", "create", &address, "--platform", "--event", "region.*"]);
    let (id, secret) = (text(&made["webhook"]["id"]), text(&made["secret"]));
    assert!(secret.starts_with("whsec_"));
    let tested = desk.json(&["webhook", "test", id]);
    desk.json(&["region", "create", "eu-1", "--name", "Europe"]);
    let listed = ["webhook", "deliveries", id, "--state", "delivered"];
    let found = desk.eventually(&listed, |found| found["items"].as_array().is_some_and(|items| items.len() == 2));
    assert_eq!(found["items"][0]["event_type"], "io.gpuaas.region.created.v1", "newest first");
    let asked = receiver.asked();
    let ids: Vec<&str> = asked.iter().filter_map(|asked| asked.header("webhook-id")).collect();
    assert_eq!(ids, [text(&tested["event_id"]), text(&found["items"][0]["event_id"])]);
    assert!(asked.iter().all(|asked| asked.method == "POST" && asked.target == "/in"));
    assert!(asked[1].header("webhook-signature").is_some_and(|signature| signature.starts_with("v1,")));
    let one = desk.json(&["webhook", "deliveries", id, text(&found["items"][0]["id"])]);
    assert_eq!(one["attempts"][0]["response_body"], r#"{"thanks":true}"#);
    desk.json(&["webhook", "replay", id, text(&found["items"][0]["id"])]);
    desk.eventually(&["webhook", "deliveries", id, text(&found["items"][0]["id"])], |one| {
        one["delivery"]["attempts"] == 2 && one["delivery"]["state"] == "delivered"
    });
    assert_eq!(receiver.asked()[2].header("webhook-id"), Some(ids[1]), "the same id");
    let rotated = desk.json(&["webhook", "rotate-secret", id, "--previous-for", "0s"]);
    assert_ne!(text(&rotated["secret"]), secret);
    assert_eq!(desk.json(&["webhook", "update", id, "--disable"])["enabled"], false);
    assert_eq!(desk.run(&["webhook", "test", id]).code, 5, "it is disabled");
    assert!(desk.run(&["webhook", "list", "--platform"]).stdout.contains(id));
    assert!(!desk.run(&["webhook", "show", id]).stdout.contains("whsec_"));
    let audited = desk.run(&["audit", "list", "-o", "json"]);
    assert!(audited.stdout.contains("platform_webhook_create") && !audited.stdout.contains("whsec_"));
    assert_eq!(desk.run(&["webhook", "delete", id, "--yes"]).code, 0);
    assert_eq!(desk.run(&["webhook", "show", id]).code, 3);
}

#[test]
fn words_that_mean_nothing_are_refused_before_anything_is_sent() {
    let fake = Fake::new(|_| Answer { status: 500, content_type: "text/plain", body: String::new() });
    for words in [
        vec!["webhook", "create", "https://a.example/"],
        vec!["webhook", "create", "ftp://a.example/", "--platform"],
        vec!["webhook", "create", "https://a.example/", "--platform", "--event", "everything"],
        vec!["webhook", "create", "https://a.example/", "--platform", "--tenant", "acme"],
        vec!["webhook", "replay", "whk_01jh2n6f4zw8q9r0s1t2v3x4y5"],
        vec!["webhook", "rotate-secret", "whk_01jh2n6f4zw8q9r0s1t2v3x4y5", "--previous-for", "8d"],
        vec!["webhook", "update", "whk_01jh2n6f4zw8q9r0s1t2v3x4y5", "--enable", "--disable"],
    ] {
        assert_eq!(fake.run(&words).code, 2, "{words:?}");
    }
    assert!(fake.asked().is_empty());
}
