//! Checked programs: most processes make many switches and networks of the same one.

use std::sync::{Arc, Mutex, PoisonError};

use groupflow_switch::p4rt::PipelineConfig;
use pyo3::PyResult;

use crate::switch::invalid;

/// Programs that stay in memory: p4c's JSON, its P4Info, and both checked.
const KEPT: usize = 4;
static CHECKED: Mutex<Vec<(String, String, Arc<PipelineConfig>)>> = Mutex::new(Vec::new());

/// The program in p4c's two files, checked once for the same content; then only the texts are compared.
pub fn checked(json: &str, p4info: &str) -> PyResult<Arc<PipelineConfig>> {
    let mut kept = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, _, config)) = kept.iter().find(|(text, info, _)| text == json && info == p4info) {
        return Ok(config.clone());
    }
    let config = Arc::new(PipelineConfig::from_files(json, p4info.as_bytes()).map_err(invalid)?);
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push((json.to_owned(), p4info.to_owned(), config.clone()));
    Ok(config)
}
