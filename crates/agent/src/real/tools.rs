//! Which programs, sockets and files that slices need are on the host, and how much room its image cache has. Looked for by
//! path alone; only the two programs whose version decides what a guest may have are asked for it.

use super::ask::{ask, first_file, program};
use std::path::{Path, PathBuf};
use topology::probe::{ImageCacheProbe, Tool, ToolSeen, ToolsProbe};

const GIB: u64 = 1 << 30;

/// Looks for each tool.
pub fn probe() -> ToolsProbe {
    ToolsProbe { tools: Tool::ALL.iter().map(|tool| seen(*tool)).collect() }
}

fn seen(tool: Tool) -> ToolSeen {
    let path = place(tool);
    let asked = matches!(tool, Tool::QemuSystem | Tool::OvsVsctl);
    let said = path.as_ref().filter(|_| asked).and_then(|path| ask(path, &["--version"]));
    ToolSeen {
        tool,
        present: path.is_some(),
        path: path.map(|path| path.display().to_string()),
        version: said.and_then(|said| version(&said)),
    }
}

fn place(tool: Tool) -> Option<PathBuf> {
    let there = |paths: &[&str]| paths.iter().map(PathBuf::from).find(|path| path.exists());
    match tool {
        Tool::QemuSystem => {
            program("qemu-system-x86_64").or_else(|| first_file(&["/usr/libexec/qemu-kvm"]).map(Path::to_owned))
        }
        Tool::LibvirtSocket => there(&["/run/libvirt/virtqemud-sock", "/run/libvirt/libvirt-sock"]),
        Tool::OvsDbSocket => there(&["/run/openvswitch/db.sock", "/usr/local/var/run/openvswitch/db.sock"]),
        Tool::UefiFirmware => there(&[
            "/usr/share/OVMF/OVMF_CODE_4M.fd",
            "/usr/share/OVMF/OVMF_CODE.fd",
            "/usr/share/edk2/ovmf/OVMF_CODE.fd",
            "/usr/share/edk2/x64/OVMF_CODE.4m.fd",
            "/usr/share/qemu/OVMF.fd",
        ]),
        Tool::QemuImg
        | Tool::OvsVsctl
        | Tool::CloudLocalds
        | Tool::Genisoimage
        | Tool::IbvDevinfo
        | Tool::Rdma
        | Tool::Mlxconfig => program(tool.as_str()),
    }
}

/// The first thing in a program's own words that looks like a version.
pub fn version(said: &str) -> Option<String> {
    let words = said.lines().next()?.split([' ', '(', ')']);
    let looks_like_one = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.into_iter().find(looks_like_one).map(str::to_owned)
}

/// How much room is left where images are kept, in whole GiB: a host that does nothing else than write its logs shows the
/// same. `None` when there is no such directory.
pub fn image_cache(path: &Path) -> Option<ImageCacheProbe> {
    let room = rustix::fs::statvfs(path).ok()?;
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize) / GIB * GIB;
    path.is_dir().then(|| ImageCacheProbe { path: path.display().to_string(), free_bytes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_tool_is_looked_for_once() {
        let seen: Vec<Tool> = probe().tools.iter().map(|seen| seen.tool).collect();
        assert_eq!(seen, Tool::ALL);
    }

    #[test]
    fn a_version_is_found_in_what_programs_print() {
        let qemu = "QEMU emulator version 8.2.2 (Debian 1:8.2.2+ds-0ubuntu1.4)\nCopyright (c) 2003-2023\n";
        assert_eq!(version(qemu).as_deref(), Some("8.2.2"));
        assert_eq!(version("ovs-vsctl (Open vSwitch) 3.3.0\nDB Schema 8.5.0\n").as_deref(), Some("3.3.0"));
        assert_eq!(version("no version here"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn room_is_told_for_directories_only() {
        let folder = tempfile::tempdir().unwrap();
        let seen = image_cache(folder.path()).unwrap();
        assert_eq!((seen.path.as_str(), seen.free_bytes % GIB), (folder.path().to_str().unwrap(), 0));
        assert_eq!(image_cache(&folder.path().join("none")), None);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(image_cache(&file), None);
    }
}
