//! Measurements as CSV: one file a subject, a unit in the name of each column that has one.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::ops::ControlFlow;

use groupflow_base::Nanos;

use crate::engine::Observer;
use crate::ids::NodeId;
use crate::network::Network;
use crate::sample::{DropSite, Drops, FlowSample, Sample};
use crate::trace::TraceRecord;

#[derive(Debug)]
pub struct Files<W> {
    pub throughput: W,
    /// Network efficiency per flow.
    pub efficiency: W,
    /// Queues that hold something.
    pub queues: W,
    pub windows: W,
    pub drops: W,
    /// The trace, if it is wanted.
    pub trace: Option<W>,
}

/// Writes measurements as they come, and keeps only the last.
#[derive(Debug)]
pub struct Recorder<W> {
    files: Files<W>,
    nodes: Vec<String>,
    flows: Vec<(String, f64)>,
    interval: Nanos,
    last: Vec<FlowSample>,
    last_drops: Drops,
    /// Queues that held something at the last sample.
    filled: HashSet<(NodeId, u16, u8)>,
    failure: Option<io::Error>,
}

impl<W: Write> Recorder<W> {
    /// Writes the files' first lines.
    pub fn new(network: &Network, mut files: Files<W>) -> io::Result<Recorder<W>> {
        writeln!(
            files.throughput,
            "time_s,flow,throughput_bps,delivered_bytes,delivered_packets,sent_packets,shaped_rate_pps"
        )?;
        writeln!(
            files.efficiency,
            "time_s,flow,efficiency,in_transit_packets,in_transit_bytes,capacity_bytes"
        )?;
        writeln!(files.queues, "time_s,node,port,queue,packets,bytes")?;
        writeln!(
            files.windows,
            "time_s,flow,cwnd_packets,ssthresh_packets,in_flight_packets,srtt_s,retransmissions,timeouts,\
             fast_retransmits"
        )?;
        writeln!(files.drops, "time_s,node,port,queue,reason,packets")?;
        let spec = network.spec();
        let capacities = network.capacities().iter().copied();
        Ok(Recorder {
            files,
            nodes: spec.nodes.iter().map(|node| node.name.clone()).collect(),
            flows: spec.flow_names().cloned().zip(capacities.chain(std::iter::repeat(0.0))).collect(),
            interval: Nanos(spec.sample_ns),
            last: vec![FlowSample::default(); spec.flow_names().count()],
            last_drops: Drops::new(),
            filled: HashSet::new(),
            failure: None,
        })
    }

    /// Completes the files; the error says why one could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Files { throughput, efficiency, queues, windows, drops, trace } = &mut self.files;
        for file in [throughput, efficiency, queues, windows, drops].into_iter().chain(trace) {
            file.flush()?;
        }
        Ok(())
    }

    fn write(&mut self, sample: &Sample) -> io::Result<()> {
        self.write_flows(sample)?;
        self.write_queues(sample)?;
        self.write_drops(sample)
    }

    fn write_flows(&mut self, sample: &Sample) -> io::Result<()> {
        let time = Seconds(sample.time);
        for ((flow, (name, capacity)), last) in sample.flows.iter().zip(&self.flows).zip(&self.last) {
            let delivered_bytes = flow.delivered_bytes.unwrap_or(0);
            let bits = u128::from(delivered_bytes - last.delivered_bytes.unwrap_or(0)) * 8;
            let throughput = bits * 1_000_000_000 / u128::from(self.interval.0);
            let FlowSample { delivered_packets, sent_packets, .. } = flow;
            let shaped = flow.shaped_rate.filter(|rate| *rate != u32::MAX).map(|rate| f64::from(rate) / 64.0);
            writeln!(
                self.files.throughput,
                "{time},{name},{throughput},{delivered_bytes},{delivered_packets},{sent_packets},{}",
                Maybe(shaped)
            )?;
            let FlowSample { in_transit_packets, in_transit_bytes, .. } = flow;
            let efficiency = (*capacity > 0.0).then(|| *in_transit_bytes as f64 / capacity);
            writeln!(
                self.files.efficiency,
                "{time},{name},{},{in_transit_packets},{in_transit_bytes},{capacity:.0}",
                Maybe(efficiency)
            )?;
            if let Some(tcp) = &flow.tcp {
                writeln!(
                    self.files.windows,
                    "{time},{name},{:.3},{:.3},{},{},{},{},{}",
                    tcp.cwnd,
                    tcp.ssthresh,
                    tcp.in_flight,
                    Seconds(tcp.srtt),
                    tcp.retransmissions,
                    tcp.timeouts,
                    tcp.fast_retransmits
                )?;
            }
        }
        self.last.clone_from(&sample.flows);
        Ok(())
    }

    /// Empty queues are left out, but for the first time.
    fn write_queues(&mut self, sample: &Sample) -> io::Result<()> {
        for queue in &sample.queues {
            let key = (queue.node, queue.port, queue.queue);
            let was_filled = self.filled.remove(&key);
            if queue.packets > 0 {
                self.filled.insert(key);
            }
            if queue.packets > 0 || was_filled {
                writeln!(
                    self.files.queues,
                    "{},{},{},{},{},{}",
                    Seconds(sample.time),
                    self.nodes[queue.node.index()],
                    queue.port,
                    queue.queue,
                    queue.packets,
                    queue.bytes
                )?;
            }
        }
        Ok(())
    }

    fn write_drops(&mut self, sample: &Sample) -> io::Result<()> {
        for (site, packets) in &sample.drops {
            let new = packets - self.last_drops.get(site).copied().unwrap_or(0);
            if new > 0 {
                let DropSite { node, port, queue, reason } = site;
                let node = &self.nodes[node.index()];
                let (port, queue) = (Maybe(*port), Maybe(*queue));
                writeln!(self.files.drops, "{},{node},{port},{queue},{reason},{new}", Seconds(sample.time))?;
            }
        }
        self.last_drops.clone_from(&sample.drops);
        Ok(())
    }
}

impl<W: Write> Observer for Recorder<W> {
    fn sample(&mut self, sample: &Sample) {
        if self.failure.is_none() {
            self.failure = self.write(sample).err();
        }
    }

    fn trace(&mut self, records: &[TraceRecord]) {
        if let (Some(file), None) = (&mut self.files.trace, &self.failure) {
            self.failure = records.iter().try_for_each(|record| writeln!(file, "{record}")).err();
        }
    }

    fn progress(&mut self, _now: Nanos) -> ControlFlow<()> {
        if self.failure.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// A time in seconds, exactly.
struct Seconds(Nanos);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 .0 / 1_000_000_000, self.0 .0 % 1_000_000_000)
    }
}

/// The text of a value; empty without a value.
struct Maybe<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| write!(f, "{value:.6}"))
    }
}
