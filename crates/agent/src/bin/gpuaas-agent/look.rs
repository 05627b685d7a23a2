//! `discover` and `capture`: look at a host, or at one that was captured, and show or keep what is seen.

use crate::{
    Outcome,
    args::{Capture, Discover, Form},
    output, table,
};
use agent::{
    real::{RealHost, root::write_directory},
    redact::redacted,
};
use std::{path::Path, process::ExitCode};
use topology::{Tree, discover as discovered, readiness};

/// Shows what a host has.
pub(crate) fn discover(args: &Discover) -> Outcome {
    let discovery = discovered(&tree(&args.root, &args.image_cache)?);
    let text = match args.output {
        Form::Json => serde_json::to_string_pretty(&discovery).map_err(|error| error.to_string())? + "\n",
        Form::Table => table::page(&discovery, &readiness(&discovery)),
    };
    output::data(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Copies what discovery looks at.
pub(crate) fn capture(args: &Capture) -> Outcome {
    let tree = tree(&args.root, &args.image_cache)?;
    let tree = if args.redact { redacted(&tree).map_err(|fault| fault.to_string())? } else { tree };
    write_directory(&tree, &args.output).map_err(|error| format!("{}: {error}", args.output.display()))?;
    tracing::info!("{} entries are in {}", tree.entries().len(), args.output.display());
    Ok(ExitCode::SUCCESS)
}

fn tree(root: &Path, image_cache: &Path) -> Result<Tree, String> {
    if !root.is_dir() {
        return Err(format!("{} is no directory", root.display()));
    }
    RealHost::new(root, image_cache).tree().map_err(|fault| fault.to_string())
}
