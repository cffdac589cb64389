//! The controller's messages to hosts: the payload of REPLY.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::BitRate;
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::terms::{Mode, Policy, Share};

use crate::control::{NoticeKind, Refusal, RequestId};

/// JOINED: you are a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joined {
    pub member: MemberId,
    /// The stream to receive, or your own; 0: no sender yet.
    pub source: MemberId,
    /// The session's window in packets.
    pub window: u32,
    /// The lowest link rate along the tree; 0: not known.
    pub rate: BitRate,
    /// The node that acknowledges.
    pub mode: Mode,
    /// The effect of a slow receiver on the group.
    pub policy: Policy,
    /// How often to send KEEPALIVE.
    pub keepalive_ms: u16,
    /// Receivers in the session now.
    pub receivers: u16,
    /// The first packet to deliver; 0: the first one seen.
    pub start_seq: Seq,
}

/// NOTICE: something happened in the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub what: NoticeKind,
    /// The member it is about, if any.
    pub about: MemberId,
    /// Names the member or the switch.
    pub text: String,
    /// Receivers in the session now.
    pub receivers: u16,
    /// To a sender: rate of the slowest link of its tree now; 0: not known.
    pub rate: BitRate,
}

/// DELEGATED: cache this stream so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegated {
    pub session: SessionId,
    /// The stream's sender.
    pub source: MemberId,
    /// False: forget the stream.
    pub active: bool,
    /// The node that acknowledges.
    pub mode: Mode,
    /// The effect of a slow receiver on the group.
    pub policy: Policy,
    /// The session's window in packets.
    pub window: u32,
    /// Branches at the agent's switch.
    pub branches: u16,
    /// Byte bound of this stream; 0: the agent's own bound alone.
    pub max_bytes: u64,
    /// Rate of the slowest branch link; 0: not known.
    pub rate: BitRate,
    /// Shares of receivers at the agent's switch; the others are fed by `rate`.
    pub shares: Vec<Share>,
}

/// The content of a REPLY, after the request id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Joined(Joined),
    Refused {
        /// Why.
        code: Refusal,
        /// Why, in words.
        text: String,
    },
    /// Answers KEEPALIVE and REPORT.
    Alive {
        /// Receivers in the session now.
        receivers: u16,
        /// Senders in the session now.
        sources: u8,
    },
    /// You are no member (any more): join again.
    Unknown,
    Notice(Notice),
    Delegated(Delegated),
    /// Answers LEAVE.
    Left,
}

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
        out.u8(0).u32(self.request.0);
        let kind = match &self.answer {
            Answer::Joined(m) => {
                out.u16(m.member.0).u16(m.source.0).u32(m.window).u64(m.rate.0);
                out.u8(m.mode as u8).u8(m.policy as u8).u16(m.keepalive_ms).u16(m.receivers);
                out.u32(m.start_seq.0);
                1
            }
            Answer::Refused { code, text } => {
                out.u8(*code as u8).text(text);
                2
            }
            Answer::Alive { receivers, sources } => {
                out.u16(*receivers).u8(*sources);
                3
            }
            Answer::Unknown => 4,
            Answer::Notice(m) => {
                out.u8(m.what as u8).u16(m.about.0).text(&m.text).u16(m.receivers).u64(m.rate.0);
                5
            }
            Answer::Delegated(m) => {
                out.u32(m.session.0).u16(m.source.0).u8(m.active.into());
                out.u8(m.mode as u8).u8(m.policy as u8).u32(m.window).u16(m.branches);
                out.u64(m.max_bytes).u64(m.rate.0);
                for share in &m.shares {
                    out.u32((*share.to.ip()).into()).u16(share.to.port()).u64(share.rate.0).u32(share.bytes);
                }
                6
            }
            Answer::Left => 7,
        };
        let mut bytes = out.into_bytes();
        bytes[0] = kind;
        bytes
    }

    pub fn parse(payload: &[u8]) -> Result<Reply, CodecError> {
        let mut r = Reader::new(payload);
        let kind = r.u8("reply kind")?;
        let request = RequestId(r.u32("request_id")?);
        let answer = match kind {
            1 => Answer::Joined(parse_joined(&mut r)?),
            2 => Answer::Refused { code: Refusal::parse(r.u8("code")?)?, text: r.text("text")?.to_owned() },
            3 => Answer::Alive { receivers: r.u16("receivers")?, sources: r.u8("sources")? },
            4 => Answer::Unknown,
            5 => Answer::Notice(Notice {
                what: NoticeKind::parse(r.u8("what")?)?,
                about: MemberId(r.u16("about")?),
                text: r.text("text")?.to_owned(),
                receivers: r.u16("receivers")?,
                rate: BitRate(r.u64("rate")?),
            }),
            6 => Answer::Delegated(parse_delegated(&mut r)?),
            7 => Answer::Left,
            other => return Err(CodecError::value("reply kind", other)),
        };
        r.end("payload")?;
        Ok(Reply { request, answer })
    }
}

fn parse_joined(r: &mut Reader<'_>) -> Result<Joined, CodecError> {
    Ok(Joined {
        member: MemberId(r.u16("member")?),
        source: MemberId(r.u16("source")?),
        window: r.u32("window")?,
        rate: BitRate(r.u64("rate")?),
        mode: Mode::parse(r.u8("mode")?)?,
        policy: Policy::parse(r.u8("policy")?)?,
        keepalive_ms: r.u16("keepalive_ms")?,
        receivers: r.u16("receivers")?,
        start_seq: Seq(r.u32("start_seq")?),
    })
}

fn parse_delegated(r: &mut Reader<'_>) -> Result<Delegated, CodecError> {
    Ok(Delegated {
        session: SessionId(r.u32("session")?),
        source: MemberId(r.u16("source")?),
        active: r.flag("active")?,
        mode: Mode::parse(r.u8("mode")?)?,
        policy: Policy::parse(r.u8("policy")?)?,
        window: r.u32("window")?,
        branches: r.u16("branches")?,
        max_bytes: r.u64("max_bytes")?,
        rate: BitRate(r.u64("rate")?),
        shares: parse_shares(r)?,
    })
}

/// The shares up to the payload's end.
fn parse_shares(r: &mut Reader<'_>) -> Result<Vec<Share>, CodecError> {
    let mut shares = Vec::new();
    while !r.is_empty() {
        let (ip, port) = (Ipv4Addr::from(r.u32("share ip")?), r.u16("share port")?);
        let (rate, bytes) = (BitRate(r.u64("share rate")?), r.u32("share bytes")?);
        shares.push(Share { to: SocketAddrV4::new(ip, port), rate, bytes });
    }
    Ok(shares)
}
