//! What disks say, good and bad. The pages are written by hand in the shape that nvme-cli 2.3 prints; none comes from a device.

use super::*;
use proptest::prelude::*;

fn id_ctrl(oacs: u32, fna: u32, sanicap: u32) -> String {
    format!(
        r#"{{"vid":5197,"sn":"S64GNE0W100001      ","mn":"SAMSUNG MZQL23T8HCLS-00A07","oacs":{oacs},"fna":{fna},"sanicap":{sanicap},"nn":32}}"#
    )
}

fn page(progress: u32, status: &str, action: u32) -> String {
    format!(
        r#"{{"nvme0":{{"sprog":{progress},"sstat":{{"global_erased":0,"no_cmplted_passes":0,"status":"{status}"}},"cdw10_info":{action},"time_over_write":4294967295}}}}"#
    )
}

const RUNNING: &str = "(2) Sanitize in Progress.";
const DONE: &str = "(1) Most Recent Sanitize Command Completed Successfully.";
const FAILED: &str = "(3) Most Recent Sanitize Command Failed.";

#[test]
fn what_a_disk_can_do_is_read_from_its_bits() {
    let all = capabilities(&id_ctrl(0b1010, 0b100, 0b111), 1).unwrap();
    assert!(all.sanitize_block && all.sanitize_crypto && all.sanitize_overwrite && all.format && all.format_crypto);
    assert!(!all.format_reaches_all);
    let none = capabilities(&id_ctrl(0, 0, 0), 1).unwrap();
    assert_eq!(none, NvmeCapabilities { namespaces: 1, ..NvmeCapabilities::default() });
    assert!(capabilities(&id_ctrl(2, 0b10, 0), 2).unwrap().format_reaches_all);
    assert!(manages_namespaces(&id_ctrl(0b1000, 0, 0)).unwrap());
    let named = ("SAMSUNG MZQL23T8HCLS-00A07".to_owned(), "S64GNE0W100001".to_owned());
    assert_eq!(model_and_serial(&id_ctrl(0, 0, 0)).unwrap(), named);
}

#[test]
fn an_answer_with_something_missing_is_a_fault() {
    for said in ["", "{}", "[]", r#"{"oacs":2,"fna":"0","sanicap":0}"#, r#"{"oacs":2,"fna":0}"#] {
        assert!(matches!(capabilities(said, 1), Err(Fault::NotUnderstood { .. })), "{said}");
        assert!(namespaces(said, 1).is_err() && sanitize_page(said).is_err() && model_and_serial(said).is_err());
    }
}

#[test]
fn namespaces_are_counted_and_ours_is_among_them() {
    assert_eq!(namespaces(r#"{"nsid_list":[{"nsid":1},{"nsid":7}]}"#, 7).unwrap(), 2);
    assert!(namespaces(r#"{"nsid_list":[{"nsid":1}]}"#, 2).is_err());
    assert!(namespaces(r#"{"nsid_list":[]}"#, 1).is_err());
}

#[test]
fn pages_are_read() {
    let status = |text: &str| sanitize_page(text).unwrap().status;
    assert_eq!(status(&page(16384, RUNNING, 2)), SanitizeStatus::Running { of_65536: 16384 });
    assert_eq!(status(&page(65535, DONE, 2)), SanitizeStatus::Done);
    assert_eq!(status(&page(65535, FAILED, 2)), SanitizeStatus::Failed);
    assert_eq!(status(&page(65535, "(0) NVM Subsystem has never been sanitized.", 0)), SanitizeStatus::Never);
    for odd in ["(7) Unknown", "Unknown", "", "2"] {
        assert!(sanitize_page(&page(1, odd, 2)).is_err(), "{odd}");
    }
    assert!(sanitize_page(&page(65536, RUNNING, 2)).is_err());
    assert!(sanitize_page(r#"{"nvme0":{},"nvme1":{}}"#).is_err());
}

fn watch() -> SanitizeWatch {
    let limits = SanitizeLimits { total_s_max: 100, still_s_max: 10, look_every_ms: 1 };
    SanitizeWatch::new(SanitizeAction::Block, 0, limits)
}

fn take(watch: &mut SanitizeWatch, text: &str, second: u64) -> Result<SanitizeNext, Fault> {
    watch.page(sanitize_page(text).unwrap(), second * 1_000_000)
}

#[test]
fn a_sanitize_that_ends_well_is_done() {
    let mut watch = watch();
    assert_eq!(take(&mut watch, &page(100, RUNNING, 2), 1), Ok(SanitizeNext::Wait { of_65536: 100 }));
    assert_eq!(take(&mut watch, &page(65535, DONE, 2), 2), Ok(SanitizeNext::Done));
}

#[test]
fn every_other_end_is_a_fault() {
    for (status, action) in
        [(FAILED, 2), ("(0) NVM Subsystem has never been sanitized.", 2), (DONE, 4), (DONE, 0), ("(4) x", 2)]
    {
        let ended = take(&mut watch(), &page(65535, status, action), 1);
        assert!(matches!(ended, Err(Fault::MethodFailed { .. })), "{status} {action}: {ended:?}");
    }
}

#[test]
fn one_that_never_ends_is_a_fault() {
    let mut still = watch();
    assert!(take(&mut still, &page(5, RUNNING, 2), 1).is_ok() && take(&mut still, &page(5, RUNNING, 2), 10).is_ok());
    assert!(take(&mut still, &page(5, RUNNING, 2), 11).unwrap_err().to_string().contains("stood still"));
    let mut slow = watch();
    let ended = (1..).find_map(|second| take(&mut slow, &page(second, RUNNING, 2), second.into()).err()).unwrap();
    assert!(ended.to_string().contains("did not end within 100 s"), "{ended}");
}

proptest! {
    #[test]
    fn no_answer_breaks_the_readers(text in ".{0,80}", status in "[ -!#-\\[\\]-~]{0,20}", progress: u32, action: u32) {
        let _ = (capabilities(&text, 1), namespaces(&text, 1), sanitize_page(&text));
        let _ = sanitize_page(&page(progress, &status, action));
    }
}
