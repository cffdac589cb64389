//! An endpoint of a session: one membership, one machine of the transport, and the part that the member
//! plays; and the part that moves nothing itself.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::net::SocketAddrV4;

use groupflow_base::{CodecError, Datagram, Machine, Nanos, Transmit};
use groupflow_transport::receiver::Receiver;
use groupflow_transport::wire::{GroupPacket, Kind};
use groupflow_transport::{MemberId, SessionId};

use crate::control::{LeaveReason, Reply, Role, StartAt};
use crate::member::{Member, MemberConfig, MemberEvent, MembershipState, Purpose};

/// The part that a member plays: sends, receives, caches, listens. Each default is that of a part that does
/// nothing.
pub trait Part: Sized {
    /// The machine that moves its packets.
    type Transport: Machine<Error = CodecError> + Debug;
    /// The events that the endpoint's owner is told; those of the membership are among them, as they are.
    type Event: From<MemberEvent> + Debug;

    fn on_member(&mut self, _now: Nanos, seat: &mut Seat<Self>, event: MemberEvent) {
        seat.push_event(event);
    }

    /// The controller said something. True when the part takes it, false when it is the membership's.
    fn on_reply(&mut self, _now: Nanos, _seat: &mut Seat<Self>, _reply: &Reply) -> bool {
        false
    }

    /// The transport took a packet in, or was asked for one.
    fn on_transport(&mut self, _now: Nanos, _seat: &mut Seat<Self>) {}

    /// Acts on answers that did not come in time.
    fn expire(&mut self, _now: Nanos, _seat: &mut Seat<Self>) {}

    /// The next request of its own to the controller.
    fn poll_request(&mut self, _now: Nanos) -> Option<Transmit> {
        None
    }

    /// When [`Part::expire`] or [`Part::poll_request`] has something to do next.
    fn next_deadline(&self, _seat: &Seat<Self>) -> Option<Nanos> {
        None
    }

    /// The member leaves because its owner wants it to.
    fn stop(&mut self, _seat: &mut Seat<Self>) {}
}

/// The membership, the transport, and the events for the endpoint's owner, the earliest first.
#[derive(Debug)]
pub struct Seat<P: Part> {
    pub(crate) member: Member,
    /// `None` before the controller has said between whom it is.
    pub(crate) transport: Option<P::Transport>,
    events: VecDeque<P::Event>,
}

impl<P: Part> Seat<P> {
    pub(crate) fn push_event(&mut self, event: impl Into<P::Event>) {
        self.events.push_back(event.into());
    }
}

/// A member of a session with its part in it.
#[derive(Debug)]
pub struct Endpoint<P: Part> {
    pub(crate) seat: Seat<P>,
    pub(crate) part: P,
    /// The address of the controller's replies, the host's gateway: that of the last answer.
    controller: Option<SocketAddrV4>,
}

impl<P: Part> Endpoint<P> {
    pub(crate) fn new(member: Member, transport: Option<P::Transport>, part: P) -> Endpoint<P> {
        Endpoint { seat: Seat { member, transport, events: VecDeque::new() }, part, controller: None }
    }

    fn member_events(&mut self, now: Nanos) {
        while let Some(event) = self.seat.member.poll_event() {
            self.part.on_member(now, &mut self.seat, event);
        }
    }

    pub fn poll_event(&mut self) -> Option<P::Event> {
        self.seat.events.pop_front()
    }

    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        self.seat.member.leave(now, reason);
        self.part.stop(&mut self.seat);
    }

    /// Whether the membership has ended: nothing more will be sent.
    pub fn has_ended(&self) -> bool {
        self.seat.member.state == MembershipState::Over
    }
}

impl<P: Part> Machine for Endpoint<P> {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let is_reply = GroupPacket::has_kind(datagram.bytes, Kind::Reply);
        if let (Some(transport), false) = (&mut self.seat.transport, is_reply) {
            let taken = transport.handle(now, datagram);
            self.part.on_transport(now, &mut self.seat);
            return taken;
        }
        let packet = match self.seat.member.session() {
            // A cache agent belongs to no session, and hears all of them.
            SessionId(0) => GroupPacket::parse(datagram.bytes)?,
            session => GroupPacket::of_session(datagram.bytes, session)?,
        };
        if packet.header.kind == Kind::Reply {
            let reply = Reply::parse(packet.payload)?;
            // Nobody but the controller knows the ids of requests, which begin anywhere. Where an answer
            // comes from, notices may come from, too, until the controller or the gateway has another
            // address. A notice that overtakes the first answer is lost.
            if self.seat.member.pending.awaits(reply.request) {
                self.controller = Some(datagram.from);
            }
            match self.controller {
                None => return Ok(()),
                Some(known) if known != datagram.from => {
                    return Err(CodecError::new("from", "not the controller's address"));
                }
                Some(_) => {}
            }
            if !self.part.on_reply(now, &mut self.seat, &reply) {
                self.seat.member.handle(now, &reply);
                self.member_events(now);
            }
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.part.expire(now, &mut self.seat);
        if let Some(transmit) = self.seat.member.poll_transmit(now).or_else(|| self.part.poll_request(now)) {
            return Some(transmit);
        }
        self.member_events(now);
        let transmit = self.seat.transport.as_mut()?.poll_transmit(now);
        self.part.on_transport(now, &mut self.seat);
        // A transport that fails says goodbye at once.
        transmit.or_else(|| self.seat.member.poll_transmit(now))
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let transport = self.seat.transport.as_ref().and_then(P::Transport::next_deadline);
        let part = self.part.next_deadline(&self.seat);
        [self.seat.member.next_deadline(), part, transport].into_iter().flatten().min()
    }
}

/// The part of a member that moves no packets itself: its program takes TCP connections, to which the split
/// agent delivers, or carries its own data.
#[derive(Debug)]
pub struct Listening;

impl Part for Listening {
    /// A listener never makes a transport.
    type Transport = Receiver;
    type Event = MemberEvent;
}

impl Endpoint<Listening> {
    /// A member that joins at once, for a program of this host that listens at the TCP port `port`. `start`
    /// says where it begins in a stream that is under way.
    pub fn listening(now: Nanos, member: MemberConfig, port: u16, start: StartAt) -> Endpoint<Listening> {
        Endpoint::of_purpose(now, member, Purpose { port, start, ..Purpose::new(Role::Listener) })
    }

    /// A member that joins at once, in this role.
    pub fn member(now: Nanos, member: MemberConfig, role: Role) -> Endpoint<Listening> {
        Endpoint::of_purpose(now, member, Purpose::new(role))
    }

    fn of_purpose(now: Nanos, member: MemberConfig, purpose: Purpose) -> Endpoint<Listening> {
        let mut rng = member.rng();
        Endpoint::new(Member::new(now, member, purpose, &mut rng), None, Listening)
    }

    pub fn session(&self) -> SessionId {
        self.seat.member.session()
    }

    /// The member id; 0 before the first JOINED.
    pub fn id(&self) -> MemberId {
        self.seat.member.id
    }
}
