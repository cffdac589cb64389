//! A TCP endpoint at a host: its segments in IPv4 and Ethernet.

use std::net::SocketAddrV4;

use groupflow_base::Nanos;

use super::messages::MessageSource;
use super::End;
use crate::error::BuildError;
use crate::sample::FlowSample;
use crate::spec::{FlowSpec, TcpSpec};
use crate::tcp::{
    decode, encode, Behaviour, DataSource, Ecn, RtoConfig, TcpReceiver, TcpReceiverConfig, TcpSender,
    TcpSenderConfig,
};
use crate::wire::{Addresses, Template, PROTOCOL_TCP};

#[derive(Debug)]
enum TcpSide {
    Sender(Box<TcpSender>),
    Receiver(Box<TcpReceiver>),
}

#[derive(Debug)]
pub struct TcpEnd {
    side: TcpSide,
    /// The application's writes to a sender.
    messages: Option<MessageSource>,
    template: Template,
    /// Since when the endpoint may have something to send; [`Nanos::MAX`]: it said that it has nothing.
    pending: Nanos,
    /// Packets that were no valid segments.
    malformed: u64,
    /// When a sender sent its first segment, the SYN.
    first: Option<Nanos>,
    /// When a receiver had its latest payload in order.
    latest: Option<Nanos>,
}

impl TcpEnd {
    /// The end that sends; with messages, `config.data` must be [`DataSource::Supplied`].
    pub fn sending(
        addresses: &Addresses, config: TcpSenderConfig, messages: Option<MessageSource>,
    ) -> Result<TcpEnd, BuildError> {
        let sender = TcpSide::Sender(Box::new(TcpSender::new(config)?));
        Ok(TcpEnd { messages, ..TcpEnd::new(addresses, sender) })
    }

    /// The end that receives; `addresses` are those of its acknowledgements.
    pub fn receiving(addresses: &Addresses, config: TcpReceiverConfig) -> Result<TcpEnd, BuildError> {
        Ok(TcpEnd::new(addresses, TcpSide::Receiver(Box::new(TcpReceiver::new(config)?))))
    }

    fn new(addresses: &Addresses, side: TcpSide) -> TcpEnd {
        let template = Template::new(addresses, PROTOCOL_TCP);
        let (pending, malformed) = (Nanos::MAX, 0);
        TcpEnd { side, messages: None, template, pending, malformed, first: None, latest: None }
    }

    /// Whether the connection is made: a sender's SYN is acknowledged, a receiver's has come.
    pub fn connected(&self) -> bool {
        match &self.side {
            TcpSide::Receiver(receiver) => receiver.connected(),
            TcpSide::Sender(sender) => sender.connected(),
        }
    }

    /// Lets a sender begin, or a receiver that is held back answer the SYN.
    pub fn open(&mut self, now: Nanos) {
        match &mut self.side {
            TcpSide::Receiver(receiver) => receiver.open(),
            TcpSide::Sender(sender) => sender.begin(now),
        }
        self.pending = self.pending.min(now);
    }

    /// Calls a function on the sender, which may then have something to send.
    pub fn with_sender<R>(&mut self, now: Nanos, act: impl FnOnce(&mut TcpSender) -> R) -> Option<R> {
        let TcpSide::Sender(sender) = &mut self.side else { return None };
        self.pending = self.pending.min(now);
        Some(act(sender))
    }

    /// Calls a function on the receiver, which may then have something to send.
    pub fn with_receiver<R>(&mut self, now: Nanos, act: impl FnOnce(&mut TcpReceiver) -> R) -> Option<R> {
        let TcpSide::Receiver(receiver) = &mut self.side else { return None };
        self.pending = self.pending.min(now);
        Some(act(receiver))
    }
}

impl End for TcpEnd {
    fn deadline(&self) -> Nanos {
        let deadline = match &self.side {
            TcpSide::Sender(sender) => sender.deadline(),
            TcpSide::Receiver(receiver) => receiver.deadline(),
        };
        let message = self.messages.as_ref().map_or(Nanos::MAX, MessageSource::due);
        deadline.unwrap_or(Nanos::MAX).min(message)
    }

    fn wants(&self) -> Nanos {
        self.pending
    }

    fn on_timer(&mut self, now: Nanos) {
        match &mut self.side {
            TcpSide::Sender(sender) => {
                if let Some(messages) = &mut self.messages {
                    sender.supply(messages.take(now));
                }
                sender.on_timer(now);
            }
            TcpSide::Receiver(receiver) => receiver.on_timer(now),
        }
        self.pending = self.pending.min(now);
    }

    fn receive(&mut self, now: Nanos, _from: SocketAddrV4, bytes: &[u8], length: u32, ecn: u8) {
        let Ok(mut segment) = decode(bytes) else {
            self.malformed += 1;
            return;
        };
        segment.payload += length - bytes.len() as u32;
        segment.ecn = Ecn::from_bits(ecn);
        match &mut self.side {
            TcpSide::Sender(sender) => sender.on_segment(now, &segment),
            TcpSide::Receiver(receiver) => {
                let before = receiver.delivered();
                receiver.on_segment(now, &segment);
                if receiver.delivered() > before {
                    self.latest = Some(now);
                }
            }
        }
        self.pending = self.pending.min(now);
    }

    fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let segment = match &mut self.side {
            TcpSide::Sender(sender) => sender.poll(now),
            TcpSide::Receiver(receiver) => receiver.poll(now),
        };
        let Some(segment) = segment else {
            self.pending = Nanos::MAX;
            return None;
        };
        // The side that has just sent is the last in line for the next turn.
        self.pending = now;
        self.first.get_or_insert(now);
        self.template.begin(head, segment.header_len() as u32 + segment.payload, segment.ecn as u8);
        encode(&segment, head);
        Some(segment.payload)
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        match &self.side {
            TcpSide::Sender(sender) => {
                let stats = sender.stats();
                sample.sent_packets = stats.packets_sent;
                sample.offered_bytes = self.messages.as_ref().map(MessageSource::offered);
                sample.retransmissions = Some(stats.retransmissions);
                sample.finished = Some(sender.is_finished());
                sample.first = self.first;
                sample.tcp = Some(stats);
            }
            TcpSide::Receiver(receiver) => {
                let stats = receiver.stats();
                sample.delivered_packets = stats.packets;
                sample.delivered_bytes = Some(stats.bytes_delivered);
                sample.latest = self.latest;
            }
        }
    }

    fn tcp(&mut self) -> Option<&mut TcpEnd> {
        Some(self)
    }
}

fn data(tcp: &TcpSpec) -> DataSource {
    match (tcp.bytes, tcp.messages) {
        (_, Some(_)) => DataSource::Supplied,
        (Some(bytes), None) => DataSource::Bytes(bytes),
        (None, None) => DataSource::Greedy,
    }
}

/// The configuration of both ends.
pub fn configure(flow: &FlowSpec, tcp: &TcpSpec) -> Result<(TcpSenderConfig, TcpReceiverConfig), BuildError> {
    let refuse =
        |field: &str, error: BuildError| BuildError::new(format!("flows.{}.{field}", flow.name), error);
    let base = match tcp.profile {
        Behaviour::Rfc => TcpSenderConfig::new(tcp.variant, tcp.window_packets),
        Behaviour::Ns2 => TcpSenderConfig::ns2(tcp.variant, tcp.window_packets),
    };
    let mut sender = TcpSenderConfig {
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        mss: tcp.mss,
        data: data(tcp),
        start: Nanos(flow.start_ns),
        stop: flow.stop_ns.map(Nanos),
        ecn: tcp.ecn,
        initial_window: tcp.initial_window.unwrap_or(base.initial_window),
        vegas_gamma: tcp.vegas_gamma.unwrap_or(base.vegas_gamma),
        heeds_window: tcp.receive_window.is_some(),
        rto: RtoConfig { min: tcp.min_rto_ns.map_or(base.rto.min, Nanos), ..base.rto },
        ..base
    };
    sender.timestamps |= sender.heeds_window;
    if tcp.on_demand {
        sender.start = Nanos::MAX; // when it is told
        if sender.data != DataSource::Greedy {
            let problem =
                "a flow that begins when it is told to sends without end; leave out bytes and messages";
            return Err(BuildError::new(format!("flows.{}.on_demand", flow.name), problem));
        }
    }
    let mut receiver = TcpReceiverConfig::for_sender(&sender);
    receiver.window = tcp.receive_window;
    receiver.delayed_ack = tcp.delayed_ack_ns.map(Nanos);
    if let Some(problem) = tcp.messages.and_then(|messages| messages.problem(tcp.bytes)) {
        return Err(BuildError::new(format!("flows.{}.messages", flow.name), problem));
    }
    // The endpoints have the rest of the rules.
    TcpSender::new(sender).map_err(|error| refuse("tcp", error))?;
    TcpReceiver::new(receiver).map_err(|error| refuse("tcp", error))?;
    Ok((sender, receiver))
}
