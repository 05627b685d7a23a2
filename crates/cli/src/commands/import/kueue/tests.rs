//! What manifests of Kueue become, what is named as not understood, and what is refused.
#![allow(clippy::unwrap_used)]
use super::{super::manifest, queues::thousandths, *};

const ALL: &str = "
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: { name: rows }
spec:
  levels:
    - nodeLabel: example.org/rack
    - nodeLabel: kubernetes.io/hostname
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: h200.spot
  labels: { team: platform }
spec:
  nodeLabels:
    nvidia.com/gpu.product: NVIDIA-H200
    tier: spot
  nodeTaints:
    - { key: spot, value: 'true', effect: NoSchedule }
  tolerations:
    - { key: spot, operator: Exists }
  topologyName: rows
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: { name: urgent }
value: 1000
description: for people who wait
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: { name: science }
spec:
  parentName: everybody
  fairSharing: { weight: '1.5' }
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: { name: vision }
spec:
  cohortName: science
  queueingStrategy: StrictFIFO
  namespaceSelector:
    matchExpressions:
      - { key: kubernetes.io/metadata.name, operator: In, values: [vision, speech] }
  resourceGroups:
    - coveredResources: [cpu, nvidia.com/gpu]
      flavors:
        - name: h200.spot
          resources:
            - { name: cpu, nominalQuota: 64 }
            - { name: nvidia.com/gpu, nominalQuota: '8', borrowingLimit: 4, lendingLimit: 2 }
    - coveredResources: [memory]
      flavors:
        - name: h200.spot
          resources: [{ name: memory, nominalQuota: 1Ti }]
  preemption:
    withinClusterQueue: LowerPriority
    reclaimWithinCohort: Any
    borrowWithinCohort: { policy: LowerPriority, maxPriorityThreshold: 100 }
  flavorFungibility: { whenCanBorrow: Borrow, whenCanPreempt: TryNextFlavor }
  fairSharing: { weight: 250m }
  stopPolicy: Hold
  admissionChecks: [provisioning]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: { name: default, namespace: vision }
spec: { clusterQueue: vision }
status: { pendingWorkloads: 3 }
";

fn imported(text: &str, projects: &Projects) -> Imported {
    import(manifest::read(text).unwrap(), projects)
}

fn acme() -> Projects {
    Projects { tenant: Some("acme".parse().unwrap()), named: BTreeMap::from([("speech".into(), "umbra/talk".into())]) }
}

fn not_mapped(imported: &Imported) -> Vec<(&str, &str)> {
    imported.not_mapped.iter().map(|it| (it.object.as_str(), it.field.as_str())).collect()
}

#[test]
fn everything_that_has_a_counterpart_is_carried_over() {
    let all = imported(ALL, &acme());
    let said = serde_json::to_value(&all.governance).unwrap();
    assert_eq!(said["topologies"], json!([{"slug": "rows", "levels": ["example.org/rack", "kubernetes.io/hostname"]}]));
    let flavor = &said["flavors"][0];
    assert_eq!((&flavor["slug"], &flavor["gpu_model"]), (&json!("h200-spot"), &json!("h200-sxm")));
    assert_eq!(flavor["taints"], json!([{"key": "spot", "value": "true", "effect": "no_schedule"}]));
    assert_eq!(flavor["tolerations"], json!([{"key": "spot"}]));
    assert_eq!(flavor["labels"].as_array().unwrap().len(), 2);
    assert_eq!(said["priority_classes"][0]["value"], 1000);
    let cohorts: Vec<(&str, i64)> =
        all.governance.cohorts.iter().map(|it| (it.slug.as_str(), it.weight_milli.get())).collect();
    assert_eq!(cohorts, [("science", 1500), ("everybody", 1000)], "what is only named comes to be");
    let queue = &said["cluster_queues"][0];
    assert_eq!(
        queue["resource_groups"],
        json!([{"flavors": [{"flavor": "h200-spot", "quotas": [
            {"resource": "gpu", "nominal": 8, "borrowing_limit": 4, "lending_limit": 2}
        ]}]}])
    );
    assert_eq!(queue["open_to"], json!({"projects": ["acme/vision", "umbra/talk"]}));
    assert_eq!((&queue["ordering"], &queue["stop"]), (&json!("strict_fifo"), &json!("hold")));
    assert_eq!(queue["weight_milli"], 250);
    assert_eq!(queue["preemption"]["borrow_within_cohort"]["max_priority_threshold"], 100);
    assert_eq!(queue["fungibility"]["when_can_borrow"], "may_stop_search");
    let local = json!([{"project": "acme/vision", "slug": "default", "cluster_queue": "vision", "default": true}]);
    assert_eq!(said["local_queues"], local);
}

#[test]
fn everything_else_is_named_field_by_field() {
    let all = imported(ALL, &acme());
    assert_eq!(
        not_mapped(&all),
        [
            ("ResourceFlavor h200.spot", "metadata.labels.team"),
            ("WorkloadPriorityClass urgent", "description"),
            ("ClusterQueue vision", "spec.resourceGroups[0].coveredResources[0]"),
            ("ClusterQueue vision", "spec.resourceGroups[0].flavors[0].resources[0]"),
            ("ClusterQueue vision", "spec.resourceGroups[1].coveredResources[0]"),
            ("ClusterQueue vision", "spec.resourceGroups[1].flavors[0].resources[0]"),
            ("ClusterQueue vision", "spec.resourceGroups[1]"),
            ("ClusterQueue vision", "spec.admissionChecks[0]"),
        ]
    );
    assert!(all.mapped.len() > 25, "{:?}", all.mapped);
    let fields: BTreeSet<(&String, &String, &String)> =
        all.mapped.iter().map(|it| (&it.object, &it.field, &it.becomes)).collect();
    assert_eq!(fields.len(), all.mapped.len(), "nothing is told twice");
}

#[test]
fn what_cannot_be_said_is_refused_where_it_stands() {
    let nobody = Projects::default();
    let local = "kind: LocalQueue\nmetadata: { name: main, namespace: x }\nspec: { clusterQueue: q }\n";
    let all = imported(local, &nobody);
    assert_eq!(not_mapped(&all)[0], ("LocalQueue main", "metadata.namespace"));
    assert!(all.governance.is_empty());
    for (text, field) in [
        ("kind: ClusterQueue\nmetadata: { name: UPPER }\n", "metadata.name"),
        (
            "kind: ClusterQueue\nmetadata: { name: q }\nspec: { namespaceSelector: { matchLabels: { a: b } } }\n",
            "spec.namespaceSelector.matchLabels",
        ),
        ("kind: ClusterQueue\nmetadata: { name: q }\nspec: { queueingStrategy: Random }\n", "spec.queueingStrategy"),
        (
            "kind: ClusterQueue\nmetadata: { name: q }\nspec: { fairSharing: { weight: '-1' } }\n",
            "spec.fairSharing.weight",
        ),
        ("kind: ClusterQueue\nmetadata: { name: q }\nspec: { surprise: 1 }\n", "spec.surprise"),
        ("kind: WorkloadPriorityClass\nmetadata: { name: p }\nvalue: 99999999999\n", "(all)"),
        ("kind: Workload\nmetadata: { name: w }\n", "kind"),
    ] {
        let all = imported(text, &nobody);
        assert!(not_mapped(&all).iter().any(|it| it.1 == field), "{text}: {:?}", all.not_mapped);
    }
    for text in ["metadata: { name: x }", "kind: Cohort", "kind: CohortList\nitems: 3", "{ kind: [", "just text"] {
        assert!(manifest::read(text).is_err(), "{text}");
    }
}

#[test]
fn lists_and_json_are_read_and_bombs_are_not() {
    let list = "kind: List\nitems:\n- kind: Cohort\n  metadata: { name: a }\n- kind: Cohort\n  metadata: { name: b }\n";
    assert_eq!(imported(list, &Projects::default()).governance.cohorts.len(), 2);
    let json = r#"{"kind": "Cohort", "metadata": {"name": "a"}, "spec": {"fairSharing": {"weight": 2}}}"#;
    assert_eq!(imported(json, &Projects::default()).governance.cohorts[0].weight_milli.get(), 2000);
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (one, other) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e"), ("g", "f")] {
        bomb.push_str(&format!("{one}: &{one} [{}]\n", vec![format!("*{other}"); 10].join(", ")));
    }
    for text in [bomb, format!("kind: {}", "[".repeat(100_000)), "---\nkind: Cohort\n".repeat(5_000)] {
        assert!(manifest::read(&text).is_err());
    }
}

#[test]
fn weights_are_held_in_thousandths() {
    for (text, milli) in [("0", 0), ("1", 1000), ("0.75", 750), ("1500m", 1500), ("1000000", 1_000_000_000)] {
        assert_eq!(thousandths(text), Some(milli), "{text}");
    }
    for text in ["", "-1", "1.2345", "x", "1000001", "1e3", ".5", "9999999999999999999"] {
        assert_eq!(thousandths(text), None, "{text}");
    }
}
