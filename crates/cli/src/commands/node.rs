//! Nodes, and what is on them, as operators see them.

use api::{
    Nothing,
    fleet::{ClaimList, NodeList, NodePath, NodeShow, SlotList, TaskList},
};
use clap::Subcommand;

use crate::{args::examples, failure::Failure, resolve, session::Session, table};

/// Verbs of nodes.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas node list", "gpuaas node slots h200-slices-01"])]
pub enum NodeCommand {
    /// List nodes
    #[command(after_help = examples!["gpuaas node list", "gpuaas node list -o json"])]
    List,
    /// Show a node
    #[command(after_help = examples!["gpuaas node show h200-slices-01"])]
    Show {
        /// Id or host name of the node
        node: String,
    },
    /// List a node's slots
    #[command(after_help = examples!["gpuaas node slots h200-slices-01"])]
    Slots {
        /// Id or host name of the node
        node: String,
    },
    /// List the claims on a node, ended ones too
    #[command(after_help = examples!["gpuaas node claims h200-slices-01"])]
    Claims {
        /// Id or host name of the node
        node: String,
    },
    /// List the orders to a node's agent
    #[command(after_help = examples!["gpuaas node tasks h200-slices-01"])]
    Tasks {
        /// Id or host name of the node
        node: String,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: NodeCommand) -> Result<(), Failure> {
    let path = async |node: String| Ok(NodePath { node_id: resolve::node(session, &node).await? });
    match command {
        NodeCommand::List => session.print_list(&table::NODES, session.list::<NodeList, _>(Nothing {}).await?),
        NodeCommand::Show { node } => session.print(&session.show::<NodeShow>(path(node).await?).await?),
        NodeCommand::Slots { node } => {
            session.print_list(&table::SLOTS, session.list::<SlotList, _>(path(node).await?).await?)
        }
        NodeCommand::Claims { node } => {
            session.print_list(&table::CLAIMS, session.list::<ClaimList, _>(path(node).await?).await?)
        }
        NodeCommand::Tasks { node } => {
            session.print_list(&table::TASKS, session.list::<TaskList, _>(path(node).await?).await?)
        }
    }
}
