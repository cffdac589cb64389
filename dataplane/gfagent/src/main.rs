//! gfagent: the table of subcommands. Each is the agent of an app, whose crate has its options and runs it.

use std::process::ExitCode;

use clap::Parser;
use groupflow_host::subcommand;

mod cli;

fn main() -> ExitCode {
    match cli::Cli::try_parse() {
        Ok(cli) => subcommand::execute(cli.command.subcommand()),
        Err(error) => subcommand::usage(&error),
    }
}
