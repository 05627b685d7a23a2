//! Unsafe code: none, but for one module of ioctls in `agent`, where every use says in a `SAFETY:` comment why it is sound.
//! The compiler forbids it elsewhere already; this rule also sees code behind features and `cfg`s that were not compiled,
//! and lints that were switched off.

use super::lints::MAY_DENY_UNSAFE;
use super::tokens;
use super::{Violation, Workspace};

const MODULE: &[&str] = &["crates/agent/src/ioctl.rs", "crates/agent/src/ioctl/mod.rs"];

/// Finds unsafe code and switched-off unsafe lints outside the one module, and uses without a note inside it.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &workspace.sources {
        let mut violation = |line: usize, why: &str| {
            found.push(Violation { file: source.path.clone(), line, rule: "unsafe", why: why.into() });
        };
        let in_module = MODULE.contains(&source.path.as_str());
        for line in tokens::lines_of_word(&source.text, "unsafe") {
            if !in_module {
                violation(line, "unsafe code; accepted: safe code, or an ioctl in agent's `ioctl` module");
            } else if !has_note(&source.text, line) {
                violation(line, "unsafe code without a note; accepted: a `// SAFETY:` comment directly above it");
            }
        }
        // `agent` names the lint once, where the module is declared; everywhere else nobody needs to.
        let declares = source.krate == MAY_DENY_UNSAFE && source.path == "crates/agent/src/lib.rs";
        for line in tokens::lines_of_word(&source.text, "unsafe_code") {
            let declared = declares && next_is_ioctl(&source.text, line);
            if !in_module && !declared {
                violation(
                    line,
                    "the lint against unsafe code is touched; accepted: on `mod ioctl;` in agent, and inside it",
                );
            }
        }
    }
    found
}

/// Whether the comment lines directly above a line, or the rest of it, say why it is sound.
fn has_note(text: &str, line: usize) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let above = lines[..line - 1].iter().rev().map(|line| line.trim());
    above.take_while(|line| line.starts_with("//") || line.starts_with("#[")).any(|line| line.contains("SAFETY: "))
}

/// Whether the attribute on a line belongs to the declaration of the module.
fn next_is_ioctl(text: &str, line: usize) -> bool {
    let mut below = text.lines().skip(line).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    below.next().is_some_and(|line| line.ends_with("mod ioctl;"))
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn count(krate: &str, path: &str, text: &str) -> usize {
        let mut workspace = planted::clean();
        workspace.source(krate, path, text);
        find(&workspace).len()
    }

    #[test]
    fn unsafe_code_outside_the_module_is_found_noted_or_not() {
        let noted = "fn f() {\n    // SAFETY: the pointer is ours.\n    unsafe { g() }\n}\n";
        for (krate, path) in [("engine", "crates/engine/src/a.rs"), ("agent", "crates/agent/src/wipe.rs")] {
            assert_eq!(count(krate, path, noted), 1, "{path}");
            assert_eq!(count(krate, path, "macro_rules! m { () => { unsafe { g() } } }"), 1, "{path}");
            assert_eq!(count(krate, path, "#![allow(unsafe_code)]\n"), 1, "{path}");
        }
        assert_eq!(count("store", "crates/store/src/ioctl.rs", noted), 1);
        assert_eq!(count("engine", "crates/engine/src/a.rs", "// unsafe\nfn f() -> &'static str { \"unsafe\" }"), 0);
    }

    #[test]
    fn inside_the_module_every_use_needs_its_note() {
        let path = "crates/agent/src/ioctl.rs";
        let noted = "#![allow(unsafe_code)]\nfn f() {\n    // SAFETY: the buffer outlives the call,\n    // and the size is its own.\n    unsafe { g() }\n}\n";
        assert_eq!(count("agent", path, noted), 0);
        assert_eq!(count("agent", path, "fn f() { unsafe { g() } }"), 1);
        assert_eq!(count("agent", path, "// SAFETY: far away.\n\nfn f() {\n    unsafe { g() }\n}\n"), 1);
        assert_eq!(count("agent", path, "// sound, trust me\nunsafe impl Send for A {}\n"), 1);
    }

    #[test]
    fn agent_may_name_the_lint_where_the_module_is_declared() {
        let path = "crates/agent/src/lib.rs";
        assert_eq!(count("agent", path, "//! A.\n#[allow(unsafe_code)]\nmod ioctl;\n"), 0);
        assert_eq!(count("agent", path, "//! A.\n#[allow(unsafe_code)]\nmod wipe;\n"), 1);
        assert_eq!(count("agent", path, "//! A.\n#![allow(unsafe_code)]\nmod wipe;\nmod ioctl;\n"), 1);
    }
}
