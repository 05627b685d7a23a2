//! `gpuaas console`: the serial console of a guest on this terminal. Every key goes to the guest, but for the one that leaves.

use api::{allocation::AllocationPath, stream::AllocationConsole};
use clap::Args;
use model::AllocationId;
use reqwest::Upgraded;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    signal::unix::{SignalKind, signal},
};

use crate::{
    args::examples,
    failure::Failure,
    interrupt,
    session::Session,
    terminal::{Raw, before_key, standard_input},
};

/// Which console.
#[derive(Debug, Args)]
#[command(after_help = examples!["gpuaas console alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
pub struct Console {
    /// Id of the allocation
    allocation: AllocationId,
}

/// Ctrl-]
const LEAVE: u8 = 0x1d;

/// Shows the console until one side ends it.
pub async fn console(session: &Session, console: Console) -> Result<(), Failure> {
    let allocation_id = console.allocation.clone();
    let stream = session.open_stream::<AllocationConsole>(AllocationPath { allocation_id }).await?;
    session.note("connected; what the guest prints is recorded; Ctrl-] leaves");
    let left = {
        let _raw = Raw::enter()?;
        carry(stream, Some(LEAVE)).await
    };
    // Behind the guest's last line, wherever that ended.
    session.note("");
    if !left? {
        let id = &console.allocation;
        session.note(&format!("the console was closed; `gpuaas allocation streams {id}` says why"));
    }
    Ok(())
}

/// Carries bytes between this terminal and a stream. Says whether the person left.
pub(super) async fn carry(mut stream: Upgraded, leave: Option<u8>) -> Result<bool, Failure> {
    let cannot = |error: std::io::Error| Failure::Local(format!("cannot watch for signals: {error}"));
    let (mut interrupt, mut terminate, mut hang_up) = (
        signal(SignalKind::interrupt()).map_err(cannot)?,
        signal(SignalKind::terminate()).map_err(cannot)?,
        signal(SignalKind::hangup()).map_err(cannot)?,
    );
    // From here on the terminal is given back before the process ends.
    interrupt::leave_to_command();
    let (from, to) = tokio::io::split(&mut stream);
    // Both at once: whoever writes much must not keep us from reading what comes back.
    let (mut up, mut down) = (std::pin::pin!(typed(to, leave)), std::pin::pin!(printed(from)));
    let mut typing = true;
    loop {
        tokio::select! {
            ended = &mut down => return ended.map(|()| false),
            left = &mut up, if typing => {
                if left {
                    return Ok(true);
                }
                typing = false;
            }
            _ = interrupt.recv() => return Err(ended_by("SIGINT")),
            _ = terminate.recv() => return Err(ended_by("SIGTERM")),
            // The terminal is gone, or ssh is done with the command that it spoke through.
            _ = hang_up.recv() => return Ok(true),
        }
    }
}

/// Sends what is typed until there is no more. Says whether the person left.
async fn typed(mut to: impl AsyncWrite + Unpin, leave: Option<u8>) -> bool {
    let mut typed = standard_input();
    while let Some(piece) = typed.recv().await {
        let (sent, left) = leave.map_or((piece.as_slice(), false), |key| before_key(&piece, key));
        // A stream that cannot be written to any more is about to say so to the reader.
        let _ = to.write_all(sent).await;
        let _ = to.flush().await;
        if left {
            return true;
        }
    }
    let _ = to.shutdown().await;
    false
}

/// Shows what is printed until the stream is over.
async fn printed(mut from: impl AsyncRead + Unpin) -> Result<(), Failure> {
    let (mut screen, mut piece) = (tokio::io::stdout(), vec![0; 64 * 1024]);
    while let Ok(bytes @ 1..) = from.read(&mut piece).await {
        let shown = screen.write_all(&piece[..bytes]).await;
        if shown.and(screen.flush().await).is_err() {
            return Err(Failure::ReaderGone);
        }
    }
    Ok(())
}

fn ended_by(signal: &str) -> Failure {
    Failure::Local(format!("ended by {signal}"))
}
