//! Events as pages and the start of a live stream. A caller sees the events of what they may see; positions are those of the
//! whole store, so a tenant's page may skip numbers.

use api::{
    event::{CloudEvent, EventList, EventPage, EventStream},
    page::DEFAULT_PAGE_SIZE,
};
use model::number::{EventPosition, PageSize};
use store::{StoreError, Tx, events};

use crate::{
    front_door::{Answer, Ctx, Input, Refusal, Route, StreamOf, StreamStart, route},
    views,
};

pub(super) fn routes() -> Vec<Route> {
    vec![route::<EventList>(event_list), route::<EventStream>(event_stream)]
}

/// Where events come from: the store, by its id.
pub(crate) fn source(tx: &mut Tx<'_>) -> Result<String, StoreError> {
    Ok(format!("urn:gpuaas:store:{}", store::store_identity(tx)?.store_id))
}

fn event_list(ctx: &mut Ctx<'_, '_>, input: Input<EventList>) -> Result<Answer<EventPage>, Refusal> {
    ctx.myself()?;
    let after = input.query.after.map_or(0, EventPosition::get);
    let limit = input.query.page_size.map_or(DEFAULT_PAGE_SIZE, PageSize::get);
    let (source, scope) = (source(ctx.tx)?, ctx.scope());
    let page = match &input.query.subject {
        None => events::list(ctx.tx, &scope, after, limit)?,
        Some(subject) => events::list_about(ctx.tx, &scope, subject.as_str(), after, limit)?,
    };
    let head = events::head(ctx.tx)?;
    let items = page.events.into_iter().map(|row| views::event(&source, row)).collect();
    Ok(Answer::new(EventPage { items, next_after: page.through, head }))
}

fn event_stream(ctx: &mut Ctx<'_, '_>, input: Input<EventStream>) -> Result<Answer<CloudEvent>, Refusal> {
    ctx.myself()?;
    let asked = input.last_event_id.or(input.query.after.map(EventPosition::get));
    let after = match asked {
        Some(position) => position,
        None => events::head(ctx.tx)?,
    };
    Ok(Answer::stream(StreamStart { after, of: StreamOf::Events }))
}
