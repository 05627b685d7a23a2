//! The way in to guests, from their host's side. The control plane says that somebody wants to reach a guest; the agent asks
//! its root process for the way there, opens a connection outward, and carries bytes between the two. Nothing ever connects
//! to the host.
//!
//! Streams are beside the orders and change nothing that is kept. They are bounded in number, each has one buffer for each
//! direction, and those of an allocation end when its release is ordered.

use std::{
    collections::{HashMap, VecDeque},
    io,
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use api::node_plane::{
    FromControl, Offer, STREAM_OPEN_S_MAX, STREAM_PATH, STREAM_PROTOCOL, StreamRefused, StreamWanted,
};
use model::{
    AllocationId, StreamId,
    stream::StreamKind,
    task::{Task, TaskKind},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::wire::{CallFault, Client, address::ServerAddress, credential::Credential, trust::AuthorityPin};

/// The way from the agent to its guests: the root process of the host, or what stands for it in a test.
pub trait GuestDoor: Send + Sync {
    /// Opens a connection to a guest's SSH server, or its serial console. May block for a while.
    fn open(&self, allocation_id: &AllocationId, kind: StreamKind) -> io::Result<UnixStream>;
}

/// A host without a way to its guests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDoor;

impl GuestDoor for NoDoor {
    fn open(&self, _: &AllocationId, _: StreamKind) -> io::Result<UnixStream> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this host has no guests that can be reached"))
    }
}

/// How the control plane is reached for a stream.
#[derive(Debug, Clone)]
pub struct Dialer {
    /// Where, unless the stream says otherwise.
    pub server: ServerAddress,
    /// Whom to believe.
    pub pin: AuthorityPin,
    /// As whom.
    pub credential: Credential,
    /// The agent's session.
    pub session: String,
}

impl Dialer {
    fn client(&self, wanted: &StreamWanted) -> Result<Client, String> {
        let elsewhere = wanted.address.as_deref().map(str::parse::<ServerAddress>).transpose();
        let server = elsewhere.map_err(|error| format!("the address of the stream: {error}"))?;
        let client = Client::new(server.as_ref().unwrap_or(&self.server), self.pin, Some(&self.credential));
        Ok(client.map_err(|fault| fault.to_string())?.with_session(&self.session))
    }
}

/// No more streams than this at a time.
pub const STREAMS_MAX: usize = 128;
/// The buffer of one direction.
const BUFFER_BYTES: usize = 64 * 1024;
// A stream may be told of twice; no more of them are remembered than could be told of at once.
const REMEMBERED_MAX: usize = 2 * STREAMS_MAX;
const OPEN_TIME_MAX: Duration = Duration::from_secs(STREAM_OPEN_S_MAX);
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// With one half closed, how long the other may be silent.
const HALF_OPEN_MAX: Duration = Duration::from_secs(60);

/// The open streams of a host. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Streams(Arc<Shared>);

struct Shared {
    door: Box<dyn GuestDoor>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<StreamId, Open>,
    told: VecDeque<StreamId>,
}

struct Open {
    allocation_id: AllocationId,
    end: watch::Sender<bool>,
}

/// What to do about a stream that was told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Begin,
    Known,
    TooMany,
}

impl State {
    fn judge(&mut self, id: &StreamId) -> Verdict {
        if self.told.contains(id) {
            return Verdict::Known;
        }
        self.told.push_back(id.clone());
        if self.told.len() > REMEMBERED_MAX {
            self.told.pop_front();
        }
        if self.open.len() >= STREAMS_MAX { Verdict::TooMany } else { Verdict::Begin }
    }
}

impl Streams {
    /// To guests behind this door.
    pub fn new(door: impl GuestDoor + 'static) -> Self {
        Self(Arc::new(Shared { door: Box::new(door), state: Mutex::default() }))
    }

    /// Takes what the control plane said: opens streams that are wanted, and ends those of allocations whose release is
    /// ordered. Everything else is left alone. Must be called inside a tokio runtime.
    pub fn hear(&self, said: &[FromControl], dialer: &Dialer) {
        for message in said {
            match message {
                FromControl::StreamWanted(wanted) => self.begin(wanted.clone(), dialer.clone()),
                FromControl::TasksOffered(offered) => {
                    let known = offered.tasks.iter().filter_map(|offer| match offer {
                        Offer::Known(task) => released(task),
                        Offer::Unknown(_) => None,
                    });
                    known.for_each(|allocation_id| self.end_of(allocation_id));
                }
                FromControl::ResultAck(_) => (),
            }
        }
    }

    /// Ends every stream to an allocation's guest.
    pub fn end_of(&self, allocation_id: &AllocationId) {
        let state = self.state();
        let its = state.open.values().filter(|open| open.allocation_id == *allocation_id);
        // Nobody listens any more when it has just ended by itself.
        its.for_each(|open| {
            let _ = open.end.send(true);
        });
    }

    /// How many are open.
    pub fn open_count(&self) -> usize {
        self.state().open.len()
    }

    fn begin(&self, wanted: StreamWanted, dialer: Dialer) {
        let (end, ending) = watch::channel(false);
        let verdict = {
            let mut state = self.state();
            let verdict = state.judge(&wanted.id);
            if verdict == Verdict::Begin {
                let open = Open { allocation_id: wanted.allocation_id.clone(), end };
                state.open.insert(wanted.id.clone(), open);
            }
            verdict
        };
        let streams = self.clone();
        match verdict {
            Verdict::Known => (),
            Verdict::TooMany => {
                let why = format!("the host has {STREAMS_MAX} open streams, and may not have more");
                tokio::spawn(async move { refuse(&dialer, &wanted, why).await });
            }
            Verdict::Begin => {
                tokio::spawn(async move {
                    streams.run(&wanted, &dialer, ending).await;
                    streams.state().open.remove(&wanted.id);
                });
            }
        }
    }

    async fn run(&self, wanted: &StreamWanted, dialer: &Dialer, mut end: watch::Receiver<bool>) {
        let until = Instant::now() + OPEN_TIME_MAX;
        let guest = match self.guest(wanted).await {
            Ok(guest) => guest,
            Err(why) => return refuse(dialer, wanted, why).await,
        };
        let opened = tokio::select! {
            opened = connected(dialer, wanted, until) => opened,
            _ = end.wait_for(|end| *end) => return,
        };
        let control = match opened {
            Ok(control) => control,
            Err(why) => {
                tracing::warn!(stream = %wanted.id, why, "a stream was not opened");
                return;
            }
        };
        tracing::info!(stream = %wanted.id, allocation = %wanted.allocation_id, kind = %wanted.kind, "a stream is open");
        let half_open = (wanted.kind == StreamKind::Ssh).then_some(HALF_OPEN_MAX);
        let how = carry(control, guest, half_open, end).await;
        tracing::info!(stream = %wanted.id, how, "a stream has ended");
    }

    /// The way to the guest, asked for on a thread that may wait.
    async fn guest(&self, wanted: &StreamWanted) -> Result<tokio::net::UnixStream, String> {
        let (shared, allocation_id, kind) = (Arc::clone(&self.0), wanted.allocation_id.clone(), wanted.kind);
        let open = tokio::task::spawn_blocking(move || shared.door.open(&allocation_id, kind));
        let opened =
            timeout(OPEN_TIME_MAX / 2, open).await.map_err(|_| "the guest did not answer in time".to_owned())?;
        let opened = opened.map_err(|error| error.to_string())?.and_then(|guest| {
            guest.set_nonblocking(true)?;
            tokio::net::UnixStream::from_std(guest)
        });
        opened.map_err(|error| error.to_string())
    }

    // What the lock guards is whole at every moment, so a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The allocation that an order gives back, if it does.
fn released(task: &Task) -> Option<&AllocationId> {
    let order = task.input.guest().filter(|_| task.kind() == TaskKind::SliceVmRelease)?;
    Some(&order.allocation_id)
}

/// Opens the connection outward. The replica that has the client may be another one than answers at first.
async fn connected(
    dialer: &Dialer,
    wanted: &StreamWanted,
    until: Instant,
) -> Result<impl AsyncRead + AsyncWrite + use<>, String> {
    let mut client = dialer.client(wanted)?;
    let path = format!("{STREAM_PATH}/{}", wanted.id);
    loop {
        match client.upgrade(&path, STREAM_PROTOCOL).await {
            Ok(stream) => return Ok(stream),
            Err(CallFault::Refused { status: 409 | 429 | 503, .. } | CallFault::Unreachable(_))
                if Instant::now() + RETRY_PAUSE < until =>
            {
                sleep(RETRY_PAUSE).await;
            }
            Err(fault) => return Err(fault.to_string()),
        }
    }
}

/// Says that a stream cannot be opened, so that nobody waits for it.
async fn refuse(dialer: &Dialer, wanted: &StreamWanted, why: String) {
    tracing::warn!(stream = %wanted.id, why, "a guest cannot be reached");
    let said = async {
        let mut client = dialer.client(wanted)?;
        let path = format!("{STREAM_PATH}/{}", wanted.id);
        let answer = client.post::<serde_json::Value>(&path, &StreamRefused { detail: why }, Duration::ZERO).await;
        answer.map_err(|fault| fault.to_string())
    };
    if let Err(fault) = said.await {
        tracing::debug!(fault, stream = %wanted.id, "it could not be said that a guest cannot be reached");
    }
}

/// Carries bytes both ways until either side, or `end`, ends it. Says how, in words for the log.
async fn carry(
    control: impl AsyncRead + AsyncWrite,
    guest: impl AsyncRead + AsyncWrite,
    half_open: Option<Duration>,
    mut end: watch::Receiver<bool>,
) -> &'static str {
    let (mut control_reads, mut control_writes) = tokio::io::split(control);
    let (mut guest_reads, mut guest_writes) = tokio::io::split(guest);
    let moved = AtomicU64::new(0);
    let to_guest = copy(&mut control_reads, &mut guest_writes, &moved);
    let from_guest = copy(&mut guest_reads, &mut control_writes, &moved);
    let (mut to_guest, mut from_guest) = (std::pin::pin!(to_guest), std::pin::pin!(from_guest));
    let (mut up, mut down) = (true, true);
    let (mut seen, mut look_at) = (0, Instant::now());
    while up || down {
        let done = tokio::select! {
            done = &mut to_guest, if up => { up = false; done }
            done = &mut from_guest, if down => { down = false; done }
            _ = end.wait_for(|end| *end) => return "the allocation is given back",
            () = sleep_until(look_at), if up != down => {
                if moved.load(Ordering::Acquire) == seen {
                    return "half of it was closed and the other silent";
                }
                Ok(())
            }
        };
        match (done, half_open) {
            (Ok(()), Some(silence)) => (seen, look_at) = (moved.load(Ordering::Acquire), Instant::now() + silence),
            (Ok(()), None) => return "closed",
            (Err(error), _) => {
                tracing::debug!(%error, "a stream broke");
                return "broken";
            }
        }
    }
    "closed"
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let bytes = from.read(&mut buffer).await?;
        if bytes == 0 {
            // The other side may be gone already; then there is nobody to tell.
            let _ = to.shutdown().await;
            return Ok(());
        }
        to.write_all(&buffer[..bytes]).await?;
        to.flush().await?;
        moved.fetch_add(bytes as u64, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::Timestamp;
    use tokio::io::duplex;

    fn id(n: u8) -> StreamId {
        StreamId::from_parts(Timestamp::from_micros(i64::from(n)), [n; 10])
    }

    #[test]
    fn a_stream_is_begun_once_however_often_it_is_told_of() {
        let mut state = State::default();
        assert_eq!([1, 1, 2].map(|n| state.judge(&id(n))), [Verdict::Begin, Verdict::Known, Verdict::Begin]);
    }

    #[test]
    fn there_are_no_more_streams_than_there_may_be() {
        let mut state = State::default();
        for n in 0..STREAMS_MAX {
            let allocation_id = AllocationId::from_parts(Timestamp::from_micros(1), [1; 10]);
            let n = u8::try_from(n).unwrap();
            assert_eq!(state.judge(&id(n)), Verdict::Begin);
            state.open.insert(id(n), Open { allocation_id, end: watch::channel(false).0 });
        }
        assert_eq!(state.judge(&id(200)), Verdict::TooMany);
    }

    #[tokio::test]
    async fn a_console_ends_with_either_side_and_ssh_only_with_both() {
        let (control, mut far) = duplex(64);
        let (guest, mut near) = duplex(64);
        let (_stop, end) = watch::channel(false);
        far.shutdown().await.unwrap();
        assert_eq!(carry(control, guest, None, end.clone()).await, "closed");

        let (control, mut far) = duplex(64);
        let (guest, mut near_too) = duplex(64);
        let talk = async {
            far.write_all(b"bye").await.unwrap();
            far.shutdown().await.unwrap();
            let mut heard = vec![0; 3];
            near_too.read_exact(&mut heard).await.unwrap();
            near_too.write_all(b"bye bye").await.unwrap();
            near_too.shutdown().await.unwrap();
            let mut last = Vec::new();
            far.read_to_end(&mut last).await.unwrap();
            (heard, last)
        };
        let (how, (heard, last)) = tokio::join!(carry(control, guest, Some(HALF_OPEN_MAX), end), talk);
        assert_eq!((how, heard.as_slice(), last.as_slice()), ("closed", &b"bye"[..], &b"bye bye"[..]));
        assert_eq!(near.read(&mut [0; 1]).await.unwrap(), 0, "a console that ended is closed on both sides");
    }

    #[tokio::test]
    async fn a_release_ends_a_stream() {
        let (control, _far) = duplex(64);
        let (guest, _near) = duplex(64);
        let (stop, end) = watch::channel(false);
        stop.send(true).unwrap();
        assert_eq!(carry(control, guest, Some(HALF_OPEN_MAX), end).await, "the allocation is given back");
    }

    #[test]
    fn a_host_without_a_door_says_so() {
        let allocation_id = AllocationId::from_parts(Timestamp::from_micros(1), [1; 10]);
        assert!(NoDoor.open(&allocation_id, StreamKind::Ssh).unwrap_err().to_string().contains("no guests"));
    }
}
