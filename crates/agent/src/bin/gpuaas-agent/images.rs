//! Images, fetched from the control plane over a connection of their own, with the node's certificate. A download that breaks
//! off goes on where it was; what arrives is not believed here but checked by the root process.

use crate::{args::Join, backoff::Backoff, join::client};
use agent::{
    real::hostd_hands::ImageSource,
    state::StateDir,
    wire::{CallFault, Client},
};
use api::node_plane::IMAGES_PATH;
use bytes::Bytes;
use http_body_util::BodyExt;
use model::image::ImageSpec;
use std::{
    io::{self, Read},
    time::Duration,
};
use tokio::{runtime::Handle, sync::mpsc, time::timeout};

// How long nothing may come before the connection counts as broken.
const SILENCE_MAX: Duration = Duration::from_secs(30);
// Tries in a row that bring not one byte.
const TRIES_MAX: u32 = 5;
// Pieces that wait to be read; each is at most what one frame carries.
const PIECES_MAX: usize = 16;

/// The control plane as a source of images.
#[derive(Debug)]
pub(crate) struct ControlImages {
    join: Join,
    session: String,
    runtime: Handle,
}

impl ControlImages {
    /// For this start of the agent. Must be called inside the runtime that does the fetching.
    pub(crate) fn new(join: &Join, session: &str) -> Self {
        Self { join: join.clone(), session: session.to_owned(), runtime: Handle::current() }
    }
}

impl ImageSource for ControlImages {
    fn open(&self, image: &ImageSpec) -> io::Result<Box<dyn Read + Send>> {
        let (sender, receiver) = mpsc::channel(PIECES_MAX);
        let from = Source {
            join: self.join.clone(),
            session: self.session.clone(),
            path: format!("{IMAGES_PATH}/{}", image.sha256),
        };
        self.runtime.spawn(fetch(from, image.size_bytes, sender));
        Ok(Box::new(Pieces { receiver, piece: Bytes::new() }))
    }
}

struct Source {
    join: Join,
    session: String,
    path: String,
}

impl Source {
    // The certificate may have been renewed since the last time.
    fn client(&self) -> Result<Client, String> {
        let state = StateDir::open(&self.join.state_dir).map_err(|fault| fault.to_string())?;
        let enrolled = state.enrolled().map_err(|fault| fault.to_string())?.ok_or("this host is not enrolled")?;
        let credential = enrolled.credential().map_err(|fault| fault.to_string())?;
        client(&self.join, &enrolled, &credential, &self.session)
    }
}

type Sender = mpsc::Sender<io::Result<Bytes>>;

// Ends when all has come, when it is hopeless, or when nobody reads any more.
async fn fetch(from: Source, total: u64, sender: Sender) {
    let (mut done, mut tries, mut pauses) = (0, 0, Backoff::default());
    while done < total {
        let before = done;
        let why = match pull(&from, &mut done, &sender).await {
            Ok(()) => return,
            Err(why) => why,
        };
        if sender.is_closed() {
            return;
        }
        tries = if done > before { 0 } else { tries + 1 };
        if why.is_final || tries >= TRIES_MAX {
            let _ = sender.send(Err(io::Error::other(why.detail))).await;
            return;
        }
        tracing::warn!(path = from.path, done, why = why.detail, "an image did not come whole; it is asked for again");
        tokio::time::sleep(pauses.next()).await;
    }
}

struct Why {
    detail: String,
    is_final: bool,
}

impl std::convert::From<CallFault> for Why {
    fn from(fault: CallFault) -> Self {
        let is_final = matches!(fault, CallFault::Refused { status: 400..=499, .. } | CallFault::Untrusted(_));
        Self { detail: fault.to_string(), is_final }
    }
}

// One connection: from where it was, to the end or to where it breaks.
async fn pull(from: &Source, done: &mut u64, sender: &Sender) -> Result<(), Why> {
    let unready = |detail: String| Why { detail, is_final: false };
    let mut body = from.client().map_err(unready)?.download(&from.path, *done).await?;
    loop {
        let frame =
            timeout(SILENCE_MAX, body.frame()).await.map_err(|_| unready("nothing came any more".to_owned()))?;
        let Some(frame) = frame else { return Ok(()) };
        let frame = frame.map_err(|error| unready(error.to_string()))?;
        if let Ok(piece) = frame.into_data() {
            *done = done.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            if sender.send(Ok(piece)).await.is_err() {
                return Ok(());
            }
        }
    }
}

// What has come, for a reader on a thread that may wait.
struct Pieces {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.receiver.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}
