//! The simulated fleet and its people, as data: the same fleet that `gpuaas dev` shows, and a small one for worlds that run
//! by the thousand. Everything is derived from names, so two runs have the same addresses, serials and keys.

use agent::Identity;
use control::bootstrap::{NewNode, NewSlot};
use model::{
    IdBits, NodeId, PoolId, SlotId, Timestamp,
    identity::MemberRole,
    sku::CapacityShape,
    supply::{GpuModel, NodeProfile},
};
use sha2::{Digest, Sha256};
use std::{fs, io, path::Path};
use topology::{
    ApprovedSlot, Candidate, Discovery, Entry, Naming, Tree,
    simulated::{HostSpec, trees},
};

/// A region.
#[derive(Debug, Clone, Copy)]
pub struct RegionPlan {
    /// Short name.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Whether anything can be launched there.
    pub enabled: bool,
}

/// A pool and the hosts in it.
#[derive(Debug, Clone, Copy)]
pub struct PoolPlan {
    /// Short name.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Its region.
    pub region: &'static str,
    /// What its hosts carry.
    pub gpu_model: GpuModel,
    /// Whether its hosts may be cut into slices.
    pub slices_enabled: bool,
    /// Its hosts are called this, with a number.
    pub host_prefix: &'static str,
    /// GPUs on each of its hosts: 4 or 8.
    pub hosts: &'static [u32],
    /// Hosts that are not as they should be, by their place in the pool.
    pub odd: &'static [(usize, Condition)],
    /// The private addresses of its guests.
    pub private_range: &'static str,
}

/// How a host is found when the platform first looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    /// In service, and as it was approved.
    #[default]
    Sound,
    /// In service; since its slots were approved somebody mounted one of its data disks.
    Drifted,
    /// Its slots wait for an operator.
    Waiting,
    /// Half of it is broken, and it is not ready for slices.
    Broken,
}

/// Something that is sold.
#[derive(Debug, Clone, Copy)]
pub struct SkuPlan {
    /// Short name.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// The form.
    pub shape: CapacityShape,
    /// What it is made of.
    pub gpu_model: GpuModel,
    /// How many GPUs at a time.
    pub gpu_counts: &'static [i64],
    /// Virtual CPUs for each GPU.
    pub vcpus_per_gpu: i64,
    /// Memory for each GPU.
    pub memory_mib_per_gpu: i64,
    /// Price.
    pub price_micros_per_gpu_hour: i64,
}

/// A project.
#[derive(Debug, Clone, Copy)]
pub struct ProjectPlan {
    /// Short name.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// GPUs it may hold at once.
    pub gpu_cap: i64,
}

/// A member of a tenant.
#[derive(Debug, Clone, Copy)]
pub struct MemberPlan {
    /// Who.
    pub email: &'static str,
    /// As what.
    pub role: MemberRole,
    /// In which project; the whole tenant when absent.
    pub project: Option<&'static str>,
}

/// A tenant with what is in it.
#[derive(Debug, Clone, Copy)]
pub struct TenantPlan {
    /// Short name.
    pub slug: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Its projects.
    pub projects: &'static [ProjectPlan],
    /// Its members.
    pub members: &'static [MemberPlan],
}

/// The queues of a plan: one for each of the projects named, all in one cohort that lends and borrows.
#[derive(Debug, Clone, Copy)]
pub struct QueuesPlan {
    /// The projects, each as its tenant and itself. The others launch without a queue.
    pub projects: &'static [(&'static str, &'static str)],
    /// What is counted.
    pub gpu_models: &'static [GpuModel],
    /// GPUs of each model that each queue has of its own.
    pub nominal: i64,
    /// How long somebody is warned before it is stopped.
    pub notice_s: i64,
    /// How long it may take to stop after that.
    pub grace_s: i64,
    /// How long it runs at least.
    pub min_run_s: i64,
}

/// Everything that a fresh store is filled with.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Regions.
    pub regions: &'static [RegionPlan],
    /// Pools and hosts.
    pub pools: &'static [PoolPlan],
    /// What is sold.
    pub skus: &'static [SkuPlan],
    /// Who buys.
    pub tenants: &'static [TenantPlan],
    /// Who has to queue.
    pub queues: QueuesPlan,
}

/// The platform operator of every plan.
pub const OPERATOR: &str = "olga@platform.example";
/// The operator who only looks.
pub const OBSERVER: &str = "oscar@platform.example";

const REGIONS: &[RegionPlan] = &[
    RegionPlan { slug: "eu-north", name: "Europe North", enabled: true },
    RegionPlan { slug: "us-east", name: "US East (not open yet)", enabled: false },
];

const SLICE_COUNTS: &[i64] = &[1, 2, 4, 8];

const fn slices(slug: &'static str, name: &'static str, gpu_model: GpuModel, price: i64) -> SkuPlan {
    SkuPlan {
        slug,
        name,
        shape: CapacityShape::GpuSlice,
        gpu_model,
        gpu_counts: SLICE_COUNTS,
        vcpus_per_gpu: 24,
        memory_mib_per_gpu: 65_536,
        price_micros_per_gpu_hour: price,
    }
}

const fn metal(gpu_counts: &'static [i64]) -> SkuPlan {
    SkuPlan {
        slug: "h200-sxm-baremetal",
        name: "H200 SXM, whole host",
        shape: CapacityShape::Baremetal,
        gpu_model: GpuModel::H200Sxm,
        gpu_counts,
        vcpus_per_gpu: 24,
        memory_mib_per_gpu: 262_144,
        price_micros_per_gpu_hour: 2_790_000,
    }
}

const H200_SLICE: SkuPlan = slices("h200-sxm-slice", "H200 SXM slice", GpuModel::H200Sxm, 2_490_000);
const A100_SLICE: SkuPlan = slices("a100-sxm-slice", "A100 SXM slice", GpuModel::A100Sxm, 1_190_000);

const fn member(email: &'static str, role: MemberRole, project: Option<&'static str>) -> MemberPlan {
    MemberPlan { email, role, project }
}

const TENANTS: &[TenantPlan] = &[
    TenantPlan {
        slug: "aurora",
        name: "Aurora Research",
        projects: &[
            ProjectPlan { slug: "vision", name: "Vision models", gpu_cap: 24 },
            ProjectPlan { slug: "speech", name: "Speech models", gpu_cap: 8 },
        ],
        members: &[
            member("ada@aurora.example", MemberRole::TenantAdmin, None),
            member("mei@aurora.example", MemberRole::ProjectMember, Some("vision")),
            member("max@aurora.example", MemberRole::ProjectMember, Some("speech")),
            member("vera@aurora.example", MemberRole::Viewer, None),
        ],
    },
    TenantPlan {
        slug: "borealis",
        name: "Borealis Labs",
        projects: &[
            ProjectPlan { slug: "genomics", name: "Genomics", gpu_cap: 16 },
            ProjectPlan { slug: "climate", name: "Climate", gpu_cap: 8 },
        ],
        members: &[
            member("ben@borealis.example", MemberRole::TenantAdmin, None),
            member("mia@borealis.example", MemberRole::ProjectMember, Some("genomics")),
            member("moe@borealis.example", MemberRole::ProjectMember, Some("climate")),
            member("vic@borealis.example", MemberRole::Viewer, None),
        ],
    },
];

const QUEUED: &[(&str, &str)] = &[("aurora", "speech"), ("borealis", "climate")];

const fn pool(slug: &'static str, name: &'static str, gpu_model: GpuModel, slices_enabled: bool) -> PoolPlan {
    PoolPlan {
        slug,
        name,
        region: "eu-north",
        gpu_model,
        slices_enabled,
        host_prefix: slug,
        hosts: &[],
        odd: &[],
        private_range: "10.64.0.0/16",
    }
}

const METAL_RANGE: &str = "10.65.0.0/16";
const A100_RANGE: &str = "10.66.0.0/16";

/// What `gpuaas dev` shows: ten H200 hosts and four A100 hosts with eight GPUs each. One has a drifted slot, one waits for its
/// slots to be approved, one is not ready.
pub const DEV: Plan = Plan {
    regions: REGIONS,
    pools: &[
        PoolPlan {
            hosts: &[8; 8],
            odd: &[(5, Condition::Drifted), (6, Condition::Waiting), (7, Condition::Broken)],
            ..pool("h200-slices", "H200 hosts, cut into slices", GpuModel::H200Sxm, true)
        },
        PoolPlan {
            hosts: &[8; 2],
            private_range: METAL_RANGE,
            ..pool("h200-metal", "H200 hosts, sold whole", GpuModel::H200Sxm, false)
        },
        PoolPlan {
            hosts: &[8; 4],
            private_range: A100_RANGE,
            ..pool("a100-slices", "A100 hosts, cut into slices", GpuModel::A100Sxm, true)
        },
    ],
    skus: &[H200_SLICE, metal(&[8]), A100_SLICE],
    tenants: TENANTS,
    queues: QueuesPlan {
        projects: QUEUED,
        gpu_models: &[GpuModel::H200Sxm, GpuModel::A100Sxm],
        nominal: 4,
        notice_s: 30,
        grace_s: 10,
        min_run_s: 30,
    },
};

/// What worlds run on: four small hosts, so that tenants get into each other's way. One stands where nothing is sold.
pub const SMALL: Plan = Plan {
    regions: REGIONS,
    pools: &[
        PoolPlan { hosts: &[4, 4], ..pool("h200-slices", "H200 hosts, cut into slices", GpuModel::H200Sxm, true) },
        PoolPlan {
            hosts: &[4],
            private_range: METAL_RANGE,
            ..pool("h200-metal", "H200 hosts, sold whole", GpuModel::H200Sxm, false)
        },
        PoolPlan {
            hosts: &[8],
            private_range: A100_RANGE,
            region: "us-east",
            ..pool("a100-slices", "A100 hosts, cut into slices", GpuModel::A100Sxm, true)
        },
    ],
    skus: &[H200_SLICE, metal(&[4]), A100_SLICE],
    tenants: TENANTS,
    // Little of its own for each, so that both borrow and ask for it back.
    queues: QueuesPlan {
        projects: QUEUED,
        gpu_models: &[GpuModel::H200Sxm],
        nominal: 3,
        notice_s: 2,
        grace_s: 1,
        min_run_s: 3,
    },
};

/// One simulated host as data.
#[derive(Debug, Clone)]
pub struct HostPlan {
    /// Its host name.
    pub name: String,
    /// The pool it is in.
    pub pool: PoolPlan,
    /// How many GPUs it has.
    pub gpus: u32,
    /// How it is found.
    pub condition: Condition,
    // Its place in the fleet and in its pool, for addresses.
    number: u32,
    pool_number: u32,
}

impl Plan {
    /// Every host.
    pub fn hosts(&self) -> Vec<HostPlan> {
        let mut all = Vec::new();
        for pool in self.pools {
            for (at, (gpus, pool_number)) in pool.hosts.iter().zip(1u32..).enumerate() {
                let odd = pool.odd.iter().find(|(odd, _)| *odd == at);
                all.push(HostPlan {
                    name: format!("{}-{pool_number:02}", pool.host_prefix),
                    pool: *pool,
                    gpus: *gpus,
                    condition: odd.map_or(Condition::Sound, |(_, condition)| *condition),
                    number: u32::try_from(all.len()).unwrap_or(u32::MAX - 1) + 1,
                    pool_number,
                });
            }
        }
        all
    }
}

fn digest(purpose: &str, name: &str) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"gpuaas simulated fleet\n")
        .chain_update(purpose)
        .chain_update(b"\n")
        .chain_update(name)
        .finalize()
        .into()
}

// Ids carry a time; the hosts of a simulated fleet were all built on the same day.
const BUILT: Timestamp = Timestamp::from_micros(1_735_689_600_000_000);

fn bits(purpose: &str, name: &str) -> IdBits {
    let mut bits = IdBits::default();
    bits.copy_from_slice(&digest(purpose, name)[..10]);
    bits
}

impl HostPlan {
    /// Its id.
    pub fn node_id(&self) -> NodeId {
        NodeId::from_parts(BUILT, bits("node", &self.name))
    }

    /// Its key.
    pub fn identity(&self) -> Identity {
        Identity::from_secret(self.node_id(), &digest("key", &self.name))
    }

    /// Its slots, by module.
    pub fn slot_ids(&self) -> Vec<SlotId> {
        (1..=self.gpus).map(|module| self.slot_id(module)).collect()
    }

    fn slot_id(&self, module: u32) -> SlotId {
        SlotId::from_parts(BUILT, bits("slot", &format!("{}/{module}", self.name)))
    }

    /// What it shows of itself when nothing has happened to it.
    fn sound_tree(&self) -> Tree {
        let spec = HostSpec { number: self.number, name: self.name.clone(), gpus: self.gpus };
        match self.pool.gpu_model {
            GpuModel::H200Sxm => trees::hgx_h200(&spec),
            GpuModel::A100Sxm => trees::a100(&spec),
            // A laboratory's disks are real ones; a simulated host has none.
            GpuModel::Lab => Tree::default(),
        }
    }

    /// What it shows of itself. The same host always shows the same.
    pub fn tree(&self) -> Tree {
        let spec = HostSpec { number: self.number, name: self.name.clone(), gpus: self.gpus };
        match self.condition {
            Condition::Sound | Condition::Waiting => self.sound_tree(),
            Condition::Broken => trees::half_broken(&spec),
            Condition::Drifted => {
                let mut tree = self.sound_tree();
                let disk =
                    self.candidates(&topology::discover(&tree)).into_iter().find_map(|c| c.devices.nvme_identity);
                if let Some(disk) = disk {
                    topology::simulated::drift::mount_disk(&mut tree, &disk, "/mnt/borrowed");
                }
                tree
            }
        }
    }

    /// Writes what it shows of itself into a folder, for a real agent to look at.
    pub fn write_to(&self, folder: &Path) -> io::Result<()> {
        for (path, entry) in self.tree().entries() {
            let place = folder.join(path);
            fs::create_dir_all(place.parent().unwrap_or(folder))?;
            match entry {
                Entry::File(text) => fs::write(&place, text)?,
                Entry::Link(target) => std::os::unix::fs::symlink(target, &place)?,
            }
        }
        Ok(())
    }

    fn candidates(&self, discovery: &Discovery) -> Vec<Candidate> {
        let naming = Naming {
            node_number: self.number,
            // The first node of a pool has the first addresses of its range.
            pool_number: self.pool_number - 1,
            pool_range: self.pool.private_range.parse().ok(),
        };
        topology::candidates(discovery, &naming)
    }

    /// What it says of itself when it is taken in.
    pub fn registration(&self, pool_id: &PoolId) -> NewNode {
        let discovery = topology::discover(&self.sound_tree());
        let in_service = matches!(self.condition, Condition::Sound | Condition::Drifted);
        let candidates = if in_service { self.candidates(&discovery) } else { vec![] };
        NewNode {
            id: self.node_id(),
            pool_id: pool_id.clone(),
            name: self.name.clone(),
            gpu_model: self.pool.gpu_model,
            public_key: self.identity().public_key_hex(),
            slots: candidates.into_iter().filter_map(|candidate| self.slot(candidate, &discovery)).collect(),
            partitions: discovery.partitions.unwrap_or_else(topology::simulated::hgx_partitions),
            profiles: vec![if self.pool.slices_enabled { NodeProfile::SliceVm } else { NodeProfile::Baremetal }],
            promoted: in_service && self.pool.slices_enabled,
        }
    }

    fn slot(&self, candidate: Candidate, discovery: &Discovery) -> Option<NewSlot> {
        let module = candidate.devices.gpu_module_id?;
        let approved = ApprovedSlot::at_approval(candidate.devices.clone(), candidate.gpu_uuid.clone(), discovery);
        Some(NewSlot {
            id: self.slot_id(module.0),
            profile: format!("{}-slice", self.pool.gpu_model),
            gpu_uuid: candidate.gpu_uuid,
            locality: topology::locality(&candidate.devices, discovery),
            devices: candidate.devices,
            approved: Some(approved),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_dev_fleet_is_as_large_as_promised_and_no_two_devices_are_alike() {
        let hosts = DEV.hosts();
        let gpus = |model| hosts.iter().filter(|host| host.pool.gpu_model == model && host.gpus == 8).count();
        assert!(gpus(GpuModel::H200Sxm) >= 8 && gpus(GpuModel::A100Sxm) >= 4);
        assert_eq!((DEV.pools.len(), DEV.tenants.len()), (3, 2));
        assert_eq!(DEV.regions.iter().filter(|region| region.enabled).count(), 1);
        assert!(DEV.tenants.iter().all(|tenant| tenant.projects.len() == 2));
        let pool = PoolId::from_parts(BUILT, [0; 10]);
        let slots: Vec<NewSlot> = hosts.iter().flat_map(|host| host.registration(&pool).slots).collect();
        let sound = |host: &&HostPlan| matches!(host.condition, Condition::Sound | Condition::Drifted);
        assert_eq!(slots.len(), 8 * hosts.iter().filter(sound).count());
        for field in [
            |slot: &NewSlot| slot.devices.mgmt_mac.clone(),
            |slot: &NewSlot| slot.devices.private_ip.clone(),
            |slot: &NewSlot| slot.devices.nvme_identity.clone(),
            |slot: &NewSlot| slot.gpu_uuid.clone(),
            |slot: &NewSlot| Some(slot.id.to_string()),
        ] {
            assert_eq!(slots.iter().map(field).collect::<BTreeSet<_>>().len(), slots.len());
        }
        assert!(slots.iter().all(|slot| slot.devices.missing().is_empty()), "every slot is complete");
    }

    #[test]
    fn devices_of_one_host_have_addresses_of_their_own() {
        for host in DEV.hosts().iter().chain(&SMALL.hosts()) {
            let slots = host.registration(&PoolId::from_parts(BUILT, [0; 10])).slots;
            let addresses: BTreeSet<_> = slots
                .iter()
                .flat_map(|slot| [slot.devices.gpu_pci_address.clone(), slot.devices.fabric_vf_pci_address.clone()])
                .collect();
            assert_eq!(addresses.len(), 2 * slots.len(), "{}", host.name);
            assert!(slots.iter().all(|slot| slot.devices.numa_node.is_some_and(|numa| numa < 2)));
        }
    }
}
