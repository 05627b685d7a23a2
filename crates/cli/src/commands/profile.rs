//! Slot profiles: what one slot of a kind is made of besides its GPU.

use api::{
    Nothing,
    catalog::{
        SlotProfileCreate, SlotProfileCreateBody, SlotProfileList, SlotProfilePath, SlotProfileShow, SlotProfileUpdate,
        SlotProfileUpdateBody,
    },
};
use clap::{Args, Subcommand};
use model::{
    number::{HugepageKib, MemoryMibPerGpu, MinDiskBytes, VcpusPerGpu},
    supply::GpuModel,
    text::{DisplayName, Slug},
};

use crate::{
    args::{Keyed, Pinned, examples, words},
    failure::Failure,
    session::{Extra, Session},
    table,
};

/// Verbs of slot profiles.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas slot-profile list"])]
pub enum ProfileCommand {
    /// List slot profiles
    #[command(after_help = examples!["gpuaas slot-profile list", "gpuaas slot-profile list -o json"])]
    List,
    /// Show a slot profile
    #[command(after_help = examples!["gpuaas slot-profile show h200-sxm-slice"])]
    Show {
        /// Its short name
        slug: Slug,
    },
    /// Create a slot profile
    #[command(after_help = examples![
        "gpuaas slot-profile create h200-sxm-slice --name 'H200 slice' --gpu-model h200-sxm --vcpus 24 --memory-mib 65536",
    ])]
    Create(Create),
    /// Change what slots of a profile are made of; SKUs made of it follow, and what already runs keeps its terms
    #[command(after_help = examples!["gpuaas slot-profile update h200-sxm-slice --vcpus 32 --memory-mib 131072"])]
    Update(Update),
}

/// A new profile.
#[derive(Debug, Args)]
pub struct Create {
    /// Short name, unique among profiles
    slug: Slug,
    /// Name for people
    #[arg(long)]
    name: DisplayName,
    /// The GPU of its slots
    #[arg(long, value_parser = words!(GpuModel))]
    gpu_model: GpuModel,
    /// Virtual CPUs of one slot
    #[arg(long, value_name = "N")]
    vcpus: VcpusPerGpu,
    /// Memory of one slot
    #[arg(long, value_name = "MIB")]
    memory_mib: MemoryMibPerGpu,
    /// The smallest disk that a slot may have
    #[arg(long, value_name = "BYTES")]
    min_disk_bytes: Option<MinDiskBytes>,
    /// The size of the huge pages that memory is made of: 2048 or 1048576 [default: ordinary pages]
    #[arg(long, value_name = "KIB")]
    hugepage_kib: Option<HugepageKib>,
    #[command(flatten)]
    keyed: Keyed,
}

/// What changes about a profile.
#[derive(Debug, Args)]
pub struct Update {
    /// Its short name
    slug: Slug,
    /// Name for people
    #[arg(long, required_unless_present_any = ["vcpus", "memory_mib", "min_disk_bytes", "hugepage_kib"])]
    name: Option<DisplayName>,
    /// Virtual CPUs of one slot
    #[arg(long, value_name = "N")]
    vcpus: Option<VcpusPerGpu>,
    /// Memory of one slot
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<MemoryMibPerGpu>,
    /// The smallest disk that a slot may have
    #[arg(long, value_name = "BYTES")]
    min_disk_bytes: Option<MinDiskBytes>,
    /// The size of the huge pages that memory is made of: 2048 or 1048576
    #[arg(long, value_name = "KIB")]
    hugepage_kib: Option<HugepageKib>,
    #[command(flatten)]
    pinned: Pinned,
}

/// Carries out a verb.
pub async fn run(session: &Session, command: ProfileCommand) -> Result<(), Failure> {
    match command {
        ProfileCommand::List => {
            session.print_list(&table::SLOT_PROFILES, session.list::<SlotProfileList, _>(Nothing {}).await?)
        }
        ProfileCommand::Show { slug } => {
            session.print(&session.show::<SlotProfileShow>(SlotProfilePath { profile: slug }).await?)
        }
        ProfileCommand::Create(made) => {
            let body = SlotProfileCreateBody {
                slug: made.slug,
                name: made.name,
                gpu_model: made.gpu_model,
                vcpus: made.vcpus,
                memory_mib: made.memory_mib,
                min_disk_bytes: made.min_disk_bytes,
                hugepage_kib: made.hugepage_kib,
            };
            session.print(&session.send::<SlotProfileCreate>(Nothing {}, body, Extra::keyed(&made.keyed)).await?)
        }
        ProfileCommand::Update(Update { slug, name, vcpus, memory_mib, min_disk_bytes, hugepage_kib, pinned }) => {
            let path = SlotProfilePath { profile: slug };
            let body = SlotProfileUpdateBody { name, vcpus, memory_mib, min_disk_bytes, hugepage_kib };
            session.print(&session.change::<SlotProfileUpdate, SlotProfileShow>(path, body, &pinned).await?)
        }
    }
}
