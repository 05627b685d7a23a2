//! Operations: long work started by a request.

use api::{
    Nothing,
    operation::{OperationList, OperationPath, OperationShow},
};
use clap::Subcommand;
use model::OperationId;
use std::time::Duration;

use crate::{args::examples, failure::Failure, session::Session, table};

/// Verbs of operations.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas operation list"])]
pub enum OperationCommand {
    /// List the operations you may see
    #[command(after_help = examples!["gpuaas operation list", "gpuaas operation list -o json"])]
    List,
    /// Show an operation
    #[command(after_help = examples!["gpuaas operation show opn_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the operation
        operation: OperationId,
    },
    /// Wait until an operation has ended
    #[command(after_help = examples!["gpuaas operation wait opn_01jh2n6f4zw8q9r0s1t2v3x4y5 --timeout 5m"])]
    Wait {
        /// Id of the operation
        operation: OperationId,
        /// How long to wait at most; after that the command ends with code 8 and the work goes on
        #[arg(long, default_value = "20m", value_name = "TIME", value_parser = crate::waiting::duration)]
        timeout: Duration,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: OperationCommand) -> Result<(), Failure> {
    match command {
        OperationCommand::List => {
            session.print_list(&table::OPERATIONS, session.list::<OperationList, _>(Nothing {}).await?)
        }
        OperationCommand::Show { operation } => {
            session.print(&session.show::<OperationShow>(OperationPath { operation_id: operation }).await?)
        }
        OperationCommand::Wait { operation, timeout } => {
            let now = session.show::<OperationShow>(OperationPath { operation_id: operation }).await?;
            let ended = crate::follow::to_the_end(session, now, timeout).await?;
            crate::follow::print_ended(session, ended)
        }
    }
}
