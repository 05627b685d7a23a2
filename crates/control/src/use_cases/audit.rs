//! The audit trail: operators see all of it, a tenant's administrator that of the tenant.

use api::{
    audit::{AuditList, AuditView},
    page::Page,
};
use model::{listing::ListOrder, text::RecordedName, time::UtcTime};
use store::audit::{self, AuditFilter};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<AuditList>(audit_list)]
}

fn audit_list(ctx: &mut Ctx<'_, '_>, input: Input<AuditList>) -> Result<Answer<Page<AuditView>>, Refusal> {
    ctx.myself()?;
    let query = input.query;
    let (cursor, scope) = (ctx.cursor(&query)?, ctx.scope());
    let filter = AuditFilter {
        tenant_id: None,
        actor: query.actor.as_ref().map(RecordedName::as_str),
        action: query.action.as_ref().map(RecordedName::as_str),
        subject: query.subject.as_ref().map(RecordedName::as_str),
        from: query.from.map(UtcTime::get),
        to: query.to.map(UtcTime::get),
        order: query.order.unwrap_or(ListOrder::Oldest),
    };
    let rows = audit::list(ctx.tx, &scope, filter, cursor.rows())?;
    let page = cursor.page(rows, |row| row.row.id.as_str(), |row| Ok::<_, Refusal>(views::audit(row)))?;
    Ok(Answer::page(page))
}
