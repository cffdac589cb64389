//! The form in which users describe a queue: `level=3,weight=2,rate=1000pps,packets=100,bytes=64000,pause`.

use std::str::FromStr;

use groupflow_base::quantity::QuantityError;
use groupflow_pipeline::Port;

use super::link::QUEUE_LIMIT;
use super::packet_rate::QueueRate;
use super::spec_text::{number, once, SpecError};

/// The largest limit of a queue in bytes.
pub const QUEUE_BYTES_LIMIT: u64 = 1 << 40;
/// A packet's nominal size (bytes) by default: Ethernet's usual largest, without FCS.
pub const NOMINAL_PACKET: u32 = 1514;

/// The settings of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct QueueSettings {
    /// Higher levels are served before lower ones.
    pub level: u8,
    /// The queue's share of the service of its level.
    pub weight: u16,
    /// The rate at which packets leave at most; `None` is no limit. A rate that a program wrote to a register
    /// takes precedence.
    pub rate: Option<QueueRate>,
    /// Whether the queue is paused: no packet leaves.
    pub paused: bool,
    /// The most packets that wait; `None` is the link's.
    pub limit_packets: Option<u32>,
    /// The most bytes that wait; `None` is no limit.
    pub limit_bytes: Option<u64>,
}

impl QueueSettings {
    /// The settings of queue `number` at first: strict priority, no limits but the link's.
    pub fn of(number: u8) -> QueueSettings {
        QueueSettings {
            level: number,
            weight: 1,
            rate: None,
            paused: false,
            limit_packets: None,
            limit_bytes: None,
        }
    }
}

/// A change of a queue's settings; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueChange {
    /// A new level.
    pub level: Option<u8>,
    /// A new weight, from 1 on.
    pub weight: Option<u16>,
    /// A new rate; `Some(None)` is no limit.
    pub rate: Option<Option<QueueRate>>,
    /// Pause or resume.
    pub paused: Option<bool>,
    /// A new limit in packets; `Some(None)` is the link's.
    pub limit_packets: Option<Option<u32>>,
    /// A new limit in bytes; `Some(None)` is none.
    pub limit_bytes: Option<Option<u64>>,
}

impl QueueChange {
    /// The settings after the change.
    pub fn applied_to(&self, old: QueueSettings) -> QueueSettings {
        QueueSettings {
            level: self.level.unwrap_or(old.level),
            weight: self.weight.unwrap_or(old.weight).max(1),
            rate: self.rate.unwrap_or(old.rate),
            paused: self.paused.unwrap_or(old.paused),
            limit_packets: self.limit_packets.unwrap_or(old.limit_packets),
            limit_bytes: self.limit_bytes.unwrap_or(old.limit_bytes),
        }
    }
}

impl FromStr for QueueChange {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<QueueChange, SpecError> {
        const NUMBER: &str = "a number";
        let mut change = QueueChange::default();
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("level", value)) => {
                    once("level", &mut change.level, number(NUMBER, value, 0..=u8::MAX))?;
                }
                Some(("weight", value)) => {
                    once("weight", &mut change.weight, number(NUMBER, value, 1..=u16::MAX))?;
                }
                Some(("rate", value)) => once("rate", &mut change.rate, parse_queue_rate(value))?,
                Some(("packets", value)) => {
                    let limit = or_default(value, |value| number(NUMBER, value, 1..=QUEUE_LIMIT));
                    once("packets", &mut change.limit_packets, limit)?;
                }
                Some(("bytes", value)) => {
                    let limit = or_default(value, |value| number(NUMBER, value, 1..=QUEUE_BYTES_LIMIT));
                    once("bytes", &mut change.limit_bytes, limit)?;
                }
                None if part == "pause" || part == "resume" => {
                    once("pause/resume", &mut change.paused, Ok::<_, String>(part == "pause"))?;
                }
                _ => {
                    let known = "one of level=, weight=, rate=, packets=, bytes=, pause, resume";
                    return Err(QuantityError::new(part, known).into());
                }
            }
        }
        Ok(change)
    }
}

/// The queues to which a description applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The port; `None` is every port that has an interface.
    pub port: Option<Port>,
    /// The queue.
    pub queue: u8,
}

/// Parses `PORT/QUEUE:DESCRIPTION`, where PORT may be `all`.
pub fn parse_port_queue(text: &str) -> Result<(QueuePlace, QueueChange), SpecError> {
    let bad = || QuantityError::new(text, "PORT/QUEUE:rate=1000pps,... (or all/QUEUE:...)");
    let (place, change) = text.split_once(':').ok_or_else(bad)?;
    let (port, queue) = place.split_once('/').ok_or_else(bad)?;
    let port = match port {
        "all" => None,
        number => Some(Port(number.parse().map_err(|_| bad())?)),
    };
    let queue = queue.parse().map_err(|_| bad())?;
    Ok((QueuePlace { port, queue }, change.parse()?))
}

/// A queue's rate, or `unlimited`.
pub fn parse_queue_rate(text: &str) -> Result<Option<QueueRate>, QuantityError> {
    match text {
        "unlimited" => Ok(None),
        rate => rate.parse().map(Some),
    }
}

/// A limit, or `None` for `default`.
fn or_default<T>(value: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    match value {
        "default" => Ok(None),
        value => parse(value).map(Some),
    }
}

#[cfg(test)]
#[path = "tests/queue_settings.rs"]
mod tests;
