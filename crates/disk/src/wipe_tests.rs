//! Which method is chosen, and that none is chosen in silence.

use super::*;
use proptest::prelude::*;

const SANITIZE: WipeMethod = WipeMethod::NvmeSanitize { action: SanitizeAction::Block };
const FORMAT: WipeMethod = WipeMethod::NvmeFormat { erase: SecureErase::UserData };
const FORMAT_CRYPTO: WipeMethod = WipeMethod::NvmeFormat { erase: SecureErase::Crypto };

fn policy(methods: &[WipeMethod]) -> WipePolicy {
    WipePolicy { methods: methods.to_vec(), ..WipePolicy::default() }
}

fn plain() -> Capabilities {
    Capabilities { nvme: None, discard_bytes_max: 1 << 30, write_zeroes_bytes_max: 1 << 30 }
}

fn nvme(change: impl Fn(&mut NvmeCapabilities)) -> Capabilities {
    let mut all = NvmeCapabilities {
        sanitize_block: true,
        sanitize_crypto: true,
        sanitize_overwrite: true,
        format: true,
        format_crypto: true,
        format_reaches_all: false,
        namespaces: 1,
    };
    change(&mut all);
    Capabilities { nvme: Some(all), ..plain() }
}

fn chosen(methods: &[WipeMethod], disk: &Capabilities) -> Result<WipeMethod, Refusal> {
    choose(&policy(methods), disk).map(|choice| choice.method)
}

#[test]
fn the_first_method_that_the_disk_has_is_chosen_and_others_are_accounted_for() {
    assert_eq!(chosen(&[SANITIZE, FORMAT], &nvme(|_| ())), Ok(SANITIZE));
    let choice = choose(&policy(&[SANITIZE, FORMAT_CRYPTO, WipeMethod::Discard]), &plain()).unwrap();
    assert_eq!(choice.method, WipeMethod::Discard);
    assert_eq!(choice.passed_over, ["nvme_sanitize(2): it is no NVMe disk", "nvme_format(ses 2): it is no NVMe disk"]);
}

#[test]
fn what_would_reach_other_namespaces_is_not_chosen() {
    assert!(chosen(&[SANITIZE], &nvme(|disk| disk.namespaces = 2)).is_err());
    assert!(chosen(&[FORMAT], &nvme(|disk| (disk.namespaces, disk.format_reaches_all) = (2, true))).is_err());
    assert_eq!(chosen(&[FORMAT], &nvme(|disk| disk.namespaces = 2)), Ok(FORMAT));
    assert_eq!(chosen(&[FORMAT], &nvme(|disk| disk.format_reaches_all = true)), Ok(FORMAT));
    assert!(chosen(&[SANITIZE], &nvme(|disk| disk.namespaces = 0)).is_err());
}

#[test]
fn what_the_disk_does_not_have_is_not_chosen() {
    assert!(chosen(&[SANITIZE], &nvme(|disk| disk.sanitize_block = false)).is_err());
    assert!(chosen(&[FORMAT], &nvme(|disk| disk.format = false)).is_err());
    assert!(chosen(&[FORMAT_CRYPTO], &nvme(|disk| disk.format_crypto = false)).is_err());
    assert!(chosen(&[WipeMethod::Discard], &Capabilities { write_zeroes_bytes_max: 0, ..plain() }).is_err());
    assert!(chosen(&[WipeMethod::Discard], &Capabilities { discard_bytes_max: 0, ..plain() }).is_err());
    assert_eq!(chosen(&[], &plain()), Err(Refusal::NoMethod { passed_over: vec![] }));
}

#[test]
fn a_policy_is_data() {
    let text = serde_json::to_string(&WipePolicy::default()).unwrap();
    assert_eq!(serde_json::from_str::<WipePolicy>(&text).unwrap(), WipePolicy::default());
    assert_eq!(serde_json::to_string(&FORMAT).unwrap(), r#"{"method":"nvme_format","erase":"user_data"}"#);
    assert!(serde_json::from_str::<WipeMethod>(r#"{"method":"nvme_format","erase":"none"}"#).is_err());
}

proptest! {
    #[test]
    fn a_method_outside_the_policy_is_never_chosen(
        picks in proptest::collection::vec(0usize..5, 0..5), bits: [bool; 6], namespaces in 0u32..3, discard in 0u64..2, zeroes in 0u64..2, is_nvme: bool
    ) {
        let all = [SANITIZE, FORMAT, FORMAT_CRYPTO, WipeMethod::Discard, WipeMethod::Overwrite];
        let methods: Vec<WipeMethod> = picks.iter().map(|pick| all[*pick]).collect();
        let [sanitize_block, sanitize_crypto, sanitize_overwrite, format, format_crypto, format_reaches_all] = bits;
        let disk = NvmeCapabilities { sanitize_block, sanitize_crypto, sanitize_overwrite, format, format_crypto, format_reaches_all, namespaces };
        let disk = Capabilities { nvme: is_nvme.then_some(disk), discard_bytes_max: discard, write_zeroes_bytes_max: zeroes };
        match choose(&policy(&methods), &disk) {
            Ok(choice) => {
                prop_assert_eq!(methods.get(choice.passed_over.len()), Some(&choice.method));
                prop_assert!(against(choice.method, &disk).is_none());
            }
            Err(refusal) => {
                let expected = Refusal::NoMethod { passed_over: methods.iter().map(|method| format!("{method}: {}", against(*method, &disk).unwrap())).collect() };
                prop_assert_eq!(refusal, expected);
            }
        }
    }
}
