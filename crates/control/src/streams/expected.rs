//! A stream between the moment it was written down and the moment its end is: it waits for the node, then carries bytes. However
//! it ends, also when the client is gone before anything was open, the end is written down once, with the audit row.

use std::sync::{Arc, atomic::Ordering};

use api::{Code, Problem};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use model::stream::{StreamEnding, StreamKind};
use store::{Db, streams::End};
use tokio::sync::{oneshot, watch as channel};

use super::{
    Gateway, Opening,
    join::{Along, Carried, asked, join},
    recording::Recording,
    watch::{Over, write_end},
};
use crate::{Ports, front_door::internal, metrics::StreamOpen};

type Arrival = oneshot::Receiver<Result<Upgraded, String>>;

/// A stream that is expected, or open.
pub(crate) struct Expected {
    gateway: Gateway,
    db: Db,
    ports: Ports,
    opening: Opening,
    arrival: Option<Arrival>,
    end: channel::Receiver<Option<StreamEnding>>,
    over: bool,
}

/// A stream whose node is here: what is left is to join it with its client.
pub(crate) struct Arrived {
    expected: Expected,
    guest: Upgraded,
    printed: Option<Recording>,
    typed: Option<Recording>,
}

impl Expected {
    pub(super) fn new(
        gateway: Gateway,
        (db, ports): (Db, Ports),
        opening: Opening,
        (arrival, end): (Arrival, channel::Receiver<Option<StreamEnding>>),
    ) -> Self {
        Self { gateway, db, ports, opening, arrival: Some(arrival), end, over: false }
    }

    /// Waits for the node, as long as it may take.
    pub(crate) async fn arrived(mut self) -> Result<Arrived, Problem> {
        let within = self.gateway.config().open_within;
        let Some(arrival) = self.arrival.take() else { return Err(internal()) };
        let arrived = tokio::select! {
            arrived = tokio::time::timeout(within, arrival) => arrived,
            how = asked(&mut self.end) => {
                self.finish(Over::bare(how)).await;
                let detail = format!("The stream was ended before it was open: {how}.");
                return Err(Problem::new(Code::StateConflict, detail));
            }
        };
        let (how, detail) = match arrived {
            Ok(Ok(Ok(guest))) => return self.recorded(guest).await,
            Ok(Ok(Err(why))) => (StreamEnding::HostRefused, format!("The host cannot reach the guest: {why}")),
            Ok(Err(_)) => (StreamEnding::NotOpened, "The connection of the host broke before it was open.".to_owned()),
            Err(_) => {
                let seconds = within.as_secs().max(1);
                (StreamEnding::NotOpened, format!("The host did not open the way to the guest within {seconds} s."))
            }
        };
        self.finish(Over::bare(how)).await;
        Err(Problem::new(Code::GuestUnreachable, detail).with_retry_after(5))
    }

    /// A console is recorded from its first byte, or it is not.
    async fn recorded(self, guest: Upgraded) -> Result<Arrived, Problem> {
        let config = self.gateway.config().recordings.clone();
        let begun = match (self.opening.kind, &config) {
            (StreamKind::Ssh, _) => Ok((None, None)),
            (StreamKind::Console, None) => Err("there is no folder for recordings".to_owned()),
            (StreamKind::Console, Some(config)) => {
                let id = &self.opening.id;
                match Recording::printed(config, id).await {
                    Ok(printed) => Recording::typed(config, id).await.map(|typed| (Some(printed), typed)),
                    Err(error) => Err(error),
                }
                .map_err(|error| error.to_string())
            }
        };
        match begun {
            Ok((printed, typed)) => Ok(Arrived { expected: self, guest, printed, typed }),
            Err(error) => {
                tracing::error!(stream = %self.opening.id, error, "a console cannot be recorded, so it was not opened");
                self.finish(Over::bare(StreamEnding::RecordingFailed)).await;
                Err(internal())
            }
        }
    }

    async fn finish(mut self, over: Over) {
        self.over = true;
        write_end(&self.db, &self.ports, &self.opening.id, over).await;
        self.gateway.forget(&self.opening.id);
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.over {
            let (gateway, db, ports) = (self.gateway.clone(), self.db.clone(), self.ports.clone());
            let id = self.opening.id.clone();
            runtime.spawn(async move {
                write_end(&db, &ports, &id, Over::bare(StreamEnding::ClientGone)).await;
                gateway.forget(&id);
            });
        }
    }
}

impl Arrived {
    /// Carries bytes between the two, in the background, until the stream is over.
    pub(crate) fn carry(self, client: OnUpgrade, open: StreamOpen) {
        tokio::spawn(async move {
            let Self { expected, guest, mut printed, mut typed } = self;
            let (carried, config) = (Arc::new(Carried::default()), expected.gateway.config().clone());
            let along = Along {
                flow: &expected.gateway.0.flow,
                carried: &carried,
                half_open_max: (expected.opening.kind == StreamKind::Ssh).then_some(config.half_open_max),
                printed: printed.as_mut(),
                typed: typed.as_mut(),
            };
            let how = match client.await {
                Ok(client) => join(TokioIo::new(client), TokioIo::new(guest), along, expected.end.clone()).await,
                Err(error) => {
                    tracing::debug!(%error, "a client went away while its stream was opened");
                    StreamEnding::ClientGone
                }
            };
            drop(open);
            let (printed, lost) = ended(printed).await;
            let (typed, lost_too) = ended(typed).await;
            let how = if lost || lost_too { StreamEnding::RecordingFailed } else { how };
            let count = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
            let end = End {
                how,
                to_guest_bytes: count(carried.to_guest.load(Ordering::Acquire)),
                from_guest_bytes: count(carried.from_guest.load(Ordering::Acquire)),
                recording: printed,
            };
            expected.finish(Over { end, typed }).await;
        });
    }
}

/// What is in a recording that is over, and whether it could not be ended well.
async fn ended(recording: Option<Recording>) -> (Option<store::streams::Recording>, bool) {
    let Some(recording) = recording else { return (None, false) };
    match recording.end().await {
        Ok(kept) => (Some(kept), false),
        Err(error) => {
            tracing::error!(%error, "a recording could not be ended");
            (None, true)
        }
    }
}
