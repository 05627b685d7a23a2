//! `gpuaas import`: reads how another system is set up and says it in the words of this one. What was understood and what
//! was not is listed field by field; nothing is dropped in silence.

mod kueue;
mod manifest;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::apply::{self, governance::GovernanceFile};
use crate::{
    args::{Consent, Global, examples},
    failure::Failure,
    output::{self, Format},
    safe,
    session::Session,
};

/// Where to import from.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas import kueue -f queues.yaml"])]
pub enum ImportCommand {
    /// Read Kueue manifests: ResourceFlavor, ClusterQueue, Cohort, LocalQueue, WorkloadPriorityClass, Topology
    #[command(after_help = examples![
        "gpuaas import kueue -f queues.yaml",
        "gpuaas import kueue -f flavors.yaml -f queues.yaml --tenant acme --out governance.yaml",
        "gpuaas import kueue -f - --apply --yes",
    ])]
    Kueue(KueueImport),
}

/// What to read and what to do with it.
#[derive(Debug, Args)]
pub struct KueueImport {
    /// A YAML or JSON file with manifests, once or more often; - is standard input
    #[arg(short, long = "file", required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The tenant whose projects have the names of the namespaces
    #[arg(long, value_name = "SLUG")]
    tenant: Option<model::text::Slug>,
    /// The project that a namespace becomes, once or more often
    #[arg(long = "project", value_name = "NAMESPACE=TENANT/PROJECT", value_parser = namespace)]
    projects: Vec<(String, String)>,
    /// Write what was understood to this file, for `gpuaas apply -f`
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// Apply what was understood at once
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    consent: Consent,
}

fn namespace(text: &str) -> Result<(String, String), String> {
    let (namespace, project) = text.split_once('=').ok_or("expected NAMESPACE=TENANT/PROJECT")?;
    if namespace.is_empty() || !project.contains('/') {
        return Err("expected NAMESPACE=TENANT/PROJECT".to_owned());
    }
    Ok((namespace.to_owned(), project.to_owned()))
}

/// One field of a manifest that was understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mapped {
    /// Such as `ClusterQueue team-a`.
    pub object: String,
    /// The field there.
    pub field: String,
    /// The field here.
    pub becomes: String,
}

/// One field of a manifest that has no counterpart, or was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMapped {
    /// Such as `ClusterQueue team-a`.
    pub object: String,
    /// The field there.
    pub field: String,
    /// Why not.
    pub why: String,
}

/// What an import came to.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    /// What was understood.
    pub mapped: Vec<Mapped>,
    /// What was not.
    pub not_mapped: Vec<NotMapped>,
    /// What it becomes.
    pub governance: GovernanceFile,
}

/// Carries out an import.
pub async fn run(global: &Global, command: ImportCommand) -> Result<(), Failure> {
    let ImportCommand::Kueue(wanted) = command;
    let projects = kueue::Projects { tenant: wanted.tenant, named: wanted.projects.into_iter().collect() };
    let mut manifests = Vec::new();
    for file in &wanted.files {
        let text = apply::file::text(file)?;
        manifests.extend(manifest::read(&text).map_err(|why| Failure::Usage(format!("{file}: {why}")))?);
    }
    let imported = kueue::import(manifests, &projects);
    if imported.governance.is_empty() && imported.not_mapped.is_empty() {
        return Err(Failure::Usage("there is no Kueue object in these files".to_owned()));
    }
    match global.output {
        Format::Table => output::data(&report(&imported))?,
        other => output::object(other, &imported)?,
    }
    if let Some(out) = &wanted.out {
        let text = apply::governance::as_yaml(&imported.governance)?;
        std::fs::write(out, text).map_err(|error| Failure::Local(format!("cannot write {out}: {error}")))?;
    }
    if wanted.apply {
        let session = Session::open(global)?;
        return apply::govern(&session, imported.governance, &wanted.consent).await;
    }
    Ok(())
}

fn report(imported: &Imported) -> String {
    let mut text = String::new();
    for Mapped { object, field, becomes } in &imported.mapped {
        text.push_str(&format!(
            "\u{1b}[32mmapped\u{1b}[0m      {}: {} → {becomes}\n",
            safe::line(object),
            safe::line(field)
        ));
    }
    for NotMapped { object, field, why } in &imported.not_mapped {
        let (object, field) = (safe::line(object), safe::line(field));
        text.push_str(&format!("\u{1b}[33mnot mapped\u{1b}[0m  {object}: {field}: {why}\n"));
    }
    text.push_str(&format!("{} fields mapped, {} not\n", imported.mapped.len(), imported.not_mapped.len()));
    text
}
