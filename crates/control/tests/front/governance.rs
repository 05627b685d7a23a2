//! Governance through the front door: one document or one object, looked at as a whole, refused field by field, and never
//! half done.

use api::Code;
use control::front_door::{Request, Response};
use serde_json::{Value, json};

use crate::world::{Actor, World, body};

fn world_of(world: &World) -> Value {
    json!({
        "topologies": [{"slug": "rows", "levels": ["rack", "host"]}],
        "flavors": [{"slug": "h200", "gpu_model": "h200-sxm", "topology": "rows"}, {"slug": "a100", "speed_milli": 400}],
        "priority_classes": [{"slug": "low", "value": -10}, {"slug": "usual", "value": 0, "default": true}],
        "cohorts": [{"slug": "all"}, {"slug": "science", "parent": "all"}],
        "cluster_queues": [
            {"slug": "vision", "cohort": "science", "resource_groups": [{"flavors": [
                {"flavor": "h200", "quotas": [{"nominal": 8, "borrowing_limit": 4}]}
            ]}]},
            {"slug": "speech", "cohort": "science", "open_to": {"tenants": [world.acme.tenant]}}
        ],
        "local_queues": [{"project_id": world.acme.project, "slug": "main", "cluster_queue": "vision", "default": true}],
        "hardware_profiles": [{"slug": "big", "name": "Big", "flavors": ["h200", "a100"], "priority_class": "low"}]
    })
}

fn apply(world: &World, governance: &Value, more: &Value) -> Response {
    let mut wish = more.clone();
    wish["governance"] = governance.clone();
    world.post(&world.operator, "/api/v1/admin/governance/apply", wish)
}

fn governed() -> (World, Value) {
    let world = World::new();
    let all = world_of(&world);
    let applied = apply(&world, &all, &json!({}));
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
    (world, all)
}

fn put(world: &World, who: &Actor, path: &str, what: &Value) -> Response {
    world.send(Request::new("PUT", path).bearer(&who.secret).json(what.to_string()))
}

/// The pointers and codes of a refusal.
fn refused(response: &Response) -> Vec<(String, String)> {
    let problem = response.as_problem().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&response.body)));
    assert_eq!((response.status, problem.code), (422, Code::GovernanceRefused), "{problem}");
    let code = |detail: &str| detail.split(':').next().unwrap_or_default().to_owned();
    problem.errors.iter().map(|error| (error.pointer.clone(), code(&error.detail))).collect()
}

fn exported(world: &World) -> Value {
    body(&world.get(&world.operator, "/api/v1/admin/governance"))
}

fn actions(applied: &Response) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = body(applied)["changes"].as_array().unwrap().clone();
    changes.iter().map(|change| (text(&change["slug"]), text(&change["action"]))).collect()
}

#[test]
fn a_document_is_applied_as_a_whole_and_comes_back_as_it_was() {
    let world = World::new();
    let all = world_of(&world);
    let rehearsed = apply(&world, &all, &json!({"dry_run": true}));
    assert_eq!((rehearsed.status, body(&rehearsed)["version"].as_i64()), (200, Some(1)));
    assert!(actions(&rehearsed).iter().all(|(_, action)| action == "create"), "{rehearsed:?}");
    assert_eq!(exported(&world)["version"], 1, "a dry run does nothing");
    let applied = apply(&world, &all, &json!({}));
    assert_eq!((applied.status, body(&applied)["version"].as_i64()), (200, Some(12)));
    assert_eq!(body(&applied)["changes"], body(&rehearsed)["changes"]);
    let shown = exported(&world);
    let read = |value: &Value| serde_json::from_value::<model::governance::Governance>(value.clone()).unwrap();
    let sorted = |value: &Value| {
        let mut objects = read(value).objects();
        objects.sort_by_key(model::governance::Object::identity);
        objects
    };
    assert_eq!(sorted(&shown["governance"]), sorted(&all));
    let again = apply(&world, &shown["governance"], &json!({"prune": true}));
    assert!(actions(&again).iter().all(|(_, action)| action == "keep"), "{:?}", actions(&again));
    assert_eq!(exported(&world)["version"], 12, "what is as it should be is not touched");
    let changed = world.count("SELECT COUNT(*) FROM events WHERE noun IN ('cohort', 'cluster_queue', 'local_queue')");
    assert_eq!(changed, 5);
}

#[test]
fn what_does_not_fit_is_refused_field_by_field_and_nothing_is_done() {
    let world = World::new();
    let mut all = world_of(&world);
    all["cohorts"][0]["parent"] = "science".into();
    all["cluster_queues"][0]["resource_groups"][0]["flavors"][0]["flavor"] = "b200".into();
    all["local_queues"][0]["project_id"] = json!(world.umbrella.project);
    all["local_queues"][0]["cluster_queue"] = "speech".into();
    let found = refused(&apply(&world, &all, &json!({})));
    let wanted = [
        ("/governance/cohorts/0/parent", "cohort_cycle"),
        ("/governance/cohorts/1/parent", "cohort_cycle"),
        ("/governance/cluster_queues/0/resource_groups/0/flavors/0/flavor", "unknown_reference"),
        ("/governance/local_queues/0/cluster_queue", "not_open"),
    ];
    for (pointer, code) in wanted {
        assert!(found.contains(&(pointer.to_owned(), code.to_owned())), "{pointer} {code}: {found:?}");
    }
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    assert_eq!(exported(&world)["version"], 1);
    let rehearsed = apply(&world, &all, &json!({"dry_run": true}));
    let findings = body(&rehearsed)["findings"].as_array().unwrap().len();
    assert_eq!((rehearsed.status, findings), (200, 4), "a dry run tells the same");
    let twice = json!({"cohorts": [{"slug": "a"}, {"slug": "a", "weight_milli": 5}]});
    assert_eq!(refused(&apply(&world, &twice, &json!({})))[0].1, "duplicate_name");
    let surplus = json!({"cohorts": [{"slug": "a", "wieght_milli": 5}]});
    let response = apply(&world, &surplus, &json!({}));
    assert_eq!((response.status, response.as_problem().unwrap().code), (400, Code::InvalidBody));
}

#[test]
fn pruning_takes_away_what_the_document_does_not_have() {
    let (world, mut all) = governed();
    all["hardware_profiles"] = json!([]);
    all["priority_classes"] = json!([{"slug": "zeta", "value": 1, "default": true}]);
    all["cluster_queues"] = json!([all["cluster_queues"][0]]);
    let kept = apply(&world, &all, &json!({"dry_run": true}));
    assert_eq!(refused_in(&kept), ["second_default"], "without pruning the old default is still there");
    let applied = apply(&world, &all, &json!({"prune": true}));
    assert_eq!(applied.status, 200, "{}", String::from_utf8_lossy(&applied.body));
    let mut gone: Vec<String> =
        actions(&applied).into_iter().filter(|(_, action)| action == "delete").map(|(slug, _)| slug).collect();
    gone.sort();
    assert_eq!(gone, ["big", "low", "speech", "usual"]);
    let classes = &exported(&world)["governance"]["priority_classes"];
    assert_eq!(classes.as_array().unwrap().len(), 1);
    assert_eq!(classes[0]["default"], true);
}

fn refused_in(rehearsed: &Response) -> Vec<String> {
    let findings = body(rehearsed)["findings"].as_array().unwrap().clone();
    let refusing = findings.iter().filter(|finding| finding["refuses"] == true);
    refusing.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn one_object_is_made_changed_and_never_renamed() {
    let (world, _) = governed();
    let path = "/api/v1/admin/cohorts/art";
    let made = put(&world, &world.operator, path, &json!({"slug": "art", "parent": "all"}));
    assert_eq!((made.status, made.header("ETag")), (200, Some("\"1\"")));
    let changed = put(&world, &world.operator, path, &json!({"slug": "art", "weight_milli": 0}));
    assert_eq!((changed.status, &body(&changed)["spec"]["weight_milli"]), (200, &json!(0)));
    assert_eq!(body(&changed)["spec"].get("parent"), None, "an object is said as a whole");
    let stale = Request::new("PUT", path).bearer(&world.operator.secret).if_match(1).json(r#"{"slug":"art"}"#);
    assert_eq!(world.send(stale).as_problem().unwrap().code, Code::StaleVersion);
    let renamed = put(&world, &world.operator, path, &json!({"slug": "arts"}));
    assert_eq!(refused(&renamed), [("/slug".to_owned(), "renamed".to_owned())]);
    let below_itself =
        put(&world, &world.operator, "/api/v1/admin/cohorts/all", &json!({"slug": "all", "parent": "science"}));
    assert_eq!(refused(&below_itself)[0], ("/parent".to_owned(), "cohort_cycle".to_owned()));
    let class = json!({"slug": "low", "value": 1, "default": true});
    let second = put(&world, &world.operator, "/api/v1/priority-classes/low", &class);
    assert_eq!(refused(&second)[0].1, "second_default");
}

#[test]
fn a_local_queue_stays_in_its_project_and_leads_to_one_queue() {
    let (world, _) = governed();
    let path = format!("/api/v1/projects/{}/queues/main", world.acme.project);
    let queue =
        |to: &str| json!({"project_id": world.acme.project, "slug": "main", "cluster_queue": to, "stop": "hold"});
    assert_eq!(put(&world, &world.operator, &path, &queue("vision")).status, 200);
    let moved = put(&world, &world.operator, &path, &queue("speech"));
    assert_eq!(refused(&moved), [("/cluster_queue".to_owned(), "settled".to_owned())]);
    let mut elsewhere = queue("vision");
    elsewhere["project_id"] = json!(world.umbrella.project);
    assert_eq!(refused(&put(&world, &world.operator, &path, &elsewhere))[0].1, "renamed");
    for (who, status) in [(&world.acme.admin, 403), (&world.worker, 403), (&world.umbrella.admin, 404)] {
        assert_eq!(put(&world, who, &path, &queue("vision")).status, status);
    }
    assert_eq!(body(&world.get(&world.worker, &path))["spec"]["stop"], "hold");
    let foreign = format!("/api/v1/projects/{}/queues", world.umbrella.project);
    let shut = json!({"project_id": world.umbrella.project, "slug": "main", "cluster_queue": "speech"});
    assert_eq!(refused(&put(&world, &world.operator, &format!("{foreign}/main"), &shut))[0].1, "not_open");
    let listed = body(&world.get(&world.worker, &format!("/api/v1/projects/{}/queues", world.acme.project)));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(world.get(&world.worker, &foreign).status, 404);
}

#[test]
fn closing_a_queue_to_somebody_inside_names_them() {
    let (world, all) = governed();
    let mut vision = all["cluster_queues"][0].clone();
    vision["open_to"] = json!({"tenants": [world.umbrella.tenant]});
    let shut = put(&world, &world.operator, "/api/v1/admin/cluster-queues/vision", &vision);
    let problem = shut.as_problem().unwrap();
    assert_eq!((shut.status, problem.code), (422, Code::GovernanceRefused));
    assert!(
        problem.errors[0].detail.contains("local_queue") && problem.errors[0].detail.contains("not_open"),
        "{problem}"
    );
}

#[test]
fn what_is_referred_to_stays_and_the_referrer_is_named() {
    let (world, _) = governed();
    for (path, by) in [
        ("/api/v1/admin/topologies/rows", "flavor h200 refers to it at /topology"),
        ("/api/v1/flavors/h200", "refers to it at"),
        ("/api/v1/priority-classes/low", "hardware_profile big refers to it at /priority_class"),
        ("/api/v1/admin/cohorts/science", "cluster_queue speech refers to it at /cohort, and 1 more"),
        ("/api/v1/admin/cluster-queues/vision", "/main refers to it at /cluster_queue"),
    ] {
        let kept = world.delete(&world.operator, path, None);
        let problem = kept.as_problem().unwrap();
        assert_eq!((kept.status, problem.code), (409, Code::StillInUse), "{path}");
        assert!(problem.detail.contains(by), "{path}: {}", problem.detail);
    }
    let local = format!("/api/v1/projects/{}/queues/main", world.acme.project);
    for path in ["/api/v1/hardware-profiles/big", &local, "/api/v1/admin/cluster-queues/vision"] {
        assert_eq!(world.delete(&world.operator, path, None).status, 204, "{path}");
        assert_eq!(world.get(&world.operator, path).status, 404);
    }
}

#[test]
fn quota_below_usage_and_weight_zero_are_told_and_done() {
    let (world, mut all) = governed();
    all["cluster_queues"][0]["weight_milli"] = 0.into();
    all["cluster_queues"][0]["resource_groups"][0]["flavors"][0]["quotas"][0]["nominal"] = 0.into();
    let applied = apply(&world, &all, &json!({}));
    let told: Vec<Value> = body(&applied)["findings"].as_array().unwrap().clone();
    let codes: Vec<&str> = told.iter().map(|finding| finding["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["weight_zero", "quota_below_usage"], "acme holds an allocation");
    assert!(told.iter().all(|finding| finding["refuses"] == false));
    assert_eq!(body(&world.get(&world.operator, "/api/v1/admin/cluster-queues/vision"))["spec"]["weight_milli"], 0);
}

#[test]
fn everybody_sees_what_to_choose_by_and_only_operators_the_rest() {
    let (world, _) = governed();
    for path in ["flavors", "priority-classes", "hardware-profiles"] {
        let listed = world.get(&world.worker, &format!("/api/v1/{path}"));
        assert_eq!(listed.status, 200, "{path}");
        assert!(!body(&listed)["items"].as_array().unwrap().is_empty());
    }
    for path in ["topologies/rows", "cohorts/all", "cluster-queues/vision", "cohorts/nothing"] {
        assert_eq!(world.get(&world.worker, &format!("/api/v1/admin/{path}")).status, 404, "{path}");
    }
    for path in ["governance", "cohorts", "cluster-queues", "topologies"] {
        assert_eq!(world.get(&world.worker, &format!("/api/v1/admin/{path}")).status, 403, "{path}");
        assert_eq!(world.get(&world.auditor, &format!("/api/v1/admin/{path}")).status, 200, "{path}");
    }
    let path = "/api/v1/flavors/new";
    assert_eq!(put(&world, &world.worker, path, &json!({"slug": "new"})).status, 403);
}
