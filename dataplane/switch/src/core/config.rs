//! The parts of a switch: ports, links, priorities.

use groupflow_pipeline::Port;
use thiserror::Error;

use super::link_spec::LinkChange;
use super::port::MAX_FRAME;
use super::queue_settings::{QueueChange, QueuePlace, NOMINAL_PACKET};

/// The highest port number: v1model's ports have 9 bits.
pub const MAX_PORT: u16 = 511;

pub const MAX_PRIORITIES: u8 = 64;

/// Queues of a port by default: v1model's `priority` has 3 bits.
pub const DEFAULT_PRIORITIES: u8 = 8;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    #[error("{0} is above the highest, {MAX_PORT}")]
    PortTooHigh(Port),
    #[error("{0} is used twice")]
    PortTwice(Port),
    #[error("there is no {0}")]
    NoSuchPort(Port),
    #[error("{0} is no number of priorities between 1 and {MAX_PRIORITIES}")]
    Priorities(u8),
    /// A queue that a port does not have: the port, the queue, and the port's last queue.
    #[error("{0} has queues 0 to {2}, not {1}")]
    NoSuchQueue(Port, u8, u8),
    #[error("{0} is no packet size between 1 and {MAX_FRAME} bytes")]
    PacketSize(u32),
}

/// What the paper on diffusion-type flow control leaves open, or gfswitch does otherwise by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
pub struct FlowControl {
    /// Whether a queue's share of the port bounds the rate that the program asks for (eq. 1), instead of
    /// being its weight only: then the queue may take what others leave.
    pub bound: bool,
    /// The most packets in all queues of a port together; `None`: each queue has its own limit only.
    pub pool: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchConfig {
    pub ports: Vec<Port>,
    /// The differences of their links from ideal links, in order.
    pub links: Vec<(Port, LinkChange)>,
    /// Packets for this port go to the controller, and those of the controller come from it.
    pub cpu_port: Port,
    /// Packets for this port are dropped.
    pub drop_port: Port,
    pub priorities: u8,
    pub queues: Vec<(QueuePlace, QueueChange)>,
    /// Bytes of a packet where packets/s are computed from a port's bit rate.
    pub nominal_packet: u32,
    pub flow_control: FlowControl,
    pub seed: u64,
    /// Whether a frame is handed over when its port begins to send it, with the time at which it will have
    /// left. For simulators: it saves an event a frame. A link that goes down then loses the frames that
    /// wait for it, but not those on it.
    pub eager: bool,
}

impl Default for SwitchConfig {
    fn default() -> SwitchConfig {
        SwitchConfig {
            ports: Vec::new(),
            links: Vec::new(),
            cpu_port: Port(510),
            drop_port: Port(511),
            priorities: DEFAULT_PRIORITIES,
            queues: Vec::new(),
            nominal_packet: NOMINAL_PACKET,
            flow_control: FlowControl::default(),
            seed: 1,
            eager: false,
        }
    }
}

impl SwitchConfig {
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.priorities == 0 || self.priorities > MAX_PRIORITIES {
            return Err(ConfigError::Priorities(self.priorities));
        }
        let mut seen = Vec::new();
        for port in self.ports.iter().chain([&self.cpu_port, &self.drop_port]) {
            if port.0 > MAX_PORT {
                return Err(ConfigError::PortTooHigh(*port));
            }
            if seen.contains(port) {
                return Err(ConfigError::PortTwice(*port));
            }
            seen.push(*port);
        }
        let stray = self.links.iter().find(|(port, _)| !self.ports.contains(port));
        stray.map_or(Ok(()), |(port, _)| Err(ConfigError::NoSuchPort(*port)))
    }
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
