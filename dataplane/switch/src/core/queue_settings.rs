//! The form in which users describe a queue: `level=3,weight=2,rate=1000pps,packets=100,bytes=64000,pause`.
//!
//! Of P4 registers that belong to queues, the program reads depths and shares, and writes rates.

use std::fmt::Display;
use std::str::FromStr;

use groupflow_base::quantity::QuantityError;
use groupflow_pipeline::{Port, RegisterId};

use super::link::QUEUE_LIMIT;
use super::packet_rate::QueueRate;
use super::spec_text::{number, once, SpecError};

pub const QUEUE_BYTES_LIMIT: u64 = 1 << 40;
/// A packet's nominal size (bytes) by default: Ethernet's usual largest, without FCS.
pub const NOMINAL_PACKET: u32 = 1514;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct QueueSettings {
    /// Higher levels are served before lower ones.
    pub level: u8,
    /// The queue's share of the service of its level.
    pub weight: u16,
    /// The rate at which packets leave at most; `None` is no limit. A rate that a program wrote to a register
    /// takes precedence.
    pub rate: Option<QueueRate>,
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
    pub level: Option<u8>,
    /// A new weight, from 1 on.
    pub weight: Option<u16>,
    /// A new rate; `Some(None)` is no limit.
    pub rate: Option<Option<QueueRate>>,
    pub paused: Option<bool>,
    /// A new limit in packets; `Some(None)` is the link's.
    pub limit_packets: Option<Option<u32>>,
    /// A new limit in bytes; `Some(None)` is none.
    pub limit_bytes: Option<Option<u64>>,
}

impl QueueChange {
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
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            match (key, value) {
                ("level", Some(value)) => once(key, &mut change.level, number(NUMBER, value, 0..=u8::MAX)),
                ("weight", Some(value)) => once(key, &mut change.weight, number(NUMBER, value, 1..=u16::MAX)),
                ("rate", Some(value)) => once(key, &mut change.rate, parse_queue_rate(value)),
                ("packets", Some(value)) => once(key, &mut change.limit_packets, limit(value, QUEUE_LIMIT)),
                ("bytes", Some(value)) => once(key, &mut change.limit_bytes, limit(value, QUEUE_BYTES_LIMIT)),
                ("pause" | "resume", None) => {
                    once("pause/resume", &mut change.paused, Ok::<_, String>(key == "pause"))
                }
                _ => {
                    let known = "one of level=, weight=, rate=, packets=, bytes=, pause, resume";
                    Err(QuantityError::new(part, known).into())
                }
            }?;
        }
        Ok(change)
    }
}

/// The queues to which a description applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The port; `None` is every port that has an interface.
    pub port: Option<Port>,
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

pub fn parse_queue_rate(text: &str) -> Result<Option<QueueRate>, QuantityError> {
    match text {
        "unlimited" => Ok(None),
        rate => rate.parse().map(Some),
    }
}

/// A limit, or `None` for `default`.
fn limit<T: FromStr + PartialOrd + Display + From<u8>>(value: &str, most: T) -> Result<Option<T>, String> {
    match value {
        "default" => Ok(None),
        value => number("a number", value, T::from(1)..=most).map(Some),
    }
}

/// A register array with a cell for each queue of each port: index = port * stride + queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRegister {
    pub register: RegisterId,
    /// Cells of each port.
    pub stride: usize,
    /// Cells of all ports.
    pub size: usize,
}

impl QueueRegister {
    /// The cell of a queue; `None` if the array has no cell for it.
    pub fn cell(&self, port: Port, queue: u8) -> Option<usize> {
        let queue = usize::from(queue);
        let index = usize::from(port.0) * self.stride + queue;
        (queue < self.stride && index < self.size).then_some(index)
    }

    pub fn queue(&self, index: usize) -> Option<(Port, u8)> {
        let port = u16::try_from(index / self.stride).ok()?;
        let queue = u8::try_from(index % self.stride).ok()?;
        Some((Port(port), queue))
    }
}

/// The registers that a program binds to queues. Cells have 32 bits or more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueRegisters {
    /// Packets that wait, kept by the traffic manager.
    pub depth: Option<QueueRegister>,
    /// J~: the rate that a queue is to have, written by the program.
    pub rate: Option<QueueRegister>,
    /// L: a queue's share of its port, kept by diffusion-type flow control (`diffusion`).
    pub share: Option<QueueRegister>,
}

#[cfg(test)]
#[path = "tests/queue_settings.rs"]
mod tests;
