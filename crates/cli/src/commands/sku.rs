//! SKUs: what is sold.

use api::{
    Nothing,
    catalog::{SkuCreate, SkuCreateBody, SkuDelete, SkuList, SkuPath, SkuShow, SkuUpdate, SkuUpdateBody},
};
use clap::{Args, Subcommand};
use model::{
    number::{GpuCount, MemoryMibPerGpu, PriceMicrosPerGpuHour, VcpusPerGpu},
    sku::CapacityShape,
    supply::GpuModel,
    text::{DisplayName, Slug},
};

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of SKUs.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas sku list"])]
pub enum SkuCommand {
    /// List SKUs
    #[command(after_help = examples!["gpuaas sku list", "gpuaas sku list -o json"])]
    List,
    /// Show a SKU
    #[command(after_help = examples!["gpuaas sku show h200-sxm-slice"])]
    Show {
        /// Id or slug of the SKU
        sku: String,
    },
    /// Create a SKU
    #[command(after_help = examples![
        "gpuaas sku create h200-sxm-slice --name 'H200 slice' --shape gpu_slice --gpu-model h200-sxm --gpu-counts 1,2,4,8 --slot-profile h200-sxm-slice --price-micros-per-gpu-hour 3500000",
    ])]
    Create(SkuCreateArgs),
    /// Change a SKU's name, price or availability; what already runs keeps its terms
    #[command(after_help = examples!["gpuaas sku update h200-sxm-slice --price-micros-per-gpu-hour 3200000", "gpuaas sku update h200-sxm-slice --enabled false"])]
    Update {
        /// Id or slug of the SKU
        sku: String,
        /// Name for people
        #[arg(long, required_unless_present_any = ["price_micros_per_gpu_hour", "enabled"])]
        name: Option<DisplayName>,
        /// Price for new launches, in millionths of the currency
        #[arg(long, value_name = "MICROS")]
        price_micros_per_gpu_hour: Option<PriceMicrosPerGpuHour>,
        /// Whether it can be launched
        #[arg(long, value_name = "BOOL")]
        enabled: Option<bool>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Delete a SKU that was never launched
    #[command(after_help = examples!["gpuaas sku delete h200-sxm-slice --yes"])]
    Delete {
        /// Id or slug of the SKU
        sku: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// What a new SKU is.
#[derive(Debug, Args)]
pub struct SkuCreateArgs {
    /// Short name, unique among SKUs
    slug: Slug,
    /// Name for people
    #[arg(long)]
    name: DisplayName,
    /// The form it is sold in
    #[arg(long, default_value = "baremetal", value_parser = words!(CapacityShape))]
    shape: CapacityShape,
    /// The GPUs it is made of
    #[arg(long, value_parser = words!(GpuModel))]
    gpu_model: GpuModel,
    /// How many GPUs one allocation may have, separated by commas
    #[arg(long, required = true, value_delimiter = ',', value_name = "N,N")]
    gpu_counts: Vec<GpuCount>,
    /// What each slot is made of: a slot profile, for slices
    #[arg(long, value_name = "SLUG", conflicts_with_all = ["vcpus_per_gpu", "memory_mib_per_gpu"])]
    slot_profile: Option<Slug>,
    /// Virtual CPUs per GPU, unless a slot profile says it
    #[arg(long, value_name = "N", required_unless_present = "slot_profile")]
    vcpus_per_gpu: Option<VcpusPerGpu>,
    /// Memory per GPU, unless a slot profile says it
    #[arg(long, value_name = "MIB", required_unless_present = "slot_profile")]
    memory_mib_per_gpu: Option<MemoryMibPerGpu>,
    /// Price, in millionths of the currency
    #[arg(long, value_name = "MICROS")]
    price_micros_per_gpu_hour: PriceMicrosPerGpuHour,
    #[command(flatten)]
    keyed: Keyed,
}

async fn path(session: &Session, sku: &str) -> Result<SkuPath, Failure> {
    Ok(SkuPath { sku_id: resolve::sku(session, sku).await? })
}

async fn create(session: &Session, args: SkuCreateArgs) -> Result<(), Failure> {
    let body = SkuCreateBody {
        slug: args.slug,
        name: args.name,
        shape: args.shape,
        gpu_model: args.gpu_model,
        gpu_counts: args.gpu_counts,
        profile: args.slot_profile,
        vcpus_per_gpu: args.vcpus_per_gpu,
        memory_mib_per_gpu: args.memory_mib_per_gpu,
        price_micros_per_gpu_hour: args.price_micros_per_gpu_hour,
    };
    session.print(&session.send::<SkuCreate>(Nothing {}, body, Extra::keyed(&args.keyed)).await?)
}

/// Carries out a verb.
pub async fn run(session: &Session, command: SkuCommand) -> Result<(), Failure> {
    match command {
        SkuCommand::List => session.print_list(&table::SKUS, session.list::<SkuList, _>(Nothing {}).await?),
        SkuCommand::Show { sku } => {
            let path = path(session, &sku).await?;
            session.print(&session.show::<SkuShow>(path).await?)
        }
        SkuCommand::Create(args) => create(session, args).await,
        SkuCommand::Update { sku, name, price_micros_per_gpu_hour, enabled, pinned } => {
            let path = path(session, &sku).await?;
            session.print(
                &session
                    .change::<SkuUpdate, SkuShow>(
                        path,
                        SkuUpdateBody { name, price_micros_per_gpu_hour, enabled },
                        &pinned,
                    )
                    .await?,
            )
        }
        SkuCommand::Delete { sku, consent, pinned } => {
            confirm(&consent, &format!("Delete SKU {sku}?"))?;
            let path = path(session, &sku).await?;
            session.change::<SkuDelete, SkuShow>(path, Nothing {}, &pinned).await?;
            session.note(&format!("SKU {sku} deleted"));
            Ok(())
        }
    }
}
