//! What the rules look at: crates with their manifests and dependencies from `cargo metadata`, and every Rust source of
//! theirs. Loading is the only part of the check that reads the disk; the rules see plain data.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A loaded workspace.
#[derive(Debug, Default)]
pub struct Workspace {
    /// The root `Cargo.toml`.
    pub manifest: toml::Table,
    /// The root `clippy.toml`, if there is one.
    pub clippy: Option<String>,
    /// Members, sorted by name.
    pub crates: Vec<Crate>,
    /// Every Rust file of every member, sorted by path.
    pub sources: Vec<Source>,
    /// The text of every Markdown file at the root and under `docs/`, by path from the root.
    pub documents: BTreeMap<String, String>,
    /// Every file and directory at the root and under `docs/`, for links to be checked against.
    pub paths: BTreeSet<String>,
}

/// One member.
#[derive(Debug, Default)]
pub struct Crate {
    /// Its package name.
    pub name: String,
    /// Its directory, from the workspace's root.
    pub dir: String,
    /// The text of its `Cargo.toml`.
    pub manifest_text: String,
    /// The same, parsed.
    pub manifest: toml::Table,
    /// The text of its own `clippy.toml`, if it has one.
    pub clippy: Option<String>,
    /// Direct dependencies.
    pub uses: Vec<Dependency>,
    /// Names of every package in its build, through any number of steps, development dependencies left out.
    pub reach: BTreeSet<String>,
}

/// One direct dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// Only tests, benchmarks and examples see it.
    pub dev: bool,
    /// It is a member of this workspace.
    pub member: bool,
}

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    /// The member it belongs to.
    pub krate: String,
    /// Its path from the workspace's root.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Workspace {
    /// Reads the workspace rooted at a directory.
    pub fn load(root: &Path) -> Result<Self, String> {
        // One platform, so that crates only other systems need are not fetched to be looked at.
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .other_options(["--filter-platform".to_owned(), host])
            .exec()
            .map_err(|error| format!("cargo metadata: {error}"))?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let mut workspace = Self {
            manifest: toml_read(&root.join("Cargo.toml"))?.1,
            clippy: text_read_if_there(&root.join("clippy.toml"))?,
            ..Self::default()
        };
        let members: BTreeSet<String> =
            metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect();
        for package in metadata.workspace_packages() {
            let dir = package.manifest_path.parent().ok_or("a manifest without a directory")?.as_std_path();
            let (manifest_text, manifest) = toml_read(package.manifest_path.as_std_path())?;
            let uses = package.dependencies.iter().map(|dependency| Dependency {
                name: dependency.name.clone(),
                dev: dependency.kind == DependencyKind::Development,
                member: members.contains(&dependency.name),
            });
            let name = package.name.to_string();
            sources_read(&root, dir, &name, &mut workspace.sources)?;
            workspace.crates.push(Crate {
                dir: relative(&root, dir),
                manifest_text,
                manifest,
                clippy: text_read_if_there(&dir.join("clippy.toml"))?,
                uses: uses.collect(),
                reach: reach(&metadata, &package.id),
                name,
            });
        }
        for (path, text) in documents_read(&root, &mut workspace.paths)? {
            workspace.documents.insert(path, text);
        }
        workspace.crates.sort_by(|a, b| a.name.cmp(&b.name));
        workspace.sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(workspace)
    }
}

impl Crate {
    /// Where its manifest is, from the workspace's root.
    pub fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.dir)
    }

    /// The line of the manifest that starts with a key, or 1.
    pub fn manifest_line(&self, key: &str) -> usize {
        let starts = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=', ']']) || rest.is_empty())
        };
        self.manifest_text.lines().position(|line| starts(line.trim())).map_or(1, |index| index + 1)
    }
}

fn reach(metadata: &Metadata, from: &PackageId) -> BTreeSet<String> {
    let names: BTreeMap<&PackageId, &str> =
        metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |resolve| &resolve.nodes);
    let edges: BTreeMap<&PackageId, Vec<&PackageId>> = nodes
        .iter()
        .map(|node| {
            let built = node.deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| !is_dev(kind.kind)));
            (&node.id, built.map(|dep| &dep.pkg).collect())
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        let next = edges.get(id).into_iter().flatten().copied();
        open.extend(next.filter(|id| seen.insert(*id)));
    }
    seen.into_iter().filter_map(|id| names.get(id)).map(|name| (*name).to_owned()).collect()
}

fn is_dev(kind: DependencyKind) -> bool {
    kind == DependencyKind::Development
}

fn sources_read(root: &Path, dir: &Path, krate: &str, into: &mut Vec<Source>) -> Result<(), String> {
    let mut open: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = std::fs::read_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", dir.display()))?;
            // Links are not followed: fixtures of hosts have many, and sources have none.
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = entry.path();
            let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            let is_target = path.file_name().is_some_and(|name| name == "target");
            if is_dir && !hidden && !is_target {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = text_read(&path)?;
                into.push(Source { krate: krate.to_owned(), path: relative(root, &path), text });
            }
        }
    }
    Ok(())
}

/// Reads the documents, and notes every path that a link could point to.
fn documents_read(root: &Path, paths: &mut BTreeSet<String>) -> Result<Vec<(String, String)>, String> {
    let mut documents = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", dir.display()))?.path();
            let name = relative(root, &path);
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push((name.clone(), text_read(&path)?));
            } else if path.is_dir() && (name == "docs" || name.starts_with("docs/")) {
                open.push(path);
            }
            paths.insert(name);
        }
    }
    Ok(documents)
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn text_read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn text_read_if_there(path: &Path) -> Result<Option<String>, String> {
    if path.exists() { text_read(path).map(Some) } else { Ok(None) }
}

fn toml_read(path: &Path) -> Result<(String, toml::Table), String> {
    let text = text_read(path)?;
    let table = text.parse::<toml::Table>().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((text, table))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod planted {
    //! Workspaces made by hand, for rules to be tried on: one that keeps every rule, and ways to break it.

    use super::*;

    /// Two crates that keep every rule.
    pub fn clean() -> Workspace {
        let lints = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[workspace.lints.clippy]\ntodo = \"deny\"\n";
        let mut workspace = Workspace {
            manifest: lints.parse().unwrap(),
            clippy: Some("too-many-lines-threshold = 70\n".into()),
            ..Workspace::default()
        };
        workspace.member("engine").clippy = Some(super::super::clippy_config::required_text("engine"));
        workspace.member("control");
        workspace.source("engine", "crates/engine/src/lib.rs", "//! Decides.\npub fn decide() {}\n");
        workspace
    }

    impl Workspace {
        /// Adds a member without dependencies.
        pub fn member(&mut self, name: &str) -> &mut Crate {
            let manifest_text = format!("[package]\nname = \"{name}\"\n\n[lints]\nworkspace = true\n");
            let manifest = manifest_text.parse().unwrap();
            let dir = format!("crates/{name}");
            self.crates.push(Crate { name: name.into(), dir, manifest_text, manifest, ..Crate::default() });
            self.crates.last_mut().unwrap()
        }

        /// The member of that name.
        pub fn krate(&mut self, name: &str) -> &mut Crate {
            self.crates.iter_mut().find(|krate| krate.name == name).unwrap()
        }

        /// Adds a file.
        pub fn source(&mut self, krate: &str, path: &str, text: &str) {
            self.sources.push(Source { krate: krate.into(), path: path.into(), text: text.into() });
        }
    }

    impl Crate {
        /// Adds a dependency, in the manifest too.
        pub fn uses(&mut self, name: &str, dev: bool, member: bool) {
            self.manifest_text.push_str(&format!("{name}.workspace = true\n"));
            self.uses.push(Dependency { name: name.into(), dev, member });
        }

        /// Replaces the manifest.
        pub fn manifest_set(&mut self, text: &str) {
            self.manifest_text = text.to_owned();
            self.manifest = text.parse().unwrap();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn loading_finds_this_very_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
        let workspace = Workspace::load(root).unwrap();
        let names: Vec<&str> = workspace.crates.iter().map(|krate| krate.name.as_str()).collect();
        for expected in ["agent", "control", "engine", "lifecycle", "model", "store", "topology", "xtask"] {
            assert!(names.contains(&expected), "{expected} is missing from {names:?}");
        }
        let own = workspace.crates.iter().find(|krate| krate.name == "xtask").unwrap();
        assert!(own.reach.contains("serde") && own.uses.iter().any(|dependency| dependency.name == "syn"));
        assert!(own.manifest_line("syn") > 1 && own.manifest_line("[lints]") > 1);
        assert!(workspace.sources.iter().any(|source| source.path == "crates/xtask/src/check/workspace.rs"));
        assert!(workspace.documents.contains_key("README.md") && workspace.paths.contains("docs/pictures/road.svg"));
    }

    #[test]
    fn a_directory_without_a_workspace_is_an_error_with_its_path() {
        let nowhere = Path::new("/nonexistent");
        assert!(Workspace::load(nowhere).is_err());
    }
}
