//! The captured hosts under `fixtures/`: each is read back by the same walk that the agent does, and has to give what is
//! committed next to it, byte for byte. `UPDATE_GENERATED=1` writes the simulated ones and all results anew.
// The crate reads no files and no environment; a test that compares it with committed directories has to.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use serde::Serialize;
use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use topology::{
    Discovery, Entry, Naming, Tree, candidates,
    capture::{Found, Probes, Root, capture},
    discover,
    manifest::{self, Take},
    readiness,
    simulated::{HostSpec, trees},
};

const FILES_MAX: usize = 1500;
const BYTES_MAX: usize = 3_000_000;
const DISCOVERY_BYTES_MAX: usize = 256 * 1024;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn updates() -> bool {
    std::env::var_os("UPDATE_GENERATED").is_some_and(|value| value == "1")
}

/// A directory as a host.
struct Directory(PathBuf);

impl Root for Directory {
    fn look(&mut self, path: &str) -> Found {
        match fs::symlink_metadata(self.0.join(path)) {
            Err(_) => Found::Nothing,
            Ok(seen) if seen.is_dir() => Found::Directory,
            Ok(seen) if seen.is_symlink() => {
                Found::Link(fs::read_link(self.0.join(path)).unwrap().to_str().unwrap().to_owned())
            }
            Ok(_) => Found::File,
        }
    }
    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        match fs::read_dir(self.0.join(path)) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(fault) => Err(fault.to_string()),
            Ok(names) => Ok(names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()),
        }
    }
    fn read(&mut self, path: &str, _: usize) -> Result<Option<Vec<u8>>, String> {
        fs::read(self.0.join(path)).map(Some).map_err(|fault| fault.to_string())
    }
}

fn read_back(name: &str) -> Tree {
    capture(&mut Directory(fixture(name).join("root")), Probes::FromFiles).unwrap()
}

fn write(name: &str, tree: &Tree) {
    let root = fixture(name).join("root");
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    for (path, entry) in tree.entries() {
        let at = root.join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        match entry {
            Entry::Link(target) => symlink(target, &at).unwrap(),
            Entry::File(digits) if manifest::take_of(path) == Some(Take::Hex) => fs::write(&at, bytes(digits)).unwrap(),
            Entry::File(text) => fs::write(&at, text).unwrap(),
        }
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn count(directory: &Path) -> (usize, usize) {
    let mut total = (0, 0);
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        let (files, bytes) = if kind.is_dir() {
            count(&entry.path())
        } else {
            (1, usize::try_from(entry.metadata().unwrap().len()).unwrap())
        };
        total = (total.0 + files, total.1 + bytes);
    }
    total
}

fn compare(name: &str, file: &str, value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).unwrap() + "\n";
    let path = fixture(name).join(file);
    if updates() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} differs; run with UPDATE_GENERATED=1 and review the change", path.display());
}

fn spec(number: u32, name: &str) -> HostSpec {
    HostSpec { number, name: name.into(), gpus: 8 }
}

/// Every directory. The place in the list is the node's number, so new ones come last.
const HOSTS: [&str; 6] = ["hgx-h200", "a100", "half-broken", "h200-vm", "h200-host", "dev-machine"];

type Make = fn(&HostSpec) -> Tree;

const SIMULATED: [(&str, u32, Make); 3] =
    [("hgx-h200", 1, trees::hgx_h200), ("a100", 2, trees::a100), ("half-broken", 3, trees::half_broken)];

#[test]
fn simulated_hosts_are_committed_as_they_are_made() {
    let mut bytes = 0;
    for (name, number, make) in SIMULATED {
        let tree = make(&spec(number, name));
        if updates() {
            write(name, &tree);
        }
        let back = read_back(name);
        for (path, entry) in tree.entries() {
            assert_eq!(back.entries().get(path), Some(entry), "{name}: {path} is made and not captured");
        }
        assert_eq!(back.entries().len(), tree.entries().len(), "{name}: files that are captured and not made");
        let (files, more) = count(&fixture(name));
        assert!(files < FILES_MAX, "{name} has {files} files");
        bytes += more;
    }
    assert!(bytes < BYTES_MAX, "{bytes} bytes in all");
}

#[test]
fn a_written_capture_can_be_walked_by_programs_that_follow_links() {
    for (name, number, make) in SIMULATED {
        let tree = make(&spec(number, name));
        let mut open = vec![String::new()];
        let mut seen = 0;
        while let Some(directory) = open.pop() {
            seen += 1;
            assert!(seen < 100_000, "{name}: the links go in circles, at {directory}");
            let inside = tree.children(&directory).into_iter();
            let inside = inside.map(|child| topology::tree::joined(&directory, child));
            open.extend(inside.filter(|path| tree.text(path).is_none() && tree.exists(path)));
        }
        assert!(seen > 100, "{name}: {seen} directories");
    }
}

#[test]
fn every_host_gives_what_is_committed_next_to_it() {
    for (number, name) in (1u32..).zip(HOSTS) {
        // The directory has to be there before it is read; the other test may be writing it at this moment.
        let tree = match SIMULATED.iter().find(|(simulated, ..)| *simulated == name) {
            Some((_, number, make)) if updates() => make(&spec(*number, name)),
            _ => read_back(name),
        };
        let discovery = discover(&tree);
        let naming =
            Naming { node_number: number, pool_number: number - 1, pool_range: Some("10.64.0.0/12".parse().unwrap()) };
        compare(name, "expected.json", &discovery);
        compare(name, "readiness.json", &readiness::readiness(&discovery));
        compare(name, "candidates.json", &candidates(&discovery, &naming));

        let text = serde_json::to_string(&discovery).unwrap();
        assert!(text.len() < DISCOVERY_BYTES_MAX, "{name}: {} bytes", text.len());
        assert_eq!(serde_json::from_str::<Discovery>(&text).unwrap(), discovery, "{name} survives JSON");
        let again: Tree = serde_json::from_str(&serde_json::to_string(&tree).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&discover(&again)).unwrap(), text, "{name}: same tree, same words");
    }
}
