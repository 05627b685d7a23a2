//! Operations: long work to be followed. Whoever started one may follow it, and so may everybody who sees what it is about.

use api::{
    operation::{OperationList, OperationShow, OperationView},
    page::Page,
};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<OperationList>(operation_list), route::<OperationShow>(operation_show)]
}

fn operation_list(ctx: &mut Ctx<'_, '_>, input: Input<OperationList>) -> Result<Answer<Page<OperationView>>, Refusal> {
    ctx.myself()?;
    let (cursor, scope) = (ctx.cursor(&input.query)?, ctx.scope());
    let rows = store::operations::list(ctx.tx, &scope, None, None, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::operation(row)))?;
    Ok(Answer::page(page))
}

fn operation_show(ctx: &mut Ctx<'_, '_>, input: Input<OperationShow>) -> Result<Answer<OperationView>, Refusal> {
    Ok(Answer::new(views::operation(ctx.started(&input.path.operation_id)?)))
}
