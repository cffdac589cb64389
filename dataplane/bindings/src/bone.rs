//! The flowcharts of round multicast, for drawings.

use groupflow_bone::machine::states::{FlowchartStep, HUB, RIM};
use pyo3::prelude::*;

/// A step: the state before, the condition, the state after.
type Steps = Vec<(String, &'static str, String)>;

/// The steps of the hub's machine and of the rim's.
#[pyfunction]
pub fn bone_steps() -> (Steps, Steps) {
    (list(HUB), list(RIM))
}

fn list<S: std::fmt::Debug>(steps: &[FlowchartStep<S>]) -> Steps {
    steps.iter().map(|(from, when, to)| (format!("{from:?}"), *when, format!("{to:?}"))).collect()
}
