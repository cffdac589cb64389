//! The form in which users describe a link: `rate=100mbit,delay=10ms,loss=0.01,queue=200,dir=out,down`.

use std::str::FromStr;

use groupflow_base::quantity::{parse_span, QuantityError};
use groupflow_base::{BitRate, Nanos};
use groupflow_pipeline::Port;

use super::link::{LinkParameters, Loss, QUEUE_LIMIT};
use super::packet_rate::parse_bit_rate;
use super::spec_text::{number, once, SpecError};

/// The directions of a link that a description is about, seen from the switch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    Both,
    In,
    Out,
}

/// The changes of a description; `None` leaves a setting as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkChange {
    /// The directions to which the parameters apply. Up and down always apply to both.
    pub direction: Direction,
    /// A new rate; `Some(None)` is unlimited.
    pub rate: Option<Option<BitRate>>,
    pub delay: Option<Nanos>,
    pub loss: Option<Loss>,
    pub queue_packets: Option<u32>,
    pub up: Option<bool>,
}

impl LinkChange {
    pub fn applied_to(&self, old: LinkParameters) -> LinkParameters {
        LinkParameters {
            rate: self.rate.unwrap_or(old.rate),
            delay: self.delay.unwrap_or(old.delay),
            loss: self.loss.unwrap_or(old.loss),
            queue_packets: self.queue_packets.unwrap_or(old.queue_packets),
        }
    }

    pub fn inbound(&self) -> bool {
        self.direction != Direction::Out
    }

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
            let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key, Some(value)));
            match (key, value) {
                ("rate", Some(value)) => once(key, &mut change.rate, parse_rate(value)),
                ("delay", Some(value)) => once(key, &mut change.delay, parse_span(value)),
                ("loss", Some(value)) => once(key, &mut change.loss, value.parse()),
                ("queue", Some(value)) => once(
                    key,
                    &mut change.queue_packets,
                    number("a number of packets", value, 1..=QUEUE_LIMIT),
                ),
                ("dir", Some(value)) => once(key, &mut direction, parse_direction(value)),
                ("up" | "down", None) => once("up/down", &mut change.up, Ok::<_, String>(key == "up")),
                _ => {
                    let known = "one of rate=, delay=, loss=, queue=, dir=, up, down";
                    Err(QuantityError::new(part, known).into())
                }
            }?;
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
