//! Webhooks: made, changed, tried out, and what was sent to them. Nothing is sent from here: whoever leads does that, beside
//! the requests. A key that signs is shown when it is made, and never again.

use api::{
    Code, Nothing, Problem,
    page::{Page, PageQuery},
    webhook::{
        PlatformWebhookCreate, PlatformWebhookList, WebhookAttemptView, WebhookCreate, WebhookCreateBody,
        WebhookCreatedView, WebhookDelete, WebhookDeliveryDetailView, WebhookDeliveryList, WebhookDeliveryPath,
        WebhookDeliveryReplay, WebhookDeliveryShow, WebhookDeliveryView, WebhookList, WebhookReplay,
        WebhookRotateSecret, WebhookShow, WebhookTest, WebhookUpdate, WebhookView,
    },
};
use model::{TenantId, WebhookId, number::PreviousSecretS, webhook::DeliveryState, webhook::WebhookUrl};
use store::{
    StoreError, events, projects,
    webhooks::{
        self, WebhookRow, WebhookTerms,
        deliveries::{self, AttemptRow, DeliveryRow},
    },
};

use super::{events::source, state_conflict, tenancy::refuse_if_going, unknown};
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views, webhooks as sending,
};

/// Webhooks that a tenant, or the platform, may have.
const WEBHOOKS_MAX: i64 = 16;
/// For how long a secret signs beside the one that followed it, unless something else is said.
const PREVIOUS_S: i64 = 24 * 3600;
/// Attempts of one delivery that are shown.
const ATTEMPTS_SHOWN: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<WebhookList>(webhook_list),
        route::<WebhookCreate>(webhook_create),
        route::<PlatformWebhookList>(platform_webhook_list),
        route::<PlatformWebhookCreate>(platform_webhook_create),
        route::<WebhookShow>(webhook_show),
        route::<WebhookUpdate>(webhook_update),
        route::<WebhookDelete>(webhook_delete),
        route::<WebhookRotateSecret>(webhook_rotate_secret),
        route::<WebhookTest>(webhook_test),
        route::<WebhookReplay>(webhook_replay),
        route::<WebhookDeliveryList>(webhook_delivery_list),
        route::<WebhookDeliveryShow>(webhook_delivery_show),
        route::<WebhookDeliveryReplay>(webhook_delivery_replay),
    ]
}

fn webhook_list(ctx: &mut Ctx<'_, '_>, input: Input<WebhookList>) -> Result<Answer<Page<WebhookView>>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    page(ctx, Some(&tenant.id), &input.query)
}

fn platform_webhook_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<PlatformWebhookList>,
) -> Result<Answer<Page<WebhookView>>, Refusal> {
    ctx.platform()?;
    page(ctx, None, &input.query)
}

fn page(
    ctx: &mut Ctx<'_, '_>,
    tenant: Option<&TenantId>,
    query: &PageQuery,
) -> Result<Answer<Page<WebhookView>>, Refusal> {
    let cursor = ctx.cursor(query)?;
    let rows = webhooks::list(ctx.tx, tenant, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| view(ctx, row))?))
}

fn webhook_create(ctx: &mut Ctx<'_, '_>, input: Input<WebhookCreate>) -> Result<Answer<WebhookCreatedView>, Refusal> {
    let tenant = ctx.tenant(&input.path.tenant_id)?;
    refuse_if_going("tenant", tenant.state, tenant.desired)?;
    create(ctx, Some(&tenant.id), input.body)
}

fn platform_webhook_create(
    ctx: &mut Ctx<'_, '_>,
    input: Input<PlatformWebhookCreate>,
) -> Result<Answer<WebhookCreatedView>, Refusal> {
    ctx.platform()?;
    create(ctx, None, input.body)
}

fn create(
    ctx: &mut Ctx<'_, '_>,
    tenant: Option<&TenantId>,
    body: WebhookCreateBody,
) -> Result<Answer<WebhookCreatedView>, Refusal> {
    refuse_address(ctx, &body.url)?;
    if let Some(project) = &body.project_id {
        let found = projects::get(ctx.tx, project)?;
        found
            .filter(|row| tenant.is_none_or(|tenant| row.tenant_id == *tenant))
            .ok_or_else(|| unknown("/project_id"))?;
    }
    if webhooks::count(ctx.tx, tenant)? >= WEBHOOKS_MAX {
        return Err(state_conflict(format!("There are {WEBHOOKS_MAX} webhooks already; remove one first.")));
    }
    let id = WebhookId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let terms = WebhookTerms {
        url: body.url,
        description: body.description,
        event_types: body.event_types,
        project_id: body.project_id,
        enabled: body.enabled.unwrap_or(true),
        disabled_why: None,
    };
    let (secret, head) = (ctx.mint_webhook(), events::head(ctx.tx)?);
    webhooks::insert(ctx.tx, &mut ctx.stamp, (&id, tenant), &terms, (secret.reveal(), head))?;
    let row = webhooks::get(ctx.tx, &id)?.ok_or_else(internal)?;
    let version = row.version;
    let shown = WebhookCreatedView { webhook: view(ctx, row)?, secret: secret.reveal().to_owned() };
    let answer = Answer::new(shown).version(version).about(&id, tenant).at(format!("/api/v1/webhooks/{id}"));
    Ok(Answer { secret: Some(secret), ..answer })
}

fn refuse_address(ctx: &Ctx<'_, '_>, url: &WebhookUrl) -> Result<(), Refusal> {
    let refused = |why: String| {
        let problem = Problem::new(Code::WebhookRefused, format!("Events cannot be sent to {url}: {why}."));
        Refusal::from(problem.with_field("/url", "an https address on the public internet, or what operators allow"))
    };
    ctx.config.webhook_reach.refuse_url(url).map(drop).map_err(refused)
}

fn webhook_show(ctx: &mut Ctx<'_, '_>, input: Input<WebhookShow>) -> Result<Answer<WebhookView>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    answer(ctx, row)
}

fn webhook_update(ctx: &mut Ctx<'_, '_>, input: Input<WebhookUpdate>) -> Result<Answer<WebhookView>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let body = input.body;
    if let Some(url) = &body.url {
        refuse_address(ctx, url)?;
    }
    let enabled = body.enabled.unwrap_or(row.terms.enabled);
    let was = row.terms.clone();
    let terms = WebhookTerms {
        url: body.url.unwrap_or(was.url),
        description: body.description.or(was.description),
        event_types: body.event_types.unwrap_or(was.event_types),
        project_id: was.project_id,
        enabled,
        disabled_why: was.disabled_why.filter(|_| !enabled),
    };
    if terms != row.terms {
        let head = events::head(ctx.tx)?;
        webhooks::update(ctx.tx, &mut ctx.stamp, &row, &terms, head)?;
    }
    let row = webhooks::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}

fn webhook_delete(ctx: &mut Ctx<'_, '_>, input: Input<WebhookDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    ctx.check_version(input.if_match, row.version)?;
    webhooks::delete(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(&row.id, row.tenant_id.as_ref()))
}

fn webhook_rotate_secret(
    ctx: &mut Ctx<'_, '_>,
    input: Input<WebhookRotateSecret>,
) -> Result<Answer<WebhookCreatedView>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    let secret = ctx.mint_webhook();
    let previous_s = input.body.previous_for_s.map_or(PREVIOUS_S, PreviousSecretS::get);
    let until = ctx.stamp.now.plus_seconds(previous_s);
    webhooks::rotate(ctx.tx, &mut ctx.stamp, &row, secret.reveal(), until)?;
    let row = webhooks::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    let (id, tenant) = (row.id.clone(), row.tenant_id.clone());
    let shown = WebhookCreatedView { webhook: view(ctx, row)?, secret: secret.reveal().to_owned() };
    Ok(Answer { secret: Some(secret), ..Answer::new(shown).about(id, tenant.as_ref()) })
}

fn refuse_disabled(row: &WebhookRow) -> Result<(), Refusal> {
    if row.terms.enabled { Ok(()) } else { Err(state_conflict("The webhook is disabled; enable it first.")) }
}

fn webhook_test(ctx: &mut Ctx<'_, '_>, input: Input<WebhookTest>) -> Result<Answer<WebhookDeliveryView>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    refuse_disabled(&row)?;
    let event = webhooks::test(ctx.tx, &mut ctx.stamp, &row)?;
    // Its number comes later, and with it its turn.
    deliveries::insert(ctx.tx, &mut ctx.stamp, &row.id, (&event, None))?;
    let sent = deliveries::of_event(ctx.tx, &row.id, &event)?.ok_or_else(internal)?;
    Ok(Answer::new(delivery_view(sent)).about(&row.id, row.tenant_id.as_ref()))
}

fn webhook_replay(ctx: &mut Ctx<'_, '_>, input: Input<WebhookReplay>) -> Result<Answer<WebhookView>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    refuse_disabled(&row)?;
    let after = input.body.after.get().min(row.taken_seq);
    // What was not taken on yet is sent in any case.
    webhooks::replay(ctx.tx, &mut ctx.stamp, &row, (after, row.taken_seq.max(row.replay_seq)))?;
    let row = webhooks::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    answer(ctx, row)
}

fn webhook_delivery_list(
    ctx: &mut Ctx<'_, '_>,
    input: Input<WebhookDeliveryList>,
) -> Result<Answer<Page<WebhookDeliveryView>>, Refusal> {
    let row = ctx.webhook(&input.path.webhook_id)?;
    let query = input.query;
    let cursor = ctx.cursor(&query)?;
    let rows = deliveries::list(ctx.tx, &row.id, query.state, cursor.rows())?;
    let shown = |row| Ok::<_, Refusal>(delivery_view(row));
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), shown)?))
}

fn delivery(ctx: &mut Ctx<'_, '_>, path: &WebhookDeliveryPath) -> Result<(WebhookRow, DeliveryRow), Refusal> {
    let webhook = ctx.webhook(&path.webhook_id)?;
    let found = deliveries::get(ctx.tx, &path.delivery_id)?.filter(|row| row.webhook_id == webhook.id);
    Ok((webhook, found.ok_or_else(Refusal::not_found)?))
}

fn webhook_delivery_show(
    ctx: &mut Ctx<'_, '_>,
    input: Input<WebhookDeliveryShow>,
) -> Result<Answer<WebhookDeliveryDetailView>, Refusal> {
    let (_, row) = delivery(ctx, &input.path)?;
    let source = source(ctx.tx)?;
    let event = events::get(ctx.tx, &row.event_id)?.map(|event| views::event(&source, event));
    let attempts = deliveries::attempts(ctx.tx, &row.id, ATTEMPTS_SHOWN)?;
    let attempts = attempts.into_iter().map(|attempt| attempt_view(&row, attempt)).collect();
    Ok(Answer::new(WebhookDeliveryDetailView { delivery: delivery_view(row), event, attempts }))
}

fn webhook_delivery_replay(
    ctx: &mut Ctx<'_, '_>,
    input: Input<WebhookDeliveryReplay>,
) -> Result<Answer<WebhookDeliveryView>, Refusal> {
    let (webhook, row) = delivery(ctx, &input.path)?;
    refuse_disabled(&webhook)?;
    deliveries::again(ctx.tx, &ctx.stamp, &webhook.id, &row.event_id)?;
    let row = deliveries::get(ctx.tx, &row.id)?.ok_or_else(internal)?;
    let id = row.id.clone();
    Ok(Answer::new(delivery_view(row)).about(id, webhook.tenant_id.as_ref()))
}

fn answer(ctx: &mut Ctx<'_, '_>, row: WebhookRow) -> Result<Answer<WebhookView>, Refusal> {
    let (id, tenant, version) = (row.id.clone(), row.tenant_id.clone(), row.version);
    Ok(Answer::new(view(ctx, row)?).version(version).about(id, tenant.as_ref()))
}

fn view(ctx: &mut Ctx<'_, '_>, row: WebhookRow) -> Result<WebhookView, StoreError> {
    let open = deliveries::open_of(ctx.tx, &row.id)?;
    let previous_secret_until = webhooks::previous_until(ctx.tx, &row.id, ctx.stamp.now)?;
    let projected = match (row.terms.enabled, &row.terms.disabled_why, row.failing_since) {
        (false, Some(why), _) => format!("Nothing is sent: {why}."),
        (false, None, _) => "Nothing is sent: it was disabled.".to_owned(),
        (true, _, Some(since)) => format!("Nothing was taken since {since}; it is tried again."),
        (true, _, None) if open > 0 => format!("{open} events are on their way."),
        (true, _, None) => "Everything was delivered.".to_owned(),
    };
    Ok(WebhookView {
        projected,
        id: row.id,
        tenant_id: row.tenant_id,
        url: row.terms.url,
        description: row.terms.description,
        event_types: row.terms.event_types,
        project_id: row.terms.project_id,
        enabled: row.terms.enabled,
        disabled_why: row.terms.disabled_why,
        position: row.taken_seq,
        open_deliveries: open,
        failing_since: row.failing_since,
        previous_secret_until,
        version: row.version,
        created_at: row.created,
    })
}

fn delivery_view(row: DeliveryRow) -> WebhookDeliveryView {
    let (last_status, last_error) = row.last;
    WebhookDeliveryView {
        id: row.id,
        webhook_id: row.webhook_id,
        event_id: row.event_id,
        event_type: row.event.map(|(noun, change)| api::event::event_type(noun, change)),
        sequence: row.event_seq,
        state: row.state,
        attempts: row.attempts,
        last_status,
        // What went wrong before it was taken is in its attempts.
        last_error: last_error.filter(|_| row.state != DeliveryState::Delivered),
        next_attempt_at: row.next,
        created_at: row.created,
        ended_at: row.ended,
    }
}

fn attempt_view(row: &DeliveryRow, attempt: AttemptRow) -> WebhookAttemptView {
    WebhookAttemptView {
        number: attempt.number,
        at: attempt.at,
        duration_ms: attempt.duration_us / 1000,
        request_headers: sending::shown_headers(&row.event_id, attempt.at),
        status: attempt.status,
        error: attempt.error,
        response_body: attempt.body,
    }
}
