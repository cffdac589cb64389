//! The messages of hosts to the controller.

use groupflow_base::CodecError;
use groupflow_netsim::wire::Addresses;
use groupflow_session::control::{Request, Role};
use groupflow_transport::ids::{MemberId, SessionId, GROUP_PORT};
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::frame::{open, wrap};

/// A message of a host, or a RESET that came back from a pipeline. Fields that its type does not have are
/// None.
#[pyclass(frozen, get_all, module = "groupflow._native")]
#[derive(Debug, Default)]
pub struct Control {
    r#type: &'static str,
    session: u32,
    source: u16,
    member: u16,
    seq: u32,
    eth_src: String,
    ip_src: String,
    udp_src: u16,
    request_id: Option<u32>,
    role: Option<&'static str>,
    start: Option<&'static str>,
    name: Option<String>,
    token: Option<String>,
    port: Option<u16>,
    target: Option<u64>,
    reason: Option<&'static str>,
    next: Option<u32>,
    repairs: Option<u32>,
    kind: Option<&'static str>,
    about: Option<u16>,
    value: Option<u32>,
}

#[pymethods]
impl Control {
    fn __repr__(&self) -> String {
        format!(
            "Control({} session={} source={} member={} from {}:{})",
            self.r#type, self.session, self.source, self.member, self.ip_src, self.udp_src
        )
    }
}

fn invalid(error: CodecError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Parses a frame punted by a switch. Raises ValueError naming the field that is wrong.
#[pyfunction]
pub fn parse_control(frame: &[u8]) -> PyResult<Control> {
    let ((mac, ip, port), bytes) = open(frame)?;
    let packet = GroupPacket::parse(bytes).map_err(invalid)?;
    let header = packet.header;
    let base = Control {
        session: header.session.0,
        source: header.source.0,
        member: header.member.0,
        seq: header.seq.0,
        eth_src: mac.into(),
        ip_src: ip.to_string(),
        udp_src: port,
        ..Control::default()
    };
    if header.kind == Kind::Reset {
        return Ok(Control { r#type: "reset", ..base });
    }
    Ok(match Request::parse(header.kind, packet.payload).map_err(invalid)? {
        Request::Join(join) => Control {
            r#type: "join",
            request_id: Some(join.request.0),
            role: Some(join.role.word()),
            port: (join.role == Role::Listener).then_some(join.port),
            target: (join.target.0 > 0).then_some(join.target.0),
            start: Some(join.start.word()),
            name: Some(join.name),
            token: Some(join.token),
            ..base
        },
        Request::Leave { request, reason } => {
            Control { r#type: "leave", request_id: Some(request.0), reason: Some(reason.word()), ..base }
        }
        Request::Keepalive { request, next, repairs } => Control {
            r#type: "keepalive",
            request_id: Some(request.0),
            next: Some(next),
            repairs: Some(repairs),
            ..base
        },
        Request::Query(request) => Control { r#type: "query", request_id: Some(request.0), ..base },
        Request::Report(report) => Control {
            r#type: "report",
            request_id: Some(report.request.0),
            kind: Some(report.kind.word()),
            about: Some(report.about.0),
            value: Some(report.value),
            ..base
        },
    })
}

/// A RESET for the pipeline: `branch` (0xff: all) of a stream has acknowledged nothing.
#[pyfunction]
pub fn build_reset(py: Python<'_>, session: u32, source: u16, branch: u16) -> Py<PyBytes> {
    let mut header = Header::new(Kind::Reset, SessionId(session), MemberId(source));
    header.member = MemberId(branch);
    let addresses = Addresses {
        source_mac: [0; 6],
        destination_mac: [0; 6],
        source: std::net::Ipv4Addr::UNSPECIFIED,
        destination: *SessionId(session).group().ip(),
        source_port: GROUP_PORT,
        destination_port: GROUP_PORT,
    };
    PyBytes::new(py, &wrap(&addresses, &header.encode(&[]))).unbind()
}
