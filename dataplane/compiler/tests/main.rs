//! Tests of the compiler: messages for mistakes that beginners make, P4Info, and inputs of any kind.

mod changes;
mod fuzz;
mod golden;

use groupflow_compiler::source::Files;
use groupflow_compiler::{compile, Compiled, Options};

/// The program beside the files that it includes.
struct Program<'a>(&'a str, &'a str, &'a dyn Files);

impl Files for Program<'_> {
    fn read(&self, path: &str) -> Option<String> {
        if path == self.0 {
            return Some(self.1.to_owned());
        }
        self.2.read(path)
    }
}

/// No file but those that the compiler brings.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Option<String> {
        None
    }
}

fn compiled(path: &str, text: &str, files: &dyn Files) -> Compiled {
    compile(&Program(path, text, files), path, &Options::default())
}

/// The messages of a program, one below the other.
fn messages(path: &str, text: &str, files: &dyn Files) -> String {
    compiled(path, text, files)
        .messages
        .into_iter()
        .map(|one| one["text"].as_str().unwrap_or_default().to_owned() + "\n")
        .collect()
}
