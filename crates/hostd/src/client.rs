//! How the agent asks: one connection an ask, with whoever asked told of progress as it comes. It blocks, so it belongs on a
//! thread of its own. A caller that does not want a guest any more says so by closing, which [`Client`] does for it.

use crate::protocol::{self, Answer, Ask, GuestListed, LineFault, Ready, SAID_BYTES_MAX, Said};
use model::{
    AllocationId,
    guest::GuestSpec,
    image::ImageSpec,
    notice::{NoticeSeen, StopNotice},
    proof::WipeStep,
    runtime::{GuestSeen, PlanReport, ReconcileReport, Refusal, WorkProgress},
    stream::StreamKind,
    task::{PlanSlot, ReconcileOrder, TaskFailure, TaskSlot},
};
use std::{
    io::{self, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

// How often a caller is asked whether it still wants the answer.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientFault {
    /// The root process does not answer.
    #[error("gpuaas-hostd cannot be reached at {path}: {why}")]
    Unreachable {
        /// Its socket.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// It stopped answering, or said something that is not understood.
    #[error("gpuaas-hostd gave no answer: {0}")]
    Broken(#[from] LineFault),
    /// It says that it could not.
    #[error("{detail}")]
    Refused {
        /// What kind of failure.
        failure: Option<TaskFailure>,
        /// One sentence.
        detail: String,
        /// What stood against it.
        refusals: Vec<Refusal>,
    },
    /// The caller did not want it any more, and the connection was closed.
    #[error("the answer was not wanted any more")]
    NotWanted,
    /// It answered something else than was asked.
    #[error("gpuaas-hostd answered something else than was asked")]
    OtherAnswer,
    /// The image's bytes could not be read.
    #[error("the image could not be read: {0}")]
    Source(io::Error),
}

/// What a caller is told, and asked, while it waits.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    /// Told how far it is.
    pub progress: &'a (dyn Fn(WorkProgress) + Sync),
    /// Asked whether the answer is still wanted.
    pub wanted: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Waiting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Waiting")
    }
}

impl Waiting<'static> {
    /// To the end, without a word.
    pub const fn quietly() -> Self {
        Self { progress: &|_| (), wanted: &|| true }
    }
}

/// The root process, by its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    socket: PathBuf,
}

macro_rules! expect {
    ($answer:expr, $pattern:pat => $value:expr) => {
        match $answer {
            $pattern => Ok($value),
            _ => Err(ClientFault::OtherAnswer),
        }
    };
}

impl Client {
    /// At this socket.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// Every guest on the host.
    pub fn guests(&self) -> Result<Vec<GuestListed>, ClientFault> {
        expect!(self.ask(&Ask::Guests {}, Waiting::quietly())?, Answer::Guests { guests } => guests)
    }

    /// What a guest on these slots would get.
    pub fn plan(&self, slots: &[PlanSlot]) -> Result<PlanReport, ClientFault> {
        let ask = Ask::Plan { slots: slots.to_vec() };
        expect!(self.ask(&ask, Waiting::quietly())?, Answer::Plan { report } => report)
    }

    /// Builds and starts a guest.
    pub fn provision(
        &self,
        allocation_id: &AllocationId,
        slots: &[TaskSlot],
        guest: &GuestSpec,
        waiting: Waiting<'_>,
    ) -> Result<GuestSeen, ClientFault> {
        let (allocation_id, slots) = (allocation_id.clone(), slots.to_vec());
        let ask = Ask::Provision { allocation_id, slots, guest: Box::new(guest.clone()) };
        expect!(self.ask(&ask, waiting)?, Answer::Provisioned { seen } => seen)
    }

    /// Tells a guest that it will be stopped, unless it was told; what came of it so far.
    pub fn notice(&self, allocation_id: &AllocationId, notice: &StopNotice) -> Result<NoticeSeen, ClientFault> {
        let ask = Ask::Notice { allocation_id: allocation_id.clone(), notice: notice.clone() };
        expect!(self.ask(&ask, Waiting::quietly())?, Answer::Noticed { seen } => seen)
    }

    /// Stops a guest and takes away what is left of it; what shows that it is gone. It is cut off after `grace_s`, or after the
    /// host's own time.
    pub fn stop(
        &self,
        allocation_id: &AllocationId,
        slots: &[TaskSlot],
        grace_s: Option<i64>,
        waiting: Waiting<'_>,
    ) -> Result<String, ClientFault> {
        let ask = Ask::Stop { allocation_id: allocation_id.clone(), slots: slots.to_vec(), grace_s };
        expect!(self.ask(&ask, waiting)?, Answer::Stopped { evidence } => evidence)
    }

    /// Makes one step of wiping one slot; what shows it.
    pub fn wipe(
        &self,
        allocation_id: &AllocationId,
        slot: &TaskSlot,
        step: WipeStep,
        waiting: Waiting<'_>,
    ) -> Result<String, ClientFault> {
        let ask = Ask::Wipe { allocation_id: allocation_id.clone(), slot: Box::new(slot.clone()), step };
        expect!(self.ask(&ask, waiting)?, Answer::Wiped { evidence } => evidence)
    }

    /// Compares the host with its claims.
    pub fn reconcile(
        &self,
        order: &ReconcileOrder,
        busy: &[AllocationId],
        waiting: Waiting<'_>,
    ) -> Result<ReconcileReport, ClientFault> {
        let ask = Ask::Reconcile { order: order.clone(), busy: busy.to_vec() };
        expect!(self.ask(&ask, waiting)?, Answer::Reconciled { report } => report)
    }

    /// Whether an image is in the cache.
    pub fn image_there(&self, image: &ImageSpec) -> Result<bool, ClientFault> {
        let ask = Ask::ImageThere { image: image.clone() };
        expect!(self.ask(&ask, Waiting::quietly())?, Answer::Image { there } => there)
    }

    /// Brings an image into the cache, unless it is there. Only then is the source read.
    pub fn image_admit(&self, image: &ImageSpec, source: &mut dyn Read) -> Result<(), ClientFault> {
        let (mut stream, mut reader) = self.open(&Ask::ImageAdmit { image: image.clone() })?;
        match protocol::read(&mut reader, SAID_BYTES_MAX)? {
            Said::Opened {} => {}
            other => return done(other).and_then(|answer| expect!(answer, Answer::Image { .. } => ())),
        }
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ClientFault::Source(error)),
            };
            // A refusal half-way closes the line before the last byte; its reason is read below.
            if stream.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
        let said: Said = protocol::read(&mut reader, SAID_BYTES_MAX)?;
        expect!(done(said)?, Answer::Image { there: true } => ())
    }

    /// A way to a guest: what is written goes to it, what is read comes from it.
    pub fn stream(&self, allocation_id: &AllocationId, kind: StreamKind) -> Result<UnixStream, ClientFault> {
        let ask = Ask::Stream { allocation_id: allocation_id.clone(), kind };
        let mut stream = self.connect()?;
        protocol::write(&mut stream, &ask).map_err(LineFault::from)?;
        // Byte by byte: what follows the line belongs to the guest.
        match protocol::read(&mut BufReader::with_capacity(1, &stream), SAID_BYTES_MAX)? {
            Said::Opened {} => Ok(stream),
            other => Err(done(other).err().unwrap_or(ClientFault::OtherAnswer)),
        }
    }

    /// What the process can do.
    pub fn ready(&self) -> Result<Ready, ClientFault> {
        expect!(self.ask(&Ask::Ready {}, Waiting::quietly())?, Answer::Ready { ready } => ready)
    }

    fn connect(&self) -> Result<UnixStream, ClientFault> {
        UnixStream::connect(&self.socket).map_err(|why| ClientFault::Unreachable { path: self.socket.clone(), why })
    }

    fn open(&self, ask: &Ask) -> Result<(UnixStream, BufReader<UnixStream>), ClientFault> {
        let mut stream = self.connect()?;
        protocol::write(&mut stream, ask).map_err(LineFault::from)?;
        let reader = BufReader::new(stream.try_clone().map_err(LineFault::from)?);
        Ok((stream, reader))
    }

    fn ask(&self, ask: &Ask, waiting: Waiting<'_>) -> Result<Answer, ClientFault> {
        let (stream, mut reader) = self.open(ask)?;
        let over = Over::default();
        thread::scope(|scope| {
            scope.spawn(|| watch(&stream, &over, waiting.wanted));
            let answer = loop {
                match protocol::read(&mut reader, SAID_BYTES_MAX) {
                    Ok(Said::Progress { progress }) => (waiting.progress)(progress),
                    Ok(other) => break done(other),
                    Err(_) if over.unwanted() => break Err(ClientFault::NotWanted),
                    Err(fault) => break Err(fault.into()),
                }
            };
            over.end();
            answer
        })
    }
}

// How an ask ended: not yet, by its answer, or because it was not wanted.
#[derive(Default, Clone)]
struct Over(Arc<(Mutex<(bool, bool)>, Condvar)>);

impl Over {
    fn end(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).0 = true;
        self.0.1.notify_all();
    }

    fn unwanted(&self) -> bool {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

// Closes the connection when the answer is not wanted any more; ends with the ask.
fn watch(stream: &UnixStream, over: &Over, wanted: &(dyn Fn() -> bool + Sync)) {
    let mut ended = over.0.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !ended.0 {
        if !wanted() {
            ended.1 = true;
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
        ended = over.0.1.wait_timeout(ended, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn done(said: Said) -> Result<Answer, ClientFault> {
    match said {
        Said::Done { answer } => Ok(answer),
        Said::Fault { failure, detail, refusals } => Err(ClientFault::Refused { failure, detail, refusals }),
        Said::Progress { .. } | Said::Opened {} => Err(ClientFault::OtherAnswer),
    }
}
