//! The front door and the shell around it, seen from outside: what is refused, what is remembered, what is shown to whom,
//! and what happens on a real socket.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod concurrency;
mod documents;
mod escalation;
mod fleet;
mod governance;
mod idempotency;
mod ingress;
mod lists;
mod nasty;
mod oidc;
mod placement;
mod portal;
mod refusals;
mod runtime;
mod sessions;
mod sockets;
mod streams;
mod supply;
mod webhooks;
mod wishes;
mod workloads;
mod world;
