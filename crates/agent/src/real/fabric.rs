//! What NVIDIA's Fabric Manager says: whether it runs, in which mode, and which sets of GPUs it can isolate.
//!
//! The sets are asked from it through `fmpm`, its own command, every time: their numbers are local to a board, so nothing
//! may be assumed about them. Whether it runs is read from its process, the mode from its configuration.

use super::ask::{ask, first_file, program};
use serde::Deserialize;
use std::{fs, path::Path};
use topology::probe::{FabricMode, FabricPartition, FabricProbe, FabricServiceState};

const CONFIGURATIONS: &[&str] =
    &["/usr/share/nvidia/nvswitch/fabricmanager.cfg", "/etc/nvidia-fabricmanager/fabricmanager.cfg"];
const PROGRAM: &str = "nv-fabricmanager";
// The kernel keeps fifteen letters of a process's name.
const PROCESS: &str = "nv-fabricmanage";

/// Asks. A host without it is an answer too.
pub fn probe() -> FabricProbe {
    let Some(path) = program(PROGRAM) else {
        let (version, fabric_mode, partitions) = (None, None, vec![]);
        return FabricProbe { state: FabricServiceState::NotInstalled, version, fabric_mode, partitions };
    };
    let running = is_running(Path::new("/proc"));
    let listed = || program("fmpm").and_then(|path| ask(&path, &["-l"])).and_then(|text| partitions(&text));
    let configuration = first_file(CONFIGURATIONS).and_then(|path| fs::read_to_string(path).ok());
    FabricProbe {
        state: if running { FabricServiceState::Running } else { FabricServiceState::Stopped },
        version: ask(&path, &["--version"]).and_then(|text| version(&text)),
        fabric_mode: configuration.and_then(|text| mode(&text)),
        partitions: if running { listed().unwrap_or_default() } else { vec![] },
    }
}

fn is_running(proc: &Path) -> bool {
    let Ok(processes) = fs::read_dir(proc) else { return false };
    let is_it = |process: fs::DirEntry| {
        fs::read_to_string(process.path().join("comm")).is_ok_and(|name| name.trim() == PROCESS)
    };
    processes
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .any(is_it)
}

/// The version in `Fabric Manager version is : 580.95.05`.
pub fn version(text: &str) -> Option<String> {
    let (_, version) = text.lines().find_map(|line| line.split_once(':'))?;
    Some(version.trim().to_owned()).filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Who may use the switches, from the configuration file. The last line that says so counts.
pub fn mode(configuration: &str) -> Option<FabricMode> {
    match configuration.lines().rev().find_map(|line| line.trim().strip_prefix("FABRIC_MODE="))?.trim() {
        "0" => Some(FabricMode::BareMetal),
        "1" => Some(FabricMode::SharedNvswitch),
        "2" => Some(FabricMode::Vgpu),
        _ => None,
    }
}

/// The sets in what `fmpm -l` prints, by their numbers. Its GPUs' physical ids are module ids.
pub fn partitions(text: &str) -> Option<Vec<FabricPartition>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed {
        partition_info: Vec<Partition>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Partition {
        partition_id: u32,
        gpu_info: Vec<Gpu>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Gpu {
        physical_id: u32,
        max_num_nv_links: Option<u32>,
    }
    let listed: Listed = serde_json::from_str(text).ok()?;
    let partition = |partition: Partition| {
        let mut gpus: Vec<u32> = partition.gpu_info.iter().map(|gpu| gpu.physical_id).collect();
        gpus.sort_unstable();
        let nvlinks = partition.gpu_info.iter().filter_map(|gpu| gpu.max_num_nv_links).min();
        FabricPartition { id: partition.partition_id, gpus, nvlinks }
    };
    let mut partitions: Vec<FabricPartition> = listed.partition_info.into_iter().map(partition).collect();
    partitions.sort_by_key(|partition| partition.id);
    Some(partitions)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_list_is_read_and_sorted() {
        let gpu = |id: u32, links: u32| {
            format!(
                r#"{{"maxNumNvLinks":{links},"numNvLinksAvailable":{links},"nvlinkLineRateMBps":26562,
                "pciBusId":"00000000:00:00.0","physicalId":{id},"uuid":""}}"#
            )
        };
        let text = format!(
            r#"{{"maxNumPartitions":15,"numPartitions":2,"partitionInfo":[
            {{"gpuInfo":[{}],"isActive":0,"numGpus":1,"partitionId":7}},
            {{"gpuInfo":[{},{}],"isActive":1,"numGpus":2,"partitionId":3}}],"version":1}}"#,
            gpu(1, 0),
            gpu(3, 18),
            gpu(1, 18)
        );
        let expected = [
            FabricPartition { id: 3, gpus: vec![1, 3], nvlinks: Some(18) },
            FabricPartition { id: 7, gpus: vec![1], nvlinks: Some(0) },
        ];
        assert_eq!(partitions(&text).unwrap(), expected);
        assert_eq!(partitions("Error: failed to connect"), None);
    }

    #[test]
    fn the_mode_is_what_the_configuration_says_last() {
        assert_eq!(
            mode("# FABRIC_MODE=0\nLOG_LEVEL=4\nFABRIC_MODE=0\nFABRIC_MODE=1\n"),
            Some(FabricMode::SharedNvswitch)
        );
        assert_eq!(mode("FABRIC_MODE=9"), None);
        assert_eq!(mode("LOG_LEVEL=4"), None);
    }

    #[test]
    fn the_version_is_the_number_after_the_colon() {
        assert_eq!(version("Fabric Manager version is : 580.95.05\n").as_deref(), Some("580.95.05"));
        assert_eq!(version("usage: nothing"), None);
    }

    #[test]
    fn it_runs_when_one_of_the_processes_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, name) in [("1", "systemd"), ("77", PROCESS), ("self", PROCESS)] {
            fs::create_dir(folder.path().join(pid)).unwrap();
            fs::write(folder.path().join(pid).join("comm"), format!("{name}\n")).unwrap();
        }
        assert!(is_running(folder.path()));
        fs::remove_dir_all(folder.path().join("77")).unwrap();
        assert!(!is_running(folder.path()));
    }
}
