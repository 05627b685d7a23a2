//! The Fabric Manager's tool and `nvidia-smi`, with a program that stands in for them and replays prepared answers: the list of
//! an eight-GPU H200 board, and every way in which the tool, the Fabric Manager or the answer can be wrong. The answers are
//! written after the tool's public source and the board's published table of partitions; none was taken from a board.
#![allow(clippy::unwrap_used)]

use devices::{
    FabricFault, FabricOutcome, FabricPartitions, Fault, Fmpm, NvidiaSmi,
    fabric::{Reach, parse},
};
use std::{fs, path::Path};

const SETS: [&[u8]; 15] = [
    &[1, 2, 3, 4, 5, 6, 7, 8],
    &[1, 2, 3, 4],
    &[5, 6, 7, 8],
    &[1, 3],
    &[2, 4],
    &[5, 7],
    &[6, 8],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[8],
];

/// What the tool prints on such a board, with these partitions on.
fn listed(active: &[usize]) -> String {
    let partition = |(id, set): (usize, &&[u8])| {
        let links = if set.len() > 1 { 18 } else { 0 };
        let gpu = |module: &u8| {
            serde_json::json!({
                "maxNumNvLinks": links, "numNvLinksAvailable": links, "nvlinkLineRateMBps": 26562,
                "pciBusId": "00000000:00:00.0", "physicalId": module, "uuid": ""
            })
        };
        let gpus: Vec<_> = set.iter().map(gpu).collect();
        serde_json::json!({
            "gpuInfo": gpus, "isActive": u8::from(active.contains(&id)), "numGpus": set.len(), "partitionId": id
        })
    };
    let partitions: Vec<_> = SETS.iter().enumerate().map(partition).collect();
    let list = serde_json::json!({
        "maxNumPartitions": 15, "numPartitions": 15, "partitionInfo": partitions, "version": 16_909_068
    });
    serde_json::to_string_pretty(&list).unwrap()
}

struct Replay {
    folder: tempfile::TempDir,
}

impl Replay {
    /// Each answer is a text and an exit status.
    fn new(name: &str, answers: &[(&str, u8)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // A link, not a copy: a program that was just written may still be open in the child of another test.
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/replay");
        std::os::unix::fs::symlink(program, folder.path().join(name)).unwrap();
        for (index, (text, code)) in answers.iter().enumerate() {
            fs::write(folder.path().join(format!("{}.out", index + 1)), text).unwrap();
            fs::write(folder.path().join(format!("{}.code", index + 1)), code.to_string()).unwrap();
        }
        Self { folder }
    }

    fn fmpm(answers: &[(&str, u8)]) -> (Self, Fmpm) {
        let replay = Self::new("fmpm", answers);
        let fmpm = Fmpm { program: replay.folder.path().join("fmpm"), ..Fmpm::default() };
        (replay, fmpm)
    }

    fn hang(&self, call: usize) {
        fs::write(self.folder.path().join(format!("{call}.hang")), "").unwrap();
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

#[test]
fn the_board_is_listed() {
    let (replay, fmpm) = Replay::fmpm(&[(&listed(&[1]), 0)]);
    let list = fmpm.list().unwrap();
    assert_eq!(list.len(), 15);
    assert!(list[1].active && !list[0].active);
    assert_eq!(list[5].modules().into_iter().collect::<Vec<u8>>(), [5, 7]);
    assert_eq!(replay.calls(), ["-l"]);
    assert_eq!(list, parse(&listed(&[1])).unwrap());
}

#[test]
fn a_partition_is_switched_on_and_the_list_proves_it() {
    let (replay, fmpm) = Replay::fmpm(&[(&listed(&[4]), 0), ("", 0), (&listed(&[3, 4]), 0)]);
    let evidence = fmpm.activate(3, &[3, 1]).unwrap();
    assert_eq!(evidence.outcome, FabricOutcome::Activated);
    assert!(evidence.seen.unwrap().active);
    assert_eq!(replay.calls(), ["-l", "-a 3", "-l"]);
}

#[test]
fn a_partition_is_switched_off_and_the_list_proves_it() {
    let (replay, fmpm) = Replay::fmpm(&[(&listed(&[3]), 0), ("", 0), (&listed(&[]), 0)]);
    assert_eq!(fmpm.deactivate(3).unwrap().outcome, FabricOutcome::Deactivated);
    assert_eq!(replay.calls(), ["-l", "-d 3", "-l"]);
}

#[test]
fn what_stands_as_wanted_is_not_changed() {
    let (replay, fmpm) = Replay::fmpm(&[(&listed(&[3]), 0), (&listed(&[]), 0)]);
    assert_eq!(fmpm.activate(3, &[1, 3]).unwrap().outcome, FabricOutcome::AlreadyActive);
    assert_eq!(fmpm.deactivate(3).unwrap().outcome, FabricOutcome::AlreadyInactive);
    assert_eq!(replay.calls(), ["-l", "-l"]);
}

#[test]
fn already_done_is_believed_only_when_the_list_says_so() {
    let said = "Failed to activate partition. fmReturn: -17\n";
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), (said, 239), (&listed(&[3]), 0)]);
    assert_eq!(fmpm.activate(3, &[1, 3]).unwrap().outcome, FabricOutcome::AlreadyActive);
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), (said, 239), (&listed(&[]), 0)]);
    assert_eq!(fmpm.activate(3, &[1, 3]).unwrap_err(), FabricFault::NotChanged { id: 3, wanted: true });
    let said = "Failed to deactivate partition. fmReturn: -18\n";
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[3]), 0), (said, 238), (&listed(&[]), 0)]);
    assert_eq!(fmpm.deactivate(3).unwrap().outcome, FabricOutcome::AlreadyInactive);
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[3]), 0), (said, 238), (&listed(&[3]), 0)]);
    assert_eq!(fmpm.deactivate(3).unwrap_err(), FabricFault::NotChanged { id: 3, wanted: false });
    // Each is benign for its own verb only.
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), (said, 238)]);
    assert!(matches!(fmpm.activate(3, &[1, 3]), Err(FabricFault::Refused { status: -18, .. })));
}

#[test]
fn success_that_the_list_does_not_show_is_a_fault() {
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), ("", 0), (&listed(&[]), 0)]);
    let fault = fmpm.activate(3, &[1, 3]).unwrap_err();
    assert_eq!(fault, FabricFault::NotChanged { id: 3, wanted: true });
    assert!(fault.may_have_changed());
}

#[test]
fn a_board_that_changed_under_the_change_is_a_fault_that_says_so() {
    let renumbered = listed(&[]).replace(r#""partitionId": 3"#, r#""partitionId": 33"#);
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), ("", 0), (&renumbered, 0)]);
    let fault = fmpm.activate(3, &[1, 3]).unwrap_err();
    assert!(matches!(fault, FabricFault::Unproved { id: 3, wanted: true, .. }), "{fault}");
    assert!(fault.may_have_changed());
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), ("", 0), ("Segmentation fault\n", 0)]);
    assert!(fmpm.activate(3, &[1, 3]).unwrap_err().may_have_changed());
}

#[test]
fn a_claim_that_does_not_fit_the_board_never_reaches_the_fabric() {
    let list = listed(&[1]);
    let (replay, fmpm) = Replay::fmpm(&[(&list, 0), (&list, 0), (&list, 0), (&list, 0)]);
    assert!(matches!(fmpm.activate(3, &[1, 3]), Err(FabricFault::Overlap { other: 1, .. })));
    assert!(matches!(fmpm.activate(5, &[5, 6]), Err(FabricFault::OtherGpus { .. })));
    assert!(matches!(fmpm.activate(15, &[1]), Err(FabricFault::NoSuchPartition { id: 15 })));
    assert!(matches!(fmpm.deactivate(15), Err(FabricFault::NoSuchPartition { id: 15 })));
    assert_eq!(replay.calls(), ["-l", "-l", "-l", "-l"]);
}

#[test]
fn a_status_is_told_with_its_meaning() {
    for (said, code, status, meaning) in [
        ("Failed to connect to Fabric Manager instance.\n", 247, -9, "it may not be running"),
        ("Failed to get partition list. fmReturn: -6\n", 250, -6, "another version"),
        ("Failed to get partition list. fmReturn: -8\n", 248, -8, "still starting"),
        ("Failed to get partition list. fmReturn: -22\n", 234, -22, "not ready"),
        ("Failed to get partition list. fmReturn: -27\n", 229, -27, "links or routes"),
        ("what\n", 156, -100, "something went wrong"),
    ] {
        let (_replay, fmpm) = Replay::fmpm(&[(said, code), (said, code)]);
        let fault = fmpm.list().unwrap_err();
        assert!(matches!(&fault, FabricFault::Refused { status: found, .. } if *found == status), "{fault}");
        assert!(fault.to_string().contains(meaning) && fault.to_string().contains(said.trim()), "{fault}");
        // The same before a change: nothing was changed.
        let fault = fmpm.activate(3, &[1, 3]).unwrap_err();
        assert!(matches!(fault, FabricFault::NotListed { .. }) && !fault.may_have_changed(), "{fault}");
    }
    // The tool's complaint about its arguments is no status of the Fabric Manager.
    let (_replay, fmpm) = Replay::fmpm(&[("", 1)]);
    assert!(matches!(fmpm.list(), Err(FabricFault::Program { .. })));
}

#[test]
fn a_change_that_fails_is_a_fault_after_which_anything_may_be() {
    let said = "Failed to activate partition. fmReturn: -10\n";
    let (_replay, fmpm) = Replay::fmpm(&[(&listed(&[]), 0), (said, 246)]);
    let fault = fmpm.activate(3, &[1, 3]).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the Fabric Manager must activate partition 3, but says an NVLink failed (status -10): \
         Failed to activate partition. fmReturn: -10"
    );
    assert!(fault.may_have_changed());
}

#[test]
fn a_tool_that_does_not_end_is_ended() {
    let (replay, mut fmpm) = Replay::fmpm(&[(&listed(&[]), 0)]);
    fmpm.change_ms_max = 200;
    replay.hang(2);
    let fault = fmpm.activate(3, &[1, 3]).unwrap_err();
    assert!(matches!(&fault, FabricFault::Program { why } if why.contains("did not end")), "{fault}");
    assert!(fault.may_have_changed());
}

#[test]
fn a_tool_that_is_not_there_is_named() {
    let fmpm = Fmpm { program: "/nonexistent/fmpm".into(), ..Fmpm::default() };
    let fault = fmpm.list().unwrap_err();
    assert!(matches!(&fault, FabricFault::Program { why } if why.contains("fmpm could not be started")), "{fault}");
}

#[test]
fn an_answer_that_is_cut_short_or_garbage_is_a_fault() {
    let list = listed(&[3]);
    let cut = &list[..list.len() / 2];
    for said in [cut, "", "Segmentation fault\n", "null", "[]", "{}", &format!("{list}\n{list}"), "\u{fffd}\u{0}"] {
        let (_replay, fmpm) = Replay::fmpm(&[(said, 0)]);
        let fault = fmpm.list().unwrap_err();
        assert!(matches!(fault, FabricFault::NotUnderstood { .. }), "{said:?}: {fault}");
    }
}

#[test]
fn the_tool_is_told_where_to_reach_the_fabric() {
    let (replay, mut fmpm) = Replay::fmpm(&[(&listed(&[]), 0), (&listed(&[]), 0)]);
    fmpm.reach = Reach::Host("192.0.2.7".to_owned());
    fmpm.list().unwrap();
    fmpm.reach = Reach::UnixSocket("/run/nvidia-fabricmanager/socket".into());
    fmpm.list().unwrap();
    let socket = "--unix-domain-socket /run/nvidia-fabricmanager/socket -l";
    assert_eq!(replay.calls(), ["--hostname 192.0.2.7 -l", socket]);
}

#[test]
fn persistence_mode_is_off_when_the_tool_says_so_afterwards() {
    let gpu = "0000:0f:00.0".parse().unwrap();
    let told = "Disabled persistence mode for GPU 00000000:0F:00.0.\nAll done.\n";
    let tool = |answers: &[(&str, u8)]| {
        let replay = Replay::new("nvidia-smi", answers);
        let smi = NvidiaSmi { program: replay.folder.path().join("nvidia-smi"), ..NvidiaSmi::default() };
        (replay, smi)
    };
    let (replay, smi) = tool(&[(told, 0), ("Disabled\n", 0)]);
    smi.persistence_off(gpu).unwrap();
    let query = "--query-gpu=persistence_mode --format=csv,noheader -i 0000:0f:00.0";
    assert_eq!(replay.calls(), ["-pm 0 -i 0000:0f:00.0", query]);
    for answer in ["Enabled\n", "", "No devices were found\n", "Disabled\nDisabled\n"] {
        let (_replay, smi) = tool(&[(told, 0), (answer, 0)]);
        assert!(matches!(smi.persistence_off(gpu), Err(Fault::NotUnderstood { .. })), "{answer:?}");
    }
    let (_replay, smi) = tool(&[("Unable to set persistence mode\n", 3)]);
    assert!(matches!(smi.persistence_off(gpu), Err(Fault::Program { .. })));
}
