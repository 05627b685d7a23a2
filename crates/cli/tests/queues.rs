//! Queues as people meet them: a whole platform as a process, two tenants in one cohort, one that borrows and one that asks for
//! its own back. Everything is done and seen through the command.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Ran, plane::Plane};
use serde_json::{Value, json as value};
use std::{
    path::Path,
    time::{Duration, Instant},
};

const GOVERNED: &str = "
flavors:
  - { slug: h200, gpu_model: h200-sxm, pool: h200-slices }
  - { slug: a100, pool: a100-slices, speed_milli: 400, taints: [{ key: older, effect: no_schedule }] }
cohorts:
  - { slug: science }
cluster_queues:
  - slug: aurora
    cohort: science
    notice_s: 1
    grace_s: 1
    preemption: { reclaim_within_cohort: any }
    resource_groups: [{ flavors: [{ flavor: h200, quotas: [{ nominal: 4 }] }] }]
  - slug: borealis
    cohort: science
    notice_s: 1
    grace_s: 1
    preemption: { reclaim_within_cohort: any }
    resource_groups: [{ flavors: [{ flavor: h200, quotas: [{ nominal: 4 }] }] }]
  - slug: leftover
    resource_groups: [{ flavors: [{ flavor: h200, quotas: [{ nominal: 0 }] }, { flavor: a100, quotas: [{ nominal: 2 }] }] }]
hardware_profiles:
  - slug: any-gpu
    name: Any GPU
    flavors: [h200, a100]
    tolerations: [{ key: older }]
    gpu_count_max: 4
    gpu_count_default: 2
    local_queue: leftover
local_queues:
  - { project: aurora/vision, slug: main, cluster_queue: aurora, default: true }
  - { project: aurora/vision, slug: leftover, cluster_queue: leftover }
  - { project: borealis/genomics, slug: main, cluster_queue: borealis, default: true }
";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN1CZlhofS60IfKCOYSNdKAhVWqk92zZqBBrMYEtjN3w ada";
/// Far more than anything here takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(240);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// A platform with a simulated fleet, and the token of its operator, who may do everything in every project.
struct Desk<'a> {
    home: &'a Path,
    plane: Plane,
    token: String,
}

impl<'a> Desk<'a> {
    fn open(home: &'a Path) -> Self {
        let folder = home.join("dev");
        let words =
            ["dev", "--instant", "--data-dir", folder.to_str().unwrap(), "--listen", "127.0.0.1:0", "--log", "warn"];
        let mut plane = Plane::start(home, &words);
        let mut token = None;
        loop {
            let line = plane.line();
            if let ["platform_operator", secret, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
                token = Some(secret.to_owned());
            }
            if line.contains("Ctrl-C") {
                return Self { home, plane, token: token.unwrap() };
            }
        }
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.plane.run(self.home, &self.token, words)
    }

    fn done(&self, words: &[&str]) -> Ran {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {} {}", ran.stdout, ran.stderr);
        ran
    }

    fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["-o", "json"]).collect();
        serde_json::from_str(&self.done(&words).stdout).unwrap()
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Launches slices; the operation, and the workload that it made.
    fn launch(&self, name: &str, project: &str, gpus: &str, more: &[&str]) -> (Value, String) {
        let mut words = vec!["launch", name, "--project", project, "--sku", "h200-sxm-slice", "--gpus", gpus];
        words.extend(["--region", "eu-north", "--yes"]);
        words.extend(more);
        let operation = self.json(&words);
        let allocation = self.json(&["allocation", "show", operation["subject_id"].as_str().unwrap()]);
        (operation, allocation["workload_id"].as_str().unwrap().to_owned())
    }

    fn workload(&self, id: &str) -> Value {
        self.json(&["workload", "show", id])
    }

    /// Looks at a workload until it is as it should become.
    fn until(&self, id: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        self.until_shown(&["workload", "show", id], what, holds)
    }

    /// Asks again until the answer is as it should become.
    fn until_shown(&self, words: &[&str], what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.json(words);
            if holds(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what}: {seen:#}");
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// The numbers of a queue in `queue top`: own, used, borrowed, lent, running, waiting.
    fn standing(&self, queue: &str) -> Value {
        let all = self.json(&["queue", "top"]);
        let found = all["items"].as_array().unwrap().iter().find(|it| it["slug"] == queue && it["is_queue"] == true);
        let found = found.unwrap_or_else(|| panic!("{queue}: {all:#}"));
        let quota = &found["quotas"][0];
        value!([quota["nominal"], quota["used"], quota["borrowed"], quota["lent"], found["running"], found["waiting"]])
    }
}

/// Who does not mind which GPUs gets those that are left, in the profile's queue and size, and pays their price.
fn any_gpu(desk: &Desk<'_>) {
    let words =
        ["launch", "any", "--project", "aurora/vision", "--hardware-profile", "any-gpu", "--region", "eu-north"];
    let plan = desk.json(&[&words[..], &["--dry-run"]].concat());
    assert_eq!(plan["shape"], "gpu_slice", "{plan:#}");
    let operation = desk.json(&[&words[..], &["--yes"]].concat());
    let allocation = desk.json(&["allocation", "show", operation["subject_id"].as_str().unwrap()]);
    let workload = allocation["workload_id"].as_str().unwrap();
    let seen = desk.until(workload, "it runs", |seen| seen["execution"] == "running");
    let shown = (&seen["flavor"], &seen["gpu_count"], &seen["cluster_queue"], &seen["hardware"]["profile"]);
    assert_eq!(shown, (&value!("a100"), &value!(2), &value!("leftover"), &value!("any-gpu")), "{seen:#}");
    let flavors: Vec<_> = seen["hardware"]["choices"].as_array().unwrap().iter().map(|it| &it["flavor"]).collect();
    assert_eq!(flavors, ["h200", "a100"]);
    let sku = desk.json(&["sku", "show", "a100-sxm-slice"]);
    assert_eq!((&seen["sku_id"], &allocation["sku_id"]), (&sku["id"], &sku["id"]), "{seen:#}");
    let refused = desk.run(&[&words[..], &["--gpus", "8", "--yes"]].concat());
    assert!(refused.code == 5 && refused.stderr.contains("from 1 to 4"), "{} {}", refused.code, refused.stderr);
    desk.done(&["workload", "cancel", workload, "--yes"]);
}

/// What the borrower and everybody else can see once it has made way.
fn seen_from_outside(desk: &Desk<'_>, borrower: &str, owner: &str) {
    let explained = desk.until_shown(&["queue", "explain", borrower], "it waits for quota", |explained| {
        explained["wait"]["code"] == "waiting_for_quota"
    });
    let told = &explained["preemptions"][0];
    assert_eq!((&told["rule"], &told["by_workload_id"]), (&value!("reclaim"), &value!(owner)), "{explained:#}");
    assert_eq!(explained["position"], 1, "{explained:#}");
    let wait = &explained["wait"];
    assert_eq!((&wait["asked"], &wait["flavor"]), (&value!(8), &value!("h200")), "{explained:#}");
    let text = desk.done(&["queue", "explain", borrower]).stdout;
    for said in ["queued in aurora, place 1", wait["sentence"].as_str().unwrap(), "told to go", "by reclaim"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let top = desk.done(&["queue", "top"]).stdout;
    for said in ["BORROWED", "\nscience ", "\n  aurora ", "\n  borealis "] {
        assert!(top.contains(said), "{said}: {top}");
    }
    let waiting = desk.json(&["workload", "list", "--queue", "aurora", "--state", "queued"]);
    assert_eq!(waiting["items"][0]["id"], borrower, "{waiting:#}");
    let listed = desk.json(&["workload", "list", "--project", "borealis/genomics"]);
    assert_eq!((&listed["items"][0]["id"], listed["items"].as_array().unwrap().len()), (&value!(owner), 1));
}

/// A larger quota would let the borrower start. Asking does not change anything.
fn simulated(desk: &Desk<'_>, borrower: &str) {
    let before = desk.json(&["governance", "export"]);
    let larger = desk.file("larger.yaml", &GOVERNED.replacen("nominal: 4", "nominal: 8", 1));
    let effects = desk.json(&["queue", "simulate", "--change", &larger]);
    assert_eq!((&effects["starts"], &effects["stops"]), (&value!(1), &value!(0)), "{effects:#}");
    let effect = &effects["effects"][0];
    assert_eq!((&effect["workload_id"], &effect["effect"]), (&value!(borrower), &value!("starts")), "{effects:#}");
    let text = desk.done(&["queue", "simulate", "--change", &larger]);
    assert!(text.stdout.contains(borrower) && text.stdout.contains("\n  aurora "), "{}", text.stdout);
    assert!(text.stderr.contains("1 would start, 0 would have to go"), "{}", text.stderr);
    // If all of it belonged to the borrower, it would get it back from the other one, and start.
    let all = GOVERNED.replacen("nominal: 4", "nominal: 8", 1).replacen("nominal: 4", "nominal: 0", 1);
    let effects = desk.json(&["queue", "simulate", "--change", &desk.file("all.yaml", &all)]);
    assert_eq!((&effects["starts"], &effects["stops"]), (&value!(1), &value!(1)), "{effects:#}");
    let uses = effects["queues"].as_array().unwrap().iter().filter(|queue| queue["slug"] == "borealis");
    assert!(uses.clone().count() > 0 && uses.clone().all(|queue| queue["running"] == 0), "{effects:#}");
    assert_eq!(desk.json(&["governance", "export"]), before);
    assert_eq!(desk.workload(borrower)["execution"], "queued");
    let nothing = desk.file("nothing.yaml", "regions: [{ slug: eu-north, name: Europe North }]");
    assert_eq!(desk.run(&["queue", "simulate", "--change", &nothing]).code, 2);
}

/// A launch that has to wait says where it stands while somebody waits for it.
fn told_while_waiting(desk: &Desk<'_>) {
    let (operation, second) = desk.launch("second", "aurora/vision", "8", &["--no-wait", "--max-run", "2h"]);
    let seen = desk.workload(&second);
    assert_eq!((&seen["max_run_s"], &seen["position"]), (&value!(7_200), &value!(2)), "{seen:#}");
    let waited = desk.run(&["operation", "wait", operation["id"].as_str().unwrap(), "--timeout", "1s"]);
    assert_eq!(waited.code, 8, "{}", waited.stderr);
    assert!(waited.stderr.contains(&format!("{second} queued in aurora, place 2: ")), "{}", waited.stderr);
    assert_eq!(desk.json(&["workload", "gate", &second, "closed"])["gated"], true);
    assert_eq!(desk.json(&["workload", "gate", &second, "open"])["gated"], false);
    desk.done(&["workload", "cancel", &second, "--yes"]);
    assert_eq!(desk.workload(&second)["execution"], "cancelled");
}

#[test]
fn a_tenant_borrows_and_makes_way_when_the_other_asks_for_its_own() {
    let home = tempfile::tempdir().unwrap();
    let desk = Desk::open(home.path());
    let governed = desk.file("governed.yaml", GOVERNED);
    desk.done(&["apply", "-f", &governed, "--yes"]);
    for project in ["aurora/vision", "borealis/genomics"] {
        desk.done(&["ssh-key", "add", "laptop", "--project", project, "--key", KEY]);
    }

    any_gpu(&desk);
    let (_, borrower) = desk.launch("wide", "aurora/vision", "8", &[]);
    let seen = desk.until(&borrower, "it runs", |seen| seen["execution"] == "running");
    assert_eq!((&seen["borrowed_gpus"], &seen["flavor"]), (&value!(4), &value!("h200")), "{seen:#}");
    assert_eq!(desk.standing("aurora"), value!([4, 8, 4, 0, 1, 0]));
    assert_eq!(desk.standing("borealis"), value!([4, 0, 0, 4, 0, 0]));

    let (_, owner) = desk.launch("own", "borealis/genomics", "4", &["--queue", "main", "--if-unavailable", "queue"]);
    desk.until(&owner, "it runs", |seen| seen["execution"] == "running" && seen["borrowed_gpus"] == 0);
    // It stands aside for a moment first, and is then in the line again.
    let seen = desk.until(&borrower, "it waits for quota again", |seen| seen["wait"]["code"] == "waiting_for_quota");
    assert_eq!(seen["execution"], "queued", "{seen:#}");
    assert_eq!((&seen["stops"], &seen["preemption"]["rule"]), (&value!(1), &value!("reclaim")), "{seen:#}");
    assert_eq!(seen["preemption"]["by_workload_id"], owner, "{seen:#}");
    assert_eq!(desk.standing("aurora"), value!([4, 0, 0, 0, 0, 1]));
    assert_eq!(desk.standing("borealis"), value!([4, 4, 0, 0, 1, 0]));
    seen_from_outside(&desk, &borrower, &owner);
    simulated(&desk, &borrower);
    told_while_waiting(&desk);

    for delete in [
        &["queue", "delete", "main", "--project", "aurora/vision", "--yes"][..],
        &["queue", "delete", "aurora", "--yes"],
    ] {
        let refused = desk.run(delete);
        assert!(refused.code == 5 && refused.stderr.contains("still_in_use"), "{} {}", refused.code, refused.stderr);
    }
    desk.done(&["workload", "cancel", &borrower, "--yes"]);
    assert_eq!(desk.workload(&borrower)["execution"], "cancelled");
    desk.done(&["workload", "cancel", &owner, "--yes"]);
    desk.done(&["queue", "delete", "main", "--project", "aurora/vision", "--yes"]);
    desk.done(&["queue", "delete", "aurora", "--yes"]);
}
