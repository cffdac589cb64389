//! The switch core for Python: P4Runtime messages and frames in, frames and packet-ins out.

use groupflow_base::Nanos;
use groupflow_pipeline::{join, split, Port, RegisterId};
use groupflow_switch::core::{parse_port_link, Emitted, LinkChange, Switch, SwitchConfig, TraceRequest};
use groupflow_switch::p4rt::{packet_in, packet_out, Runtime, Status};
use groupflow_switch::proto::p4::v1::{Entity, PacketIn, PacketMetadata, PacketOut, Update};
use num_bigint::BigUint;
use prost::Message;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::programs::checked;

/// P4Runtime's device id of a switch without clients.
const DEVICE_ID: u64 = 1;

type FrameParts = (u16, u64, Py<PyBytes>);
/// Payload and metadata of a packet for the controller.
pub type PacketInParts = (Py<PyBytes>, Vec<(u32, Py<PyBytes>)>);
/// The status code and message of an update that was refused.
pub type WriteStatus = Option<(i32, String)>;

/// A ValueError with an error's text.
pub fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Applies serialised updates, one by one.
pub fn write_each(
    updates: &[Vec<u8>], mut apply: impl FnMut(&Update) -> PyResult<Result<(), Status>>,
) -> PyResult<Vec<WriteStatus>> {
    let mut write = |bytes: &Vec<u8>| {
        let result = apply(&Update::decode(bytes.as_slice()).map_err(invalid)?)?;
        Ok(result.err().map(|refusal| (refusal.code as i32, refusal.message)))
    };
    updates.iter().map(&mut write).collect()
}

/// The message of a packet that the controller sends.
pub fn packet_out_message(payload: Vec<u8>, metadata: Vec<(u32, Vec<u8>)>) -> PacketOut {
    let metadata = metadata.into_iter().map(|(metadata_id, value)| PacketMetadata { metadata_id, value });
    PacketOut { payload, metadata: metadata.collect() }
}

/// The parts of a packet for the controller.
pub fn packet_in_parts(py: Python<'_>, packet: &PacketIn) -> PacketInParts {
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
    let metadata = packet.metadata.iter().map(|m| (m.metadata_id, bytes(&m.value))).collect();
    (bytes(&packet.payload), metadata)
}

/// Begins to trace packets, in virtual time.
pub fn arm_trace(switch: &mut Switch, request: &str) -> PyResult<u64> {
    let request: TraceRequest = serde_json::from_str(request).map_err(invalid)?;
    switch.trace(&TraceRequest { patient: true, ..request }).map_err(invalid)
}

/// The traces of a filter, which ends.
pub fn take_traces(switch: &mut Switch, filter: u64) -> PyResult<String> {
    let traces = switch.tracer().take(filter).unwrap_or_default();
    switch.tracer().disarm(filter);
    serde_json::to_string(&traces).map_err(invalid)
}

fn refused(refusal: Status) -> PyErr {
    invalid(refusal.message)
}

/// A switch as a value; see `groupflow.Switch`.
#[pyclass(module = "groupflow._native")]
pub struct NativeSwitch {
    switch: Switch,
    runtime: Runtime,
}

#[pymethods]
impl NativeSwitch {
    #[new]
    #[allow(clippy::too_many_arguments)] // The make-up of a switch; Python gives defaults.
    fn new(
        program: &str, p4info: &str, ports: Vec<u16>, links: Vec<String>, cpu_port: u16, drop_port: u16,
        priority_queues: u8, seed: u64,
    ) -> PyResult<NativeSwitch> {
        let links =
            links.iter().map(|link| parse_port_link(link)).collect::<Result<_, _>>().map_err(invalid)?;
        let mut switch = Switch::new(SwitchConfig {
            ports: ports.into_iter().map(Port).collect(),
            links,
            cpu_port: Port(cpu_port),
            drop_port: Port(drop_port),
            priorities: priority_queues,
            seed,
            ..SwitchConfig::default()
        })
        .map_err(invalid)?;
        let mut runtime = Runtime::new(DEVICE_ID);
        runtime.install(&mut switch, checked(program, p4info)?);
        Ok(NativeSwitch { switch, runtime })
    }

    /// Applies serialised updates; the result of each is None, or a status code and message.
    fn write(&mut self, updates: Vec<Vec<u8>>) -> PyResult<Vec<WriteStatus>> {
        write_each(&updates, |update| Ok(self.runtime.apply(&mut self.switch, update)))
    }

    /// The serialised entities that match.
    fn read(&self, py: Python<'_>, entities: Vec<Vec<u8>>) -> PyResult<Vec<Py<PyBytes>>> {
        let mut found = Vec::new();
        for bytes in &entities {
            let entity = Entity::decode(bytes.as_slice()).map_err(invalid)?;
            let mut add = |entity| found.push(Entity { entity: Some(entity) }.encode_to_vec());
            self.runtime.find(&self.switch, "", &entity, &mut add).map_err(refused)?;
        }
        Ok(found.iter().map(|bytes| PyBytes::new(py, bytes).unbind()).collect())
    }

    /// Takes a frame that arrives.
    fn inject(&mut self, port: u16, packet: &[u8], now_ns: u64) {
        self.switch.inject(Nanos(now_ns), Port(port), packet);
    }

    /// Whether packets are inside.
    fn holds_packets(&self) -> bool {
        self.switch.holds_packets()
    }

    /// Takes a packet that the controller sends.
    fn packet_out(&mut self, payload: Vec<u8>, metadata: Vec<(u32, Vec<u8>)>, now_ns: u64) -> PyResult<()> {
        let packet = packet_out_message(payload, metadata);
        let config = self.runtime.config().ok_or_else(|| invalid("no program"))?;
        let bytes = packet_out(&config.binding.packet_out, &packet).map_err(refused)?;
        self.switch.packet_out(Nanos(now_ns), &bytes);
        Ok(())
    }

    /// Lets time pass: frames that left, packet-ins, the next deadline.
    fn advance(&mut self, py: Python<'_>, now_ns: u64) -> (Vec<FrameParts>, Vec<PacketInParts>, Option<u64>) {
        let mut emitted = Emitted::default();
        let next = self.switch.advance(Nanos(now_ns), &mut emitted);
        let frames =
            emitted.outputs.iter().map(|o| (o.port.0, o.time.0, PyBytes::new(py, &o.bytes).unbind()));
        let packet_ins = emitted.packet_ins.iter().filter_map(|p| self.packet_in(py, &p.bytes));
        (frames.collect(), packet_ins.collect(), next.map(|time| time.0))
    }

    /// A register's cell, by the full name or a dotted suffix of it.
    fn register(&self, name: &str, index: usize) -> PyResult<BigUint> {
        register_value(&self.switch, name, index)
    }

    /// Sets a register's cell, as the controller would.
    fn set_register(&mut self, name: &str, index: usize, value: BigUint) -> PyResult<()> {
        let register = register_id(&self.switch, name)?;
        let forwarding = self.switch.forwarding_mut().ok_or_else(|| invalid("no program"))?;
        let width = value.bits().max(1) as u32;
        let parts = split(&value.into(), width);
        forwarding.pipeline.register_write(register, index, &parts).map_err(invalid)?;
        self.switch.obey_controller();
        Ok(())
    }

    /// Lets time pass, and discards the frames that leave.
    fn catch_up(&mut self, now_ns: u64) {
        self.switch.catch_up(Nanos(now_ns));
    }

    /// Changes a port's links, as gfswitch's `link` command does.
    fn set_link(&mut self, port: u16, spec: &str) -> PyResult<()> {
        let change: LinkChange = spec.parse().map_err(invalid)?;
        self.switch.change_link(Port(port), &change).map_err(invalid)
    }

    /// Traces packets that a request in JSON chooses; returns the filter's number.
    fn arm_trace(&mut self, request: &str) -> PyResult<u64> {
        arm_trace(&mut self.switch, request)
    }

    /// The traces of a filter as JSON; the filter is forgotten.
    fn take_traces(&mut self, filter: u64) -> PyResult<String> {
        take_traces(&mut self.switch, filter)
    }

    /// Counters of ports, queues and drops as JSON.
    fn stats(&self) -> PyResult<String> {
        serde_json::to_string(&self.switch.stats()).map_err(invalid)
    }
}

impl NativeSwitch {
    fn packet_in(&self, py: Python<'_>, bytes: &[u8]) -> Option<PacketInParts> {
        let packet = packet_in(&self.runtime.config()?.binding.packet_in, bytes)?;
        Some(packet_in_parts(py, &packet))
    }
}

/// A register's cell at a switch, by the full name or a dotted suffix of it.
pub fn register_value(switch: &Switch, name: &str, index: usize) -> PyResult<BigUint> {
    let register = register_id(switch, name)?;
    let forwarding = switch.forwarding().ok_or_else(|| invalid("no program"))?;
    Ok(join(&forwarding.pipeline.register_parts(register, index).map_err(invalid)?))
}

fn register_id(switch: &Switch, name: &str) -> PyResult<RegisterId> {
    let forwarding = switch.forwarding().ok_or_else(|| invalid("no program"))?;
    let suffix = format!(".{name}");
    let registers = forwarding.pipeline.program().registers.iter();
    let mut matching = registers.filter(|register| register.name == name || register.name.ends_with(&suffix));
    match (matching.next(), matching.next()) {
        (Some(register), None) => Ok(register.id),
        (None, _) => Err(invalid(format!("register: the program has none named {name:?}"))),
        (Some(_), Some(_)) => {
            Err(invalid(format!("register: {name:?} names several: give more of the name")))
        }
    }
}

/// A trace in JSON as text for people.
#[pyfunction]
pub fn render_trace(trace: &str) -> PyResult<String> {
    Ok(groupflow_switch::shell::render_trace(&serde_json::from_str(trace).map_err(invalid)?))
}
