//! Nodes, what is on them, and what operators want of them.

use api::{
    Nothing,
    fleet::{ClaimList, NodeList, NodePath, NodeShow, SlotList, TaskList},
    machine::{NodeConvert, NodeConvertBody},
    operation::OperationView,
    placement::{EvacuationView, NodeEvacuate},
    supply::{
        DiscoveryShow, IncidentList, NodeDemote, NodeDisable, NodeDiscover, NodeDrain, NodePlan, NodePrefetch,
        NodePromote, NodeReconcile, NodeRepair, NodeRevokeIdentity, NodeUndrain, NodeUpdate, NodeUpdateBody,
        PlanOrderBody, PlanReportView, PlanShow, PrefetchBody, ReadinessOrder, ReadinessShow, ReasonBody,
        ReconcileShow,
    },
};
use clap::{Args, Subcommand, ValueEnum};
use model::{
    SlotId,
    supply::NodeProfile,
    text::{ImageName, Note},
};

use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples, words},
    confirm::confirm,
    failure::Failure,
    follow, output,
    output::Format,
    resolve,
    session::{Extra, Items, Session},
    table,
};

/// Verbs of nodes.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas node list", "gpuaas node discover h200-slices-01", "gpuaas node candidates h200-slices-01"])]
pub enum NodeCommand {
    /// List nodes with how much of each can be had
    #[command(after_help = examples!["gpuaas node list", "gpuaas node list -o json"])]
    List,
    /// Show a node: its posture and why, and what is missing before it can be promoted
    #[command(after_help = examples!["gpuaas node show h200-slices-01"])]
    Show(OfNode),
    /// List a node's slots
    #[command(after_help = examples!["gpuaas node slots h200-slices-01"])]
    Slots(OfNode),
    /// List the claims on a node, ended ones too
    #[command(after_help = examples!["gpuaas node claims h200-slices-01"])]
    Claims(OfNode),
    /// List the orders to a node's agent
    #[command(after_help = examples!["gpuaas node tasks h200-slices-01"])]
    Tasks(OfNode),
    /// List what a node's agent did that an honest one does not
    #[command(after_help = examples!["gpuaas node incidents h200-slices-01"])]
    Incidents(OfNode),
    /// Order a node to say what it has
    #[command(after_help = examples!["gpuaas node discover h200-slices-01", "gpuaas node discover h200-slices-01 --no-wait"])]
    Discover {
        #[command(flatten)]
        of: OfNode,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// What the newest discovery proposes as slots, and what stands in the way of each
    #[command(after_help = examples!["gpuaas node candidates h200-slices-01", "gpuaas node candidates h200-slices-01 -o json"])]
    Candidates(OfNode),
    /// Whether a node is ready for slices, and what is missing
    #[command(after_help = examples!["gpuaas node readiness h200-slices-01", "gpuaas node readiness h200-slices-01 --refresh"])]
    Readiness {
        #[command(flatten)]
        of: OfNode,
        /// Order fresh evidence first
        #[arg(long)]
        refresh: bool,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Order a node to say what a guest on some of its slots would get, and show it; nothing is made
    #[command(after_help = examples![
        "gpuaas node plan h200-slices-01 --slot slt_01jh2n6f4zw8q9r0s1t2v3x4y5",
        "gpuaas node plan h200-slices-01 --show -o json",
    ])]
    Plan {
        #[command(flatten)]
        of: OfNode,
        /// A slot that the guest would have; give it again for more
        #[arg(long = "slot", value_name = "SLOT", required_unless_present = "show")]
        slots: Vec<SlotId>,
        /// Only show what the newest plan says
        #[arg(long, conflicts_with = "slots")]
        show: bool,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Order a node to compare itself with its claims, and show what was found
    #[command(after_help = examples!["gpuaas node reconcile h200-slices-01", "gpuaas node reconcile h200-slices-01 --show"])]
    Reconcile {
        #[command(flatten)]
        of: OfNode,
        /// Only show what the newest comparison found
        #[arg(long)]
        show: bool,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Order a node to fetch an image before it is needed
    #[command(after_help = examples!["gpuaas node prefetch h200-slices-01 --image debian-12"])]
    Prefetch {
        #[command(flatten)]
        of: OfNode,
        /// The image
        #[arg(long)]
        image: ImageName,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Say what a node is meant for, or which machine it is
    #[command(after_help = examples!["gpuaas node update h200-slices-01 --tag gpuaas-profile-slice-vm", "gpuaas node update h200-metal-01 --machine maas/abc123"])]
    Update {
        #[command(flatten)]
        of: OfNode,
        /// What it is meant for; give it twice for both
        #[arg(long = "tag", value_name = "TAG", required_unless_present_any = ["no_tags", "machine"], value_parser = words!(NodeProfile))]
        profiles: Vec<NodeProfile>,
        /// It is meant for nothing
        #[arg(long, conflicts_with = "profiles")]
        no_tags: bool,
        /// Which machine of which provider it is, as provider/id; `none` when it is none
        #[arg(long, value_name = "PROVIDER/ID")]
        machine: Option<String>,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Turn a node from slices to bare metal, or back: it takes nothing new, its tenants leave, its slots are proved clean
    #[command(after_help = examples!["gpuaas node convert h200-slices-01 --to baremetal --yes", "gpuaas node show h200-slices-01"])]
    Convert {
        #[command(flatten)]
        act: Act,
        /// What it becomes
        #[arg(long, value_name = "USE")]
        to: Use,
        #[command(flatten)]
        consent: Consent,
    },
    /// Let a node be cut into slices
    #[command(after_help = examples!["gpuaas node promote h200-slices-01"])]
    Promote(Act),
    /// Take slice use back; what runs goes on
    #[command(after_help = examples!["gpuaas node demote h200-slices-01 --reason 'firmware update'"])]
    Demote(ActWithReason),
    /// Place nothing new on a node; what runs goes on until it is released
    #[command(after_help = examples!["gpuaas node drain h200-slices-01 --reason 'fan replaced'"])]
    Drain(ActWithReason),
    /// Drain a node, and launch elsewhere what its owners allow to be moved; the others stay until they are given back
    #[command(after_help = examples!["gpuaas node evacuate h200-slices-01 --reason 'mainboard replaced' --yes"])]
    Evacuate {
        #[command(flatten)]
        act: ActWithReason,
        #[command(flatten)]
        consent: Consent,
    },
    /// Put a drained or disabled node back into service
    #[command(after_help = examples!["gpuaas node undrain h200-slices-01"])]
    Undrain(Act),
    /// Take a node out of use; nothing may run on it
    #[command(after_help = examples!["gpuaas node disable h200-slices-01 --reason 'sent back' --yes"])]
    Disable {
        #[command(flatten)]
        act: ActWithReason,
        #[command(flatten)]
        consent: Consent,
    },
    /// Try again what waits for an operator, and look at the host anew
    #[command(after_help = examples!["gpuaas node repair h200-slices-01"])]
    Repair {
        #[command(flatten)]
        of: OfNode,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Refuse a node's agent until its host is enrolled again
    #[command(after_help = examples!["gpuaas node revoke-identity h200-slices-01 --reason 'key leaked' --yes"])]
    RevokeIdentity {
        #[command(flatten)]
        of: OfNode,
        /// Why; shown to other operators
        #[arg(long)]
        reason: Note,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// What a node is sold as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Use {
    // Whole, to one tenant.
    Baremetal,
    // In slices.
    Slices,
}

/// Which node.
#[derive(Debug, Args)]
pub struct OfNode {
    /// Id or host name of the node
    node: String,
}

/// What is done to a node.
#[derive(Debug, Args)]
pub struct Act {
    #[command(flatten)]
    of: OfNode,
    #[command(flatten)]
    pinned: Pinned,
    #[command(flatten)]
    keyed: Keyed,
}

/// What is done to a node, and why.
#[derive(Debug, Args)]
pub struct ActWithReason {
    #[command(flatten)]
    act: Act,
    /// Why; shown to other operators
    #[arg(long)]
    reason: Note,
}

impl Act {
    fn extra(&self) -> Extra {
        Extra::keyed(&self.keyed).pinned(&self.pinned)
    }
}

impl OfNode {
    async fn path(&self, session: &Session) -> Result<NodePath, Failure> {
        Ok(NodePath { node_id: resolve::node(session, &self.node).await? })
    }
}

/// Carries out a verb.
pub async fn run(session: &Session, command: NodeCommand) -> Result<(), Failure> {
    match command {
        NodeCommand::List => session.print_list(&table::NODES, session.list::<NodeList, _>(Nothing {}).await?),
        NodeCommand::Show(of) => session.print(&session.show::<NodeShow>(of.path(session).await?).await?),
        NodeCommand::Slots(of) => {
            session.print_list(&table::SLOTS, session.list::<SlotList, _>(of.path(session).await?).await?)
        }
        NodeCommand::Claims(of) => {
            session.print_list(&table::CLAIMS, session.list::<ClaimList, _>(of.path(session).await?).await?)
        }
        NodeCommand::Tasks(of) => {
            session.print_list(&table::TASKS, session.list::<TaskList, _>(of.path(session).await?).await?)
        }
        NodeCommand::Incidents(of) => {
            session.print_list(&table::INCIDENTS, session.list::<IncidentList, _>(of.path(session).await?).await?)
        }
        NodeCommand::Discover { of, waiting, keyed } => {
            let path = of.path(session).await?;
            let operation = session.send::<NodeDiscover>(path, Nothing {}, Extra::keyed(&keyed)).await?;
            session.follow_and_print(operation, &waiting).await
        }
        NodeCommand::Candidates(of) => {
            let found = session.show::<DiscoveryShow>(of.path(session).await?).await?;
            let items = &found.candidates;
            output::list(session.format, &table::CANDIDATES, items, &Items { items })
        }
        NodeCommand::Plan { of, slots, show, waiting, keyed } => {
            let path = of.path(session).await?;
            if !show {
                let body = PlanOrderBody { slot_ids: slots };
                let operation = session.send::<NodePlan>(path.clone(), body, Extra::keyed(&keyed)).await?;
                if !done(session, operation, &waiting).await? {
                    return Ok(());
                }
            }
            planned(session, &session.show::<PlanShow>(path).await?)
        }
        NodeCommand::Reconcile { of, show, waiting, keyed } => {
            let path = of.path(session).await?;
            if !show {
                let operation = session.send::<NodeReconcile>(path.clone(), Nothing {}, Extra::keyed(&keyed)).await?;
                if !done(session, operation, &waiting).await? {
                    return Ok(());
                }
            }
            let found = session.show::<ReconcileShow>(path).await?;
            output::list(session.format, &table::FINDINGS, &found.report.findings, &found)
        }
        NodeCommand::Prefetch { of, image, waiting, keyed } => {
            let (path, body) = (of.path(session).await?, PrefetchBody { image_id: image });
            let operation = session.send::<NodePrefetch>(path, body, Extra::keyed(&keyed)).await?;
            session.follow_and_print(operation, &waiting).await
        }
        NodeCommand::Readiness { of, refresh, waiting } => readiness(session, &of, refresh, &waiting).await,
        other => wish(session, other).await,
    }
}

/// Waits for an order, unless that was not wanted: then the operation is printed, and there is nothing to show yet.
async fn done(session: &Session, operation: OperationView, waiting: &Waiting) -> Result<bool, Failure> {
    if waiting.no_wait && !waiting.wait {
        session.print(&operation)?;
        return Ok(false);
    }
    follow::succeeded(follow::to_the_end(session, operation, waiting.timeout).await?)?;
    Ok(true)
}

/// What stands against a guest, or what it would get.
fn planned(session: &Session, view: &PlanReportView) -> Result<(), Failure> {
    if session.format == Format::Table && !view.report.refusals.is_empty() {
        let items = &view.report.refusals;
        return output::list(session.format, &table::REFUSALS, items, &Items { items });
    }
    session.print(view)
}

async fn readiness(session: &Session, of: &OfNode, refresh: bool, waiting: &Waiting) -> Result<(), Failure> {
    let path = of.path(session).await?;
    if refresh {
        let operation = session.send::<ReadinessOrder>(path.clone(), Nothing {}, Extra::default()).await?;
        if waiting.no_wait && !waiting.wait {
            return session.print(&operation);
        }
        follow::succeeded(follow::to_the_end(session, operation, waiting.timeout).await?)?;
    }
    let seen = session.show::<ReadinessShow>(path).await?;
    output::list(session.format, &table::READINESS, &seen.readiness.checks, &seen)
}

/// What operators want of a node.
async fn wish(session: &Session, command: NodeCommand) -> Result<(), Failure> {
    match command {
        NodeCommand::Update { of, profiles, no_tags, machine, pinned } => {
            let machine = machine.map(|machine| if machine == "none" { String::new() } else { machine });
            let profiles = (no_tags || !profiles.is_empty()).then_some(profiles);
            let body = NodeUpdateBody { profiles, machine };
            session.print(&session.change::<NodeUpdate, NodeShow>(of.path(session).await?, body, &pinned).await?)
        }
        NodeCommand::Convert { act, to, consent } => {
            let question = format!("Take node {} out of sale until it is converted?", act.of.node);
            confirm(&consent, &question)?;
            let path = act.of.path(session).await?;
            let to = match to {
                Use::Baremetal => NodeProfile::Baremetal,
                Use::Slices => NodeProfile::SliceVm,
            };
            session.print(&session.send::<NodeConvert>(path, NodeConvertBody { to }, act.extra()).await?)
        }
        NodeCommand::Promote(act) => {
            let path = act.of.path(session).await?;
            session.print(&session.send::<NodePromote>(path, Nothing {}, act.extra()).await?)
        }
        NodeCommand::Demote(ActWithReason { act, reason }) => {
            let path = act.of.path(session).await?;
            session.print(&session.send::<NodeDemote>(path, ReasonBody { reason }, act.extra()).await?)
        }
        NodeCommand::Drain(ActWithReason { act, reason }) => {
            let path = act.of.path(session).await?;
            session.print(&session.send::<NodeDrain>(path, ReasonBody { reason }, act.extra()).await?)
        }
        NodeCommand::Undrain(act) => {
            let path = act.of.path(session).await?;
            session.print(&session.send::<NodeUndrain>(path, Nothing {}, act.extra()).await?)
        }
        NodeCommand::Disable { act: ActWithReason { act, reason }, consent } => {
            confirm(&consent, &format!("Take node {} out of use?", act.of.node))?;
            let path = act.of.path(session).await?;
            session.print(&session.send::<NodeDisable>(path, ReasonBody { reason }, act.extra()).await?)
        }
        NodeCommand::Evacuate { act: ActWithReason { act, reason }, consent } => {
            let question = format!("Drain node {}, stop what may be moved and launch it elsewhere?", act.of.node);
            confirm(&consent, &question)?;
            let path = act.of.path(session).await?;
            evacuated(session, &session.send::<NodeEvacuate>(path, ReasonBody { reason }, act.extra()).await?)
        }
        NodeCommand::Repair { of, keyed } => {
            let path = of.path(session).await?;
            session.print(&session.send::<NodeRepair>(path, Nothing {}, Extra::keyed(&keyed)).await?)
        }
        NodeCommand::RevokeIdentity { of, reason, consent, keyed } => {
            confirm(&consent, &format!("Refuse the agent of node {} until its host is enrolled again?", of.node))?;
            let path = of.path(session).await?;
            let body = ReasonBody { reason };
            session.print(&session.send::<NodeRevokeIdentity>(path, body, Extra::keyed(&keyed)).await?)
        }
        _ => Ok(()),
    }
}

fn evacuated(session: &Session, view: &EvacuationView) -> Result<(), Failure> {
    if session.format != Format::Table {
        return session.print(view);
    }
    session.note(&view.projected);
    output::list(session.format, &table::LEAVING, &view.leaving, &Items { items: &view.leaving })?;
    output::list(session.format, &table::STAYING, &view.staying, &Items { items: &view.staying })
}
