//! One node as the inventory keeps it: the rows, with every slot judged and given its place on the board. What every answer
//! looks at lies close together; ids are numbers except where they are told.

use super::kind::{Change, Kind, SlotStatus, Tenancy};
use crate::{
    board::{Board, bit, bits, count},
    fleet::{NodeView, Occupant, SlotView},
};
use model::{
    NodeId, ProjectId, SlotId, Timestamp,
    placement::CoTenancy,
    sku::CapacityShape,
    supply::{NodeDesired, NodeState, OccupancyMode, SlotState},
};
use std::{collections::BTreeMap, str::FromStr};
use topology::ModuleId;

/// An id as a number that sorts like the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) high: u64,
    pub(crate) low: u64,
}

/// A node of the inventory.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) key: Key,
    pub(crate) domain: u32,
    /// The class it is in; set when it joins one.
    pub(crate) class: u32,
    pub(crate) board: u32,
    /// How often its slots were used, together.
    pub(crate) wear: u32,
    pub(crate) occupancy: OccupancyMode,
    slices_enabled: bool,
    promoted: bool,
    state: NodeState,
    desired: NodeDesired,
    pub(crate) pool: Key,
    /// By id.
    slots: Box<[Slot]>,
    pub(crate) holders: Vec<Holder>,
    /// Slots that wait for the proof of a wipe, where it is known since when.
    waiting: Vec<(usize, Timestamp)>,
}

/// A slot of the inventory.
#[derive(Debug, Clone)]
struct Slot {
    key: Key,
    wear: u32,
    /// The place of the GPU it names on the board; [`NOWHERE`] where it is not on it.
    named: u8,
    state: SlotState,
    /// It alone names that GPU. Two rows for one GPU cannot both be right, so neither is trusted.
    alone: bool,
    /// Every device is known.
    complete: bool,
    drifted: bool,
}

/// An allocation on a node.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) allocation: Key,
    tenant: Key,
    closed: bool,
    /// The GPUs it holds.
    mask: u64,
    /// The places of its slots in the node's list.
    places: Places,
    /// Its project and group.
    pub(crate) group: Option<Box<(ProjectId, String)>>,
}

// No board has so many GPUs.
const NOWHERE: u8 = u8::MAX;

/// Places in the list of a node's slots: a bit for each of the first 64, and a list for what hardly any node has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    first: u64,
    beyond: Box<[usize]>,
}

impl Places {
    fn add(&mut self, place: usize) {
        match u32::try_from(place).ok().filter(|place| *place < u64::BITS) {
            Some(place) => self.first |= bit(place),
            None => self.beyond = self.beyond.iter().copied().chain([place]).collect(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        bits(self.first).map(|place| place as usize).chain(self.beyond.iter().copied())
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<T: IntoIterator<Item = usize>>(all: T) -> Self {
        let mut places = Self::default();
        all.into_iter().for_each(|place| places.add(place));
        places
    }
}

impl Slot {
    fn new(slot: &SlotView, named: &BTreeMap<ModuleId, u32>, board: &Board) -> Self {
        Self {
            key: key_of(slot.id.as_str()),
            named: slot
                .module_id
                .and_then(|module| board.bit_of(module))
                .and_then(|at| u8::try_from(at).ok())
                .unwrap_or(NOWHERE),
            wear: slot.wear,
            state: slot.state,
            alone: slot.module_id.is_some_and(|module| named.get(&module) == Some(&1)),
            complete: slot.missing.is_empty(),
            drifted: slot.drifted,
        }
    }

    // Whether it can be sold, and why not. A row that says `available` is not believed further than that.
    fn status(&self) -> SlotStatus {
        match self.state {
            SlotState::Reserved | SlotState::InUse => SlotStatus::Claimed,
            SlotState::Wiping => SlotStatus::Wiping,
            SlotState::CleanupBlocked => SlotStatus::CleanupBlocked,
            SlotState::Disabled => SlotStatus::Disabled,
            SlotState::Available if !self.complete || self.mask() == 0 => SlotStatus::Incomplete,
            SlotState::Available if self.drifted => SlotStatus::Drifted,
            SlotState::Available => SlotStatus::Free,
        }
    }

    // The bit of the GPU it names; nothing where that is not on the board.
    fn named(&self) -> u64 {
        bit(u32::from(self.named))
    }

    // The bit of its GPU; nothing where it cannot be said to stand for one.
    fn mask(&self) -> u64 {
        if self.alone { self.named() } else { 0 }
    }
}

impl Node {
    pub(crate) fn new(view: &NodeView, domain: usize, at_board: usize, board: &Board) -> Self {
        let mut named: BTreeMap<ModuleId, u32> = BTreeMap::new();
        for module in view.slots.iter().filter_map(|slot| slot.module_id) {
            *named.entry(module).or_default() += 1;
        }
        let mut rows: Vec<&SlotView> = view.slots.iter().collect();
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        let slots: Box<[Slot]> = rows.iter().map(|slot| Slot::new(slot, &named, board)).collect();
        let mut node = Self {
            key: key_of(view.id.as_str()),
            domain: count(domain),
            class: 0,
            board: count(at_board),
            wear: slots.iter().fold(0, |sum, slot| sum.saturating_add(slot.wear)),
            occupancy: view.occupancy,
            slices_enabled: view.slices_enabled,
            promoted: view.promoted,
            state: view.state,
            desired: view.desired,
            pool: key_of(view.pool_id.as_str()),
            slots,
            holders: Vec::with_capacity(view.occupants.len()),
            waiting: vec![],
        };
        for (slot, at) in rows.iter().zip(0usize..) {
            node.turn(at, slot.state, slot.since);
        }
        for occupant in &view.occupants {
            let slots = occupant.slot_ids.iter().filter_map(|id| node.place_of(id)).collect();
            node.enter(occupant, slots);
        }
        node
    }

    // Takes an occupant in.
    fn enter(&mut self, occupant: &Occupant, places: Places) {
        let mask = self.mask_of(&places);
        self.holders.push(Holder {
            allocation: key_of(occupant.allocation_id.as_str()),
            tenant: key_of(occupant.tenant_id.as_str()),
            closed: occupant.co_tenancy == CoTenancy::SameTenant,
            mask,
            places,
            group: occupant.group.as_ref().map(|group| Box::new((occupant.project_id.clone(), group.clone()))),
        });
    }

    /// Lets the holder at this place go; its slots are in this state now.
    pub(crate) fn leave(&mut self, at: usize, into: SlotState, since: Option<Timestamp>) -> Holder {
        let gone = self.holders.remove(at);
        for place in gone.places.iter() {
            self.turn(place, into, since);
        }
        gone
    }

    /// The places of slots that can all be sold now, or the first that cannot.
    pub(crate) fn free_places<'a>(&self, slots: &'a [SlotId]) -> Result<Places, &'a SlotId> {
        let free = |id: &'a SlotId| {
            let at = self.place_of(id).filter(|at| self.slots[*at].status() == SlotStatus::Free);
            at.ok_or(id)
        };
        slots.iter().map(free).collect()
    }

    /// Gives these slots to an occupant; each begins a new use.
    pub(crate) fn sell(&mut self, occupant: &Occupant, places: Places) {
        for at in places.iter() {
            self.turn(at, SlotState::Reserved, None);
            let slot = &mut self.slots[at];
            let by = u32::from(slot.wear < u32::MAX);
            (slot.wear, self.wear) = (slot.wear + by, self.wear.saturating_add(by));
        }
        self.enter(occupant, places);
    }

    /// Whether the slot at this place is in nobody's hands.
    pub(crate) fn is_available(&self, at: usize) -> bool {
        self.slots.get(at).is_some_and(|slot| slot.state == SlotState::Available)
    }

    /// Puts the slot at this place in another state.
    pub(crate) fn turn(&mut self, at: usize, into: SlotState, since: Option<Timestamp>) {
        self.slots[at].state = into;
        if !self.waiting.is_empty() {
            self.waiting.retain(|(place, _)| *place != at);
        }
        if into == SlotState::CleanupBlocked {
            self.waiting.extend(since.map(|since| (at, since)));
        }
    }

    fn mask_of(&self, places: &Places) -> u64 {
        places.iter().fold(0, |mask, at| mask | self.slots[at].mask())
    }

    /// What the sale of these places makes of its kind, where the kind and that alone tell. They are free, so each is the only
    /// one for its GPU, and their mask says which they are.
    pub(crate) fn sale(&self, occupant: &Occupant, shape: CapacityShape, places: &Places) -> Option<Change> {
        let mask = self.mask_of(places);
        let (occupancy, closed) = (occupancy_for(shape), occupant.co_tenancy == CoTenancy::SameTenant);
        let tenancy = if closed || self.tenancy() == Tenancy::Closed { Tenancy::Closed } else { Tenancy::Open };
        (mask != 0).then_some(Change { mask, taken: true, occupancy, tenancy })
    }

    /// The same for a holder that gives back slots which can all be sold again at once.
    pub(crate) fn return_of(&self, at: usize, into: SlotState) -> Option<Change> {
        let gone = &self.holders[at];
        let others = self.holders.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, holder)| holder);
        let (mut masks, mut tenancy) = (0, Tenancy::Vacant);
        for holder in others {
            masks |= holder.mask;
            tenancy = if holder.closed || tenancy == Tenancy::Closed { Tenancy::Closed } else { Tenancy::Open };
        }
        let claimed = |slot: &Slot| slot.status() == SlotStatus::Claimed;
        let sound = |slot: &Slot| claimed(slot) && slot.complete && !slot.drifted && slot.mask() != 0;
        let plain = into == SlotState::Available
            && gone.mask != 0
            && masks & gone.mask == 0
            && gone.places.iter().all(|place| sound(&self.slots[place]));
        let occupancy = if tenancy == Tenancy::Vacant { OccupancyMode::Free } else { self.occupancy };
        plain.then_some(Change { mask: gone.mask, taken: false, occupancy, tenancy })
    }

    /// The one tenant on it, if there is exactly one.
    pub(crate) fn sole_tenant(&self) -> Option<Key> {
        let first = self.holders.first().map(|holder| holder.tenant);
        first.filter(|tenant| self.holders.iter().all(|holder| holder.tenant == *tenant))
    }

    /// Everything about it that a verdict can depend on, except its age and its name.
    pub(crate) fn kind(&self) -> Kind {
        let mut kind = Kind {
            pool: self.pool,
            board: self.board as usize,
            slices_enabled: self.slices_enabled,
            promoted: self.promoted,
            state: self.state,
            desired: self.desired,
            occupancy: self.occupancy,
            tenancy: self.tenancy(),
            masks: [0; SlotStatus::ALL.len()],
            tallies: [0; SlotStatus::ALL.len()],
            holders: Vec::with_capacity(self.slots.len()),
        };
        for slot in &self.slots {
            let status = slot.status();
            kind.masks[status.at()] |= if status == SlotStatus::Incomplete { slot.named() } else { slot.mask() };
            kind.tallies[status.at()] += 1;
        }
        let mut nobody = kind.masks[SlotStatus::Claimed.at()];
        for holder in self.holders.iter().filter(|holder| holder.mask != 0) {
            kind.holders.push(holder.mask);
            nobody &= !holder.mask;
        }
        // A claimed slot that no occupant names still has a holder.
        kind.holders.extend(bits(nobody).map(bit));
        kind.holders.sort_unstable();
        kind
    }

    fn tenancy(&self) -> Tenancy {
        if self.holders.is_empty() {
            Tenancy::Vacant
        } else if self.holders.iter().any(|holder| holder.closed) {
            Tenancy::Closed
        } else {
            Tenancy::Open
        }
    }

    /// The place of a slot in the node's list.
    pub(crate) fn place_of(&self, id: &SlotId) -> Option<usize> {
        let key = key_of(id.as_str());
        self.slots.iter().position(|slot| slot.key == key)
    }

    /// Since when slots have waited for the proof of a wipe.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Timestamp> {
        self.waiting.iter().map(|(_, since)| *since)
    }

    /// Its id.
    pub(crate) fn id(&self) -> Option<NodeId> {
        id_of(NodeId::PREFIX, self.key)
    }

    /// How often the GPUs of a set were used.
    pub(crate) fn wear_of(&self, mask: u64) -> u32 {
        self.slots.iter().filter(|slot| slot.mask() & mask != 0).fold(0, |sum, slot| sum.saturating_add(slot.wear))
    }

    /// The slots of a free set, by id.
    pub(crate) fn slots_in(&self, mask: u64) -> Vec<SlotId> {
        let mut chosen = Vec::with_capacity(usize::try_from(mask.count_ones()).unwrap_or(0));
        let inside = self.slots.iter().filter(|slot| slot.mask() & mask != 0 && slot.status() == SlotStatus::Free);
        chosen.extend(inside.filter_map(|slot| id_of(SlotId::PREFIX, slot.key)));
        chosen
    }
}

/// How a node is held by an allocation of a shape.
pub(crate) fn occupancy_for(shape: CapacityShape) -> OccupancyMode {
    match shape {
        CapacityShape::GpuSlice => OccupancyMode::Sliced,
        CapacityShape::Baremetal => OccupancyMode::Exclusive,
    }
}

/// The key of an id: the 26 characters after the prefix are 128 bits in base 32, without i, l, o and u.
pub(crate) fn key_of(id: &str) -> Key {
    let digits = &id.as_bytes()[id.len().saturating_sub(26)..];
    // Twelve digits fit into one machine word.
    let word = |digits: &[u8]| digits.iter().fold(0u64, |word, byte| word << 5 | u64::from(VALUES[usize::from(*byte)]));
    let (rest, low) = digits.split_at(digits.len().saturating_sub(12));
    let (high, middle) = rest.split_at(rest.len().saturating_sub(12));
    let middle = word(middle);
    Key { high: word(high) << 56 | middle >> 4, low: middle << 60 | word(low) }
}

const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

// What each character stands for.
const VALUES: [u8; 256] = {
    let mut values = [0; 256];
    let mut value = 0u8;
    while value < 32 {
        values[DIGITS[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// The id that a number stands for. A number lies beside its node; the text of an id lies somewhere else, and fetching it
/// from there takes longer than writing it anew.
fn id_of<T: FromStr>(prefix: &str, key: Key) -> Option<T> {
    let mut text = [b'_'; 30];
    text.get_mut(..3)?.copy_from_slice(prefix.as_bytes().get(..3)?);
    let (high, low) = text[4..].split_at_mut(14);
    // Twelve digits are 60 bits; the other four bits of the lower word go to the upper digits.
    write_digits(low, key.low);
    write_digits(&mut high[2..], key.high << 4 | key.low >> 60);
    write_digits(&mut high[..2], key.high >> 56);
    std::str::from_utf8(&text).ok()?.parse().ok()
}

fn write_digits(text: &mut [u8], number: u64) {
    let mut left = number;
    for place in text.iter_mut().rev() {
        *place = DIGITS[usize::try_from(left & 31).unwrap_or(0)];
        left >>= 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_like_the_ids_they_stand_for() {
        let at = |us: i64, bits: [u8; 10]| NodeId::from_parts(Timestamp::from_micros(us), bits);
        let mut ids: Vec<NodeId> = (0u8..200)
            .map(|n| at(i64::from(n % 7) * 1_234_567, [n, n.wrapping_mul(37), 255 - n, 1, n, 3, 250, n, n, n]))
            .collect();
        ids.sort();
        ids.dedup();
        assert!(ids.len() > 190);
        assert!(ids.is_sorted_by(|a, b| key_of(a.as_str()) < key_of(b.as_str())));
        for id in ids {
            assert_eq!(id_of(NodeId::PREFIX, key_of(id.as_str())), Some(id));
        }
    }
}
