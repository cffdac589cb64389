//! The rate of each flow, from the reports about it.

use groupflow_base::feedback::Feedback;
use groupflow_base::Nanos;

/// A flow of which nothing was heard for so long is not under control any more: its rate has no limit.
/// Reports come once a link's delay, which is far shorter.
pub const SILENCE: Nanos = Nanos::from_secs(1);
/// The kernel times a packet when it is next in turn, and a later rate does not hasten it: so the pause that
/// rate 0 asks for is a packet in 50 ms, and the flow goes on at most that long after the pause is over.
const LEAST_PACKETS_PER_SECOND: u64 = 20;

#[derive(Debug)]
pub struct Rates {
    flows: Vec<FlowRate>,
    packet: u32,
}

/// A flow's last report.
#[derive(Debug)]
struct FlowRate {
    number: u16,
    last_report: Nanos,
    /// Bytes a second; `None`: no limit.
    rate: Option<u64>,
    changed: bool,
}

/// A flow's new rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The flow's place among the flows.
    pub place: usize,
    /// Bytes a second; `None`: no limit.
    pub rate: Option<u64>,
}

impl Rates {
    /// No limit for any flow, until reports come. `packet` is the size of the packets that reports count.
    pub fn new(numbers: impl IntoIterator<Item = u16>, packet: u32) -> Rates {
        let flow = |number| FlowRate { number, last_report: Nanos::ZERO, rate: None, changed: false };
        Rates { flows: numbers.into_iter().map(flow).collect(), packet }
    }

    /// Takes a report. Those for nodes that compute are no rates for hosts.
    pub fn take(&mut self, now: Nanos, report: &Feedback) {
        let known = self.flows.iter_mut().find(|flow| flow.number == report.flow);
        let Some(flow) = known.filter(|_| report.external) else { return };
        let least = LEAST_PACKETS_PER_SECOND * u64::from(self.packet);
        flow.last_report = now;
        flow.set((report.rate < i32::MAX).then(|| report.bytes_per_second(self.packet).max(least)));
    }

    pub fn changes(&mut self, now: Nanos) -> Vec<Change> {
        let each = self.flows.iter_mut().enumerate();
        each.filter_map(|(place, flow)| {
            if now >= flow.last_report + SILENCE {
                flow.set(None);
            }
            std::mem::take(&mut flow.changed).then_some(Change { place, rate: flow.rate })
        })
        .collect()
    }
}

impl FlowRate {
    fn set(&mut self, rate: Option<u64>) {
        self.changed |= rate != self.rate;
        self.rate = rate;
    }
}
