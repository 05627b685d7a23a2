//! Asking before something is taken away. On a terminal a person is asked; elsewhere `--yes` must be given, so that a script
//! never waits for an answer that cannot come.

use crate::{args::Consent, failure::Failure, output, safe};

/// Asks unless consent was given. `question` says what will happen.
pub fn confirm(consent: &Consent, question: &str) -> Result<(), Failure> {
    if consent.yes {
        return Ok(());
    }
    if !output::can_ask() {
        return Err(Failure::Usage(format!("{question} Nobody is at the terminal to ask: give --yes.")));
    }
    output::ask(&format!("{} [y/N] ", safe::line(question)));
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    let agreed = read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if agreed { Ok(()) } else { Err(Failure::Declined) }
}
