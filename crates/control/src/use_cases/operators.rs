//! Operators: people with a role over the whole platform. Only operators know of them, and one `platform_operator` always
//! stays.

use api::{
    Code, Nothing, Problem,
    identity::{OperatorCreate, OperatorList, OperatorRemove, PrincipalView},
    page::Page,
};
use model::identity::PlatformRole;
use store::{principals, principals::PrincipalRow};

use super::members::new_person;
use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, internal, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<OperatorList>(operator_list),
        route::<OperatorCreate>(operator_create),
        route::<OperatorRemove>(operator_remove),
    ]
}

fn operator_list(ctx: &mut Ctx<'_, '_>, input: Input<OperatorList>) -> Result<Answer<Page<PrincipalView>>, Refusal> {
    ctx.platform()?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = principals::operators(ctx.tx, cursor.rows())?;
    let page = cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(views::principal(row)))?;
    Ok(Answer::page(page))
}

fn operator_create(ctx: &mut Ctx<'_, '_>, input: Input<OperatorCreate>) -> Result<Answer<PrincipalView>, Refusal> {
    ctx.platform()?;
    let (email, role) = (input.body.email.as_str(), input.body.role);
    let id = match principals::by_email(ctx.tx, email)? {
        Some(known) if known.platform_role.is_some() => {
            let detail = "They are an operator already; take that role away before giving another.";
            let problem = Problem::new(Code::NameTaken, detail);
            return Err(problem.with_field("/email", "somebody who is not an operator yet").into());
        }
        Some(known) => {
            principals::update(ctx.tx, &mut ctx.stamp, &known, &known.name, Some(role))?;
            known.id
        }
        None => new_person(ctx, email, Some(role))?,
    };
    let row = principals::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row).at("/api/v1/admin/operators".to_owned()))
}

fn answer(row: PrincipalRow) -> Answer<PrincipalView> {
    let (id, version) = (row.id.clone(), row.version);
    Answer::new(views::principal(row)).version(version).about(id, None)
}

fn operator_remove(ctx: &mut Ctx<'_, '_>, input: Input<OperatorRemove>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.operator(&input.path.principal_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let others = principals::operators_hold(ctx.tx)?;
    if row.platform_role == Some(PlatformRole::PlatformOperator) && others <= 1 {
        return Err(Refusal::new(Code::LastAdmin, "This is the platform's last operator."));
    }
    principals::update(ctx.tx, &mut ctx.stamp, &row, &row.name, None)?;
    Ok(Answer::new(Nothing {}).about(row.id, None))
}
