//! What gfagent runs: each app's options know how to run it.

use std::io::Write;
use std::process::ExitCode;

use crate::error::{exit, AgentError};
use crate::report::Reporter;

/// The options of a subcommand of gfagent.
pub trait Subcommand {
    /// Where its events go.
    fn reporter(&self) -> Reporter;

    /// Runs it to its end; the exit code.
    ///
    /// # Errors
    /// Says what went wrong and what to do about it.
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

/// A name must fit the wire, and a line.
///
/// # Errors
/// Says that it does not.
pub fn check_name(name: &str) -> Result<(), AgentError> {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(AgentError::usage("--name must be 1 to 255 printable characters", "choose another name"));
    }
    Ok(())
}

/// What a command line that makes no sense comes to: help goes out as it is, an error in one line.
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
