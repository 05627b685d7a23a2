//! The leader's picture of the fleet: store rows turned into what the engine looks at. Nothing is decided here. A node whose
//! row makes no sense is left out, and said so, rather than stopping placement for everybody.

use std::collections::HashMap;

use engine::fleet::{Fleet, NodeView, SlotView};
use model::{
    NodeId, SlotId,
    sku::CapacityShape,
    supply::{OccupancyMode, SlotState},
};
use store::{
    StoreError, Tx, events,
    fleet::{self, FleetNode, FleetSlot},
};
use topology::{DeviceField, ModuleId, Partitions};

/// A picture, and what is needed to check a verdict made on it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) fleet: Fleet,
    /// How far the event sequence had come when it was taken.
    pub(crate) version: i64,
    /// The version at which each slot was seen.
    pub(crate) versions: HashMap<SlotId, i64>,
}

impl Snapshot {
    /// Takes over what a commit just changed, so that the next verdict of the same sweep sees it.
    pub(crate) fn adopt(&mut self, node_id: &NodeId, taken: &[SlotId], shape: CapacityShape) {
        let Some(node) = self.fleet.nodes.iter_mut().find(|node| node.id == *node_id) else { return };
        node.occupancy = match shape {
            CapacityShape::GpuSlice => OccupancyMode::Sliced,
            CapacityShape::Baremetal => OccupancyMode::Exclusive,
        };
        for slot in node.slots.iter_mut().filter(|slot| taken.contains(&slot.id)) {
            slot.state = SlotState::Reserved;
        }
        for id in taken {
            // Whatever it is now, nobody chooses it again from this picture.
            self.versions.remove(id);
        }
    }
}

/// Takes a picture.
pub(crate) fn load(tx: &mut Tx<'_>) -> Result<Snapshot, StoreError> {
    let version = events::head(tx)?;
    let rows = fleet::load(tx)?;
    let versions = rows.slots.iter().map(|slot| (slot.id.clone(), slot.version)).collect();
    let mut slots: HashMap<NodeId, Vec<SlotView>> = HashMap::new();
    for slot in &rows.slots {
        slots.entry(slot.node_id.clone()).or_default().push(slot_view(slot));
    }
    let nodes = rows.nodes.iter().filter_map(|node| node_view(node, slots.remove(&node.id).unwrap_or_default()));
    Ok(Snapshot { fleet: Fleet { nodes: nodes.collect() }, version, versions })
}

fn node_view(node: &FleetNode, slots: Vec<SlotView>) -> Option<NodeView> {
    // A host that was not looked at yet has none.
    let partitions: Option<Partitions> = match serde_json::from_str(&node.partitions) {
        Ok(partitions) => partitions,
        Err(error) => {
            tracing::error!(alert = "node_partitions_unreadable", node = %node.id, %error, "left out of placement");
            return None;
        }
    };
    let blind = model::planted!(SliceBesideBareMetal);
    Some(NodeView {
        id: node.id.clone(),
        region_id: node.region_id.clone(),
        pool_id: node.pool_id.clone(),
        gpu_model: node.gpu_model,
        slices_enabled: node.slices_enabled,
        state: node.state,
        desired: node.desired,
        promoted: node.promoted,
        occupancy: if blind { OccupancyMode::Free } else { node.occupancy },
        partitions,
        slots,
    })
}

fn slot_view(slot: &FleetSlot) -> SlotView {
    let positive = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
    let numa = positive(slot.numa_node);
    // The row says that something is missing, not what; for placement any of it is enough.
    let missing = match (slot.complete, numa) {
        (false, _) => DeviceField::ALL.to_vec(),
        (true, None) => vec![DeviceField::NumaNode],
        (true, Some(_)) => vec![],
    };
    let blind = model::planted!(TwoClaimsOnOneSlot) && slot.state != SlotState::Disabled;
    SlotView {
        id: slot.id.clone(),
        module_id: positive(slot.gpu_module_id).map(ModuleId),
        numa,
        state: if blind { SlotState::Available } else { slot.state },
        missing,
        drifted: slot.drifted,
    }
}
