//! `groupflow._native`: the switch core and the wire format for Python.
//!
//! Python neither parses packets nor runs P4; it calls in here. `controller/groupflow/_native.pyi` has the types.

use pyo3::prelude::*;

mod bone;
mod frame;
mod messages;
mod names;
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
