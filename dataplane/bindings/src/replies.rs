//! The replies of the controller to hosts.

use groupflow_netsim::wire::Addresses;
use groupflow_session::control::{self, Answer, RequestId};
use groupflow_transport::ids::{MemberId, SessionId, GROUP_PORT};
use groupflow_transport::wire::{Header, Kind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use pythonize::depythonize;

use crate::frame::{address, mac, wrap};
use crate::switch::invalid;

/// The destination of a reply, and the source that its frame names.
#[pyclass(frozen, module = "groupflow._native")]
#[derive(Clone)]
pub struct Address(Addresses);

#[pymethods]
impl Address {
    #[new]
    fn new(eth_src: &str, eth_dst: &str, ip_src: &str, ip_dst: &str, udp_dst: u16) -> PyResult<Address> {
        Ok(Address(Addresses {
            source_mac: mac("eth_src", eth_src)?,
            destination_mac: mac("eth_dst", eth_dst)?,
            source: address("ip_src", ip_src)?,
            destination: address("ip_dst", ip_dst)?,
            source_port: GROUP_PORT,
            destination_port: udp_dst,
        }))
    }
}

/// The answer of this name with these fields. Raises ValueError naming what is wrong.
fn answer(py: Python<'_>, name: &str, fields: Option<&Bound<'_, PyDict>>) -> PyResult<Answer> {
    let Some(fields) = fields else { return depythonize(&PyString::new(py, name)).map_err(invalid) };
    let form = PyDict::new(py);
    form.set_item(name, fields)?;
    depythonize(&form).map_err(invalid)
}

/// A reply: holds the answer, so that a wrong field is refused where it is written.
#[pyclass(frozen, subclass, module = "groupflow._native")]
pub struct Reply(Answer);

/// The classes of replies, whose arguments are the fields of the message.
macro_rules! replies {
    ($($name:ident),+) => {$(
        #[pyclass(frozen, extends = Reply, module = "groupflow._native")]
        pub struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (**fields))]
            fn new(py: Python<'_>, fields: Option<&Bound<'_, PyDict>>) -> PyResult<($name, Reply)> {
                Ok(($name, Reply(answer(py, stringify!($name), fields)?)))
            }
        }
    )+};
}

replies!(Joined, Refused, Alive, Unknown, Notice, Delegated, Left);

/// The frame that carries `reply` to a host; `request_id` 0 marks a reply that the host did not ask for.
#[pyfunction]
pub fn build_reply(
    py: Python<'_>, address: &Address, session: u32, source: u16, member: u16, request_id: u32,
    reply: &Bound<'_, Reply>,
) -> PyResult<Py<PyBytes>> {
    let message = control::Reply { request: RequestId(request_id), answer: reply.get().0.clone() };
    let mut header = Header::new(Kind::Reply, SessionId(session), MemberId(source));
    header.member = MemberId(member);
    Ok(PyBytes::new(py, &wrap(&address.0, &header.encode(&message.encode()))).unbind())
}
