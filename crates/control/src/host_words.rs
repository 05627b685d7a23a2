//! What a host said when it could not do something, in a sentence that its guest's owner may read. Hosts speak of what they
//! have: places on a bus, paths, disks, addresses of others. None of that is the owner's; operators read the host's own words
//! with the order.

use model::task::{TaskFailure, TaskResult};

/// A sentence is not longer than this.
const LETTERS_MAX: usize = 400;

/// Why a guest could not be built, for its owner.
pub(crate) fn owner_sentence(result: &TaskResult) -> String {
    let said = match (result.failure, result.refusals.as_slice()) {
        (Some(TaskFailure::PlanRefused), [first, rest @ ..]) => {
            let more = if rest.is_empty() { String::new() } else { format!(", and {} more", rest.len()) };
            format!(
                "Its host is not as it was approved ({}: expected {}, found {}{more})",
                first.check, first.expected, first.found
            )
        }
        (Some(TaskFailure::PlanRefused), []) => with_detail("Its host is not as it was approved", &result.detail),
        (Some(TaskFailure::ImageRefused), _) => {
            with_detail("The image could not be had or is not what its entry says", &result.detail)
        }
        _ => with_detail("The host could not start the guest", &result.detail),
    };
    format!("{}; its slots are being cleaned up.", plain(&said))
}

fn with_detail(what: &str, detail: &str) -> String {
    let detail = detail.trim().trim_end_matches('.');
    if detail.is_empty() { what.to_owned() } else { format!("{what} ({detail})") }
}

/// A text without what belongs to the host, printable and not too long.
fn plain(text: &str) -> String {
    let is_edge =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '\'' | '`' | '=' | '<' | '>');
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().chain(std::iter::once(' ')) {
        if is_edge(c) {
            out.push_str(hidden(&word).unwrap_or(&word));
            word.clear();
            out.push(if c.is_control() { ' ' } else { c });
        } else {
            word.push(if c.is_control() { '\u{fffd}' } else { c });
        }
    }
    out.trim_end().chars().take(LETTERS_MAX).collect()
}

/// What stands in the place of a word that names something of the host.
fn hidden(word: &str) -> Option<&'static str> {
    let bare = word.trim_end_matches(['.', ':', '!', '?']);
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = bare.split([':', '.', '-']).collect();
    // `0000:0f:00.0` and `0f:00.0`.
    let on_bus = bare.contains(':')
        && bare.rsplit_once('.').is_some_and(|(place, function)| {
            function.len() == 1
                && hex(function)
                && place.split(':').all(|part| matches!(part.len(), 2 | 4) && hex(part))
        });
    let mac = parts.len() == 6 && parts.iter().all(|part| part.len() == 2 && hex(part));
    let address = bare.parse::<std::net::IpAddr>().is_ok()
        || bare.rsplit_once([':', '/']).is_some_and(|(host, _)| host.parse::<std::net::IpAddr>().is_ok());
    let path = bare.len() > 1 && (bare.starts_with('/') || bare.contains(":/") || bare.starts_with("loop:"));
    let names = ["eui.", "nvme.", "uuid.", "wwn-", "naa.", "GPU-", "mlx5_", "nvme", "loop"];
    let device = names.iter().any(|start| {
        bare.strip_prefix(start).is_some_and(|rest| rest.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric()))
            && bare.bytes().any(|b| b.is_ascii_digit())
    });
    match () {
        () if on_bus => Some("a device"),
        () if mac || address => Some("an address"),
        () if path => Some("a path"),
        () if device => Some("a device"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{IdBits, TaskId, Timestamp, runtime::Refusal, task::Fence};

    fn failed(failure: TaskFailure, detail: &str) -> TaskResult {
        let bits: IdBits = [1; 10];
        let fence = Fence { incarnation: 1, generation: 1, attempt: 1 };
        TaskResult::failed(TaskId::from_parts(Timestamp::from_micros(1), bits), fence, failure, detail)
    }

    #[test]
    fn what_belongs_to_the_host_is_not_told() {
        for (said, told) in [
            ("GPU at 0000:0f:00.0 is gone.", "GPU at a device is gone."),
            ("0f:00.0", "a device"),
            ("cannot open /dev/nvme0n1: busy", "cannot open a path busy"),
            ("the file '/var/lib/x y' is there", "the file 'a path y' is there"),
            ("disk eui.0025388b1 (nvme3n1) is mounted", "disk a device (a device) is mounted"),
            ("loop:/lab/a.img has no signature", "a path has no signature"),
            ("10.0.0.7 is taken by 02:00:00:00:2a:05", "an address is taken by an address"),
            ("port 10.0.0.7:22 refused", "port an address refused"),
            ("GPU-4f7c1 is missing", "a device is missing"),
            ("2 of 8 huge pages of 1048576 KiB are free", "2 of 8 huge pages of 1048576 KiB are free"),
            ("nothing at all", "nothing at all"),
        ] {
            assert_eq!(plain(said), told, "{said}");
        }
        assert!(!plain("a\u{1b}[31mb\nc").contains('\u{1b}'));
        assert_eq!(plain(&"x".repeat(5000)).len(), LETTERS_MAX);
    }

    #[test]
    fn a_refusal_names_its_check_and_what_was_expected_and_found() {
        let mut result = failed(TaskFailure::PlanRefused, "");
        let refusal = |check: &str, expected: &str, found: &str| Refusal {
            check: check.into(),
            slot_id: None,
            expected: expected.into(),
            found: found.into(),
        };
        result.refusals = vec![refusal("hugepages", "64 free", "12 free"), refusal("gpu", "0000:0f:00.0", "nothing")];
        assert_eq!(
            owner_sentence(&result),
            "Its host is not as it was approved (hugepages: expected 64 free, found 12 free, and 1 more); its slots are being \
             cleaned up."
        );
        result.refusals.remove(0);
        assert!(!owner_sentence(&result).contains("0000:0f"));
        assert_eq!(
            owner_sentence(&failed(TaskFailure::ProvisionFailed, "QEMU ended with status 1.")),
            "The host could not start the guest (QEMU ended with status 1); its slots are being cleaned up."
        );
        assert_eq!(
            owner_sentence(&failed(TaskFailure::ProvisionFailed, "")),
            "The host could not start the guest; its slots are being cleaned up."
        );
    }
}
