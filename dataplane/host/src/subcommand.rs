//! Subcommands of gfagent: the options of each app know how to run it. Values of the command line.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use groupflow_base::quantity::{self, QuantityError};

use crate::error::{exit, plain, AgentError};
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
    let result = subcommand.run(&mut reporter);
    match result.and_then(|code| reporter.unwritten().map_or(Ok(code), Err)) {
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

/// The words of a command line, where the file after `--token-file` is replaced by the token that it has: a
/// token itself would be in the command line, which every user can read.
///
/// # Errors
/// The file cannot be read.
pub fn with_token(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let (mut all, mut is_next) = (Vec::new(), false);
    for word in words {
        let joined = word.to_str().and_then(|word| word.strip_prefix("--token-file=")).map(OsString::from);
        if let Some(path) = joined.or_else(|| is_next.then(|| word.clone())) {
            let read = std::fs::read_to_string(&path);
            let token =
                read.map_err(|e| format!("--token-file {}: {}", path.to_string_lossy(), plain(&e)))?;
            all.push(format!("--token-file={}", token.trim()).into());
            is_next = false;
            continue;
        }
        is_next = word == "--token-file";
        all.extend((!is_next).then_some(word));
    }
    all.extend(is_next.then(|| "--token-file".into()));
    Ok(all)
}

/// Reports a wrong command line: help and version are printed unchanged, an error in one line.
pub fn usage(program: &str, error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return error.print().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let text = error.to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let cause = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause);
    let cause = cause.split(" For more information").next().unwrap_or(cause);
    let _ = writeln!(std::io::stderr(), "{program}: {cause}; see {program} --help");
    ExitCode::from(exit::USAGE)
}

/// The place in the stream at which a receiver begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamStart {
    /// With the bytes that are sent from now on
    Now,
    /// With the first packet, fetched from the caches
    Start,
}

/// A rate in bit/s; a number alone is one, too.
pub fn parse_rate(text: &str) -> Result<u64, QuantityError> {
    text.parse().or_else(|_| quantity::parse_rate(text))
}

/// A size in bytes, above zero; a number alone is one, too.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    match text.parse().or_else(|_| quantity::parse_size(text))? {
        0 => Err(QuantityError::new(text, "a size above zero such as 64KiB or 1.5GiB")),
        bytes => Ok(bytes),
    }
}
