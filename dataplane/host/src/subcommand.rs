//! Subcommands of gfagent: the options of each app know how to run it.

use std::io::Write;
use std::process::ExitCode;

use crate::error::{exit, AgentError};
use crate::report::Reporter;

/// The options of a subcommand of gfagent.
pub trait Subcommand {
    /// The reporter to which the subcommand's events go.
    fn reporter(&self) -> Reporter;

    /// Runs the subcommand to its end; returns the exit code.
    ///
    /// # Errors
    /// The error names the cause and a remedy.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError>;
}

/// Runs a subcommand and reports how it ended.
pub fn execute(subcommand: &dyn Subcommand) -> ExitCode {
    let mut reporter = subcommand.reporter();
    match subcommand.run(&mut reporter) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            reporter.error(&error);
            ExitCode::from(error.exit)
        }
    }
}

/// Checks that a name fits the wire format and a line of text.
///
/// # Errors
/// The name is too long, empty or not printable.
pub fn check_name(name: &str) -> Result<(), AgentError> {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(AgentError::usage("--name must be 1 to 255 printable characters", "choose another name"));
    }
    Ok(())
}

/// Reports a wrong command line: help is printed unchanged, an error in one line.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let first: Vec<&str> = text
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let cause = first.join(" ");
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause);
    let _ = writeln!(std::io::stderr(), "gfagent: {cause}; see gfagent --help");
    ExitCode::from(exit::USAGE)
}
