//! Networks for tests, in few words.

#![allow(dead_code)] // each test uses some of it

use std::collections::HashMap;
use std::net::Ipv4Addr;

use groupflow_netsim::spec::{
    AgentSpec, Arrivals, EndSpec, FifoSpec, FlowSpec, HostSpec, LinkSpec, Mac, NetworkSpec, NodeKind,
    NodeSpec, RelaySpec, Sizes, SourceSpec, UdpSpec,
};
use groupflow_netsim::{LossSpec, Network, Observer, Sample, TraceRecord};
use groupflow_transport::fanout::Mode;

/// Builds a description.
pub struct NetworkBuilder {
    pub spec: NetworkSpec,
    ports: HashMap<String, u16>,
}

impl NetworkBuilder {
    pub fn new(duration_ns: u64, sample_ns: u64) -> NetworkBuilder {
        let spec = NetworkSpec {
            seed: 1,
            duration_ns,
            sample_ns,
            nodes: vec![],
            links: vec![],
            flows: vec![],
            relays: vec![],
            members: vec![],
            bones: vec![],
            trees: vec![],
        };
        NetworkBuilder { spec, ports: HashMap::new() }
    }

    pub fn host(&mut self, name: &str) {
        let number = self.spec.nodes.len() as u32 + 1;
        let ip = Ipv4Addr::from(10 << 24 | number);
        let [_, b, c, d] = ip.octets();
        let mac = Mac([2, 0, 10, b, c, d]);
        let kind = NodeKind::Host(HostSpec { ip, mac, gateway_mac: Mac([2, 0, 0, 0, 0, 1]) });
        self.spec.nodes.push(NodeSpec { name: name.into(), kind });
    }

    /// A split agent.
    pub fn agent(&mut self, name: &str) {
        self.host(name);
        let node = self.spec.nodes.last_mut().expect("just pushed");
        if let NodeKind::Host(host) = &node.kind {
            node.kind = NodeKind::Agent(AgentSpec { host: host.clone(), packets_per_second: None });
        }
    }

    pub fn relay(&mut self, upstream: &str, branches: &[&str], mode: Mode) {
        let branches = branches.iter().map(|&branch| branch.into()).collect();
        let upstream = upstream.into();
        self.spec.relays.push(RelaySpec { upstream, branches, mode, cache_bytes: None });
    }

    pub fn fifo(&mut self, name: &str) {
        self.router(name, FifoSpec::default());
    }

    pub fn router(&mut self, name: &str, spec: FifoSpec) {
        self.spec.nodes.push(NodeSpec { name: name.into(), kind: NodeKind::Fifo(spec) });
    }

    pub fn link(
        &mut self, a: &str, b: &str, rate_bps: Option<u64>, delay_ns: u64, queue: u32,
    ) -> &mut LinkSpec {
        let mut end = |name: &str| {
            let next = self.ports.entry(name.into()).or_insert(0);
            let port = *next;
            *next += 1;
            EndSpec { node: name.into(), port }
        };
        let (a, b) = (end(a), end(b));
        self.spec.links.push(LinkSpec {
            a,
            b,
            rate_bps,
            delay_ns,
            queue_packets: queue,
            queue_bytes: None,
            loss: LossSpec::None,
            down_ns: vec![],
        });
        self.spec.links.last_mut().expect("just pushed")
    }

    pub fn flow(&mut self, name: &str, from: &str, to: &str, source: SourceSpec) -> &mut FlowSpec {
        let number = self.spec.flows.len() as u16;
        self.spec.flows.push(FlowSpec {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            source_port: 10_000 + number,
            destination_port: 20_000 + number,
            start_ns: 0,
            stop_ns: None,
            shaped_as: None,
            backlog: None,
            source,
        });
        self.spec.flows.last_mut().expect("just pushed")
    }

    pub fn udp(
        &mut self, name: &str, from: &str, to: &str, rate_bps: u64, frame_bytes: u32,
    ) -> &mut FlowSpec {
        self.flow(name, from, to, udp(rate_bps, frame_bytes, Sizes::Constant, Arrivals::Constant))
    }

    pub fn network(&self) -> Network {
        Network::new(self.spec.clone(), &[]).expect("a valid network")
    }

    /// Runs to the end; gives the trace with all samples, and the last of these.
    pub fn traced(&self) -> (MemoryRecorder, Sample) {
        let mut network = self.network();
        network.set_trace(true);
        let mut recorder = MemoryRecorder::default();
        network.run(&mut recorder).expect("it runs");
        let last = recorder.samples.last().expect("a sample").clone();
        (recorder, last)
    }
}

/// Packets that were dropped, or signals that were sent, for a reason.
pub fn count(sample: &Sample, reason: &str) -> u64 {
    let sites = sample.drops.iter().chain(&sample.signals);
    sites.filter(|(site, _)| site.reason == reason).map(|(_, packets)| packets).sum()
}

pub fn udp(rate_bps: u64, frame_bytes: u32, sizes: Sizes, arrivals: Arrivals) -> SourceSpec {
    SourceSpec::Udp(UdpSpec { rate_bps, frame_bytes, sizes, arrivals })
}

/// Keeps everything it is told.
#[derive(Default)]
pub struct MemoryRecorder {
    pub samples: Vec<Sample>,
    pub trace: Vec<TraceRecord>,
}

impl Observer for MemoryRecorder {
    fn sample(&mut self, sample: &Sample) {
        self.samples.push(sample.clone());
    }

    fn trace(&mut self, records: &[TraceRecord]) {
        self.trace.extend_from_slice(records);
    }
}
