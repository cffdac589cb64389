//! The messages of hosts and the controller: the payloads of JOIN, LEAVE, KEEPALIVE, QUERY,
//! REPORT (hosts ask) and REPLY (the controller answers).
//!
//! Fixed big-endian fields; a text is a u8 length and that many bytes of UTF-8. The tables of
//! fields are in docs/reference/protocol.md; the order here is the order on the wire.

use groupflow_base::codec::{CodecError, Reader, Writer};
use groupflow_base::wire::WireField;
use groupflow_base::{wire_enum, wire_frames, wire_struct, BitRate};
use groupflow_transport::ids::{MemberId, Seq, SessionId};
use groupflow_transport::terms::{Mode, Policy, Share};
use groupflow_transport::wire::Kind;
use serde::Deserialize;

/// The number of a host's request; the answer carries the same. 0 marks a reply that nobody asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

groupflow_base::wire_number!(RequestId);

wire_enum!(
    /// The part of a member in a session.
    Role, "role", {
        Sender = 1 => "sender",
        Receiver = 2 => "receiver",
        /// Caches for a switch; belongs to no session.
        Cache = 3 => "cache",
        /// Takes a session's streams as TCP connections, from a split agent.
        Listener = 4 => "listener",
    }
);
wire_enum!(
    /// The place at which a receiver wants to begin.
    StartAt, "start", {
        /// With the packets that are sent from now on.
        Now = 0 => "now",
        /// With the first packet of the stream.
        Start = 1 => "start",
        /// With header.seq: it was a member before.
        Resume = 2 => "resume",
    }
);
wire_enum!(
    LeaveReason, "reason", {
        /// The receiver, or the sender's whole group, has everything.
        Done = 0 => "done",
        /// The member gives up.
        Aborted = 1 => "aborted",
    }
);
wire_enum!(
    ReportKind, "report kind", {
        /// A requester lags far behind the stream.
        SlowBranch = 1 => "slow",
        /// A requester that lagged has caught up.
        CaughtUp = 2 => "caught_up",
        Complete = 3 => "complete",
        CacheFull = 4 => "cache_full",
        CacheRoom = 5 => "cache_room",
    }
);
wire_enum!(
    /// The reason why a request was refused.
    Refusal, "code", {
        UnknownSession = 1 => "unknown_session",
        WrongToken = 2 => "wrong_token",
        SessionFull = 3 => "full",
        BadRequest = 4 => "bad_request",
        NoSuchSource = 5 => "no_source",
        Expired = 6 => "expired",
        /// The controller cannot answer now: its store or a switch failed.
        Unavailable = 7 => "unavailable",
    }
);
wire_enum!(
    NoticeKind, "what", {
        #[serde(alias = "joined")]
        MemberJoined = 1 => "member_joined",
        /// A member left by its own will.
        #[serde(alias = "left")]
        MemberLeft = 2 => "member_left",
        #[serde(alias = "lost")]
        MemberLost = 3 => "member_lost",
        #[serde(alias = "deleted")]
        SessionDeleted = 4 => "session_deleted",
        SwitchLost = 5 => "switch_lost",
        SwitchBack = 6 => "switch_back",
        AgentLost = 7 => "agent_lost",
        AgentBack = 8 => "agent_back",
        #[serde(alias = "complete")]
        MemberComplete = 9 => "member_complete",
    }
);

/// JOIN: take me in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRequest {
    pub role: Role,
    /// The place in the stream at which a receiver wants to begin.
    pub start: StartAt,
    pub request: RequestId,
    pub name: String,
    /// The session's token, as hexadecimal text; may be empty.
    pub token: String,
    /// The TCP port of a listener; only its JOIN has one on the wire.
    pub port: u16,
    /// The rate that a receiver wants; 0: none, and then not on the wire.
    pub target: BitRate,
}

wire_struct!(
    /// REPORT: something happened that policy may want to know.
    #[derive(Copy)]
    Report, "", {
        kind: ReportKind,
        about: MemberId,
        /// A figure that belongs to it.
        value: u32,
        request: RequestId,
    }
);
wire_frames!(
    /// A host's request to the controller.
    Request, "type", "payload", {
        Join(join: JoinRequest) = Kind::Join as u8,
        /// LEAVE: let me go.
        Leave = Kind::Leave as u8 => "" { request: RequestId, reason: LeaveReason },
        /// KEEPALIVE: I am here.
        Keepalive = Kind::Keepalive as u8 => "" {
            request: RequestId,
            /// Receiver: next packet expected; sender: next packet to send; cache: KiB cached.
            next: u32,
            /// Repairs so far.
            repairs: u32,
        },
        /// QUERY: whose stream is this, and how is it to be cached? The field numbers the request.
        Query(request: RequestId) = Kind::Query as u8,
        Report(report: Report) = Kind::Report as u8,
    }
);

impl Request {
    pub fn kind(&self) -> Kind {
        match self {
            Request::Join(_) => Kind::Join,
            Request::Leave { .. } => Kind::Leave,
            Request::Keepalive { .. } => Kind::Keepalive,
            Request::Query(_) => Kind::Query,
            Request::Report(_) => Kind::Report,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        self.write_body(&mut out);
        out.into_bytes()
    }

    pub fn parse(kind: Kind, payload: &[u8]) -> Result<Request, CodecError> {
        Request::parse_body(kind as u8, payload)
    }
}

/// Which fields there are depends on the role.
impl WireField for JoinRequest {
    fn write(&self, w: &mut Writer) {
        w.u8(self.role as u8).u8(self.start as u8).u32(self.request.0).text(&self.name).text(&self.token);
        if self.role == Role::Listener {
            w.u16(self.port);
        } else if self.role == Role::Receiver && self.target.0 > 0 {
            w.u64(self.target.0);
        }
    }

    fn read(r: &mut Reader<'_>, _: &'static str) -> Result<JoinRequest, CodecError> {
        let role = Role::parse(r.u8("role")?)?;
        Ok(JoinRequest {
            role,
            start: StartAt::parse(r.u8("start")?)?,
            request: RequestId::read(r, "request_id")?,
            name: r.text("name")?.to_owned(),
            token: r.text("token")?.to_owned(),
            port: if role == Role::Listener { r.u16("port")? } else { 0 },
            target: match role {
                Role::Receiver if !r.is_empty() => BitRate(r.u64("target")?),
                _ => BitRate(0),
            },
        })
    }
}

wire_struct!(
    /// JOINED: you are a member.
    #[derive(Copy, Deserialize)]
    #[serde(deny_unknown_fields)]
    Joined, "", {
        member: MemberId,
        /// The stream to receive, or your own; 0: no sender yet.
        source: MemberId,
        /// The session's window in packets.
        window: u32,
        /// The lowest link rate along the tree; 0: not known.
        rate: BitRate,
        mode: Mode,
        policy: Policy,
        /// How often to send KEEPALIVE.
        keepalive_ms: u16,
        receivers: u16,
        /// The first packet to deliver; 0: the first one seen.
        start_seq: Seq,
    }
);
wire_struct!(
    /// NOTICE: something happened in the session.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    Notice, "", {
        what: NoticeKind,
        /// The member it is about, if any.
        about: MemberId,
        /// Names the member or the switch.
        text: String,
        receivers: u16,
        /// To a sender: rate of the slowest link of its tree now; 0: not known.
        rate: BitRate,
    }
);
wire_struct!(
    /// DELEGATED: cache this stream so.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    Delegated, "", {
        session: SessionId,
        /// The stream's sender.
        source: MemberId,
        /// False: forget the stream.
        active: bool,
        mode: Mode,
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
        shares: Vec<Share>,
    }
);
wire_frames!(
    /// The content of a REPLY, after the request id.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    Answer, "reply kind", "payload", {
        Joined(joined: Joined) = 1,
        Refused = 2 => "" { code: Refusal, text: String },
        /// Answers KEEPALIVE and REPORT, with the receivers and senders in the session now.
        Alive = 3 => "" { receivers: u16, sources: u8 },
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
