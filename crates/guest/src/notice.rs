//! What is said to a guest on its port for notices, and what may be heard there.
//!
//! Both are lines of JSON. The guest is told once that it will be stopped; it may answer once that it has saved what it needs.
//! Its owner is root in it and may write anything, for ever and without an end of line. So only so much is listened to, only
//! one answer is known, and everything else is as good as silence: there is nothing a guest could say that is an error.

use model::{
    AllocationId, Timestamp,
    notice::{StopNotice, StopReason},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The name of the port, which in the guest is `/dev/virtio-ports/` and this.
pub const PORT: &str = "org.gpuaas.notice.0";

/// The longest line that is read; what is longer is no answer.
pub const LINE_BYTES_MAX: usize = 256;

/// What is listened to for one notice at most. A guest that talks on has nothing to say.
pub const HEARD_BYTES_MAX: usize = 64 * 1024;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Word<'a> {
    StopNotice {
        stop_at: Timestamp,
        reason: StopReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<&'a AllocationId>,
    },
}

/// The line that tells a guest, with its end.
pub fn line(notice: &StopNotice) -> Result<Vec<u8>, serde_json::Error> {
    let StopNotice { stop_at, reason, by } = notice;
    let word = Word::StopNotice { stop_at: *stop_at, reason: *reason, by: by.as_ref() };
    let mut line = serde_json::to_vec(&word)?;
    line.push(b'\n');
    Ok(line)
}

/// What was heard from a guest since it was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    line: Vec<u8>,
    // The line so far is too long to be an answer, and is not kept.
    is_too_long: bool,
    bytes: usize,
    checkpointed: bool,
}

impl Heard {
    /// Listens to the next bytes, however they were cut.
    pub fn listen(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().take(self.room()) {
            match byte {
                b'\n' => self.line_ended(),
                _ if self.line.len() < LINE_BYTES_MAX => self.line.push(*byte),
                _ => self.is_too_long = true,
            }
        }
        self.bytes = self.bytes.saturating_add(bytes.len());
    }

    /// How many more bytes are listened to; none once it has answered.
    pub fn room(&self) -> usize {
        if self.checkpointed { 0 } else { HEARD_BYTES_MAX.saturating_sub(self.bytes) }
    }

    /// Whether it said that it has saved what it needs.
    pub fn is_checkpointed(&self) -> bool {
        self.checkpointed
    }

    fn line_ended(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.checkpointed |= !std::mem::take(&mut self.is_too_long) && is_answer(&line);
    }
}

// An object with this one field, and nothing else.
fn is_answer(line: &[u8]) -> bool {
    let fields: Option<BTreeMap<String, String>> = serde_json::from_slice(line).ok();
    fields.is_some_and(|fields| fields.into_iter().eq([("event".to_owned(), "checkpointed".to_owned())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ANSWER: &str = "{\"event\":\"checkpointed\"}\n";

    fn heard(said: &[u8]) -> bool {
        let mut heard = Heard::default();
        heard.listen(said);
        heard.is_checkpointed()
    }

    #[test]
    fn a_notice_is_one_line_that_says_when_why_and_for_whom() {
        let stop_at = Timestamp::from_micros(1_767_225_600_000_000);
        let by = AllocationId::from_parts(Timestamp::from_micros(1), [1; 10]);
        let preempted = StopNotice { stop_at, reason: StopReason::Preempted, by: Some(by.clone()) };
        let said = String::from_utf8(line(&preempted).unwrap()).unwrap();
        let expected = format!(
            "{{\"event\":\"stop_notice\",\"stop_at\":\"2026-01-01T00:00:00.000Z\",\"reason\":\"preempted\",\"by\":\"{by}\"}}\n"
        );
        assert_eq!(said, expected);
        let drained = StopNotice { by: None, reason: StopReason::Drained, ..preempted };
        let said = String::from_utf8(line(&drained).unwrap()).unwrap();
        assert_eq!(
            said,
            "{\"event\":\"stop_notice\",\"stop_at\":\"2026-01-01T00:00:00.000Z\",\"reason\":\"drained\"}\n"
        );
    }

    #[test]
    fn only_the_one_answer_is_one() {
        assert!(heard(ANSWER.as_bytes()));
        assert!(heard(b" { \"event\" : \"checkpointed\" } \r\n"), "spaces mean nothing in JSON");
        let wrong: [&[u8]; 16] = [
            b"",
            b"\n",
            b"checkpointed\n",
            b"{\"event\":\"checkpointed\"}",
            b"{\"event\":\"checkpoint\"}\n",
            b"{\"event\":\"Checkpointed\"}\n",
            b"{\"event\":\"checkpointed\",\"run\":\"rm -rf /\"}\n",
            b"{\"event\":{\"event\":\"checkpointed\"}}\n",
            b"{\"event\":[\"checkpointed\"]}\n",
            b"{\"checkpointed\":true}\n",
            b"[\"checkpointed\"]\n",
            b"\"checkpointed\"\n",
            b"{\"event\":\"checkpointed\"} {\"event\":\"checkpointed\"}\n",
            b"{\"event\":\"check\npointed\"}\n",
            b"\xff\xfe{\"event\":\"checkpointed\"}\n",
            b"{\"event\":\"checkpointed\"}\0\n",
        ];
        for said in wrong {
            assert!(!heard(said), "{:?}", String::from_utf8_lossy(said));
            let mut later = said.to_vec();
            later.extend([b"\n", ANSWER.as_bytes()].concat());
            assert!(heard(&later), "nonsense before it does not spoil it: {:?}", String::from_utf8_lossy(said));
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_room_and_does_not_spoil_the_next() {
        let mut heard = Heard::default();
        for _ in 0..100 {
            heard.listen(&[b'['; 100]);
            assert!(heard.line.len() <= LINE_BYTES_MAX);
        }
        heard.listen(b"\n");
        heard.listen(ANSWER.as_bytes());
        assert!(heard.is_checkpointed());
        let padded = format!("{}{ANSWER}", " ".repeat(LINE_BYTES_MAX));
        assert!(!self::heard(padded.as_bytes()), "an answer in a line that is too long is none");
    }

    #[test]
    fn a_guest_that_talks_on_is_not_listened_to_any_more() {
        let mut heard = Heard::default();
        heard.listen(&vec![b'\n'; HEARD_BYTES_MAX - ANSWER.len() + 1]);
        assert_eq!(heard.room(), ANSWER.len() - 1);
        heard.listen(ANSWER.as_bytes());
        assert!(!heard.is_checkpointed(), "the last byte of it came too late");
        assert_eq!(heard.room(), 0);
        heard.listen(ANSWER.as_bytes());
        assert!(!heard.is_checkpointed());
    }

    #[test]
    fn what_was_said_is_not_taken_back() {
        let mut heard = Heard::default();
        heard.listen(ANSWER.as_bytes());
        heard.listen(b"{\"event\":\"not yet\"}\n");
        assert_eq!((heard.is_checkpointed(), heard.room()), (true, 0));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_it_means_the_same(said in proptest::collection::vec(any::<u8>(), 0..2000), cuts in proptest::collection::vec(1usize..300, 1..20)) {
            let mut whole = said.clone();
            whole.extend(ANSWER.as_bytes());
            let mut at_once = Heard::default();
            at_once.listen(&whole);
            let mut in_parts = Heard::default();
            let mut rest = &whole[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                in_parts.listen(now);
                rest = later;
            }
            prop_assert_eq!(at_once.is_checkpointed(), in_parts.is_checkpointed());
        }
    }
}
