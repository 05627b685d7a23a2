//! The way in to guests: opening a stream, which only writes down that it is wanted, and looking at those there were. The
//! connections themselves are the [gateway's](crate::streams).

use api::{
    Code, Nothing, Right,
    allocation::AllocationPath,
    page::Page,
    stream::{AllocationConsole, AllocationSsh, RecordingView, StreamList, StreamRecording, StreamShow, StreamView},
};
use model::{
    StreamId,
    stream::{StreamKind, StreamState},
};
use serde_json::json;
use store::{
    streams::{self, StreamRow},
    tenants,
};

use super::state_conflict;
use crate::{
    authz::Resource,
    front_door::{Answer, Ctx, Input, RecordingFile, Refusal, Route, route},
    streams::{Opening, check_room, closed, is_over, plus, way_in},
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<AllocationSsh>(|ctx, input| open(ctx, &input.path, StreamKind::Ssh)),
        route::<AllocationConsole>(|ctx, input| open(ctx, &input.path, StreamKind::Console)),
        route::<StreamList>(stream_list),
        route::<StreamShow>(stream_show),
        route::<StreamRecording>(stream_recording),
    ]
}

fn open(ctx: &mut Ctx<'_, '_>, path: &AllocationPath, kind: StreamKind) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.allocation(&path.allocation_id)?;
    // Streams of a tenant are counted under this lock, so that two that come at once do not both take the last place.
    tenants::hold(ctx.tx, &row.tenant_id)?;
    if let Some(why) = closed(ctx.tx, &row)? {
        return Err(state_conflict(why));
    }
    let node_id = way_in(ctx.tx, &row)?.map_err(state_conflict)?;
    let (gateway, now) = (&ctx.config.gateway, ctx.now());
    if kind == StreamKind::Console && gateway.config().recordings.is_none() {
        return Err(state_conflict("This platform has no place to record consoles, so it offers none."));
    }
    let live = streams::live(ctx.tx, (&row.id, &row.tenant_id, &node_id), now)?;
    check_room(&live, gateway.config())?;
    let id = StreamId::from_parts(now, ctx.stamp.bits());
    let new = streams::StreamNew {
        id: &id,
        allocation_id: &row.id,
        tenant_id: &row.tenant_id,
        project_id: &row.project_id,
        node_id: &node_id,
        kind,
        principal_id: &ctx.caller.principal_id,
        token_id: &ctx.caller.token.id,
        request_id: ctx.request_id,
        came_from: ctx.from,
        replica: &ctx.config.replica,
        agent_address: gateway.address(),
        open_by: plus(now, gateway.config().open_within),
        alive_until: plus(now, gateway.config().alive),
    };
    streams::insert(ctx.tx, new, now)?;
    let note = json!({ "stream_id": id, "kind": kind, "from": ctx.from, "node_id": node_id });
    let tenant_id = row.tenant_id.clone();
    let opening = Opening { id, allocation_id: row.id.clone(), tenant_id, node_id, kind };
    Ok(Answer::opening(opening).about(&row.id, Some(&row.tenant_id)).noted(&note))
}

fn stream_list(ctx: &mut Ctx<'_, '_>, input: Input<StreamList>) -> Result<Answer<Page<StreamView>>, Refusal> {
    let row = ctx.allocation(&input.path.allocation_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = streams::of_allocation(ctx.tx, &row.id, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(view(row)))?))
}

fn stream_show(ctx: &mut Ctx<'_, '_>, input: Input<StreamShow>) -> Result<Answer<StreamView>, Refusal> {
    Ok(Answer::new(view(ctx.guest_stream(&input.path.stream_id)?)))
}

fn stream_recording(ctx: &mut Ctx<'_, '_>, input: Input<StreamRecording>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.guest_stream(&input.path.stream_id)?;
    // Whoever may only look at a project may not see what somebody who used it saw.
    let may = ctx.may(Right::ProjectUse, Resource::Project(&row.tenant_id, &row.project_id))
        || ctx.may(Right::AuditRead, Resource::Tenant(&row.tenant_id));
    if !may {
        return Err(Refusal::new(Code::Forbidden, format!("Your role does not allow {} here.", ctx.operation.id)));
    }
    if row.kind != StreamKind::Console {
        return Err(state_conflict("Only consoles are recorded."));
    }
    if row.state != StreamState::Ended {
        return Err(state_conflict("The console is still open; its recording can be had once it has ended."));
    }
    if row.recording.is_none() {
        return Err(state_conflict("The console ended before anything was recorded."));
    }
    let keep = ctx.config.gateway.config().recordings.as_ref().map(|kept| kept.keep);
    if let (Some(keep), Some((ended, _))) = (keep, row.ended)
        && is_over(ended, keep, ctx.now())
    {
        let days = keep.as_secs() / 86_400;
        return Err(state_conflict(format!("Recordings are kept for {days} days; this one is not kept any more.")));
    }
    Ok(Answer::file(RecordingFile { stream_id: row.id, replica: row.replica }))
}

fn view(row: StreamRow) -> StreamView {
    let recording = row.recording.map(|kept| RecordingView { bytes: kept.bytes, sha256: kept.sha256, cut: kept.cut });
    StreamView {
        id: row.id,
        allocation_id: row.allocation_id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        kind: row.kind,
        state: row.state,
        opened_by: row.principal_id,
        from: row.came_from,
        wanted_at: row.wanted,
        opened_at: row.opened,
        ended_at: row.ended.map(|(at, _)| at),
        ended_how: row.ended.map(|(_, how)| how),
        to_guest_bytes: row.to_guest_bytes,
        from_guest_bytes: row.from_guest_bytes,
        recording,
    }
}
