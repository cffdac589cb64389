//! `groupflow._native`: the switch core, the wire format and the simulators for Python.
//!
//! Python neither parses packets nor runs P4; it calls in here. `controller/groupflow/_native.pyi` has the
//! types. Each file wraps one crate: `switch` the switch without its shell, `compiler` the P4 compiler,
//! `messages` the session's wire format, `sim` netsim, `tree` and `bone` the machines of these
//! applications. PyO3 makes the module.

use pyo3::pymodule;

mod bone;
mod compiler;
mod messages;
mod programs;
mod sim;
mod switch;
mod tree;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bone::bone_steps;
    #[pymodule_export]
    use crate::compiler::compile_p4;
    #[pymodule_export]
    use crate::messages::{
        build_reply, build_reset, parse_control, Address, Alive, Control, Delegated, Joined, Left, Notice,
        Refused, Unknown,
    };
    #[pymodule_export]
    use crate::sim::NativeSim;
    #[pymodule_export]
    use crate::switch::{render_trace, NativeSwitch};
    #[pymodule_export]
    use crate::tree::{make_certificate, tree_study, ToHost, TreeDispatchers};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
