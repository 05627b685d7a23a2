//! Giving an order to a node: what it must carry so that a late, repeated or foreign copy of it is harmless. One order for
//! each (allocation, kind, attempt) is the store's rule, so giving one twice is refused, not doubled.

use lifecycle::order::{OrderView, Orders};
use model::{
    AllocationId, NodeId, SlotId, TaskId, Timestamp,
    claim::ClaimKind,
    guest::{BundleDevice, GuestSpec, LOGIN_USER, SlotBundle, SlotShare},
    notice::StopNotice,
    supply::SlotState,
    task::{Fence, GuestOrder, NoticeOrder, Task, TaskInput, TaskKind, TaskSlot, TaskState},
};
use store::{
    Stamp, StoreError, Tx,
    allocations::{self, AllocationRow},
    claims,
    living::{self, Living as Table},
    skus::{self, SkuRow},
    slot_profiles,
    slots::{self, SlotRow},
    tasks::{self, TaskNew, TaskRow},
};

use super::task::supersedes;

/// What an order wants of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Provision,
    Release,
}

impl Purpose {
    fn input(self, guest: GuestOrder) -> TaskInput {
        match self {
            Self::Provision => TaskInput::SliceVmProvision(guest),
            Self::Release => TaskInput::SliceVmRelease(guest),
        }
    }
}

/// For whom an order is.
pub(super) struct Order<'a> {
    pub(super) node_id: &'a NodeId,
    pub(super) allocation: &'a AllocationRow,
    pub(super) purpose: Purpose,
    pub(super) attempt: i64,
    pub(super) deadline: Timestamp,
    /// How long the guest may take to stop in order; the host's own time when nobody promised it one.
    pub(super) grace_s: Option<i64>,
}

/// Writes an order down, and looks again at older ones that it replaces.
pub(super) fn give(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    order: &Order<'_>,
    touched: &[SlotRow],
) -> Result<(), StoreError> {
    let challenge = |slot: &SlotRow| if order.purpose == Purpose::Release { slot.wipe_nonce.clone() } else { None };
    let allocation = order.allocation;
    let sku = skus::get(tx, &allocation.sku_id)?.ok_or(StoreError::NotFound)?;
    let mut slots: Vec<TaskSlot> = Vec::with_capacity(touched.len());
    for slot in touched {
        let share = share(tx, &slot.profile, Some(&sku))?;
        slots.push(TaskSlot {
            slot_id: slot.id.clone(),
            use_generation: slot.use_generation,
            nonce: challenge(slot),
            bundle: share.and_then(|share| bundle(slot, share)).map(Box::new),
        });
    }
    let spec = match order.purpose {
        Purpose::Provision => guest_spec(tx, allocation, touched)?.map(Box::new),
        Purpose::Release => None,
    };
    let input = order.purpose.input(GuestOrder {
        allocation_id: allocation.id.clone(),
        slots,
        guest: spec,
        grace_s: order.grace_s,
    });
    let Order { node_id, attempt, deadline, .. } = *order;
    write_down(tx, stamp, allocation, Given { node_id, input, attempt, deadline })
}

/// Tells the guest of a running allocation that it will be stopped. The order ends when the guest says that it is ready, or when
/// its time has come; what came of it is in its result. A newer notice takes its place, and so does the order to stop it.
pub(super) fn give_notice(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    notice: StopNotice,
    attempt: i64,
) -> Result<(), StoreError> {
    let (node_id, held) = held_to_order(tx, &allocation.id)?;
    let deadline = notice.stop_at.plus_seconds(NOTICE_LATE_S);
    let slots = held.iter().map(|slot| (slot.id.clone(), slot.use_generation));
    let input = noticed(&allocation.id, slots, notice);
    write_down(tx, stamp, allocation, Given { node_id: &node_id, input, attempt, deadline })
}

// An agent answers a second after the guest's time has come; a host that is away may take a poll longer.
const NOTICE_LATE_S: i64 = 60;

/// What a guest is to be told, as its host is told. What was approved for its slots is of no use for that.
fn noticed(id: &AllocationId, slots: impl Iterator<Item = (SlotId, i64)>, notice: StopNotice) -> TaskInput {
    let slot = |(slot_id, use_generation)| TaskSlot { slot_id, use_generation, nonce: None, bundle: None };
    TaskInput::SliceVmNotice(NoticeOrder { allocation_id: id.clone(), slots: slots.map(slot).collect(), notice })
}

/// An order that lacks only its id and its fence.
struct Given<'a> {
    node_id: &'a NodeId,
    input: TaskInput,
    attempt: i64,
    deadline: Timestamp,
}

fn write_down(
    tx: &mut Tx<'_>,
    stamp: &mut Stamp<'_>,
    allocation: &AllocationRow,
    given: Given<'_>,
) -> Result<(), StoreError> {
    // The agent compares slot by slot, with each slot's own generation; this one is for people and for the answer.
    let generation = given.input.slots().iter().map(|slot| slot.use_generation).max().unwrap_or(0);
    let task = Task {
        id: TaskId::from_parts(stamp.now, stamp.bits()),
        node_id: given.node_id.clone(),
        input: given.input,
        fence: Fence { incarnation: store::incarnation(tx)?, generation, attempt: given.attempt },
        deadline: given.deadline,
    };
    tasks::insert(tx, stamp, TaskNew { task: &task, owner: Some((&allocation.tenant_id, &allocation.project_id)) })?;
    let given = tasks::of_allocation(tx, &allocation.id)?;
    let Some(newest) = given.iter().find(|other| other.id == task.id) else { return Err(StoreError::NotFound) };
    for older in given.iter().filter(|older| !older.state.is_terminal() && supersedes(newest, older)) {
        living::poke(tx, Table::Tasks, older.id.as_str(), stamp.now)?;
    }
    Ok(())
}

/// What a guest is made of, besides its slots; none for a whole node that its tenant brings up themselves.
fn guest_spec(
    tx: &mut Tx<'_>,
    allocation: &AllocationRow,
    touched: &[SlotRow],
) -> Result<Option<GuestSpec>, StoreError> {
    let Some(image) = allocation.terms.image.clone() else { return Ok(None) };
    Ok(Some(GuestSpec {
        host_name: host_name(allocation.name.as_str()),
        user_name: LOGIN_USER.to_owned(),
        ssh_keys: allocation.terms.ssh_keys.iter().map(|key| key.public_key.clone()).collect(),
        user_data: allocations::user_data(tx, &allocation.id)?.map(String::from),
        image,
        partition: partition(touched),
    }))
}

/// The partition that GPUs are together, by their places on the board; none for a single one, or for none.
fn partition(touched: &[SlotRow]) -> Vec<u32> {
    let gpus = touched.iter().filter(|slot| slot.parts.gpu_pci_address.is_some());
    let mut places: Vec<u32> = gpus.filter_map(|slot| u32::try_from(slot.parts.gpu_module_id?).ok()).collect();
    places.sort_unstable();
    if places.len() > 1 { places } else { vec![] }
}

/// Letters of one part of a host name at most.
const HOST_NAME_MAX: usize = 63;

/// What its owner calls it, as a name that a host may have.
pub(super) fn host_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(letter).take(HOST_NAME_MAX).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "guest".to_owned() } else { text.to_owned() }
}

/// What one slot of a profile gets of its host. Slots of a profile that nobody wrote down get what was bought.
pub(crate) fn share(tx: &mut Tx<'_>, profile: &str, sku: Option<&SkuRow>) -> Result<Option<SlotShare>, StoreError> {
    let known = match profile.parse() {
        Ok(slug) => slot_profiles::get(tx, &slug)?,
        Err(_) => None,
    };
    let bought = sku.map(|sku| (sku.terms.vcpus_per_gpu, sku.terms.memory_mib_per_gpu));
    let made_of = known.as_ref().map(|profile| (profile.terms.vcpus, profile.terms.memory_mib));
    let whole = || {
        let (vcpus, memory_mib) = bought.or(made_of)?;
        Some(SlotShare {
            vcpus: u32::try_from(vcpus).ok()?,
            memory_mib: u64::try_from(memory_mib).ok()?,
            hugepage_kib: known.as_ref().and_then(|of| of.terms.hugepage_kib).and_then(|kib| u64::try_from(kib).ok()),
            disk_bytes_min: known.as_ref().map_or(0, |of| u64::try_from(of.terms.min_disk_bytes).unwrap_or(0)),
        })
    };
    Ok(whole())
}

/// What was approved for a slot, as a host needs it; none while something of it is unknown.
pub(crate) fn bundle(slot: &SlotRow, share: SlotShare) -> Option<SlotBundle> {
    let parts = &slot.parts;
    let device = |address: &Option<String>| address.clone().map(|pci_address| BundleDevice { pci_address });
    let gpu = device(&parts.gpu_pci_address);
    Some(SlotBundle {
        profile: slot.profile.clone(),
        // What has no GPU has a number only to be told from the others.
        gpu_module_id: gpu.as_ref().and(parts.gpu_module_id).and_then(|id| u32::try_from(id).ok()),
        gpu,
        fabric: device(&parts.fabric_vf_pci_address),
        disk_identity: parts.nvme_identity.clone()?,
        mac: parts.mgmt_mac.clone()?,
        ip: parts.private_ip.as_deref()?.parse().ok()?,
        numa_node: u32::try_from(parts.numa_node.unwrap_or(0)).ok()?,
        share,
    })
}

/// Orders of one kind, as deciders see them. Those from before the state was entered, or begun anew at an operator's word,
/// are seen but not counted.
pub(super) fn orders_of<'a>(given: impl Iterator<Item = &'a TaskRow>, since: Timestamp) -> Orders {
    given.fold(Orders { newest: None, given: 0 }, |so_far, task| Orders {
        // Rows come in the order of their ids; the highest attempt is the newest.
        newest: Some(OrderView { state: task.state, since: task.life.state_since }),
        given: so_far.given + i64::from(task.created >= since),
    })
}

/// The orders of an allocation by attempt, oldest first.
pub(super) fn by_attempt(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Vec<TaskRow>, StoreError> {
    let mut given = tasks::of_allocation(tx, id)?;
    given.sort_by_key(|task| task.fence.attempt);
    Ok(given)
}

/// The attempt that ended an allocation's use of its slots; later orders to release wipe single slots again.
pub(super) fn release_that_ended(given: &[TaskRow]) -> Option<i64> {
    let mut releases = given.iter().filter(|task| task.kind == TaskKind::SliceVmRelease);
    releases.find(|task| task.state == TaskState::Succeeded).map(|task| task.fence.attempt)
}

/// What an allocation holds now: its node, and the slots that are in its hands.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) node_id: Option<NodeId>,
    pub(super) slots: Vec<SlotRow>,
}

/// Reads what an allocation holds from its claims, which are the truth.
pub(super) fn held(tx: &mut Tx<'_>, id: &AllocationId) -> Result<Held, StoreError> {
    let Some(claim) = claims::of_allocation(tx, id)?.into_iter().find(|claim| claim.active) else {
        return Ok(Held::default());
    };
    let slots = match claim.kind {
        ClaimKind::Slot => slots::of_allocation(tx, id)?,
        ClaimKind::NodeExclusive => {
            let mut all = slots::of_node(tx, &claim.node_id)?;
            all.retain(|slot| !matches!(slot.state, SlotState::Disabled | SlotState::Available));
            all
        }
    };
    Ok(Held { node_id: Some(claim.node_id), slots })
}

/// The same for whoever gives an order: the node that it goes to, and the slots it is about.
pub(super) fn held_to_order(tx: &mut Tx<'_>, id: &AllocationId) -> Result<(NodeId, Vec<SlotRow>), StoreError> {
    let Held { node_id, slots } = held(tx, id)?;
    let node_id = node_id.ok_or_else(|| StoreError::Other("an allocation without claims cannot give orders".into()))?;
    Ok((node_id, slots))
}

/// Gives each slot a fresh challenge that its next wipe proof must answer.
pub(crate) fn challenge(tx: &mut Tx<'_>, stamp: &mut Stamp<'_>, touched: &[SlotRow]) -> Result<(), StoreError> {
    let nonces: Vec<String> = touched.iter().map(|_| nonce(stamp)).collect();
    let pairs: Vec<(&SlotRow, &str)> = touched.iter().zip(nonces.iter().map(String::as_str)).collect();
    slots::challenge_all(tx, stamp, &pairs)
}

fn nonce(stamp: &mut Stamp<'_>) -> String {
    [stamp.bits(), stamp.bits()].concat().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{host_name, noticed};
    use model::{
        AllocationId, SlotId, Timestamp,
        notice::{StopNotice, StopReason},
        task::{TaskInput, TaskKind},
    };

    #[test]
    fn whatever_it_is_called_a_host_can_be_called_that() {
        assert_eq!(host_name("trainer-1"), "trainer-1");
        assert_eq!(host_name("My Job_2"), "my-job-2");
        assert_eq!(host_name("研究"), "guest");
        assert_eq!(host_name("-x-"), "x");
        assert_eq!(host_name(&"a".repeat(200)).len(), 63);
    }

    #[test]
    fn a_notice_names_the_guest_by_its_slots_and_carries_nothing_that_is_not_needed() {
        let at = Timestamp::from_micros(1);
        let (id, slot_id) = (AllocationId::from_parts(at, [1; 10]), SlotId::from_parts(at, [2; 10]));
        let notice = StopNotice { stop_at: at.plus_seconds(60), reason: StopReason::Preempted, by: None };
        let input = noticed(&id, [(slot_id.clone(), 7)].into_iter(), notice.clone());
        assert_eq!((input.kind(), input.allocation_id()), (TaskKind::SliceVmNotice, Some(&id)));
        assert_eq!(input.guest(), None, "nothing is changed of it");
        let slots: Vec<_> = input.slots().iter().map(|slot| (&slot.slot_id, slot.use_generation)).collect();
        assert_eq!(slots, [(&slot_id, 7)]);
        assert!(input.slots().iter().all(|slot| slot.bundle.is_none() && slot.nonce.is_none()));
        assert!(matches!(input, TaskInput::SliceVmNotice(order) if order.notice == notice));
    }
}
