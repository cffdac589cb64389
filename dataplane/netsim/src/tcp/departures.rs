//! Vegas's recovery as ns-2 has it: a packet whose departure lies back more than a fine-grained timeout is
//! late, and a single duplicate acknowledgement tells that it is lost.

use groupflow_base::Nanos;

use super::controller::{Ack, Late};
use super::segment::Segment;
use super::sender::{Recovery, Reduction, TcpSender, DUPLICATES};

#[derive(Debug)]
pub(super) struct Departures {
    /// When each packet of the window left, and how often: a ring, indexed by the packet's number.
    left: Vec<(Nanos, u8)>,
    mask: u64,
    /// Acknowledgements after a retransmission that are still looked at for another loss.
    worried: u32,
    /// Fine-grained timeout in ns (none before the first measurement), with its smoothed round trip (times 8)
    /// and deviation (times 4).
    timeout: f64,
    srtt8: f64,
    deviation4: f64,
}

impl Departures {
    pub fn new(max_window: u32) -> Departures {
        // Limited transmit does not apply: never more than the window is in flight.
        let size = u64::from(max_window).next_power_of_two();
        Departures {
            left: vec![(Nanos::ZERO, 0); size as usize],
            mask: size - 1,
            worried: 0,
            timeout: f64::INFINITY,
            srtt8: 0.0,
            deviation4: 0.0,
        }
    }

    fn of(&mut self, packet: u64) -> &mut (Nanos, u8) {
        &mut self.left[(packet & self.mask) as usize]
    }

    pub fn note(&mut self, now: Nanos, packet: u64) {
        let (left, times) = self.of(packet);
        *left = now;
        *times = times.saturating_add(1);
    }

    /// Forgets packets `una..acked`. Returns the departure of the last one.
    fn acknowledge(&mut self, una: u64, acked: u64) -> (Nanos, u8) {
        let last = *self.of(acked - 1);
        (una..acked).for_each(|packet| self.of(packet).1 = 0);
        last
    }

    /// The timeout takes a round trip in: all of the first one, of a later one only if one departure explains
    /// it.
    fn sample(&mut self, rtt: f64, clear: bool) {
        if self.timeout == f64::INFINITY {
            self.srtt8 = rtt * 8.0;
            self.deviation4 = rtt;
            self.timeout = (self.srtt8 / 4.0 + self.deviation4) / 2.0;
        }
        if clear && rtt > 0.0 {
            let error = rtt - self.srtt8 / 8.0;
            self.srtt8 += error;
            self.deviation4 += error.abs() - self.deviation4 / 4.0;
            self.timeout = (self.srtt8 / 4.0 + self.deviation4) / 2.0 * (1.0 + 1.0 / 16.0);
        }
    }

    fn is_late(&mut self, now: Nanos, packet: u64) -> bool {
        (now - self.of(packet).0).0 as f64 >= self.timeout
    }

    /// Whether `packet` is late as well: the first two acknowledgements after a retransmission tell.
    fn is_another_late(&mut self, now: Nanos, packet: Option<u64>) -> bool {
        if self.worried == 0 {
            return false;
        }
        let late = packet.is_some_and(|packet| self.is_late(now, packet));
        self.worried = if late { self.worried - 1 } else { 0 };
        late
    }

    /// Notes that `packet` is sent again. Returns when it left before, and how often.
    fn repeat(&mut self, packet: u64, in_flight: u64) -> (Nanos, u8) {
        let departure = *self.of(packet);
        self.worried = in_flight.min(2) as u32;
        self.timeout *= if departure.1 > 1 { 2.0 } else { 1.125 };
        departure
    }
}

impl TcpSender {
    fn departures(&mut self) -> &mut Departures {
        match &mut self.recovery {
            Recovery::Departures(departures) => departures,
            // Only senders that keep departures come here.
            _ => unreachable!("a sender that keeps no departures"),
        }
    }

    pub(super) fn on_ack_departures(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        if acked > self.una {
            self.on_new_ack(now, acked, segment);
        } else if acked == self.una && self.una < self.max {
            self.on_duplicate_or_late(now);
        } else {
            self.burst = 0;
        }
        if self.dupacks > 0 && self.dupacks < DUPLICATES {
            self.burst = 0;
        }
    }

    fn on_new_ack(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        let una = self.una;
        let handshake = self.config.syn && una == 0;
        let inflated = self.dupacks > DUPLICATES;
        if una == 1 && !self.config.syn {
            // ns-2 opens the window with the second acknowledgement.
            self.window.cwnd = f64::from(self.config.initial_window);
        }
        self.advance(now, acked, segment);
        let departure = self.departures().acknowledge(una, acked);
        let ack = Ack { handshake, inflated, departure, ..self.ack(now, acked - una) };
        self.controller.on_ack(&mut self.window, &ack);
        if handshake {
            return self.open_initial_window();
        }
        let rtt = (now - departure.0).0 as f64;
        self.departures().sample(rtt, departure.1 == 1 && acked > 1);
        let first = (acked < self.max).then_some(acked);
        if self.departures().is_another_late(now, first) {
            self.dupacks = DUPLICATES;
            self.resend = first;
        }
    }

    fn on_duplicate_or_late(&mut self, now: Nanos) {
        self.dupacks += 1;
        let una = self.una;
        if self.dupacks == DUPLICATES || self.departures().is_late(now, una) {
            if self.una > self.recover || self.last_reduction != Reduction::Timeout {
                self.on_late(now);
            }
        } else if self.dupacks > DUPLICATES {
            self.window.cwnd += 1.0;
        }
    }

    fn on_late(&mut self, now: Nanos) {
        self.stats.fast_retransmits += 1;
        self.recover = self.max;
        let (una, in_flight) = (self.una, self.next - self.una + 1);
        let departure = self.departures().repeat(una, in_flight);
        let (window, dupacks) = (self.allowed(), self.dupacks);
        self.reduce(Reduction::Duplicates, Some(Late { now, departure, window, dupacks }));
        if departure.1 == 1 {
            self.dupacks = DUPLICATES;
        }
        self.rtt.back_off();
        self.forget_timing(now);
        self.resend = Some(una);
    }
}
