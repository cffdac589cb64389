//! The simulator for Python: a network from its description, switches told their entries, time in steps.

use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use groupflow_base::{BitRate, Nanos};
use groupflow_netsim::spec::NetworkSpec;
use groupflow_netsim::{
    CacheSample, DropSite, Drops, Files, FlowId, LinkSample, Network, NodeId, Observer, P4Switch, Recorder,
    Sample, TraceRecord,
};
use groupflow_pipeline::Port;
use num_bigint::BigUint;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{json, Value};

use crate::programs::checked;
use crate::switch::{
    arm_trace, invalid, packet_in_parts, packet_out_message, register_value, take_traces, write_each,
    WriteStatus,
};

type FileWriter = BufWriter<File>;
/// A packet-in: time, switch, payload, metadata.
type SimPacketIn = (u64, String, Py<PyBytes>, Vec<(u32, Py<PyBytes>)>);
/// Delivered bytes, packets, missing packets, shortest round trip and retransmission timeout in ns.
type SimReading = (u64, u64, u64, Option<u64>, Option<u64>);

/// A network in virtual time; see `groupflow.sim`.
#[pyclass(module = "groupflow._native")]
pub struct NativeSim {
    /// Never locked: Python's objects must be `Sync`, and sources of bytes are not.
    network: Mutex<Network>,
    recorder: Option<Recorder<FileWriter>>,
    last: Sample,
}

#[pymethods]
impl NativeSim {
    #[new]
    fn new(spec: &str, programs: Vec<(String, String)>) -> PyResult<NativeSim> {
        let spec: NetworkSpec = serde_json::from_str(spec).map_err(invalid)?;
        let programs =
            programs.iter().map(|(json, info)| checked(json, info)).collect::<PyResult<Vec<_>>>()?;
        let network = Mutex::new(Network::new(spec, &programs).map_err(invalid)?);
        Ok(NativeSim { network, recorder: None, last: Sample::default() })
    }

    /// Writes measurements to files in an existing folder.
    fn record(&mut self, folder: PathBuf, trace: bool) -> PyResult<()> {
        let create = |name: &str| -> PyResult<FileWriter> {
            let path = folder.join(name);
            File::create(&path).map(BufWriter::new).map_err(|error| unwritable(&path, &error))
        };
        let files = Files {
            throughput: create("flow_throughput.csv")?,
            efficiency: create("efficiency.csv")?,
            queues: create("queues.csv")?,
            windows: create("windows.csv")?,
            drops: create("drops.csv")?,
            trace: trace.then(|| create("trace.txt")).transpose()?,
        };
        self.network().set_trace(trace);
        let recorder = Recorder::new(self.network(), files).map_err(|error| unwritable(&folder, &error))?;
        self.recorder = Some(recorder);
        Ok(())
    }

    /// Applies serialised updates at a switch; the result of each is None, or a status code and message.
    fn write(&mut self, switch: &str, updates: Vec<Vec<u8>>) -> PyResult<Vec<WriteStatus>> {
        let node = self.switch(switch)?;
        write_each(&updates, |update| self.network().write(node, update).ok_or_else(|| no_switch(switch)))
    }

    /// Changes a queue as `gfswitch`'s command line does: `level=3,weight=2,rate=1000pps,packets=100`.
    fn set_queue(&mut self, switch: &str, port: u16, queue: u8, settings: &str) -> PyResult<()> {
        let change = settings.parse().map_err(invalid)?;
        self.with_switch(switch, |s| s.core_mut().change_queue(Port(port), queue, &change))?.map_err(invalid)
    }

    /// The packets from switches since the last call: time (ns), switch, payload, metadata; by time.
    fn take_packet_ins(&mut self, py: Python<'_>) -> Vec<SimPacketIn> {
        let mut found = Vec::new();
        for place in 0..self.network().spec().nodes.len() {
            let node = NodeId(place as u32);
            for (time, packet) in
                self.network().with_switch(node, P4Switch::take_packet_ins).unwrap_or_default()
            {
                let name = self.network().spec().nodes[place].name.clone();
                let (payload, metadata) = packet_in_parts(py, &packet);
                found.push((time.0, name, payload, metadata));
            }
        }
        found.sort_by_key(|packet| packet.0);
        found
    }

    /// Sends a packet of the controller, now.
    fn packet_out(&mut self, switch: &str, payload: Vec<u8>, metadata: Vec<(u32, Vec<u8>)>) -> PyResult<()> {
        let packet = packet_out_message(payload, metadata);
        let now = self.network().now();
        self.with_switch(switch, |s| s.packet_out(now, &packet))?.map_err(|refusal| invalid(refusal.message))
    }

    /// A register's cell at a switch, by the full name or a dotted suffix of it.
    fn register(&mut self, switch: &str, name: &str, index: usize) -> PyResult<BigUint> {
        self.with_switch(switch, |s| register_value(s.core_mut(), name, index))?
    }

    /// Traces packets at a switch that a request in JSON chooses; returns the filter's number.
    fn arm_trace(&mut self, switch: &str, request: &str) -> PyResult<u64> {
        self.with_switch(switch, |s| arm_trace(s.core_mut(), request))?
    }

    /// The traces of a filter as JSON; the filter is forgotten.
    fn take_traces(&mut self, switch: &str, filter: u64) -> PyResult<String> {
        self.with_switch(switch, |s| take_traces(s.core_mut(), filter))?
    }

    /// Counters of a switch as JSON.
    fn stats(&mut self, switch: &str) -> PyResult<String> {
        let stats = self.with_switch(switch, |s| s.core_mut().stats())?;
        serde_json::to_string(&stats).map_err(invalid)
    }

    /// Runs for about this long by the wall, or until a time: (time, hops, whether the scenario is over).
    #[pyo3(signature = (wall_ms, until_ns=None))]
    fn step(&mut self, py: Python<'_>, wall_ms: u64, until_ns: Option<u64>) -> PyResult<(u64, u64, bool)> {
        let until = Nanos(until_ns.unwrap_or(u64::MAX).min(self.network().spec().duration_ns));
        let NativeSim { network, recorder, last } = self;
        let network = exclusive(network);
        let result = py.allow_threads(|| {
            let stop = Instant::now() + Duration::from_millis(wall_ms);
            network.run_until(until, &mut Stepper { recorder, last, stop })
        });
        result.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        if let Some(recorder) = recorder {
            // The caller knows the folder.
            recorder.finish().map_err(|error| unwritable(Path::new(""), &error))?;
        }
        Ok((network.now().0, network.hops(), network.finished()))
    }

    /// Lets the receiver of a TCP flow with a receive window advertise `bytes` from now on.
    fn set_receive_window(&mut self, flow: &str, bytes: u64) -> PyResult<()> {
        let id = self.flow(flow)?;
        self.network().set_receive_window(id, bytes).ok_or_else(|| no_tcp(flow))
    }

    /// The measurements of the receiver of a TCP flow with a receive window.
    fn read_receiver(&mut self, flow: &str) -> PyResult<SimReading> {
        let id = self.flow(flow)?;
        let reading = self.network().read_receiver(id).ok_or_else(|| no_tcp(flow))?;
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        let (trip, timeout) = (ns(reading.round_trip), ns(reading.timeout));
        Ok((reading.delivered, reading.packets, reading.missing, trip, timeout))
    }

    /// Lets a greedy TCP flow begin now, or go on.
    fn resume_flow(&mut self, flow: &str) -> PyResult<()> {
        let id = self.flow(flow)?;
        self.network().resume_flow(id).ok_or_else(|| no_tcp(flow))
    }

    /// Lets a greedy TCP flow send nothing new from now on.
    fn pause_flow(&mut self, flow: &str) -> PyResult<()> {
        let id = self.flow(flow)?;
        self.network().pause_flow(id).ok_or_else(|| no_tcp(flow))
    }

    /// Gives the link between two nodes this delay from now on, which must not be shorter than before.
    fn lengthen_link(&mut self, a: &str, b: &str, delay_ns: u64) -> PyResult<()> {
        let (near, far) = self.ends(a, b)?;
        match self.network().lengthen_link(near, far, Nanos(delay_ns)) {
            Some(true) => Ok(()),
            Some(false) => Err(invalid(format!("delay_ns: {delay_ns} is shorter than the link's delay"))),
            None => Err(no_link(a, b)),
        }
    }

    /// Gives the link between a host and a router without P4 this rate from now on.
    fn set_link_rate(&mut self, a: &str, b: &str, rate_bps: u64) -> PyResult<()> {
        let (near, far) = self.ends(a, b)?;
        self.network().set_link_rate(near, far, BitRate(rate_bps)).ok_or_else(|| no_link(a, b))
    }

    /// Frames that switches and routers took so far.
    fn hops(&mut self) -> u64 {
        self.network().hops()
    }

    /// The last measurements, as JSON; when the scenario is over, those of its end.
    fn summary(&mut self) -> String {
        let NativeSim { network, last, .. } = self;
        let network = exclusive(network);
        if network.finished() && last.time < network.now() {
            *last = network.sample();
        }
        summary(network, last).to_string()
    }
}

impl NativeSim {
    fn network(&mut self) -> &mut Network {
        exclusive(&mut self.network)
    }

    fn node(&mut self, name: &str) -> Option<NodeId> {
        self.network().node(name)
    }

    fn ends(&mut self, a: &str, b: &str) -> PyResult<(NodeId, NodeId)> {
        self.node(a).zip(self.node(b)).ok_or_else(|| no_link(a, b))
    }

    fn flow(&mut self, name: &str) -> PyResult<FlowId> {
        self.network().flow(name).ok_or_else(|| invalid(format!("flow: there is none of the name {name:?}")))
    }

    fn switch(&mut self, name: &str) -> PyResult<NodeId> {
        self.node(name).ok_or_else(|| no_switch(name))
    }

    fn with_switch<R>(&mut self, name: &str, act: impl FnOnce(&mut P4Switch) -> R) -> PyResult<R> {
        let node = self.switch(name)?;
        self.network().with_switch(node, act).ok_or_else(|| no_switch(name))
    }
}

fn exclusive(network: &mut Mutex<Network>) -> &mut Network {
    network.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Records, and ends a step when its time is over.
struct Stepper<'a> {
    recorder: &'a mut Option<Recorder<FileWriter>>,
    last: &'a mut Sample,
    stop: Instant,
}

impl Observer for Stepper<'_> {
    fn sample(&mut self, sample: &Sample) {
        self.last.clone_from(sample);
        if let Some(recorder) = self.recorder {
            recorder.sample(sample);
        }
    }

    fn trace(&mut self, records: &[TraceRecord]) {
        if let Some(recorder) = self.recorder {
            recorder.trace(records);
        }
    }

    fn progress(&mut self, now: Nanos) -> ControlFlow<()> {
        if Instant::now() >= self.stop {
            return ControlFlow::Break(());
        }
        self.recorder.as_mut().map_or(ControlFlow::Continue(()), |recorder| recorder.progress(now))
    }
}

fn summary(network: &Network, sample: &Sample) -> Value {
    let spec = network.spec();
    let (names, seconds) = (&spec.nodes, |time: Nanos| time.0 as f64 / 1e9);
    // Only flows between hosts, which are the first, are told when to stop.
    let stops = spec.flows.iter().map(|flow| flow.stop_ns).chain(std::iter::repeat(None));
    let flows: Vec<Value> = spec
        .flow_names()
        .zip(stops)
        .zip(&sample.flows)
        .map(|((name, stop), flow)| {
            let mean = |sum: u128| {
                (flow.delivered_packets > 0).then(|| sum as f64 / flow.delivered_packets as f64 / 1e9)
            };
            let ended = flow.finished.unwrap_or(stop.is_some_and(|stop| stop <= sample.time.0));
            json!({
                "flow": name,
                "start_s": flow.first.map(seconds),
                "end_s": flow.latest.filter(|_| ended).map(seconds),
                "sent_packets": flow.sent_packets,
                "offered_bytes": flow.offered_bytes,
                "delivered_packets": flow.delivered_packets,
                "delivered_bytes": flow.delivered_bytes,
                "acknowledged_bytes": flow.acknowledged_bytes,
                "mean_delay_s": flow.delay_ns.and_then(mean),
                "retransmissions": flow.retransmissions,
                "repairs": flow.repairs,
                "timeouts": flow.tcp.map(|tcp| tcp.timeouts),
                "fast_retransmits": flow.tcp.map(|tcp| tcp.fast_retransmits),
                "ecn_reductions": flow.tcp.map(|tcp| tcp.ecn_reductions),
                "finished": flow.finished,
                "bone": flow.bone,
                "tree": flow.tree,
            })
        })
        .collect();
    let places = |counts: &Drops| -> Vec<Value> {
        let place = |(site, packets): (&DropSite, &u64)| {
            let node = &names[site.node.index()].name;
            let DropSite { port, queue, reason, .. } = site;
            json!({"node": node, "port": port, "queue": queue, "reason": reason, "packets": packets})
        };
        counts.iter().map(place).collect()
    };
    json!({
        "simulated_s": seconds(sample.time),
        "seed": spec.seed,
        "packet_hops": sample.hops,
        "flows": flows,
        "links": links(network, sample),
        "caches": caches(network, sample),
        "drops": places(&sample.drops),
        "signals": places(&sample.signals),
    })
}

/// The frames that each node sent out of each port, and the neighbour there.
fn links(network: &Network, sample: &Sample) -> Vec<Value> {
    let nodes = &network.spec().nodes;
    let far = |link: &LinkSample| {
        let near = (nodes[link.node.index()].name.as_str(), link.port);
        let ends = network.spec().links.iter().flat_map(|link| [(&link.a, &link.b), (&link.b, &link.a)]);
        let mut found = ends.filter(|(a, _)| (a.node.as_str(), a.port) == near);
        found.next().map(|(_, b)| b.node.as_str())
    };
    let value = |link: &LinkSample| {
        let from = &nodes[link.node.index()].name;
        json!({"from": from, "to": far(link), "frames": link.frames, "bytes": link.bytes})
    };
    sample.links.iter().map(value).collect()
}

/// The bytes that agents hold.
fn caches(network: &Network, sample: &Sample) -> Vec<Value> {
    let value = |cache: &CacheSample| {
        let node = &network.spec().nodes[cache.node.index()].name;
        json!({"node": node, "bytes": cache.bytes, "peak_bytes": cache.peak_bytes})
    };
    sample.caches.iter().map(value).collect()
}

fn unwritable(path: &Path, error: &std::io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string(), path.to_owned()))
}

fn no_link(a: &str, b: &str) -> PyErr {
    invalid(format!("link: there is none between {a:?} and {b:?}"))
}

fn no_tcp(name: &str) -> PyErr {
    invalid(format!("flow: {name:?} is no TCP flow between hosts"))
}

fn no_switch(name: &str) -> PyErr {
    invalid(format!("switch: there is no P4 switch {name:?}"))
}
