//! Compiles P4_16 programs for v1model: sources in, BMv2's JSON, P4Info and messages out. No I/O, no clock.
//!
//! The modules are in the order of the work; each imports those above it only:
//!
//! ```text
//! source       texts, and places in them
//! diagnostic   messages about places
//! token        words
//! preprocess   includes, macros, conditions: words of all files in one row
//! syntax       words to a tree
//! check        names, types, constants
//! lower        one parser, two controls, actions: without calls and variables
//! bmv2         the lowered program in BMv2's JSON
//! p4info       what the control plane knows of it
//! ```

#![forbid(unsafe_code)]

pub mod bmv2;
pub mod check;
pub mod diagnostic;
pub mod lower;
pub mod p4info;
pub mod preprocess;
pub mod source;
pub mod syntax;
pub mod token;

use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use preprocess::Options;
use source::{Files, Sources};

/// The results of a compilation.
#[derive(Default)]
pub struct Compiled {
    /// BMv2's JSON; `None` if there are errors.
    pub json: Option<serde_json::Value>,
    /// P4Info, as protobuf text; `None` if there are errors.
    pub p4info: Option<String>,
    pub messages: Vec<Message>,
}

/// An error or a warning, with the place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    /// Path, and line and column of start and end, from 1 on.
    pub path: String,
    pub start: source::Position,
    pub end: source::Position,
    /// The fault, and the words beside the place.
    pub message: String,
    pub help: Option<String>,
    /// All of it with the pieces of source, as people read it.
    pub text: String,
}

impl Message {
    fn new(one: &Diagnostic, sources: &Sources) -> Self {
        let label = if one.label.is_empty() { String::new() } else { format!(": {}", one.label) };
        Self {
            severity: one.severity,
            path: sources.file(one.span.file).path.clone(),
            start: sources.position(one.span),
            end: sources.position(one.span.behind()),
            message: format!("{}{label}", one.message),
            help: one.help.clone(),
            text: one.render(sources),
        }
    }

    /// The message as an object of JSON, for editors and graders.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        serde_json::json!({
            "severity": severity, "file": self.path, "line": self.start.line, "column": self.start.column,
            "end_line": self.end.line, "end_column": self.end.column, "message": self.message,
            "help": self.help, "text": self.text,
        })
    }
}

/// Compiles the program in the file `main` of `files`.
pub fn compile(files: &dyn Files, main: &str, options: &Options) -> Compiled {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let results = run(files, main, options, &mut sources, &mut diagnostics);
    let messages = diagnostics.iter().map(|one| Message::new(one, &sources)).collect();
    let (json, p4info) = results.filter(|_| !diagnostics.has_errors()).unzip();
    Compiled { json, p4info, messages }
}

/// JSON and P4Info, or `None` after a stage that found errors.
fn run(
    files: &dyn Files, main: &str, options: &Options, sources: &mut Sources, diagnostics: &mut Diagnostics,
) -> Option<(serde_json::Value, String)> {
    let text = files.read(main);
    let is_missing = text.is_none();
    let Some(file) = sources.add(main, text.unwrap_or_default()) else {
        sources.add(main, String::new())?;
        diagnostics.error(source::Span::default(), "the file is longer than 64 MiB");
        return None;
    };
    if is_missing {
        diagnostics.error(source::Span::default(), "this file cannot be read");
        return None;
    }
    let words = preprocess::preprocess(sources, files, file, options, diagnostics);
    let tree = go_on(syntax::parse(words, diagnostics), diagnostics)?;
    let facts = go_on(check::check(&tree, diagnostics), diagnostics)?;
    let program = lower::lower(&tree, &facts, diagnostics)?;
    let json = go_on(bmv2::json(&program, main, sources, diagnostics), diagnostics)?;
    Some((json, p4info::text(&tree, &facts, &program)))
}

fn go_on<T>(made: T, diagnostics: &Diagnostics) -> Option<T> {
    (!diagnostics.has_errors()).then_some(made)
}
