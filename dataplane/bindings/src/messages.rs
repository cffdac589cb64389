//! What hosts tell the controller.

use groupflow_base::CodecError;
use groupflow_session::control::{Request, Role};
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::wire::{Header, Kind, Packet};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::frame::{address, Envelope, Mac};
use crate::names::Word;

/// A message of a host, or a RESET that came back from a pipeline. Fields a type does not have are None.
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
fn parse_control(frame: &[u8]) -> PyResult<Control> {
    let (envelope, bytes) = Envelope::open(frame)?;
    let packet = Packet::parse(bytes).map_err(invalid)?;
    let header = packet.header;
    let base = Control {
        session: header.session.0,
        source: header.source.0,
        member: header.member.0,
        seq: header.seq.0,
        eth_src: envelope.eth_src.to_string(),
        ip_src: envelope.ip_src.to_string(),
        udp_src: envelope.udp_src,
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
            start: Some(join.start.word()),
            name: Some(join.name),
            token: Some(join.token),
            ..base
        },
        Request::Leave(leave) => Control {
            r#type: "leave",
            request_id: Some(leave.request.0),
            reason: Some(leave.reason.word()),
            ..base
        },
        Request::Keepalive(alive) => Control {
            r#type: "keepalive",
            request_id: Some(alive.request.0),
            next: Some(alive.next),
            repairs: Some(alive.repairs),
            ..base
        },
        Request::Query(query) => Control { r#type: "query", request_id: Some(query.request.0), ..base },
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

/// A RESET for the pipeline: sets what `branch` (0xff: all) of a stream has acknowledged to `seq`.
#[pyfunction]
fn build_reset(py: Python<'_>, session: u32, source: u16, branch: u16, seq: u32) -> Py<PyBytes> {
    let mut header = Header::new(Kind::Reset, SessionId(session), MemberId(source));
    header.member = MemberId(branch);
    header.seq = Seq(seq);
    let nobody = Mac([0; 6]);
    let envelope = Envelope::from_controller(
        nobody,
        nobody,
        std::net::Ipv4Addr::UNSPECIFIED,
        *SessionId(session).group().ip(),
        groupflow_transport::ids::GROUP_PORT,
    );
    PyBytes::new(py, &envelope.wrap(&header.encode(&[]))).unbind()
}

/// A group packet in a frame, for tests of the pipeline and of the controller.
#[pyfunction]
#[pyo3(signature = (kind, *, eth_src, eth_dst, ip_src, ip_dst, udp_src, udp_dst, session, source=0, member=0, seq=0,
                    stamp=0, flags=0, poll=0, payload=None))]
#[allow(clippy::too_many_arguments)] // The fields of four headers, all by keyword.
fn build_frame(
    py: Python<'_>,
    kind: u8,
    eth_src: &str,
    eth_dst: &str,
    ip_src: &str,
    ip_dst: &str,
    udp_src: u16,
    udp_dst: u16,
    session: u32,
    source: u16,
    member: u16,
    seq: u32,
    stamp: u32,
    flags: u8,
    poll: u8,
    payload: Option<&[u8]>,
) -> PyResult<Py<PyBytes>> {
    let kind = Kind::ALL
        .into_iter()
        .find(|k| *k as u8 == kind)
        .ok_or_else(|| PyValueError::new_err(format!("kind: {kind} is none of 1-12")))?;
    let mut header = Header::new(kind, SessionId(session), MemberId(source));
    header.member = MemberId(member);
    header.seq = Seq(seq);
    header.stamp = stamp;
    header.flags = groupflow_transport::wire::Flags(flags);
    header.poll = poll;
    let envelope = Envelope {
        eth_src: Mac::parse("eth_src", eth_src)?,
        eth_dst: Mac::parse("eth_dst", eth_dst)?,
        ip_src: address("ip_src", ip_src)?,
        ip_dst: address("ip_dst", ip_dst)?,
        udp_src,
        udp_dst,
    };
    Ok(PyBytes::new(py, &envelope.wrap(&header.encode(payload.unwrap_or_default()))).unbind())
}

/// A host's request in a frame, for tests of the controller: the same arguments as the fields of `Control`.
#[pyfunction]
#[pyo3(signature = (r#type, *, eth_src, ip_src, udp_src, session, source=0, member=0, seq=0, request_id=1, role="receiver",
                    start="now", name="", token="", port=0, reason="done", next=0, repairs=0, kind="complete", about=0,
                    value=0))]
#[allow(clippy::too_many_arguments)]
fn build_request(
    py: Python<'_>,
    r#type: &str,
    eth_src: &str,
    ip_src: &str,
    udp_src: u16,
    session: u32,
    source: u16,
    member: u16,
    seq: u32,
    request_id: u32,
    role: &str,
    start: &str,
    name: &str,
    token: &str,
    port: u16,
    reason: &str,
    next: u32,
    repairs: u32,
    kind: &str,
    about: u16,
    value: u32,
) -> PyResult<Py<PyBytes>> {
    use groupflow_session::control::{
        Join, Keepalive, Leave, LeaveReason, Query, Report, ReportKind, RequestId, StartAt,
    };
    let id = RequestId(request_id);
    let request = match r#type {
        "join" => Request::Join(Join {
            role: Role::from_word(role)?,
            start: StartAt::from_word(start)?,
            request: id,
            name: name.into(),
            token: token.into(),
            port,
        }),
        "leave" => Request::Leave(Leave { request: id, reason: LeaveReason::from_word(reason)? }),
        "keepalive" => Request::Keepalive(Keepalive { request: id, next, repairs }),
        "query" => Request::Query(Query { request: id }),
        "report" => Request::Report(Report {
            kind: ReportKind::from_word(kind)?,
            about: MemberId(about),
            value,
            request: id,
        }),
        other => {
            return Err(PyValueError::new_err(format!(
                "type is {other:?}: use join, leave, keepalive, query or report"
            )))
        }
    };
    let mut header = Header::new(request.kind(), SessionId(session), MemberId(source));
    header.member = MemberId(member);
    header.seq = Seq(seq);
    let envelope = Envelope {
        eth_src: Mac::parse("eth_src", eth_src)?,
        eth_dst: Mac([0x01, 0, 0x5e, 0, 0, 0]),
        ip_src: address("ip_src", ip_src)?,
        ip_dst: *SessionId(session).group().ip(),
        udp_src,
        udp_dst: groupflow_transport::ids::GROUP_PORT,
    };
    Ok(PyBytes::new(py, &envelope.wrap(&header.encode(&request.encode()))).unbind())
}

/// Adds this file's names to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Control>()?;
    module.add_function(wrap_pyfunction!(parse_control, module)?)?;
    module.add_function(wrap_pyfunction!(build_reset, module)?)?;
    module.add_function(wrap_pyfunction!(build_frame, module)?)?;
    module.add_function(wrap_pyfunction!(build_request, module)?)
}
