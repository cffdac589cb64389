//! Queues, port settings and packet generators as ExternEntry, with a google.protobuf.Struct in it.
//!
//! P4Runtime specification, section "ExternEntry": `extern_type_id` names the type, and the Struct holds all
//! the rest, so that `extern_id` is 0. docs/reference/traffic-manager.md lists the fields.

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use serde_json::{json, Value};

use super::fields::{to_struct, Fields};
use super::status::Status;
use super::update::{Found, UpdateKind};
use crate::core::{
    parse_queue_rate, ConfigError, Generator, GeneratorError, Generators, PortStats, QueueChange, QueueStats,
    Switch, GENERATOR_LIMIT, MAX_FRAME, MAX_PORT, QUEUE_BYTES_LIMIT, QUEUE_LIMIT,
};
use crate::proto::p4::v1::ExternEntry;

/// `extern_type_id` of a queue of a port; P4Runtime leaves 0x81 to 0xfe to architectures.
pub const QUEUE: u32 = 0x81;
/// `extern_type_id` of the settings of a port.
pub const PORT: u32 = 0x82;
/// `extern_type_id` of a packet generator.
pub const GENERATOR: u32 = 0x83;

/// 2^53: later times are not exact in a Struct.
const LATEST: u64 = 1 << 53;

/// Carries out an update. If a program is saved, its generators are changed.
pub fn write(
    switch: &mut Switch, saved: Option<&mut Generators>, kind: UpdateKind, entry: &ExternEntry,
) -> Result<(), Status> {
    check_id(entry)?;
    let fields = Fields::of(entry.entry.as_ref())?;
    match entry.extern_type_id {
        QUEUE => write_queue(switch, kind, fields).map_err(|e| e.within("queue")),
        PORT => write_port(switch, kind, fields).map_err(|e| e.within("port")),
        GENERATOR => write_generator(switch, saved, kind, fields).map_err(|e| e.within("generator")),
        other => Err(unknown(other)),
    }
}

pub fn read(
    switch: &Switch, generators: &Generators, filter: &ExternEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    check_id(filter)?;
    let fields = Fields::of(filter.entry.as_ref())?;
    let (type_id, entries) = match filter.extern_type_id {
        QUEUE => (QUEUE, queues(switch, fields).map_err(|e| e.within("queue"))?),
        PORT => (PORT, ports(switch, fields).map_err(|e| e.within("port"))?),
        GENERATOR => (GENERATOR, all_generators(generators, fields).map_err(|e| e.within("generator"))?),
        // A read of any type gives the generators, which can be removed: clients ask for it to clean up.
        0 if fields.is_empty() => (GENERATOR, all_generators(generators, fields)?),
        0 => return Err(Status::invalid("extern_type_id: it is zero, so nothing else can be asked for")),
        other => return Err(unknown(other)),
    };
    for entry in entries {
        let entry = ExternEntry { extern_type_id: type_id, extern_id: 0, entry: Some(to_struct(entry)) };
        found(entry.into());
    }
    Ok(())
}

fn write_queue(switch: &mut Switch, kind: UpdateKind, mut fields: Fields) -> Result<(), Status> {
    kind.only_modify()?;
    let port = fields.required("port", 0, MAX_PORT.into())? as u16;
    let queue = fields.required("queue", 0, u8::MAX.into())? as u8;
    let wrong_rate = |error| Status::invalid(format!("entry.rate: {error}"));
    let change = QueueChange {
        level: fields.number("level", 0, u8::MAX.into())?.map(|level| level as u8),
        weight: fields.number("weight", 1, u16::MAX.into())?.map(|weight| weight as u16),
        rate: fields.text("rate")?.map(|text| parse_queue_rate(&text)).transpose().map_err(wrong_rate)?,
        paused: fields.flag("paused")?,
        limit_packets: fields
            .optional_number("limit_packets", 1, QUEUE_LIMIT.into())?
            .map(|limit| limit.map(|packets| packets as u32)),
        limit_bytes: fields.optional_number("limit_bytes", 1, QUEUE_BYTES_LIMIT)?,
    };
    fields.finish()?;
    switch.change_queue(Port(port), queue, &change).map_err(config_refusal)
}

fn write_port(switch: &mut Switch, kind: UpdateKind, mut fields: Fields) -> Result<(), Status> {
    kind.only_modify()?;
    let port = fields.required("port", 0, MAX_PORT.into())? as u16;
    let nominal = fields.number("nominal_packet", 1, MAX_FRAME as u64)?;
    fields.finish()?;
    match nominal {
        Some(bytes) => switch.set_nominal_packet(Port(port), bytes as u32).map_err(config_refusal),
        None => switch.nominal_packet(Port(port)).map(drop).map_err(config_refusal),
    }
}

fn write_generator(
    switch: &mut Switch, saved: Option<&mut Generators>, kind: UpdateKind, mut fields: Fields,
) -> Result<(), Status> {
    let now = switch.reached();
    let id = fields.required("id", 0, u64::from(GENERATOR_LIMIT) - 1)? as u8;
    let generator = match kind {
        UpdateKind::Delete => None,
        _ => Some(generator(&mut fields, now)?),
    };
    fields.finish()?;
    let change = |generators: &mut Generators, now: Nanos| match (kind, generator) {
        (UpdateKind::Insert, Some(generator)) => generators.insert(now, id, generator),
        (UpdateKind::Modify, Some(generator)) => generators.modify(now, id, generator),
        _ => generators.delete(id),
    };
    let result = match saved {
        Some(saved) => change(saved, now),
        None => switch.change_generators(change).unwrap_or(Err(GeneratorError::NotFound)),
    };
    result.map_err(|error| generator_refusal(error).within(&id.to_string()))
}

fn generator(fields: &mut Fields, now: Nanos) -> Result<Generator, Status> {
    let wrong = |what: &str| Status::invalid(format!("entry.frame: it is {what}"));
    let bytes = |text| hex::decode::<String>(text).map_err(|_| wrong("not hexadecimal, two digits a byte"));
    Ok(Generator {
        period: Nanos(fields.required("period_ns", 0, LATEST)?),
        first: fields.number("first_ns", 0, LATEST)?.map_or(now, Nanos),
        frame: fields.text("frame")?.ok_or_else(|| wrong("missing")).and_then(bytes)?,
        port: Port(fields.number("port", 0, MAX_PORT.into())?.unwrap_or(0) as u16),
        enabled: fields.flag("enabled")?.unwrap_or(true),
    })
}

fn queues(switch: &Switch, mut filter: Fields) -> Result<Vec<Value>, Status> {
    let (port, queue) =
        (filter.number("port", 0, MAX_PORT.into())?, filter.number("queue", 0, u8::MAX.into())?);
    filter.finish()?;
    let mut found = Vec::new();
    for PortStats { port, outbound, .. } in ports_of(switch, port) {
        let queues = outbound.queues.into_iter();
        let wanted = queues.filter(|stats| queue.map_or(true, |queue| queue == u64::from(stats.priority)));
        found.extend(wanted.map(|stats| queue_entry(port, stats)));
    }
    Ok(found)
}

/// A queue's statistics, in which no rate is a word, and port and queue are named as in a write.
fn queue_entry(port: u16, stats: QueueStats) -> Value {
    // A structure of numbers and texts always has a JSON form.
    let mut entry = serde_json::to_value(stats).unwrap_or_default();
    entry["port"] = port.into();
    entry["queue"] = entry["priority"].take();
    if entry["rate"].is_null() {
        entry["rate"] = "unlimited".into();
    }
    entry.as_object_mut().and_then(|fields| fields.remove("priority"));
    entry
}

fn ports(switch: &Switch, mut filter: Fields) -> Result<Vec<Value>, Status> {
    let port = filter.number("port", 0, MAX_PORT.into())?;
    filter.finish()?;
    let entry = |PortStats { port, outbound, .. }: PortStats| {
        let bytes = outbound.nominal_packet;
        json!({ "port": port, "nominal_packet": bytes })
    };
    Ok(ports_of(switch, port).map(entry).collect())
}

fn ports_of(switch: &Switch, wanted: Option<u64>) -> impl Iterator<Item = PortStats> + '_ {
    switch.port_stats(wanted.map(|port| Port(port as u16)))
}

fn all_generators(generators: &Generators, mut filter: Fields) -> Result<Vec<Value>, Status> {
    let id = filter.number("id", 0, u64::from(GENERATOR_LIMIT) - 1)?;
    filter.finish()?;
    let wanted = generators.iter().filter(|(other, ..)| id.map_or(true, |id| id == u64::from(*other)));
    let entry = |(id, generator, ticks): (u8, &Generator, u64)| {
        json!({
            "id": id,
            "period_ns": generator.period.0,
            "first_ns": generator.first.0,
            "frame": hex::encode(&generator.frame),
            "port": generator.port.0,
            "enabled": generator.enabled,
            "ticks": ticks,
        })
    };
    Ok(wanted.map(entry).collect())
}

fn check_id(entry: &ExternEntry) -> Result<(), Status> {
    let id = entry.extern_id;
    refuse_if!(id != 0, "extern_id: {id}, and must be 0: the entry says which one");
    Ok(())
}

fn unknown(type_id: u32) -> Status {
    Status::invalid(format!(
        "extern_type_id: {type_id:#x} is not {QUEUE:#x} (queue), {PORT:#x} (port) or {GENERATOR:#x} \
            (generator)"
    ))
}

fn config_refusal(error: ConfigError) -> Status {
    match error {
        ConfigError::NoSuchPort(_) => Status::invalid(format!("entry.port: {error}")),
        ConfigError::NoSuchQueue(..) => Status::invalid(format!("entry.queue: {error}")),
        ConfigError::PacketSize(_) => Status::invalid(format!("entry.nominal_packet: {error}")),
        other => Status::invalid(other.to_string()),
    }
}

fn generator_refusal(error: GeneratorError) -> Status {
    match error {
        GeneratorError::AlreadyExists => Status::exists(error.to_string()),
        GeneratorError::NotFound => Status::not_found(error.to_string()),
        other => Status::invalid(format!("entry.{other}")),
    }
}
