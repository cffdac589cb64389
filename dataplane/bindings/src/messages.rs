//! The messages of hosts to the controller, its replies, and Ethernet, IPv4 and UDP around both: the
//! controller gets and sends these packets through switches.

use std::net::Ipv4Addr;

use groupflow_netsim::spec::Mac;
use groupflow_netsim::wire::{read, write_datagram, Addresses, Received, Template, PROTOCOL_UDP, UDP};
use groupflow_session::control::{self, Answer, Request, RequestId, Role};
use groupflow_transport::ids::{MemberId, SessionId, GROUP_PORT};
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use pythonize::depythonize;

use crate::switch::invalid;

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
        source: Ipv4Addr::UNSPECIFIED,
        destination: *SessionId(session).group().ip(),
        source_port: GROUP_PORT,
        destination_port: GROUP_PORT,
    };
    PyBytes::new(py, &wrap(&addresses, &header.encode(&[]))).unbind()
}

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

/// Hops a frame of the controller may take.
const TTL: u8 = 64;

/// Parses an Ethernet address such as `02:00:0a:00:01:01`, or a ValueError naming `field`.
fn mac(field: &str, text: &str) -> PyResult<[u8; 6]> {
    let mac = Mac::try_from(text.to_owned());
    mac.map(|mac| mac.0).map_err(|problem| PyValueError::new_err(format!("{field}: {problem}")))
}

/// Parses an IPv4 address, or a ValueError naming `field`.
fn address(field: &str, text: &str) -> PyResult<Ipv4Addr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{field}: {text:?} is not an IPv4 address")))
}

/// The frame around `group`, a group packet of at most 1,472 bytes.
fn wrap(addresses: &Addresses, group: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let mut headers = Template::new(addresses, PROTOCOL_UDP).with_ttl(TTL);
    write_datagram(&mut headers, addresses, group, 0, &mut frame);
    frame
}

/// The sender of a frame: its Ethernet and IPv4 address and its UDP port.
type Sender = (Mac, Ipv4Addr, u16);

/// The sender of a frame and its UDP payload, or a ValueError.
fn open(frame: &[u8]) -> PyResult<(Sender, &[u8])> {
    let bad = |what: &str| PyValueError::new_err(format!("frame: {what}"));
    let Received::Transport { protocol: PROTOCOL_UDP, source, source_port, segment, .. } = read(frame, 0)
    else {
        return Err(bad("not IPv4 with UDP"));
    };
    let length = segment.get(4..6).map_or(0, |field| usize::from(field[0]) << 8 | usize::from(field[1]));
    let payload = segment.get(UDP..length).ok_or_else(|| bad("the UDP length is not the frame's"))?;
    let mut mac = [0; 6];
    mac.copy_from_slice(&frame[6..12]);
    Ok(((Mac(mac), source, source_port), payload))
}
