//! The parts that the agents of a session share (feature `agent`): their options, the events of a membership
//! as they are reported, and the errors that end an agent, each with a remedy.

use std::net::{Ipv4Addr, SocketAddrV4};

use clap::Args;
use groupflow_base::Nanos;
use groupflow_host::error::{exit, one_line, AgentError};
use groupflow_host::report::{seconds, Reporter, Weight};
use groupflow_host::socket::SocketConfig;
use groupflow_host::subcommand::StreamStart;
use groupflow_transport::ids::GROUP_PORT;
use groupflow_transport::receiver::ReceiverError;
use groupflow_transport::source::SourceError;
use groupflow_transport::SessionId;
use serde_json::json;

use crate::control::{Joined, Notice, Refusal, StartAt};
use crate::{MemberConfig, MemberError, MemberEvent, ReceiveError, SendError};

/// Options common to all agents of a session.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// This host's name in the session
    #[arg(long)]
    pub name: String,
    /// File with the session's token; without it $GROUPFLOW_TOKEN has the token
    #[arg(long = "token-file", value_name = "FILE", value_parser = parse_token, env = "GROUPFLOW_TOKEN")]
    #[arg(hide_env_values = true)]
    pub token: Option<String>,
    /// Bind to this interface and use its address
    #[arg(long, value_name = "IFACE")]
    pub bind_iface: Option<String>,
    /// This host's IPv4 address [default: the interface's]
    #[arg(long, value_name = "IP")]
    pub addr: Option<Ipv4Addr>,
    /// UDP port; send and recv take another one if it is in use
    #[arg(long, default_value_t = GROUP_PORT)]
    pub port: u16,
    /// Send all packets to this address (a relay) instead of the group's
    #[arg(long, value_name = "IP:PORT")]
    pub via: Option<SocketAddrV4>,
    /// Seconds after which joining is given up (cache never gives up)
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub join_timeout: u64,
    /// Seed of the random delays [default: the system's]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

impl CommonArgs {
    pub fn socket(&self, any_port: bool) -> SocketConfig {
        SocketConfig {
            interface: self.bind_iface.clone(),
            address: self.addr,
            port: self.port,
            any_port,
            via: self.via,
            multicast: None,
        }
    }

    /// The reporter of an agent in this role; events go to stderr where stdout carries the data.
    pub fn reporter(&self, role: &str, to_stderr: bool, session: Option<SessionId>) -> Reporter {
        Reporter::new(self.json, to_stderr, role, &self.name, session.map(|session| session.0))
    }

    /// The member's settings; its token may be empty.
    pub fn member(&self, session: SessionId) -> MemberConfig {
        MemberConfig {
            session,
            name: self.name.clone(),
            token: self.token.clone().unwrap_or_default(),
            patience: Some(Nanos::from_secs(self.join_timeout)),
            seed: self.seed(),
        }
    }

    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }
}

pub fn parse_session(text: &str) -> Result<SessionId, String> {
    match text.parse::<u32>() {
        Ok(id) if (1..=SessionId::MAX.0).contains(&id) => Ok(SessionId(id)),
        _ => Err(format!("a session id is a number from 1 to {}", SessionId::MAX.0)),
    }
}

fn parse_token(text: &str) -> Result<String, String> {
    if text.len() <= 255 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err("a token is at most 255 hexadecimal digits".to_owned())
    }
}

impl From<StreamStart> for StartAt {
    fn from(start: StreamStart) -> StartAt {
        match start {
            StreamStart::Now => StartAt::Now,
            StreamStart::Start => StartAt::Start,
        }
    }
}

/// Reports an event of a membership; the error says why the membership is over, if it is.
pub fn report(reporter: &mut Reporter, event: MemberEvent) -> Result<(), AgentError> {
    match event {
        MemberEvent::Joined { joined, again, took } => report_joined(reporter, &joined, again, took),
        MemberEvent::Notice(notice) => report_notice(reporter, &notice),
        MemberEvent::ControllerSilent(quiet) => {
            let human = Some("the controller does not answer".to_owned());
            let fields = json!({"seconds": seconds(quiet)});
            reporter.event("controller_silent", Weight::Lasting, fields, human);
        }
        MemberEvent::ControllerBack => {
            let human = Some("the controller is back".to_owned());
            reporter.event("controller_back", Weight::Lasting, json!({"seconds": 0.0}), human);
        }
        MemberEvent::Failed(error) => return Err(error.into()),
        MemberEvent::Alive { .. } | MemberEvent::Left => {}
    }
    Ok(())
}

fn report_joined(reporter: &mut Reporter, joined: &Joined, again: bool, took: Nanos) {
    let fields = json!({
        "member": joined.member.0,
        "source": joined.source.0,
        "mode": joined.mode.word(),
        "policy": joined.policy.word(),
        "window": joined.window,
        "rate_bps": joined.rate.0,
        "receivers": joined.receivers,
        "start_seq": joined.start_seq.0,
        "seconds": seconds(took),
        "rejoined": again,
    });
    let human = format!("joined as member {} ({} receivers)", joined.member.0, joined.receivers);
    reporter.event("joined", Weight::Lasting, fields, Some(human));
}

fn report_notice(reporter: &mut Reporter, notice: &Notice) {
    let what = notice.what.word();
    let fields = json!({
        "what": what,
        "about": notice.about.0,
        "text": notice.text,
        "receivers": notice.receivers,
    });
    let human = format!("{} {}", what.replace('_', " "), notice.text);
    reporter.event("notice", Weight::Lasting, fields, Some(human));
}

fn refused(code: Refusal, text: &str) -> AgentError {
    let cure = match code {
        Refusal::UnknownSession => "create the session first, or check its number",
        Refusal::WrongToken => "pass the session's token, which `groupflow session token` prints",
        Refusal::SessionFull => "make room in the session, or raise its limit",
        Refusal::BadRequest => "check that agent and controller are of the same version",
        Refusal::NoSuchSource => "check --source, or leave it out",
        Refusal::Expired => "create a new session",
        Refusal::Unavailable => {
            let cause = format!("the controller cannot serve this host now: {}", one_line(text));
            return AgentError::new(
                "unavailable",
                cause,
                "see that its store and the switches work, then try again",
            );
        }
    };
    let cause = format!("refused by the controller: {}", one_line(text));
    AgentError { exit: exit::REFUSED, ..AgentError::new("refused", cause, cure) }
}

impl From<MemberError> for AgentError {
    fn from(error: MemberError) -> AgentError {
        let cause = error.to_string();
        match error {
            MemberError::Refused { code, text } => refused(code, &text),
            MemberError::JoinTimeout => AgentError::new(
                "join_timeout",
                "no answer to JOIN from the controller",
                "check that the controller runs and that the switch this host is connected to punts joins",
            ),
            MemberError::SessionDeleted => AgentError::new("session_deleted", cause, "create a new session"),
            MemberError::PutOut(_) => {
                let cure = "see that the program listens and reads its input, then join again";
                AgentError::new("put_out", one_line(&cause), cure)
            }
        }
    }
}

impl From<SendError> for AgentError {
    fn from(error: SendError) -> AgentError {
        let (code, cure) = match error {
            SendError::NoReceivers { .. } => ("no_receivers", "start the receivers again, then send again"),
            SendError::NoAcknowledgement { .. } => ("no_acknowledgement", "bring it back, then send again"),
            SendError::Renamed => ("no_acknowledgement", "send again"),
            SendError::Source(SourceError::TooLong) => ("too_long", "send it in several parts"),
            SendError::Source(SourceError::Read(_)) => ("input", "check the file, then send again"),
        };
        AgentError::new(code, one_line(&error.to_string()), cure)
    }
}

impl From<ReceiveError> for AgentError {
    fn from(error: ReceiveError) -> AgentError {
        let (code, cure) = match error {
            ReceiveError::SenderLost { .. } => ("sender_lost", "send and receive again"),
            ReceiveError::Transport(ReceiverError::Gone { .. }) => {
                ("gone", "receive from now on, or have it sent again")
            }
            ReceiveError::Transport(ReceiverError::Format(_)) => {
                ("format", "send and receive datagrams, or a stream, at both ends")
            }
            ReceiveError::Deaf(_) => ("no_controller", "check the controller and the links, then try again"),
        };
        AgentError::new(code, one_line(&error.to_string()), cure)
    }
}
