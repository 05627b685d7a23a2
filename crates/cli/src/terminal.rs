//! A terminal in raw mode, and what is typed on it: for commands that hand every key to a guest. The terminal is given back as
//! it was, however the command ends.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal as _, Read as _};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// A terminal in raw mode for as long as this lives.
pub struct Raw(Option<Termios>);

impl Raw {
    /// Takes the terminal on standard input over, if there is one.
    pub fn enter() -> Result<Self, Failure> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return Ok(Self(None));
        }
        let cannot = |error: rustix::io::Errno| Failure::Local(format!("the terminal cannot be taken over: {error}"));
        let before = tcgetattr(&stdin).map_err(cannot)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &raw).map_err(cannot)?;
        Ok(Self(Some(before)))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // What was typed and not read belongs to nobody any more.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
        }
    }
}

const PIECE_BYTES: usize = 64 * 1024;
// A few pieces: enough to keep both sides busy, and no more is read than is sent.
const PIECES_MAX: usize = 4;

/// Standard input in pieces as they come, until it ends. A thread of its own reads, since nothing can be made to stop
/// waiting for a key; it ends with the process.
pub fn standard_input() -> mpsc::Receiver<Vec<u8>> {
    let (tell, told) = mpsc::channel(PIECES_MAX);
    std::thread::spawn(move || {
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(bytes @ 1..) = std::io::stdin().lock().read(&mut piece) {
            if tell.blocking_send(piece[..bytes].to_vec()).is_err() {
                return;
            }
        }
    });
    told
}

/// What comes before the key that leaves, and whether it was there.
pub fn before_key(bytes: &[u8], key: u8) -> (&[u8], bool) {
    match bytes.iter().position(|byte| *byte == key) {
        Some(at) => (&bytes[..at], true),
        None => (bytes, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_before_leaving_is_sent_and_the_rest_is_not() {
        assert_eq!(before_key(b"exit\x1dmore", 0x1d), (&b"exit"[..], true));
        assert_eq!(before_key(b"\x1d", 0x1d), (&b""[..], true));
        assert_eq!(before_key(b"ls\n", 0x1d), (&b"ls\n"[..], false));
    }
}
