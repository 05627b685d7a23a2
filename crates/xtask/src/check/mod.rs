//! The rules of the workspace as code. Each rule is a pure function from a loaded [`Workspace`] to violations, and each
//! has tests that plant the violation it exists for: a rule that cannot fail is not a rule.
//!
//! A violation prints as `file:line: rule: why`, and the why ends with what would be accepted.

mod clippy_config;
mod docs;
mod edges;
mod links;
mod lints;
mod names;
mod purity;
mod sizes;
mod tokens;
mod unsafety;
mod workspace;

use std::fmt;
pub use workspace::Workspace;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path from the workspace's root.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The rule's name, as in [`RULES`].
    pub rule: &'static str,
    /// What is wrong, and what would be accepted.
    pub why: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.rule, self.why)
    }
}

/// A rule: its name, what it asks, and the function that finds what breaks it.
pub struct Rule {
    /// Printed with each violation.
    pub name: &'static str,
    /// One sentence for `cargo xtask rules`.
    pub asks: &'static str,
    find: fn(&Workspace) -> Vec<Violation>,
}

/// Every rule that `check` runs.
pub const RULES: &[Rule] = &[
    Rule { name: "edge", asks: "a crate uses only the crates that its row of the table names", find: edges::find },
    Rule {
        name: "pure-dependency",
        asks: "model, topology, engine, govern and lifecycle depend on plain data crates only",
        find: purity::dependencies,
    },
    Rule {
        name: "pure-source",
        asks: "the pure crates touch no clock, randomness, environment, file, network, thread or process",
        find: purity::sources,
    },
    Rule {
        name: "clippy-config",
        asks: "bans in clippy.toml carry a reason, and the pure crates have theirs",
        find: clippy_config::find,
    },
    Rule { name: "lints", asks: "every crate inherits the workspace's lints", find: lints::find },
    Rule {
        name: "unsafe",
        asks: "no unsafe code, except agent's ioctl module with a SAFETY note each",
        find: unsafety::find,
    },
    Rule { name: "file-size", asks: "a file has at most 800 lines", find: sizes::files },
    Rule { name: "function-size", asks: "a function has at most 70 lines", find: sizes::functions },
    Rule { name: "module-doc", asks: "every file opens with //! that says what it is for", find: docs::find },
    Rule { name: "link", asks: "a link in a document leads to a file that is there", find: links::find },
    Rule { name: "name", asks: "no name says Manager, Util or Helper", find: names::find },
];

/// Runs every rule; the result is sorted by place.
pub fn run(workspace: &Workspace) -> Vec<Violation> {
    let mut all: Vec<Violation> = RULES.iter().flat_map(|rule| (rule.find)(workspace)).collect();
    all.sort();
    all
}

/// The rules as text for people.
pub fn rules_text() -> String {
    RULES.iter().map(|rule| format!("{:<16} {}\n", rule.name, rule.asks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workspace::planted;

    #[test]
    fn a_violation_prints_as_place_rule_and_reason() {
        let violation = Violation { file: "a/b.rs".into(), line: 7, rule: "name", why: "because".into() };
        assert_eq!(violation.to_string(), "a/b.rs:7: name: because");
    }

    #[test]
    fn a_workspace_that_keeps_the_rules_has_no_violations() {
        assert_eq!(run(&planted::clean()), Vec::new());
    }

    #[test]
    fn every_listed_rule_can_fail_and_says_what_would_be_accepted() {
        let mut workspace = planted::clean();
        let engine = workspace.krate("engine");
        engine.uses("control", false, true);
        engine.uses("tokio", false, false);
        engine.clippy = None;
        engine.manifest_set("[package]\nname = \"engine\"\n");
        let body = "    step();\n".repeat(800);
        let text = format!("use std::fs;\nstruct Util;\nfn long() {{\n    unsafe {{ g() }}\n{body}}}\n");
        workspace.source("engine", "crates/engine/src/planted.rs", &text);
        workspace.documents.insert("README.md".into(), "[gone](docs/gone.md)".into());
        let found = run(&workspace);
        for rule in RULES {
            let broken: Vec<_> = found.iter().filter(|violation| violation.rule == rule.name).collect();
            assert!(!broken.is_empty(), "nothing broke {}", rule.name);
            assert!(broken.iter().all(|violation| violation.why.contains("accepted: ")), "{broken:?}");
        }
    }

    #[test]
    fn violations_carry_the_name_of_a_listed_rule_and_come_sorted() {
        let mut workspace = planted::clean();
        workspace.source("engine", "crates/engine/src/b.rs", "fn a() {}\nstruct JobManager;\n");
        workspace.source("engine", "crates/engine/src/a.rs", "//! A.\nuse std::fs;\n");
        let found = run(&workspace);
        assert!(found.iter().all(|violation| RULES.iter().any(|rule| rule.name == violation.rule)), "{found:?}");
        let places: Vec<_> = found.iter().map(|violation| (violation.file.as_str(), violation.line)).collect();
        assert_eq!(
            places,
            [("crates/engine/src/a.rs", 2), ("crates/engine/src/b.rs", 1), ("crates/engine/src/b.rs", 2)]
        );
    }
}
