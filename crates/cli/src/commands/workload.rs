//! Workloads: what waits in a queue and is admitted as a whole. Here they are submitted, watched and given back; operators
//! keep them from being admitted. Why one waits is told by `gpuaas queue explain`.

use api::{
    Nothing,
    tenancy::ProjectPath,
    workload::{
        WorkloadCancel, WorkloadGate, WorkloadGateBody, WorkloadList, WorkloadPath, WorkloadPriority,
        WorkloadPriorityBody, WorkloadQuery, WorkloadShow, WorkloadSubmit, WorkloadSubmitBody, WorkloadSurvey,
    },
};
use clap::{Args, Subcommand, ValueEnum};
use model::{
    WorkloadId,
    number::{MemberCount, PageSize},
    text::Slug,
    workload::State,
};

use super::launch::{self, Wish};
use crate::{
    args::{Consent, Keyed, Pinned, Waiting, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of workloads.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas workload list --project aurora/vision"])]
pub enum WorkloadCommand {
    /// List workloads, ended ones too
    #[command(after_help = examples![
        "gpuaas workload list",
        "gpuaas workload list --project aurora/vision -o json",
        "gpuaas workload list --queue vision --state queued",
    ])]
    List {
        /// Id, tenant/slug, or a slug that only one project has; all that you may see when absent
        #[arg(long, conflicts_with_all = ["queue", "state"])]
        project: Option<String>,
        /// Of all projects, those of this queue with quota, for operators
        #[arg(long)]
        queue: Option<Slug>,
        /// Of all projects, those in this state, for operators
        #[arg(long, value_parser = words!(State))]
        state: Option<State>,
    },
    /// Show a workload
    #[command(after_help = examples!["gpuaas workload show wkl_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the workload
        workload: WorkloadId,
    },
    /// Ask for members that start together or not at all
    #[command(after_help = examples![
        "gpuaas workload submit train --members 4 --project aurora/vision --sku h200-sxm-slice --gpus 8 --region eu-north",
        "gpuaas workload submit train --members 2 --project aurora/vision --sku h200-sxm-slice --gpus 4 --region eu-north --priority-class urgent --max-run 12h --yes --no-wait",
    ])]
    Submit(Box<Submit>),
    /// Give a workload back, waiting or running, with all its members
    #[command(after_help = examples!["gpuaas workload cancel wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Cancel {
        /// Id of the workload
        workload: WorkloadId,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        waiting: Waiting,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Change a workload's priority
    #[command(after_help = examples!["gpuaas workload priority wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 --class urgent"])]
    Priority {
        /// Id of the workload
        workload: WorkloadId,
        /// The class that its priority comes from
        #[arg(long)]
        class: Slug,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Keep a workload from being admitted, or let it go on, for operators
    #[command(after_help = examples![
        "gpuaas workload gate wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 closed",
        "gpuaas workload gate wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 open",
    ])]
    Gate {
        /// Id of the workload
        workload: WorkloadId,
        /// How the gate is to be
        gate: Gate,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// What an operator does to a waiting workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// It is admitted when its turn comes
    Open,
    /// It waits whatever there is room for
    Closed,
}

/// What to submit.
#[derive(Debug, Args)]
pub struct Submit {
    /// How many members
    #[arg(long, value_name = "N")]
    members: MemberCount,
    #[command(flatten)]
    wish: Wish,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    keyed: Keyed,
}

/// Carries out a verb.
pub async fn run(session: &Session, command: WorkloadCommand) -> Result<(), Failure> {
    match command {
        WorkloadCommand::List { project: None, queue: None, state: None } => {
            let mut all = Vec::new();
            for project in resolve::projects(session, None).await? {
                all.extend(session.list::<WorkloadList, _>(ProjectPath { project_id: project.id }).await?);
            }
            session.print_list(&table::WORKLOADS, all)
        }
        WorkloadCommand::List { project: Some(project), .. } => {
            let path = ProjectPath { project_id: resolve::project(session, &project).await? };
            session.print_list(&table::WORKLOADS, session.list::<WorkloadList, _>(path).await?)
        }
        WorkloadCommand::List { project: None, queue, state } => {
            let page_size = PageSize::try_from(PageSize::MAX).ok();
            let query = WorkloadQuery { queue, state, page_size, page_token: None };
            let found = session.list_by::<WorkloadSurvey, _>(Nothing {}, query, None).await?;
            session.print_list(&table::WORKLOADS, found)
        }
        WorkloadCommand::Show { workload } => {
            let view = session.show::<WorkloadShow>(WorkloadPath { workload_id: workload }).await?;
            session.print(&view)?;
            if view.wait.is_some() {
                session.note(&format!("why it waits: gpuaas queue explain {}", view.id));
            }
            Ok(())
        }
        WorkloadCommand::Submit(args) => submit(session, *args).await,
        WorkloadCommand::Cancel { workload, pinned, consent, waiting, keyed } => {
            confirm(&consent, &format!("Stop {workload} with all its members, wipe and give back?"))?;
            let (path, extra) = (WorkloadPath { workload_id: workload }, Extra::keyed(&keyed).pinned(&pinned));
            let operation = session.send::<WorkloadCancel>(path, Nothing {}, extra).await?;
            session.follow_and_print(operation, &waiting).await
        }
        WorkloadCommand::Priority { workload, class, pinned } => {
            let (path, body) = (WorkloadPath { workload_id: workload }, WorkloadPriorityBody { priority_class: class });
            session.print(&session.change::<WorkloadPriority, WorkloadShow>(path, body, &pinned).await?)
        }
        WorkloadCommand::Gate { workload, gate, pinned, keyed } => {
            let body = WorkloadGateBody { closed: gate == Gate::Closed };
            let (path, extra) = (WorkloadPath { workload_id: workload }, Extra::keyed(&keyed).pinned(&pinned));
            session.print(&session.send::<WorkloadGate>(path, body, extra).await?)
        }
    }
}

async fn submit(session: &Session, args: Submit) -> Result<(), Failure> {
    let Submit { members, wish, consent, waiting, keyed } = args;
    let path = ProjectPath { project_id: resolve::project(session, &wish.project).await? };
    let launch = launch::body(session, &path, &wish, true).await?;
    confirm(&consent, &format!("Submit {} with {members} members of {} GPUs each?", wish.name, launch.gpu_count))?;
    let body = WorkloadSubmitBody { members, launch };
    let operation = session.send::<WorkloadSubmit>(path, body, Extra::keyed(&keyed)).await?;
    session.follow_and_print(operation, &waiting).await
}
