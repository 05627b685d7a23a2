//! `gpuaas apply` and `gpuaas import kueue` for governance, against the real control plane, both as processes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{
    desk::Desk,
    offline,
    plane::{operator_token, serve},
};
use serde_json::{Value, json as value};

const GOVERNED: &str = "
regions: [{ slug: eu-1, name: Europe 1 }]
pools: [{ slug: slices, name: Slices, region: eu-1, gpu_model: h200-sxm }]
tenants:
  - slug: aurora
    name: Aurora
    projects: [{ slug: vision, name: Vision, gpu_cap: 16 }]
flavors:
  - { slug: h200, gpu_model: h200-sxm, pool: slices }
cohorts:
  - { slug: science, parent: everybody }
  - { slug: everybody }
cluster_queues:
  - slug: vision
    cohort: science
    resource_groups: [{ flavors: [{ flavor: h200, quotas: [{ nominal: 8, borrowing_limit: 2 }] }] }]
    open_to: { tenants: [aurora] }
local_queues:
  - { project: aurora/vision, slug: main, cluster_queue: vision, default: true }
";

#[test]
fn governance_comes_with_what_it_refers_to_and_is_then_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let shown = desk.apply(GOVERNED, &["--dry-run"]);
    assert_eq!(shown.code, 0, "{} {}", shown.stdout, shown.stderr);
    for line in ["+ pool slices", "+ flavor h200", "+ cluster_queue vision", "+ local_queue aurora/vision/main"] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert_eq!(desk.json(&["governance", "export"]), value!({}), "a dry run changes nothing");

    let done = desk.apply(GOVERNED, &["--yes"]);
    assert_eq!(done.code, 0, "{} {}", done.stdout, done.stderr);
    let queue = desk.json(&["queue", "show", "vision"]);
    assert_eq!(queue["spec"]["resource_groups"][0]["flavors"][0]["quotas"][0]["nominal"], 8);
    let listed = desk.json(&["queue", "list", "--project", "aurora/vision"]);
    assert_eq!(listed["items"][0]["spec"]["cluster_queue"], "vision");
    assert_eq!(desk.json(&["cohort", "list"])["items"].as_array().unwrap().len(), 2);
    assert!(desk.run(&["flavor", "list"]).stdout.contains("h200-sxm"));

    let again = desk.apply(GOVERNED, &["--yes", "-o", "json"]);
    let report: Value = serde_json::from_str(&again.stdout).unwrap();
    let count = report["items"].as_array().unwrap().len();
    assert_eq!((again.code, &report["counts"]["unchanged"]), (0, &value!(count)), "{report:#}");

    // What is exported can be applied, and is what is there already.
    let exported = desk.run(&["governance", "export"]);
    assert!(exported.stdout.contains("project: aurora/vision"), "{}", exported.stdout);
    let same = desk.apply(&exported.stdout, &["--yes", "-o", "json"]);
    let report: Value = serde_json::from_str(&same.stdout).unwrap();
    assert_eq!((same.code, &report["counts"]["unchanged"]), (0, &value!(5)), "{report:#}");

    let changed = desk.apply(&GOVERNED.replace("nominal: 8", "nominal: 9"), &["--yes"]);
    assert_eq!(changed.code, 0, "{}", changed.stderr);
    assert!(changed.stdout.contains("changed   cluster_queue vision: resource_groups"), "{}", changed.stdout);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_touched() {
    let home = tempfile::tempdir().unwrap();
    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let cycle = GOVERNED.replace("{ slug: everybody }", "{ slug: everybody, parent: science }");
    let refused = desk.apply(&cycle, &["--yes"]);
    assert_eq!(refused.code, 5, "{} {}", refused.stdout, refused.stderr);
    assert!(refused.stderr.contains("cohort everybody /parent: cohort_cycle"), "{}", refused.stderr);
    assert_eq!(desk.json(&["region", "list"])["items"], value!([]), "nothing was touched");
    let stranger = GOVERNED.replace("project: aurora/vision", "project: aurora/nobody");
    let unknown = desk.apply(&stranger, &["--yes"]);
    assert_eq!(unknown.code, 3, "{} {}", unknown.stdout, unknown.stderr);
    assert!(unknown.stderr.contains("local_queues[0]"), "{}", unknown.stderr);
    let misspelt = desk.apply(&GOVERNED.replace("nominal", "nominel"), &["--yes"]);
    assert_eq!(misspelt.code, 2);
    assert!(
        misspelt.stderr.contains("cluster_queues[0].resource_groups[0].flavors[0].quotas[0]"),
        "{}",
        misspelt.stderr
    );
}

const MANIFESTS: &str = "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: { name: h200 }
spec: { nodeLabels: { nvidia.com/gpu.product: NVIDIA-H200 } }
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: { name: team }
spec:
  cohortName: science
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{ name: h200, resources: [{ name: nvidia.com/gpu, nominalQuota: 4 }] }]
  admissionChecks: [capacity]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: { name: default, namespace: vision }
spec: { clusterQueue: team }
";

#[test]
fn manifests_of_kueue_become_a_file_that_can_be_applied() {
    let home = tempfile::tempdir().unwrap();
    let (manifests, out) = (home.path().join("kueue.yaml"), home.path().join("out.yaml"));
    std::fs::write(&manifests, MANIFESTS).unwrap();
    let (manifests, out) = (manifests.to_str().unwrap(), out.to_str().unwrap());
    let said = offline(&["import", "kueue", "-f", manifests, "--tenant", "aurora", "--out", out]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("ClusterQueue team: spec.cohortName → cohort: science"), "{}", said.stdout);
    assert!(said.stdout.contains("not mapped  ClusterQueue team: spec.admissionChecks[0]"), "{}", said.stdout);

    let (token, plane) = (operator_token(home.path()), serve(home.path()));
    let desk = Desk { home: home.path(), plane: &plane, token: &token };
    let tenant = "tenants: [{ slug: aurora, name: Aurora, projects: [{ slug: vision, name: Vision, gpu_cap: 8 }] }]";
    assert_eq!(desk.apply(tenant, &["--yes"]).code, 0);
    let applied = desk.run(&["apply", "-f", out, "--yes"]);
    assert_eq!(applied.code, 0, "{} {}", applied.stdout, applied.stderr);
    let again = desk.run(&["import", "kueue", "-f", manifests, "--tenant", "aurora", "--apply", "--yes"]);
    assert_eq!(again.code, 0, "{} {}", again.stdout, again.stderr);
    assert!(again.stdout.contains("unchanged cluster_queue team"), "{}", again.stdout);
    assert_eq!(desk.json(&["queue", "list", "--project", "aurora/vision"])["items"][0]["spec"]["default"], true);
}

#[test]
fn files_that_are_no_manifests_are_refused_in_words() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("bad.yaml");
    let huge = format!("kind: Cohort\n# {}\n", "x".repeat(1024 * 1024));
    let deep = format!("kind: {}", "[".repeat(5_000));
    for (text, says) in
        [("nonsense", "kind"), (huge.as_str(), "larger than"), (deep.as_str(), "bad.yaml"), ("", "no Kueue object")]
    {
        std::fs::write(&path, text).unwrap();
        let said = offline(&["import", "kueue", "-f", path.to_str().unwrap()]);
        assert_eq!(said.code, 2, "{} {}", said.stdout, said.stderr);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
}
