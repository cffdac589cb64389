//! The events of a hub's or a rim's driver, as its loop reports them.

use groupflow_host::report::{Reporter, Weight};
use serde_json::{json, Value};

use crate::machine::FileName;

/// An event of a driver, for its loop to report.
#[derive(Debug)]
pub struct Note {
    event: &'static str,
    fields: Value,
    pub human: String,
}

impl Note {
    pub fn new(event: &'static str, fields: Value, human: String) -> Note {
        Note { event, fields, human }
    }

    /// An event that names no more than a file.
    pub fn of_file(event: &'static str, name: &FileName, text: &str) -> Note {
        Note::new(event, json!({"file": name.as_str()}), format!("{name}: {text}"))
    }

    pub fn report(self, reporter: &mut Reporter) {
        reporter.event(self.event, Weight::Lasting, self.fields, Some(self.human));
    }
}
