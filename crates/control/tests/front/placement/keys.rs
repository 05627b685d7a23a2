//! Public keys: what is taken, what is not, and that a launch carries copies of its project's own.

use api::Code;
use serde_json::json;

use super::live::{KEY, Live};
use crate::{
    fleet::{Fleet, code},
    world::{World, body},
};

const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPn2LUs3A0IIHudBkW6GudyTiGJTi3B84OJX9ceD6AEFq4OoBZpBBtw/rCOlq6cKaGf4dXae4OvPpCRukkVoEvo= a";
const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCGBuNJ6DOYuOdFLluMP4cj2FvhQZsrnoOfhFbgOJ+y2GsFpW9nMQvRuY1DSkV50IptdNzQi0DnzoxhireRSweifVtlj4fprx93d5sNC96/ypJ9/NE5qw4n7Mrk3QMTo8b3ycdtR4SX15S+a93FFivfAIUs/YJBnhLZvbIwYGjOnTcLrjgD5jaXk49r8QB6F+sa8vNcLi8Dbh/r4Fr6KQToEszXhQ7kP0LTFFDovXRJAigQtxUSJ7GZyPxB2h2PzR/rP3C9z/eO5u5jxpg1yF16yGq5v2w++zIWE/M5cpHi8s9ZgPaYcYjO6J51gs5HKmNQhH+Vea9yRUJDUJ0/pTGD r";
const SK: &str = "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIN1CZlhofS60IfKCOYSNdKAhVWqk92zZqBBrMYEtjN3wAAAABHNzaDo= b";

fn path(world: &World) -> String {
    format!("/api/v1/projects/{}/ssh-keys", world.acme.project)
}

#[test]
fn keys_are_added_shown_and_removed() {
    let world = World::new();
    let made = world.post(&world.worker, &path(&world), json!({"name": "laptop", "public_key": KEY}));
    assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
    let key = body(&made);
    assert!(key["fingerprint"].as_str().unwrap().starts_with("SHA256:"), "{key}");
    for (name, line) in [("yubi", SK), ("old", ECDSA), ("older", RSA)] {
        let made = world.post(&world.worker, &path(&world), json!({"name": name, "public_key": line}));
        assert_eq!(made.status, 201, "{name}: {}", String::from_utf8_lossy(&made.body));
    }
    let listed = body(&world.get(&world.viewer, &path(&world)));
    assert_eq!(listed["items"].as_array().unwrap().len(), 5);
    let one = format!("/api/v1/ssh-keys/{}", key["id"].as_str().unwrap());
    assert_eq!(body(&world.get(&world.viewer, &one)), key);
    assert_eq!(code(&world.delete(&world.viewer, &one, None)), Code::Forbidden);
    assert_eq!(code(&world.get(&world.umbrella.admin, &one)), Code::NotFound);
    assert_eq!(world.delete(&world.worker, &one, None).status, 204);
    assert_eq!(code(&world.get(&world.worker, &one)), Code::NotFound);
}

#[test]
fn what_is_no_key_or_a_weak_one_is_refused_with_what_would_do() {
    let world = World::new();
    // 1024 bits.
    let weak = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDmoj8auLbY/kQuPUNyBOUtsiIaWACKBabEZHFZwyTJhZuBDnZuydKGY8qCjdX0s7LksGzmB0HHqHzkLIIYBy6MNb+ZLcnpxhZhLnaWps7MG3jlEGFzEdijws5vRH7U1XseL+uJQUw0PBAnxNHDhrvEzWE+MNjxat+Rt1hKImWx9Q== c";
    for bad in ["hello", "ssh-ed25519 AAAA", "no-pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", weak] {
        let refused = world.post(&world.worker, &path(&world), json!({"name": "k", "public_key": bad}));
        assert_eq!(code(&refused), Code::SshKeyRefused, "{bad}");
        let problem = refused.as_problem().unwrap();
        assert_eq!(problem.errors[0].pointer, "/public_key");
        assert!(problem.errors[0].detail.contains("2048"), "{}", problem.errors[0].detail);
    }
    for form in ["", " x", "a\nb", "a\u{0}", "é"] {
        let refused = world.post(&world.worker, &path(&world), json!({"name": "k", "public_key": form}));
        assert_eq!(code(&refused), Code::InvalidBody, "{form:?}");
    }
    assert_eq!(world.count("SELECT COUNT(*) FROM ssh_keys"), 2, "one of each project, as before");
}

#[test]
fn a_name_and_a_key_are_there_once() {
    let world = World::new();
    let add =
        |name: &str, line: &str| world.post(&world.worker, &path(&world), json!({"name": name, "public_key": line}));
    assert_eq!(add("laptop", KEY).status, 201);
    let twice = add("laptop", ECDSA);
    assert_eq!((code(&twice), twice.as_problem().unwrap().errors[0].pointer.as_str()), (Code::NameTaken, "/name"));
    let same = add("desktop", KEY);
    assert_eq!((code(&same), same.as_problem().unwrap().errors[0].pointer.as_str()), (Code::NameTaken, "/public_key"));
    // Another project may have the same.
    let other = format!("/api/v1/projects/{}/ssh-keys", world.umbrella.project);
    let there = world.post(&world.umbrella.admin, &other, json!({"name": "laptop", "public_key": KEY}));
    assert_eq!(there.status, 201);
}

#[test]
fn a_launch_carries_copies_of_its_own_projects_keys_only() {
    let fleet = Fleet::new();
    let world = &fleet.world;
    let key = body(&world.post(&world.worker, &path(world), json!({"name": "laptop", "public_key": KEY})));
    let other = format!("/api/v1/projects/{}/ssh-keys", world.umbrella.project);
    let foreign = body(&world.post(&world.umbrella.admin, &other, json!({"name": "laptop", "public_key": KEY})));
    let wish = |keys: serde_json::Value| json!({"name": "job", "sku_id": world.sku, "gpu_count": 1, "region_id": world.region, "ssh_key_ids": keys});
    let launches = Live::allocations(&world.acme.project);
    let before = world.count("SELECT COUNT(*) FROM allocations");
    let refused = world.post(&world.worker, &launches, wish(json!([key["id"], foreign["id"]])));
    let told = refused.as_problem().unwrap();
    assert_eq!((told.code, told.errors[0].pointer.as_str()), (Code::UnknownReference, "/ssh_key_ids/1"));
    let twice = world.post(&world.worker, &launches, wish(json!([key["id"], key["id"]])));
    assert_eq!(
        (code(&twice), twice.as_problem().unwrap().errors[0].pointer.as_str()),
        (Code::InvalidBody, "/ssh_key_ids")
    );
    let many: Vec<String> = (0..17).map(|_| key["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(code(&world.post(&world.worker, &launches, wish(json!(many)))), Code::InvalidBody);
    assert_eq!(world.count("SELECT COUNT(*) FROM allocations"), before, "nothing was launched");
    let launched = world.post(&world.worker, &launches, wish(json!([key["id"]])));
    assert_eq!(launched.status, 202);
    let one = format!("/api/v1/ssh-keys/{}", key["id"].as_str().unwrap());
    assert_eq!(world.delete(&world.worker, &one, None).status, 204);
    let subject = body(&launched)["subject_id"].as_str().unwrap().to_owned();
    let shown = body(&world.get(&world.viewer, &format!("/api/v1/allocations/{subject}")));
    assert_eq!(shown["ssh_keys"][0]["fingerprint"], key["fingerprint"], "a key that is gone stays where it was put");
}
