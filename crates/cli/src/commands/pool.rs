//! Pools: nodes of one kind in a region.

use api::{
    Nothing,
    catalog::{Cidr, PoolCreate, PoolCreateBody, PoolDelete, PoolList, PoolPath, PoolShow, PoolUpdate, PoolUpdateBody},
};
use clap::Subcommand;
use model::{
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

/// Verbs of pools.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas pool list"])]
pub enum PoolCommand {
    /// List pools
    #[command(after_help = examples!["gpuaas pool list", "gpuaas pool list -o json"])]
    List,
    /// Show a pool
    #[command(after_help = examples!["gpuaas pool show h200-slices"])]
    Show {
        /// Id or slug of the pool
        pool: String,
    },
    /// Create a pool
    #[command(after_help = examples!["gpuaas pool create h200-b --name 'H200 B' --region eu-north --gpu-model h200-sxm --slices-enabled --private-range 10.64.0.0/12"])]
    Create {
        /// Short name, unique among pools
        slug: Slug,
        /// Name for people
        #[arg(long)]
        name: DisplayName,
        /// Id or slug of the region it is in
        #[arg(long)]
        region: String,
        /// The GPUs of its nodes
        #[arg(long, value_parser = words!(GpuModel))]
        gpu_model: GpuModel,
        /// Let slices be placed on its nodes
        #[arg(long)]
        slices_enabled: bool,
        /// The private addresses of its guests, such as 10.64.0.0/12
        #[arg(long, value_name = "RANGE")]
        private_range: Option<Cidr>,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Rename a pool, switch slices on or off, or change the range of its guests' addresses
    #[command(after_help = examples!["gpuaas pool update h200-b --slices-enabled false"])]
    Update {
        /// Id or slug of the pool
        pool: String,
        /// Name for people
        #[arg(long, required_unless_present_any = ["slices_enabled", "private_range"])]
        name: Option<DisplayName>,
        /// Whether slices may be placed on its nodes
        #[arg(long, value_name = "BOOL")]
        slices_enabled: Option<bool>,
        /// The private addresses of its guests; addresses that slots have already stay as they are
        #[arg(long, value_name = "RANGE")]
        private_range: Option<Cidr>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Delete a pool that has no nodes
    #[command(after_help = examples!["gpuaas pool delete h200-b --yes"])]
    Delete {
        /// Id or slug of the pool
        pool: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

async fn path(session: &Session, pool: &str) -> Result<PoolPath, Failure> {
    Ok(PoolPath { pool_id: resolve::pool(session, pool).await? })
}

/// Carries out a verb.
pub async fn run(session: &Session, command: PoolCommand) -> Result<(), Failure> {
    match command {
        PoolCommand::List => session.print_list(&table::POOLS, session.list::<PoolList, _>(Nothing {}).await?),
        PoolCommand::Show { pool } => {
            let path = path(session, &pool).await?;
            session.print(&session.show::<PoolShow>(path).await?)
        }
        PoolCommand::Create { slug, name, region, gpu_model, slices_enabled, private_range, keyed } => {
            let body = PoolCreateBody {
                region_id: resolve::region(session, &region).await?,
                slug,
                name,
                gpu_model,
                slices_enabled,
                private_range,
            };
            session.print(&session.send::<PoolCreate>(Nothing {}, body, Extra::keyed(&keyed)).await?)
        }
        PoolCommand::Update { pool, name, slices_enabled, private_range, pinned } => {
            let path = path(session, &pool).await?;
            let body = PoolUpdateBody { name, slices_enabled, private_range };
            session.print(&session.change::<PoolUpdate, PoolShow>(path, body, &pinned).await?)
        }
        PoolCommand::Delete { pool, consent, pinned } => {
            confirm(&consent, &format!("Delete pool {pool}?"))?;
            let path = path(session, &pool).await?;
            session.change::<PoolDelete, PoolShow>(path, Nothing {}, &pinned).await?;
            session.note(&format!("pool {pool} deleted"));
            Ok(())
        }
    }
}
