//! The way to a guest: its SSH port, or its console. Bytes are passed on as they are; who may open a stream and what is
//! recorded of it is decided before it comes here. A stream ends when either side ends it, or when its guest is stopped.
//!
//! What is at the other end belongs to a tenant, and is not believed to be polite: a stream has its place before anything is
//! dialled, so that a stop meets it whenever it comes; a guest that never closes loses its stream soon after the client has
//! gone; and the console is one only if the emulator's user listens there, whatever its folder says.

use crate::{
    console,
    failed::Failed,
    host::Hostd,
    ready::{DIAL_WITHIN, dial},
    record,
};
use model::{AllocationId, runtime::WorkStep, stream::StreamKind};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt,
};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// The most streams at once. They are long, so they must leave room for those who ask.
pub const STREAMS_MAX: usize = 256;

/// How long a guest may be silent once the client is gone. One that has only ended what it says is still listening; how long
/// it does is the agent's to say.
const LAST_WORDS: Duration = Duration::from_secs(10);
// A guest that died without a word is noticed by what it does not answer.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
const ALIVE_TRIES: u32 = 3;
const UNANSWERED_MS_MAX: u32 = 120_000;

/// The other end of a stream.
#[derive(Debug)]
enum Line {
    /// SSH.
    Tcp(TcpStream),
    /// The console.
    Unix(UnixStream),
}

impl Line {
    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(line) => line.try_clone().map(Self::Tcp),
            Self::Unix(line) => line.try_clone().map(Self::Unix),
        }
    }

    fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Self::Tcp(line) => line.shutdown(how),
            Self::Unix(line) => line.shutdown(how),
        };
    }

    fn read_timeout(&self, every: Duration) -> io::Result<()> {
        match self {
            Self::Tcp(line) => line.set_read_timeout(Some(every)),
            Self::Unix(line) => line.set_read_timeout(Some(every)),
        }
    }
}

impl Read for &Line {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Line::Tcp(line) => (&*line).read(to),
            Line::Unix(line) => (&*line).read(to),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(line) => line.write(bytes),
            Self::Unix(line) => line.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The streams that are open, or about to be.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    by_number: BTreeMap<u64, Ends>,
}

// Both ends of a stream, so that neither has to be waited for when it is to end.
#[derive(Debug)]
struct Ends {
    owner: AllocationId,
    client: UnixStream,
    guest: Option<Line>,
    is_closed: bool,
}

impl Ends {
    fn close(&mut self) {
        self.is_closed = true;
        let _ = self.client.shutdown(Shutdown::Both);
        if let Some(guest) = &self.guest {
            guest.shutdown(Shutdown::Both);
        }
    }
}

impl Streams {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // A place for a stream of which only the client's end is there yet.
    fn begin(&self, allocation_id: &AllocationId, client: UnixStream) -> io::Result<Place<'_>> {
        let mut open = self.open();
        if open.by_number.len() >= STREAMS_MAX {
            return Err(io::Error::other(format!("{STREAMS_MAX} streams are open already")));
        }
        open.last += 1;
        let number = open.last;
        let owner = allocation_id.clone();
        open.by_number.insert(number, Ends { owner, client, guest: None, is_closed: false });
        Ok(Place { streams: self, number })
    }

    /// Ends every stream: the process ends.
    pub(crate) fn close_all(&self) {
        self.open().by_number.values_mut().for_each(Ends::close);
    }

    /// Ends every stream to a guest of an allocation, also those that are only being opened.
    pub(crate) fn close(&self, allocation_id: &AllocationId) {
        self.open().by_number.values_mut().filter(|ends| ends.owner == *allocation_id).for_each(Ends::close);
    }
}

/// One of the places for streams; free again when this is dropped.
#[derive(Debug)]
struct Place<'a> {
    streams: &'a Streams,
    number: u64,
}

impl Place<'_> {
    // The guest's end is there. A stream that was ended meanwhile stays ended.
    fn reached(&self, guest: &Line) -> io::Result<()> {
        let guest = guest.try_clone()?;
        match self.streams.open().by_number.get_mut(&self.number) {
            Some(ends) if !ends.is_closed => {
                ends.guest = Some(guest);
                Ok(())
            }
            _ => Err(io::Error::other("it was ended while it was opened")),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.streams.open().by_number.remove(&self.number);
    }
}

/// A way to a guest that is open.
#[derive(Debug)]
pub(crate) struct Way<'a> {
    place: Place<'a>,
    guest: Line,
}

impl Way<'_> {
    /// Passes bytes both ways until one side has ended.
    pub(crate) fn pass(self, client: UnixStream) -> io::Result<()> {
        let Self { place, guest } = self;
        let passed = pass(client, guest, LAST_WORDS);
        drop(place);
        passed
    }
}

impl Hostd {
    /// Opens a way to a guest that was built to the end; its console also before that. None to one that is being taken away.
    pub(crate) fn stream_open(
        &self,
        allocation_id: &AllocationId,
        kind: StreamKind,
        client: &UnixStream,
    ) -> Result<Way<'_>, Failed> {
        let failed = |error: io::Error| Failed::plain(format!("the guest's {kind} cannot be reached: {error}"));
        let place = client.try_clone().and_then(|client| self.streams.begin(allocation_id, client)).map_err(failed)?;
        let record = self.records.read(allocation_id).map_err(Failed::plain)?;
        let record = record.ok_or_else(|| Failed::plain(format!("{allocation_id} has no guest on this host")))?;
        if matches!(record.step, WorkStep::Stop | WorkStep::Remove) {
            return Err(Failed::plain(format!("{} is being taken away", record.guest)));
        }
        let guest = match kind {
            StreamKind::Ssh if !record.ready => Err(Failed::plain(format!("{} is not ready", record.guest))),
            StreamKind::Ssh => {
                dial(&self.config.network, record.plan.ip, DIAL_WITHIN).and_then(kept_alive).map_err(failed)
            }
            StreamKind::Console => {
                let path = record::places(&self.config, &record.guest).console;
                let (emulator_uid, _) = self.config.emulator_ids().map_err(Failed::plain)?;
                console::connect(&path, emulator_uid).map(Line::Unix).map_err(failed)
            }
        }?;
        place.reached(&guest).map_err(failed)?;
        Ok(Way { place, guest })
    }
}

fn kept_alive(line: TcpStream) -> io::Result<Line> {
    sockopt::set_socket_keepalive(&line, true)?;
    sockopt::set_tcp_keepidle(&line, ALIVE_EVERY)?;
    sockopt::set_tcp_keepintvl(&line, ALIVE_EVERY)?;
    sockopt::set_tcp_keepcnt(&line, ALIVE_TRIES)?;
    sockopt::set_tcp_user_timeout(&line, UNANSWERED_MS_MAX)?;
    Ok(Line::Tcp(line))
}

fn pass(client: UnixStream, guest: Line, last_words: Duration) -> io::Result<()> {
    let (mut from_client, to_client) = (client.try_clone()?, client);
    let (from_guest, mut to_guest) = (guest.try_clone()?, guest);
    // A read that has begun does not notice that anything changed, so it ends now and then to look.
    from_guest.read_timeout(last_words / 10)?;
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = io::copy(&mut from_client, &mut to_guest);
            // What the client said last still gets there; then the guest may say its last words.
            to_guest.shutdown(Shutdown::Write);
        });
        listen(&from_guest, &to_client, last_words);
        let _ = to_client.shutdown(Shutdown::Both);
        from_guest.shutdown(Shutdown::Both);
    });
    Ok(())
}

// Passes on what the guest says, until it has ended or the client is gone and what it said last has had its time to get there.
fn listen(mut from_guest: &Line, mut to_client: &UnixStream, last_words: Duration) {
    let mut piece = [0; 16 * 1024];
    let mut silent_since = None;
    loop {
        match from_guest.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => {
                silent_since = None;
                if to_client.write_all(&piece[..count]).is_err() {
                    return;
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if is_gone(to_client) && silent_since.get_or_insert_with(Instant::now).elapsed() >= last_words {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

// Whether nobody is at the other side any more.
fn is_gone(client: &UnixStream) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut looked = [PollFd::new(client, PollFlags::empty())];
    poll(&mut looked, Some(&at_once)).is_ok() && looked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::tests::guest_use;
    use std::sync::mpsc;

    #[test]
    fn bytes_pass_both_ways_and_the_end_is_passed_on_too() {
        let (client, near) = UnixStream::pair().unwrap();
        let (far, guest) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || pass(near, Line::Unix(far), Duration::from_millis(10)).unwrap());
            let (mut client, mut guest) = (client, guest);
            client.write_all(b"in").unwrap();
            let mut two = [0; 2];
            guest.read_exact(&mut two).unwrap();
            assert_eq!(&two, b"in");
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(guest.read(&mut two).unwrap(), 0, "the client's end");
            // It still listens, however long the guest takes.
            thread::sleep(Duration::from_millis(100));
            guest.write_all(b"out").unwrap();
            drop(guest);
            let mut rest = vec![];
            client.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, b"out");
        });
    }

    // Whether passing comes to an end though this guest never ends anything.
    fn ends_with(client: impl FnOnce(UnixStream)) {
        let (end, near) = UnixStream::pair().unwrap();
        let (far, guest) = UnixStream::pair().unwrap();
        let (over, heard) = mpsc::channel();
        thread::spawn(move || over.send(pass(near, Line::Unix(far), Duration::from_millis(100)).is_ok()));
        client(end);
        assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Ok(true), "the guest holds the stream");
        drop(guest);
    }

    #[test]
    fn a_guest_that_never_closes_loses_its_stream_when_the_client_goes() {
        ends_with(drop);
        // One that does not even read: what the client says fills up all there is room for.
        ends_with(|client| {
            client.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
            while (&client).write(&[0; 4096]).is_ok() {}
        });
    }

    #[test]
    fn a_stop_ends_both_sides_of_the_streams_of_its_guest_and_no_others() {
        let streams = Streams::default();
        let (own, other) = (guest_use(1).allocation_id, guest_use(2).allocation_id);
        let (mut here, there) = UnixStream::pair().unwrap();
        let (mut second, kept) = UnixStream::pair().unwrap();
        let (near_guest, mut guest) = UnixStream::pair().unwrap();
        let place = streams.begin(&own, there).unwrap();
        place.reached(&Line::Unix(near_guest)).unwrap();
        let _kept = streams.begin(&other, kept.try_clone().unwrap()).unwrap();
        streams.close(&own);
        assert_eq!(here.read(&mut [0; 1]).unwrap(), 0, "it is closed");
        assert_eq!(guest.read(&mut [0; 1]).unwrap(), 0, "and so is the guest's side");
        second.write_all(b"x").unwrap();
        let mut one = [0; 1];
        (&kept).read_exact(&mut one).unwrap();
        drop(place);
        assert_eq!(streams.open().by_number.len(), 1);
        streams.close_all();
        assert_eq!(second.read(&mut [0; 1]).unwrap(), 0, "and at the end it is closed too");
    }

    #[test]
    fn a_stop_also_meets_a_stream_that_is_only_being_opened() {
        let streams = Streams::default();
        let own = guest_use(1).allocation_id;
        let (_client, near) = UnixStream::pair().unwrap();
        let (far, _guest) = UnixStream::pair().unwrap();
        let place = streams.begin(&own, near).unwrap();
        streams.close(&own);
        let ended = place.reached(&Line::Unix(far)).unwrap_err();
        assert!(ended.to_string().contains("ended while it was opened"), "{ended}");
    }

    #[test]
    fn there_is_no_place_beyond_the_last() {
        let streams = Streams::default();
        let own = guest_use(1).allocation_id;
        let (_client, near) = UnixStream::pair().unwrap();
        let places: Vec<_> =
            (0..STREAMS_MAX).map(|_| streams.begin(&own, near.try_clone().unwrap()).unwrap()).collect();
        assert!(streams.begin(&own, near.try_clone().unwrap()).is_err());
        drop(places);
        assert!(streams.begin(&own, near).is_ok());
    }

    #[test]
    fn a_guest_is_asked_whether_it_is_alive() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let line = kept_alive(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).unwrap();
        let Line::Tcp(line) = line else { panic!("{line:?}") };
        assert!(sockopt::socket_keepalive(&line).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&line).unwrap(), ALIVE_EVERY);
    }
}
