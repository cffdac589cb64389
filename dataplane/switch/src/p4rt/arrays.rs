//! Registers, indirect counters and indirect meters: arrays with an index.
//!
//! P4Runtime specification, sections "RegisterEntry", "CounterEntry" and "MeterEntry".

use std::collections::BTreeMap;
use std::ops::Range;

use groupflow_pipeline::StateError;

use super::binding::BoundArray;
use super::bytestring::{decode_parts, decode_signed, encode_parts, encode_signed};
use super::direct::{colour_counts, colours, counter_data, counter_value, meter_config, meter_rates};
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{Found, Setting, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::p4_data::Data;
use crate::proto::p4::v1::{entity, CounterEntry, Index, MeterEntry, P4Data, RegisterEntry};

pub fn write_register(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &RegisterEntry,
) -> Result<(), Status> {
    kind.only_modify().map_err(|refusal| refusal.within("register_entry"))?;
    let array = find(&state.config.binding.registers, entry.register_id, "register")?;
    let mut write = || {
        let parts = register_value(array, entry.data.as_ref())?;
        cells(array, entry.index.as_ref())?.try_for_each(|cell| {
            forwarding.pipeline.register_write(array.array, cell, &parts).map_err(refusal)
        })
    };
    write().map_err(|refusal| within("register", array, refusal))
}

pub fn read_register(
    state: &ControlState, forwarding: &Forwarding, filter: &RegisterEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    let arrays = &state.config.binding.registers;
    let asked = (filter.register_id, filter.index.as_ref());
    read(arrays, asked, "register", found, |register_id, array, cell| {
        let parts = forwarding.pipeline.register_parts(array.array, cell)?;
        let bytes = if array.signed { encode_signed(&parts, array.width) } else { encode_parts(&parts) };
        let data = Some(P4Data { data: Some(Data::Bitstring(bytes)) });
        Ok(RegisterEntry { register_id, index: Some(index(cell)), data })
    })
}

pub fn write_counter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &CounterEntry,
) -> Result<(), Status> {
    kind.only_modify().map_err(|refusal| refusal.within("counter_entry"))?;
    let array = find(&state.config.binding.counters, entry.counter_id, "counter")?;
    let mut write = || {
        let mut cells = cells(array, entry.index.as_ref())?;
        let Some(value) = entry.data.as_ref().map(counter_value).transpose()? else { return Ok(()) };
        cells
            .try_for_each(|cell| forwarding.pipeline.counter_write(array.array, cell, value).map_err(refusal))
    };
    write().map_err(|refusal| within("counter", array, refusal))
}

pub fn read_counter(
    state: &ControlState, forwarding: &Forwarding, filter: &CounterEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    let arrays = &state.config.binding.counters;
    let asked = (filter.counter_id, filter.index.as_ref());
    read(arrays, asked, "counter", found, |counter_id, array, cell| {
        let data = Some(counter_data(forwarding.pipeline.counter_read(array.array, cell)?));
        Ok(CounterEntry { counter_id, index: Some(index(cell)), data })
    })
}

pub fn write_meter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &MeterEntry, setting: Setting,
) -> Result<(), Status> {
    kind.only_modify().map_err(|refusal| refusal.within("meter_entry"))?;
    let array = find(&state.config.binding.meters, entry.meter_id, "meter")?;
    let mut write = || {
        let counts = colours(&entry.counter_data, setting.purpose)?;
        let rates = entry.config.as_ref().map(|config| meter_rates(array.meter, config)).transpose()?;
        let pipeline = &mut forwarding.pipeline;
        cells(array, entry.index.as_ref())?
            .try_for_each(|cell| {
                pipeline.meter_write(array.array, cell, rates)?;
                counts.map_or(Ok(()), |counts| pipeline.meter_count(array.array, cell, counts))
            })
            .map_err(refusal)
    };
    write().map_err(|refusal| within("meter", array, refusal))
}

pub fn read_meter(
    state: &ControlState, forwarding: &Forwarding, filter: &MeterEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    let arrays = &state.config.binding.meters;
    let asked = (filter.meter_id, filter.index.as_ref());
    read(arrays, asked, "meter", found, |meter_id, array, cell| {
        let config = forwarding.pipeline.meter_read(array.array, cell)?.map(meter_config);
        let colours = forwarding.pipeline.meter_colours(array.array, cell)?;
        let counter_data = filter.counter_data.as_ref().map(|_| colour_counts(colours));
        Ok(MeterEntry { meter_id, index: Some(index(cell)), config, counter_data })
    })
}

type Arrays<Id> = BTreeMap<u32, BoundArray<Id>>;

/// Adds an entity for each cell of the arrays that an id and an index ask for.
fn read<Id, E: Into<entity::Entity>>(
    arrays: &Arrays<Id>, (id, index): (u32, Option<&Index>), what: &str, found: &mut Found<'_>,
    entry: impl Fn(u32, &BoundArray<Id>, usize) -> Result<E, StateError>,
) -> Result<(), Status> {
    for (id, array) in wanted(arrays, id, index.is_some(), what)? {
        for cell in cells(array, index).map_err(|refusal| within(what, array, refusal))? {
            let entry = entry(id, array, cell).map_err(refusal)?;
            found(entry.into());
        }
    }
    Ok(())
}

fn find<'a, Id>(arrays: &'a Arrays<Id>, id: u32, what: &str) -> Result<&'a BoundArray<Id>, Status> {
    arrays.get(&id).ok_or_else(|| Status::invalid(format!("{what}_id: the program has no {what} {id}")))
}

/// The arrays that a request is about; id 0 is all of them.
fn wanted<'a, Id>(
    arrays: &'a Arrays<Id>, id: u32, with_index: bool, what: &str,
) -> Result<Vec<(u32, &'a BoundArray<Id>)>, Status> {
    if id != 0 {
        return Ok(vec![(id, find(arrays, id, what)?)]);
    }
    refuse_if!(with_index, "{what}_id: it is zero, so nothing else can be asked for");
    Ok(arrays.iter().map(|(id, array)| (*id, array)).collect())
}

fn cells<Id>(array: &BoundArray<Id>, index: Option<&Index>) -> Result<Range<usize>, Status> {
    let Some(Index { index }) = index else { return Ok(0..array.size) };
    refuse_if!(*index < 0, "index: {index} is negative");
    match usize::try_from(*index).ok().filter(|cell| *cell < array.size) {
        Some(cell) => Ok(cell..cell + 1),
        None => Err(Status::out_of_range(format!("index: {index}, of only {} cells", array.size))),
    }
}

fn register_value<Id>(array: &BoundArray<Id>, data: Option<&P4Data>) -> Result<Vec<u128>, Status> {
    let value = match data.and_then(|data| data.data.as_ref()) {
        Some(Data::Bitstring(bytes)) if array.signed => decode_signed(bytes, array.width),
        Some(Data::Bitstring(bytes)) => decode_parts(bytes, array.width),
        Some(_) => Err(Status::invalid("it must be a bitstring")),
        None => Err(Status::invalid("it is missing")),
    };
    value.map_err(|refusal| refusal.within("data"))
}

fn index(cell: usize) -> Index {
    // Sizes come from an int32 or int64 of P4Info.
    Index { index: i64::try_from(cell).unwrap_or(i64::MAX) }
}

fn within<Id>(what: &str, array: &BoundArray<Id>, refusal: Status) -> Status {
    refusal.within(&format!("{what} {}", array.name))
}

fn refusal(error: StateError) -> Status {
    let code = match error {
        StateError::Index { .. } | StateError::Width(..) => Code::OutOfRange,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.to_string())
}
