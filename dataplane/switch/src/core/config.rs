//! The parts of a switch: ports, links, priorities.

use groupflow_pipeline::Port;
use thiserror::Error;

use super::link_spec::LinkChange;
use super::port::MAX_FRAME;
use super::queue_settings::{QueueChange, QueuePlace, NOMINAL_PACKET};

/// The highest port number: v1model's ports have 9 bits.
pub const MAX_PORT: u16 = 511;

/// The most queues a port may have.
pub const MAX_PRIORITIES: u8 = 64;

/// Queues of a port by default: v1model's `priority` has 3 bits.
pub const DEFAULT_PRIORITIES: u8 = 8;

/// The reason why a switch cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A port number that P4 cannot express.
    #[error("{0} is above the highest, {MAX_PORT}")]
    PortTooHigh(Port),
    /// A port that is attached twice, or is also the CPU or drop port.
    #[error("{0} is used twice")]
    PortTwice(Port),
    /// A link of a port that is not attached.
    #[error("there is no {0}")]
    NoSuchPort(Port),
    /// A port without a queue, or with too many queues.
    #[error("{0} is no number of priorities between 1 and {MAX_PRIORITIES}")]
    Priorities(u8),
    /// A queue that a port does not have: the port, the queue, and the port's last queue.
    #[error("{0} has queues 0 to {2}, not {1}")]
    NoSuchQueue(Port, u8, u8),
    /// An invalid packet size.
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

/// The make-up of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchConfig {
    /// The ports that have an interface.
    pub ports: Vec<Port>,
    /// The differences of their links from ideal links, in order.
    pub links: Vec<(Port, LinkChange)>,
    /// Packets for this port go to the controller, and those of the controller come from it.
    pub cpu_port: Port,
    /// Packets for this port are dropped.
    pub drop_port: Port,
    /// The number of queues of each port.
    pub priorities: u8,
    /// The settings of the queues, in order.
    pub queues: Vec<(QueuePlace, QueueChange)>,
    /// Bytes of a packet where packets/s are computed from a port's bit rate.
    pub nominal_packet: u32,
    /// How queues share a port and its buffer.
    pub flow_control: FlowControl,
    /// The seed of everything random.
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
    /// Refuses settings that contradict each other or their limits.
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
        match self.links.iter().find(|(port, _)| !self.ports.contains(port)) {
            Some((port, _)) => Err(ConfigError::NoSuchPort(*port)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "tests/config.rs"]
mod tests;
