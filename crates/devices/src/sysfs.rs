//! The one way in which this room reads and writes the kernel's files. Everything else takes a [`SysFs`], so that tests can
//! put a kernel of their own behind it. Paths are relative: to the root of sysfs, and for device nodes to the root of `/dev`.
//!
//! A write to sysfs is a call into a driver, and a driver may sit in it for ever (an `unbind` waits for the last user of the
//! device). So the real one writes on a thread of its own and gives up after a time; the thread cannot be ended, only left.

use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

// More than any file that is read here holds: a function's whole configuration space has 4096 bytes.
const READ_BYTES_MAX: u64 = 64 * 1024;
// More than any host has PCI functions or virtual functions.
const ENTRIES_MAX: usize = 16 * 1024;

/// What stands at a path below `/dev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// Nothing.
    Absent,
    /// A device that nobody holds.
    Free,
    /// A device that somebody holds.
    Held,
}

/// The kernel's files.
pub trait SysFs: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;
    /// The last name of what a link points at.
    fn read_link(&self, path: &str) -> io::Result<String>;
    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// Writes a text to a file that is there; makes none.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    /// What stands at a path below `/dev`. A VFIO group can be held by one only, and says so when it is opened.
    fn node(&self, path: &str) -> io::Result<Node>;
}

/// The files of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFiles {
    /// The root of sysfs.
    pub sys: PathBuf,
    /// Where device nodes are.
    pub dev: PathBuf,
    /// How long one write may take.
    pub write_s_max: u64,
}

impl Default for HostFiles {
    fn default() -> Self {
        Self { sys: "/sys".into(), dev: "/dev".into(), write_s_max: 60 }
    }
}

impl SysFs for HostFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = vec![];
        File::open(below(&self.sys, path)?)?.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_link(&self, path: &str) -> io::Result<String> {
        let target = fs::read_link(below(&self.sys, path)?)?;
        let name = target.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the link points at nothing that has a name"))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = vec![];
        for entry in fs::read_dir(below(&self.sys, path)?)? {
            let name = entry?.file_name().into_string();
            names.push(name.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a name is no text"))?);
            if names.len() > ENTRIES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "there are too many entries"));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let (path, text) = (below(&self.sys, path)?, text.to_owned());
        let (tell, told) = mpsc::channel();
        let write = move || {
            // Opened without making it: a name that the kernel does not have must stay a failure.
            let done = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()));
            let _ = tell.send(done);
        };
        thread::Builder::new().name("sysfs-write".to_owned()).spawn(write)?;
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", self.write_s_max));
        told.recv_timeout(Duration::from_secs(self.write_s_max)).unwrap_or_else(|_| Err(late()))
    }

    fn node(&self, path: &str) -> io::Result<Node> {
        match OpenOptions::new().read(true).write(true).open(below(&self.dev, path)?) {
            Ok(_) => Ok(Node::Free),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Node::Absent),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(Node::Held),
            Err(error) => Err(error),
        }
    }
}

// Names come from checked addresses and from the kernel itself; this keeps a slip from leaving the root.
fn below(root: &Path, path: &str) -> io::Result<PathBuf> {
    let plain = !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if plain {
        Ok(root.join(path))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leaves its root"))
    }
}

/// How long to look for something that the kernel does a moment later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// How long at most.
    pub at_most_ms: u64,
    /// How long between two looks.
    pub every_ms: u64,
}

impl Default for Settle {
    fn default() -> Self {
        Self { at_most_ms: 10_000, every_ms: 50 }
    }
}

impl Settle {
    /// One look and no more.
    pub const NONE: Self = Self { at_most_ms: 0, every_ms: 1 };

    /// Looks until it is as expected, at least once. The last thing seen comes back if it never is.
    pub fn until<T, E>(self, mut look: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let late = Instant::now() + Duration::from_millis(self.at_most_ms);
        loop {
            match look() {
                Err(_) if Instant::now() < late => thread::sleep(Duration::from_millis(self.every_ms.max(1))),
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn files() -> (tempfile::TempDir, HostFiles) {
        let folder = tempfile::tempdir().unwrap();
        let (sys, dev) = (folder.path().join("sys"), folder.path().join("dev"));
        fs::create_dir_all(sys.join("bus/pci")).unwrap();
        fs::create_dir_all(dev.join("vfio")).unwrap();
        (folder, HostFiles { sys, dev, write_s_max: 5 })
    }

    #[test]
    fn a_file_is_written_where_it_is_and_never_made() {
        let (_folder, files) = files();
        fs::write(files.sys.join("bus/pci/rescan"), "").unwrap();
        files.write("bus/pci/rescan", "1").unwrap();
        assert_eq!(files.read("bus/pci/rescan").unwrap(), b"1");
        assert_eq!(files.write("bus/pci/other", "1").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(files.list("bus/pci").unwrap(), ["rescan"]);
    }

    #[test]
    fn no_path_leaves_its_root() {
        let (_folder, files) = files();
        for path in ["", "/etc/passwd", "../x", "bus/../../x", "bus//pci", "./bus"] {
            assert_eq!(files.read(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path}");
            assert_eq!(files.write(path, "1").unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path}");
            assert_eq!(files.node(path).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{path}");
        }
    }

    #[test]
    fn a_link_answers_with_the_last_name_and_a_node_with_its_state() {
        let (_folder, files) = files();
        std::os::unix::fs::symlink("../../drivers/vfio-pci", files.sys.join("bus/pci/driver")).unwrap();
        assert_eq!(files.read_link("bus/pci/driver").unwrap(), "vfio-pci");
        assert_eq!(files.read_link("bus/pci/none").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(files.node("vfio/7").unwrap(), Node::Absent);
        fs::write(files.dev.join("vfio/7"), "").unwrap();
        assert_eq!(files.node("vfio/7").unwrap(), Node::Free);
    }

    #[test]
    fn a_write_that_nobody_takes_is_given_up() {
        let (_folder, mut files) = files();
        // A pipe without a reader holds whoever opens it to write, as a driver does that waits for its last user.
        rustix::fs::mknodat(
            rustix::fs::CWD,
            files.sys.join("bus/pci/unbind"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        files.write_s_max = 0;
        assert_eq!(files.write("bus/pci/unbind", "x").unwrap_err().kind(), io::ErrorKind::TimedOut);
        // A reader lets the one that still waits go.
        let path = files.sys.join("bus/pci/unbind");
        let mut reader = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let mut told = [0];
        reader.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"x");
    }

    #[test]
    fn looking_ends_with_the_first_good_answer_or_the_last_bad_one() {
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err(looks) }
        };
        assert_eq!(Settle { at_most_ms: 60_000, every_ms: 1 }.until(&mut third), Ok(3));
        assert_eq!(Settle::NONE.until(|| Err::<(), _>("no")), Err("no"));
    }
}
