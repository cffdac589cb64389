//! Tests of the compiler: messages for mistakes that beginners make, and inputs of any kind.

mod fuzz;
mod golden;

use groupflow_compiler::bmv2::json;
use groupflow_compiler::check::check;
use groupflow_compiler::diagnostic::Diagnostics;
use groupflow_compiler::lower::lower;
use groupflow_compiler::preprocess::{preprocess, Options};
use groupflow_compiler::source::{Files, Sources};
use groupflow_compiler::syntax::parse;

/// The messages of a program, one below the other, and how many are errors.
fn messages(path: &str, text: &str, files: &dyn Files) -> String {
    let mut sources = Sources::default();
    let mut diagnostics = Diagnostics::default();
    let file = sources.add(path, text.to_owned()).expect("a program of less than 64 MiB");
    let words = preprocess(&mut sources, files, file, &Options::default(), &mut diagnostics);
    if !diagnostics.has_errors() {
        let program = parse(words, &mut diagnostics);
        if !diagnostics.has_errors() {
            let facts = check(&program, &mut diagnostics);
            let lowered =
                if diagnostics.has_errors() { None } else { lower(&program, &facts, &mut diagnostics) };
            if let Some(lowered) = lowered {
                json(&lowered, path, &sources, &mut diagnostics);
            }
        }
    }
    diagnostics.iter().map(|one| one.render(&sources) + "\n").collect()
}
