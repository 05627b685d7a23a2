//! Slots: approved bundles of devices on a node, as operators handle them.

use api::{
    Nothing,
    fleet::{NodePath, SlotList, SlotQuery},
    supply::{
        ReasonBody, SlotApprove, SlotApproveBody, SlotApproveComplete, SlotDisable, SlotEnable, SlotPath,
        SlotReapprove, SlotRepair, SlotShow, SlotSurvey,
    },
    wipe_override::{WipeOverrideRequest, WipeOverrideRequestBody},
};
use clap::{Args, Subcommand};
use model::{
    SlotId,
    number::SlotPageSize,
    supply::{FabricClaimMode, SlotState},
    text::{DeviceName, Justification, Note},
};

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of slots.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas slot list h200-slices-01", "gpuaas slot approve-complete h200-slices-01"])]
pub enum SlotCommand {
    /// List a node's slots, or those of the whole fleet with who holds them
    #[command(after_help = examples![
        "gpuaas slot list h200-slices-01",
        "gpuaas slot list h200-slices-01 -o json",
        "gpuaas slot list --state cleanup_blocked",
        "gpuaas slot list --pool h200-slices",
    ])]
    List {
        /// Id or host name of the node; the whole fleet when absent
        #[arg(conflicts_with_all = ["pool", "state"])]
        node: Option<String>,
        /// Of the whole fleet, those of this pool, by id or slug
        #[arg(long)]
        pool: Option<String>,
        /// Of the whole fleet, those in this state
        #[arg(long, value_parser = words!(SlotState))]
        state: Option<SlotState>,
    },
    /// Show a slot with what has drifted
    #[command(after_help = examples!["gpuaas slot show slt_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the slot
        slot: SlotId,
    },
    /// Approve one slot; what is left out is missing, and the slot stays disabled
    #[command(after_help = examples![
        "gpuaas slot approve h200-slices-01 --gpu 0000:0f:00.0 --disk eui.36344730528001250025384500000001 --mac 02:00:00:00:01:05 --ip 10.64.0.6 --fabric-vf 0000:0e:00.1",
    ])]
    Approve {
        /// Id or host name of the node
        node: String,
        #[command(flatten)]
        devices: Devices,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Approve every candidate that is complete and that no rule refuses
    #[command(after_help = examples!["gpuaas slot approve-complete h200-slices-01"])]
    ApproveComplete {
        /// Id or host name of the node
        node: String,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Give a slot that nobody uses other devices; all are given anew
    #[command(after_help = examples![
        "gpuaas slot reapprove slt_01jh2n6f4zw8q9r0s1t2v3x4y5 --gpu 0000:0f:00.0 --disk eui.36344730528001250025384500000002 --mac 02:00:00:00:01:05 --ip 10.64.0.6 --fabric-vf 0000:0e:00.1",
    ])]
    Reapprove {
        /// Id of the slot
        slot: SlotId,
        #[command(flatten)]
        devices: Devices,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Take a slot that nobody uses out of sale
    #[command(after_help = examples!["gpuaas slot disable slt_01jh2n6f4zw8q9r0s1t2v3x4y5 --reason 'fan replaced' --yes"])]
    Disable {
        /// Id of the slot
        slot: SlotId,
        /// Why; shown to other operators
        #[arg(long)]
        reason: Note,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Put a disabled slot back on sale
    #[command(after_help = examples!["gpuaas slot enable slt_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Enable {
        /// Id of the slot
        slot: SlotId,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Ask that a slot goes on whose wipe cannot be proved; another operator has to agree
    #[command(after_help = examples![
        "gpuaas slot override slt_01jh2n6f4zw8q9r0s1t2v3x4y5 --reason 'The disk was taken out and shredded.' --evidence 'protocol 4711'",
    ])]
    Override {
        /// Id of the slot
        slot: SlotId,
        /// Why it holds nothing of its last tenant all the same: 20 to 1000 letters, which the other operator judges by
        #[arg(long)]
        reason: Justification,
        /// Where the evidence is: a ticket, a protocol, a certificate
        #[arg(long, value_name = "TEXT")]
        evidence: Option<Note>,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Wipe a slot once more whose cleanup waits for an operator
    #[command(after_help = examples!["gpuaas slot repair slt_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Repair {
        /// Id of the slot
        slot: SlotId,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// The devices of a slot.
#[derive(Debug, Args)]
pub struct Devices {
    /// PCI address of its GPU; only a laboratory's slots have none
    #[arg(long, value_name = "ADDRESS")]
    gpu: Option<DeviceName>,
    /// Its disk, by the disk's own identity
    #[arg(long, value_name = "IDENTITY")]
    disk: Option<DeviceName>,
    /// MAC of the guest's management interface
    #[arg(long)]
    mac: Option<DeviceName>,
    /// The guest's private address
    #[arg(long)]
    ip: Option<DeviceName>,
    /// PCI address of its fabric function
    #[arg(long, value_name = "ADDRESS")]
    fabric_vf: Option<DeviceName>,
    /// How it takes part in the fabric
    #[arg(long, value_name = "MODE", default_value = "per_slot_vf", value_parser = words!(FabricClaimMode))]
    fabric_mode: FabricClaimMode,
}

impl From<Devices> for SlotApproveBody {
    fn from(devices: Devices) -> Self {
        Self {
            gpu_pci_address: devices.gpu,
            nvme_identity: devices.disk,
            mgmt_mac: devices.mac,
            private_ip: devices.ip,
            fabric_claim_mode: devices.fabric_mode,
            fabric_vf_pci_address: devices.fabric_vf,
        }
    }
}

/// Carries out a verb.
pub async fn run(session: &Session, command: SlotCommand) -> Result<(), Failure> {
    let on_node = async |node: String| Ok::<_, Failure>(NodePath { node_id: resolve::node(session, &node).await? });
    match command {
        SlotCommand::List { node: Some(node), .. } => {
            session.print_list(&table::SLOTS, session.list::<SlotList, _>(on_node(node).await?).await?)
        }
        SlotCommand::List { node: None, pool, state } => survey(session, pool, state).await,
        SlotCommand::Show { slot } => session.print(&session.show::<SlotShow>(SlotPath { slot_id: slot }).await?),
        SlotCommand::Approve { node, devices, keyed } => {
            let path = on_node(node).await?;
            session.print(&session.send::<SlotApprove>(path, devices.into(), Extra::keyed(&keyed)).await?)
        }
        SlotCommand::ApproveComplete { node, keyed } => {
            let path = on_node(node).await?;
            let all = session.send::<SlotApproveComplete>(path, Nothing {}, Extra::keyed(&keyed)).await?;
            session.note(&format!("{} approved, {} left", all.approved.len(), all.left.len()));
            session.print(&all)
        }
        SlotCommand::Reapprove { slot, devices, pinned } => {
            let path = SlotPath { slot_id: slot };
            session.print(&session.change::<SlotReapprove, SlotShow>(path, devices.into(), &pinned).await?)
        }
        SlotCommand::Disable { slot, reason, consent, pinned, keyed } => {
            confirm(&consent, &format!("Take slot {slot} out of sale?"))?;
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            session.print(&session.send::<SlotDisable>(SlotPath { slot_id: slot }, ReasonBody { reason }, extra).await?)
        }
        SlotCommand::Enable { slot, pinned, keyed } => {
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            session.print(&session.send::<SlotEnable>(SlotPath { slot_id: slot }, Nothing {}, extra).await?)
        }
        SlotCommand::Override { slot, reason, evidence, consent, keyed } => {
            confirm(&consent, &format!("Ask that slot {slot} is sold again without a proof that it is clean?"))?;
            let body = WipeOverrideRequestBody { reason, evidence_ref: evidence };
            let path = SlotPath { slot_id: slot };
            let made = session.send::<WipeOverrideRequest>(path, body, Extra::keyed(&keyed)).await?;
            session.note(&format!("another operator decides: gpuaas override approve {}", made.id));
            session.print(&made)
        }
        SlotCommand::Repair { slot, keyed } => {
            let path = SlotPath { slot_id: slot };
            session.print(&session.send::<SlotRepair>(path, Nothing {}, Extra::keyed(&keyed)).await?)
        }
    }
}

/// Lists the slots of the whole fleet.
async fn survey(session: &Session, pool: Option<String>, state: Option<SlotState>) -> Result<(), Failure> {
    let pool_id = match pool {
        Some(name) => Some(resolve::pool(session, &name).await?),
        None => None,
    };
    let page_size = SlotPageSize::try_from(SlotPageSize::MAX).ok();
    let query = SlotQuery { pool_id, state, page_size, page_token: None };
    session.print_list(&table::SLOT_CELLS, session.list_by::<SlotSurvey, _>(Nothing {}, query, None).await?)
}
