//! Direct counters and meters: state that belongs to table entries.
//!
//! P4Runtime specification, sections "Direct Resources", "DirectCounterEntry" and "DirectMeterEntry".

use groupflow_pipeline::{CounterValue, EntryKey, EntryResources, MeterConfig, MeterKind, Pipeline};

use super::binding::BoundTable;
use super::matching;
use super::state::ControlState;
use super::status::Status;
use super::table;
use super::table_read::key_message;
use super::update::{Found, Purpose, Setting, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::{self, DirectCounterEntry, DirectMeterEntry, TableEntry};

/// The counter and meter in a write of a table entry. The default is that of a default entry which is reset.
#[derive(Debug)]
pub struct DirectResources {
    counter: Option<CounterValue>,
    /// The new rates; an entry without any passes everything.
    meter: Option<MeterConfig>,
    colours: Option<[CounterValue; 3]>,
}

impl Default for DirectResources {
    fn default() -> DirectResources {
        let colours = Some(Default::default());
        DirectResources { counter: Some(CounterValue::default()), meter: None, colours }
    }
}

impl DirectResources {
    pub fn of(table: &BoundTable, entry: &TableEntry, purpose: Purpose) -> Result<DirectResources, Status> {
        let counts = entry.counter_data.is_some();
        refuse_if!(counts && !table.direct_counter, "counter_data: the table has no direct counter");
        let config = entry.meter_config.as_ref().map(|_| "meter_config");
        let given = config.or(entry.meter_counter_data.as_ref().map(|_| "meter_counter_data"));
        if let Some(field) = given.filter(|_| table.direct_meter.is_none()) {
            return Err(Status::invalid(format!("{field}: the table has no direct meter")));
        }
        let rates = table.direct_meter.zip(entry.meter_config.as_ref());
        Ok(DirectResources {
            counter: entry.counter_data.as_ref().map(counter_value).transpose()?,
            meter: rates.map(|(kind, config)| meter_rates(kind, config)).transpose()?,
            colours: colours(&entry.meter_counter_data, purpose)?,
        })
    }

    /// Sets counter and meter. A counter that the entry does not mention stays, and such a meter is reset.
    pub fn apply(
        self, pipeline: &mut Pipeline, table: &BoundTable, key: Option<&EntryKey>,
    ) -> Result<(), Status> {
        if let Some(value) = self.counter.filter(|_| table.direct_counter) {
            pipeline.direct_counter_write(table.table, key, value).map_err(table::refusal)?;
        }
        if table.direct_meter.is_some() {
            pipeline.direct_meter_write(table.table, key, self.meter).map_err(table::refusal)?;
        }
        if let Some(colours) = self.colours.filter(|_| table.direct_meter.is_some()) {
            pipeline.direct_meter_count(table.table, key, colours).map_err(table::refusal)?;
        }
        Ok(())
    }
}

pub fn write_counter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &DirectCounterEntry,
) -> Result<(), Status> {
    let (table, key) = target(state, kind, entry.table_entry.as_ref(), "direct_counter_entry")?;
    refuse_if!(!table.direct_counter, "table {} has no direct counter", table.name);
    let (pipeline, key) = (&mut forwarding.pipeline, key.as_ref());
    match (&entry.data, key) {
        (Some(data), key) => pipeline.direct_counter_write(table.table, key, counter_value(data)?),
        (None, Some(key)) => pipeline.table_get(table.table, key).map(drop),
        (None, None) => Ok(()),
    }
    .map_err(|error| table.within(table::refusal(error)))
}

pub fn write_meter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &DirectMeterEntry,
    setting: Setting,
) -> Result<(), Status> {
    let (table, key) = target(state, kind, entry.table_entry.as_ref(), "direct_meter_entry")?;
    let none = || Status::invalid(format!("table {} has no direct meter", table.name));
    let kind = table.direct_meter.ok_or_else(none)?;
    let rates = entry.config.as_ref().map(|config| meter_rates(kind, config)).transpose()?;
    let counts = colours(&entry.counter_data, setting.purpose)?;
    let (pipeline, key) = (&mut forwarding.pipeline, key.as_ref());
    let written = pipeline.direct_meter_write(table.table, key, rates).and_then(|()| match counts {
        Some(counts) => pipeline.direct_meter_count(table.table, key, counts),
        None => Ok(()),
    });
    written.map_err(|error| table.within(table::refusal(error)))
}

pub fn read_counter(
    state: &ControlState, forwarding: &Forwarding, filter: &DirectCounterEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    let has_counter = |table: &BoundTable| table.direct_counter;
    let tables = wanted(state, filter.table_entry.as_ref(), has_counter, "counter")?;
    for_each_entry(forwarding, tables, filter.table_entry.as_ref(), |entry, resources| {
        let data = resources.counter.map(counter_data);
        found(DirectCounterEntry { table_entry: Some(entry), data }.into());
    })
}

pub fn read_meter(
    state: &ControlState, forwarding: &Forwarding, filter: &DirectMeterEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    let has_meter = |table: &BoundTable| table.direct_meter.is_some();
    let tables = wanted(state, filter.table_entry.as_ref(), has_meter, "meter")?;
    for_each_entry(forwarding, tables, filter.table_entry.as_ref(), |entry, resources| {
        let counter_data = filter.counter_data.as_ref().map(|_| colour_counts(resources.colours));
        let config = resources.meter.map(meter_config);
        found(DirectMeterEntry { table_entry: Some(entry), config, counter_data }.into());
    })
}

pub fn counter_data(value: CounterValue) -> v1::CounterData {
    v1::CounterData { byte_count: signed(value.bytes), packet_count: signed(value.packets) }
}

pub fn counter_value(data: &v1::CounterData) -> Result<CounterValue, Status> {
    Ok(CounterValue {
        packets: unsigned("packet_count", data.packet_count)?,
        bytes: unsigned("byte_count", data.byte_count)?,
    })
}

pub fn meter_config(rates: MeterConfig) -> v1::MeterConfig {
    let (cir, cburst) = (signed(rates.cir), signed(rates.cburst));
    let (pir, pburst) = (signed(rates.pir), signed(rates.pburst));
    match rates.kind {
        MeterKind::TwoRates => v1::MeterConfig { cir, cburst, pir, pburst, eburst: 0 },
        // A single rate is given twice.
        MeterKind::OneRate => v1::MeterConfig { cir, cburst, pir: cir, pburst: cburst, eburst: pburst },
        MeterKind::TwoColours => v1::MeterConfig { cir, cburst, pir: cir, pburst: cburst, eburst: 0 },
    }
}

pub fn meter_rates(kind: MeterKind, config: &v1::MeterConfig) -> Result<MeterConfig, Status> {
    let excess = config.eburst != 0 && kind != MeterKind::OneRate;
    refuse_if!(excess, "eburst: only meters of the type SINGLE_RATE_THREE_COLOR have it");
    let two = config.pir != config.cir || config.pburst != config.cburst;
    let twice = two && kind != MeterKind::TwoRates;
    refuse_if!(twice, "pir, pburst: they must be cir and cburst, the meter has a single rate");
    let rates = MeterConfig {
        kind,
        cir: unsigned("cir", config.cir)?,
        cburst: unsigned("cburst", config.cburst)?,
        pir: unsigned("pir", config.pir)?,
        pburst: match kind {
            MeterKind::OneRate => unsigned("eburst", config.eburst)?,
            _ => unsigned("pburst", config.pburst)?,
        },
    };
    refuse_if!(rates.pir < rates.cir, "pir: it is below cir");
    Ok(rates)
}

pub fn colour_counts([green, yellow, red]: [CounterValue; 3]) -> v1::MeterCounterData {
    let [green, yellow, red] = [green, yellow, red].map(|count| Some(counter_data(count)));
    v1::MeterCounterData { green, yellow, red }
}

/// The counts by colour in a write, which clients can only set to zero.
pub fn colours(
    data: &Option<v1::MeterCounterData>, purpose: Purpose,
) -> Result<Option<[CounterValue; 3]>, Status> {
    let Some(data) = data else { return Ok(None) };
    let sets = purpose == Purpose::Client && !is_zero(data);
    refuse_if!(sets, "counter_data: the counts by colour can only be set to zero");
    let value = |data: &Option<v1::CounterData>| counter_value(&data.unwrap_or_default());
    Ok(Some([value(&data.green)?, value(&data.yellow)?, value(&data.red)?]))
}

pub fn is_zero(data: &v1::MeterCounterData) -> bool {
    let counts = [&data.green, &data.yellow, &data.red];
    counts.into_iter().flatten().all(|count| *count == v1::CounterData::default())
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(field: &str, number: i64) -> Result<u64, Status> {
    u64::try_from(number).map_err(|_| Status::invalid(format!("{field}: it is negative")))
}

/// The table and key of an entry; no key is the default entry.
fn target<'a>(
    state: &'a ControlState, kind: UpdateKind, entry: Option<&TableEntry>, what: &str,
) -> Result<(&'a BoundTable, Option<EntryKey>), Status> {
    kind.only_modify().map_err(|refusal| refusal.within(what))?;
    let entry = entry.ok_or_else(|| Status::invalid(format!("{what}.table_entry: it is missing")))?;
    let table = table::find(&state.config.binding.tables, entry.table_id)?;
    if entry.is_default_action {
        return Ok((table, None));
    }
    let key = matching::key(table, &entry.r#match, entry.priority);
    Ok((table, Some(key.map_err(|refusal| table.within(refusal))?)))
}

fn wanted<'a>(
    state: &'a ControlState, entry: Option<&TableEntry>, has_resource: impl Fn(&BoundTable) -> bool,
    what: &str,
) -> Result<Vec<(u32, &'a BoundTable)>, Status> {
    let tables = &state.config.binding.tables;
    let id = entry.map_or(0, |entry| entry.table_id);
    if id == 0 {
        let all = tables.iter().filter(|(_, table)| has_resource(table));
        return Ok(all.map(|(id, table)| (*id, table)).collect());
    }
    let table = table::find(tables, id)?;
    refuse_if!(!has_resource(table), "table {} has no direct {what}", table.name);
    Ok(vec![(id, table)])
}

fn for_each_entry(
    forwarding: &Forwarding, tables: Vec<(u32, &BoundTable)>, filter: Option<&TableEntry>,
    mut visit: impl FnMut(TableEntry, EntryResources),
) -> Result<(), Status> {
    let one = filter.filter(|entry| entry.table_id != 0 && !entry.r#match.is_empty());
    let priority =
        filter.and_then(|entry| u32::try_from(entry.priority).ok()).filter(|priority| *priority != 0);
    for (id, table) in tables {
        if let Some(entry) = filter.filter(|entry| entry.is_default_action) {
            let resources = forwarding.pipeline.default_resources(table.table).map_err(table::refusal)?;
            visit(TableEntry { table_id: id, ..entry.clone() }, resources);
            continue;
        }
        if let Some(entry) = one {
            let key = matching::key(table, &entry.r#match, entry.priority)?;
            let view = forwarding.pipeline.table_get(table.table, &key);
            let view = view.map_err(|error| table.within(table::refusal(error)))?;
            visit(key_message(id, table, &key), view.resources);
            continue;
        }
        let all = forwarding.pipeline.table_entries(table.table).map_err(table::refusal)?;
        for view in all.filter(|view| priority.map_or(true, |wanted| wanted == view.entry.key.priority)) {
            visit(key_message(id, table, &view.entry.key), view.resources);
        }
    }
    Ok(())
}
