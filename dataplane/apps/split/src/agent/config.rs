//! A session at this agent, parsed from the JSON of the control socket. Errors name the bad field.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use groupflow_host::json::{FieldError, ObjectReader};
use groupflow_host::tcp::TcpOptions;
use groupflow_transport::fanout::Mode;
use groupflow_transport::terms::Policy;
use serde_json::Value;

use crate::machine::{BranchKind, BranchSpec, LateStart, Replies, SessionSpec};

/// The most ports of one session.
const MAX_PORTS: usize = 16;
/// The most branches of one session at one agent.
const MAX_BRANCHES: usize = 256;
const MAX_NAME: usize = 64;
/// The most links on the way to a branch.
const MAX_LINKS: usize = 256;
/// Per cent of a link's rate that bytes of streams may have: frames have headers, 4.6 % with timestamps.
const HEADROOM: u64 = 95;
/// Default bound of a stream's cache, bytes.
const CACHE: u64 = 64 << 20;
/// Default bytes that E2E takes beyond those acknowledged by every branch.
const ALLOWANCE: u64 = 1 << 20;

impl SessionSpec {
    /// The options of the session's open ports. A large receive buffer would defeat a small allowance.
    pub fn listening(&self) -> TcpOptions {
        let small = (self.mode == Mode::EndToEnd).then_some(self.allowance_bytes.min(1 << 30) as usize);
        let (receive_buffer, congestion) = (self.receive_buffer.or(small), self.congestion.clone());
        TcpOptions { receive_buffer, congestion, ..TcpOptions::default() }
    }

    /// The options of a downstream connection, which comes from this address of the agent.
    pub fn onward(&self, from: Ipv4Addr, branch: &BranchSpec) -> TcpOptions {
        let (send_buffer, congestion) = (self.send_buffer, self.congestion.clone());
        let from = Some(from).filter(|from| !from.is_unspecified());
        let pace = branch.links.iter().map(|&(_, rate)| rate).min();
        TcpOptions { from, send_buffer, congestion, pace, ..TcpOptions::default() }
    }

    /// Parses a session; the error names the first field that is missing, unknown or wrong.
    pub fn parse(value: &Value) -> Result<SessionSpec, FieldError> {
        let mut fields = ObjectReader::new("session", value)?;
        let address = fields.text("address", 64)?;
        let cache_bytes = fields.number("cache_bytes", 1 << 16..=1 << 40, Some(CACHE))?;
        let leader = fields.optional_number("leader", 1..=u64::from(u32::MAX))?;
        let spec = SessionSpec {
            id: fields.number("id", 1..=u64::from(u32::MAX), None)? as u32,
            address: address.parse().map_err(|_| fields.wrong("address", "an IPv4 address"))?,
            ports: ports(&mut fields)?,
            mode: match fields.word("mode", &["n2n", "e2e"], Some("n2n"))? {
                "e2e" => Mode::EndToEnd,
                _ => Mode::NodeToNode,
            },
            cache_bytes,
            history_bytes: fields.number("history_bytes", 0..=cache_bytes, Some(0))?,
            allowance_bytes: fields.number("allowance_bytes", 1..=1 << 40, Some(ALLOWANCE))?,
            congestion: fields.optional_text("congestion", 15)?.map(str::to_owned),
            // The kernel doubles the value that is set, for its own overhead.
            send_buffer: fields.optional_number("send_buffer", 4096..=1 << 30)?.map(|n| n as usize),
            receive_buffer: fields.optional_number("receive_buffer", 4096..=1 << 30)?.map(|n| n as usize),
            policy: match fields.word("policy", &["strict", "isolate"], Some("strict"))? {
                "isolate" => Policy::Isolate,
                _ => Policy::Strict,
            },
            replies: match (fields.word("replies", &["leader", "merge", "drop"], Some("drop"))?, leader) {
                ("leader", Some(member)) => Replies::Leader(member as u32),
                ("leader", None) => {
                    return Err(fields.wrong("leader", "a member's number with replies=leader"))
                }
                ("merge", _) => Replies::Merge,
                _ => Replies::Drop,
            },
            neighbours: neighbours(&mut fields)?,
            branches: branches(&mut fields)?,
        };
        fields.finish()?;
        Ok(spec)
    }
}

fn ports(fields: &mut ObjectReader<'_>) -> Result<Vec<u16>, FieldError> {
    let wrong = || format!("1 to {MAX_PORTS} different port numbers");
    let values = fields.list("ports", MAX_PORTS)?;
    let mut ports = Vec::new();
    for value in values {
        match value.as_u64().and_then(|n| u16::try_from(n).ok()) {
            Some(port) if port > 0 && !ports.contains(&port) => ports.push(port),
            _ => return Err(fields.wrong("ports", &wrong())),
        }
    }
    match ports.is_empty() {
        true => Err(fields.wrong("ports", &wrong())),
        false => Ok(ports),
    }
}

fn neighbours(fields: &mut ObjectReader<'_>) -> Result<Vec<Ipv4Addr>, FieldError> {
    let values = fields.list("neighbours", MAX_BRANCHES)?;
    let parsed: Option<Vec<Ipv4Addr>> =
        values.iter().map(|v| v.as_str().and_then(|t| t.parse().ok())).collect();
    parsed.ok_or_else(|| fields.wrong("neighbours", "a list of IPv4 addresses"))
}

fn branches(fields: &mut ObjectReader<'_>) -> Result<Vec<BranchSpec>, FieldError> {
    let mut branches: Vec<BranchSpec> = Vec::new();
    for (index, value) in fields.list("branches", MAX_BRANCHES)?.iter().enumerate() {
        let mut fields = ObjectReader::new(format!("session.branches[{index}]"), value)?;
        let kind = fields.word("kind", &["agent", "member"], None)?;
        let name = fields.text("name", MAX_NAME)?.to_owned();
        if name.chars().any(char::is_control) {
            return Err(fields.wrong("name", "printable"));
        }
        let address = fields.text("address", 64)?;
        let address: SocketAddrV4 = address.parse().map_err(|_| fields.wrong("address", "IP:PORT"))?;
        if let Some(other) = branches.iter().find(|b| b.address == address) {
            return Err(fields.wrong("address", &format!("another one than that of branch {}", other.name)));
        }
        let member = fields.optional_number("member", 1..=u64::from(u32::MAX))?.map(|n| n as u32);
        let kind = match (kind, member) {
            ("agent", None) => BranchKind::Agent,
            ("agent", Some(_)) => return Err(fields.wrong("member", "absent for an agent")),
            (_, Some(member)) => BranchKind::Member(member),
            (_, None) => return Err(fields.wrong("member", "a member's number")),
        };
        if kind != BranchKind::Agent && branches.iter().any(|b| b.kind == kind) {
            return Err(fields.wrong("member", "another one than that of another branch"));
        }
        let join = match fields.word("from", &["now", "start"], Some("now"))? {
            "start" => LateStart::Start,
            _ => LateStart::Now,
        };
        let links = links(&mut fields)?;
        fields.finish()?;
        branches.push(BranchSpec { kind, name, address, join, links });
    }
    Ok(branches)
}

fn links(fields: &mut ObjectReader<'_>) -> Result<Vec<(Arc<str>, u64)>, FieldError> {
    let Some(value) = fields.value("links") else { return Ok(Vec::new()) };
    let rate = |value: &Value| value.as_u64().filter(|rate| (1..=1 << 50).contains(rate));
    let bytes = |rate| rate * HEADROOM / 100 / 8;
    let link = |(name, value): (&String, _)| Some((Arc::from(name.as_str()), bytes(rate(value)?)));
    let links = value.as_object().filter(|links| links.len() <= MAX_LINKS);
    let links = links.and_then(|links| links.iter().map(link).collect());
    links.ok_or_else(|| fields.wrong("links", &format!("at most {MAX_LINKS} links, each with its bit/s")))
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
