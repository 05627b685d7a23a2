//! The real host: what it shows of itself is read from its files and from a few fixed programs. Whatever changes it is done by
//! another process, because it takes rights that a program that talks to the network must not have: see [`root_hands`].
//!
//! Looking never changes anything, and never waits for ever: a file that hangs or a program that does not end is left out,
//! with a note. There is no shell anywhere; the programs that are asked are named in the sources, with their arguments.

pub mod ask;
pub mod fabric;
pub mod hostd_hands;
pub mod lab;
pub mod nvidia_smi;
pub mod root;
pub mod root_hands;
pub mod tools;

use crate::host::{Effect, Guest, Host, HostFault, Watch};
use model::{
    AllocationId, Timestamp,
    image::ImageSpec,
    notice::NoticeSeen,
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport},
    task::{GuestOrder, NoticeOrder, PlanOrder, ReconcileOrder, TaskSlot},
};
use root::DiskRoot;
use root_hands::RootHands;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use topology::{
    Tree,
    capture::{Probes, capture},
    probe,
    tree::TreeFault,
};

/// Where guest images are kept unless somebody says otherwise.
pub const IMAGE_CACHE: &str = "/var/lib/gpuaas-hostd/images";

/// A host that can be looked at, and with somebody's help changed.
#[derive(Debug, Clone)]
pub struct RealHost {
    root: PathBuf,
    image_cache: PathBuf,
    lab: bool,
    hands: Option<Arc<dyn RootHands>>,
}

impl RealHost {
    /// This machine, when the root is `/`; otherwise a captured tree that lies in a directory.
    pub fn new(root: &Path, image_cache: &Path) -> Self {
        Self { root: root.to_owned(), image_cache: image_cache.to_owned(), lab: false, hands: None }
    }

    /// The same, with somebody who may change it.
    #[must_use]
    pub fn with_hands(mut self, hands: Arc<dyn RootHands>) -> Self {
        self.hands = Some(hands);
        self
    }

    /// The same; of a laboratory, loop devices are shown as well.
    #[must_use]
    pub fn with_lab(mut self, lab: bool) -> Self {
        self.lab = lab;
        self
    }

    /// Whether this is the machine itself, so that programs can be asked.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Everything the host shows, as a tree.
    pub fn tree(&self) -> Result<Tree, TreeFault> {
        let probes = if self.is_live() { Probes::Asked } else { Probes::FromFiles };
        let mut tree = capture(&mut DiskRoot::new(&self.root), probes)?;
        if self.is_live() {
            answer(&mut tree, probe::NVML, nvidia_smi::probe().as_ref())?;
            answer(&mut tree, probe::FABRIC, Some(&fabric::probe()))?;
            answer(&mut tree, probe::TOOLS, Some(&tools::probe()))?;
            answer(&mut tree, probe::IMAGE_CACHE, tools::image_cache(&self.image_cache).as_ref())?;
            answer(&mut tree, probe::LAB, self.lab.then(|| lab::probe(&self.root)).as_ref())?;
        }
        Ok(tree)
    }

    /// The machine's serial number, as its firmware tells it.
    pub fn serial(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.root.join("sys/class/dmi/id/product_serial")).ok()?;
        Some(text.trim().to_owned()).filter(|serial| !serial.is_empty())
    }
}

fn answer(tree: &mut Tree, path: &str, probed: Option<&impl Serialize>) -> Result<(), TreeFault> {
    match probed.and_then(|probed| serde_json::to_string(probed).ok()) {
        Some(text) => tree.insert_file(path, text + "\n"),
        None => Ok(()),
    }
}

// Said instead of doing half of it: the control plane sees the reason, and the slot stays unsold.
const NO_GUESTS: &str = "This version of the agent cannot run guests.";

impl RealHost {
    fn hands(&self) -> Result<&dyn RootHands, HostFault> {
        self.hands.as_deref().ok_or_else(|| HostFault::new(NO_GUESTS))
    }
}

impl Host for RealHost {
    fn provision(&self, effect: &Effect, order: &GuestOrder, watch: &dyn Watch) -> Result<GuestSeen, HostFault> {
        self.hands()?.provision(effect, order, watch)
    }
    fn notice(&self, order: &NoticeOrder, _: Timestamp) -> Result<NoticeSeen, HostFault> {
        self.hands()?.notice(order)
    }
    fn stop_guest(&self, effect: &Effect, guest: &Guest, watch: &dyn Watch) -> Result<String, HostFault> {
        self.hands()?.stop_guest(effect, guest, watch)
    }
    fn wipe_step(
        &self,
        effect: &Effect,
        slot: &TaskSlot,
        step: WipeStep,
        watch: &dyn Watch,
    ) -> Result<String, HostFault> {
        self.hands()?.wipe_step(effect, slot, step, watch)
    }
    fn capture(&self) -> Result<Tree, HostFault> {
        self.tree().map_err(|fault| HostFault::new(format!("The host shows more than can be kept: {fault}.")))
    }
    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        self.hands.as_ref().map_or(Ok(vec![]), |hands| hands.guests())
    }
    fn plan(&self, order: &PlanOrder) -> Result<PlanReport, HostFault> {
        self.hands()?.plan(order)
    }
    fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        watch: &dyn Watch,
    ) -> Result<ReconcileReport, HostFault> {
        self.hands()?.reconcile(order, busy, watch)
    }
    fn prefetch(&self, image: &ImageSpec, watch: &dyn Watch) -> Result<(), HostFault> {
        self.hands()?.prefetch(image, watch)
    }
}
