//! A member that takes its session's streams as TCP connections: a membership, and nothing else. The streams
//! come from the split agent beside the member's switch, to an ordinary listening program.

use groupflow_base::Nanos;
use groupflow_transport::receiver::Receiver;
use groupflow_transport::MemberId;

use crate::control::{Notice, NoticeKind, Role, StartAt};
use crate::endpoint::{Endpoint, Part};
use crate::member::{Member, MemberConfig, MemberEvent, Purpose};

/// The part of a member whose program takes TCP connections; the split agent delivers.
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
        let mut rng = member.rng();
        let purpose = Purpose { port, start, ..Purpose::new(Role::Listener) };
        Endpoint::new(Member::new(now, member, purpose, &mut rng), None, Listening)
    }

    /// Whether a notice says that this member was put out because its split agent could not serve it.
    pub fn lost(&self, notice: &Notice) -> bool {
        notice.what == NoticeKind::MemberLost
            && notice.about == self.seat.member.id()
            && notice.about != MemberId::NONE
    }
}
