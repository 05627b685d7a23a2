//! What operators see and do about places: where an allocation is and why, how full pools are, claims that are missing.

use api::{
    Nothing,
    allocation::AllocationPath,
    placement::{
        AllocationForceRelease, AllocationInspect, AllocationPlaceView, ClaimBackfill, ClaimBackfillBody,
        ClaimBackfillView, OccupancyShow, PlacedDecisionList,
    },
    supply::ReasonBody,
};
use clap::Subcommand;
use model::{AllocationId, text::Note};

use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples},
    confirm::confirm,
    failure::Failure,
    output,
    output::Format,
    session::{Extra, Items, Session},
    table,
};

/// Verbs of operators.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas admin occupancy", "gpuaas admin allocation show alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
pub enum AdminCommand {
    /// Where allocations are, and why
    #[command(subcommand)]
    Allocation(AdminAllocationCommand),
    /// Claims: the exclusive right of an allocation to slots or a node
    #[command(subcommand)]
    Claims(ClaimsCommand),
    /// How full every pool is
    #[command(after_help = examples!["gpuaas admin occupancy", "gpuaas admin occupancy -o json"])]
    Occupancy,
}

/// What operators see and do about an allocation.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas admin allocation show alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
pub enum AdminAllocationCommand {
    /// Show an allocation with its node, claims, slots, orders and the decision about its place
    #[command(after_help = examples!["gpuaas admin allocation show alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// List the decisions about an allocation, with nodes, boards and runners-up
    #[command(after_help = examples!["gpuaas admin allocation why alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Why {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// Release an allocation without waiting for its host any longer; its slots stay out of sale until they are proved clean
    #[command(after_help = examples![
        "gpuaas admin allocation force-release alc_01jh2n6f4zw8q9r0s1t2v3x4y5 --reason 'host burnt down' --yes",
    ])]
    ForceRelease {
        /// Id of the allocation
        allocation: AllocationId,
        /// Why; kept with it
        #[arg(long)]
        reason: Note,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// What operators do about claims.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas admin claims backfill --dry-run"])]
pub enum ClaimsCommand {
    /// Give allocations that hold capacity without a claim the claims they should have; doing it again does nothing
    #[command(after_help = examples!["gpuaas admin claims backfill --dry-run", "gpuaas admin claims backfill -o json"])]
    Backfill {
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: AdminCommand) -> Result<(), Failure> {
    match command {
        AdminCommand::Allocation(command) => allocation(session, command).await,
        AdminCommand::Claims(ClaimsCommand::Backfill { dry_run, keyed }) => backfill(session, dry_run, &keyed).await,
        AdminCommand::Occupancy => {
            let full = session.show::<OccupancyShow>(Nothing {}).await?;
            output::list(session.format, &table::OCCUPANCY, &full.items, &full)
        }
    }
}

async fn allocation(session: &Session, command: AdminAllocationCommand) -> Result<(), Failure> {
    match command {
        AdminAllocationCommand::Show { allocation } => {
            let path = AllocationPath { allocation_id: allocation };
            shown(session, &session.show::<AllocationInspect>(path).await?)
        }
        AdminAllocationCommand::Why { allocation } => {
            let path = AllocationPath { allocation_id: allocation };
            session.print_list(&table::PLACED_DECISIONS, session.list::<PlacedDecisionList, _>(path).await?)
        }
        AdminAllocationCommand::ForceRelease { allocation, reason, consent, pinned, waiting, keyed } => {
            let question = format!("Release {allocation} without waiting for its host? Its owner loses it at once.");
            confirm(&consent, &question)?;
            let path = AllocationPath { allocation_id: allocation };
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            let started = session.send::<AllocationForceRelease>(path, ReasonBody { reason }, extra).await?;
            session.follow_and_print(started, &waiting).await
        }
    }
}

/// An allocation as a card with its tables, or as the object of the API.
fn shown(session: &Session, view: &AllocationPlaceView) -> Result<(), Failure> {
    if session.format != Format::Table {
        return session.print(view);
    }
    session.print(&view.allocation)?;
    if let Some(node) = &view.node {
        output::data(&format!("\nNODE  {node}\n"))?;
    }
    output::data("\nCLAIMS")?;
    output::list(session.format, &table::CLAIMS, &view.claims, &Items { items: &view.claims })?;
    output::data("\nSLOTS")?;
    output::list(session.format, &table::SLOTS, &view.slots, &Items { items: &view.slots })?;
    output::data("\nORDERS")?;
    output::list(session.format, &table::TASKS, &view.tasks, &Items { items: &view.tasks })?;
    if let Some(decision) = &view.decision {
        output::data("\nDECISION")?;
        session.print(decision)?;
    }
    Ok(())
}

/// Asks until everything was looked at.
async fn backfill(session: &Session, dry_run: bool, keyed: &Keyed) -> Result<(), Failure> {
    let mut whole = ClaimBackfillView { claimed: Vec::new(), left: Vec::new(), next_after: None };
    let mut extra = Extra::keyed(keyed);
    loop {
        let body = ClaimBackfillBody { dry_run, after: whole.next_after.take() };
        let part = session.send::<ClaimBackfill>(Nothing {}, body, std::mem::take(&mut extra)).await?;
        whole.claimed.extend(part.claimed);
        whole.left.extend(part.left);
        if part.next_after.is_none() {
            break;
        }
        whole.next_after = part.next_after;
    }
    if session.format != Format::Table {
        return session.print(&whole);
    }
    output::list(session.format, &table::BACKFILLED, &whole.claimed, &Items { items: &whole.claimed })?;
    output::list(session.format, &table::NOT_BACKFILLED, &whole.left, &Items { items: &whole.left })
}
