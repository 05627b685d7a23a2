//! Every crate lives under the same lints. Cargo lets a crate leave `[lints] workspace = true` out without a word, and then
//! none of the workspace's lints apply to it; this rule is what notices.
//!
//! Cargo has no way to inherit lints and change one. So `agent`, which may have one module of unsafe code, may instead
//! repeat the workspace's table with `unsafe_code = "deny"` as the only difference.

use super::{Violation, Workspace, workspace::Crate};
use toml::{Table, Value};

/// The crate that may deny unsafe code rather than forbid it.
pub const MAY_DENY_UNSAFE: &str = "agent";

/// Finds crates that do not inherit the lints, and a workspace that does not forbid unsafe code.
pub fn find(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    let lints = workspace.manifest.get("workspace").and_then(|table| table.get("lints")).cloned();
    if unsafe_level(lints.as_ref()) != Some("forbid") {
        let why = "the workspace does not forbid unsafe code; accepted: unsafe_code = \"forbid\" under [workspace.lints.rust]";
        found.push(Violation { file: "Cargo.toml".into(), line: 1, rule: "lints", why: why.into() });
    }
    for krate in &workspace.crates {
        let own = krate.manifest.get("lints");
        let inherits = own.and_then(|table| table.get("workspace")).and_then(Value::as_bool) == Some(true);
        if inherits || (krate.name == MAY_DENY_UNSAFE && repeats(own, lints.as_ref())) {
            continue;
        }
        found.push(violation(krate));
    }
    found
}

fn violation(krate: &Crate) -> Violation {
    let repeat = if krate.name == MAY_DENY_UNSAFE {
        ", or the whole of [workspace.lints] repeated with unsafe_code = \"deny\" as the only difference"
    } else {
        ""
    };
    let why =
        format!("`{}` is not under the workspace's lints; accepted: [lints] workspace = true{repeat}", krate.name);
    Violation { file: krate.manifest_path(), line: krate.manifest_line("[lints"), rule: "lints", why }
}

fn unsafe_level(lints: Option<&Value>) -> Option<&str> {
    let level = lints?.get("rust")?.get("unsafe_code")?;
    level.as_str().or_else(|| level.get("level")?.as_str())
}

/// Whether a table is the workspace's with unsafe code denied instead of forbidden.
fn repeats(own: Option<&Value>, workspace: Option<&Value>) -> bool {
    let (Some(own), Some(workspace)) = (own, workspace) else { return false };
    let without_unsafe = |lints: &Value| {
        let mut lints = lints.as_table().cloned().unwrap_or_default();
        if let Some(rust) = lints.get_mut("rust").and_then(Value::as_table_mut) {
            Table::remove(rust, "unsafe_code");
        }
        lints
    };
    unsafe_level(Some(own)) == Some("deny") && without_unsafe(own) == without_unsafe(workspace)
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    const REPEATED: &str = "[lints.rust]\nunsafe_code = \"deny\"\n[lints.clippy]\ntodo = \"deny\"\n";

    #[test]
    fn a_crate_without_the_lints_is_found() {
        for manifest in ["[package]\nname = \"engine\"\n", "[lints]\nworkspace = false\n", REPEATED] {
            let mut workspace = planted::clean();
            workspace.krate("engine").manifest_set(manifest);
            let found = find(&workspace);
            assert_eq!(found.len(), 1, "{manifest}");
            assert!(found[0].why.contains("accepted: [lints] workspace = true"), "{}", found[0].why);
        }
    }

    #[test]
    fn a_workspace_that_merely_denies_unsafe_code_is_found() {
        let mut workspace = planted::clean();
        workspace.manifest = "[workspace.lints.rust]\nunsafe_code = \"deny\"\n".parse().unwrap_or_default();
        assert_eq!(find(&workspace).len(), 1);
    }

    #[test]
    fn agent_may_repeat_the_table_with_one_difference_and_no_other() {
        let mut workspace = planted::clean();
        workspace.member("agent").manifest_set(REPEATED);
        assert_eq!(find(&workspace), Vec::new());
        for other in [
            REPEATED.replace("\"deny\"\n[lints.clippy]", "\"allow\"\n[lints.clippy]"),
            REPEATED.replace("todo = \"deny\"", "todo = \"allow\""),
            REPEATED.replace("todo = \"deny\"", ""),
        ] {
            workspace.krate("agent").manifest_set(&other);
            assert_eq!(find(&workspace).len(), 1, "{other}");
        }
    }
}
