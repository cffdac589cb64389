//! The segments of a sender.

use groupflow_base::Nanos;

use super::config::{Behaviour, DataSource};
use super::segment::{Ecn, Sack, Segment, TcpFlags, Timestamps};
use super::sender::{Recovery, TcpSender};

impl TcpSender {
    /// Sends `packet`: counts it, times it, sees that the timer runs.
    pub(super) fn emit(&mut self, now: Nanos, packet: u64) -> Segment {
        let repeated = packet < self.max;
        if self.retransmit_at.is_none() || self.una == self.max {
            self.retransmit_at = Some(now + self.rtt.timeout());
        }
        if repeated {
            self.stats.retransmissions += 1;
        } else {
            self.max = packet + 1;
            if self.timed.is_none() {
                self.timed = Some((packet, now));
            }
        }
        self.next = self.next.max(packet + 1);
        self.stats.packets_sent += 1;
        if let Recovery::Departures(departures) = &mut self.recovery {
            departures.note(now, packet);
        }
        self.build(now, packet, repeated)
    }

    fn build(&mut self, now: Nanos, packet: u64, repeated: bool) -> Segment {
        let syn = packet == 0 && self.config.syn;
        let mut flags = if syn { TcpFlags::SYN } else { TcpFlags::ACK };
        let mut ecn = Ecn::NotEct;
        if self.config.ecn {
            if syn {
                flags = flags.with(TcpFlags::ECE).with(TcpFlags::CWR);
            } else if !repeated || self.config.behaviour == Behaviour::Ns2 {
                ecn = Ecn::Ect0;
                if std::mem::take(&mut self.reduced) {
                    flags = flags.with(TcpFlags::CWR);
                }
            }
        }
        Segment {
            source_port: self.config.source_port,
            destination_port: self.config.destination_port,
            seq: self.numbers.wire(packet),
            ack: u32::from(!syn),
            flags,
            window: u16::MAX,
            payload: if syn { 0 } else { self.payload(packet) },
            ecn,
            timestamps: self
                .config
                .timestamps
                .then_some(Timestamps { value: (now.0 / 1_000) as u32, echo: self.echo }),
            sack: Sack::default(),
        }
    }

    fn payload(&self, packet: u64) -> u32 {
        match self.config.data {
            DataSource::Bytes(total) if packet + 1 == self.limit => {
                let before = (packet - u64::from(self.config.syn)) * u64::from(self.config.mss);
                // At most one packet is left.
                u32::try_from(total - before).unwrap_or(self.config.mss).min(self.config.mss)
            }
            _ => self.config.mss,
        }
    }
}
