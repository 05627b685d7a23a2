//! What a command prints on standard output. A reader that went away, as in `discover | head`, is no error.

use std::io::{self, Write};

/// Prints a text as it is.
pub(crate) fn data(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}
