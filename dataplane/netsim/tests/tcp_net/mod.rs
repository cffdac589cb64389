//! A line of nodes in virtual time, just enough to drive TCP endpoints: links with rate and delay, one
//! drop-tail queue each way, random loss and jitter where a test wants them. Queues and packet sizes are as
//! in ns-2, so that its figures can be compared.

#![allow(dead_code)]

use std::collections::VecDeque;

use groupflow_base::Nanos;
use groupflow_netsim::tcp::{Ecn, Segment, TcpReceiver, TcpReceiverConfig, TcpSender, TcpSenderConfig};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Time in units of which a nanosecond and a bit on each link are whole numbers: sums are exact, and what is
/// simultaneous stays so.
pub type Units = u64;
const NEVER: Units = u64::MAX;

/// One direction of a link, with the queue in front of it.
#[derive(Debug, Clone)]
pub struct QueuedLink {
    pub bits_per_second: u64,
    pub delay: Nanos,
    /// Packets the node holds, the one on the wire included: ns-2's `queue-limit`.
    pub limit: usize,
    /// Waiting packets from which on ECN-capable ones are marked.
    pub mark_at: Option<usize>,
    pub loss: f64,
    /// Additional delay, uniform up to this: reorders.
    pub jitter: Nanos,
    /// Of an arrival and a departure at the same instant, which goes first. ns-2 takes what was scheduled
    /// first, which is the arrival, unless its floating-point time separates the two.
    pub arrivals_first: bool,
    pub drops: u64,
    pub sent: u64,
    free_at: Units,
    per_bit: Units,
    per_nano: Units,
    /// When each waiting packet's transmission starts.
    starts: VecDeque<Units>,
    in_transit: VecDeque<(Units, usize, Segment)>,
}

impl QueuedLink {
    pub fn new(bits_per_second: u64, delay: Nanos, limit: usize) -> QueuedLink {
        QueuedLink {
            bits_per_second,
            delay,
            limit,
            mark_at: None,
            loss: 0.0,
            jitter: Nanos::ZERO,
            arrivals_first: true,
            drops: 0,
            sent: 0,
            free_at: 0,
            per_bit: 0,
            per_nano: 0,
            starts: VecDeque::new(),
            in_transit: VecDeque::new(),
        }
    }

    /// Packets that wait, without the one on the wire. A packet whose transmission starts at `now` still
    /// waits where arrivals go first.
    pub fn waiting(&mut self, now: Units) -> usize {
        while self.starts.front().is_some_and(|start| *start < now || *start == now && !self.arrivals_first) {
            self.starts.pop_front();
        }
        self.starts.len()
    }

    fn send(&mut self, now: Units, flow: usize, mut segment: Segment, random: &mut ChaCha8Rng) {
        let waiting = self.waiting(now);
        if waiting + 1 >= self.limit || self.loss > 0.0 && random.gen_bool(self.loss) {
            self.drops += 1;
            return;
        }
        if self.mark_at.is_some_and(|mark| waiting >= mark) && segment.ecn != Ecn::NotEct {
            segment.ecn = Ecn::Ce;
        }
        let start = now.max(self.free_at);
        self.free_at = start + size(&segment) * 8 * self.per_bit;
        self.starts.push_back(start);
        self.sent += 1;
        let jitter =
            if self.jitter > Nanos::ZERO { random.gen_range(0..=self.jitter.0 * self.per_nano) } else { 0 };
        let arrival = (self.free_at + self.delay.0 * self.per_nano + jitter, flow, segment);
        let at = if self.jitter > Nanos::ZERO {
            self.in_transit.partition_point(|(time, ..)| *time <= arrival.0)
        } else {
            self.in_transit.len()
        };
        self.in_transit.insert(at, arrival);
    }

    fn next(&self) -> Units {
        self.in_transit.front().map_or(NEVER, |(time, ..)| *time)
    }
}

/// Ethernet, IPv4 and TCP.
pub const HEADER: u32 = 54;

/// Sizes as ns-2 has them: a header, and 8 bytes a SACK block without the 4 around them.
fn size(segment: &Segment) -> u64 {
    u64::from(HEADER + segment.payload) + 8 * segment.sack.blocks().len() as u64
}

pub struct TcpFlow {
    pub from: usize,
    pub to: usize,
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
    /// The times of the timers when they were last looked at.
    sender_at: Units,
    receiver_at: Units,
}

impl TcpFlow {
    pub fn new(from: usize, to: usize, config: TcpSenderConfig) -> TcpFlow {
        TcpFlow::with_receiver(from, to, config, TcpReceiverConfig::for_sender(&config))
    }

    pub fn with_receiver(
        from: usize, to: usize, config: TcpSenderConfig, receiver: TcpReceiverConfig,
    ) -> TcpFlow {
        let sender = TcpSender::new(config).unwrap();
        let receiver = TcpReceiver::new(receiver).unwrap();
        TcpFlow { from, to, sender_at: 0, receiver_at: NEVER, sender, receiver }
    }
}

/// Nodes 0..=n, joined by n links each way.
pub struct Net {
    pub now: Units,
    per_nano: Units,
    /// From node i to node i + 1.
    pub forth: Vec<QueuedLink>,
    /// From node i + 1 to node i.
    pub back: Vec<QueuedLink>,
    pub flows: Vec<TcpFlow>,
    pub random: ChaCha8Rng,
    next_forth: Vec<Units>,
    next_back: Vec<Units>,
}

impl Net {
    pub fn new(mut links: Vec<QueuedLink>, mut flows: Vec<TcpFlow>, seed: u64) -> Net {
        let count = links.len();
        let second =
            links.iter().fold(1_000_000_000, |unit, link| common_multiple(unit, link.bits_per_second));
        let per_nano = second / 1_000_000_000;
        for link in &mut links {
            link.per_bit = second / link.bits_per_second;
            link.per_nano = per_nano;
        }
        for flow in &mut flows {
            flow.sender_at = flow.sender.config().start.0 * per_nano;
        }
        Net {
            now: 0,
            per_nano,
            back: links.clone(),
            forth: links,
            flows,
            random: ChaCha8Rng::seed_from_u64(seed),
            next_forth: vec![NEVER; count],
            next_back: vec![NEVER; count],
        }
    }

    /// Runs all events up to and including `until`.
    pub fn run_until(&mut self, until: Nanos) {
        let until = self.units(until);
        loop {
            let (forth_at, forth) = earliest(&self.next_forth);
            let (back_at, back) = earliest(&self.next_back);
            let timer =
                self.flows.iter().map(|flow| flow.sender_at.min(flow.receiver_at)).min().unwrap_or(NEVER);
            let now = forth_at.min(back_at).min(timer);
            if now > until || now == NEVER {
                break;
            }
            self.now = now;
            if now == forth_at {
                self.arrive_forth(forth);
            } else if now == back_at {
                self.arrive_back(back);
            } else {
                self.fire();
            }
        }
        self.now = self.now.max(until);
    }

    fn units(&self, time: Nanos) -> Units {
        time.0 * self.per_nano
    }

    /// Now, for the endpoints: rounded up, so that a timer is not early.
    fn nanos(&self) -> Nanos {
        Nanos(self.now.div_ceil(self.per_nano))
    }

    fn arrive_forth(&mut self, link: usize) {
        let Some((_, index, segment)) = self.forth[link].in_transit.pop_front() else { return };
        self.next_forth[link] = self.forth[link].next();
        if self.flows[index].to == link + 1 {
            let now = self.nanos();
            self.flows[index].receiver.on_segment(now, &segment);
            self.drain_receiver(index);
        } else {
            self.send_forth(link + 1, index, segment);
        }
    }

    fn arrive_back(&mut self, link: usize) {
        let Some((_, index, segment)) = self.back[link].in_transit.pop_front() else { return };
        self.next_back[link] = self.back[link].next();
        if self.flows[index].from == link {
            let now = self.nanos();
            self.flows[index].sender.on_segment(now, &segment);
            self.drain_sender(index);
        } else {
            self.send_back(link - 1, index, segment);
        }
    }

    fn fire(&mut self) {
        let now = self.nanos();
        for index in 0..self.flows.len() {
            if self.flows[index].sender_at <= self.now {
                self.flows[index].sender.on_timer(now);
                self.drain_sender(index);
            }
            if self.flows[index].receiver_at <= self.now {
                self.flows[index].receiver.on_timer(now);
                self.drain_receiver(index);
            }
        }
    }

    fn drain_sender(&mut self, index: usize) {
        let now = self.nanos();
        while let Some(segment) = self.flows[index].sender.poll(now) {
            self.send_forth(self.flows[index].from, index, segment);
        }
        let per_nano = self.per_nano;
        let flow = &mut self.flows[index];
        flow.sender_at = flow.sender.deadline().map_or(NEVER, |at| at.0 * per_nano);
    }

    fn drain_receiver(&mut self, index: usize) {
        let now = self.nanos();
        while let Some(segment) = self.flows[index].receiver.poll(now) {
            self.send_back(self.flows[index].to - 1, index, segment);
        }
        let per_nano = self.per_nano;
        let flow = &mut self.flows[index];
        flow.receiver_at = flow.receiver.deadline().map_or(NEVER, |at| at.0 * per_nano);
    }

    fn send_forth(&mut self, link: usize, flow: usize, segment: Segment) {
        self.forth[link].send(self.now, flow, segment, &mut self.random);
        self.next_forth[link] = self.forth[link].next();
    }

    fn send_back(&mut self, link: usize, flow: usize, segment: Segment) {
        self.back[link].send(self.now, flow, segment, &mut self.random);
        self.next_back[link] = self.back[link].next();
    }
}

fn earliest(times: &[Units]) -> (Units, usize) {
    let least = times.iter().copied().min().unwrap_or(NEVER);
    (least, times.iter().position(|time| *time == least).unwrap_or(0))
}

fn common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
