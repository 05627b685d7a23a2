//! Webhooks: where events are sent, and how every delivery went. A secret is shown once, when it is made.

use api::{
    Nothing,
    tenancy::TenantPath,
    webhook::{
        PlatformWebhookCreate, PlatformWebhookList, WebhookCreate, WebhookCreateBody, WebhookDelete,
        WebhookDeliveryList, WebhookDeliveryPath, WebhookDeliveryQuery, WebhookDeliveryReplay, WebhookDeliveryShow,
        WebhookList, WebhookPath, WebhookReplay, WebhookReplayBody, WebhookRotateBody, WebhookRotateSecret,
        WebhookShow, WebhookTest, WebhookUpdate, WebhookUpdateBody,
    },
};
use clap::{Args, Subcommand};
use model::{
    WebhookDeliveryId, WebhookId,
    number::{EventPosition, PageSize, PreviousSecretS},
    text::Note,
    webhook::{DeliveryState, EventFilter, WebhookUrl},
};
use std::time::Duration;

use crate::{
    args::{Consent, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    resolve,
    session::{Extra, Session},
    table,
};

/// Verbs of webhooks.
#[derive(Debug, Subcommand)]
#[command(after_help = examples![
    "gpuaas webhook create https://hooks.acme.example/gpuaas --tenant acme --event 'workload.*'",
    "gpuaas webhook list --tenant acme",
])]
pub enum WebhookCommand {
    /// Have events sent to an address; the secret that signs them is printed this once
    #[command(after_help = examples![
        "gpuaas webhook create https://hooks.acme.example/gpuaas --tenant acme --event 'workload.*'",
        "gpuaas webhook create https://ops.example/hook --platform --event node.state_changed",
    ])]
    Create(CreateArgs),
    /// List the webhooks of a tenant, or of the platform
    #[command(after_help = examples!["gpuaas webhook list --tenant acme", "gpuaas webhook list --platform"])]
    List {
        #[command(flatten)]
        owner: Owner,
    },
    /// Show a webhook, without its secret
    #[command(after_help = examples!["gpuaas webhook show whk_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Show {
        /// Id of the webhook
        webhook: WebhookId,
    },
    /// Change a webhook
    #[command(after_help = examples![
        "gpuaas webhook update whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --enable",
        "gpuaas webhook update whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --event 'allocation.*' --event 'workload.*'",
    ])]
    Update(UpdateArgs),
    /// Remove webhooks; nothing more is sent
    #[command(after_help = examples!["gpuaas webhook delete whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --yes"])]
    Delete {
        /// Id of the webhook
        webhook: WebhookId,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Make a new secret, which is printed this once; the one before signs beside it for a while
    #[command(after_help = examples![
        "gpuaas webhook rotate-secret whk_01jh2n6f4zw8q9r0s1t2v3x4y5",
        "gpuaas webhook rotate-secret whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --previous-for 0s",
    ])]
    RotateSecret {
        /// Id of the webhook
        webhook: WebhookId,
        /// For how long the secret before still signs, up to 7 days [default: 1d]
        #[arg(long, value_name = "TIME", value_parser = crate::waiting::duration)]
        previous_for: Option<Duration>,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// List deliveries to a webhook, newest first, or show one with every attempt
    #[command(after_help = examples![
        "gpuaas webhook deliveries whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --state failed",
        "gpuaas webhook deliveries whk_01jh2n6f4zw8q9r0s1t2v3x4y5 whd_01jh2n6f4zw8q9r0s1t2v3x4y5",
    ])]
    Deliveries {
        /// Id of the webhook
        webhook: WebhookId,
        /// Id of one delivery
        delivery: Option<WebhookDeliveryId>,
        /// Only those that stand like this
        #[arg(long, value_parser = words!(DeliveryState), conflicts_with = "delivery")]
        state: Option<DeliveryState>,
        /// How many at most
        #[arg(long, default_value_t = 100, value_name = "N", conflicts_with = "delivery")]
        limit: usize,
    },
    /// Send one delivery again, or every wanted event after a position
    #[command(after_help = examples![
        "gpuaas webhook replay whk_01jh2n6f4zw8q9r0s1t2v3x4y5 whd_01jh2n6f4zw8q9r0s1t2v3x4y5",
        "gpuaas webhook replay whk_01jh2n6f4zw8q9r0s1t2v3x4y5 --after 1200",
    ])]
    Replay {
        /// Id of the webhook
        webhook: WebhookId,
        /// Id of the delivery
        #[arg(required_unless_present = "after")]
        delivery: Option<WebhookDeliveryId>,
        /// Every wanted event after this position
        #[arg(long, value_name = "SEQUENCE", conflicts_with = "delivery")]
        after: Option<EventPosition>,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Send an event that says that somebody tries the webhook out
    #[command(after_help = examples!["gpuaas webhook test whk_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Test {
        /// Id of the webhook
        webhook: WebhookId,
        #[command(flatten)]
        keyed: Keyed,
    },
}

/// Whose webhooks.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Owner {
    /// Id or slug of the tenant
    #[arg(long)]
    tenant: Option<String>,
    /// The platform's own
    #[arg(long)]
    platform: bool,
}

/// What a new webhook is.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Where events are sent
    #[arg(value_name = "URL")]
    address: WebhookUrl,
    #[command(flatten)]
    owner: Owner,
    /// Which events, as NOUN.CHANGE or NOUN.*; may be given several times [default: all that the owner may read]
    #[arg(long = "event", value_name = "FILTER")]
    events: Vec<EventFilter>,
    /// Only events of this project: id, tenant/slug, or a slug that only one project has
    #[arg(long)]
    project: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<Note>,
    /// Send nothing yet
    #[arg(long)]
    disabled: bool,
    #[command(flatten)]
    keyed: Keyed,
}

/// What changes about a webhook.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Id of the webhook
    webhook: WebhookId,
    /// Where events are sent
    #[arg(long, value_name = "URL")]
    to: Option<WebhookUrl>,
    /// Which events, as NOUN.CHANGE or NOUN.*; may be given several times
    #[arg(long = "event", value_name = "FILTER", conflicts_with = "every_event")]
    events: Vec<EventFilter>,
    /// All events that the owner may read
    #[arg(long)]
    every_event: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<Note>,
    /// Send what happens from now on
    #[arg(long, conflicts_with = "disable")]
    enable: bool,
    /// Send nothing
    #[arg(long)]
    disable: bool,
    #[command(flatten)]
    pinned: Pinned,
}

const KEEP: &str = "keep the secret now: it cannot be shown again";

/// Carries out a verb.
pub async fn run(session: &Session, command: WebhookCommand) -> Result<(), Failure> {
    let at = |webhook_id| WebhookPath { webhook_id };
    match command {
        WebhookCommand::Create(args) => create(session, args).await,
        WebhookCommand::List { owner } => list(session, owner).await,
        WebhookCommand::Show { webhook } => session.print(&session.show::<WebhookShow>(at(webhook)).await?),
        WebhookCommand::Update(args) => update(session, args).await,
        WebhookCommand::Delete { webhook, consent, pinned } => {
            confirm(&consent, &format!("Remove webhook {webhook}?"))?;
            let extra = Extra::default().pinned(&pinned);
            session.send::<WebhookDelete>(at(webhook.clone()), Nothing {}, extra).await?;
            session.note(&format!("webhook {webhook} removed"));
            Ok(())
        }
        WebhookCommand::RotateSecret { webhook, previous_for, keyed } => {
            let previous_for_s = previous_for.map(previous).transpose()?;
            let body = WebhookRotateBody { previous_for_s };
            session.print(&session.send::<WebhookRotateSecret>(at(webhook), body, Extra::keyed(&keyed)).await?)?;
            session.note(KEEP);
            Ok(())
        }
        WebhookCommand::Deliveries { webhook, delivery: Some(delivery_id), .. } => {
            let path = WebhookDeliveryPath { webhook_id: webhook, delivery_id };
            session.print(&session.show::<WebhookDeliveryShow>(path).await?)
        }
        WebhookCommand::Deliveries { webhook, delivery: None, state, limit } => {
            deliveries(session, at(webhook), state, limit).await
        }
        WebhookCommand::Replay { webhook, delivery, after, keyed } => match (delivery, after) {
            (Some(delivery_id), _) => {
                let path = WebhookDeliveryPath { webhook_id: webhook, delivery_id };
                let extra = Extra::keyed(&keyed);
                session.print(&session.send::<WebhookDeliveryReplay>(path, Nothing {}, extra).await?)
            }
            (None, Some(after)) => {
                let body = WebhookReplayBody { after };
                session.print(&session.send::<WebhookReplay>(at(webhook), body, Extra::keyed(&keyed)).await?)
            }
            (None, None) => Err(Failure::Usage("expected the id of a delivery, or --after".to_owned())),
        },
        WebhookCommand::Test { webhook, keyed } => {
            session.print(&session.send::<WebhookTest>(at(webhook), Nothing {}, Extra::keyed(&keyed)).await?)
        }
    }
}

fn previous(given: Duration) -> Result<PreviousSecretS, Failure> {
    let seconds = i64::try_from(given.as_secs()).unwrap_or(i64::MAX);
    PreviousSecretS::try_from(seconds).map_err(|_| Failure::Usage("--previous-for: expected up to 7d".to_owned()))
}

async fn create(session: &Session, args: CreateArgs) -> Result<(), Failure> {
    let project_id = match args.project {
        Some(name) => Some(resolve::project(session, &name).await?),
        None => None,
    };
    let body = WebhookCreateBody {
        url: args.address,
        description: args.description,
        event_types: args.events,
        project_id,
        enabled: args.disabled.then_some(false),
    };
    let extra = Extra::keyed(&args.keyed);
    let made = match args.owner.tenant {
        Some(tenant) => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            session.send::<WebhookCreate>(path, body, extra).await?
        }
        None => session.send::<PlatformWebhookCreate>(Nothing {}, body, extra).await?,
    };
    session.print(&made)?;
    session.note(KEEP);
    Ok(())
}

async fn list(session: &Session, owner: Owner) -> Result<(), Failure> {
    let found = match owner.tenant {
        Some(tenant) => {
            let path = TenantPath { tenant_id: resolve::tenant(session, &tenant).await? };
            session.list::<WebhookList, _>(path).await?
        }
        None => session.list::<PlatformWebhookList, _>(Nothing {}).await?,
    };
    session.print_list(&table::WEBHOOKS, found)
}

async fn update(session: &Session, args: UpdateArgs) -> Result<(), Failure> {
    let event_types = (args.every_event || !args.events.is_empty()).then_some(args.events);
    let enabled = (args.enable || args.disable).then_some(args.enable);
    let body = WebhookUpdateBody { url: args.to, description: args.description, event_types, enabled };
    let path = WebhookPath { webhook_id: args.webhook };
    session.print(&session.change::<WebhookUpdate, WebhookShow>(path, body, &args.pinned).await?)
}

async fn deliveries(
    session: &Session,
    path: WebhookPath,
    state: Option<DeliveryState>,
    limit: usize,
) -> Result<(), Failure> {
    let page_size = PageSize::try_from(i64::try_from(limit).unwrap_or(PageSize::MAX).clamp(1, PageSize::MAX)).ok();
    let mut query = WebhookDeliveryQuery { state, page_size, page_token: None };
    let mut all = Vec::new();
    loop {
        let page = session.query::<WebhookDeliveryList>(path.clone(), query.clone()).await?;
        all.extend(page.items);
        match page.next_page_token {
            Some(token) if all.len() < limit => query.page_token = Some(token),
            _ => break,
        }
    }
    all.truncate(limit);
    session.print_list(&table::WEBHOOK_DELIVERIES, all)
}
