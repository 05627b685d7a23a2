//! Queues: what they say, how much of their quota is used, why a workload stands where it stands, and what a change of the
//! objects would do. Queues are made and changed with `gpuaas apply`, which never deletes; deleting is done here.

use api::{
    Nothing,
    governance::{
        ClusterQueueDelete, ClusterQueueList, ClusterQueuePath, ClusterQueueShow, GovernanceApplyBody,
        LocalQueueDelete, LocalQueueList, LocalQueuePath, LocalQueueShow,
    },
    queue::{ExplanationView, GovernanceSimulate, QueueUse, QueueUseView, QuotaUseView, SimulationView, WayOutView},
    tenancy::ProjectPath,
    workload::{PreemptionView, WorkloadExplain, WorkloadExplanationView, WorkloadPath},
};
use clap::Subcommand;
use model::{WorkloadId, text::Slug};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

use super::apply;
use crate::{
    args::{Consent, Pinned, examples},
    confirm::confirm,
    failure::Failure,
    output::{self, Format},
    resolve, safe,
    session::{Extra, Session},
    table,
};

/// Verbs of queues.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas queue list --project aurora/vision", "gpuaas queue top"])]
pub enum QueueCommand {
    /// List the queues of a project, or all queues with quota
    #[command(after_help = examples!["gpuaas queue list", "gpuaas queue list --project aurora/vision"])]
    List {
        /// Id of the project, or tenant/project; without it the queues with quota, for operators
        #[arg(long)]
        project: Option<String>,
    },
    /// Show a queue of a project, or a queue with quota
    #[command(after_help = examples!["gpuaas queue show vision -o yaml", "gpuaas queue show main --project aurora/vision"])]
    Show {
        /// Short name of the queue
        queue: Slug,
        /// Id of the project, or tenant/project; without it a queue with quota, for operators
        #[arg(long)]
        project: Option<String>,
    },
    /// Delete a queue of a project in which there is no work, or a queue with quota that no project's queue leads to
    #[command(after_help = examples!["gpuaas queue delete vision", "gpuaas queue delete main --project aurora/vision --yes"])]
    Delete {
        /// Short name of the queue
        queue: Slug,
        /// Id of the project, or tenant/project; without it a queue with quota
        #[arg(long)]
        project: Option<String>,
        #[command(flatten)]
        pinned: Pinned,
        #[command(flatten)]
        consent: Consent,
    },
    /// How much of their quota queues and cohorts use, and how many wait
    #[command(after_help = examples!["gpuaas queue top", "gpuaas queue top -o json"])]
    Top,
    /// Why a workload stands where it stands, who holds what it needs, and what would help
    #[command(after_help = examples!["gpuaas queue explain wkl_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Explain {
        /// Id of the workload
        workload: WorkloadId,
    },
    /// What a change would do to everything that waits and runs now; nothing is changed
    #[command(after_help = examples!["gpuaas queue simulate --change governance.yaml", "gpuaas queue simulate --change governance.yaml --prune -o json"])]
    Simulate {
        /// A YAML or JSON file with governance, as for apply; - is standard input
        #[arg(long, value_name = "FILE")]
        change: String,
        /// As if objects that the file does not have were deleted
        #[arg(long)]
        prune: bool,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: QueueCommand) -> Result<(), Failure> {
    match command {
        QueueCommand::List { project: None } => {
            session.print_list(&table::CLUSTER_QUEUES, session.list::<ClusterQueueList, _>(Nothing {}).await?)
        }
        QueueCommand::List { project: Some(project) } => {
            let path = ProjectPath { project_id: resolve::project(session, &project).await? };
            session.print_list(&table::LOCAL_QUEUES, session.list::<LocalQueueList, _>(path).await?)
        }
        QueueCommand::Show { queue, project: None } => {
            let path = ClusterQueuePath { cluster_queue: queue };
            session.print(&session.show::<ClusterQueueShow>(path).await?)
        }
        QueueCommand::Show { queue, project: Some(project) } => {
            let project_id = resolve::project(session, &project).await?;
            let path = LocalQueuePath { project_id, local_queue: queue };
            session.print(&session.show::<LocalQueueShow>(path).await?)
        }
        QueueCommand::Delete { queue, project, pinned, consent } => {
            confirm(&consent, &format!("Delete queue {queue}?"))?;
            delete(session, queue, project, &pinned).await
        }
        QueueCommand::Top => {
            let all = session.show::<QueueUse>(Nothing {}).await?;
            output::list(session.format, &table::QUEUE_USE, &use_rows(&all.items), &all)
        }
        QueueCommand::Explain { workload } => {
            let explained = session.show::<WorkloadExplain>(WorkloadPath { workload_id: workload }).await?;
            match session.format {
                Format::Table => output::data(&explained_text(&explained)),
                Format::Json | Format::Yaml => session.print(&explained),
            }
        }
        QueueCommand::Simulate { change, prune } => simulate(session, &change, prune).await,
    }
}

async fn delete(session: &Session, queue: Slug, project: Option<String>, pinned: &Pinned) -> Result<(), Failure> {
    let extra = Extra::default().pinned(pinned);
    let name = queue.clone();
    match project {
        None => {
            let path = ClusterQueuePath { cluster_queue: queue };
            session.send::<ClusterQueueDelete>(path, Nothing {}, extra).await?;
        }
        Some(project) => {
            let project_id = resolve::project(session, &project).await?;
            let path = LocalQueuePath { project_id, local_queue: queue };
            session.send::<LocalQueueDelete>(path, Nothing {}, extra).await?;
        }
    }
    session.note(&format!("queue {name} deleted"));
    Ok(())
}

/// Asks the engine that would do it what it would do.
async fn simulate(session: &Session, file: &str, prune: bool) -> Result<(), Failure> {
    let described = apply::file::read(file)?;
    if described.governance.is_empty() {
        return Err(Failure::Usage(format!("{file}: no governance is described")));
    }
    let governance = apply::governance::document(session, &described.governance).await?;
    let body = GovernanceApplyBody { governance, prune, dry_run: true };
    let simulated = session.send::<GovernanceSimulate>(Nothing {}, body, Extra::default()).await?;
    let SimulationView { effects, starts, stops, queues } = &simulated;
    output::list(session.format, &table::EFFECTS, effects, &simulated)?;
    if session.format == Format::Table {
        output::data("\n")?;
        output::list(session.format, &table::QUEUE_USE, &use_rows(queues), &simulated)?;
    }
    session.note(&format!("{starts} would start, {stops} would have to go; nothing was changed"));
    Ok(())
}

/// One line of the table of use: a queue or cohort and one resource of it.
#[derive(Debug, Serialize)]
struct UseRow<'a> {
    name: String,
    kind: &'static str,
    #[serde(flatten)]
    quota: Option<&'a QuotaUseView>,
    share_per_mille: i64,
    running: i64,
    waiting: i64,
}

/// Lines of the table of use, members below their cohort and indented.
fn use_rows(items: &[QueueUseView]) -> Vec<UseRow<'_>> {
    let mut rows = Vec::new();
    for (depth, item) in tree(items) {
        let row = |quota| UseRow {
            name: format!("{}{}", "  ".repeat(depth), item.slug),
            kind: if item.is_queue { "queue" } else { "cohort" },
            quota,
            share_per_mille: item.share_per_mille,
            running: item.running,
            waiting: item.waiting,
        };
        match item.quotas.as_slice() {
            [] => rows.push(row(None)),
            quotas => rows.extend(quotas.iter().map(|quota| row(Some(quota)))),
        }
    }
    rows
}

/// Every queue and cohort with its depth, parents first. What hangs below nothing that is there stands at the top.
fn tree(items: &[QueueUseView]) -> Vec<(usize, &QueueUseView)> {
    let cohorts: BTreeSet<&Slug> = items.iter().filter(|item| !item.is_queue).map(|item| &item.slug).collect();
    let mut below: BTreeMap<Option<&Slug>, Vec<&QueueUseView>> = BTreeMap::new();
    for item in items {
        below.entry(item.parent.as_ref().filter(|parent| cohorts.contains(parent))).or_default().push(item);
    }
    let mut found = Vec::with_capacity(items.len());
    let top = below.remove(&None).unwrap_or_default();
    let mut next: Vec<(usize, &QueueUseView)> = top.into_iter().rev().map(|item| (0, item)).collect();
    while let Some((depth, item)) = next.pop() {
        found.push((depth, item));
        if !item.is_queue {
            let members = below.remove(&Some(&item.slug)).unwrap_or_default();
            next.extend(members.into_iter().rev().map(|member| (depth + 1, member)));
        }
    }
    // The server lets no cohort be above itself; were there one, it would still be shown.
    found.extend(below.into_values().flatten().map(|item| (0, item)));
    found
}

/// An explanation in a few lines.
fn explained_text(explained: &WorkloadExplanationView) -> String {
    let WorkloadExplanationView { workload_id, execution, cluster_queue, position, wait, .. } = explained;
    let of = wait.as_ref().and_then(|wait| wait.of).map(|of| format!(" of {of}")).unwrap_or_default();
    let place = position.map(|place| format!(", place {place}{of}")).unwrap_or_default();
    let mut lines = vec![
        format!("{workload_id} {execution} in {cluster_queue}{place}"),
        wait.as_ref().map_or_else(|| explained.projected.clone(), |wait| wait.sentence.clone()),
    ];
    if let Some(wait) = wait {
        lines.extend(wait_lines(wait));
    }
    let mut tell = |what: &str, text: String| lines.push(format!("{what:<12}{text}"));
    if let Some(since) = explained.waits_since {
        tell("since", since.to_string());
    }
    if let Some(not_before) = explained.not_before {
        tell("not before", not_before.to_string());
    }
    if explained.gated {
        tell("gated", "an operator keeps it from being admitted".to_owned());
    }
    explained.preemptions.iter().for_each(|preemption| tell("told to go", preemption_text(preemption)));
    lines.iter().map(|line| format!("{}\n", safe::line(line))).collect()
}

/// The numbers behind a wait, a line each.
fn wait_lines(wait: &ExplanationView) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tell = |what: &str, text: String| lines.push(format!("{what:<12}{text}"));
    if let Some(node) = &wait.blocked_at {
        tell("blocked at", node.clone());
    }
    if let (Some(flavor), Some(resource)) = (&wait.flavor, &wait.resource) {
        let ExplanationView { asked, available, shortfall, .. } = wait;
        tell("short of", format!("{shortfall} {resource} of {flavor}: {asked} asked, {available} available"));
    }
    if wait.tried.len() > 1 {
        let tried: Vec<String> = wait.tried.iter().map(|it| format!("{} ({})", it.flavor, it.reach)).collect();
        tell("tried", tried.join(", "));
    }
    for holder in &wait.holders {
        tell("held by", format!("{}: {}, {} of them borrowed", holder.queue, holder.holds, holder.borrowed));
    }
    wait.unblocks.iter().for_each(|unblock| tell("would help", unblock_text(unblock)));
    if let Some(promise) = wait.promise {
        tell("promise", promise.to_string());
    }
    if let Some(start) = wait.estimated_start_at {
        tell("starts by", start.to_string());
    }
    lines
}

fn unblock_text(unblock: &WayOutView) -> String {
    let WayOutView { kind, workload_id, node, amount, at } = unblock;
    let parts = [
        workload_id.as_ref().map(ToString::to_string),
        node.clone(),
        amount.map(|amount| amount.to_string()),
        at.map(|at| format!("at {at}")),
    ];
    let words = std::iter::once(kind.to_string()).chain(parts.into_iter().flatten());
    words.collect::<Vec<_>>().join(" ")
}

fn preemption_text(preemption: &PreemptionView) -> String {
    let by = match (&preemption.by_workload_id, &preemption.by_queue) {
        (Some(id), _) => format!(" for {id}"),
        (None, Some(queue)) => format!(" for a workload of queue {queue}"),
        (None, None) => String::new(),
    };
    let gone = preemption.gone_at.map(|at| format!(", gone at {at}")).unwrap_or_default();
    let PreemptionView { rule, noticed_at, notice_s, stop_at, .. } = preemption;
    format!("at {noticed_at} by {rule}{by}, {notice_s} s of notice, stop at {stop_at}{gone}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(slug: &str, is_queue: bool, parent: Option<&str>) -> QueueUseView {
        QueueUseView {
            slug: slug.parse().unwrap(),
            is_queue,
            parent: parent.map(|parent| parent.parse().unwrap()),
            share_per_mille: 0,
            running: 0,
            waiting: 0,
            quotas: Vec::new(),
        }
    }

    #[test]
    fn members_stand_below_their_cohort_and_nothing_is_lost() {
        let items = [
            node("all", false, None),
            node("science", false, Some("all")),
            node("loop-a", false, Some("loop-b")),
            node("loop-b", false, Some("loop-a")),
            node("alone", true, None),
            node("science", true, Some("science")),
            node("stray", true, Some("gone")),
            node("vision", true, Some("all")),
        ];
        let names: Vec<String> = use_rows(&items).into_iter().map(|row| format!("{} {}", row.name, row.kind)).collect();
        assert_eq!(
            names,
            [
                "all cohort",
                "  science cohort",
                "    science queue",
                "  vision queue",
                "alone queue",
                "stray queue",
                "loop-b cohort",
                "loop-a cohort"
            ]
        );
    }

    #[test]
    fn an_explanation_tells_all_that_is_known() {
        let explained: WorkloadExplanationView = serde_json::from_value(serde_json::json!({
            "workload_id": "wkl_01jh2n6f4zw8q9r0s1t2v3x4y5", "execution": "queued", "cluster_queue": "ours", "position": 2,
            "wait": {
                "code": "no_quota", "sentence": "Too little is left.", "queue": "ours", "position": 2, "of": 3,
                "blocked_at": "all", "flavor": "h200", "resource": "gpus", "asked": 4, "available": 1, "shortfall": 3,
                "holders": [{ "queue": "theirs", "holds": 4, "borrowed": 2 }],
                "unblocks": [{ "kind": "queue_releases", "node": "theirs", "amount": 3 }], "promise": "borrowing"
            },
            "gated": true, "preemptions": [], "projected": "It waits."
        }))
        .unwrap();
        assert_eq!(
            explained_text(&explained),
            "wkl_01jh2n6f4zw8q9r0s1t2v3x4y5 queued in ours, place 2 of 3\n\
             Too little is left.\n\
             blocked at  all\n\
             short of    3 gpus of h200: 4 asked, 1 available\n\
             held by     theirs: 4, 2 of them borrowed\n\
             would help  queue_releases theirs 3\n\
             promise     borrowing\n\
             gated       an operator keeps it from being admitted\n"
        );
    }
}
