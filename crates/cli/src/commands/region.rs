//! Regions: where capacity is.

use api::{
    Nothing,
    catalog::{
        RegionCreate, RegionCreateBody, RegionDelete, RegionList, RegionPath, RegionShow, RegionUpdate,
        RegionUpdateBody,
    },
};
use clap::Subcommand;
use model::text::{DisplayName, Slug};

use crate::{
    args::{Consent, Keyed, Pinned, examples},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of regions.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas region list"])]
pub enum RegionCommand {
    /// List regions, disabled ones too
    #[command(after_help = examples!["gpuaas region list", "gpuaas region list -o json"])]
    List,
    /// Show a region
    #[command(after_help = examples!["gpuaas region show eu-north"])]
    Show {
        /// Id or slug of the region
        region: String,
    },
    /// Create a region
    #[command(after_help = examples!["gpuaas region create eu-2 --name 'Europe 2'", "gpuaas region create us-1 --name 'US 1' --disabled"])]
    Create {
        /// Short name, unique among regions
        slug: Slug,
        /// Name for people
        #[arg(long)]
        name: DisplayName,
        /// Show it, but let nothing be launched there yet
        #[arg(long)]
        disabled: bool,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Rename, enable or disable a region
    #[command(after_help = examples!["gpuaas region update eu-2 --enabled true", "gpuaas region update eu-2 --name 'Europe North'"])]
    Update {
        /// Id or slug of the region
        region: String,
        /// Name for people
        #[arg(long, required_unless_present = "enabled")]
        name: Option<DisplayName>,
        /// Whether anything can be launched there
        #[arg(long, value_name = "BOOL")]
        enabled: Option<bool>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Who owns ways in to a region, and what may be used
    #[command(subcommand)]
    Ingress(super::ingress::SettingsCommand),
    /// Delete a region that nothing refers to
    #[command(after_help = examples!["gpuaas region delete eu-2 --yes"])]
    Delete {
        /// Id or slug of the region
        region: String,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

async fn path(session: &Session, region: &str) -> Result<RegionPath, Failure> {
    Ok(RegionPath { region_id: resolve::region(session, region).await? })
}

/// Carries out a verb.
pub async fn run(session: &Session, command: RegionCommand) -> Result<(), Failure> {
    match command {
        RegionCommand::List => session.print_list(&table::REGIONS, session.list::<RegionList, _>(Nothing {}).await?),
        RegionCommand::Show { region } => {
            let path = path(session, &region).await?;
            session.print(&session.show::<RegionShow>(path).await?)
        }
        RegionCommand::Create { slug, name, disabled, keyed } => {
            let body = RegionCreateBody { slug, name, enabled: !disabled };
            session.print(&session.send::<RegionCreate>(Nothing {}, body, Extra::keyed(&keyed)).await?)
        }
        RegionCommand::Update { region, name, enabled, pinned } => {
            let path = path(session, &region).await?;
            session.print(
                &session.change::<RegionUpdate, RegionShow>(path, RegionUpdateBody { name, enabled }, &pinned).await?,
            )
        }
        RegionCommand::Ingress(command) => super::ingress::settings(session, command).await,
        RegionCommand::Delete { region, consent, pinned } => {
            confirm(&consent, &format!("Delete region {region}?"))?;
            let path = path(session, &region).await?;
            session.change::<RegionDelete, RegionShow>(path, Nothing {}, &pinned).await?;
            session.note(&format!("region {region} deleted"));
            Ok(())
        }
    }
}
