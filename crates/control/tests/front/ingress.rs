//! Ways in: refused until somebody owns them, then only inside of what was set aside, each address and port once.

use model::allocation::{Desired, State};
use serde_json::{Value, json};
use store::allocations::{self, Entering};

use crate::world::{Actor, Estate, World, body};
use control::front_door::{Request, Response};

fn settings(low: i64, high: i64) -> Value {
    json!({
        "firewall_owner": "Network team", "address_owner": "Address team",
        "ranges": [{"addresses": "203.0.113.9/32", "port_min": low, "port_max": high}]
    })
}

fn set(world: &World, who: &Actor, what: &Value) -> Response {
    let path = format!("/api/v1/regions/{}/ingress-settings", world.region);
    world.send(Request::new("PUT", &path).bearer(&who.secret).json(what.to_string()))
}

fn place(world: &World, estate: &Estate) {
    let id = estate.allocation.clone();
    world.write(move |tx, stamp| {
        let row = allocations::get(tx, &id)?.unwrap();
        let entering = Entering { state: State::Reserved, observed: "{}", node_id: None, reason: None };
        allocations::enter(tx, stamp, &row, entering)
    });
}

fn ask(world: &World, who: &Actor, estate: &Estate, port: Option<i64>) -> Response {
    let mut wish = json!({"allocation_id": estate.allocation, "protocol": "tcp", "guest_port": 443});
    if let Some(port) = port {
        wish["public_port"] = port.into();
    }
    world.post(who, &format!("/api/v1/projects/{}/ingresses", estate.project), wish)
}

fn refused(response: &Response) -> (u16, String, String) {
    let problem = response.as_problem().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&response.body)));
    (response.status, problem.code.to_string(), problem.detail)
}

#[test]
fn nothing_comes_in_until_an_operator_has_said_who_owns_it() {
    let world = World::new();
    place(&world, &world.acme);
    let told = refused(&ask(&world, &world.worker, &world.acme, None));
    assert_eq!((told.0, told.1.as_str()), (409, "ingress_not_owned"));
    assert!(told.2.contains("set by an operator") && told.2.contains("eu-1"), "{}", told.2);
    let path = format!("/api/v1/regions/{}/ingress-settings", world.region);
    let shown = body(&world.get(&world.auditor, &path));
    assert_eq!((shown.get("firewall_owner"), shown["ranges"].as_array().unwrap().len()), (None, 0));
    for (who, status) in [(&world.auditor, 403), (&world.acme.admin, 403), (&world.worker, 403)] {
        assert_eq!(set(&world, who, &settings(2000, 2001)).status, status);
    }
    for (wrong, pointer) in [
        (json!({"firewall_owner": "x", "address_owner": "y", "ranges": []}), "/ranges"),
        (settings(2001, 2000), "/ranges/0/port_max"),
        (settings(0, 2000), "/ranges/0/port_min"),
    ] {
        let problem = set(&world, &world.operator, &wrong).as_problem().unwrap();
        assert_eq!((problem.status, problem.errors[0].pointer.as_str()), (400, pointer), "{problem}");
    }
    let shown = body(&set(&world, &world.operator, &settings(2000, 2001)));
    assert_eq!(shown["firewall_owner"], "Network team");
    let again = body(&set(&world, &world.operator, &settings(2000, 2001)));
    assert_eq!(again["ranges"], shown["ranges"], "setting the same twice is the same as once");
}

#[test]
fn a_way_in_is_inside_the_range_and_had_once() {
    let world = World::new();
    place(&world, &world.acme);
    place(&world, &world.umbrella);
    assert_eq!(set(&world, &world.operator, &settings(2000, 2001)).status, 200);
    let told = refused(&ask(&world, &world.worker, &world.acme, Some(22)));
    assert_eq!((told.0, told.1.as_str()), (422, "ingress_out_of_range"));
    assert!(told.2.contains("203.0.113.9/32 ports 2000 to 2001, found port 22"), "{}", told.2);
    let first = ask(&world, &world.worker, &world.acme, Some(2001));
    assert_eq!(first.status, 201);
    let shown = body(&first);
    assert_eq!(
        (&shown["address"], &shown["public_port"], &shown["execution"]),
        (&json!("203.0.113.9"), &json!(2001), &json!("accepted"))
    );
    let told = refused(&ask(&world, &world.umbrella.admin, &world.umbrella, Some(2001)));
    assert_eq!((told.0, told.1.as_str()), (409, "name_taken"));
    let second = ask(&world, &world.umbrella.admin, &world.umbrella, None);
    assert_eq!(body(&second)["public_port"], 2000);
    assert_eq!(refused(&ask(&world, &world.worker, &world.acme, None)).1, "state_conflict", "nothing is left");
    let listed = body(&world.get(&world.viewer, &format!("/api/v1/projects/{}/ingresses", world.acme.project)));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "each sees their own");
    let theirs = format!("/api/v1/ingresses/{}", body(&second)["id"].as_str().unwrap());
    assert_eq!(world.get(&world.worker, &theirs).status, 404);
    assert_eq!(world.delete(&world.worker, &theirs, None).status, 404);

    // What is in use must stay inside.
    assert_eq!(refused(&set(&world, &world.operator, &settings(2001, 2999))).1, "still_in_use");
    let path = format!("/api/v1/regions/{}/ingress-settings", world.region);
    assert_eq!(refused(&world.delete(&world.operator, &path, None)).1, "still_in_use");
    assert_eq!(world.delete(&world.umbrella.admin, &theirs, None).status, 204);
    assert_eq!(set(&world, &world.operator, &settings(2001, 2999)).status, 200);
    let mine = format!("/api/v1/ingresses/{}", shown["id"].as_str().unwrap());
    assert_eq!(world.delete(&world.viewer, &mine, None).status, 403);
    assert_eq!(world.delete(&world.worker, &mine, None).status, 204);
    for _ in 0..2 {
        assert_eq!(world.delete(&world.operator, &path, None).status, 204, "taking back what is not there succeeds");
    }
    assert_eq!(refused(&ask(&world, &world.worker, &world.acme, None)).1, "ingress_not_owned");
}

#[test]
fn only_what_has_a_place_and_is_to_stay_gets_a_way_in() {
    let world = World::new();
    assert_eq!(set(&world, &world.operator, &settings(2000, 2001)).status, 200);
    assert_eq!(refused(&ask(&world, &world.worker, &world.acme, None)).1, "state_conflict", "not placed yet");
    let foreign = Estate { project: world.acme.project.clone(), ..world.umbrella.clone() };
    assert_eq!(refused(&ask(&world, &world.worker, &foreign, None)).1, "unknown_reference");
    place(&world, &world.acme);
    let id = world.acme.allocation.clone();
    world.write(move |tx, stamp| {
        let row = allocations::get(tx, &id)?.unwrap();
        allocations::wish(tx, stamp, &row, Desired::Released, None)
    });
    assert_eq!(refused(&ask(&world, &world.worker, &world.acme, None)).1, "state_conflict", "on its way out");
}
