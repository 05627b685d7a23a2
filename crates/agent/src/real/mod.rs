//! The real host: what it shows of itself is read from its files and from a few fixed programs; guests come later.
//!
//! Looking never changes anything, and never waits for ever: a file that hangs or a program that does not end is left out,
//! with a note. There is no shell anywhere; the programs that are asked are named in the sources, with their arguments.

pub mod ask;
pub mod fabric;
pub mod nvidia_smi;
pub mod root;
pub mod tools;

use crate::host::{Effect, Guest, Host, HostFault, SlotUse};
use model::proof::WipeStep;
use root::DiskRoot;
use serde::Serialize;
use std::path::{Path, PathBuf};
use topology::{
    Tree,
    capture::{Probes, capture},
    probe,
    tree::TreeFault,
};

/// Where guest images are kept unless somebody says otherwise.
pub const IMAGE_CACHE: &str = "/var/lib/gpuaas-agent/images";

/// A host that can be looked at.
#[derive(Debug, Clone)]
pub struct RealHost {
    root: PathBuf,
    image_cache: PathBuf,
}

impl RealHost {
    /// This machine, when the root is `/`; otherwise a captured tree that lies in a directory.
    pub fn new(root: &Path, image_cache: &Path) -> Self {
        Self { root: root.to_owned(), image_cache: image_cache.to_owned() }
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

impl Host for RealHost {
    fn provision(&mut self, _: &Effect) -> Result<(), HostFault> {
        Err(HostFault::new(NO_GUESTS))
    }
    fn stop_guest(&mut self, _: &Effect, _: &Guest) -> Result<(), HostFault> {
        Err(HostFault::new(NO_GUESTS))
    }
    fn wipe_step(&mut self, _: &Effect, _: &SlotUse, _: WipeStep) -> Result<String, HostFault> {
        Err(HostFault::new(NO_GUESTS))
    }
    fn capture(&self) -> Result<Tree, HostFault> {
        self.tree().map_err(|fault| HostFault::new(format!("The host shows more than can be kept: {fault}.")))
    }
    fn guests(&self) -> Result<Vec<Guest>, HostFault> {
        Ok(vec![])
    }
}
