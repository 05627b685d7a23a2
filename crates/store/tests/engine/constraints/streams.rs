//! Rules about the ways in to guests that people used.

use super::{Case, Refusal::Check, Refusal::Reference, Refusal::Unique, after};

const WANTED: &str = "INSERT INTO streams (id, allocation_id, tenant_id, project_id, node_id, kind, state, principal_id, token_id, request_id, came_from, replica, wanted_us, open_by_us, alive_until_us)
     VALUES ('s1', 'a1', 't1', 'p1', 'n1', 'ssh', 'wanted', 'u1', 'k1', 'q', 'x', 'x', 0, 1, 1)";

pub(super) const CASES: &[Case] = &[
    after(&[WANTED], "a stream twice", Unique("streams_pkey"), WANTED),
    after(&[WANTED], "a stream to no allocation", Reference, "UPDATE streams SET allocation_id = 'zz'"),
    after(&[WANTED], "a stream through no node", Reference, "UPDATE streams SET node_id = 'zz'"),
    after(&[WANTED], "a stream of an unknown kind", Check, "UPDATE streams SET kind = 'vnc'"),
    after(&[WANTED], "a stream in an unknown state", Check, "UPDATE streams SET state = 'lost'"),
    after(&[WANTED], "a stream that ended at no time", Check, "UPDATE streams SET state = 'ended'"),
    after(
        &[WANTED],
        "a stream that goes on and has ended",
        Check,
        "UPDATE streams SET ended_us = 1, ended_how = 'left'",
    ),
    after(&[WANTED], "a stream that ended without a reason", Check, "UPDATE streams SET state = 'ended', ended_us = 1"),
    after(
        &[WANTED],
        "a recording without its digest",
        Check,
        "UPDATE streams SET recording_bytes = 1, recording_cut = 0",
    ),
    after(
        &[WANTED],
        "a recording half cut",
        Check,
        "UPDATE streams SET recording_bytes = 1, recording_sha256 = 'd', recording_cut = 2",
    ),
];
