//! Proofs, overrides and ways in from the command line: what is sent, what people see, and a proof checked without a server.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;

use common::{Answer, Asked, Fake, Ran, gpuaas, id, json, offline, ran};
use serde_json::{Value, json as value};

const AT: &str = "2026-01-31T12:00:00.000Z";
/// Made once with a key of nothing but sevens: what a node signs must never change its meaning.
const DOCUMENT: &str = include_str!("data/proof.json");
const KEY: &str = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

fn verify(text: &str, more: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("proof.json");
    std::fs::write(&file, text).unwrap();
    verify_file(&file, more)
}

fn verify_file(file: &Path, more: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    let mut words = vec!["proof", "verify", file.to_str().unwrap()];
    words.extend(more);
    ran(gpuaas(home.path()).args(words).output().unwrap())
}

#[test]
fn a_proof_is_checked_without_a_server() {
    let good = verify(DOCUMENT, &["--trust-the-file"]);
    assert_eq!(good.code, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stderr.contains("holds"), "{}", good.stderr);
    let unvouched = verify(DOCUMENT, &["--quiet"]);
    assert_eq!(unvouched.code, 1, "a script that asks for the exit code alone is not fooled");
    assert!(unvouched.stderr.contains("--node-key"), "{}", unvouched.stderr);
    assert_eq!(verify(DOCUMENT, &["--trust-the-file", "--node-key", KEY]).code, 2);
    for check in ["signature", "node", "slot", "use", "disk", "nonce", "steps"] {
        assert!(good.stdout.contains(check), "{}", good.stdout);
    }
    let pinned = verify(DOCUMENT, &["--node-key", KEY, "-o", "json"]);
    assert_eq!(pinned.code, 0, "{}", pinned.stderr);
    let shown: Value = serde_json::from_str(&pinned.stdout).unwrap();
    assert_eq!((&shown["holds"], shown["checks"].as_array().unwrap().len()), (&value!(true), 7));
    assert!(!pinned.stderr.contains("--node-key"), "{}", pinned.stderr);
    let foreign = verify(DOCUMENT, &["--node-key", &"0".repeat(64)]);
    assert_eq!(foreign.code, 1);
    assert!(foreign.stdout.contains("false") && foreign.stderr.contains("does not hold"), "{}", foreign.stdout);
}

#[test]
fn a_forged_proof_ends_with_one_and_names_the_check() {
    for (from, to, check) in [
        ("eui.0.1", "eui.0.2", "signature"),
        (r#""use_generation":1"#, r#""use_generation":2"#, "signature"),
        (r#""ok":true"#, r#""ok":false"#, "steps"),
        (r#""evidence":"function level reset""#, r#""evidence":"""#, "steps"),
        ("nvme_format", "hope", "steps"),
        (r#"bytes_read\":16777216"#, r#"bytes_read\":0"#, "steps"),
        ("challenge-1", "challenge-2", "signature"),
    ] {
        let forged = DOCUMENT.replace(from, to);
        assert_ne!(forged, DOCUMENT, "{from}");
        let told = verify(&forged, &["--node-key", KEY, "-o", "json"]);
        assert_eq!(told.code, 1, "{from}");
        let shown: Value = serde_json::from_str(&told.stdout).unwrap();
        let failed = |outcome: &&Value| outcome["ok"] == false && outcome["check"] == check;
        assert!(shown["checks"].as_array().unwrap().iter().any(|outcome| failed(&outcome)), "{from}: {shown:#}");
    }
}

#[test]
fn a_hostile_file_is_refused_and_never_reaches_the_terminal() {
    let escaped = DOCUMENT.replace("challenge-1", "\\u001b[2J\\u202eboo");
    let shown = verify(&escaped, &[]);
    assert_eq!(shown.code, 1);
    assert!(!shown.stdout.contains('\u{1b}') && !shown.stdout.contains('\u{202e}'), "{:?}", shown.stdout);
    for (text, word) in [
        (DOCUMENT.replacen('{', r#"{"\u001b[2J":1,"#, 1), "unknown field"),
        (DOCUMENT.replace("wipe-proof/1", "wipe-proof/9"), "format"),
        ("{".repeat(5000), "not the document"),
        (" ".repeat(300_000), "longer"),
        (String::new(), "not the document"),
    ] {
        let told = verify(&text, &[]);
        assert_eq!((told.code, told.stdout.as_str()), (1, ""), "{word}");
        assert!(told.stderr.contains(word) && !told.stderr.contains("\u{1b}[2J"), "{word}: {:?}", told.stderr);
    }
    assert_eq!(offline(&["proof", "verify", "/nonexistent/proof.json"]).code, 1);
    assert_eq!(verify_file(Path::new("/dev/zero"), &[]).code, 1, "it stops reading");
}

fn proof_view() -> Value {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    value!({
        "id": id("prf"), "slot_id": id("slt"), "node_id": id("nod"), "use_generation": 1, "holds": true,
        "checks": [{"check": "signature", "ok": true, "detail": "signed with the node's key"}],
        "proof": document["proof"], "expected": document["expected"], "node_public_key": KEY,
        "node_key_fingerprint": "ab", "received_at": AT
    })
}

fn wipe_override() -> Value {
    value!({
        "id": id("ovr"), "slot_id": id("slt"), "use_generation": 1, "execution": "requested",
        "reason": "The disk was shredded.", "requested_by": "ada@platform.example", "requested_at": AT,
        "expires_at": AT, "projected": "ada asked.", "version": 1
    })
}

fn ingress() -> Value {
    value!({
        "id": id("ing"), "tenant_id": id("tnt"), "project_id": id("prj"), "allocation_id": id("alc"),
        "region_id": id("rgn"), "protocol": "tcp", "address": "203.0.113.9", "public_port": 2000, "guest_port": 443,
        "execution": "accepted", "projected": "Set aside.", "version": 1, "created_at": AT
    })
}

fn settings() -> Value {
    value!({"region_id": id("rgn"), "firewall_owner": "Net", "address_owner": "Net", "ranges": [], "projected": "Set.", "version": 2})
}

fn answers(asked: &Asked) -> Answer {
    let target = asked.target.split('?').next().unwrap_or_default();
    match (asked.method.as_str(), target.rsplit('/').next().unwrap_or_default()) {
        ("DELETE", _) => Answer { status: 204, content_type: "", body: String::new() },
        (_, "proof") => json(200, proof_view()),
        ("GET", "wipe-overrides") => json(200, value!({ "items": [wipe_override()] })),
        ("POST", "override") => json(201, wipe_override()),
        (_, "ingress-settings") => json(200, settings()),
        ("GET", "ingresses") => json(200, value!({ "items": [ingress()] })),
        ("POST", "ingresses") => json(201, ingress()),
        _ if target.contains("wipe-overrides") => json(200, wipe_override()),
        _ => json(200, ingress()),
    }
}

#[test]
fn a_proof_is_shown_step_by_step_and_saved_as_a_document_that_holds() {
    let fake = Fake::new(answers);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("saved.json");
    let slot = id("slt");
    let saved = fake.run(&["proof", "show", &slot, "--use", "1", "--save", file.to_str().unwrap()]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    for word in ["holds", "disk_erased", "gpu_reset", "nvme_format(ses 1)", KEY, "SHA-256"] {
        assert!(saved.stdout.contains(word), "{word}: {}", saved.stdout);
    }
    let asked = fake.asked().pop().unwrap();
    assert!(asked.target.ends_with(&format!("resource-slots/{slot}/proof?use_generation=1")), "{}", asked.target);
    let checked = verify_file(&file, &["--node-key", KEY]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let again = fake.run(&["proof", "show", &slot, "--save", file.to_str().unwrap()]);
    assert_eq!(again.code, 1, "a file that is there stays");
    let whole: Value = serde_json::from_str(&fake.run(&["proof", "show", &slot, "-o", "json"]).stdout).unwrap();
    assert_eq!(whole["holds"], true);
}

#[test]
fn an_override_is_asked_for_with_a_reason_and_decided_with_consent() {
    let fake = Fake::new(answers);
    let (slot, of) = (id("slt"), id("ovr"));
    let reason = "The disk was taken out and shredded.";
    let asked = fake.run(&["slot", "override", &slot, "--reason", reason, "--evidence", "protocol 4711", "--yes"]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    assert!(asked.stderr.contains("another operator decides"), "{}", asked.stderr);
    let sent = fake.asked().pop().unwrap();
    assert_eq!(sent.target, format!("/api/v1/admin/resource-slots/{slot}/override"));
    assert_eq!(
        serde_json::from_str::<Value>(&sent.body).unwrap(),
        value!({"reason": reason, "evidence_ref": "protocol 4711"})
    );
    assert_eq!(fake.run(&["slot", "override", &slot, "--reason", "broken", "--yes"]).code, 2, "a word is no reason");
    for words in [vec!["slot", "override", &slot, "--reason", reason], vec!["override", "approve", &of]] {
        let before = fake.asked().len();
        assert_ne!(fake.run(&words).code, 0, "nobody is at the terminal");
        assert_eq!(fake.asked().len(), before);
    }
    for (words, rest) in [
        (vec!["override", "approve", of.as_str(), "--yes"], "/approve"),
        (vec!["override", "reject", of.as_str()], "/reject"),
    ] {
        assert_eq!(fake.run(&words).code, 0);
        let sent = fake.asked().pop().unwrap();
        assert_eq!((sent.method.as_str(), sent.target), ("POST", format!("/api/v1/admin/wipe-overrides/{of}{rest}")));
    }
    assert!(fake.run(&["override", "list"]).stdout.contains("ada@platform.example"));
}

#[test]
fn ways_in_and_their_owners_are_set_and_asked_for() {
    let fake = Fake::new(answers);
    let (region, project, allocation) = (id("rgn"), id("prj"), id("alc"));
    let set = fake.run(&[
        "region",
        "ingress",
        "set",
        &region,
        "--firewall-owner",
        "Net",
        "--address-owner",
        "Net",
        "--range",
        "203.0.113.8/29:2000-2999",
    ]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    let sent = fake.asked().pop().unwrap();
    assert_eq!((sent.method.as_str(), sent.target), ("PUT", format!("/api/v1/regions/{region}/ingress-settings")));
    assert!(sent.body.contains(r#""addresses":"203.0.113.8/29","port_min":2000,"port_max":2999"#), "{}", sent.body);
    assert_eq!(fake.run(&["region", "ingress", "show", &region]).code, 0);
    assert_ne!(fake.run(&["region", "ingress", "clear", &region]).code, 0, "nobody is at the terminal");
    assert_eq!(fake.run(&["region", "ingress", "clear", &region, "--yes"]).code, 0);
    let words = ["ingress", "create", "--project", &project, "--allocation", &allocation, "--guest-port", "443"];
    let made = fake.run(&words);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert!(made.stdout.contains("203.0.113.9"), "{}", made.stdout);
    assert!(fake.run(&["ingress", "list", "--project", &project]).stdout.contains("accepted"));
    assert_eq!(fake.run(&["ingress", "delete", &id("ing"), "--yes"]).code, 0);
}
