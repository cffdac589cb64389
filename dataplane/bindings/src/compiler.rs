//! The P4 compiler.

use std::fs;

use groupflow_compiler::source::Files;
use groupflow_compiler::{compile, Options};
use pyo3::{pyfunction, PyResult, Python};
use serde_json::Value;

use crate::switch::invalid;

/// The program, and the files of the machine.
struct Disk<'a> {
    path: &'a str,
    text: &'a str,
}

impl Files for Disk<'_> {
    fn read(&self, path: &str) -> Option<String> {
        if path == self.path {
            return Some(self.text.to_owned());
        }
        fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Compiles the P4 program `text` of the file `path`: JSON and P4Info, or neither; and the messages as JSON.
#[pyfunction]
pub fn compile_p4(
    py: Python<'_>, path: &str, text: &str, include_paths: Vec<String>, defines: Vec<(String, String)>,
) -> PyResult<(Option<String>, Option<String>, String)> {
    let options = Options { include_paths, defines };
    let made = py.allow_threads(|| compile(&Disk { path, text }, path, &options));
    let json = made.json.map(|json| serde_json::to_string_pretty(&json)).transpose().map_err(invalid)?;
    Ok((json, made.p4info, Value::from(made.messages).to_string()))
}
