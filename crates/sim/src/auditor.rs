//! The invariants of a world, looked at after every step.
//!
//! Three things are held against each other: the store by its own rules (`store::invariants`), the hosts by what they saw
//! (fences, repeated changes, foreign traces), and both against what clients were told. When neither the store nor a host has
//! moved since the last look there is nothing new to see, and the look is skipped. What only ever grows (events, audit rows,
//! answers, promises) cannot heal once it is wrong, so it is read from end to end only at every eighth look, after every
//! death at a commit, and at the end.
//!
//! | rule | where it is caught |
//! |---|---|
//! | I1–I5 | the store's own rules over claims and allocations |
//! | I6 | the store (use generations), the host (fences of changes) |
//! | I7, I8 | promises to clients against the store |
//! | I9, I22 | the store's history: versions, events, published graphs; a reader who follows the event numbers |
//! | I10 | the store (proofs), the host (nobody starts on traces; what is for sale has none) |
//! | I15 | what queues and their cohort use, against what they have and may borrow |
//! | I20 | the host (nothing twice, nothing after the answer), the store (answers) |
//! | I21 | no guest of an ended allocation, no guest of nobody; the store's leftovers |
//! | I25 | a running allocation has its guest, unless its host lost power |
//! | I26, I27 | every answer to a client |
//! | I28 | every offer to a node; every ended order has the answer that its own node wrote down |

use crate::{
    host::Machine,
    promises::{Promises, Rows},
    quotas::Quotas,
    seat::Seat,
};
use ed25519_dalek::{Signature, VerifyingKey};
use model::{
    AllocationId, EventId, NodeId, SlotId, TaskId,
    allocation::State,
    proof::Proof,
    supply::SlotState,
    task::{TaskResult, TaskState},
};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};
use store::{
    Db, Page, Scope, StoreError, Tx, allocations, events, fleet,
    invariants::{self, Rules, Violation},
    projects, tasks, tokens, workloads,
};

/// At most this many violations of one rule are named.
const NAMED_MAX: i64 = 5;
/// Worlds are small: every list fits on one page.
const ROWS_MAX: i64 = 1000;

/// A look at what only ever grows, after so many others.
const DEEP_EVERY: u64 = 8;

/// Looks after every step.
#[derive(Debug, Default)]
pub struct Auditor {
    seen: Option<(u64, u64)>,
    looks: u64,
    deep: bool,
    signatures: Signatures,
    /// Orders whose own node answered with a lie, and the allocations they were for.
    pub tainted_tasks: BTreeSet<TaskId>,
    /// Allocations about which their node lied.
    pub tainted: BTreeSet<AllocationId>,
    /// Allocations whose guest was lost with the power of its host.
    pub powerless: BTreeSet<AllocationId>,
    // Orders that were compared with what their node wrote down.
    compared: BTreeSet<TaskId>,
    // Somebody follows the events: the ids, by number, as they were read.
    followed: Vec<EventId>,
    // Nobody changes them in a world.
    quotas: Option<Quotas>,
}

// Checking a signature is slow and its answer never changes.
#[derive(Debug, Clone, Default)]
struct Signatures(Arc<Mutex<BTreeMap<[u8; 32], bool>>>);

impl Signatures {
    fn holds(&self, public_key: &str, proof: &Proof) -> bool {
        let bytes = proof.signed_bytes();
        let asked =
            Sha256::new().chain_update(public_key).chain_update(&proof.signature).chain_update(&bytes).finalize();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(asked.into()).or_insert_with(|| signed_by(public_key, proof, &bytes))
    }
}

/// Whether a proof was signed with this key. Written apart from the control plane's own check, which it audits.
fn signed_by(public_key: &str, proof: &Proof, bytes: &[u8]) -> bool {
    let unhex = |text: &str| {
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
        digits.map(|digits| digits.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum * 16 + digit)).collect())
    };
    let check = || {
        let key: Vec<u8> = unhex(public_key)?;
        let signature: Vec<u8> = unhex(&proof.signature)?;
        let key = VerifyingKey::from_bytes(key.as_slice().try_into().ok()?).ok()?;
        key.verify_strict(bytes, &Signature::from_slice(&signature).ok()?).ok()
    };
    check().is_some()
}

/// What the store holds that concerns hosts.
#[derive(Debug, Default)]
struct Books {
    guests: BTreeMap<AllocationId, State>,
    running: Vec<AllocationId>,
    for_sale: BTreeSet<SlotId>,
}

impl Books {
    fn read(tx: &mut Tx<'_>, guests: &[AllocationId]) -> Result<Self, StoreError> {
        let mut books = Self::default();
        for id in guests {
            books.guests.extend(allocations::get(tx, id)?.map(|row| (row.id, row.state)));
        }
        let running = allocations::AllocationFilter { state: Some(State::Running), ..Default::default() };
        let running = allocations::list(tx, &Scope::All, running, Page::first(ROWS_MAX))?;
        books.running = running.into_iter().map(|row| row.id).collect();
        let slots = fleet::load(tx)?.slots.into_iter();
        books.for_sale = slots.filter(|slot| slot.state == SlotState::Available).map(|slot| slot.id).collect();
        Ok(books)
    }
}

fn promised(tx: &mut Tx<'_>) -> Result<Rows, StoreError> {
    let page = Page::first(ROWS_MAX);
    Ok(Rows {
        allocations: allocations::list(tx, &Scope::All, allocations::AllocationFilter::default(), page)?,
        projects: projects::list(tx, &Scope::All, None, page)?,
        workloads: workloads::list(tx, &Scope::All, workloads::WorkloadFilter::default(), page)?,
        tokens: tokens::list(tx, &Scope::All, tokens::TokenFilter::default(), page)?,
    })
}

// Orders that were answered and not compared yet, with the place of their node.
fn ended(
    tx: &mut Tx<'_>,
    nodes: &[NodeId],
    compared: &BTreeSet<TaskId>,
) -> Result<Vec<(TaskId, usize, TaskResult)>, StoreError> {
    let mut ended = vec![];
    for (at, node) in nodes.iter().enumerate() {
        for task in tasks::list_of_node(tx, node, Page::first(ROWS_MAX))? {
            let answered = matches!(task.state, TaskState::Succeeded | TaskState::Failed);
            if let Some(result) = task.result.filter(|_| answered && !compared.contains(&task.id)) {
                ended.push((task.id, at, result));
            }
        }
    }
    Ok(ended)
}

impl Auditor {
    /// Looks; `found` already has what was seen while the step went on.
    pub fn look(
        &mut self,
        db: &Db,
        seats: &[Seat],
        promises: &Promises,
        found: &mut Vec<Violation>,
    ) -> Result<(), StoreError> {
        for seat in seats {
            found.extend(seat.host.take_violations());
        }
        let now = (db.inline_changes().unwrap_or_default(), seats.iter().map(|seat| seat.host.changes()).sum());
        if self.seen == Some(now) && !self.deep && found.is_empty() {
            return Ok(());
        }
        self.seen = Some(now);
        self.looks += 1;
        let machines: Vec<Machine> = seats.iter().map(|seat| seat.host.machine()).collect();
        let signatures = self.signatures.clone();
        let known = machines.iter().flat_map(|machine| &machine.guests).map(|guest| guest.allocation_id.clone());
        let known: Vec<AllocationId> = known.collect();
        let (seen, books, live) = db.read(move |tx| {
            Ok::<_, StoreError>((state_rules(tx, &signatures)?, Books::read(tx, &known)?, workloads::live(tx)?))
        })?;
        found.extend(seen);
        if self.quotas.is_none() {
            self.quotas = Some(db.read(Quotas::read)?);
        }
        found.extend(self.quotas.iter().flat_map(|quotas| quotas.overdrawn(&live)));
        self.check_hosts(&books, &machines, seats, found);
        // Whoever finds something looks at everything, so that a failure names every rule that is broken.
        if std::mem::take(&mut self.deep) || self.looks.is_multiple_of(DEEP_EVERY) || !found.is_empty() {
            self.look_at_history(db, seats, promises, found)?;
        }
        Ok(())
    }

    /// The next look is a deep one, whether anything moved or not.
    pub fn look_deep(&mut self) {
        self.deep = true;
    }

    /// How many times there was something to look at.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    fn look_at_history(
        &mut self,
        db: &Db,
        seats: &[Seat],
        promises: &Promises,
        found: &mut Vec<Violation>,
    ) -> Result<(), StoreError> {
        let nodes: Vec<_> = seats.iter().map(|seat| seat.node_id.clone()).collect();
        let compared = self.compared.clone();
        let (seen, rows, ended) =
            db.read(move |tx| Ok::<_, StoreError>((history_rules(tx)?, promised(tx)?, ended(tx, &nodes, &compared)?)))?;
        found.extend(seen);
        found.extend(promises.broken(&rows));
        self.check_answers(&ended, seats, found);
        self.follow(db, found)
    }

    // Reads on where it stopped: every number once, none left out, none that changes afterwards.
    fn follow(&mut self, db: &Db, found: &mut Vec<Violation>) -> Result<(), StoreError> {
        let last = i64::try_from(self.followed.len()).unwrap_or(i64::MAX);
        // One that was read before is read again, to see that it is still the same.
        let after = (last - 1).max(0);
        let page = db.read(move |tx| events::list(tx, &Scope::All, after, ROWS_MAX))?;
        for (event, expected) in page.events.into_iter().zip(after + 1..) {
            let known = usize::try_from(event.seq - 1).ok().and_then(|at| self.followed.get(at));
            if event.seq != expected || known.is_some_and(|known| *known != event.id) {
                let detail = format!("has number {}, a reader expected {expected} and {known:?}", event.seq);
                found.push(violation("I22", event.id.as_str(), detail));
                return Ok(());
            }
            if event.seq > last {
                self.followed.push(event.id);
            }
        }
        Ok(())
    }

    fn check_hosts(&self, books: &Books, machines: &[Machine], seats: &[Seat], found: &mut Vec<Violation>) {
        let mut up: BTreeSet<&AllocationId> = BTreeSet::new();
        for (machine, seat) in machines.iter().zip(seats) {
            for guest in &machine.guests {
                let ended = match books.guests.get(&guest.allocation_id) {
                    Some(state) if !state.is_terminal() => None,
                    Some(state) => Some(format!("which is {state}")),
                    None => Some("which does not exist".to_owned()),
                };
                if let Some(ended) = ended.filter(|_| !self.tainted.contains(&guest.allocation_id)) {
                    let detail = format!("{} has a guest of {}, {ended}", seat.plan.name, guest.allocation_id);
                    found.push(violation("I21", guest.allocation_id.as_str(), detail));
                }
                if guest.ready {
                    up.insert(&guest.allocation_id);
                }
            }
            for (slot_id, traces) in &machine.slots {
                let left = [&traces.disk, &traces.gpu, &traces.fabric].into_iter().flatten().next();
                if let Some(left) = left.filter(|_| books.for_sale.contains(slot_id)) {
                    let detail = format!("is for sale with what {left} left behind");
                    found.push(violation("I10", slot_id.as_str(), detail));
                }
            }
        }
        for id in &books.running {
            if !up.contains(id) && !self.powerless.contains(id) && !self.tainted.contains(id) {
                found.push(violation("I25", id.as_str(), "is running without a guest".to_owned()));
            }
        }
    }

    // An order ended the way its own node says it did; nobody else can end it.
    fn check_answers(&mut self, ended: &[(TaskId, usize, TaskResult)], seats: &[Seat], found: &mut Vec<Violation>) {
        for (task_id, seat, result) in ended {
            self.compared.insert(task_id.clone());
            let refused = result.failure == Some(model::task::TaskFailure::StaleFence);
            if self.tainted_tasks.contains(task_id) || refused {
                continue;
            }
            if seats[*seat].host.answer(task_id).as_ref() != Some(result) {
                let detail = format!("ended with an answer that {} never wrote down", seats[*seat].plan.name);
                found.push(violation("I28", task_id.as_str(), detail));
            }
        }
    }
}

fn violation(invariant: &'static str, subject: &str, detail: String) -> Violation {
    Violation { invariant, subject: subject.to_owned(), detail }
}

fn state_rules(tx: &mut Tx<'_>, signatures: &Signatures) -> Result<Vec<Violation>, StoreError> {
    let proof_signed = |public_key: &str, proof: &Proof| signatures.holds(public_key, proof);
    invariants::check_state(tx, &rules(&proof_signed))
}

fn history_rules(tx: &mut Tx<'_>) -> Result<Vec<Violation>, StoreError> {
    invariants::check_history(tx, &rules(&|_, _| true))
}

fn rules<'a>(proof_signed: &'a dyn Fn(&str, &Proof) -> bool) -> Rules<'a> {
    Rules { edge_exists: &lifecycle::edge_exists, proof_signed, limit: NAMED_MAX }
}
