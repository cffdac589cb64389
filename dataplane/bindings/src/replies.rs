//! The replies of the controller to hosts.

use std::net::SocketAddrV4;

use groupflow_base::BitRate;
use groupflow_netsim::wire::Addresses;
use groupflow_session::control::{self, Answer, NoticeKind, Refusal, RequestId};
use groupflow_transport::ids::{MemberId, Seq, SessionId, GROUP_PORT};
use groupflow_transport::terms::{Mode, Policy, Share};
use groupflow_transport::wire::{Header, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::frame::{address, mac, wrap};
use crate::names::{named, notice_word};

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

/// A reply class: holds the parsed answer, so that a wrong word is refused where it is written.
macro_rules! reply {
    ($name:ident) => {
        #[pyclass(frozen, module = "groupflow._native")]
        pub struct $name(Answer);
    };
}

reply!(Joined);
reply!(Refused);
reply!(Alive);
reply!(Unknown);
reply!(Notice);
reply!(Delegated);
reply!(Left);

#[pymethods]
impl Joined {
    #[new]
    #[pyo3(signature = (*, member, source, window, rate, mode, policy, keepalive_ms, receivers, start_seq))]
    #[allow(clippy::too_many_arguments)] // All by keyword: the message's fields.
    fn new(
        member: u16, source: u16, window: u32, rate: u64, mode: &str, policy: &str, keepalive_ms: u16,
        receivers: u16, start_seq: u32,
    ) -> PyResult<Joined> {
        Ok(Joined(Answer::Joined(control::Joined {
            member: MemberId(member),
            source: MemberId(source),
            window,
            rate: BitRate(rate),
            mode: named("mode", Mode::ALL, Mode::word, mode)?,
            policy: named("policy", Policy::ALL, Policy::word, policy)?,
            keepalive_ms,
            receivers,
            start_seq: Seq(start_seq),
        })))
    }
}

#[pymethods]
impl Refused {
    #[new]
    #[pyo3(signature = (*, code, text))]
    fn new(code: &str, text: String) -> PyResult<Refused> {
        Ok(Refused(Answer::Refused { code: named("code", Refusal::ALL, Refusal::word, code)?, text }))
    }
}

#[pymethods]
impl Alive {
    #[new]
    #[pyo3(signature = (*, receivers, sources))]
    fn new(receivers: u16, sources: u8) -> Alive {
        Alive(Answer::Alive { receivers, sources })
    }
}

#[pymethods]
impl Unknown {
    #[new]
    fn new() -> Unknown {
        Unknown(Answer::Unknown)
    }
}

#[pymethods]
impl Notice {
    #[new]
    #[pyo3(signature = (*, what, about, text, receivers, rate))]
    fn new(what: &str, about: u16, text: String, receivers: u16, rate: u64) -> PyResult<Notice> {
        let what = named("what", NoticeKind::ALL, notice_word, what)?;
        let (about, rate) = (MemberId(about), BitRate(rate));
        Ok(Notice(Answer::Notice(control::Notice { what, about, text, receivers, rate })))
    }
}

#[pymethods]
impl Delegated {
    #[new]
    #[pyo3(signature = (*, session, source, active, mode, policy, window, branches, max_bytes, rate, shares))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        session: u32, source: u16, active: bool, mode: &str, policy: &str, window: u32, branches: u16,
        max_bytes: u64, rate: u64, shares: Vec<(String, u16, u64, u32)>,
    ) -> PyResult<Delegated> {
        let share = |(ip, port, rate, bytes): (String, _, _, _)| {
            let to = SocketAddrV4::new(address("shares", &ip)?, port);
            Ok(Share { to, rate: BitRate(rate), bytes })
        };
        let shares = shares.into_iter().map(share).collect::<PyResult<_>>()?;
        Ok(Delegated(Answer::Delegated(control::Delegated {
            session: SessionId(session),
            source: MemberId(source),
            active,
            mode: named("mode", Mode::ALL, Mode::word, mode)?,
            policy: named("policy", Policy::ALL, Policy::word, policy)?,
            window,
            branches,
            max_bytes,
            rate: BitRate(rate),
            shares,
        })))
    }
}

#[pymethods]
impl Left {
    #[new]
    fn new() -> Left {
        Left(Answer::Left)
    }
}

fn answer_of(reply: &Bound<'_, PyAny>) -> PyResult<Answer> {
    macro_rules! take {
        ($($name:ident),+) => {
            $(if let Ok(reply) = reply.downcast::<$name>() { return Ok(reply.get().0.clone()); })+
        };
    }
    take!(Joined, Refused, Alive, Unknown, Notice, Delegated, Left);
    Err(PyTypeError::new_err("reply: use Joined, Refused, Alive, Unknown, Notice, Delegated or Left"))
}

/// The frame that carries `reply` to a host; `request_id` 0 marks a reply that the host did not ask for.
#[pyfunction]
pub fn build_reply(
    py: Python<'_>, address: &Address, session: u32, source: u16, member: u16, request_id: u32,
    reply: &Bound<'_, PyAny>,
) -> PyResult<Py<PyBytes>> {
    let message = control::Reply { request: RequestId(request_id), answer: answer_of(reply)? };
    let mut header = Header::new(Kind::Reply, SessionId(session), MemberId(source));
    header.member = MemberId(member);
    Ok(PyBytes::new(py, &wrap(&address.0, &header.encode(&message.encode()))).unbind())
}
