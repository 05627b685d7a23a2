//! The platform itself: who leads, what waits, who the caller is.

use api::{
    Nothing,
    identity::Whoami,
    platform::{PlatformStatus, WaitList},
    supply::AvailabilityShow,
};

use crate::{failure::Failure, output, session::Session, table};

/// Shows who leads and how far the records have come.
pub async fn status(session: &Session) -> Result<(), Failure> {
    session.print(&session.show::<PlatformStatus>(Nothing {}).await?)
}

/// Lists what waits.
pub async fn waits(session: &Session) -> Result<(), Failure> {
    let waits = session.show::<WaitList>(Nothing {}).await?;
    output::list(session.format, &table::WAITS, &waits.items, &waits)
}

/// Lists what can be had now.
pub async fn availability(session: &Session) -> Result<(), Failure> {
    let have = session.show::<AvailabilityShow>(Nothing {}).await?;
    output::list(session.format, &table::AVAILABILITY, &have.items, &have)
}

/// Shows who the caller is.
pub async fn whoami(session: &Session) -> Result<(), Failure> {
    session.print(&session.show::<Whoami>(Nothing {}).await?)
}
