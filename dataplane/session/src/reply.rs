//! The controller's messages to hosts: the payload of REPLY.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::wire::WireField;
use groupflow_base::{wire_frames, wire_struct, BitRate};
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::terms::{Mode, Policy, Share};

use crate::control::{NoticeKind, Refusal, RequestId};

wire_struct!(
    /// JOINED: you are a member.
    #[derive(Copy)]
    Joined, "", {
        member: MemberId,
        /// The stream to receive, or your own; 0: no sender yet.
        source: MemberId,
        /// The session's window in packets.
        window: u32,
        /// The lowest link rate along the tree; 0: not known.
        rate: BitRate,
        /// The node that acknowledges.
        mode: Mode,
        /// The effect of a slow receiver on the group.
        policy: Policy,
        /// How often to send KEEPALIVE.
        keepalive_ms: u16,
        /// Receivers in the session now.
        receivers: u16,
        /// The first packet to deliver; 0: the first one seen.
        start_seq: Seq,
    }
);
wire_struct!(
    /// NOTICE: something happened in the session.
    Notice, "", {
        what: NoticeKind,
        /// The member it is about, if any.
        about: MemberId,
        /// Names the member or the switch.
        text: String,
        /// Receivers in the session now.
        receivers: u16,
        /// To a sender: rate of the slowest link of its tree now; 0: not known.
        rate: BitRate,
    }
);
wire_struct!(
    /// DELEGATED: cache this stream so.
    Delegated, "", {
        session: SessionId,
        /// The stream's sender.
        source: MemberId,
        /// False: forget the stream.
        active: bool,
        /// The node that acknowledges.
        mode: Mode,
        /// The effect of a slow receiver on the group.
        policy: Policy,
        /// The session's window in packets.
        window: u32,
        /// Branches at the agent's switch.
        branches: u16,
        /// Byte bound of this stream; 0: the agent's own bound alone.
        max_bytes: u64,
        /// Rate of the slowest branch link; 0: not known.
        rate: BitRate,
        /// Shares of receivers at the agent's switch; the others are fed by `rate`.
        shares: Vec<Share> => shares,
    }
);
wire_frames!(
    /// The content of a REPLY, after the request id.
    Answer, "reply kind", "payload", {
        Joined(joined: Joined) = 1,
        Refused = 2 => "" {
            /// Why.
            code: Refusal,
            /// Why, in words.
            text: String,
        },
        /// Answers KEEPALIVE and REPORT.
        Alive = 3 => "" {
            /// Receivers in the session now.
            receivers: u16,
            /// Senders in the session now.
            sources: u8,
        },
        /// You are no member (any more): join again.
        Unknown = 4,
        Notice(notice: Notice) = 5,
        Delegated(delegated: Delegated) = 6,
        /// Answers LEAVE.
        Left = 7,
    }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The request it answers; 0 when pushed.
    pub request: RequestId,
    pub answer: Answer,
}

impl Reply {
    /// The payload's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u8(self.answer.number()).u32(self.request.0);
        self.answer.write_body(&mut out);
        out.into_bytes()
    }

    pub fn parse(payload: &[u8]) -> Result<Reply, CodecError> {
        let mut r = Reader::new(payload);
        let kind = r.u8("reply kind")?;
        let request = RequestId::read(&mut r, "request_id")?;
        Ok(Reply { request, answer: Answer::parse_body(kind, r.rest())? })
    }
}

/// The shares up to the payload's end.
mod shares {
    use super::{BitRate, CodecError, Ipv4Addr, Reader, Share, SocketAddrV4, Writer};

    pub(super) fn write(shares: &[Share], w: &mut Writer) {
        for share in shares {
            w.u32((*share.to.ip()).into()).u16(share.to.port()).u64(share.rate.0).u32(share.bytes);
        }
    }

    pub(super) fn read(r: &mut Reader<'_>, _: &'static str) -> Result<Vec<Share>, CodecError> {
        let mut shares = Vec::new();
        while !r.is_empty() {
            let (ip, port) = (Ipv4Addr::from(r.u32("share ip")?), r.u16("share port")?);
            let (rate, bytes) = (BitRate(r.u64("share rate")?), r.u32("share bytes")?);
            shares.push(Share { to: SocketAddrV4::new(ip, port), rate, bytes });
        }
        Ok(shares)
    }
}
