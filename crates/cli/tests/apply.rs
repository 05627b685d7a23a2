//! `gpuaas apply` against the real control plane, both as processes; and against canned answers where the server must fail.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{
    Asked, Fake,
    desk::Desk,
    gpuaas, json, offline,
    plane::{operator_token, serve},
    problem, ran, region,
};
use serde_json::{Value, json as value};
use std::{io::Write, process::Stdio};

const PLATFORM: &str = "
regions:
  - { slug: eu-1, name: Europe 1 }
  - { slug: us-1, name: United States 1, enabled: false }
pools:
  - { slug: slices, name: Slices, region: eu-1, gpu_model: h200-sxm, slices_enabled: true }
skus:
  - slug: slice
    name: H200 slice
    shape: gpu_slice
    gpu_model: h200-sxm
    gpu_counts: [4, 2, 1]
    vcpus_per_gpu: 16
    memory_mib_per_gpu: 196608
    price_micros_per_gpu_hour: 3500000
    enabled: false
---
tenants:
  - slug: aurora
    name: Aurora Research
    projects:
      - { slug: vision, name: Vision, gpu_cap: 16 }
      - { slug: speech, name: Speech, gpu_cap: 8 }
";

fn outcomes(report: &Value) -> Vec<String> {
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    let line = |item: &Value| format!("{} {} {}", text(item, "outcome"), text(item, "kind"), text(item, "name"));
    report["items"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn a_platform_is_described_shown_applied_and_then_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let shown = desk.apply(PLATFORM, &["--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("+ region eu-1: name \"Europe 1\"\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("+ project aurora/vision: name \"Vision\", gpu_cap 16\n"), "{}", shown.stdout);
    assert_eq!(desk.count("region"), 0, "a dry run changes nothing");
    let refused = desk.apply(PLATFORM, &[]);
    assert!(refused.code == 2 && refused.stderr.contains("give --yes"), "{} {}", refused.code, refused.stderr);
    assert_eq!(desk.count("region"), 0, "nobody agreed");

    let (code, report) = desk.applied(PLATFORM);
    assert_eq!(code, 0, "{report:#}");
    let created = ["region eu-1", "region us-1", "pool slices", "sku slice", "tenant aurora", "project aurora/vision"];
    assert_eq!(outcomes(&report)[..6], created.map(|name| format!("created {name}")));
    assert_eq!(report["counts"]["created"], 7);
    assert_eq!(desk.json(&["region", "show", "us-1"])["enabled"], false);
    assert_eq!(desk.json(&["sku", "show", "slice"])["enabled"], false, "this takes a second request");
    assert_eq!(desk.json(&["sku", "show", "slice"])["gpu_counts"], value!([1, 2, 4]));
    assert_eq!(desk.json(&["project", "show", "aurora/speech"])["gpu_cap"], 8);

    let (code, report) = desk.applied(PLATFORM);
    assert!(code == 0 && report["counts"]["unchanged"] == 7, "{report:#}");
    let again = desk.apply(PLATFORM, &["--explain"]);
    assert_eq!(again.code, 0, "nothing to ask about: {}", again.stderr);
    let methods = ["> GET ", "> POST ", "> PATCH ", "> DELETE "].map(|method| again.stderr.matches(method).count());
    assert!(methods[0] > 0 && methods[1..] == [0, 0, 0], "nothing is touched: {}", again.stderr);
    assert_eq!(again.stdout.lines().filter(|line| line.starts_with("unchanged ")).count(), 7, "{}", again.stdout);
}

#[test]
fn an_image_is_described_by_its_signed_entry() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (key, raw) = (at("images.key"), at("debian.raw"));
    std::fs::write(&raw, vec![7; 4096]).unwrap();
    let made = desk.json(&["image", "keygen", &key, "--key-id", "ours"]);
    let signed = desk.run(&["image", "sign", &raw, "--id", "debian-12", "--kind", "base", "--key", &key]);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    let entry: Value = serde_json::from_str(&signed.stdout).unwrap();
    let file = value!({ "images": [entry] }).to_string();
    let (code, report) = desk.applied(&file);
    assert!(code != 0 && report["items"][0]["error"]["code"] == "image_refused", "nobody trusts the key: {report:#}");
    desk.json(&["image", "key", "add", "ours", made["public_key"].as_str().unwrap()]);
    let (code, report) = desk.applied(&file);
    assert_eq!((code, outcomes(&report)), (0, vec!["created image debian-12".to_owned()]), "{report:#}");
    let shown = desk.json(&["image", "show", "debian-12"]);
    assert_eq!((&shown["state"], &shown["entry"]), (&value!("registered"), &entry));
    let (code, report) = desk.applied(&file);
    assert_eq!((code, outcomes(&report)), (0, vec!["unchanged image debian-12".to_owned()]), "{report:#}");
    // Another entry under the same name is refused before anything is touched.
    std::fs::write(&raw, vec![8; 4096]).unwrap();
    let other = desk.run(&["image", "sign", &raw, "--id", "debian-12", "--kind", "base", "--key", &key]);
    let other: Value = serde_json::from_str(&other.stdout).unwrap();
    let refused = desk.apply(&value!({ "images": [other] }).to_string(), &["--yes"]);
    assert!(refused.code != 0 && refused.stderr.contains("images[0].sha256"), "{} {}", refused.code, refused.stderr);
    let misspelt = desk.apply("images: [{ id: debian-13, sha: x }]", &["--yes"]);
    assert!(misspelt.code == 2 && misspelt.stderr.contains("images[0]"), "{} {}", misspelt.code, misspelt.stderr);
}

#[test]
fn changes_are_shown_field_by_field_and_made_for_the_version_that_was_seen() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    assert_eq!(desk.applied(PLATFORM).0, 0);
    let edited = PLATFORM.replace("gpu_cap: 16", "gpu_cap: 32").replace("name: Slices", "name: All slices");
    let edited = edited.replace("    enabled: false\n", "");
    let shown = desk.apply(&edited, &["--dry-run"]).stdout;
    assert!(shown.contains("~ project aurora/vision: gpu_cap 16 → 32\n"), "{shown}");
    assert!(shown.contains("~ pool slices: name \"Slices\" → \"All slices\"\n"), "{shown}");
    assert!(shown.contains("= sku slice\n"), "what the file leaves out is left as it is: {shown}");
    let ran = desk.apply(&edited, &["--yes", "-o", "yaml", "--explain"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("dry_run: false") && ran.stdout.contains("outcome: changed"), "{}", ran.stdout);
    let changes = ran.stderr.matches("> PATCH ").count();
    assert_eq!((changes, ran.stderr.matches("> If-Match: ").count()), (2, 2), "{}", ran.stderr);
    assert_eq!(desk.json(&["project", "show", "aurora/vision"])["gpu_cap"], 32);
    assert_eq!(desk.json(&["sku", "show", "slice"])["enabled"], false);
}

#[test]
fn what_cannot_be_is_refused_with_its_place_before_anything_is_touched() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    assert_eq!(desk.applied(PLATFORM).0, 0);
    let refused = |text: &str, code: i32, words: &[&str]| {
        let ran = desk.apply(text, &["--yes"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{words:?}: {}", ran.stderr);
    };
    let model = PLATFORM.replace("region: eu-1, gpu_model: h200-sxm", "region: us-1, gpu_model: a100-sxm");
    let model = model.replace("name: Europe 1", "name: Elsewhere");
    let settled = ["document 1: pools[0].region \"eu-1\" → \"us-1\"", "pools[0].gpu_model \"h200-sxm\" → \"a100-sxm\""];
    refused(&model, 5, &settled);
    assert_eq!(desk.json(&["region", "show", "eu-1"])["name"], "Europe 1", "nothing was changed");
    let unknown = "pools: [{ slug: b, name: B, region: nowhere, gpu_model: h200-sxm }]";
    refused(unknown, 3, &["pools[0].region: there is no region nowhere"]);
    refused("regions: [{ slug: eu-1, nam: x }]", 2, &["platform.yaml: regions[0].nam: unknown field", "line 1"]);
    refused(&format!("# {}", "x".repeat(1024 * 1024)), 2, &["larger than 1048576 bytes"]);
    let missing = desk.run(&["apply", "-f", "/nowhere/at/all.yaml", "--yes"]);
    assert!(missing.code == 1 && missing.stderr.contains("/nowhere/at/all.yaml"), "{}", missing.stderr);
    assert_eq!(offline(&["apply", "--yes"]).code, 2, "a file is needed");
}

#[test]
fn a_partial_failure_tells_what_was_done_and_what_was_not() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    assert_eq!(desk.applied(PLATFORM).0, 0);
    assert_eq!(desk.run(&["tenant", "suspend", "aurora", "--yes"]).code, 0);
    let more = "
regions: [{ slug: ap-1, name: Asia 1 }]
tenants:
  - { slug: aurora, name: Aurora Research, projects: [{ slug: late, name: Late, gpu_cap: 1 }] }
  - { slug: borea, name: Borea, projects: [{ slug: first, name: First, gpu_cap: 1 }] }
";
    let ran = desk.apply(more, &["--yes"]);
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    assert!(ran.stdout.contains("created   region ap-1 rgn_") && ran.stdout.contains("failed    project aurora/late"));
    assert!(ran.stderr.contains("project aurora/late: error: state_conflict: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("3 created, 0 changed, 1 unchanged, 1 failed, 0 not tried"), "{}", ran.stderr);
    assert_eq!(desk.json(&["project", "show", "borea/first"])["gpu_cap"], 1, "what does not need it went on");
    let (code, report) = desk.applied(more);
    assert_eq!(code, 5, "nothing more could be done, for one reason: {report:#}");
    let late = report["items"].as_array().unwrap().iter().find(|item| item["name"] == "aurora/late").unwrap();
    assert_eq!((&late["outcome"], &late["error"]["code"]), (&value!("failed"), &value!("state_conflict")));
    assert!(late["error"]["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{late:#}");
    assert_eq!(desk.run(&["tenant", "resume", "aurora"]).code, 0);
    let (code, report) = desk.applied(more);
    assert!(code == 0 && report["counts"]["created"] == 1, "{report:#}");
}

#[test]
fn what_was_deleted_is_created_again() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let text = "{\"regions\": [{\"slug\": \"eu-1\", \"name\": \"Europe\"}], \"tenants\": [{\"slug\": \"t\", \"name\": \"T\"}]}";
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (code, report) = desk.applied(text);
        assert!(code == 0 && report["counts"]["created"] == 2, "{report:#}");
        let id = desk.json(&["region", "show", "eu-1"])["id"].as_str().unwrap().to_owned();
        assert_eq!(report["items"][0]["id"], id.as_str());
        ids.push(id);
        assert_eq!(desk.run(&["region", "delete", "eu-1", "--yes"]).code, 0);
        assert_eq!(desk.run(&["tenant", "delete", "t", "--yes"]).code, 0);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3, "three different regions, though the requests are the same");
}

#[test]
fn a_tenant_on_its_way_out_is_waited_for() {
    let fake = Fake::new(|_| {
        let mut going = common::tenant(1, "t", "deleting");
        going["desired"] = "deleted".into();
        json(200, value!({ "items": [common::tenant(2, "t", "deleted"), going] }))
    });
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("f.yaml");
    std::fs::write(&file, "tenants: [{ slug: t, name: T }]").unwrap();
    let ran = fake.run(&["apply", "-f", file.to_str().unwrap(), "--yes"]);
    assert!(ran.code == 5 && ran.stderr.contains("tenants[0]: tenant t is being deleted"), "{}", ran.stderr);
    assert!(fake.asked().iter().all(|asked| asked.method == "GET"), "nothing is touched");
}

#[test]
fn a_tenant_administrator_applies_their_own_part_and_no_more() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    assert_eq!(desk.applied(PLATFORM).0, 0);
    let ada = "member create --tenant aurora --email ada@aurora.example --role tenant_admin";
    let ada = desk.json(&ada.split(' ').collect::<Vec<_>>());
    let owner = ada["principal_id"].as_str().unwrap();
    let made =
        desk.json(&["token", "create", "ada", "--scope", "write", "--principal", owner, "--restrict-tenant", "aurora"]);
    let theirs = Desk { token: made["secret"].as_str().unwrap(), ..desk };
    let own = "tenants: [{ slug: aurora, name: Aurora Labs, projects: [{ slug: new, name: New, gpu_cap: 1 }] }]";
    let (code, report) = theirs.applied(own);
    assert_eq!(
        (code, outcomes(&report)),
        (0, vec!["changed tenant aurora".into(), "created project aurora/new".into()])
    );
    let (code, report) = theirs.applied(&format!("regions: [{{ slug: x, name: X }}]\n{}", own.replace("new", "newer")));
    assert_eq!(code, 4, "{report:#}");
    assert_eq!(outcomes(&report), ["failed region x", "unchanged tenant aurora", "not_tried project aurora/newer"]);
}

#[test]
fn standard_input_is_a_file_too() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let mut command = gpuaas(home.path());
    command.env("GPUAAS_URL", &plane.url).env("GPUAAS_TOKEN", &token).args(["apply", "-f", "-", "--yes", "-q"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"regions\":[{\"slug\":\"eu-1\",\"name\":\"Europe\"}]}").unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    assert!(ran.code == 0 && ran.stdout.starts_with("created   region eu-1 rgn_"), "{} {}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr, "", "quiet");
}

/// No region exists, and every create is refused.
fn refusing(asked: &Asked) -> common::Answer {
    match asked.method.as_str() {
        "GET" => json(200, value!({ "items": [] })),
        _ => problem(api::Code::NameTaken),
    }
}

#[test]
fn keys_come_from_the_content_and_what_needs_a_failed_thing_is_not_tried() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("f.yaml");
    let run = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let fake = Fake::new(refusing);
        let ran = fake.run(&["apply", "-f", file.to_str().unwrap(), "--yes", "-o", "json"]);
        let posts: Vec<Asked> = fake.asked().into_iter().filter(|asked| asked.method == "POST").collect();
        (ran, posts.iter().map(|asked| asked.header("idempotency-key").unwrap().to_owned()).collect::<Vec<_>>())
    };
    let text = "regions: [{ slug: a, name: A }]\npools: [{ slug: p, name: P, region: a, gpu_model: h200-sxm }]";
    let (ran, keys) = run(text);
    // A refusal may be one that the server remembers from before, so it is asked for once more under a fresh key.
    assert_eq!((ran.code, keys.len()), (5, 2), "the pool was not asked for: {}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outcomes(&report), ["failed region a", "not_tried pool p"]);
    assert_eq!(report["items"][1]["error"]["detail"], "it needs region a, which could not be created");
    let again = run(text).1;
    assert_eq!(again[0], keys[0], "the same wish, the same key");
    assert!(again[1] != keys[1] && again[1] != keys[0], "the second key is new every time");
    assert_ne!(run(&text.replace("name: A", "name: B")).1[0], keys[0], "another wish, another key");
}

#[test]
fn a_version_that_moved_is_looked_at_again_but_never_overruled() {
    let moved = |now: &'static str| {
        let fake = Fake::new(move |asked| match (asked.method.as_str(), asked.target.contains("page_size")) {
            ("GET", true) => json(200, value!({ "items": [region(1, "eu-1", "Old")] })),
            ("GET", false) => {
                let mut view = region(1, "eu-1", now);
                view["version"] = 4.into();
                json(200, view)
            }
            _ if asked.header("if-match") == Some("\"4\"") => json(200, region(1, "eu-1", "New")),
            _ => problem(api::Code::StaleVersion),
        });
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("f.yaml");
        std::fs::write(&file, "regions: [{ slug: eu-1, name: New }]").unwrap();
        let ran = fake.run(&["apply", "-f", file.to_str().unwrap(), "--yes"]);
        (ran.code, ran.stderr)
    };
    assert_eq!(moved("Old").0, 0, "the platform moved it: {}", moved("Old").1);
    let (code, why) = moved("Theirs");
    assert!(code == 5 && why.contains("was changed by somebody else meanwhile"), "{code} {why}");
}
