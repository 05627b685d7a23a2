//! Two connections made one: what is read from either is written to the other before more is read. One buffer for each
//! direction, and no more: a side that does not read stops the other, all the way to the guest or the client.
//!
//! A side that is done sending closes its half; the other half goes on, unless it is a console: that has no halves. With one half closed, silence in the other ends the
//! stream after a while, so that a peer that went away without a word does not keep it for ever.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use model::stream::StreamEnding;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    time::Instant,
};

use super::{Flow, recording::Recording};

/// The buffer of one direction.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// What was carried.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) to_guest: AtomicU64,
    pub(super) from_guest: AtomicU64,
}

impl Carried {
    fn total(&self) -> u64 {
        self.to_guest.load(Ordering::Acquire) + self.from_guest.load(Ordering::Acquire)
    }
}

/// What goes along with a joined stream.
pub(super) struct Along<'a> {
    pub(super) flow: &'a Flow,
    pub(super) carried: &'a Carried,
    /// How long half a stream may be silent; none where half a stream is none.
    pub(super) half_open_max: Option<Duration>,
    pub(super) printed: Option<&'a mut Recording>,
    pub(super) typed: Option<&'a mut Recording>,
}

#[derive(Debug)]
enum Fault {
    Broken(io::Error),
    Unrecorded(io::Error),
}

/// Carries bytes between a client and a guest until either side, or `end`, ends it. Says how.
pub(super) async fn join(
    client: impl AsyncRead + AsyncWrite,
    guest: impl AsyncRead + AsyncWrite,
    along: Along<'_>,
    mut end: watch::Receiver<Option<StreamEnding>>,
) -> StreamEnding {
    let (mut client_reads, mut client_writes) = tokio::io::split(client);
    let (mut guest_reads, mut guest_writes) = tokio::io::split(guest);
    let Along { flow, carried, half_open_max, printed, typed } = along;
    let to_guest = carry(&mut client_reads, &mut guest_writes, (flow, &carried.to_guest), typed);
    let from_guest = carry(&mut guest_reads, &mut client_writes, (flow, &carried.from_guest), printed);
    let (mut to_guest, mut from_guest) = (std::pin::pin!(to_guest), std::pin::pin!(from_guest));
    let (mut up, mut down) = (true, true);
    let (mut seen, mut look_at) = (0, Instant::now());
    while up || down {
        let done = tokio::select! {
            done = &mut to_guest, if up => { up = false; done }
            done = &mut from_guest, if down => { down = false; done }
            why = asked(&mut end) => return why,
            () = tokio::time::sleep_until(look_at), if up != down => {
                if carried.total() == seen {
                    return StreamEnding::HalfOpen;
                }
                Ok(())
            }
        };
        match (done, half_open_max) {
            (Ok(()), Some(silence)) => (seen, look_at) = (carried.total(), Instant::now() + silence),
            (Ok(()), None) => return StreamEnding::Closed,
            (Err(Fault::Unrecorded(error)), _) => {
                tracing::error!(%error, "what a console printed could not be recorded; it was ended");
                return StreamEnding::RecordingFailed;
            }
            (Err(Fault::Broken(error)), _) => {
                tracing::debug!(%error, "a stream broke");
                return StreamEnding::Broken;
            }
        }
    }
    StreamEnding::Closed
}

/// Waits until the stream is to end. A gateway that is gone is reason enough.
pub(super) async fn asked(end: &mut watch::Receiver<Option<StreamEnding>>) -> StreamEnding {
    match end.wait_for(Option::is_some).await {
        Ok(why) => why.unwrap_or(StreamEnding::ReplicaStopped),
        Err(_) => StreamEnding::ReplicaStopped,
    }
}

async fn carry(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    (flow, count): (&Flow, &AtomicU64),
    mut recording: Option<&mut Recording>,
) -> Result<(), Fault> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let bytes = from.read(&mut buffer).await.map_err(Fault::Broken)?;
        if bytes == 0 {
            // The other side may be gone already; then there is nobody to tell.
            let _ = to.shutdown().await;
            return Ok(());
        }
        let _under_way = UnderWay::enter(flow, bytes);
        if let Some(recording) = &mut recording {
            recording.keep(&buffer[..bytes]).await.map_err(Fault::Unrecorded)?;
        }
        to.write_all(&buffer[..bytes]).await.map_err(Fault::Broken)?;
        to.flush().await.map_err(Fault::Broken)?;
        count.fetch_add(bytes as u64, Ordering::AcqRel);
    }
}

/// Bytes that were read and not yet written; counted for as long as that is so, however it ends.
struct UnderWay<'a>(&'a Flow, usize);

impl<'a> UnderWay<'a> {
    fn enter(flow: &'a Flow, bytes: usize) -> Self {
        flow.enter(bytes);
        Self(flow, bytes)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

/// Lets the system find out by itself when the other machine is gone: after a minute without a sign of it.
pub(crate) fn keep_alive(socket: &TcpStream) {
    use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl};
    let set = set_socket_keepalive(socket, true)
        .and_then(|()| set_tcp_keepidle(socket, Duration::from_secs(30)))
        .and_then(|()| set_tcp_keepintvl(socket, Duration::from_secs(10)))
        .and_then(|()| set_tcp_keepcnt(socket, 3));
    if let Err(error) = set {
        tracing::debug!(%error, "a connection cannot be watched for a dead peer");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokio::io::duplex;

    fn along<'a>(flow: &'a Flow, carried: &'a Carried) -> Along<'a> {
        Along { flow, carried, half_open_max: Some(Duration::from_secs(60)), printed: None, typed: None }
    }

    #[tokio::test]
    async fn a_side_that_does_not_read_stops_the_other() {
        let (flow, carried) = (Flow::default(), Carried::default());
        let (mut client, client_end) = duplex(1024);
        let (mut guest, guest_end) = duplex(1024);
        let (stop, end) = watch::channel(None);
        let joined = join(client_end, guest_end, along(&flow, &carried), end);
        let pushing = async {
            let piece = vec![7; 4096];
            // The guest sends until nothing moves any more: everybody's buffers are full.
            let mut sent = 0;
            while let Ok(Ok(())) = tokio::time::timeout(Duration::from_millis(300), guest.write_all(&piece)).await {
                sent += piece.len();
            }
            assert!(sent <= 2 * BUFFER_BYTES, "{sent} bytes went into nowhere");
            assert!(flow.now.load(Ordering::Acquire) <= BUFFER_BYTES);
            // Reading makes room again.
            let mut read = vec![0; 1024];
            client.read_exact(&mut read).await.unwrap();
            stop.send(Some(StreamEnding::RoleLost)).unwrap();
        };
        let (how, ()) = tokio::join!(joined, pushing);
        assert_eq!(how, StreamEnding::RoleLost);
        assert_eq!(flow.now.load(Ordering::Acquire), 0, "what was under way is not counted for ever");
    }

    #[tokio::test]
    async fn what_was_sent_before_a_close_arrives() {
        let (flow, carried) = (Flow::default(), Carried::default());
        let (client, client_end) = duplex(16);
        let (mut guest, guest_end) = duplex(16);
        let (_stop, end) = watch::channel(None);
        let joined = join(client_end, guest_end, along(&flow, &carried), end);
        let (mut hears, mut says) = tokio::io::split(client);
        let talk = async {
            says.write_all(b"question").await.unwrap();
            says.shutdown().await.unwrap();
            let mut asked = Vec::new();
            guest.read_to_end(&mut asked).await.unwrap();
            assert_eq!(asked, b"question");
            guest.write_all(b"a long answer that does not fit").await.unwrap();
            guest.shutdown().await.unwrap();
        };
        let hear = async {
            let mut heard = Vec::new();
            hears.read_to_end(&mut heard).await.unwrap();
            heard
        };
        let (how, (), heard) = tokio::join!(joined, talk, hear);
        assert_eq!((how, heard.as_slice()), (StreamEnding::Closed, &b"a long answer that does not fit"[..]));
        assert_eq!(carried.to_guest.load(Ordering::Acquire), 8);
    }

    #[tokio::test]
    async fn half_a_stream_without_a_byte_ends() {
        let (flow, carried) = (Flow::default(), Carried::default());
        let (mut client, client_end) = duplex(16);
        let (_guest, guest_end) = duplex(16);
        let (_stop, end) = watch::channel(None);
        client.shutdown().await.unwrap();
        let soon = Along { half_open_max: Some(Duration::from_millis(20)), ..along(&flow, &carried) };
        assert_eq!(join(client_end, guest_end, soon, end).await, StreamEnding::HalfOpen);
    }

    #[tokio::test]
    async fn a_console_that_cannot_be_recorded_is_ended() {
        let (flow, carried) = (Flow::default(), Carried::default());
        let (_client, client_end) = duplex(16);
        let (mut guest, guest_end) = duplex(16);
        let (_stop, end) = watch::channel(None);
        guest.write_all(b"login:").await.unwrap();
        let mut full = Recording::on_a_full_disk().await;
        let along = Along { printed: Some(&mut full), ..along(&flow, &carried) };
        assert_eq!(join(client_end, guest_end, along, end).await, StreamEnding::RecordingFailed);
    }
}
