//! What a use case sees of somebody who has not shown who they are. There is no caller here and nothing that asks for a
//! right: such a use case says what everybody may know, or lets somebody in who proves who they are.

use api::Operation;
use store::{Stamp, Tx};

use super::{
    FrontDoorConfig, Inner, Refusal,
    pipeline::Parsed,
    refusal,
    request::{JSON, Request, Response},
    routes::Run,
};
use crate::Ports;

/// One request of anybody inside its transaction.
pub struct Stranger<'a, 't> {
    /// The open transaction.
    pub tx: &'a mut Tx<'t>,
    /// The moment and fresh ids.
    pub stamp: Stamp<'a>,
    /// How this replica is set up.
    pub config: &'a FrontDoorConfig,
    /// The id that the request goes by.
    pub request_id: &'a str,
    /// The address that it came from.
    pub from: &'a str,
    pub(crate) ports: &'a Ports,
}

/// One call of an operation that is for anybody, to be run inside a transaction.
pub(crate) struct PublicCall {
    pub(crate) operation: Operation,
    pub(crate) request: Request,
    pub(crate) request_id: String,
    pub(crate) work: Parsed,
}

impl PublicCall {
    pub(crate) fn run(&self, door: &Inner, tx: &mut Tx<'_>) -> Result<Response, Refusal> {
        let Run::Anybody(run) = &self.work.bound.run else {
            tracing::error!(operation = self.operation.id, "an operation for anybody asks who is calling");
            return Err(refusal::internal().into());
        };
        let mut bits = || door.ports.id_bits();
        let outcome = run(&mut Stranger {
            tx,
            stamp: Stamp::new(door.ports.now(), &mut bits),
            config: &door.config,
            request_id: &self.request_id,
            from: &self.request.from,
            ports: &door.ports,
        })?;
        let mut response = Response::empty(self.operation.success.status());
        if !outcome.body.is_empty() {
            response.content_type = JSON;
            response.body = outcome.body;
        }
        Ok(match outcome.cookie {
            Some(cookie) => response.with("Set-Cookie", cookie),
            None => response,
        })
    }
}
