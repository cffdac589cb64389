//! gfagent: the table of subcommands. Each is the agent of an app, whose crate has its options and runs it.

use std::process::ExitCode;

use clap::Parser;
use groupflow_host::subcommand;

mod cli;

fn main() -> ExitCode {
    let parsed = subcommand::with_token(std::env::args_os()).map_err(|text| {
        clap::Error::raw(clap::error::ErrorKind::Io, format!("{text}; name a file with the token"))
    });
    match parsed.and_then(cli::Cli::try_parse_from) {
        Ok(cli) => subcommand::execute(cli.command.subcommand()),
        Err(error) => subcommand::usage(&error),
    }
}
