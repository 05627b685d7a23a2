//! Which processes are a guest. libvirt forgets a machine that it lost sight of; the process table does not. QEMU carries
//! the guest's UUID in its arguments, so `/proc` answers whether anything of it still runs.

use crate::identity::{GuestUse, Uuid};
use std::{fs, io, path::Path};

/// Why the process table says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the process table cannot be read at {path}: {why}")]
pub struct ProcessFault {
    /// Where.
    pub path: String,
    /// What the system said.
    pub why: String,
}

/// The processes that run a guest, by their numbers. `proc_root` is `/proc` on a host.
pub fn processes_with_uuid(proc_root: &Path, uuid: Uuid) -> Result<Vec<u32>, ProcessFault> {
    let uuid = uuid.to_string();
    let found = table(proc_root, |words| runs(words, &uuid).then_some(()))?;
    Ok(found.into_iter().map(|(pid, ())| pid).collect())
}

/// Every process that runs a guest of the platform, by the name that QEMU was given.
pub fn processes_of_guests(proc_root: &Path) -> Result<Vec<(u32, GuestUse)>, ProcessFault> {
    table(proc_root, guest_named)
}

fn table<T>(proc_root: &Path, wanted: impl Fn(&[u8]) -> Option<T>) -> Result<Vec<(u32, T)>, ProcessFault> {
    let fault = |path: &Path, why: &str| ProcessFault { path: path.display().to_string(), why: why.to_owned() };
    let (mut found, mut first_seen) = (vec![], false);
    for entry in fs::read_dir(proc_root).map_err(|error| fault(proc_root, &error.to_string()))? {
        let entry = entry.map_err(|error| fault(proc_root, &error.to_string()))?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        first_seen |= pid == 1;
        let path = entry.path().join("cmdline");
        match fs::read(&path) {
            Ok(words) => found.extend(wanted(&words).map(|seen| (pid, seen))),
            // It ended while we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3) => {}
            Err(error) => return Err(fault(&path, &error.to_string())),
        }
    }
    // A table without the first process is not the host's, or hides others' processes from us.
    if !first_seen {
        return Err(fault(proc_root, "process 1 is not in it"));
    }
    found.sort_unstable_by_key(|(pid, _)| *pid);
    Ok(found)
}

// libvirt starts QEMU with `-name guest=NAME,debug-threads=on`.
fn guest_named(cmdline: &[u8]) -> Option<GuestUse> {
    let words: Vec<&[u8]> = cmdline.split(|byte| *byte == 0).collect();
    let name = words.windows(2).find(|pair| pair[0] == b"-name").map(|pair| pair[1])?;
    let name = std::str::from_utf8(name).ok()?.split(',').find_map(|part| part.strip_prefix("guest="))?;
    GuestUse::from_name(name)
}

fn runs(cmdline: &[u8], uuid: &str) -> bool {
    let words: Vec<&[u8]> = cmdline.split(|byte| *byte == 0).collect();
    words.windows(2).any(|pair| pair[0] == b"-uuid" && pair[1].eq_ignore_ascii_case(uuid.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::tests::guest;

    fn table(processes: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (pid, words) in processes {
            fs::create_dir(root.path().join(pid)).unwrap();
            fs::write(root.path().join(pid).join("cmdline"), words.replace(' ', "\0")).unwrap();
        }
        root
    }

    #[test]
    fn only_the_process_that_runs_the_guest_is_found() {
        let (own, other) = (guest(3).uuid(), guest(4).uuid());
        let processes = [
            ("1", "init"),
            ("17", &*format!("qemu -name x -uuid {own} -m 1")),
            ("18", &format!("virsh domstate {own}")),
            ("19", &format!("qemu -uuid {other}")),
            ("20", ""),
            ("self", "x"),
        ];
        let root = table(&processes);
        assert_eq!(processes_with_uuid(root.path(), own), Ok(vec![17]));
        // One that ended between the list and the look.
        fs::create_dir(root.path().join("21")).unwrap();
        assert_eq!(processes_with_uuid(root.path(), other), Ok(vec![19]));
    }

    #[test]
    fn the_platforms_guests_are_known_by_their_names() {
        let named = format!("qemu -name guest={},debug-threads=on -uuid x", guest(3).name());
        let processes = [("1", "init"), ("7", &*named), ("8", "qemu -name guest=other"), ("9", "qemu -name")];
        assert_eq!(processes_of_guests(table(&processes).path()), Ok(vec![(7, guest(3))]));
    }

    #[test]
    fn a_table_that_cannot_be_trusted_is_a_fault() {
        let uuid = guest(3).uuid();
        assert!(processes_with_uuid(Path::new("/nonexistent"), uuid).is_err());
        assert!(processes_with_uuid(table(&[("7", "x")]).path(), uuid).is_err());
        let root = table(&[("1", "init")]);
        fs::create_dir_all(root.path().join("9/cmdline")).unwrap();
        assert!(processes_with_uuid(root.path(), uuid).is_err());
    }
}
