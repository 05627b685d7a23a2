//! What is said over the socket: one ask a connection, then any number of tellings, the last of which is [`Said::Done`],
//! [`Said::Fault`] or, for a stream, [`Said::Opened`]. Each is one line of JSON. The list of verbs is closed; there is no
//! free-form command in it, and a field that is not known is refused.

use model::{
    AllocationId, SlotId,
    guest::GuestSpec,
    image::ImageSpec,
    notice::{NoticeSeen, StopNotice},
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport, Refusal, WorkProgress},
    stream::StreamKind,
    task::{PlanSlot, ReconcileOrder, TaskFailure, TaskSlot},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read, Write},
};

/// The longest ask.
pub const ASK_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The longest answer.
pub const SAID_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The longest evidence of a step of a wipe.
pub const EVIDENCE_BYTES_MAX: usize = 2048;

/// A question or an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Every guest on the host, and what is left of others.
    Guests {},
    /// What a guest on these slots would get. Changes nothing.
    Plan {
        /// The slots.
        slots: Vec<PlanSlot>,
    },
    /// Build and start a guest. Whoever asked and goes away does not want it any more.
    Provision {
        /// For whom.
        allocation_id: AllocationId,
        /// On which slots; the first gives it its address.
        slots: Vec<TaskSlot>,
        /// What it is.
        guest: Box<GuestSpec>,
    },
    /// Tell a guest that it will be stopped, unless it was told, and look whether it has answered. Waits for nobody.
    Notice {
        /// Whose.
        allocation_id: AllocationId,
        /// What it is told.
        notice: StopNotice,
    },
    /// Stop a guest and take away what is left of it.
    Stop {
        /// Whose.
        allocation_id: AllocationId,
        /// The slots it sits on.
        slots: Vec<TaskSlot>,
        /// How many seconds it may take to stop in order before it is cut off; the host's own time when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grace_s: Option<i64>,
    },
    /// One step of wiping one slot.
    Wipe {
        /// Who had it.
        allocation_id: AllocationId,
        /// The slot.
        slot: Box<TaskSlot>,
        /// The step.
        step: WipeStep,
    },
    /// Compare the host with its claims, and put right what may be put right.
    Reconcile {
        /// The claims.
        order: ReconcileOrder,
        /// Allocations that an order is being carried out for; they are left alone.
        busy: Vec<AllocationId>,
    },
    /// Whether an image is in the cache.
    ImageThere {
        /// Which.
        image: ImageSpec,
    },
    /// Take an image into the cache. After [`Said::Opened`] its bytes follow; it may also be [`Said::Done`] at once.
    ImageAdmit {
        /// Which.
        image: ImageSpec,
    },
    /// A way to a guest. After [`Said::Opened`] the connection carries its bytes, both ways.
    Stream {
        /// Whose.
        allocation_id: AllocationId,
        /// To what.
        kind: StreamKind,
    },
    /// What this process can do.
    Ready {},
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// How far it is.
    Progress {
        /// Where.
        progress: WorkProgress,
    },
    /// It is done.
    Done {
        /// What came of it.
        answer: Answer,
    },
    /// It was not done.
    Fault {
        /// What kind of failure it is; none when nothing was ordered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<TaskFailure>,
        /// One sentence.
        detail: String,
        /// What stood against it, check by check.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<Refusal>,
    },
    /// From here on the connection carries bytes.
    Opened {},
}

/// What came of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// The guests.
    Guests {
        /// By allocation.
        guests: Vec<GuestListed>,
    },
    /// The plan.
    Plan {
        /// What it would get, or what stands against it.
        report: PlanReport,
    },
    /// The guest runs and answers.
    Provisioned {
        /// As it is seen.
        seen: GuestSeen,
    },
    /// The guest was told, if somebody listens there.
    Noticed {
        /// What came of it so far.
        seen: NoticeSeen,
    },
    /// The guest is gone.
    Stopped {
        /// What shows it.
        evidence: String,
    },
    /// The step was done.
    Wiped {
        /// What shows it.
        evidence: String,
    },
    /// The host was compared.
    Reconciled {
        /// What was found.
        report: ReconcileReport,
    },
    /// Whether the image is there.
    Image {
        /// It is.
        there: bool,
    },
    /// What the process can do.
    Ready {
        /// All of it.
        ready: Ready,
    },
}

/// One use of one slot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotHeld {
    /// The slot.
    pub slot_id: SlotId,
    /// Which use.
    pub use_generation: i64,
}

/// A guest, or what is left of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestListed {
    /// Whose.
    pub allocation_id: AllocationId,
    /// What it sits on, by slot.
    pub slots: Vec<SlotHeld>,
    /// Whether it was built to the end and runs.
    pub ready: bool,
}

/// What the process can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// What executes guests: `kvm` or `tcg`.
    pub accelerator: String,
    /// Whether slots of a laboratory are taken.
    pub lab: bool,
    /// The machine's serial number, which its firmware shows to root alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<String>,
    /// The programs it uses and what they say they are.
    pub tools: BTreeMap<String, String>,
    /// What is missing; empty when guests can be started.
    pub missing: Vec<String>,
}

/// Why a line could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LineFault {
    /// The other side closed.
    #[error("the other side closed the connection")]
    Closed,
    /// It is too long.
    #[error("a line may be {0} bytes long, and this one is longer")]
    TooLong(usize),
    /// It is no such message.
    #[error("the line is not understood: {0}")]
    NotUnderstood(String),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
}

/// Reads one message. Bytes after its line stay in the reader.
pub fn read<T: for<'de> Deserialize<'de>>(from: &mut impl BufRead, bytes_max: usize) -> Result<T, LineFault> {
    let mut line = vec![];
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    from.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(LineFault::Closed);
    }
    if line.pop() != Some(b'\n') {
        return Err(if line.len() >= bytes_max { LineFault::TooLong(bytes_max) } else { LineFault::Closed });
    }
    serde_json::from_slice(&line).map_err(|error| LineFault::NotUnderstood(error.to_string()))
}

/// Writes one message.
pub fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask(text: &str) -> Result<Ask, LineFault> {
        read(&mut text.as_bytes(), ASK_BYTES_MAX)
    }

    #[test]
    fn verbs_are_a_closed_list_and_so_are_their_fields() {
        assert_eq!(ask("{\"ask\":\"guests\"}\n").unwrap(), Ask::Guests {});
        for bad in [
            "{\"ask\":\"shell\"}\n",
            "{\"ask\":\"guests\",\"command\":\"id\"}\n",
            "{\"ask\":\"provision\"}\n",
            "{\"ask\":\"stop\",\"allocation_id\":\"../x\",\"slots\":[]}\n",
            "{\"ask\":\"notice\",\"allocation_id\":\"alc_01jh2n6f4zw8q9r0s1t2v3x4y5\",\"notice\":{\"line\":\"x\"}}\n",
            "{\"ask\":\"stream\",\"allocation_id\":\"alc_01jh2n6f4zw8q9r0s1t2v3x4y5\",\"kind\":\"vnc\"}\n",
            "[]\n",
            "\n",
        ] {
            assert!(matches!(ask(bad), Err(LineFault::NotUnderstood(_))), "{bad}");
        }
        assert!(matches!(ask(""), Err(LineFault::Closed)));
        assert!(matches!(ask("{\"ask\":\"guests\"}"), Err(LineFault::Closed)), "half a line is none");
    }

    #[test]
    fn a_line_has_an_end() {
        let long = vec![b'x'; 100];
        assert!(matches!(read::<Ask>(&mut long.as_slice(), 10), Err(LineFault::TooLong(10))));
    }

    #[test]
    fn what_follows_a_line_stays() {
        let mut both: Vec<u8> = vec![];
        write(&mut both, &Ask::Ready {}).unwrap();
        both.extend(b"raw bytes");
        let mut from = both.as_slice();
        assert_eq!(read::<Ask>(&mut from, 100).unwrap(), Ask::Ready {});
        assert_eq!(from, b"raw bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_upset_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read::<Ask>(&mut bytes.as_slice(), 100);
            let _ = read::<Said>(&mut bytes.as_slice(), 100);
        }
    }
}
