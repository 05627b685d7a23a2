//! The loop devices of a laboratory's host, with the files behind them: what stands for disks there. Told only by an agent that
//! was started for a laboratory.

use std::{fs, path::Path};
use topology::probe::{LabProbe, LoopDevice};

/// Every loop device that has a file, by name.
pub fn probe(root: &Path) -> LabProbe {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let mut loop_devices: Vec<LoopDevice> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| name.starts_with("loop"))?;
            let text = |path: &str| fs::read_to_string(entry.path().join(path)).ok();
            let backing_file = text("loop/backing_file")?.trim_end_matches('\n').to_owned();
            let sectors: u64 = text("size")?.trim().parse().ok()?;
            Some(LoopDevice { name, backing_file, size_bytes: sectors.checked_mul(512)? })
        })
        .collect();
    loop_devices.sort_by(|one, other| one.name.cmp(&other.name));
    LabProbe { loop_devices }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_loop_devices_with_a_file_are_told() {
        let root = tempfile::tempdir().unwrap();
        let device = |name: &str, backing: Option<&str>| {
            let folder = root.path().join("sys/block").join(name);
            fs::create_dir_all(folder.join("loop")).unwrap();
            fs::write(folder.join("size"), "2048\n").unwrap();
            if let Some(backing) = backing {
                fs::write(folder.join("loop/backing_file"), format!("{backing}\n")).unwrap();
            }
        };
        device("loop1", Some("/lab/b.img"));
        device("loop0", Some("/lab/a.img"));
        device("loop2", None);
        device("sda", Some("/not/a/loop"));
        let told: Vec<(String, String, u64)> = probe(root.path())
            .loop_devices
            .into_iter()
            .map(|one| (one.name, one.backing_file, one.size_bytes))
            .collect();
        let expected = [("loop0", "/lab/a.img"), ("loop1", "/lab/b.img")];
        assert_eq!(told, expected.map(|(name, file)| (name.to_owned(), file.to_owned(), 1 << 20)));
    }
}
