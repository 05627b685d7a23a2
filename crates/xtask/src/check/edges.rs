//! Which crate may use which. The table below is the law; `docs/decisions/0001-workspace-and-rules.md` says why each row is
//! as it is. Edges only go downwards, so a room can be understood from the rooms under it, and cargo refuses circles.

use super::{Violation, Workspace, workspace::Dependency};

/// One crate's row: what its code may use, and what its tests may use besides.
struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
    tests_may_use: &'static [&'static str],
}

const ANY: &[&str] = &["*"];

const ROOMS: &[Room] = &[
    Room { name: "model", may_use: &[], tests_may_use: &[] },
    Room { name: "topology", may_use: &["model"], tests_may_use: &[] },
    Room { name: "engine", may_use: &["model", "topology"], tests_may_use: &[] },
    // Who may have how much, when, and at whose cost; knows amounts and names, not machines.
    Room { name: "govern", may_use: &["model"], tests_may_use: &[] },
    // Replays traces through the engine of governance; reads no files itself.
    Room { name: "lab", may_use: &["govern"], tests_may_use: &[] },
    Room { name: "lifecycle", may_use: &["model"], tests_may_use: &[] },
    // What discovery finds and what a decision counts are part of the contract, so their types are the pure rooms' own.
    Room { name: "api", may_use: &["model", "topology", "engine"], tests_may_use: &[] },
    Room { name: "store", may_use: &["model"], tests_may_use: &[] },
    // Whole machines and who provides them; above the host's rooms because control orders them, not an agent.
    Room { name: "machines", may_use: &["model"], tests_may_use: &[] },
    // The portal's files as they were built; knows nothing of what they show.
    Room { name: "portal", may_use: &[], tests_may_use: &[] },
    Room {
        name: "control",
        may_use: &["model", "topology", "engine", "govern", "lifecycle", "api", "store", "machines", "portal"],
        // The world that control's tests run in; the other direction is the normal one.
        tests_may_use: &["agent", "sim"],
    },
    // What is done to a real host, each by itself; the agent puts them together.
    Room { name: "command", may_use: &[], tests_may_use: &[] },
    Room { name: "disk", may_use: &["model", "command"], tests_may_use: &[] },
    Room { name: "guest", may_use: &["model", "command"], tests_may_use: &[] },
    Room { name: "network", may_use: &["model", "command"], tests_may_use: &[] },
    Room { name: "devices", may_use: &["command"], tests_may_use: &[] },
    // The root process that puts them together; the agent asks it over a socket and does none of it itself.
    Room {
        name: "hostd",
        may_use: &["model", "command", "disk", "guest", "network", "devices"],
        tests_may_use: &["hostbox"],
    },
    // The host that tests and measurements run on; nothing that ships may use it.
    Room { name: "hostbox", may_use: &["model", "command"], tests_may_use: &[] },
    Room { name: "agent", may_use: &["model", "topology", "api", "command", "hostd"], tests_may_use: &["hostbox"] },
    Room {
        // Beyond control, agent and engine: the words they speak, and the store that the invariants are read from.
        name: "sim",
        may_use: &["model", "topology", "engine", "lifecycle", "api", "store", "machines", "control", "agent"],
        tests_may_use: &[],
    },
    Room {
        // Beyond api, control and sim: the words, and the store that `serve`, `dev` and `verify` open.
        name: "cli",
        may_use: &["model", "api", "store", "machines", "control", "sim", "lab"],
        tests_may_use: &["agent", "hostd", "hostbox"],
    },
    Room { name: "xtask", may_use: ANY, tests_may_use: ANY },
];

/// Finds edges that the table does not have, and crates that it does not know.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for krate in &workspace.crates {
        let Some(room) = ROOMS.iter().find(|room| room.name == krate.name) else {
            let why = format!(
                "crate `{}` has no row in the table of rooms; accepted: a row in crates/xtask/src/check/edges.rs with a \
                 decision record, or one of {}",
                krate.name,
                list(&ROOMS.iter().map(|room| room.name).collect::<Vec<_>>())
            );
            found.push(Violation { file: krate.manifest_path(), line: 1, rule: "edge", why });
            continue;
        };
        for dependency in krate.uses.iter().filter(|dependency| dependency.member && !allowed(room, dependency)) {
            let kind = if dependency.dev { " in tests" } else { "" };
            let accepted =
                if dependency.dev { [room.may_use, room.tests_may_use].concat() } else { room.may_use.to_vec() };
            let why =
                format!("`{}` may not use `{}`{kind}; accepted: {}", krate.name, dependency.name, list(&accepted));
            let line = krate.manifest_line(&dependency.name);
            found.push(Violation { file: krate.manifest_path(), line, rule: "edge", why });
        }
    }
    found
}

fn allowed(room: &Room, dependency: &Dependency) -> bool {
    let names = |list: &[&str]| list == ANY || list.contains(&dependency.name.as_str());
    // A crate that names itself for its tests switches a feature of its own on; that is no edge.
    let itself = dependency.dev && dependency.name == room.name;
    itself || names(room.may_use) || (dependency.dev && names(room.tests_may_use))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no crate of this workspace".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    #[test]
    fn an_edge_upwards_is_found_with_its_line() {
        let mut workspace = planted::clean();
        workspace.krate("engine").uses("store", false, true);
        let found = find(&workspace);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].file.as_str(), found[0].line), ("crates/engine/Cargo.toml", 6));
        assert!(found[0].why.contains("`engine` may not use `store`"), "{}", found[0].why);
        assert!(found[0].why.contains("accepted: model, topology"), "{}", found[0].why);
    }

    #[test]
    fn an_edge_of_the_table_is_accepted() {
        let mut workspace = planted::clean();
        workspace.krate("engine").uses("topology", false, true);
        workspace.krate("control").uses("store", false, true);
        assert_eq!(find(&workspace), Vec::new());
    }

    #[test]
    fn a_wider_edge_is_for_tests_only() {
        let mut workspace = planted::clean();
        workspace.krate("control").uses("sim", true, true);
        assert_eq!(find(&workspace), Vec::new());
        workspace.krate("control").uses("sim", false, true);
        assert_eq!(find(&workspace).len(), 1);
        workspace.krate("engine").uses("sim", true, true);
        assert_eq!(find(&workspace).len(), 2);
    }

    #[test]
    fn a_crate_may_name_itself_for_its_tests() {
        let mut workspace = planted::clean();
        workspace.krate("engine").uses("engine", true, true);
        assert_eq!(find(&workspace), Vec::new());
        workspace.krate("engine").uses("engine", false, true);
        assert_eq!(find(&workspace).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let mut workspace = planted::clean();
        workspace.member("gateway");
        let found = find(&workspace);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("`gateway` has no row"), "{}", found[0].why);
    }

    #[test]
    fn no_row_allows_a_crate_that_comes_later_in_the_table() {
        for (index, room) in ROOMS.iter().enumerate().filter(|(_, room)| room.may_use != ANY) {
            for used in room.may_use {
                let place = ROOMS.iter().position(|other| other.name == *used);
                assert!(place.is_some_and(|place| place < index), "{} uses {used}", room.name);
            }
        }
    }
}
