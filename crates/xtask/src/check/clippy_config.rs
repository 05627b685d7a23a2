//! Bans in `clippy.toml`: clippy resolves types, so it sees what a search for words cannot. Each ban carries its reason,
//! because the reason is what a person reads when the build stops.
//!
//! A crate's own `clippy.toml` replaces the workspace's rather than adding to it, so a pure crate's file must repeat it.

use super::purity::PURE;
use super::{Violation, Workspace};
use toml::{Table, Value};

const BAN_LISTS: &[&str] = &["disallowed-types", "disallowed-methods", "disallowed-macros"];

const TYPES: &[&str] = &[
    "std::time::SystemTime",
    "std::time::Instant",
    "std::fs::File",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "std::process::Command",
];
const UNORDERED: &[&str] = &["std::collections::HashMap", "std::collections::HashSet"];
const METHODS: &[&str] = &[
    "std::env::var",
    "std::env::var_os",
    "std::env::vars",
    "std::env::args",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::thread::spawn",
    "std::thread::sleep",
    "std::process::exit",
];

/// Finds bans without a reason and pure crates without their bans.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut violation = |file: &str, line: usize, why: String| {
        found.push(Violation { file: file.to_owned(), line, rule: "clippy-config", why });
    };
    let root = workspace.clippy.as_deref().map(|text| parsed(text, "clippy.toml", &mut violation));
    let root = root.unwrap_or_else(|| {
        violation("clippy.toml", 1, "there is none; accepted: a clippy.toml at the workspace's root".into());
        Table::new()
    });
    for krate in &workspace.crates {
        let file = format!("{}/clippy.toml", krate.dir);
        let own = krate.clippy.as_deref().map(|text| parsed(text, &file, &mut violation));
        let pure = PURE.contains(&krate.name.as_str());
        match own {
            None if pure => {
                let why = format!("pure crate `{}` has no clippy.toml; accepted: one that bans\n{}", krate.name, {
                    required_text(&krate.name)
                });
                violation(&file, 1, why);
            }
            None => {}
            Some(own) => {
                let required = if pure { required(&krate.name) } else { Vec::new() };
                for missing in missing(&own, &root, &required) {
                    violation(&file, 1, format!("does not say {missing}; accepted: the same file with it"));
                }
            }
        }
    }
    found
}

/// Reads a file, and reports bans without a reason.
fn parsed(text: &str, file: &str, violation: &mut impl FnMut(&str, usize, String)) -> Table {
    let table = text.parse::<Table>().unwrap_or_else(|error| {
        violation(file, 1, format!("does not parse: {error}; accepted: TOML"));
        Table::new()
    });
    for list in BAN_LISTS {
        for entry in table.get(*list).and_then(Value::as_array).into_iter().flatten() {
            let path = ban_path(entry).unwrap_or("?");
            let reason = entry.get("reason").and_then(Value::as_str).unwrap_or_default();
            if reason.trim().is_empty() {
                let line = text.lines().position(|line| line.contains(path)).map_or(1, |index| index + 1);
                let accepted = format!("{{ path = \"{path}\", reason = \"…\" }}");
                violation(file, line, format!("`{path}` is banned without a reason; accepted: {accepted}"));
            }
        }
    }
    table
}

fn ban_path(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| entry.get("path")?.as_str())
}

/// What a crate's file lacks: settings and bans of the workspace's file, and bans that a pure crate must have.
fn missing(own: &Table, root: &Table, required: &[(&str, &str)]) -> Vec<String> {
    let settings = root.iter().filter(|(key, _)| !BAN_LISTS.contains(&key.as_str()));
    let mut missing: Vec<String> = settings
        .filter(|(key, value)| own.get(*key) != Some(*value))
        .map(|(key, value)| format!("`{key} = {value}`, as the workspace's clippy.toml does"))
        .collect();
    let bans = |table: &'_ Table, list: &str| -> Vec<String> {
        let entries = table.get(list).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(ban_path).map(ToOwned::to_owned).collect()
    };
    for list in BAN_LISTS {
        let (have, mut want) = (bans(own, list), bans(root, list));
        want.extend(required.iter().filter(|(of, _)| of == list).map(|(_, path)| (*path).to_owned()));
        want.retain(|path| !have.contains(path));
        missing.extend(want.iter().map(|path| format!("`{path}` under {list}")));
    }
    missing
}

fn required(krate: &str) -> Vec<(&'static str, &'static str)> {
    // Ids and views in `model` are never iterated in map order; the other three decide, so order is part of the answer.
    let unordered = if krate == "model" { &[] } else { UNORDERED };
    let types = TYPES.iter().chain(unordered).map(|path| ("disallowed-types", *path));
    types.chain(METHODS.iter().map(|path| ("disallowed-methods", *path))).collect()
}

/// The bans that a pure crate must have, as a file that would pass with reasons of one's own.
pub fn required_text(krate: &str) -> String {
    let mut text = String::from("too-many-lines-threshold = 70\n");
    for list in ["disallowed-types", "disallowed-methods"] {
        text += &format!("{list} = [\n");
        for (_, path) in required(krate).iter().filter(|(of, _)| *of == list) {
            text += &format!("  {{ path = \"{path}\", reason = \"a pure crate does not touch the world\" }},\n");
        }
        text += "]\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn found_with(krate: &str, clippy: Option<String>) -> Vec<Violation> {
        let mut workspace = planted::clean();
        workspace.krate(krate).clippy = clippy;
        find(&workspace)
    }

    #[test]
    fn a_pure_crate_without_its_bans_is_found() {
        let found = found_with("engine", None);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("std::time::Instant"), "{}", found[0].why);
        assert_eq!(found_with("control", None), Vec::new());
    }

    #[test]
    fn each_missing_ban_is_named() {
        for (_, path) in required("engine") {
            let kept: Vec<String> = required_text("engine")
                .lines()
                .filter(|line| !line.contains(&format!("\"{path}\"")))
                .map(Into::into)
                .collect();
            let found = found_with("engine", Some(kept.join("\n")));
            assert_eq!(found.len(), 1, "{path}");
            assert!(found[0].why.contains(path), "{}", found[0].why);
        }
    }

    #[test]
    fn a_ban_without_a_reason_is_found_with_its_line() {
        let workspace_wide = |text: &str| {
            let mut workspace = planted::clean();
            workspace.krate("engine").clippy =
                Some(required_text("engine") + "disallowed-macros = [{ path = \"std::todo\", reason = \"r\" }]\n");
            workspace.clippy = Some(text.into());
            find(&workspace)
        };
        assert_eq!(workspace_wide("disallowed-macros = [\n  \"std::todo\",\n]\n").len(), 1);
        assert_eq!(workspace_wide("disallowed-macros = [\n  \"std::todo\",\n]\n")[0].line, 2);
        assert_eq!(workspace_wide("disallowed-macros = [{ path = \"std::todo\", reason = \" \" }]\n").len(), 1);
        assert_eq!(workspace_wide("disallowed-macros = [{ path = \"std::todo\", reason = \"r\" }]\n"), Vec::new());
    }

    #[test]
    fn a_crates_own_file_may_not_drop_what_the_workspace_says() {
        let found = found_with("control", Some("allow-unwrap-in-tests = true\n".into()));
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("too-many-lines-threshold = 70"), "{}", found[0].why);
    }

    #[test]
    fn a_workspace_without_a_file_or_with_a_broken_one_is_found() {
        let mut workspace = planted::clean();
        workspace.clippy = None;
        assert_eq!(find(&workspace).len(), 1);
        workspace.clippy = Some("= nonsense".into());
        assert_eq!(find(&workspace).len(), 1);
    }
}
