//! The `gpuaas` command. Everything is in the library next to it, so that the reference page can be generated from the
//! same definitions that the command parses.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os())
}
