//! The form in which users describe a link: `rate=100mbit,delay=10ms,loss=0.01,queue=200,dir=out,down`.

use std::str::FromStr;

use groupflow_base::quantity::{parse_span, QuantityError};
use groupflow_base::{BitRate, Nanos};
use groupflow_pipeline::Port;

use super::link::{LinkParameters, QUEUE_LIMIT};
use super::loss::Loss;
use super::packet_rate::parse_bit_rate;
use super::spec_text::{number, once, SpecError};

/// The directions of a link that a description is about, seen from the switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Both directions.
    #[default]
    Both,
    /// Towards the switch.
    In,
    /// From the switch.
    Out,
}

/// The changes of a description; `None` leaves a setting as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkChange {
    /// The directions to which the parameters apply. Up and down always apply to both.
    pub direction: Direction,
    /// A new rate; `Some(None)` is unlimited.
    pub rate: Option<Option<BitRate>>,
    /// A new delay.
    pub delay: Option<Nanos>,
    /// A new loss.
    pub loss: Option<Loss>,
    /// A new queue limit.
    pub queue_packets: Option<u32>,
    /// Whether the link is up.
    pub up: Option<bool>,
}

impl LinkChange {
    /// The parameters after the change.
    pub fn applied_to(&self, old: LinkParameters) -> LinkParameters {
        LinkParameters {
            rate: self.rate.unwrap_or(old.rate),
            delay: self.delay.unwrap_or(old.delay),
            loss: self.loss.unwrap_or(old.loss),
            queue_packets: self.queue_packets.unwrap_or(old.queue_packets),
            queue_bytes: old.queue_bytes,
        }
    }

    /// Whether the direction of packets towards the switch is meant.
    pub fn inbound(&self) -> bool {
        self.direction != Direction::Out
    }

    /// Whether the direction of packets from the switch is meant.
    pub fn outbound(&self) -> bool {
        self.direction != Direction::In
    }
}

impl FromStr for LinkChange {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<LinkChange, SpecError> {
        let mut change = LinkChange::default();
        let mut direction = None;
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("rate", value)) => once("rate", &mut change.rate, parse_rate(value))?,
                Some(("delay", value)) => once("delay", &mut change.delay, parse_span(value))?,
                Some(("loss", value)) => once("loss", &mut change.loss, value.parse())?,
                Some(("queue", value)) => {
                    let packets = number("a number of packets", value, 1..=QUEUE_LIMIT);
                    once("queue", &mut change.queue_packets, packets)?;
                }
                Some(("dir", value)) => once("dir", &mut direction, parse_direction(value))?,
                None if part == "up" || part == "down" => {
                    once("up/down", &mut change.up, Ok::<_, String>(part == "up"))?;
                }
                _ => {
                    let known = "one of rate=, delay=, loss=, queue=, dir=, up, down";
                    return Err(QuantityError::new(part, known).into());
                }
            }
        }
        change.direction = direction.unwrap_or_default();
        Ok(change)
    }
}

/// Parses `PORT:DESCRIPTION`.
pub fn parse_port_link(text: &str) -> Result<(Port, LinkChange), SpecError> {
    let form = || QuantityError::new(text, "PORT:rate=100mbit,delay=10ms,...");
    let (port, change) = text.split_once(':').ok_or_else(form)?;
    let port = port.parse().map_err(|_| QuantityError::new(port, "a port number"))?;
    Ok((Port(port), change.parse()?))
}

fn parse_rate(value: &str) -> Result<Option<BitRate>, QuantityError> {
    let wanted = "a rate above zero such as 100mbit (bit, kbit, mbit, gbit or unlimited)";
    match value {
        "unlimited" => Ok(None),
        rate => parse_bit_rate(rate).map(Some).ok_or_else(|| QuantityError::new(rate, wanted)),
    }
}

fn parse_direction(value: &str) -> Result<Direction, QuantityError> {
    match value {
        "both" => Ok(Direction::Both),
        "in" => Ok(Direction::In),
        "out" => Ok(Direction::Out),
        _ => Err(QuantityError::new(value, "both, in or out")),
    }
}

#[cfg(test)]
#[path = "tests/link_spec.rs"]
mod tests;
