//! The MAAS client against a server that the tests start and that follows MAAS's published API: what each call does, and what
//! becomes of it when the server, or the way to it, fails.

#![allow(clippy::unwrap_used)]

mod calls;
mod faults;
mod server;
