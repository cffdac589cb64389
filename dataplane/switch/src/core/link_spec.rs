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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_description_sets_what_it_names_and_nothing_else() {
        let (port, change) =
            parse_port_link("3:rate=100mbit,delay=10ms,loss=0.01,queue=200,dir=out").expect("valid");
        assert_eq!(port, Port(3));
        assert!(change.outbound() && !change.inbound());
        let parameters = change.applied_to(LinkParameters::IDEAL);
        assert_eq!(parameters.rate, Some(BitRate(100_000_000)));
        assert_eq!(parameters.delay, Nanos::from_millis(10));
        assert_eq!(parameters.loss.get(), 10_000_000);
        assert_eq!(parameters.queue_packets, 200);
        let slower: LinkChange = "rate=1mbit".parse().expect("valid");
        assert_eq!(slower.applied_to(parameters).delay, Nanos::from_millis(10));
        let unlimited: LinkChange = "rate=unlimited,down".parse().expect("valid");
        assert_eq!(unlimited.applied_to(parameters).rate, None);
        assert_eq!(unlimited.up, Some(false));
    }

    #[test]
    fn errors_name_the_key_and_the_value() {
        let cases = [
            ("rate=1mbit", "\"rate=1mbit\" is not PORT:rate=100mbit,delay=10ms,..."),
            ("x:up", "\"x\" is not a port number"),
            ("1:", "\"\" is not one of rate=, delay=, loss=, queue=, dir=, up, down"),
            (
                "1:rate=0mbit",
                "rate: \"0mbit\" is not a rate above zero such as 100mbit (bit, kbit, mbit, gbit or \
                unlimited)",
            ),
            ("1:speed=3", "\"speed=3\" is not one of rate=, delay=, loss=, queue=, dir=, up, down"),
            ("1:up,down", "up/down is given twice"),
            ("1:loss=2", "loss: \"2\" is not a loss between 0 and 1, or a percentage such as 1%"),
            ("1:delay=10", "delay: \"10\" is not a time such as 10ms (ns, us, ms or s)"),
            ("1:queue=0", "queue: \"0\" is not a number of packets between 1 and 1000000"),
            ("1:dir=up", "dir: \"up\" is not both, in or out"),
        ];
        for (text, message) in cases {
            let error = parse_port_link(text).expect_err(text);
            assert_eq!(error.to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = parse_port_link(&text);
        }

        #[test]
        fn no_mix_of_valid_words_panics(words in proptest::collection::vec(
            prop_oneof![Just("rate"), Just("="), Just("1"), Just("."), Just("9999999999999"), Just("gbit"),
                        Just("loss"), Just("%"), Just(","), Just("delay"), Just("s"), Just("queue"),
                        Just("-")], 0..12)) {
            let _ = parse_port_link(&format!("1:{}", words.concat()));
        }
    }
}
