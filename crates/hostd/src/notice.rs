//! Telling a guest that it will be stopped, on a port of its own, and hearing whether it is ready for that.
//!
//! Telling and looking are one verb, which waits for nobody: whoever wants to know more asks again. The line to a guest stays
//! open from the first time on until the guest is stopped or is told something else, because what is written there is lost when
//! the line is closed before somebody in the guest has read it, and so is an answer while nobody holds the other end. A process
//! that was killed tells its guests once more.
//!
//! At the other end is a tenant. Nothing is read that is not there already, no more than so much at a time and in all, and
//! nothing is sent but one short line, which fits into a line that was just opened.

use crate::{console, failed::Failed, host::Hostd, provision::names, record};
use guest::{
    domain::read_domain,
    machine::{MachineFault, Machines, State, Which},
    notice::{self, Heard},
};
use model::{
    AllocationId,
    notice::{NoticeSeen, StopNotice},
    runtime::WorkStep,
    task::TaskFailure,
};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    sync::{Mutex, MutexGuard, PoisonError},
};

// Heard in one look at most.
const LOOK_BYTES_MAX: usize = 16 * 1024;

/// A guest that was told, and what came back so far.
#[derive(Debug)]
struct Told {
    notice: StopNotice,
    line: UnixStream,
    heard: Heard,
    delivered: bool,
}

impl Told {
    // Tells a guest, over a line on which nothing was said yet.
    fn tell(notice: &StopNotice, line: UnixStream) -> io::Result<Self> {
        line.set_nonblocking(true)?;
        let words = notice::line(notice)?;
        if (&line).write(&words)? < words.len() {
            return Err(io::Error::other("there is no room for the notice"));
        }
        Ok(Self { notice: notice.clone(), line, heard: Heard::default(), delivered: false })
    }

    // Takes what is there. Whether the line still is.
    fn look(&mut self) -> bool {
        let mut left = LOOK_BYTES_MAX;
        let mut piece = [0; 1024];
        loop {
            let wanted = piece.len().min(left).min(self.heard.room());
            if wanted == 0 {
                return true;
            }
            match (&self.line).read(&mut piece[..wanted]) {
                Ok(0) => return false,
                Ok(count) => {
                    self.heard.listen(&piece[..count]);
                    left -= count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }

    fn seen(&self) -> NoticeSeen {
        let checkpointed = self.heard.is_checkpointed();
        // Nobody answers who does not listen.
        NoticeSeen { delivered: self.delivered || checkpointed, checkpointed }
    }
}

/// The guests that were told.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<BTreeMap<AllocationId, Told>>);

impl Notices {
    fn all(&self) -> MutexGuard<'_, BTreeMap<AllocationId, Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hangs up: the guest is gone.
    pub(crate) fn forget(&self, allocation_id: &AllocationId) {
        self.all().remove(allocation_id);
    }
}

fn failed(why: impl ToString) -> Failed {
    Failed::of(TaskFailure::NoticeFailed, why)
}

impl Hostd {
    /// Tells a guest that it will be stopped, unless it was told, and looks whether somebody listens and has answered.
    pub fn notice(&self, allocation_id: &AllocationId, notice: &StopNotice) -> Result<NoticeSeen, Failed> {
        let Some(_hand) = self.hands.try_take(names(allocation_id, &[])) else {
            return Err(failed(format!("another order for {allocation_id} is being carried out")));
        };
        let record = self.records.read(allocation_id).map_err(failed)?;
        let record = record.ok_or_else(|| failed(format!("{allocation_id} has no guest on this host")))?;
        if matches!(record.step, WorkStep::Stop | WorkStep::Remove) {
            return Err(failed(format!("{} is being taken away", record.guest)));
        }
        let known = self.notices.all().remove(allocation_id).filter(|told| told.notice == *notice);
        let listens = match &known {
            Some(told) if told.seen().delivered => Some(true),
            _ => self.listens(&record)?,
        };
        let Some(listens) = listens else { return Ok(NoticeSeen::default()) };
        let mut told = match known {
            Some(told) => told,
            None => self.tell(&record, notice)?,
        };
        told.delivered |= listens;
        let is_there = told.look();
        let seen = told.seen();
        if is_there {
            self.notices.all().insert(allocation_id.clone(), told);
        }
        Ok(seen)
    }

    // Whether somebody in the guest has its port open; none when it is off, or from before there were such ports.
    fn listens(&self, record: &record::Record) -> Result<Option<bool>, Failed> {
        let uuid = record.guest.uuid();
        let state = self.virsh.state(uuid).map_err(failed)?;
        if state.is_none_or(|seen| seen.state != State::Running) {
            return Ok(None);
        }
        let xml = match self.virsh.dumpxml(uuid, Which::Now) {
            Err(MachineFault::NoSuchDomain { .. }) => return Ok(None),
            xml => xml.map_err(failed)?,
        };
        let socket = record::places(&self.config, &record.guest).notice;
        Ok(read_domain(&xml).map_err(failed)?.notice_heard(&socket))
    }

    fn tell(&self, record: &record::Record, notice: &StopNotice) -> Result<Told, Failed> {
        let socket = record::places(&self.config, &record.guest).notice;
        let (emulator_uid, _) = self.config.emulator_ids().map_err(failed)?;
        let line = console::connect(&socket, emulator_uid).and_then(|line| Told::tell(notice, line));
        line.map_err(|error| failed(format!("{} cannot be told: {error}", record.guest)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use guest::notice::{HEARD_BYTES_MAX, LINE_BYTES_MAX};
    use model::{Timestamp, notice::StopReason};

    const ANSWER: &[u8] = b"{\"event\":\"checkpointed\"}\n";

    fn told() -> (Told, UnixStream) {
        let (near, guest) = UnixStream::pair().unwrap();
        let stop_at = Timestamp::from_micros(1_767_225_600_000_000);
        (Told::tell(&StopNotice { stop_at, reason: StopReason::Preempted, by: None }, near).unwrap(), guest)
    }

    // What the guest says, as far as there is room for it.
    fn say(guest: &UnixStream, words: &[u8]) {
        guest.set_nonblocking(true).unwrap();
        let mut rest = words;
        while !rest.is_empty() {
            match (&mut &*guest).write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn a_guest_is_told_one_line_and_its_answer_is_heard() {
        let (mut told, mut guest) = told();
        let mut line = [0; 256];
        let count = guest.read(&mut line).unwrap();
        let text = String::from_utf8(line[..count].to_vec()).unwrap();
        assert!(text.starts_with("{\"event\":\"stop_notice\",\"stop_at\":\"2026-01-01T00:00:00.000Z\""), "{text}");
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        assert!(told.look());
        assert_eq!(told.seen(), NoticeSeen::default(), "nobody is waited for");
        say(&guest, &ANSWER[..10]);
        assert!(told.look());
        assert!(!told.seen().checkpointed, "half an answer is none");
        say(&guest, &ANSWER[10..]);
        assert!(told.look());
        assert_eq!(told.seen(), NoticeSeen { delivered: true, checkpointed: true });
        drop(guest);
        assert!(told.look() && told.seen().checkpointed, "what was said stays said");
    }

    #[test]
    fn a_guest_that_floods_is_read_in_parts_and_then_no_more() {
        let (mut told, guest) = told();
        let mut looks = 0;
        while told.heard.room() > 0 {
            say(&guest, &[b'{'; 100_000]);
            let before = told.heard.room();
            assert!(told.look());
            assert!(before - told.heard.room() <= LOOK_BYTES_MAX);
            looks += 1;
            assert!(looks <= HEARD_BYTES_MAX / 1024, "it comes to an end");
        }
        say(&guest, b"\n");
        say(&guest, ANSWER);
        assert!(told.look());
        assert_eq!(told.seen(), NoticeSeen::default());
    }

    #[test]
    fn nonsense_is_silence() {
        let long = vec![b'x'; LINE_BYTES_MAX * 4];
        for words in [&b"\0\0\0\n"[..], b"\xff\xff\n", b"{}\n", b"[[[[[[[[\n", b"null\n", b"\n\n\n", &long] {
            let (mut told, guest) = told();
            say(&guest, words);
            assert!(told.look());
            assert_eq!(told.seen(), NoticeSeen::default(), "{words:?}");
            say(&guest, b"\n");
            say(&guest, ANSWER);
            assert!(told.look());
            assert!(told.seen().checkpointed, "after {words:?}");
        }
    }

    #[test]
    fn a_line_that_was_closed_is_gone_and_its_last_words_count() {
        let (mut told, guest) = told();
        say(&guest, ANSWER);
        drop(guest);
        assert!(told.look() && told.seen().checkpointed);
        let (mut told, guest) = self::told();
        drop(guest);
        assert!(!told.look());
        assert_eq!(told.seen(), NoticeSeen::default());
    }
}
