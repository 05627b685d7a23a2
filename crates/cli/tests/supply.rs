//! The commands of supply against a server that answers with canned JSON: what they send, and what people see.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Answer, Asked, Fake, id, json, operation};
use serde_json::{Value, json as value};

const AT: &str = "2026-01-31T12:00:00.000Z";

fn node() -> Value {
    value!({
        "id": id("nod"), "pool_id": id("pol"), "name": "h200-01", "gpu_model": "h200-sxm", "occupancy": "free",
        "execution": "online", "desired": "in_service", "posture": "fully_available",
        "projected": "All 8 slots are free.", "profiles": ["gpuaas-profile-slice-vm"], "promotion_needs": [],
        "agent_boot": 1, "incidents": 0, "progress": { "since": AT }, "version": 7, "created_at": AT
    })
}

fn slot() -> Value {
    value!({
        "id": id("slt"), "node_id": id("nod"), "profile": "h200-sxm-slice", "execution": "available",
        "projected": "The slot is proved clean and free.", "gpu_pci_address": "0000:0f:00.0",
        "fabric_claim_mode": "per_slot_vf", "use_generation": 0, "health_state": "clean", "health_detail": "",
        "drift": [{
            "field": "nvme_identity", "kind": "disk_mounted", "said_by": "discovery", "approved": "not used by the host", "seen": "mounted at /data",
            "detail": "The host uses the disk.", "first_seen_at": AT, "last_seen_at": AT
        }],
        "progress": { "since": AT }, "version": 3, "created_at": AT
    })
}

/// An order to look that was answered at once.
fn started() -> Value {
    let mut value = operation("succeeded");
    value["kind"] = "node_discover".into();
    value["noun"] = "task".into();
    value["subject_id"] = id("tsk").into();
    value
}

/// Answers every request about a node or slot with one.
fn supply(asked: &Asked) -> Answer {
    let target = asked.target.split('?').next().unwrap_or_default();
    if target == "/api/v1/admin/nodes" {
        return json(200, value!({ "items": [node()] }));
    }
    match (asked.method.as_str(), target.rsplit('/').next().unwrap_or_default()) {
        ("GET", "resource-slots") => json(200, value!({ "items": [slot()] })),
        ("POST", "resource-slots") => json(201, slot()),
        ("POST", "approve-complete") => json(200, value!({ "approved": [slot()], "left": [] })),
        ("DELETE", _) => Answer { status: 204, content_type: "", body: String::new() },
        ("POST", "discovery") => json(202, started()),
        _ if target.contains("resource-slots") => json(200, slot()),
        _ => json(200, node()),
    }
}

fn last(fake: &Fake) -> Asked {
    fake.asked().pop().unwrap()
}

#[test]
fn what_operators_want_of_a_node_is_sent_with_its_reason_and_version() {
    let fake = Fake::new(supply);
    let path = |rest: &str| format!("/api/v1/admin/nodes/{}{rest}", id("nod"));
    for (words, target, body) in [
        (vec!["node", "drain", "h200-01", "--reason", "fan"], path("/drain"), r#"{"reason":"fan"}"#),
        (vec!["node", "undrain", "h200-01"], path("/undrain"), ""),
        (vec!["node", "disable", "h200-01", "--reason", "gone", "--yes"], path("/disable"), r#"{"reason":"gone"}"#),
        (vec!["node", "promote", "h200-01"], path("/promote"), ""),
        (vec!["node", "demote", "h200-01", "--reason", "fan"], path("/demote"), r#"{"reason":"fan"}"#),
        (vec!["node", "repair", "h200-01"], path("/repair"), ""),
        (
            vec!["node", "revoke-identity", "h200-01", "--reason", "stolen", "--yes"],
            path("/revoke-identity"),
            r#"{"reason":"stolen"}"#,
        ),
    ] {
        let ran = fake.run(&words);
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
        let asked = last(&fake);
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str(), asked.body.as_str()),
            ("POST", target.as_str(), body),
            "{words:?}"
        );
        assert!(asked.header("Idempotency-Key").is_some());
    }
    let pinned = fake.run(&["node", "drain", "h200-01", "--reason", "fan", "--if-version", "6"]);
    assert_eq!((pinned.code, last(&fake).header("If-Match")), (0, Some("\"6\"")));
    let tagged = fake.run(&["node", "update", "h200-01", "--tag", "gpuaas-profile-slice-vm"]);
    assert_eq!(tagged.code, 0, "{}", tagged.stderr);
    let asked = last(&fake);
    assert_eq!((asked.method.as_str(), asked.header("If-Match")), ("PATCH", Some("\"7\"")));
    assert_eq!(asked.body, r#"{"profiles":["gpuaas-profile-slice-vm"]}"#);
    assert_eq!(fake.run(&["node", "update", "h200-01", "--no-tags"]).code, 0);
    assert_eq!(last(&fake).body, r#"{"profiles":[]}"#);
    let shown = fake.run(&["node", "list"]).stdout;
    assert!(shown.contains("fully_available") && shown.contains("All 8 slots are free."), "{shown}");
}

#[test]
fn what_takes_something_away_asks_first() {
    let fake = Fake::new(supply);
    for words in [
        vec!["node", "disable", "h200-01", "--reason", "gone"],
        vec!["node", "revoke-identity", "h200-01", "--reason", "stolen"],
        vec!["slot", "disable", "slt_01jh2n6f4zw8q9r0s1t2v3x4y5", "--reason", "fan"],
        vec!["disk-grant", "create", "h200-01", "--disk", "eui.1", "--reason", "wiped"],
        vec!["enrollment-token", "revoke", "enr_01jh2n6f4zw8q9r0s1t2v3x4y5"],
    ] {
        let ran = fake.run(&words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    }
    assert!(fake.asked().iter().all(|asked| asked.method == "GET"));
}

#[test]
fn slots_are_approved_by_naming_their_devices_and_show_what_drifted() {
    let fake = Fake::new(supply);
    let words = ["slot", "approve", "h200-01", "--gpu", "0000:0f:00.0", "--disk", "eui.1", "--ip", "10.64.0.6"];
    let ran = fake.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sent: Value = serde_json::from_str(&last(&fake).body).unwrap();
    assert_eq!(
        sent,
        value!({
            "gpu_pci_address": "0000:0f:00.0", "nvme_identity": "eui.1", "private_ip": "10.64.0.6",
            "fabric_claim_mode": "per_slot_vf"
        }),
        "what is not given is not sent"
    );
    let listed = fake.run(&["slot", "list", "h200-01"]).stdout;
    assert!(listed.contains("disk_mounted") && listed.contains("mounted at /data"), "{listed}");
    let all = fake.run(&["slot", "approve-complete", "h200-01"]);
    assert!(all.stderr.contains("1 approved, 0 left"), "{}", all.stderr);
    let again = ["slot", "reapprove", &id("slt"), "--gpu", "0000:0f:00.0"];
    assert_eq!(fake.run(&again).code, 0);
    assert_eq!(last(&fake).header("If-Match"), Some("\"3\""), "the version it has now");
    let malformed = fake.run(&["slot", "approve", "h200-01", "--gpu", ""]);
    assert_eq!(malformed.code, 2, "{}", malformed.stderr);
}

#[test]
fn the_identity_of_a_disk_survives_the_way_into_a_path() {
    let fake = Fake::new(supply);
    let ran = fake.run(&["disk-grant", "delete", "h200-01", "--disk", "nvme.144d/53 1"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let asked = last(&fake);
    assert_eq!(asked.target, format!("/api/v1/admin/nodes/{}/disk-grants/nvme.144d%2F53%201", id("nod")));
}

#[test]
fn looking_is_waited_for() {
    let fake = Fake::new(supply);
    let ran = fake.run(&["node", "discover", "h200-01", "--wait", "-o", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("node_discover"), "{}", ran.stdout);
}

#[test]
fn availability_is_a_sentence_for_each_region_and_model() {
    let sentence = "16 H200 available in eu-1, largest set on one node 8";
    let fake = Fake::new(move |_| {
        json(
            200,
            value!({ "items": [{
                "region_id": id("rgn"), "region": "eu-1", "enabled": true, "gpu_model": "h200-sxm", "slice_gpus": 16,
                "largest_slice_gpus": 8, "whole_nodes": 2, "projected": sentence
            }] }),
        )
    });
    let shown = fake.run(&["availability"]).stdout;
    assert!(shown.contains(sentence), "{shown}");
    assert_eq!(last(&fake).target, "/api/v1/availability");
}

#[test]
fn a_pools_range_is_checked_before_anything_is_sent() {
    let fake = Fake::new(supply);
    for bad in ["10.64.0.1/12", "10.64.0.0", "ten"] {
        let ran = fake.run(&["pool", "update", "h200", "--private-range", bad]);
        assert_eq!(ran.code, 2, "{bad}: {}", ran.stderr);
    }
    assert!(fake.asked().is_empty());
}
