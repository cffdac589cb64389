//! The carrier of a hub's messages to all rims: plain multicast, or the data of a session, which P4 switches
//! replicate.
//!
//! In a session the hub is an ordinary sender and each rim an ordinary receiver. A message from the hub to
//! all rims is the payload of a DATA packet; a message from one host to one other stays as it is. The first
//! byte tells the two apart.

use groupflow_base::{CodecError, Datagram, Machine, Nanos, Transmit};
use groupflow_host::error::AgentError;
use groupflow_host::report::Reporter;
use groupflow_session::agent::{self, CommonArgs};
use groupflow_session::control::{LeaveReason, Role};
use groupflow_session::{Endpoint, Listening};
use groupflow_transport::wire::{GroupPacket, Header, Kind, VERSION};
use groupflow_transport::{MemberId, Seq, SessionId};

/// A way to carry messages: as plain datagrams, unless it is made for a session.
#[derive(Debug, Default)]
pub struct Carrier {
    /// This agent's membership in a session; `None`: messages are sent as plain datagrams.
    member: Option<Endpoint<Listening>>,
    sent: u32,
}

impl Carrier {
    /// A carrier for this session, or a plain one if there is none.
    pub fn new(now: Nanos, session: Option<SessionId>, role: Role, common: &CommonArgs) -> Carrier {
        let member = session.map(|session| Endpoint::member(now, common.member(session), role));
        Carrier { member, sent: 0 }
    }

    /// Whether messages can be sent to all.
    pub fn ready(&self) -> bool {
        self.member.as_ref().map_or(true, |member| member.id() != MemberId::NONE)
    }

    /// The message in a datagram that arrived for the hub or the rim.
    pub fn unpack<'a>(
        &mut self, now: Nanos, datagram: Datagram<'a>,
    ) -> Result<Option<Datagram<'a>>, CodecError> {
        let Some(member) = &mut self.member else { return Ok(Some(datagram)) };
        if datagram.bytes.first() != Some(&VERSION) {
            return Ok(Some(datagram));
        }
        let GroupPacket { header, payload } = GroupPacket::of_session(datagram.bytes, member.session())?;
        if header.kind == Kind::Data {
            return Ok(Some(Datagram { from: datagram.from, bytes: payload }));
        }
        member.handle(now, datagram).map(|()| None)
    }

    /// The datagram that carries a message to all rims.
    pub fn pack(&mut self, now: Nanos, transmit: Transmit) -> Transmit {
        let Some(member) = &self.member else { return transmit };
        // Packet numbers begin at 1; nobody acknowledges them.
        self.sent = self.sent % (u32::MAX - 2) + 1;
        let (session, id) = (member.session(), member.id());
        let header = Header {
            member: id,
            seq: Seq(self.sent),
            stamp: (now.0 / 1000) as u32,
            ..Header::new(Kind::Data, session, id)
        };
        header.to_group(&transmit.bytes)
    }

    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.member.as_mut()?.poll_transmit(now)
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        self.member.as_ref()?.next_deadline()
    }

    pub fn leave(&mut self, now: Nanos) {
        if let Some(member) = &mut self.member {
            member.leave(now, LeaveReason::Done);
        }
    }

    /// Whether the membership will send nothing more.
    pub fn has_ended(&self) -> bool {
        self.member.as_ref().map_or(true, Endpoint::has_ended)
    }

    /// Reports the membership's events; the error says why the membership is over, if it is.
    pub fn events(&mut self, reporter: &mut Reporter) -> Result<(), AgentError> {
        while let Some(event) = self.member.as_mut().and_then(Endpoint::poll_event) {
            agent::report(reporter, event)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests/carrier.rs"]
mod tests;
