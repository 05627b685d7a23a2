//! The command against a server that answers with canned JSON: what it sends, what it shows, how it ends.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use api::Code;
use common::{
    Answer, Asked, Fake, TOKEN, allocation, gpuaas, id, id_number, json, operation, problem, project, ran, region,
    tenant, whoami,
};
use serde_json::json as value;
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

fn regions(_: &Asked) -> Answer {
    json(200, value!({ "items": [region(1, "eu-1", "Europe"), region(2, "us-1", "United States")] }))
}

#[test]
fn a_list_comes_in_three_formats() {
    let fake = Fake::new(regions);
    let table = fake.run(&["region", "list"]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    assert_eq!(table.stdout.lines().count(), 3, "{}", table.stdout);
    assert!(table.stdout.starts_with("ID "), "{}", table.stdout);

    let whole = value!({ "items": [region(1, "eu-1", "Europe"), region(2, "us-1", "United States")] });
    let text = fake.run(&["region", "list", "-o", "json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), whole);
    let text = fake.run(&["region", "list", "--output", "yaml"]).stdout;
    assert!(text.starts_with("items:"), "{text}");
    assert_eq!(fake.asked()[0].target, "/api/v1/regions?page_size=200");
}

#[test]
fn an_object_is_the_object_of_the_api() {
    let fake = Fake::new(|_| json(200, region(1, "eu-1", "Europe")));
    let id = id_number("rgn", 1);
    let text = fake.run(&["region", "show", &id, "-o", "json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), region(1, "eu-1", "Europe"));
    let card = fake.run(&["region", "show", &id]).stdout;
    assert!(card.starts_with("id "), "the id comes first:\n{card}");
}

#[test]
fn an_empty_list_is_no_data_and_a_note() {
    let fake = Fake::new(|_| json(200, value!({ "items": [] })));
    let ran = fake.run(&["region", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "no regions\n"));
    assert_eq!(fake.run(&["region", "list", "-o", "json"]).stdout, "{\n  \"items\": []\n}\n");
}

#[test]
fn every_page_is_read() {
    let fake = Fake::new(|asked| match asked.target.contains("page_token=more") {
        false => json(200, value!({ "items": [region(1, "eu-1", "Europe")], "next_page_token": "more" })),
        true => json(200, value!({ "items": [region(2, "us-1", "United States")] })),
    });
    let ran = fake.run(&["region", "list"]);
    assert!(ran.stdout.contains("eu-1") && ran.stdout.contains("us-1"), "{}", ran.stdout);
}

#[test]
fn every_refusal_ends_with_its_code_and_tells_where_to_read_on() {
    for code in Code::ALL {
        // What may succeed later is tried again by the client; one try is enough here.
        if code.is_retryable() && !matches!(code, Code::SkuUnavailable | Code::ProvisioningFailed) {
            continue;
        }
        let code = *code;
        let fake = Fake::new(move |_| problem(code));
        let ran = fake.run(&["region", "show", &id("rgn")]);
        assert_eq!(ran.code, expected_exit(code), "{code}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("error: {code}: This is what happened.")), "{}", ran.stderr);
        assert!(ran.stderr.contains("/name: something else"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("gpuaas explain {code}")), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

/// The table as scripts know it, written down a second time on purpose.
fn expected_exit(code: Code) -> i32 {
    match (code, code.status()) {
        (Code::QuotaExceeded, _) => 6,
        (Code::SkuUnavailable, _) => 7,
        (Code::ProvisioningFailed, _) => 1,
        (Code::UnknownReference | Code::QueueMissing, _) | (_, 404) => 3,
        (_, 401 | 403) => 4,
        (Code::InvalidBody | Code::InvalidParameter | Code::InvalidHeader | Code::InvalidPageToken, _) => 2,
        (_, 409 | 412 | 422 | 428) => 5,
        (_, 408 | 429 | 500..) => 9,
        _ => 1,
    }
}

#[test]
fn a_server_that_fails_is_tried_again_and_then_given_up() {
    let fake = Fake::new(|_| problem(Code::StoreUnavailable));
    let ran = fake.run(&["region", "list"]);
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    assert!(fake.asked().len() > 1, "asked once only");
    assert!(
        ran.stderr.contains("waiting") || ran.stderr.contains("reading"),
        "longer than a second without a sign: {}",
        ran.stderr
    );
}

#[test]
fn what_is_not_our_server_is_told_apart() {
    let fake = Fake::new(|_| Answer { status: 200, content_type: "text/html", body: "<html>".to_owned() });
    assert_eq!(fake.run(&["region", "list"]).code, 9);
    let gone = { Fake::new(regions).url.clone() };
    let home = tempfile::tempdir().unwrap();
    let nobody = ran(gpuaas(home.path()).args(["region", "list", "--url", &gone, "--token", TOKEN]).output().unwrap());
    assert_eq!(nobody.code, 9);
    assert!(nobody.stderr.contains("cannot reach") && nobody.stderr.contains("is it running?"), "{}", nobody.stderr);
}

#[test]
fn flag_wins_over_environment_over_profile() {
    let fake = Fake::new(|_| json(200, whoami()));
    let home = tempfile::tempdir().unwrap();
    let login = ran(gpuaas(home.path())
        .args(["login", "--url", &fake.url, "--profile", "lab", "--token", "from-the-profile"])
        .output()
        .unwrap());
    assert_eq!(login.code, 0, "{}", login.stderr);
    assert!(login.stderr.contains("ada@acme.example"), "{}", login.stderr);
    let sent = |words: &[&str], variables: &[(&str, &str)]| {
        let ran = ran(gpuaas(home.path()).arg("whoami").args(words).envs(variables.iter().copied()).output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        fake.asked().last().unwrap().header("authorization").unwrap().to_owned()
    };
    assert_eq!(sent(&[], &[]), "Bearer from-the-profile");
    assert_eq!(sent(&[], &[("GPUAAS_TOKEN", "from-the-environment")]), "Bearer from-the-environment");
    assert_eq!(
        sent(&["--token", "from-the-flag"], &[("GPUAAS_TOKEN", "from-the-environment")]),
        "Bearer from-the-flag"
    );
    assert_eq!(sent(&[], &[("GPUAAS_TOKEN", "")]), "Bearer from-the-profile", "an empty variable is as good as none");
    let other = ran(gpuaas(home.path()).args(["whoami", "--profile", "nope"]).output().unwrap());
    assert_eq!(other.code, 2);
}

#[test]
fn a_profiles_token_never_reaches_another_server() {
    let home = tempfile::tempdir().unwrap();
    let saved = gpuaas(home.path())
        .args(["login", "--offline", "--url", "https://lab.example", "--token", "secret-of-the-lab"])
        .output()
        .unwrap();
    assert!(saved.status.success());
    let fake = Fake::new(regions);
    let ran = ran(gpuaas(home.path()).args(["region", "list", "--url", &fake.url]).output().unwrap());
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(fake.asked().is_empty());
}

#[test]
fn login_with_a_token_that_does_not_work_saves_nothing() {
    let fake = Fake::new(|_| problem(Code::Unauthenticated));
    let home = tempfile::tempdir().unwrap();
    let ran = ran(gpuaas(home.path()).args(["login", "--url", &fake.url, "--token", "wrong"]).output().unwrap());
    assert_eq!(ran.code, 4);
    assert!(!home.path().join("config/gpuaas/config.toml").exists());
}

#[test]
fn what_takes_something_away_needs_consent() {
    let fake = Fake::new(regions);
    for words in [
        vec!["tenant", "delete", "acme"],
        vec!["tenant", "suspend", "acme"],
        vec!["project", "delete", "acme/research"],
        vec!["region", "delete", "eu-1"],
        vec!["token", "revoke", "tok_01jh2n6f4zw8q9r0s1t2v3x4y5"],
        vec!["release", "alc_01jh2n6f4zw8q9r0s1t2v3x4y5"],
        vec!["operator", "remove", "a@b"],
    ] {
        let ran = fake.run(&words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    }
    assert!(fake.asked().is_empty(), "something was sent without consent");
}

#[test]
fn a_change_is_made_for_the_version_that_was_seen() {
    let fake = Fake::new(|asked| match asked.method.as_str() {
        "DELETE" => Answer { status: 204, content_type: "application/json", body: String::new() },
        _ if asked.target.contains("page_size") => regions(asked),
        _ => json(200, region(1, "eu-1", "Europe")),
    });
    let ran = fake.run(&["region", "delete", "eu-1", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let asked = fake.asked();
    assert_eq!(asked.last().unwrap().header("if-match"), Some("\"3\""));
    assert_eq!(asked.last().unwrap().target, format!("/api/v1/regions/{}", id_number("rgn", 1)));
    fake.run(&["region", "update", "eu-1", "--enabled", "false", "--if-version", "2"]);
    let last = fake.asked().pop().unwrap();
    assert_eq!((last.header("if-match"), last.body.as_str()), (Some("\"2\""), "{\"enabled\":false}"));
}

#[test]
fn what_moves_between_the_look_and_the_change_is_looked_at_again() {
    let looks = AtomicUsize::new(0);
    let fake = Fake::new(move |asked| match (asked.method.as_str(), asked.header("if-match")) {
        ("PATCH", Some("\"5\"")) => json(200, region(1, "eu-1", "Europe")),
        ("PATCH", _) => problem(Code::StaleVersion),
        _ => {
            let mut seen = region(1, "eu-1", "Europe");
            seen["version"] = (4 + looks.fetch_add(1, Ordering::SeqCst)).into();
            json(200, seen)
        }
    });
    let id = id_number("rgn", 1);
    assert_eq!(fake.run(&["region", "update", &id, "--enabled", "false"]).code, 0);
    let pinned = fake.run(&["region", "update", &id, "--enabled", "false", "--if-version", "4"]);
    assert!(pinned.code == 5 && pinned.stderr.contains("stale_version"), "{}", pinned.stderr);
}

#[test]
fn a_key_that_is_given_is_sent_and_otherwise_a_new_one_each_time() {
    let fake = Fake::new(|_| json(201, region(1, "eu-1", "Europe")));
    let key = |more: &[&str]| {
        let words: Vec<&str> = ["region", "create", "eu-1", "--name", "Europe"].iter().chain(more).copied().collect();
        let ran = fake.run(&words);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        fake.asked().last().unwrap().header("idempotency-key").unwrap().to_owned()
    };
    assert_eq!(key(&["--idempotency-key", "mine-1"]), "\"mine-1\"");
    assert_ne!(key(&[]), key(&[]));
}

#[test]
fn explain_prints_the_request_without_the_token() {
    let fake = Fake::new(|_| json(201, region(1, "eu-1", "Europe")));
    let ran = fake.run(&[
        "region",
        "create",
        "eu-1",
        "--name",
        "Europe",
        "--idempotency-key",
        "k1",
        "--explain",
        "-o",
        "json",
    ]);
    assert!(ran.stderr.contains(&format!("> POST {}/api/v1/regions", fake.url)), "{}", ran.stderr);
    assert!(ran.stderr.contains("> Idempotency-Key: \"k1\""), "{}", ran.stderr);
    assert!(ran.stderr.contains("{\"slug\":\"eu-1\",\"name\":\"Europe\",\"enabled\":true}"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(TOKEN), "{}", ran.stderr);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.stdout).is_ok());
}

fn tenants_and_projects(asked: &Asked) -> Answer {
    let tenants = [
        tenant(1, "acme", "active"),
        tenant(2, "beta", "active"),
        tenant(3, "beta", "deleted"),
        tenant(4, "old", "active"),
        tenant(5, "old", "active"),
    ];
    if asked.target.starts_with("/api/v1/tenants?") {
        return json(200, value!({ "items": tenants }));
    }
    if asked.target.contains("/projects?") {
        let owner = if asked.target.contains(&id_number("tnt", 1)) { 1 } else { 2 };
        return json(200, value!({ "items": [project(owner, owner, "research")] }));
    }
    json(200, project(1, 1, "research"))
}

#[test]
fn names_are_looked_up_and_never_guessed() {
    let fake = Fake::new(tenants_and_projects);
    let shown = |words: &[&str]| {
        let ran = fake.run(words);
        (ran.code, fake.asked().last().unwrap().target.clone(), ran.stderr)
    };
    let (code, target, stderr) = shown(&["project", "show", "acme/research"]);
    assert_eq!((code, target), (0, format!("/api/v1/projects/{}", id_number("prj", 1))), "{stderr}");
    let (_, target, _) = shown(&["tenant", "show", "beta"]);
    assert_eq!(target, format!("/api/v1/tenants/{}", id_number("tnt", 2)), "the living one is meant");
    let (code, _, stderr) = shown(&["tenant", "show", "old"]);
    assert!(code == 2 && stderr.contains(&id_number("tnt", 4)) && stderr.contains(&id_number("tnt", 5)), "{stderr}");
    let (code, _, stderr) = shown(&["project", "show", "research"]);
    assert!(code == 2 && stderr.contains("more than one"), "{stderr}");
    let (code, _, stderr) = shown(&["tenant", "show", "nobody"]);
    assert!(code == 3 && stderr.contains("no tenant called `nobody`"), "{stderr}");
}

/// Answers a release, then runs for some looks, then ends in `end`.
fn releasing(looks: usize, end: &'static str) -> Fake {
    let seen = AtomicUsize::new(0);
    Fake::new(move |asked| {
        if asked.method == "POST" {
            return json(202, operation("running"));
        }
        if asked.target.contains("/allocations/") {
            return json(200, allocation("releasing"));
        }
        let state = if seen.fetch_add(1, Ordering::SeqCst) < looks { "running" } else { end };
        json(200, operation(state))
    })
}

#[test]
fn long_work_is_followed_to_its_end_with_a_line_a_step() {
    let ran = releasing(2, "succeeded").run(&["release", &id("alc"), "--yes", "-o", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["state"], "succeeded");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stderr);
    assert_eq!(lines[1], format!("{} releasing: The host is wiping it.", id("alc")));
    let quiet = releasing(1, "succeeded").run(&["release", &id("alc"), "--yes", "--quiet"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn long_work_that_fails_ends_with_the_code_of_its_reason() {
    let ran = releasing(1, "failed").run(&["release", &id("alc"), "--yes"]);
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    assert!(ran.stderr.contains("sku_unavailable"), "{}", ran.stderr);
}

#[test]
fn a_wait_that_takes_too_long_ends_and_says_how_to_go_on() {
    let ran = releasing(usize::MAX, "").run(&["release", &id("alc"), "--yes", "--timeout", "1s"]);
    assert_eq!(ran.code, 8);
    assert!(ran.stderr.contains(&format!("gpuaas operation wait {}", id("opn"))), "{}", ran.stderr);
}

#[test]
fn without_waiting_the_operation_is_the_answer() {
    let fake = releasing(usize::MAX, "");
    let ran = fake.run(&["release", &id("alc"), "--yes", "--no-wait", "-o", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap(), operation("running"));
    assert_eq!(fake.asked().len(), 1);
}

#[test]
fn several_that_are_not_all_done_are_partial() {
    let fake = Fake::new(|asked| {
        if asked.target.contains(&id_number("alc", 1)) {
            json(202, operation("running"))
        } else {
            problem(Code::NotFound)
        }
    });
    let ran = fake.run(&["release", &id_number("alc", 1), &id_number("alc", 2), "--yes", "--no-wait", "-o", "json"]);
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    assert!(ran.stderr.contains("not_found") && ran.stderr.contains("1 done, 1 not"), "{}", ran.stderr);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["items"].as_array().unwrap().len(), 1);
    let one = fake.run(&["release", &id_number("alc", 2), "--yes", "--no-wait"]);
    assert_eq!(one.code, 3);
}

#[test]
fn ctrl_c_ends_the_wait_and_not_the_work() {
    let fake = releasing(usize::MAX, "");
    let home = tempfile::tempdir().unwrap();
    let mut child = fake
        .command(home.path(), &["release", &id("alc"), "--yes"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("started"));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(rest.join("\n").contains(&format!("gpuaas operation wait {}", id("opn"))), "{rest:?}");
}

#[test]
fn server_strings_cannot_drive_the_terminal() {
    let mut node = value!({
        "id": id("nod"), "pool_id": id("pol"), "name": "h200\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}", "gpu_model": "h200-sxm", "occupancy": "free",
        "execution": "online", "desired": "in_service", "posture": "fully_available", "projected": "fine", "profiles": [], "promotion_needs": [],
        "agent_boot": 1, "incidents": 0, "progress": { "since": "2026-01-31T12:00:00.000Z" }, "version": 1, "created_at": "2026-01-31T12:00:00.000Z"
    });
    let shown = node.clone();
    let fake = Fake::new(move |asked| {
        if asked.target.contains("page_size") {
            json(200, value!({ "items": [shown] }))
        } else {
            json(200, shown.clone())
        }
    });
    for words in
        [vec!["node", "list"], vec!["node", "show", "nod_01jh2n6f4zw8q9r0s1t2v3x4y5"], vec!["api", "get", "/x"]]
    {
        for format in ["table", "json", "yaml"] {
            let words: Vec<&str> = words.iter().copied().chain(["-o", format]).collect();
            let ran = fake.run(&words);
            assert_eq!(ran.code, 0, "{words:?} {}", ran.stderr);
            assert!(
                !ran.stdout.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')),
                "{words:?}: {:?}",
                ran.stdout
            );
        }
    }
    let text = fake.run(&["node", "show", &id("nod"), "-o", "json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["name"].take(), node["name"].take());
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    // Far more than a pipe holds, so that the command is still writing when the reader leaves.
    let many: Vec<serde_json::Value> = (0..2_000).map(|_| region(1, "eu-1", "Europe")).collect();
    let fake = Fake::new(move |_| json(200, value!({ "items": many })));
    let home = tempfile::tempdir().unwrap();
    let mut child = fake
        .command(home.path(), &["region", "list", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "{\n");
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

fn event(sequence: u32) -> serde_json::Value {
    value!({
        "specversion": "1.0", "id": id_number("evt", u8::try_from(sequence).unwrap()), "source": "/stores/test", "type": "io.gpuaas.region.created.v1",
        "subject": id("rgn"), "time": "2026-01-31T12:00:00.000Z", "datacontenttype": "application/json", "sequence": sequence.to_string(),
        "data": { "noun": "region", "change": "created", "object_version": 1 }
    })
}

#[test]
fn events_are_listed_up_to_a_limit_and_say_where_to_go_on() {
    let fake = Fake::new(|asked| {
        let first = if asked.target.contains("after=2") { 3 } else { 1 };
        json(200, value!({ "items": [event(first), event(first + 1)], "next_after": first + 1, "head": 4 }))
    });
    let ran = fake.run(&["event", "list", "-o", "json"]);
    let page: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((page["items"].as_array().unwrap().len(), page["next_after"].as_i64()), (4, Some(4)));
    assert_eq!(fake.run(&["event", "list", "--limit", "2"]).stdout.lines().count(), 3);
}

#[test]
fn events_are_followed_one_line_each() {
    let stream = (1..=3).map(|n| format!("id: {n}\nevent: x\ndata: {}\n\n", event(n))).collect::<String>();
    let fake = Fake::new(move |_| Answer { status: 200, content_type: "text/event-stream", body: stream.clone() });
    let ran = fake.run(&["event", "follow", "--after", "0", "--limit", "3", "-o", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sequences: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["sequence"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sequences, ["1", "2", "3"]);
    assert_eq!(fake.asked()[0].header("last-event-id"), Some("0"));
}

#[test]
fn raw_requests_stay_on_the_server_they_were_made_for() {
    let fake = Fake::new(|asked| match asked.target.as_str() {
        "/metrics" => Answer { status: 200, content_type: "text/plain", body: "a 1\n# EOF\n".to_owned() },
        "/api/v1" => json(200, value!({ "z": 1, "a": 2 })),
        _ => problem(Code::RouteNotFound),
    });
    assert_eq!(fake.run(&["api", "get", "/metrics"]).stdout, "a 1\n# EOF\n");
    assert_eq!(fake.run(&["api", "get", "/nope"]).code, 3);
    let asked = fake.asked().len();
    for path in ["http://elsewhere.example/", "//elsewhere.example/", "metrics", "/a b", "@elsewhere.example/"] {
        assert_eq!(fake.run(&["api", "get", path]).code, 2, "{path}");
    }
    assert_eq!(fake.asked().len(), asked);
    assert!(fake.run(&["api", "get", "/api/v1", "-o", "yaml"]).stdout.contains("a: 2"));
}
