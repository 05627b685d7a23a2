//! Wipe proofs: read from the platform, saved to a file, and checked again from that file without any platform.
//!
//! A file may come from anybody. It is read up to a limit, nothing unknown in it is passed over, and nothing of it reaches
//! the terminal but through the tables, which show control characters as text.

use api::{
    allocation::AllocationPath,
    proof::{AllocationProofs, DOCUMENT_BYTES_MAX, ProofDocument, ProofList, ProofQuery, ProofShow, ProofView},
    supply::SlotPath,
};
use clap::Subcommand;
use control::{Ports, proof_check};
use model::{AllocationId, SlotId, number::UseNumber, proof::ProofCheckOutcome};
use serde::Serialize;
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use crate::{
    args::{Global, examples},
    failure::Failure,
    output::{self, Format},
    safe,
    session::{Items, Session},
    table,
};

/// Verbs of proofs.
#[derive(Debug, Subcommand)]
#[command(after_help = examples![
    "gpuaas proof show slt_01jh2n6f4zw8q9r0s1t2v3x4y5",
    "gpuaas proof verify proof.json --trust-the-file",
])]
pub enum ProofCommand {
    /// Show the newest wipe proof of a slot: every step, its evidence, and what each check says now
    #[command(after_help = examples![
        "gpuaas proof show slt_01jh2n6f4zw8q9r0s1t2v3x4y5",
        "gpuaas proof show slt_01jh2n6f4zw8q9r0s1t2v3x4y5 --use 3 -o json",
        "gpuaas proof show slt_01jh2n6f4zw8q9r0s1t2v3x4y5 --save proof.json",
    ])]
    Show {
        /// Id of the slot
        slot: SlotId,
        /// The use that ended [default: whichever proof came in last]
        #[arg(long = "use", value_name = "N")]
        of_use: Option<UseNumber>,
        /// Also write it to this new file, as a document that `gpuaas proof verify` reads
        #[arg(long, value_name = "PATH")]
        save: Option<PathBuf>,
    },
    /// List every wipe proof of a slot that came in, refused ones too
    #[command(after_help = examples!["gpuaas proof list slt_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    List {
        /// Id of the slot
        slot: SlotId,
    },
    /// Show whether what an allocation had was wiped, and how that was proved
    #[command(after_help = examples!["gpuaas proof allocation alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    Allocation {
        /// Id of the allocation
        allocation: AllocationId,
    },
    /// Check a saved proof again, without a control plane; ends with 0 when everything holds, with a key that you vouch for
    #[command(after_help = examples![
        "gpuaas proof verify proof.json --trust-the-file",
        "gpuaas proof verify proof.json --node-key 8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c",
    ])]
    Verify {
        /// The file
        file: PathBuf,
        /// The node's public key in hexadecimal, from elsewhere
        #[arg(long, value_name = "HEX")]
        node_key: Option<String>,
        /// Take the key in the file for the node's, because you trust where the file comes from
        #[arg(long, conflicts_with = "node_key")]
        trust_the_file: bool,
    },
}

/// Carries out a verb. Checking a file needs no server and no token.
pub async fn run(global: &Global, command: ProofCommand) -> Result<(), Failure> {
    match command {
        ProofCommand::Show { slot, of_use, save } => {
            let session = Session::open(global)?;
            let query = ProofQuery { use_generation: of_use };
            let view = session.query::<ProofShow>(SlotPath { slot_id: slot }, query).await?;
            show(&session, &view)?;
            match save {
                Some(path) => keep(&session, view, &path),
                None => Ok(()),
            }
        }
        ProofCommand::List { slot } => {
            let session = Session::open(global)?;
            let all = session.list::<ProofList, _>(SlotPath { slot_id: slot }).await?;
            session.print_list(&table::PROOFS, all)
        }
        ProofCommand::Allocation { allocation } => {
            let session = Session::open(global)?;
            let view = session.show::<AllocationProofs>(AllocationPath { allocation_id: allocation }).await?;
            match session.format {
                Format::Table => {
                    output::data(&safe::line(&view.projected))?;
                    session.print_list(&table::WIPES, view.slots)
                }
                _ => session.print(&view),
            }
        }
        ProofCommand::Verify { file, node_key, trust_the_file } => {
            verify(global, &file, node_key.as_deref(), trust_the_file)
        }
    }
}

fn show(session: &Session, view: &ProofView) -> Result<(), Failure> {
    if session.format != Format::Table {
        return session.print(view);
    }
    let verdict = if view.holds { "holds" } else { "does not hold" };
    let head = [
        format!("The proof of use {} of slot {} {verdict}.", view.use_generation, view.slot_id),
        format!("node {}, key {}", view.node_id, view.node_public_key),
        format!("SHA-256 of the key {}", view.node_key_fingerprint),
        format!("received {}, signature {}", view.received_at, view.proof.signature),
    ];
    for line in &head {
        output::data(&safe::line(line))?;
    }
    if let Some(fault) = view.refused {
        output::data(&format!("It was refused when it came in: {fault}."))?;
    }
    output::data("\n")?;
    output::list(Format::Table, &table::PROOF_CHECKS, &view.checks, &Items { items: &view.checks })?;
    output::data("\n")?;
    output::list(Format::Table, &table::PROOF_STEPS, &view.proof.steps, &Items { items: &view.proof.steps })
}

/// Writes the document. A file that is there stays: it may be the only copy of another proof.
fn keep(session: &Session, view: ProofView, path: &Path) -> Result<(), Failure> {
    let failed = |why: String| Failure::Local(format!("cannot write {}: {why}", path.display()));
    let text = output::json_text(&view.document(Ports::system().now()))?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| failed(error.to_string()))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .map_err(|error| failed(error.to_string()))?;
    session.note(&format!("saved to {}", path.display()));
    Ok(())
}

/// What came of checking a file.
#[derive(Serialize)]
struct Verdict {
    holds: bool,
    slot_id: SlotId,
    use_generation: i64,
    node_public_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_key_fingerprint: Option<String>,
    node_key_given: bool,
    checks: Vec<ProofCheckOutcome>,
}

fn verify(global: &Global, path: &Path, node_key: Option<&str>, trust_the_file: bool) -> Result<(), Failure> {
    let cannot = |why: String| Failure::Local(format!("cannot use {}: {why}", path.display()));
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    let document = ProofDocument::read(&bytes).map_err(|error| cannot(error.to_string()))?;
    let checks = proof_check::verify(&document, node_key);
    let verdict = Verdict {
        holds: checks.iter().all(|check| check.ok),
        slot_id: document.proof.slot_id.clone(),
        use_generation: document.proof.use_generation,
        node_key_fingerprint: proof_check::fingerprint(&document.node_public_key),
        node_public_key: document.node_public_key,
        node_key_given: node_key.is_some(),
        checks,
    };
    match global.output {
        Format::Table => {
            let items = &verdict.checks;
            output::list(Format::Table, &table::PROOF_CHECKS, items, &Items { items })?;
        }
        other => output::object(other, &verdict)?,
    }
    if !verdict.holds {
        return Err(Failure::Local("the proof does not hold".to_owned()));
    }
    // Anybody can sign a file with a key of their own and put that key into it.
    if !verdict.node_key_given && !trust_the_file {
        let why = "everything in the file holds, but that its key is the node's is the file's own word; give the node's with --node-key, or say --trust-the-file";
        return Err(Failure::Local(why.to_owned()));
    }
    if !global.quiet {
        output::note(&format!("the proof of use {} of slot {} holds", verdict.use_generation, verdict.slot_id));
    }
    Ok(())
}
