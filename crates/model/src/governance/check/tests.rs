//! Every fault is found at its object and field, and what fits together is left alone.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::Timestamp;
use serde_json::{Value, json};

fn project(number: u8) -> ProjectId {
    ProjectId::from_parts(Timestamp::from_micros(1), [number; 10])
}
fn tenant(number: u8) -> TenantId {
    TenantId::from_parts(Timestamp::from_micros(1), [number; 10])
}

fn around() -> Surroundings {
    Surroundings {
        pools: BTreeSet::from(["h200".parse().unwrap()]),
        tenants: BTreeSet::from([tenant(1)]),
        projects: BTreeMap::from([(project(1), tenant(1))]),
        in_use: BTreeMap::new(),
    }
}

fn good() -> Value {
    json!({
        "topologies": [{"slug": "rows", "levels": ["row", "rack", "host"]}],
        "flavors": [{"slug": "h200", "gpu_model": "h200-sxm", "pool": "h200", "topology": "rows"}, {"slug": "a100", "speed_milli": 400}],
        "priority_classes": [{"slug": "low", "value": -5}, {"slug": "usual", "value": 0, "default": true}],
        "cohorts": [{"slug": "all"}, {"slug": "science", "parent": "all", "weight_milli": 2000}],
        "cluster_queues": [
            {"slug": "vision", "cohort": "science",
             "resource_groups": [{"flavors": [
                {"flavor": "h200", "quotas": [{"nominal": 8, "borrowing_limit": 8, "lending_limit": 4}]},
                {"flavor": "a100", "quotas": [{"nominal": 16}]}
             ]}],
             "schedule": [
                {"days": ["monday", "sunday"], "from_minute": 1200, "to_minute": 480, "quotas": [{"flavor": "h200", "nominal": 16}]},
                {"days": ["tuesday"], "from_minute": 480, "to_minute": 1200, "quotas": [{"flavor": "h200", "nominal": 2}]}
             ],
             "open_to": {"tenants": [tenant(1)]}}
        ],
        "local_queues": [{"project_id": project(1), "slug": "main", "cluster_queue": "vision", "default": true}],
        "hardware_profiles": [{"slug": "big", "name": "Big", "flavors": ["h200"], "priority_class": "low", "local_queue": "main"}]
    })
}

fn read(document: Value) -> Governance {
    serde_json::from_value(document).unwrap()
}

/// What is found after one thing was changed, as (object, field, code).
fn found(pointer: &str, value: Value) -> Vec<(String, String, FindingCode)> {
    let mut document = good();
    match document.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = document.pointer_mut(parent).unwrap();
            match parent {
                Value::Array(items) => items.push(value),
                other => other[name] = value,
            }
        }
    }
    let found = check(&read(document), &around());
    found.into_iter().map(|it| (it.object.to_string(), it.field, it.code)).collect()
}

#[test]
fn what_fits_together_is_not_complained_about() {
    assert_eq!(check(&read(good()), &around()), []);
    assert_eq!(check(&Governance::default(), &Surroundings::default()), []);
}

/// Each change is found as this code at this field of the object.
fn names(object: &str, cases: &[(&str, Value, &str, FindingCode)]) {
    for (pointer, value, field, code) in cases {
        let all = found(pointer, value.clone());
        assert!(all.contains(&(object.to_owned(), (*field).to_owned(), *code)), "{pointer} = {value}: {all:?}");
    }
}

#[test]
fn faults_of_hardware_name_object_and_field() {
    use FindingCode::{Disordered, DuplicateEntry, DuplicateName, SecondDefault, UnknownReference};
    let cases = [
        ("/flavors/1/slug", json!("h200"), "/slug", DuplicateName),
        ("/flavors/0/topology", json!("none"), "/topology", UnknownReference),
        ("/flavors/0/pool", json!("none"), "/pool", UnknownReference),
    ];
    names("flavor h200", &cases);
    names("topology rows", &[("/topologies/0/levels/1", json!("row"), "/levels/1", DuplicateEntry)]);
    // A list of the wrong length is not read at all.
    let read =
        |levels: &[&str]| serde_json::from_value::<crate::governance::Topology>(json!({"slug": "a", "levels": levels}));
    assert!(read(&["row"]).is_ok());
    assert_eq!(read(&[]).unwrap_err().to_string(), "at least 1 and at most 16 entries");
    assert!(read(&["row"; 17]).is_err());
    names("priority_class usual", &[("/priority_classes/0/default", json!(true), "/default", SecondDefault)]);
    let cases = [
        ("/hardware_profiles/0/flavors/0", json!("b200"), "/flavors/0", UnknownReference),
        ("/hardware_profiles/0/priority_class", json!("x"), "/priority_class", UnknownReference),
        ("/hardware_profiles/0/gpu_count_default", json!(16), "/gpu_count_default", Disordered),
    ];
    names("hardware_profile big", &cases);
}

#[test]
fn faults_of_the_tree_name_object_and_field() {
    use FindingCode::{CohortCycle, NotOpen, UnknownReference, WeightZero};
    names("cohort all", &[("/cohorts/0/parent", json!("science"), "/parent", CohortCycle)]);
    let cases = [
        ("/cohorts/1/parent", json!("nobody"), "/parent", UnknownReference),
        ("/cohorts/1/parent", json!("science"), "/parent", CohortCycle),
        ("/cohorts/1/weight_milli", json!(0), "/weight_milli", WeightZero),
    ];
    names("cohort science", &cases);
    let cases = [
        ("/local_queues/0/cluster_queue", json!("none"), "/cluster_queue", UnknownReference),
        ("/cluster_queues/0/open_to", json!({}), "/cluster_queue", NotOpen),
    ];
    names(&format!("local_queue {}/main", project(1)), &cases);
    let stranger = [("/local_queues/0/project_id", json!(project(3)), "/project_id", UnknownReference)];
    names(&format!("local_queue {}/main", project(3)), &stranger);
}

#[test]
fn faults_of_queues_name_object_and_field() {
    use FindingCode::{
        DuplicateEntry, LendingAboveNominal, UnevenGroup, UnknownReference, UnknownResource, WindowsOverlap,
        WrongMinute,
    };
    let monday = |from: i64, to: i64, flavor: &str| {
        let quotas = json!([{"flavor": flavor, "nominal": 1}]);
        json!({"days": ["monday"], "from_minute": from, "to_minute": to, "quotas": quotas})
    };
    let twice = json!({"flavor": "h200", "quotas": [{"nominal": 1}]});
    let (flavors, queue) = ("/resource_groups/0/flavors", "/cluster_queues/0");
    let at = |field: &str| format!("{queue}{field}");
    let [first, third, lending, resource] = [
        at(&format!("{flavors}/0/flavor")),
        at(&format!("{flavors}/2")),
        at(&format!("{flavors}/0/quotas/0/lending_limit")),
        at(&format!("{flavors}/1/quotas/0/resource")),
    ];
    let (cohort, window, open_to) = (at("/cohort"), at("/schedule/2"), at("/open_to"));
    let flavor = |field: &str| format!("{flavors}{field}");
    let fields = [
        flavor("/0/flavor"),
        flavor("/2/flavor"),
        flavor("/0/quotas/0/lending_limit"),
        flavor("/1/quotas"),
        flavor("/1/quotas/0/resource"),
    ];
    let cases = [
        (cohort.as_str(), json!("nobody"), "/cohort", UnknownReference),
        (first.as_str(), json!("b200"), fields[0].as_str(), UnknownReference),
        (third.as_str(), twice, fields[1].as_str(), DuplicateEntry),
        (lending.as_str(), json!(9), fields[2].as_str(), LendingAboveNominal),
        (resource.as_str(), json!("cpu"), fields[3].as_str(), UnevenGroup),
        (resource.as_str(), json!("cpu"), fields[4].as_str(), UnknownResource),
        (window.as_str(), monday(400, 481, "h200"), "/schedule/2", WindowsOverlap),
        (window.as_str(), monday(1440, 10, "a100"), "/schedule/2/from_minute", WrongMinute),
        (window.as_str(), monday(0, 10, "b200"), "/schedule/2/quotas/0/flavor", UnknownReference),
        (open_to.as_str(), json!({"tenants": [tenant(2)]}), "/open_to/tenants/0", UnknownReference),
        (open_to.as_str(), json!({"projects": [project(2)]}), "/open_to/projects/0", UnknownReference),
    ];
    names("cluster_queue vision", &cases);
}

#[test]
fn limits_need_somebody_to_lend_to() {
    let mut document = read(good());
    document.cluster_queues[0].cohort = None;
    let codes: Vec<FindingCode> = check(&document, &around()).into_iter().map(|it| it.code).collect();
    assert_eq!(codes, [FindingCode::LimitWithoutCohort, FindingCode::LimitWithoutCohort]);
}

#[test]
fn a_cycle_is_told_for_its_members_and_not_for_what_hangs_below() {
    let cohorts = json!({"cohorts": [
        {"slug": "a", "parent": "b"}, {"slug": "b", "parent": "c"}, {"slug": "c", "parent": "a"}, {"slug": "d", "parent": "a"}
    ]});
    let all = check(&read(cohorts), &around());
    let told: Vec<&str> = all.iter().map(|it| it.object.slug.as_str()).collect();
    assert_eq!(told, ["a", "b", "c"]);
    assert!(all.iter().all(|it| it.refuses && it.code == FindingCode::CohortCycle));
}

#[test]
fn sums_that_cannot_be_counted_are_refused() {
    let most = 9_007_199_254_740_991_i64;
    let queue = |slug: &str, nominal: i64| json!({"slug": slug, "resource_groups": [{"flavors": [{"flavor": "h200", "quotas": [{"nominal": nominal}]}]}]});
    let world = |queues: Vec<Value>| read(json!({"flavors": [{"slug": "h200"}], "cluster_queues": queues}));
    assert_eq!(check(&world(vec![queue("a", most)]), &around()), []);
    let all = check(&world(vec![queue("a", most), queue("b", 1)]), &around());
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].object.slug.as_str(), all[0].code), ("b", FindingCode::SumTooLarge));
    let many: Vec<Value> = (0..3000).map(|at| queue(&format!("q{at}"), most)).collect();
    assert_eq!(check(&world(many), &around()).len(), 2999, "and the sum of sums does not overflow");
}

#[test]
fn quota_below_usage_is_told_and_allowed() {
    let mut surroundings = around();
    surroundings.in_use.insert(("vision".parse().unwrap(), GpuModel::H200Sxm), 24);
    assert_eq!(check(&read(good()), &surroundings), [], "16 of any model and 8 H200 are 24");
    surroundings.in_use.insert(("vision".parse().unwrap(), GpuModel::H200Sxm), 25);
    let all = check(&read(good()), &surroundings);
    assert_eq!(all.iter().map(|it| (it.code, it.refuses)).collect::<Vec<_>>(), [(FindingCode::QuotaBelowUsage, false)]);
    assert!(all[0].detail.contains("25") && all[0].detail.contains("24"), "{}", all[0].detail);
}

#[test]
fn windows_wrap_around_midnight_the_week_and_the_globe() {
    let day = |day: &str, from: i64, to: i64, offset: i64| json!({"days": [day], "from_minute": from, "to_minute": to, "utc_offset_minutes": offset, "quotas": [{"flavor": "a100", "nominal": 1}]});
    let codes = |windows: Value| -> usize {
        let mut document = good();
        document["cluster_queues"][0]["schedule"] = windows;
        check(&read(document), &around()).len()
    };
    assert_eq!(codes(json!([day("sunday", 1380, 60, 0), day("monday", 60, 120, 0)])), 0);
    assert_eq!(codes(json!([day("sunday", 1380, 61, 0), day("monday", 60, 120, 0)])), 1, "Sunday's night is Monday's");
    assert_eq!(codes(json!([day("monday", 0, 60, 60), day("sunday", 1380, 1440, 0)])), 1, "one hour, two clocks");
    assert_eq!(codes(json!([day("monday", 0, 0, 0), day("tuesday", 0, 1440, 0)])), 0, "whole days");
    assert_eq!(codes(json!([day("monday", 30, 30, 0), day("tuesday", 0, 1440, 0)])), 1, "a day from half past");
}

#[test]
fn whoever_refers_to_something_is_named() {
    let world = read(good());
    let of = |kind: Kind, slug: &str| -> Vec<(String, String)> {
        let identity = Identity { kind, project_id: None, slug: slug.parse().unwrap() };
        referrers(&world, &identity).into_iter().map(|(object, field)| (object.to_string(), field)).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(of(Kind::Topology, "rows"), [pair("flavor h200", "/topology")]);
    assert_eq!(of(Kind::Cohort, "all"), [pair("cohort science", "/parent")]);
    assert_eq!(of(Kind::Cohort, "science"), [pair("cluster_queue vision", "/cohort")]);
    assert_eq!(of(Kind::PriorityClass, "low"), [pair("hardware_profile big", "/priority_class")]);
    assert_eq!(of(Kind::PriorityClass, "usual"), []);
    assert_eq!(of(Kind::HardwareProfile, "big"), []);
    let local = format!("local_queue {}/main", project(1));
    assert_eq!(of(Kind::ClusterQueue, "vision"), [(local, "/cluster_queue".to_owned())]);
    assert_eq!(
        of(Kind::Flavor, "h200"),
        [
            pair("hardware_profile big", "/flavors/0"),
            pair("cluster_queue vision", "/resource_groups/0/flavors/0/flavor"),
        ]
    );
}

#[test]
fn what_is_written_is_read_again_and_what_is_unknown_is_refused() {
    let world = read(good());
    let again: Governance = serde_json::from_value(serde_json::to_value(&world).unwrap()).unwrap();
    assert_eq!(again, world);
    for object in world.objects() {
        let text = object.to_json().unwrap().to_string();
        assert_eq!(Object::from_json(object.identity().kind, &text).unwrap(), object);
    }
    for wrong in [
        json!({"flavors": [{"slug": "a", "speed": 3}]}),
        json!({"flavors": [{"slug": "a", "speed_milli": 0}]}),
        json!({"flavors": [{"slug": "a", "pool": null}]}),
        json!({"cohorts": [{"slug": "a", "weight_milli": -1}]}),
        json!({"cohorts": [{"slug": "a", "weight_milli": 1_000_000_001}]}),
        json!({"cluster_queues": [{"slug": "a", "ordering": "fifo"}]}),
        json!({"cluster_queues": [{"slug": "a", "resource_groups": [{"flavors": [{"flavor": "f", "quotas": [{"nominal": -1}]}]}]}]}),
        json!({"queues": []}),
    ] {
        assert!(serde_json::from_value::<Governance>(wrong.clone()).is_err(), "{wrong}");
    }
}
