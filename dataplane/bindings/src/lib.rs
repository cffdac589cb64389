//! `groupflow._native`: the switch core, the wire format and the simulators for Python.
//!
//! Python neither parses packets nor runs P4; it calls in here. `controller/groupflow/_native.pyi` has the
//! types. Each file wraps one crate: `switch` the switch without its shell, `messages` and `replies` the
//! session's wire format, `sim` netsim, `tree` and `bone` the machines of these applications. PyO3 makes the
//! module.

use pyo3::prelude::*;

mod bone;
mod frame;
mod messages;
mod names;
mod programs;
mod replies;
mod sim;
mod switch;
mod tree;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    bone::register(module)?;
    messages::register(module)?;
    replies::register(module)?;
    sim::register(module)?;
    switch::register(module)?;
    tree::register(module)
}
