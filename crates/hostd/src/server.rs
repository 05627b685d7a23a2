//! The socket: who may ask, one ask a connection, a thread each. A stranger is closed without a word; an ask that is not
//! understood is answered and closed. Nothing that is asked here reaches a shell or the network.

use crate::{
    check,
    failed::Failed,
    host::{Hostd, folder_make},
    protocol::{self, ASK_BYTES_MAX, Answer, Ask, LineFault, Said},
    provision::Order,
    stream::STREAMS_MAX,
    work::Work,
};
use model::{AllocationId, image::ImageSpec, runtime::WorkProgress, stream::StreamKind};
use rustix::net::sockopt::socket_peercred;
use std::{
    fs, io,
    io::{BufReader, Read},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt, chown},
        net::{UnixListener, UnixStream},
    },
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The most asks at once, streams among them; more are closed.
const ASKS_MAX: usize = STREAMS_MAX + 128;
// How long an ask may take to be said.
const ASK_WITHIN: Duration = Duration::from_secs(10);
// How long an answer may take to be taken.
const SAY_WITHIN: Duration = Duration::from_secs(30);
const ACCEPT_EVERY: Duration = Duration::from_millis(100);

/// Whether a user may ask.
pub fn may_ask(uid: u32, agent_uid: u32) -> bool {
    uid == 0 || uid == agent_uid
}

/// The open socket of the process.
#[derive(Debug)]
pub struct Server {
    host: Arc<Hostd>,
    listener: UnixListener,
    agent_uid: u32,
    asks: Arc<AtomicUsize>,
}

impl Server {
    /// Opens the socket. An old one is replaced; anything else at its place is a fault.
    pub fn open(host: Arc<Hostd>) -> Result<Self, Failed> {
        let config = &host.config;
        let (path, agent_uid) = (config.socket.clone(), config.agent_uid().map_err(Failed::plain)?);
        if let Some(folder) = path.parent() {
            folder_make(folder, 0o711)?;
        }
        let listener = listen(&path, agent_uid)
            .map_err(|error| Failed::plain(format!("the socket {} cannot be opened: {error}", path.display())))?;
        Ok(Self { host, listener, agent_uid, asks: Arc::new(AtomicUsize::new(0)) })
    }

    /// Answers until it is to end, then waits for what is being done, for at most so long.
    pub fn run(&self, ends: &AtomicBool, patience: Duration) -> Result<(), Failed> {
        self.listener.set_nonblocking(true).map_err(Failed::plain)?;
        while !ends.load(Ordering::SeqCst) {
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_readable(&self.listener),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    thread::sleep(ACCEPT_EVERY);
                }
            }
        }
        self.host.streams.close_all();
        // What is not done by then is left as a kill would leave it, which every step is made for.
        let late = Instant::now() + patience;
        while self.asks.load(Ordering::SeqCst) > 0 && Instant::now() < late {
            thread::sleep(ACCEPT_EVERY);
        }
        Ok(())
    }

    fn take(&self, stream: UnixStream) {
        let peer = socket_peercred(&stream);
        match peer.map(|peer| peer.uid.as_raw()) {
            Ok(uid) if may_ask(uid, self.agent_uid) => {}
            Ok(uid) => return tracing::warn!(uid, "a stranger asked and was closed"),
            Err(error) => return tracing::warn!(%error, "somebody asked and cannot be told, and was closed"),
        }
        let Some(counted) = Counted::take(&self.asks) else {
            return tracing::warn!("too many asks at once; one was closed");
        };
        let host = self.host.clone();
        let serve = move || {
            let _counted = counted;
            if let Err(fault) =
                stream.set_nonblocking(false).map_err(LineFault::from).and_then(|()| serve(&host, stream))
            {
                tracing::warn!(%fault, "an ask ended without an answer");
            }
        };
        if let Err(error) = thread::Builder::new().name("ask".to_owned()).spawn(serve) {
            tracing::error!(%error, "no thread for an ask");
        }
    }
}

// One of the asks that are going on; counted until it is dropped, also when its thread dies.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn take(asks: &Arc<AtomicUsize>) -> Option<Self> {
        let before = asks.fetch_add(1, Ordering::SeqCst);
        Some(Self(asks.clone())).filter(|_| before < ASKS_MAX)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.host.config.socket);
    }
}

// Until somebody comes, or it is time to look whether it is to end.
fn wait_readable(listener: &UnixListener) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let nanoseconds = ACCEPT_EVERY.subsec_nanos();
    let until = Timespec { tv_sec: 0, tv_nsec: nanoseconds.into() };
    let _ = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&until));
}

fn listen(path: &Path, agent_uid: u32) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::other("something that is no socket is there")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // Root and the agent's user, nobody else; who it is is asked again for each connection.
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    chown(path, Some(agent_uid), None)?;
    Ok(listener)
}

// Says things to the caller. One that does not listen any more does not stop what is being done.
struct Voice {
    to: Mutex<(UnixStream, Option<WorkProgress>)>,
}

impl Voice {
    fn say(&self, said: &Said) -> io::Result<()> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        protocol::write(&mut to.0, said)
    }

    // The same progress is said once.
    fn tell(&self, progress: WorkProgress) {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let known = to.1.as_ref().is_some_and(|last| (last.step, last.percent) == (progress.step, progress.percent));
        if !known {
            to.1 = Some(progress.clone());
            let _ = protocol::write(&mut to.0, &Said::Progress { progress });
        }
    }
}

fn serve(host: &Hostd, stream: UnixStream) -> Result<(), LineFault> {
    stream.set_read_timeout(Some(ASK_WITHIN))?;
    stream.set_write_timeout(Some(SAY_WITHIN))?;
    let voice = Voice { to: Mutex::new((stream.try_clone()?, None)) };
    let mut reader = BufReader::new(stream.try_clone()?);
    let ask: Ask = match protocol::read(&mut reader, ASK_BYTES_MAX) {
        Ok(ask) => ask,
        Err(LineFault::Closed) => return Ok(()),
        Err(fault) => {
            voice.say(&fault_said(Failed::plain(&fault)))?;
            return Err(fault);
        }
    };
    tracing::info!(ask = verb(&ask), "asked");
    let answer = match ask {
        Ask::Stream { allocation_id, kind } => return stream_serve(host, &voice, stream, &allocation_id, kind),
        Ask::ImageAdmit { image } => image_serve(host, &voice, reader, &image),
        other => answer(host, other, &voice, &stream),
    };
    let said = match answer {
        Ok(answer) => Said::Done { answer },
        Err(failed) => {
            tracing::warn!(detail = %failed.detail, "not done");
            fault_said(failed)
        }
    };
    Ok(voice.say(&said)?)
}

fn fault_said(failed: Failed) -> Said {
    let Failed { failure, detail, refusals } = failed;
    Said::Fault { failure, detail, refusals }
}

fn answer(host: &Hostd, ask: Ask, voice: &Voice, stream: &UnixStream) -> Result<Answer, Failed> {
    let tell = |progress: WorkProgress| voice.tell(progress);
    // Everything but a guest that is being built is done to its end, whoever listens.
    let work = Work { tell: &tell, wanted: &|| true };
    Ok(match ask {
        Ask::Guests {} => Answer::Guests { guests: host.guests()? },
        Ask::Plan { slots } => Answer::Plan { report: host.plan(&slots)? },
        Ask::Provision { allocation_id, slots, guest } => {
            let order = Order { allocation_id: &allocation_id, slots: &slots, spec: &guest };
            Answer::Provisioned {
                seen: wanted_while_open(stream, |wanted| host.provision(order, Work { wanted, ..work }))?,
            }
        }
        Ask::Notice { allocation_id, notice } => Answer::Noticed { seen: host.notice(&allocation_id, &notice)? },
        Ask::Stop { allocation_id, slots, grace_s } => {
            Answer::Stopped { evidence: host.stop(&allocation_id, &slots, grace_s, work)? }
        }
        Ask::Wipe { allocation_id, slot, step } => {
            Answer::Wiped { evidence: host.wipe(&allocation_id, &slot, step, work)? }
        }
        Ask::Reconcile { order, busy } => Answer::Reconciled { report: host.reconcile(&order, &busy, work)? },
        Ask::ImageThere { image } => Answer::Image { there: host.image_there(&image)? },
        Ask::Ready {} => Answer::Ready { ready: check::ready(&host.config) },
        Ask::ImageAdmit { .. } | Ask::Stream { .. } => return Err(Failed::plain("it is asked in another way")),
    })
}

// Does something for as long as the caller keeps its side open. A watcher reads; the caller has nothing more to say, so
// whatever comes is the end, or as good as one.
fn wanted_while_open<T>(
    stream: &UnixStream,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, Failed>,
) -> Result<T, Failed> {
    let gone = AtomicBool::new(false);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = stream.set_read_timeout(Some(ACCEPT_EVERY));
            while !over.load(Ordering::SeqCst) {
                match (&mut &*stream).read(&mut [0; 1]) {
                    Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    _ => return gone.store(true, Ordering::SeqCst),
                }
            }
        });
        // Said also when the work dies: the watcher must not go on until the caller closes.
        let _over = Told(&over);
        work(&|| !gone.load(Ordering::SeqCst))
    })
}

// Says that something is over when it is dropped.
struct Told<'a>(&'a AtomicBool);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn image_serve(
    host: &Hostd,
    voice: &Voice,
    reader: BufReader<UnixStream>,
    image: &ImageSpec,
) -> Result<Answer, Failed> {
    host.image_admit(image, || {
        voice.say(&Said::Opened {}).map_err(Failed::plain)?;
        // The bytes come from far away; as long as some come it is waited for.
        let _ = reader.get_ref().set_read_timeout(Some(Duration::from_secs(120)));
        Ok(reader)
    })?;
    Ok(Answer::Image { there: true })
}

fn stream_serve(
    host: &Hostd,
    voice: &Voice,
    stream: UnixStream,
    allocation_id: &AllocationId,
    kind: StreamKind,
) -> Result<(), LineFault> {
    match host.stream_open(allocation_id, kind, &stream) {
        Ok(way) => {
            voice.say(&Said::Opened {})?;
            stream.set_read_timeout(None)?;
            Ok(way.pass(stream)?)
        }
        Err(failed) => Ok(voice.say(&fault_said(failed))?),
    }
}

fn verb(ask: &Ask) -> &'static str {
    match ask {
        Ask::Guests {} => "guests",
        Ask::Plan { .. } => "plan",
        Ask::Provision { .. } => "provision",
        Ask::Notice { .. } => "notice",
        Ask::Stop { .. } => "stop",
        Ask::Wipe { .. } => "wipe",
        Ask::Reconcile { .. } => "reconcile",
        Ask::ImageThere { .. } => "image_there",
        Ask::ImageAdmit { .. } => "image_admit",
        Ask::Stream { .. } => "stream",
        Ask::Ready {} => "ready",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn root_and_the_agent_may_ask_and_nobody_else() {
        assert!(may_ask(0, 997) && may_ask(997, 997));
        assert!(!may_ask(996, 997) && !may_ask(65_534, 997) && !may_ask(u32::MAX, 997));
    }

    #[test]
    fn work_is_wanted_as_long_as_the_caller_stays() {
        let (near, far) = UnixStream::pair().unwrap();
        let done = wanted_while_open(&near, |wanted| {
            assert!(wanted());
            drop(far);
            let late = Instant::now() + Duration::from_secs(60);
            while wanted() {
                assert!(Instant::now() < late, "it was not noticed");
                thread::yield_now();
            }
            Ok(())
        });
        assert_eq!(done, Ok(()));
    }

    #[test]
    fn work_that_dies_is_neither_watched_nor_counted_any_more() {
        let asks = Arc::new(AtomicUsize::new(0));
        let (near, far) = UnixStream::pair().unwrap();
        let counted = Counted::take(&asks).unwrap();
        let (ended, heard) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let _counted = counted;
            let dies = || wanted_while_open(&near, |_| -> Result<(), Failed> { panic!("on purpose") });
            let _ = ended.send(std::panic::catch_unwind(std::panic::AssertUnwindSafe(dies)).is_err());
        });
        assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Ok(true), "the watcher waits for the caller");
        let late = Instant::now() + Duration::from_secs(60);
        while asks.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < late, "its place is lost");
            thread::yield_now();
        }
        drop(far);
        asks.store(ASKS_MAX, Ordering::SeqCst);
        assert!(Counted::take(&asks).is_none());
        assert_eq!(asks.load(Ordering::SeqCst), ASKS_MAX);
    }

    #[test]
    fn an_old_socket_is_replaced_and_anything_else_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let own = rustix::process::geteuid().as_raw();
        drop(listen(&path, own).unwrap());
        assert!(path.exists(), "a process that was killed leaves it");
        drop(listen(&path, own).unwrap());
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        assert!(listen(&path, own).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }
}
