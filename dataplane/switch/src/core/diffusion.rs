//! A port's part in diffusion-type flow control: the available bandwidth L of each flow, by eq. 13 of
//! Takano et al., "Mutual Complementarity between Diffusion-Type Flow Control and TCP".
//!
//! The traffic manager offers a rate for each queue that the program writes. Here that rate is J~, a queue is
//! a flow, and L = B * J~ / (sum of J~ over the flows that are present), which the program reads.

use super::packet_rate::PacketRate;

/// A queue without a packet for this many of the program's rates has no flow. Rates come once a control
/// period, so this is a time in units of the control itself.
const QUIET: u8 = 2;

#[derive(Debug, Clone, Copy)]
struct DiffusionFlow {
    /// The available bandwidth L of the queue's flow.
    share: PacketRate,
    /// How often the program asked for a rate since the queue last had a packet.
    quiet: u8,
}

#[derive(Debug)]
pub struct Shares(Vec<DiffusionFlow>);

impl Shares {
    pub fn new(queues: usize) -> Shares {
        Shares(vec![DiffusionFlow { share: PacketRate::UNLIMITED, quiet: QUIET }; queues])
    }

    /// Notes that a queue gets a packet; returns whether a flow is present now that was not present before.
    #[inline]
    pub fn note_packet(&mut self, queue: u8) -> bool {
        let flow = self.0.get_mut(usize::from(queue));
        flow.is_some_and(|flow| std::mem::take(&mut flow.quiet) >= QUIET)
    }

    /// Notes that the program asks for a rate for a queue, which is empty.
    pub fn note_quiet(&mut self, queue: u8) {
        if let Some(flow) = self.0.get_mut(usize::from(queue)) {
            flow.quiet = flow.quiet.saturating_add(1);
        }
    }

    /// L of each queue, from queue 0 on; [`PacketRate::UNLIMITED`] for a queue without a flow.
    pub fn iter(&self) -> impl Iterator<Item = PacketRate> + '_ {
        self.0.iter().map(|flow| flow.share)
    }

    /// Computes eq. 13, with B = `port` packets/s of the port and the queues' J~ in `demands`; calls
    /// `changed` for each share that changed. The share of a queue without a flow is the one that it would
    /// get with a flow.
    pub fn update(
        &mut self, port: Option<PacketRate>, demands: impl Iterator<Item = Option<PacketRate>> + Clone,
        mut changed: impl FnMut(u8, PacketRate),
    ) {
        let units = |demand: Option<PacketRate>| demand.map_or(0, |demand| u64::from(demand.units()));
        // Rates have 32 bits, so that products have 64, and so have sums over 64 queues.
        let present = self.0.iter().zip(demands.clone()).filter(|(flow, _)| flow.quiet < QUIET);
        let present: u64 = present.map(|(_, demand)| units(demand)).sum();
        for ((number, flow), demand) in (0..).zip(&mut self.0).zip(demands) {
            let sum = present + if flow.quiet < QUIET { 0 } else { units(demand) };
            let share = match (port, demand) {
                (Some(port), Some(_)) if sum == 0 => port,
                (Some(port), Some(_)) => {
                    PacketRate::saturating(u64::from(port.units()) * units(demand) / sum)
                }
                _ => PacketRate::UNLIMITED,
            };
            if std::mem::replace(&mut flow.share, share) != share {
                changed(number, share);
            }
        }
    }

    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|flow| flow.share = PacketRate::UNLIMITED);
    }
}
