//! The consoles of guests on this host: the socket that QEMU makes, and the file that libvirt's log service writes. The socket
//! for notices is beside that of the console, and is spoken with in the same way.
//!
//! QEMU runs as a user of its own and owns the folder of its socket. This process may go anywhere and QEMU may not, so what lies
//! in that folder is looked at before it is spoken to: a tenant who broke out of QEMU could put a link there to somebody else's
//! socket, such as libvirt's or that of this very process. So no link is followed, and whoever listens must be QEMU's user.
//! The log is in a folder of root's alone. Its words are the guest's, so of these only what is safe to show is passed on.

use rustix::{
    fs::{FileType, Mode, OFlags, fstat, open},
    net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with, sockopt::socket_peercred},
};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
};

// As much of the end of a log as a reason has room for.
const WORDS_BYTES_MAX: u64 = 4096;
const WORDS_CHARACTERS_MAX: usize = 400;

/// Speaks with the socket at a path, if it is one itself and this user listens there. QEMU listens itself, also on a socket
/// that libvirt made for it.
pub(crate) fn connect(path: &Path, emulator_uid: u32) -> io::Result<UnixStream> {
    // Held by a descriptor, so that what was looked at is what is spoken with.
    let held = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&held)?.st_mode).is_socket() {
        return Err(io::Error::other("a socket was expected at its place, found something else"));
    }
    // One that is asked while somebody else is served answers when it likes; that is not waited for.
    let line =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    net::connect(&line, &SocketAddrUnix::new(format!("/proc/self/fd/{}", held.as_raw_fd()))?)?;
    let line = UnixStream::from(line);
    line.set_nonblocking(false)?;
    let listens = socket_peercred(&line)?.uid.as_raw();
    if listens == emulator_uid {
        return Ok(line);
    }
    Err(io::Error::other(format!("the user {emulator_uid} was expected to listen at its place, found {listens}")))
}

/// The end of what was said on a console, in one line that is safe to show.
pub(crate) fn last_words(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(WORDS_BYTES_MAX)))?;
        let mut bytes = vec![];
        file.take(WORDS_BYTES_MAX).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let text = match read() {
        Ok(bytes) => plain(&bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return format!("its console cannot be read: {error}"),
    };
    if text.is_empty() { "its console said nothing".to_owned() } else { format!("its console ended with {text:?}") }
}

// Printable ASCII, with one space for everything else.
fn plain(bytes: &[u8]) -> String {
    let plain: String =
        bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { ' ' }).collect();
    let text = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    text[text.len().saturating_sub(WORDS_CHARACTERS_MAX)..].to_owned()
}

/// Removes the log of a console, with the older parts that the log service kept beside it under the same name and a number.
pub(crate) fn logs_remove(log: &Path) -> Result<(), String> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let entry = entry.map_err(|error| failed(folder, error))?;
        let found = entry.file_name();
        let rest = found.to_str().and_then(|found| found.strip_prefix(name));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
            crate::stop::gone(&entry.path(), fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::{
        io::Write,
        os::unix::{fs::symlink, net::UnixListener},
    };

    #[test]
    fn only_a_socket_at_the_very_place_is_spoken_with() {
        let folder = tempfile::tempdir().unwrap();
        let (own, link) = (folder.path().join("socket"), folder.path().join("link"));
        let listener = UnixListener::bind(&own).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let mut near = connect(&own, user).unwrap();
        near.write_all(b"x").unwrap();
        let mut heard = [0];
        listener.accept().unwrap().0.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"x");
        symlink(&own, &link).unwrap();
        let other = connect(&own, user + 1).unwrap_err().to_string();
        assert!(other.contains(&format!("the user {} was expected to listen", user + 1)), "{other}");
        assert!(
            connect(&link, user).unwrap_err().to_string().contains("a socket was expected"),
            "a link leads elsewhere"
        );
        fs::write(folder.path().join("file"), "").unwrap();
        for name in ["file", "none"] {
            assert!(connect(&folder.path().join(name), user).is_err(), "{name}");
        }
    }

    #[test]
    fn the_last_words_are_short_and_safe() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        assert_eq!(last_words(&log), "its console said nothing");
        fs::write(&log, "\u{1b}[31mKernel panic\r\n\u{202e}not  syncing\0").unwrap();
        assert_eq!(last_words(&log), "its console ended with \"[31mKernel panic not syncing\"");
        fs::write(&log, "é".repeat(100_000) + &"x".repeat(9000)).unwrap();
        let words = last_words(&log);
        assert!(words.len() < 500 && words.is_ascii(), "{words}");
    }

    #[test]
    fn a_log_goes_with_its_older_parts_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one-g1.log", "one-g1.log.0", "one-g1.log.2", "one-g11.log", "one-g1.logbook"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        logs_remove(&folder.path().join("one-g1.log")).unwrap();
        logs_remove(&folder.path().join("one-g1.log")).unwrap();
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["one-g1.logbook", "one-g11.log"]);
    }
}
