//! The audit trail: operators see all of it, a tenant's administrator that of the tenant.

use api::{
    audit::{AuditList, AuditView},
    page::Page,
};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<AuditList>(audit_list)]
}

fn audit_list(ctx: &mut Ctx<'_, '_>, input: Input<AuditList>) -> Result<Answer<Page<AuditView>>, Refusal> {
    ctx.myself()?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let rows = store::audit::list(ctx.tx, &scope, None, cursor.rows())?;
    let page = cursor.page(rows, |row| row.row.id.as_str(), |row| Ok::<_, Refusal>(views::audit(row)))?;
    Ok(Answer::page(page))
}
