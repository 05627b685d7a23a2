//! The four pure crates: same input, same output, on any machine and on any day. They may depend on crates that only shape
//! data, and their sources may not name anything that reads the world or gives another answer the second time.
//!
//! What is only ever run by a developer is not held to the source rule: a test under `tests/` may read a captured tree.
//! Clippy bans the same things with types resolved; this rule sees what a local `#[allow]` would hide from clippy.

use super::tokens::{self, Path};
use super::{Violation, Workspace};

/// The pure crates.
pub const PURE: &[&str] = &["model", "topology", "engine", "govern", "lifecycle"];

const MAY_USE: &[&str] = &["jiff", "schemars", "serde", "serde_json", "sha2", "thiserror", "ulid"];
const TESTS_MAY_USE: &[&str] = &["proptest"];

/// Packages that must not be in a pure crate's build, however far down.
const MUST_NOT_REACH: &[(&str, &str)] = &[
    ("getrandom", "it draws from the operating system"),
    ("rand", "randomness is brought by the caller"),
    ("tokio", "the core is synchronous"),
    ("mio", "it does I/O"),
    ("rusqlite", "SQL lives in `store`"),
    ("libsqlite3-sys", "SQL lives in `store`"),
    ("tokio-postgres", "SQL lives in `store`"),
];

/// Something a pure crate's source may not name.
pub struct Ban {
    path: &'static str,
    why: &'static str,
    instead: &'static str,
    /// Last segments under the path that are plain data.
    except: &'static [&'static str],
    only_in: &'static [&'static str],
}

const fn ban(path: &'static str, why: &'static str, instead: &'static str) -> Ban {
    Ban { path, why, instead, except: &[], only_in: PURE }
}

const fn unordered(path: &'static str) -> Ban {
    Ban {
        path,
        why: "its order changes from run to run",
        instead: "BTreeMap or BTreeSet",
        except: &[],
        only_in: &["topology", "engine", "govern", "lifecycle"],
    }
}

const ADDRESSES: &[&str] = &["IpAddr", "Ipv4Addr", "Ipv6Addr", "AddrParseError"];

const BANS: &[Ban] = &[
    ban("std::time::SystemTime", "it reads a clock", "a model::Timestamp argument"),
    ban("std::time::Instant", "it reads a clock", "a model::Timestamp argument"),
    ban("jiff::Timestamp::now", "it reads a clock", "a model::Timestamp argument"),
    ban("jiff::Zoned::now", "it reads a clock", "a model::Timestamp argument"),
    ban("jiff::tz::TimeZone::system", "it reads the environment", "UTC"),
    ban("std::env", "it reads the environment", "an argument"),
    ban("env!", "it reads the environment of the build", "an argument"),
    ban("option_env!", "it reads the environment of the build", "an argument"),
    ban("std::fs", "it reads or writes files", "the file's text as an argument, or include_str! in a test"),
    Ban {
        path: "std::net",
        why: "it opens sockets",
        instead: "the address types IpAddr, Ipv4Addr, Ipv6Addr, which are plain data",
        except: ADDRESSES,
        only_in: PURE,
    },
    ban("std::os", "it is the operating system", "an argument"),
    ban("std::thread", "it makes the order of things depend on the machine", "a plain loop"),
    ban("std::process", "it starts or ends processes", "a returned value that the caller acts on"),
    ban("std::io", "it does I/O", "text or bytes as argument and result; std::fmt::Write to build text"),
    ban("tokio", "the core is synchronous", "a plain function"),
    ban("rusqlite", "SQL lives in `store`", "rows as arguments"),
    ban("tokio_postgres", "SQL lives in `store`", "rows as arguments"),
    ban("rand", "it gives another answer the second time", "random bits as an argument"),
    ban("getrandom", "it gives another answer the second time", "random bits as an argument"),
    unordered("std::collections::HashMap"),
    unordered("std::collections::HashSet"),
    unordered("std::collections::hash_map"),
    unordered("std::collections::hash_set"),
    unordered("std::hash::RandomState"),
];

/// Finds dependencies of pure crates that are not on the list, directly or further down.
pub fn dependencies(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for krate in workspace.crates.iter().filter(|krate| PURE.contains(&krate.name.as_str())) {
        let mut violation = |line: usize, why: String| {
            found.push(Violation { file: krate.manifest_path(), line, rule: "pure-dependency", why });
        };
        for used in krate.uses.iter().filter(|used| !used.member) {
            let name = used.name.as_str();
            if !(MAY_USE.contains(&name) || used.dev && TESTS_MAY_USE.contains(&name)) {
                let accepted = MAY_USE.join(", ");
                let why = format!("pure crate `{}` may not depend on `{name}`; accepted: {accepted}", krate.name);
                let tests =
                    if used.dev { format!(", and for tests {}", TESTS_MAY_USE.join(", ")) } else { String::new() };
                violation(krate.manifest_line(name), why + &tests);
            }
        }
        for (name, reason) in MUST_NOT_REACH.iter().filter(|(name, _)| krate.reach.contains(*name)) {
            let why = format!(
                "pure crate `{}` reaches `{name}`, and {reason}; accepted: the same dependencies without the feature \
                 that brings it (`cargo tree -p {} -i {name}` shows the way)",
                krate.name, krate.name
            );
            violation(1, why);
        }
    }
    found
}

/// Finds banned paths in the sources of pure crates.
pub fn sources(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    let pure = workspace.sources.iter().filter(|source| PURE.contains(&source.krate.as_str()));
    let outside = |path: &str| ["/tests/", "/benches/", "/examples/"].iter().any(|part| path.contains(part));
    for source in pure.filter(|source| source.path.contains("/src/") || !outside(&source.path)) {
        let bans: Vec<&Ban> = BANS.iter().filter(|ban| ban.only_in.contains(&source.krate.as_str())).collect();
        for path in tokens::paths(&source.text) {
            if let Some(ban) = bans.iter().find(|ban| ban.hits(&path)) {
                let named = path.segments.join("::");
                let why = format!("`{}` may not use `{named}`: {}; accepted: {}", source.krate, ban.why, ban.instead);
                found.push(Violation { file: source.path.clone(), line: path.line, rule: "pure-source", why });
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

impl Ban {
    fn hits(&self, path: &Path) -> bool {
        let banned: Vec<&str> = self.path.split("::").collect();
        let named: Vec<&str> = path.segments.iter().map(String::as_str).collect();
        if let Some(("*", above)) = named.split_last().map(|(last, above)| (*last, above)) {
            return banned.starts_with(above) || above.starts_with(&banned);
        }
        let exempt = named.get(banned.len()).is_some_and(|next| self.except.contains(next));
        named.starts_with(&banned) && !exempt
    }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn found_in(krate: &str, text: &str) -> Vec<Violation> {
        let mut workspace = planted::clean();
        workspace.source(krate, &format!("crates/{krate}/src/planted.rs"), text);
        sources(&workspace)
    }

    #[test]
    fn every_ban_is_found_by_path_and_by_import() {
        for ban in BANS.iter().filter(|ban| !ban.path.ends_with('!')) {
            let krate = ban.only_in[0];
            let by_path = found_in(krate, &format!("//! P.\nfn f() {{ {}::x() }}\n", ban.path));
            assert_eq!(by_path.len(), 1, "{} by path: {by_path:?}", ban.path);
            assert_eq!(by_path[0].line, 2);
            assert!(by_path[0].why.contains(ban.instead), "{}", by_path[0].why);
            let by_import = found_in(krate, &format!("//! P.\nuse {} as quiet;\n", ban.path));
            assert_eq!(by_import.len(), 1, "{} by import: {by_import:?}", ban.path);
        }
        assert_eq!(found_in("model", "fn f() -> &'static str { env!(\"HOME\") }").len(), 1);
        assert_eq!(found_in("model", "fn f() -> Option<&str> { option_env!(\"HOME\") }").len(), 1);
    }

    #[test]
    fn a_glob_that_would_bring_a_banned_name_is_found() {
        assert_eq!(found_in("engine", "use std::time::*;").len(), 1);
        assert_eq!(found_in("engine", "use std::collections::*;").len(), 1);
        assert_eq!(found_in("model", "use std::fmt::*;").len(), 0);
        assert_eq!(found_in("engine", "use super::*;").len(), 0);
    }

    #[test]
    fn plain_data_is_accepted() {
        let text = "use std::{collections::BTreeMap, net::Ipv4Addr, time::Duration};\nfn f() { std::net::IpAddr::from([0; 4]) }";
        assert_eq!(found_in("topology", text), Vec::new());
        assert_eq!(found_in("topology", "use std::net::TcpStream;").len(), 1);
    }

    #[test]
    fn unordered_maps_are_banned_where_order_decides_and_only_there() {
        let text = "use std::collections::{BTreeSet, HashMap};";
        for krate in ["topology", "engine", "govern", "lifecycle"] {
            assert_eq!(found_in(krate, text).len(), 1, "{krate}");
        }
        assert_eq!(found_in("model", text), Vec::new());
    }

    #[test]
    fn other_crates_and_integration_tests_may_touch_the_world() {
        let mut workspace = planted::clean();
        workspace.source("control", "crates/control/src/lib.rs", "use std::fs;");
        workspace.source("topology", "crates/topology/tests/captured.rs", "use std::fs;");
        assert_eq!(sources(&workspace), Vec::new());
        workspace.source("topology", "crates/topology/build.rs", "use std::fs;");
        workspace.source("topology", "crates/topology/src/tests/captured.rs", "use std::fs;");
        assert_eq!(sources(&workspace).len(), 2);
    }

    #[test]
    fn a_dependency_off_the_list_is_found() {
        let mut workspace = planted::clean();
        workspace.krate("engine").uses("serde", false, false);
        workspace.krate("engine").uses("proptest", true, false);
        assert_eq!(dependencies(&workspace), Vec::new());
        workspace.krate("engine").uses("tokio", false, false);
        workspace.krate("engine").uses("tempfile", true, false);
        workspace.krate("engine").uses("proptest", false, false);
        let found = dependencies(&workspace);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].why.contains("may not depend on `tokio`; accepted: jiff"), "{}", found[0].why);
        assert!(found[1].why.contains("for tests proptest"), "{}", found[1].why);
    }

    #[test]
    fn a_dependency_that_a_feature_drags_in_is_found() {
        let mut workspace = planted::clean();
        workspace.krate("control").reach.insert("getrandom".into());
        assert_eq!(dependencies(&workspace), Vec::new());
        workspace.krate("engine").reach.insert("getrandom".into());
        let found = dependencies(&workspace);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("reaches `getrandom`"), "{}", found[0].why);
    }
}
