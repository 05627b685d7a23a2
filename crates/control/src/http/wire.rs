//! A connection that does not wait for ever. Three things may take only so long: sitting idle between requests, getting a
//! request's head across once its first byte has come, and taking in bytes that we send. Each has its deadline here, below
//! the HTTP library, so that a client that trickles, or never reads, costs one socket for a bounded time.
//!
//! The HTTP library answers a head that it cannot read by itself, with a status and no word. Such an answer is held back
//! here and its status noted, so that the caller is told in words, like everybody else.
//!
//! A connection that became a stream has no deadlines here; the gateway looks after it.
//!
//! The head's deadline runs from its first byte to the moment the request reaches the service; the body has a deadline of
//! its own, kept by the service.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU16, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use api::headers as names;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

/// How long each thing may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) idle: Duration,
    pub(super) head: Duration,
    pub(super) stall: Duration,
}

const IDLE: u8 = 0;
const HEAD: u8 = 1;
const REQUEST: u8 = 2;
const STREAM: u8 = 3;

/// What the connection is doing, shared with the service.
#[derive(Debug, Clone, Default)]
pub(super) struct Phase {
    now: Arc<AtomicU8>,
    held_back: Arc<AtomicU16>,
}

impl Phase {
    /// The head has arrived; the service has the request.
    pub(super) fn request(&self) {
        self.now.store(REQUEST, Ordering::Release);
    }
    /// The answer is on its way; the next byte belongs to the next request.
    pub(super) fn idle(&self) {
        self.now.store(IDLE, Ordering::Release);
    }
    /// The connection is a stream from here on: it may be slow, and either side may close its half.
    pub(super) fn stream(&self) {
        self.now.store(STREAM, Ordering::Release);
    }
    /// Whether a head began to arrive and did not end.
    pub(super) fn in_head(&self) -> bool {
        self.now() == HEAD
    }
    /// The status of an answer that the HTTP library gave by itself.
    pub(super) fn held_back(&self) -> Option<u16> {
        Some(self.held_back.load(Ordering::Acquire)).filter(|status| *status != 0)
    }
    fn begin_head(&self) -> bool {
        self.now.compare_exchange(IDLE, HEAD, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
    fn now(&self) -> u8 {
        self.now.load(Ordering::Acquire)
    }
}

/// The status of an answer that is not ours: each of ours has a request id.
fn foreign_answer(bytes: &[u8]) -> Option<u16> {
    let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let ours =
        bytes.windows(names::REQUEST_ID.len()).any(|part| part.eq_ignore_ascii_case(names::REQUEST_ID.as_bytes()));
    let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
    if status >= 400 && !ours { Some(status) } else { None }
}

/// A socket with deadlines. The stream is shared so that a last word can be said after the HTTP library gave up.
pub(super) struct Wire {
    stream: Arc<TcpStream>,
    phase: Phase,
    patience: Patience,
    reading: Pin<Box<Sleep>>,
    // The phase that the reading deadline was set for.
    reading_for: u8,
    writing: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub(super) fn new(stream: Arc<TcpStream>, phase: Phase, patience: Patience) -> Self {
        let reading = Box::pin(tokio::time::sleep(patience.idle));
        Self { stream, phase, patience, reading, reading_for: IDLE, writing: None }
    }

    fn late(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.phase.now();
        if phase == REQUEST || phase == STREAM {
            // Nobody waits for a head now. Reads go on to notice a client that went away.
            self.reading_for = phase;
            return Poll::Pending;
        }
        if self.reading_for != phase {
            self.reading_for = phase;
            let pause = if phase == HEAD { self.patience.head } else { self.patience.idle };
            self.reading.as_mut().reset(Instant::now() + pause);
        }
        self.reading
            .as_mut()
            .poll(cx)
            .map(|()| io::Error::new(io::ErrorKind::TimedOut, "the request did not arrive in time"))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.stream.poll_read_ready(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => match self.stream.try_read(buffer.initialize_unfilled()) {
                    Ok(count) => {
                        buffer.advance(count);
                        if count > 0 && self.phase.begin_head() {
                            let deadline = Instant::now() + self.patience.head;
                            self.reading.as_mut().reset(deadline);
                            self.reading_for = HEAD;
                        }
                        return Poll::Ready(Ok(()));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    Err(error) => return Poll::Ready(Err(error)),
                },
                Poll::Pending => return self.late(cx).map(Err),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.phase.in_head()
            && let Some(status) = foreign_answer(bytes)
        {
            self.phase.held_back.store(status, Ordering::Release);
            return Poll::Ready(Ok(bytes.len()));
        }
        loop {
            match self.stream.poll_write_ready(cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => match self.stream.try_write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    done => {
                        self.writing = None;
                        return Poll::Ready(done);
                    }
                },
                // Whoever is at the other end of a stream decides how fast it goes.
                Poll::Pending if self.phase.now() == STREAM => return Poll::Pending,
                Poll::Pending => {
                    let stall = self.patience.stall;
                    let deadline = self.writing.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
                    ready!(deadline.as_mut().poll(cx));
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")));
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.phase.now() == STREAM {
            return Poll::Ready(rustix::net::shutdown(&*self.stream, rustix::net::Shutdown::Write).map_err(Into::into));
        }
        // The socket is closed when the last holder drops it; until then a last word may still be sent.
        Poll::Ready(Ok(()))
    }
}
