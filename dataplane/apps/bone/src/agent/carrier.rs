//! How a hub's messages reach all rims: by plain multicast, or as the data of a session, which P4 switches
//! replicate.
//!
//! In a session the hub is an ordinary sender and each rim an ordinary receiver. A message from the hub to
//! all rims is the payload of a DATA packet; a message from one host to one other stays as it is. The first
//! byte tells the two apart.

use groupflow_base::{CodecError, Datagram, Dest, Nanos, Transmit};
use groupflow_host::error::AgentError;
use groupflow_host::options::CommonArgs;
use groupflow_host::report::Reporter;
use groupflow_session::control::{LeaveReason, Reply, Role};
use groupflow_session::member::{Member, Purpose, State};
use groupflow_transport::wire::{Header, Kind, Packet, VERSION};
use groupflow_transport::{MemberId, Seq, SessionId};

/// How messages are carried.
#[derive(Debug)]
pub enum Carrier {
    /// Messages are sent as plain datagrams.
    Plain,
    /// Messages to all rims are sent as data of a session.
    Session(Box<Membership>),
}

/// This agent's membership in a session.
#[derive(Debug)]
pub struct Membership {
    member: Member,
    sent: u32,
}

impl Carrier {
    /// A carrier for this session, or a plain one if there is none.
    pub fn new(now: Nanos, session: Option<SessionId>, role: Role, common: &CommonArgs) -> Carrier {
        let Some(session) = session else { return Carrier::Plain };
        let member = common.member(session);
        let member = Member::new(now, member, Purpose::new(role), &mut rand::thread_rng());
        Carrier::Session(Box::new(Membership { member, sent: 0 }))
    }

    /// Whether messages can be sent to all.
    pub fn ready(&self) -> bool {
        match self {
            Carrier::Plain => true,
            Carrier::Session(membership) => membership.member.id() != MemberId::NONE,
        }
    }

    /// The message in a datagram that arrived for the hub or the rim.
    pub fn unpack<'a>(
        &mut self,
        now: Nanos,
        datagram: Datagram<'a>,
    ) -> Result<Option<Datagram<'a>>, CodecError> {
        let Carrier::Session(membership) = self else { return Ok(Some(datagram)) };
        if datagram.bytes.first() != Some(&VERSION) {
            return Ok(Some(datagram));
        }
        let Packet { header, payload } = Packet::of_session(datagram.bytes, membership.member.session())?;
        match header.kind {
            Kind::Reply => membership.member.handle(now, &Reply::parse(payload)?),
            Kind::Data => return Ok(Some(Datagram { from: datagram.from, bytes: payload })),
            _ => {}
        }
        Ok(None)
    }

    /// The datagram that carries a message to all rims.
    pub fn pack(&mut self, now: Nanos, transmit: Transmit) -> Transmit {
        let Carrier::Session(membership) = self else { return transmit };
        // Packet numbers begin at 1; nobody acknowledges them.
        membership.sent = membership.sent % (u32::MAX - 2) + 1;
        let (session, id) = (membership.member.session(), membership.member.id());
        let header = Header {
            member: id,
            seq: Seq(membership.sent),
            stamp: (now.0 / 1000) as u32,
            ..Header::new(Kind::Data, session, id)
        };
        Transmit { dest: Dest::Group(session.group()), bytes: header.encode(&transmit.bytes) }
    }

    /// The membership's next packet.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        match self {
            Carrier::Plain => None,
            Carrier::Session(membership) => membership.member.poll_transmit(now),
        }
    }

    /// When the membership has something to send.
    pub fn next_deadline(&self) -> Option<Nanos> {
        match self {
            Carrier::Plain => None,
            Carrier::Session(membership) => membership.member.next_deadline(),
        }
    }

    /// Leaves the session.
    pub fn leave(&mut self, now: Nanos) {
        if let Carrier::Session(membership) = self {
            membership.member.leave(now, LeaveReason::Done);
        }
    }

    /// Whether the membership will send nothing more.
    pub fn over(&self) -> bool {
        match self {
            Carrier::Plain => true,
            Carrier::Session(membership) => membership.member.state() == State::Over,
        }
    }

    /// Reports the membership's events; the error says why the membership is over, if it is.
    pub fn events(&mut self, reporter: &mut Reporter) -> Result<(), AgentError> {
        let Carrier::Session(membership) = self else { return Ok(()) };
        while let Some(event) = membership.member.poll_event() {
            reporter.member(event)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::message::{self, Body, Message};
    use crate::machine::TransferId;
    use std::net::SocketAddrV4;

    const FROM: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(10, 0, 0, 1), 7);

    fn carrier() -> Carrier {
        let common = CommonArgs {
            name: "hub".to_owned(),
            token: None,
            bind_iface: None,
            addr: None,
            port: 0,
            via: None,
            join_timeout: 10,
            seed: None,
            json: false,
        };
        Carrier::new(Nanos::from_secs(1), Some(SessionId(7)), Role::Sender, &common)
    }

    #[test]
    fn what_is_packed_unpacks_and_other_messages_pass() {
        let mut carrier = carrier();
        let bytes = Message { transfer: TransferId(1), body: Body::End { complete: true } }.encode();
        assert_ne!(message::VERSION, VERSION, "the first byte tells them apart");
        let now = Nanos::from_secs(2);
        let plain = Datagram { from: FROM, bytes: &bytes };
        assert_eq!(
            carrier.unpack(now, plain).map(|found| found.map(|d| d.bytes.to_vec())),
            Ok(Some(bytes.clone()))
        );
        let packed = carrier.pack(now, Transmit { dest: Dest::Host(FROM), bytes: bytes.clone() });
        assert_eq!(packed.dest, Dest::Group(SessionId(7).group()));
        let packed = Datagram { from: FROM, bytes: &packed.bytes };
        assert_eq!(
            carrier.unpack(now, packed).map(|found| found.map(|d| d.bytes.to_vec())),
            Ok(Some(bytes.clone()))
        );
        let foreign = Header::new(Kind::Data, SessionId(8), MemberId(1)).encode(&bytes);
        assert!(carrier.unpack(now, Datagram { from: FROM, bytes: &foreign }).is_err());
        assert!(!carrier.ready(), "not joined yet");
    }
}
