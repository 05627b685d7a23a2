//! Usage: what a project held, claim by claim.

use api::{
    tenancy::ProjectPath,
    usage::{UsageList, UsageQuery},
};
use clap::Args;
use model::{number::PageSize, time::UtcTime};

use crate::{args::examples, failure::Failure, resolve, session::Session, table};

/// Which project and which time.
#[derive(Debug, Args)]
#[command(after_help = examples![
    "gpuaas usage --project aurora/vision",
    "gpuaas usage --project aurora/vision --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z -o json",
])]
pub struct Usage {
    /// Id, tenant/slug, or a slug that only one project has
    #[arg(long)]
    project: String,
    /// From this moment on, in UTC [default: the beginning]
    #[arg(long, value_name = "TIME")]
    from: Option<UtcTime>,
    /// Until before this moment, in UTC [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<UtcTime>,
}

/// Lists what a project held.
pub async fn usage(session: &Session, usage: Usage) -> Result<(), Failure> {
    let path = ProjectPath { project_id: resolve::project(session, &usage.project).await? };
    let page_size = PageSize::try_from(PageSize::MAX).ok();
    let mut query = UsageQuery { from: usage.from, to: usage.to, page_size, page_token: None };
    let mut all = Vec::new();
    loop {
        let page = session.query::<UsageList>(path.clone(), query.clone()).await?;
        all.extend(page.items);
        match page.next_page_token {
            Some(token) => query.page_token = Some(token),
            None => return session.print_list(&table::USAGE, all),
        }
    }
}
