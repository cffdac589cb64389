//! An endpoint of a session: one membership, and the part that the member plays in it.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use groupflow_base::{Datagram, Machine, Nanos, Transmit};
use groupflow_transport::wire::{Kind, Packet, WireError};

use crate::control::{LeaveReason, Reply};
use crate::member::{Member, MemberEvent, State};

/// The part that a member plays: sends, receives, caches, listens. Each default is that of a part that does nothing.
pub trait Part {
    /// What its owner is told; of the membership, untranslated.
    type Event: From<MemberEvent>;

    /// Something happened to the membership.
    fn on_member(&mut self, _now: Nanos, seat: &mut Seat<Self::Event>, event: MemberEvent) {
        seat.tell(event);
    }

    /// The controller said something. True when the part takes it, false when it is the membership's.
    fn on_reply(&mut self, _now: Nanos, _seat: &mut Seat<Self::Event>, _reply: &Reply) -> bool {
        false
    }

    /// Takes any other packet of the session in.
    ///
    /// # Errors
    /// Says why the packet is refused; a refused packet changes nothing.
    fn on_packet(
        &mut self,
        _now: Nanos,
        _seat: &mut Seat<Self::Event>,
        _from: SocketAddrV4,
        _packet: &Packet<'_>,
    ) -> Result<(), WireError> {
        Ok(())
    }

    /// Acts on what did not come in time.
    fn expire(&mut self, _now: Nanos, _seat: &mut Seat<Self::Event>) {}

    /// The next packet to send.
    fn poll_transmit(&mut self, _now: Nanos, _seat: &mut Seat<Self::Event>) -> Option<Transmit> {
        None
    }

    /// When [`Part::expire`] or [`Part::poll_transmit`] has something to do next.
    fn next_deadline(&self, _member: &Member) -> Option<Nanos> {
        None
    }

    /// The member leaves because its owner wants it to.
    fn stop(&mut self) {}
}

/// The membership, and what is told to the endpoint's owner, in the order of its happening.
#[derive(Debug)]
pub struct Seat<E> {
    pub(crate) member: Member,
    events: VecDeque<E>,
}

impl<E> Seat<E> {
    /// Tells the endpoint's owner.
    pub fn tell(&mut self, event: impl Into<E>) {
        self.events.push_back(event.into());
    }
}

/// A member of a session with its part in it.
#[derive(Debug)]
pub struct Endpoint<P: Part> {
    pub(crate) seat: Seat<P::Event>,
    pub(crate) part: P,
}

impl<P: Part> Endpoint<P> {
    pub(crate) fn new(member: Member, part: P) -> Endpoint<P> {
        Endpoint { seat: Seat { member, events: VecDeque::new() }, part }
    }

    fn member_events(&mut self, now: Nanos) {
        while let Some(event) = self.seat.member.poll_event() {
            self.part.on_member(now, &mut self.seat, event);
        }
    }

    /// What happened next.
    pub fn poll_event(&mut self) -> Option<P::Event> {
        self.seat.events.pop_front()
    }

    /// Leaves the session.
    pub fn leave(&mut self, now: Nanos, reason: LeaveReason) {
        self.seat.member.leave(now, reason);
        self.part.stop();
    }

    /// Whether the membership has ended: nothing more will be sent.
    pub fn over(&self) -> bool {
        self.seat.member.state() == State::Over
    }
}

impl<P: Part> Machine for Endpoint<P> {
    type Error = WireError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), WireError> {
        let packet = Packet::parse(datagram.bytes)?;
        let (own, session) = (self.seat.member.session(), packet.header.session);
        // A cache agent is of no session, and hears all of them.
        if own.0 != 0 && own != session {
            return Err(WireError::Value { field: "session", value: session.0.into() });
        }
        if packet.header.kind != Kind::Reply {
            return self.part.on_packet(now, &mut self.seat, datagram.from, &packet);
        }
        let reply = Reply::parse(packet.payload)?;
        if !self.part.on_reply(now, &mut self.seat, &reply) {
            self.seat.member.handle(now, &reply);
            self.member_events(now);
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.part.expire(now, &mut self.seat);
        if let Some(transmit) = self.seat.member.poll_transmit(now) {
            return Some(transmit);
        }
        self.member_events(now);
        self.part.poll_transmit(now, &mut self.seat)
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let member = &self.seat.member;
        [member.next_deadline(), self.part.next_deadline(member)].into_iter().flatten().min()
    }
}
