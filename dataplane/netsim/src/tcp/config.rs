//! The settings of an endpoint, and their two sets of defaults: the RFCs' and ns-2's.

use groupflow_base::Nanos;
use serde::de::IntoDeserializer;
use serde::Deserialize;

use crate::error::BuildError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Fast retransmit, then slow start from one packet.
    Tahoe,
    /// Fast recovery that ends with the first new acknowledgement (RFC 2581).
    Reno,
    /// Fast recovery that lasts until the window of the loss is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgement (RFC 6675; ns-2's Sack1).
    Sack,
    /// Window set by queueing delay (Brakmo and Peterson 1995).
    Vegas,
    /// Window grows with the cube of time (RFC 9438), recovery by SACK.
    Cubic,
    /// Window by loss plus window by delay (Compound TCP), recovery by SACK.
    Compound,
}

impl Variant {
    /// Whether the variant wants the receiver to send SACK blocks.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Variant::Sack | Variant::Cubic | Variant::Compound)
    }
}

/// The variant's name in scenario files.
impl std::str::FromStr for Variant {
    type Err = serde::de::value::Error;

    fn from_str(name: &str) -> Result<Variant, Self::Err> {
        Variant::deserialize(name.into_deserializer())
    }
}

/// The model to follow where the RFCs and ns-2 2.35 differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// The RFCs: half of the data in flight after a loss, RFC 6675's scoreboard, ECT not on retransmissions.
    #[default]
    Rfc,
    /// ns-2: half of the window after a loss, Sack1's pipe, NewReno without window repair when recovery ends.
    Ns2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataSource {
    /// A stream without end: as much as the window allows.
    Greedy,
    Bytes(u64),
    /// The bytes that [`TcpSender::supply`](super::TcpSender::supply) hands over, in whole packets.
    Supplied,
}

/// Retransmission timer: RFC 6298 with the clock's granularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RtoConfig {
    /// Granularity of the clock that measures round trips. BSD and ns-2 count coarse ticks.
    pub tick: Nanos,
    pub min: Nanos,
    /// Greatest timeout, backed off.
    pub max: Nanos,
    /// Timeout before the first measurement.
    pub initial: Nanos,
}

impl RtoConfig {
    /// Linux: a fifth of a second at least.
    pub const LINUX: RtoConfig = RtoConfig {
        tick: Nanos::from_micros(1),
        min: Nanos::from_millis(200),
        max: Nanos::from_secs(120),
        initial: Nanos::from_secs(1),
    };
    /// ns-2 2.35: `tcpTick_ 0.01`, `minrto_ 0.2`, `maxrto_ 60`, `rtxcur_init_ 3.0`.
    pub const NS2: RtoConfig = RtoConfig {
        tick: Nanos::from_millis(10),
        min: Nanos::from_millis(200),
        max: Nanos::from_secs(60),
        initial: Nanos::from_secs(3),
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSenderConfig {
    pub variant: Variant,
    /// The model: the RFCs or ns-2.
    pub behaviour: Behaviour,
    pub source_port: u16,
    pub destination_port: u16,
    /// Payload bytes of a full packet.
    pub mss: u32,
    /// Most packets in flight (the receiver's window, in packets).
    pub max_window: u32,
    /// Congestion window when the connection stands.
    pub initial_window: u32,
    /// First slow-start threshold, in packets. `None` is `max_window`, as in ns-2.
    pub initial_ssthresh: Option<u32>,
    /// Whether a SYN without payload goes first and the window opens with its acknowledgement.
    pub syn: bool,
    pub data: DataSource,
    pub start: Nanos,
    /// When to send nothing new any more.
    pub stop: Option<Nanos>,
    pub rto: RtoConfig,
    /// Timestamp option: a round-trip measurement with each acknowledgement instead of one a round trip.
    pub timestamps: bool,
    /// Mark packets ECN-capable, and halve the window when congestion is echoed (RFC 3168). Not for Vegas.
    pub ecn: bool,
    /// Packets in queues that end Vegas' slow start: ns-2's `v_gamma_`.
    pub vegas_gamma: u32,
    /// Whether the receiver's window counts, too. Otherwise `max_window` stands for it.
    pub heeds_window: bool,
}

impl TcpSenderConfig {
    /// A greedy sender after the RFCs: timestamps, 1448 bytes beside them, an initial window of 10 (RFC
    /// 6928).
    pub const fn new(variant: Variant, max_window: u32) -> TcpSenderConfig {
        TcpSenderConfig {
            variant,
            behaviour: Behaviour::Rfc,
            source_port: 40_000,
            destination_port: 80,
            mss: 1448,
            max_window,
            initial_window: 10,
            initial_ssthresh: None,
            syn: true,
            data: DataSource::Greedy,
            start: Nanos::ZERO,
            stop: None,
            rto: RtoConfig::LINUX,
            timestamps: true,
            ecn: false,
            vegas_gamma: 1,
            heeds_window: false,
        }
    }

    /// A greedy sender like ns-2 2.35's with default settings; its Vegas sends no SYN.
    pub const fn ns2(variant: Variant, max_window: u32) -> TcpSenderConfig {
        TcpSenderConfig {
            behaviour: Behaviour::Ns2,
            mss: 1460,
            initial_window: 2,
            syn: !matches!(variant, Variant::Vegas),
            rto: RtoConfig::NS2,
            timestamps: false,
            ..TcpSenderConfig::new(variant, max_window)
        }
    }

    pub(super) fn check(&self) -> Result<(), BuildError> {
        check_mss(self.mss)?;
        let bytes = u64::from(self.max_window) * u64::from(self.mss);
        if self.max_window == 0 || bytes >= 1 << 30 {
            let problem = "packets, but at least 1 and less than 2^30 bytes are possible";
            return Err(BuildError::new("max_window", format!("{} {problem}", self.max_window)));
        }
        if self.initial_window == 0 {
            return Err(BuildError::new("initial_window", "at least 1 packet"));
        }
        if self.ecn && self.variant == Variant::Vegas {
            return Err(BuildError::new("ecn", "vegas does not react to it"));
        }
        if self.rto.tick == Nanos::ZERO || self.rto.min > self.rto.max {
            return Err(BuildError::new("rto", "the tick must not be 0, nor min greater than max"));
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpReceiverConfig {
    /// Port of the receiver.
    pub source_port: u16,
    /// Port of the sender.
    pub destination_port: u16,
    /// The sender's packet size: payload bytes.
    pub mss: u32,
    /// Whether the sender begins with a SYN.
    pub syn: bool,
    /// Acknowledge every second packet, or after this time (40 ms in Linux, 100 ms in ns-2's TCPSink/DelAck);
    /// `None` acknowledges each packet, as ns-2's TCPSink does.
    pub delayed_ack: Option<Nanos>,
    /// SACK blocks in an acknowledgement: 0 to 4, or 3 with timestamps.
    pub sack_blocks: u8,
    /// Acknowledge no more than [`TcpReceiver::open`](super::TcpReceiver::open) and
    /// [`TcpReceiver::release`](super::TcpReceiver::release) allow.
    pub held: bool,
    /// Bytes of the window that the receiver advertises at first; `None` is the largest.
    /// [`TcpReceiver::set_window`](super::TcpReceiver::set_window) changes it.
    pub window: Option<u64>,
}

impl TcpReceiverConfig {
    /// The receiver for that sender: acknowledges each packet, with up to three SACK blocks where the sender
    /// uses them.
    pub const fn for_sender(sender: &TcpSenderConfig) -> TcpReceiverConfig {
        TcpReceiverConfig {
            source_port: sender.destination_port,
            destination_port: sender.source_port,
            mss: sender.mss,
            syn: sender.syn,
            delayed_ack: None,
            sack_blocks: if sender.variant.uses_sack() { 3 } else { 0 },
            held: false,
            window: None,
        }
    }
}

/// Refuses a segment that does not fit an IPv4 packet.
pub(super) fn check_mss(mss: u32) -> Result<(), BuildError> {
    match mss {
        1..=65_495 => Ok(()),
        _ => Err(BuildError::new("mss", format!("{mss} bytes, but 1 to 65495 are possible"))),
    }
}
