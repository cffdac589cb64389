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
//!
//! Sections in comments are those of the P4_16 specification 1.2.5, unless another document is named.

#![forbid(unsafe_code)]

mod bmv2;
mod check;
mod diagnostic;
mod lower;
mod p4info;
mod preprocess;
pub mod source;
mod syntax;
mod token;

pub use diagnostic::Severity;
use diagnostic::{Diagnostic, Diagnostics};
pub use preprocess::Options;
use source::{Files, Sources, Span};

/// The results of a compilation.
#[derive(Default)]
pub struct Compiled {
    /// BMv2's JSON; `None` if there are errors.
    pub json: Option<serde_json::Value>,
    /// P4Info, as protobuf text; `None` if there are errors.
    pub p4info: Option<String>,
    /// Errors and warnings, for editors and graders: `text` has the pieces of source, as people read it.
    pub messages: Vec<serde_json::Value>,
}

/// A message with its places, from 1 on, as an object of JSON.
fn message(one: &Diagnostic, sources: &Sources) -> serde_json::Value {
    let place = |span: Span, message: &str| {
        let (start, end) = (sources.position(span), sources.position(span.behind()));
        serde_json::json!({
            "file": sources.file(span.file).path, "line": start.line, "column": start.column,
            "end_line": end.line, "end_column": end.column, "message": message,
        })
    };
    let mut object = place(one.span, &one.message);
    object["severity"] = if one.severity == Severity::Error { "error" } else { "warning" }.into();
    object["notes"] = one.others.iter().map(|(span, label)| place(*span, label)).collect();
    object["help"] = one.help.clone().into();
    object["text"] = one.render(sources).into();
    object
}

/// Compiles the program in the file `main` of `files`.
pub fn compile(files: &dyn Files, main: &str, options: &Options) -> Compiled {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let results = run(files, main, options, &mut sources, &mut diagnostics);
    let messages = diagnostics.iter().map(|one| message(one, &sources)).collect();
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
        diagnostics.error(Span::default(), "the file is longer than 64 MiB");
        return None;
    };
    if is_missing {
        diagnostics.error(Span::default(), "this file cannot be read");
        return None;
    }
    let words = go_on(preprocess::preprocess(sources, files, file, options, diagnostics), diagnostics)?;
    let tree = go_on(syntax::parse(words, diagnostics), diagnostics)?;
    let facts = go_on(check::check(&tree, diagnostics), diagnostics)?;
    let program = lower::lower(&tree, &facts, diagnostics)?;
    let json = go_on(bmv2::json(&program, main, sources, diagnostics), diagnostics)?;
    Some((json, p4info::text(&tree, &facts, &program, diagnostics)))
}

fn go_on<T>(made: T, diagnostics: &Diagnostics) -> Option<T> {
    (!diagnostics.has_errors()).then_some(made)
}
