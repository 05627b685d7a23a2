//! A directory as a root to capture: the machine's own `/`, or a tree that was captured before and written down.
//!
//! Only regular files are opened, without waiting and without following a link anywhere on the way. Files of `sysfs` ask the
//! hardware when they are read, and sick hardware may not answer at all; so files are read on a thread that can be left
//! behind, and after a few of those nothing more is read.

use crate::hex;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, open, openat2},
    io::Errno,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};
use topology::{
    Entry, Tree,
    capture::{Found, Root},
    manifest::{Take, take_of},
    tree::ENTRIES_MAX,
};

// How long one file may take.
const PATIENCE: Duration = Duration::from_secs(5);
// Readers that may be left behind in one capture.
const LEFT_BEHIND_MAX: usize = 4;

/// A directory to capture from.
#[derive(Debug)]
pub struct DiskRoot {
    root: PathBuf,
    reader: Option<Reader>,
    left_behind: usize,
    patience: Duration,
}

impl DiskRoot {
    /// Nothing is opened yet.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), reader: None, left_behind: 0, patience: PATIENCE }
    }
}

impl Root for DiskRoot {
    fn look(&mut self, path: &str) -> Found {
        let place = self.root.join(path);
        let Ok(metadata) = fs::symlink_metadata(&place) else { return Found::Nothing };
        if metadata.is_symlink() {
            let target = fs::read_link(&place).ok().and_then(|target| target.to_str().map(str::to_owned));
            target.map_or(Found::Nothing, Found::Link)
        } else if metadata.is_dir() {
            Found::Directory
        } else {
            Found::File
        }
    }

    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        let entries = match fs::read_dir(self.root.join(path)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(plain(&error)),
        };
        let names = entries.take(ENTRIES_MAX).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.collect())
    }

    fn read(&mut self, path: &str, bytes_max: usize) -> Result<Option<Vec<u8>>, String> {
        if self.left_behind >= LEFT_BEHIND_MAX {
            return Err("not read: too many files before it did not answer".to_owned());
        }
        let reader = match &self.reader {
            Some(reader) => reader,
            None => self.reader.insert(Reader::spawn(&self.root).map_err(|error| plain(&error))?),
        };
        let asked = reader.ask.send((path.to_owned(), bytes_max)).is_ok();
        match reader.answers.recv_timeout(self.patience) {
            Ok(answer) if asked => answer,
            _ => {
                // The thread may sit in the kernel for ever; it has nothing that anybody needs.
                self.reader = None;
                self.left_behind += 1;
                Err(format!("did not answer within {} s", self.patience.as_secs()))
            }
        }
    }
}

/// Writes a tree as a new directory, from which the same tree can be captured again. Paths in a tree never lead out of it.
pub fn write_directory(tree: &Tree, folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (path, entry) in tree.entries() {
        let place = folder.join(path);
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        match entry {
            Entry::Link(target) => symlink(target, &place)?,
            Entry::File(digits) if take_of(path) == Some(Take::Hex) => {
                fs::write(
                    &place,
                    hex::bytes(digits).ok_or_else(|| io::Error::other(format!("{path} is not in digits")))?,
                )?;
            }
            Entry::File(text) => fs::write(&place, text)?,
        }
    }
    Ok(())
}

type Answer = Result<Option<Vec<u8>>, String>;

#[derive(Debug)]
struct Reader {
    ask: Sender<(String, usize)>,
    answers: Receiver<Answer>,
}

impl Reader {
    fn spawn(root: &Path) -> io::Result<Self> {
        let root = root.to_owned();
        let (ask, asked) = mpsc::channel::<(String, usize)>();
        let (answer, answers) = mpsc::channel();
        thread::Builder::new().name("capture".to_owned()).spawn(move || {
            for (path, bytes_max) in asked {
                if answer.send(read(&root, &path, bytes_max)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { ask, answers })
    }
}

fn read(root: &Path, path: &str, bytes_max: usize) -> Answer {
    let bytes = open_plain(root, path).map_err(io::Error::from).and_then(|file| {
        let file = File::from(file);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mut bytes = vec![];
        let one_more = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        file.take(one_more).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    match bytes {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if has_no_value(&error) => Ok(None),
        Err(error) => Err(plain(&error)),
    }
}

// Kernels before 5.6 and some sandboxes do not have the call that refuses every link on the way; there the last part is
// checked, and the walk above has looked at the others.
fn open_plain(root: &Path, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let directory = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&directory, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::openat(CWD, root.join(path), flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

// How drivers say that a file has nothing to show now: no link, no such property, the device just went.
fn has_no_value(error: &io::Error) -> bool {
    let none = [Errno::INVAL, Errno::NODATA, Errno::OPNOTSUPP, Errno::NXIO, Errno::NODEV, Errno::NOENT, Errno::NOSYS];
    error.raw_os_error().is_some_and(|code| none.iter().any(|errno| errno.raw_os_error() == code))
}

// The reason without the error's number: the same words everywhere.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::net::UnixListener;

    fn fifo(path: &Path) {
        let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(status.success());
    }

    #[test]
    fn links_out_of_the_root_are_shown_and_never_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        fs::create_dir_all(root.join("sys")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        symlink(&outside, root.join("sys/out")).unwrap();
        symlink("../../outside/secret", root.join("sys/file")).unwrap();
        let mut root = DiskRoot::new(&root);
        assert_eq!(root.look("sys/out"), Found::Link(outside.to_str().unwrap().to_owned()));
        for path in ["sys/file", "sys/out/secret"] {
            let read = root.read(path, 100);
            assert!(read.is_err(), "{path} {read:?}");
        }
    }

    #[test]
    fn a_pipe_or_a_socket_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        fifo(&folder.path().join("pipe"));
        let _listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let mut root = DiskRoot::new(folder.path());
        assert_eq!(root.look("pipe"), Found::File);
        assert_eq!(root.read("pipe", 100), Err("not a regular file".to_owned()));
        // A socket cannot be opened at all.
        assert_eq!(root.read("socket", 100), Ok(None));
    }

    #[test]
    fn no_more_than_asked_for_and_one_byte_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("large"), vec![b'x'; 1000]).unwrap();
        let mut root = DiskRoot::new(folder.path());
        assert_eq!(root.read("large", 10).unwrap().unwrap().len(), 11);
        assert_eq!(root.read("gone", 10), Ok(None));
        assert_eq!(root.list("gone"), Ok(vec![]));
        assert_eq!(root.list(""), Ok(vec!["large".to_owned()]));
    }

    #[test]
    fn a_reader_that_hangs_is_left_behind_and_after_a_few_nothing_more_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        let mut root = DiskRoot::new(folder.path());
        root.patience = Duration::ZERO;
        // A reader that takes the question and never answers.
        let hung = || {
            let (ask, asked) = mpsc::channel();
            let (answer, answers) = mpsc::channel();
            (Reader { ask, answers }, (asked, answer))
        };
        let mut kept = vec![];
        for _ in 0..LEFT_BEHIND_MAX {
            let (reader, ends) = hung();
            kept.push(ends);
            root.reader = Some(reader);
            assert_eq!(root.read("file", 10), Err("did not answer within 0 s".to_owned()));
        }
        root.patience = PATIENCE;
        assert!(root.read("file", 10).unwrap_err().starts_with("not read"));
    }
}
