//! The walk that turns a host into a tree. It says what to look at and in which order; who does the looking is brought by
//! the caller: the agent with the files of a real root, a test with a fixture's.
//!
//! Links are followed here, one part of a path at a time and never above the root, so whoever looks is only ever asked for
//! paths without links in them. What cannot be read is left out and listed in [`crate::probe::CaptureReport`].

use crate::{
    manifest::{self, CAPTURED, PROBED, Pattern, Take},
    probe::{self, CaptureReport, SkippedPath},
    tree::{self, FILE_BYTES_MAX, Tree, TreeFault},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// More paths than this are not listed one by one.
const SKIPPED_MAX: usize = 256;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing, or nothing that may be seen.
    Nothing,
    /// A directory.
    Directory,
    /// A link, and what is written in it.
    Link(String),
    /// Anything else: a file, a device, a socket.
    File,
}

/// Someone who can look at a host. Paths are relative to its root and have no links in them.
pub trait Root {
    /// What is at a path, without following it.
    fn look(&mut self, path: &str) -> Found;
    /// The names in a directory.
    fn list(&mut self, path: &str) -> Result<Vec<String>, String>;
    /// A file's bytes, at most this many and one more. `None` when the kernel has no value to show: many files of
    /// `sysfs` exist and refuse to be read as long as a link is down or a function has no such property.
    fn read(&mut self, path: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, String>;
}

/// Whether the answers of programs are taken from files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probes {
    /// The root was captured before: its answers lie in it.
    FromFiles,
    /// The root is alive: the caller asks, and puts the answers in.
    Asked,
}

/// Walks a root by the manifest. Only the bounds of a tree as a whole can stop it.
pub fn capture(root: &mut impl Root, probes: Probes) -> Result<Tree, TreeFault> {
    let mut walk = Walk { root, tree: Tree::default(), skipped: BTreeSet::new() };
    let probed = if probes == Probes::FromFiles { PROBED } else { &[] };
    let wanted: Vec<Wanted> = CAPTURED.iter().chain(probed).flat_map(wanted).collect();
    walk.directory("", &wanted)?;
    walk.here(CAPTURED.iter().filter(|pattern| pattern.take == Take::TextHere))?;
    walk.finish()
}

/// What is still ahead on the way to one name.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    under: &'static str,
    name: &'static str,
    take: Take,
}

fn wanted(pattern: &Pattern) -> Vec<Wanted> {
    let names = if pattern.take == Take::TextHere { &[] } else { pattern.names };
    names.iter().map(|name| Wanted { under: pattern.under, name, take: pattern.take }).collect()
}

impl Wanted {
    fn first(self) -> &'static str {
        if self.under.is_empty() { self.name } else { self.under.split('/').next().unwrap_or_default() }
    }

    /// What is ahead after one step down; `None` when the step led to the name itself.
    fn rest(self) -> Option<Self> {
        let under = match self.under.split_once('/') {
            _ if self.under.is_empty() => return None,
            Some((_, rest)) => rest,
            None => "",
        };
        Some(Self { under, ..self })
    }
}

struct Walk<'a, R> {
    root: &'a mut R,
    tree: Tree,
    skipped: BTreeSet<SkippedPath>,
}

impl<R: Root> Walk<'_, R> {
    fn directory(&mut self, place: &str, wanted: &[Wanted]) -> Result<(), TreeFault> {
        let (open, plain): (Vec<Wanted>, Vec<Wanted>) = wanted.iter().partition(|wanted| wanted.first().contains('*'));
        let mut names: BTreeSet<String> = plain.iter().map(|wanted| wanted.first().to_owned()).collect();
        if !open.is_empty() {
            match self.root.list(place) {
                Ok(listed) => names.extend(listed),
                Err(reason) => self.skip(place, &reason),
            }
        }
        let mut steps: BTreeMap<String, Vec<Wanted>> = BTreeMap::new();
        for name in names {
            let here = wanted.iter().filter(|wanted| manifest::matches(wanted.first(), &name)).copied();
            let here: Vec<Wanted> = here.collect();
            if !here.is_empty() {
                steps.insert(name, here);
            }
        }
        steps.into_iter().try_for_each(|(name, wanted)| self.step(&tree::joined(place, &name), &wanted))
    }

    fn step(&mut self, place: &str, wanted: &[Wanted]) -> Result<(), TreeFault> {
        match self.root.look(place) {
            Found::Nothing => Ok(()),
            Found::Link(target) => {
                let put = self.tree.insert_link(place, target);
                self.put(place, put)?;
                let follows = |wanted: &&Wanted| wanted.rest().is_some() || wanted.take != Take::Link;
                let beyond: Vec<Wanted> = wanted.iter().filter(follows).copied().collect();
                if beyond.is_empty() {
                    return Ok(());
                }
                // A link to nothing is no fault: hot-plugged devices leave them behind.
                match self.behind(place)? {
                    Some(behind) if self.root.look(&behind) != Found::Nothing => self.step(&behind, &beyond),
                    _ => Ok(()),
                }
            }
            Found::Directory => {
                let inside: Vec<Wanted> = wanted.iter().filter_map(|wanted| wanted.rest()).collect();
                if inside.is_empty() { Ok(()) } else { self.directory(place, &inside) }
            }
            Found::File => {
                let here = wanted.iter().find(|wanted| wanted.rest().is_none() && wanted.take != Take::Link);
                here.map_or(Ok(()), |wanted| self.file(place, place, wanted.take))
            }
        }
    }

    /// Where a link leads, every link passed taken along.
    fn behind(&mut self, place: &str) -> Result<Option<String>, TreeFault> {
        let mut passed = Vec::new();
        let behind = tree::follow(place, &mut |path| match self.root.look(path) {
            Found::Link(target) => {
                passed.push((path.to_owned(), target.clone()));
                Some(target)
            }
            _ => None,
        });
        for (path, target) in passed {
            let put = self.tree.insert_link(&path, target);
            self.put(&path, put)?;
        }
        Ok(behind)
    }

    /// Files whose way is not kept.
    fn here<'p>(&mut self, patterns: impl Iterator<Item = &'p Pattern>) -> Result<(), TreeFault> {
        for pattern in patterns {
            for name in pattern.names {
                let path = tree::joined(pattern.under, name);
                let behind = tree::follow(&path, &mut |path| match self.root.look(path) {
                    Found::Link(target) => Some(target),
                    _ => None,
                });
                if let Some(behind) = behind.filter(|behind| self.root.look(behind) == Found::File) {
                    self.file(&behind, &path, Take::Text)?;
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &str, to: &str, take: Take) -> Result<(), TreeFault> {
        if take == Take::Presence {
            let put = self.tree.insert_file(to, "");
            return self.put(to, put);
        }
        let bytes = match self.root.read(from, FILE_BYTES_MAX) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(()),
            Err(reason) => {
                self.skip(to, &reason);
                return Ok(());
            }
        };
        let text = if take == Take::Hex { hex(&bytes) } else { String::from_utf8_lossy(&bytes).into_owned() };
        let put = self.tree.insert_file(to, text);
        self.put(to, put)
    }

    /// One path that does not fit is left out; a tree that is full ends the walk.
    fn put(&mut self, path: &str, put: Result<(), TreeFault>) -> Result<(), TreeFault> {
        match put {
            Err(fault @ (TreeFault::TooManyEntries | TreeFault::TooLarge)) => Err(fault),
            Err(fault) => {
                self.skip(path, &fault.to_string());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn skip(&mut self, path: &str, reason: &str) {
        let brief = |text: &str| text.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
        self.skipped.insert(SkippedPath { path: brief(path), reason: brief(reason) });
    }

    fn finish(mut self) -> Result<Tree, TreeFault> {
        if self.skipped.is_empty() {
            return Ok(self.tree);
        }
        let before = self.tree.text(probe::CAPTURE).and_then(|text| serde_json::from_str::<CaptureReport>(text).ok());
        self.skipped.extend(before.into_iter().flat_map(|report| report.skipped));
        let report = CaptureReport { skipped: self.skipped.into_iter().take(SKIPPED_MAX).collect() };
        let text = serde_json::to_string(&report).unwrap_or_default();
        self.tree.insert_file(probe::CAPTURE, text)?;
        Ok(self.tree)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A host of three maps. Directories are implied.
    #[derive(Default)]
    struct Fake {
        files: BTreeMap<&'static str, Result<Option<Vec<u8>>, &'static str>>,
        links: BTreeMap<&'static str, &'static str>,
        looked_at: BTreeSet<String>,
    }

    impl Root for Fake {
        fn look(&mut self, path: &str) -> Found {
            self.looked_at.insert(path.to_owned());
            let inside = format!("{path}/");
            let holds = |key: &&str| key.starts_with(&inside);
            if let Some(target) = self.links.get(path) {
                Found::Link((*target).to_owned())
            } else if self.files.contains_key(path) {
                Found::File
            } else if self.files.keys().any(holds) || self.links.keys().any(holds) {
                Found::Directory
            } else {
                Found::Nothing
            }
        }
        fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
            let prefix = format!("{path}/");
            let keys = self.files.keys().chain(self.links.keys());
            Ok(keys
                .filter_map(|key| key.strip_prefix(&prefix))
                .map(|rest| rest.split('/').next().unwrap().to_owned())
                .collect())
        }
        fn read(&mut self, path: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, String> {
            let bytes = self.files[path].clone().map_err(str::to_owned)?;
            Ok(bytes.map(|bytes| bytes.into_iter().take(bytes_max + 1).collect()))
        }
    }

    fn host() -> Fake {
        let text = |text: &str| Ok(Some(text.as_bytes().to_vec()));
        Fake {
            files: BTreeMap::from([
                ("sys/devices/pci0000:00/0000:00:03.0/vendor", text("0x15b3\n")),
                ("sys/devices/pci0000:00/0000:00:03.0/config", text("never taken")),
                ("sys/devices/pci0000:00/0000:00:03.0/numa_node", Ok(None)),
                ("sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu", text("1500\n")),
                ("sys/bus/pci/drivers/vfio-pci/new_id", Err("permission denied")),
                (
                    "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                    Ok(Some(vec![6, 0, 0, 0, 1])),
                ),
                ("proc/77/mountinfo", text("mounts")),
                ("proc/cmdline", Err("input/output error")),
                ("proc/swaps", Ok(Some(vec![b'x'; FILE_BYTES_MAX + 10]))),
                ("probe/tools.json", text("{}")),
                ("etc/shadow", text("never taken")),
            ]),
            links: BTreeMap::from([
                ("proc/self", "77"),
                ("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0"),
                ("sys/bus/pci/devices/0000:00:09.0", "../../../devices/gone"),
                ("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/net/eth0"),
                ("sys/devices/pci0000:00/0000:00:03.0/driver", "../../../bus/pci/drivers/mlx5_core"),
                ("sys/class/dmi/id", "../../../../etc"),
            ]),
            looked_at: BTreeSet::new(),
        }
    }

    #[test]
    fn files_lie_where_links_lead_and_only_what_is_listed_is_taken() {
        let mut host = host();
        let tree = capture(&mut host, Probes::Asked).unwrap();
        assert_eq!(tree.text("sys/bus/pci/devices/0000:00:03.0/vendor"), Some("0x15b3"));
        assert_eq!(tree.link_name("sys/bus/pci/devices/0000:00:03.0/driver"), Some("mlx5_core"));
        assert_eq!(tree.text("sys/class/net/eth0/mtu"), Some("1500"));
        let secure_boot = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
        assert_eq!(tree.text(secure_boot), Some("0600000001"));
        assert_eq!(tree.text("sys/bus/pci/drivers/vfio-pci/new_id"), Some(""), "there, and not opened");
        assert_eq!(tree.text("proc/self/mountinfo"), Some("mounts"), "no number of a process is kept");
        let kept: Vec<&String> = tree.entries().keys().collect();
        assert!(!kept.iter().any(|path| path.contains("config") || path.contains("etc") || path.contains("77")));
        assert!(!kept.iter().any(|path| path.ends_with("numa_node") || path.ends_with("tools.json")), "{kept:?}");
        assert!(!host.looked_at.iter().any(|path| path.contains("..") || path.starts_with("etc")));
    }

    #[test]
    fn what_cannot_be_read_is_listed_with_the_reason() {
        let tree = capture(&mut host(), Probes::FromFiles).unwrap();
        assert_eq!(tree.text("probe/tools.json"), Some("{}"));
        let report: CaptureReport = serde_json::from_str(tree.text(probe::CAPTURE).unwrap()).unwrap();
        let skipped: Vec<_> = report.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason.as_str())).collect();
        assert_eq!(
            skipped,
            [("proc/cmdline", "input/output error"), ("proc/swaps", "`proc/swaps` is larger than 65536 bytes")]
        );
    }
}
