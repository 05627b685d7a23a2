//! A captured host as data: the few files and links of it that discovery reads, by their path below the root.
//!
//! A tree is what a host showed at one moment. It is made by [`crate::capture`] on a real host, by the simulator, or read
//! back from a fixture; whoever looks at it afterwards gets the same answer every time. Directories are implied by what
//! lies in them. Links are kept as links, because where a device hangs is written in them and nowhere else.
//!
//! A tree comes from a machine that may be broken or lying, so it is bounded: a path that could lead out of it, a file too
//! large or too many of them are refused when they are put in, and a link that leads in circles leads nowhere.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

/// The most entries of a tree.
pub const ENTRIES_MAX: usize = 65_536;
/// The largest file.
pub const FILE_BYTES_MAX: usize = 64 * 1024;
/// The most bytes of all paths, files and link targets together.
pub const TREE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest path and the longest link target.
pub const PATH_BYTES_MAX: usize = 1024;
/// How many links are followed on the way to one place; the kernel stops there too.
pub const LINKS_FOLLOWED_MAX: usize = 40;

/// What lies at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A file's text. Files that are not text are kept as lower-case hex digits; [`crate::manifest`] says which.
    File(String),
    /// Where a link points, as it is written in the link.
    Link(String),
}

/// Why something cannot be put into a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeFault {
    /// The path is absolute, empty, too long, or has a part that is empty, `.` or `..`.
    #[error("`{0}` is not a path below the root")]
    BadPath(String),
    /// A link without a usable target.
    #[error("the link `{0}` points nowhere: its target is empty or longer than {PATH_BYTES_MAX} bytes")]
    BadTarget(String),
    /// A file lies where a directory would have to be, or the other way round.
    #[error("`{0}` would be a directory and a file at once")]
    FileAndDirectory(String),
    /// The file is too large.
    #[error("`{0}` is larger than {FILE_BYTES_MAX} bytes")]
    FileTooLarge(String),
    /// There are too many entries.
    #[error("more than {ENTRIES_MAX} entries")]
    TooManyEntries,
    /// Everything together is too large.
    #[error("more than {TREE_BYTES_MAX} bytes in all")]
    TooLarge,
}

/// A captured host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Entry>", into = "BTreeMap<String, Entry>")]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
    bytes: usize,
}

impl Tree {
    /// Puts a file in, in place of what was there.
    pub fn insert_file(&mut self, path: &str, text: impl Into<String>) -> Result<(), TreeFault> {
        let text = text.into();
        if text.len() > FILE_BYTES_MAX {
            return Err(TreeFault::FileTooLarge(path.to_owned()));
        }
        self.insert(path, Entry::File(text))
    }

    /// Puts a link in, in place of what was there. A target that starts with `/` is meant below the tree's own root.
    pub fn insert_link(&mut self, path: &str, target: impl Into<String>) -> Result<(), TreeFault> {
        let target = target.into();
        if target.trim_matches('/').is_empty() || target.len() > PATH_BYTES_MAX || target.contains('\0') {
            return Err(TreeFault::BadTarget(path.to_owned()));
        }
        self.insert(path, Entry::Link(target))
    }

    /// Takes out what lies at a path and below it; says how many entries that were. Links are not followed.
    pub fn remove(&mut self, path: &str) -> usize {
        let below: Vec<String> = self.below(path).map(|(path, _)| path.clone()).collect();
        let mut removed = 0;
        for path in std::iter::once(path.to_owned()).chain(below) {
            if let Some(entry) = self.entries.remove(&path) {
                self.bytes -= path.len() + entry_bytes(&entry);
                removed += 1;
            }
        }
        removed
    }

    /// Every entry, by path.
    pub fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.entries
    }

    /// The text of a file without the white space around it, all links on the way followed.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.entries.get(&self.resolve(path)?)? {
            Entry::File(text) => Some(text.trim()),
            Entry::Link(_) => None,
        }
    }

    /// Where a link points, as it is written; links on the way to it are followed.
    pub fn link(&self, path: &str) -> Option<&str> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self.entries.get(&joined(&self.resolve(parent)?, name))? {
            Entry::Link(target) => Some(target),
            Entry::File(_) => None,
        }
    }

    /// The last part of where a link points: the driver's name, the group's number. The target need not be captured.
    pub fn link_name(&self, path: &str) -> Option<&str> {
        self.link(path)?.rsplit('/').find(|part| !part.is_empty())
    }

    /// The names in a directory, in order, all links on the way followed. Nothing when there is no such directory.
    pub fn children(&self, path: &str) -> Vec<&str> {
        let Some(place) = self.resolve(path) else { return Vec::new() };
        let prefix = if place.is_empty() { String::new() } else { place + "/" };
        let mut names = BTreeSet::new();
        let mut from = Bound::Included(prefix.clone());
        while let Some((path, _)) = self.entries.range::<String, _>((from, Bound::Unbounded)).next() {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            let name = rest.split('/').next().unwrap_or(rest);
            names.insert(name);
            // `0` is the letter after `/`: everything in the directory just seen comes before it.
            from = if name.len() < rest.len() {
                Bound::Included(format!("{prefix}{name}0"))
            } else {
                Bound::Excluded(path.clone())
            };
        }
        names.into_iter().collect()
    }

    /// Whether a file or directory is there, all links followed.
    pub fn exists(&self, path: &str) -> bool {
        self.resolve(path).is_some()
    }

    /// The path of a file or directory with all links followed. `None` when it is not captured, when the links lead in a
    /// circle, or when they lead out of the tree. The root is the empty path.
    pub fn resolve(&self, path: &str) -> Option<String> {
        let place = follow(path, &mut |path| match self.entries.get(path) {
            Some(Entry::Link(target)) => Some(target.clone()),
            _ => None,
        })?;
        let there = place.is_empty() || self.entries.contains_key(&place) || self.below(&place).next().is_some();
        there.then_some(place)
    }

    fn below(&self, path: &str) -> impl Iterator<Item = (&String, &Entry)> {
        let prefix = format!("{path}/");
        self.entries.range(prefix.clone()..).take_while(move |(path, _)| path.starts_with(&prefix))
    }

    fn insert(&mut self, path: &str, entry: Entry) -> Result<(), TreeFault> {
        if !is_below_root(path) {
            return Err(TreeFault::BadPath(path.to_owned()));
        }
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if self.below(path).next().is_some() || above.into_iter().any(|above| self.entries.contains_key(above)) {
            return Err(TreeFault::FileAndDirectory(path.to_owned()));
        }
        let before = self.entries.get(path).map(|before| path.len() + entry_bytes(before));
        if before.is_none() && self.entries.len() >= ENTRIES_MAX {
            return Err(TreeFault::TooManyEntries);
        }
        let bytes = self.bytes - before.unwrap_or(0) + path.len() + entry_bytes(&entry);
        if bytes > TREE_BYTES_MAX {
            return Err(TreeFault::TooLarge);
        }
        self.bytes = bytes;
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }
}

/// Follows the links of a path from the root, one part after the other. `link` says where the link at a path without links
/// points, if there is one. `None` when it goes in a circle or above the root.
pub fn follow(path: &str, link: &mut impl FnMut(&str) -> Option<String>) -> Option<String> {
    let mut ahead: Vec<String> = parts(path).rev().map(str::to_owned).collect();
    let mut place = String::new();
    let mut followed = 0;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            // Above the root there is nothing, so a link that points there is no link into the tree.
            if place.is_empty() {
                return None;
            }
            place.truncate(place.rfind('/').unwrap_or(0));
            continue;
        }
        let here = joined(&place, &part);
        match link(&here) {
            Some(target) => {
                followed += 1;
                if followed > LINKS_FOLLOWED_MAX {
                    return None;
                }
                if target.starts_with('/') {
                    place.clear();
                }
                ahead.extend(parts(&target).rev().map(str::to_owned));
            }
            None => place = here,
        }
    }
    Some(place)
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// A name in a directory as a path; the root is the empty path.
pub fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn is_below_root(path: &str) -> bool {
    let good = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= PATH_BYTES_MAX && !path.contains('\0') && path.split('/').all(good)
}

fn entry_bytes(entry: &Entry) -> usize {
    match entry {
        Entry::File(text) | Entry::Link(text) => text.len(),
    }
}

impl TryFrom<BTreeMap<String, Entry>> for Tree {
    type Error = TreeFault;
    fn try_from(entries: BTreeMap<String, Entry>) -> Result<Self, TreeFault> {
        let mut tree = Self::default();
        for (path, entry) in entries {
            match entry {
                Entry::File(text) => tree.insert_file(&path, text)?,
                Entry::Link(target) => tree.insert_link(&path, target)?,
            }
        }
        Ok(tree)
    }
}

impl From<Tree> for BTreeMap<String, Entry> {
    fn from(tree: Tree) -> Self {
        tree.entries
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tree(files: &[(&str, &str)], links: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.insert_file(path, *text).unwrap();
        }
        for (path, target) in links {
            tree.insert_link(path, *target).unwrap();
        }
        tree
    }

    #[test]
    fn a_path_is_followed_through_links_in_its_middle() {
        let tree = tree(
            &[("sys/devices/pci0000:00/0000:00:03.0/numa_node", "1\n"), ("sys/devices/a/net/eth0/mtu", "9000\n")],
            &[
                ("sys/class/net/eth0", "../../devices/a/net/eth0"),
                ("sys/devices/a/net/eth0/device", "/sys/bus/pci/devices/0000:00:03.0"),
                ("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0"),
            ],
        );
        assert_eq!(tree.text("sys/class/net/eth0/device/numa_node"), Some("1"));
        assert_eq!(tree.resolve("sys/class/net/eth0/device").unwrap(), "sys/devices/pci0000:00/0000:00:03.0");
        assert_eq!(tree.link_name("sys/class/net/eth0/device"), Some("0000:00:03.0"));
        assert_eq!(tree.children("sys/class/net/eth0"), ["device", "mtu"]);
        assert_eq!(tree.children(""), ["sys"]);
        assert_eq!(tree.text("sys/class/net"), None);
        assert!(tree.exists("sys/class/net/eth0/device") && !tree.exists("sys/class/net/eth1"));
    }

    #[test]
    fn links_in_a_circle_out_of_the_tree_or_to_nothing_lead_nowhere() {
        let tree = tree(
            &[("a/file", "x")],
            &[("a/self", "self"), ("a/b", "c"), ("a/c", "b"), ("a/out", "../../etc"), ("a/gone", "nothing")],
        );
        for path in ["a/self", "a/b", "a/out", "a/gone", "a/gone/file"] {
            assert_eq!(tree.resolve(path), None, "{path}");
            assert_eq!(tree.text(path), None, "{path}");
        }
        assert_eq!(tree.link("a/gone"), Some("nothing"));
    }

    #[test]
    fn children_are_listed_once_and_in_order_whatever_their_names_contain() {
        let tree = tree(&[("d/b/x", ""), ("d/b/y/z", ""), ("d/b-c/x", ""), ("d/b0", ""), ("d/a", ""), ("e", "")], &[]);
        assert_eq!(tree.children("d"), ["a", "b", "b-c", "b0"]);
        assert_eq!(tree.children("d/b"), ["x", "y"]);
        assert!(tree.children("none").is_empty() && tree.children("e").is_empty());
    }

    #[test]
    fn what_could_lead_out_or_is_two_things_at_once_is_refused() {
        let mut tree = tree(&[("a/b", "x")], &[]);
        for path in ["", "/a", "a//b", "a/../b", "./a", "a/", "a\0"] {
            assert_eq!(tree.insert_file(path, ""), Err(TreeFault::BadPath(path.into())), "{path:?}");
        }
        assert_eq!(tree.insert_file("a", ""), Err(TreeFault::FileAndDirectory("a".into())));
        assert_eq!(tree.insert_file("a/b/c", ""), Err(TreeFault::FileAndDirectory("a/b/c".into())));
        assert_eq!(tree.insert_link("l", ""), Err(TreeFault::BadTarget("l".into())));
        assert_eq!(tree.insert_link("l", "/"), Err(TreeFault::BadTarget("l".into())));
        tree.insert_file("a/b", "again").unwrap();
        assert_eq!(tree.text("a/b"), Some("again"));
    }

    #[test]
    fn sizes_are_bounded_and_what_is_taken_out_no_longer_counts() {
        let mut tree = Tree::default();
        let large = "x".repeat(FILE_BYTES_MAX);
        assert_eq!(tree.insert_file("f", large.clone() + "x"), Err(TreeFault::FileTooLarge("f".into())));
        let fit = TREE_BYTES_MAX / (FILE_BYTES_MAX + 5);
        for at in 0..fit {
            tree.insert_file(&format!("d/{at:03}"), large.clone()).unwrap();
        }
        assert_eq!(tree.insert_file("d/one-more", large.clone()), Err(TreeFault::TooLarge));
        assert_eq!(tree.remove("d"), fit);
        assert_eq!((tree.bytes, tree.entries.len()), (0, 0));
        for at in 0..ENTRIES_MAX {
            tree.insert_file(&format!("d/{at}"), "").unwrap();
        }
        assert_eq!(tree.insert_file("more", ""), Err(TreeFault::TooManyEntries));
        tree.insert_file("d/0", "in place").unwrap();
    }

    #[test]
    fn a_tree_survives_json_and_json_is_checked_as_strictly() {
        let tree = tree(&[("a/b", "x\n")], &[("l", "a/b")]);
        let text = serde_json::to_string(&tree).unwrap();
        assert_eq!(text, r#"{"a/b":{"file":"x\n"},"l":{"link":"a/b"}}"#);
        assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), tree);
        assert!(serde_json::from_str::<Tree>(r#"{"../etc":{"file":""}}"#).is_err());
        assert!(serde_json::from_str::<Tree>(r#"{"a":{"file":""},"a/b":{"file":""}}"#).is_err());
    }
}
