//! Direct counters and meters: state that belongs to table entries.
//!
//! P4Runtime specification, sections "Direct Resources", "DirectCounterEntry" and "DirectMeterEntry".

use groupflow_pipeline::{CounterValue, EntryKey, MeterConfig, Pipeline};

use super::binding::BoundTable;
use super::matching;
use super::state::ControlState;
use super::status::Refusal;
use super::table;
use super::update::{Found, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::{self, DirectCounterEntry, DirectMeterEntry, Entity, TableEntry};

/// The counter and meter in a write of a table entry.
#[derive(Debug)]
pub struct DirectResources {
    counter: Option<CounterValue>,
    /// The new rates; an entry without any passes everything.
    meter: Option<MeterConfig>,
}

impl DirectResources {
    /// Checks the counter and meter of an entry.
    pub fn of(table: &BoundTable, entry: &TableEntry) -> Result<DirectResources, Refusal> {
        if entry.counter_data.is_some() && !table.direct_counter {
            return Err(Refusal::invalid("counter_data: the table has no direct counter"));
        }
        if entry.meter_config.is_some() && !table.direct_meter {
            return Err(Refusal::invalid("meter_config: the table has no direct meter"));
        }
        Ok(DirectResources {
            counter: entry.counter_data.as_ref().map(counter_value).transpose()?,
            meter: entry.meter_config.as_ref().map(meter_rates).transpose()?,
        })
    }

    /// Sets counter and meter. A counter that the entry does not mention stays, and such a meter is reset.
    pub fn apply(self, pipeline: &mut Pipeline, table: &BoundTable, key: &EntryKey) -> Result<(), Refusal> {
        if let Some(value) = self.counter {
            pipeline.direct_counter_write(table.table, key, value).map_err(table::refusal)?;
        }
        if table.direct_meter {
            pipeline.direct_meter_write(table.table, key, self.meter).map_err(table::refusal)?;
        }
        Ok(())
    }
}

/// Sets an entry's counter.
pub fn write_counter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &DirectCounterEntry,
) -> Result<(), Refusal> {
    let (table, key) = target(state, kind, entry.table_entry.as_ref(), "direct_counter_entry")?;
    if !table.direct_counter {
        return Err(Refusal::invalid(format!("table {} has no direct counter", table.name)));
    }
    let Some(data) = &entry.data else {
        return forwarding.pipeline.table_get(table.table, &key).map(drop).map_err(table::refusal);
    };
    let value = counter_value(data)?;
    forwarding.pipeline.direct_counter_write(table.table, &key, value).map_err(table::refusal)
}

/// Sets an entry's meter.
pub fn write_meter(
    state: &ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &DirectMeterEntry,
) -> Result<(), Refusal> {
    let (table, key) = target(state, kind, entry.table_entry.as_ref(), "direct_meter_entry")?;
    if !table.direct_meter {
        return Err(Refusal::invalid(format!("table {} has no direct meter", table.name)));
    }
    refuse_colours(&entry.counter_data)?;
    let rates = entry.config.as_ref().map(meter_rates).transpose()?;
    forwarding.pipeline.direct_meter_write(table.table, &key, rates).map_err(table::refusal)
}

/// Adds the counters that a request asks for.
pub fn read_counter(
    state: &ControlState, forwarding: &Forwarding, filter: &DirectCounterEntry, found: &mut dyn Found,
) -> Result<(), Refusal> {
    let has_counter = |table: &BoundTable| table.direct_counter;
    let tables = wanted(state, filter.table_entry.as_ref(), has_counter, "counter")?;
    for_each_entry(forwarding, tables, filter.table_entry.as_ref(), |entry, view| {
        let data = view.counter.map(counter_data);
        let direct = DirectCounterEntry { table_entry: Some(entry), data };
        found.push(Entity { entity: Some(direct.into()) });
    })
}

/// Adds the meters that a request asks for.
pub fn read_meter(
    state: &ControlState, forwarding: &Forwarding, filter: &DirectMeterEntry, found: &mut dyn Found,
) -> Result<(), Refusal> {
    refuse_colours(&filter.counter_data)?;
    let tables =
        wanted(state, filter.table_entry.as_ref(), |table: &BoundTable| table.direct_meter, "meter")?;
    for_each_entry(forwarding, tables, filter.table_entry.as_ref(), |entry, view| {
        let config = view.meter.map(meter_config);
        let direct = DirectMeterEntry { table_entry: Some(entry), config, counter_data: None };
        found.push(Entity { entity: Some(direct.into()) });
    })
}

/// A counter's value in P4Runtime's form.
pub fn counter_data(value: CounterValue) -> v1::CounterData {
    v1::CounterData { byte_count: signed(value.bytes), packet_count: signed(value.packets) }
}

/// A counter's value from P4Runtime's form.
pub fn counter_value(data: &v1::CounterData) -> Result<CounterValue, Refusal> {
    Ok(CounterValue {
        packets: unsigned("packet_count", data.packet_count)?,
        bytes: unsigned("byte_count", data.byte_count)?,
    })
}

/// A meter's rates in P4Runtime's form.
pub fn meter_config(rates: MeterConfig) -> v1::MeterConfig {
    v1::MeterConfig {
        cir: signed(rates.cir),
        cburst: signed(rates.cburst),
        pir: signed(rates.pir),
        pburst: signed(rates.pburst),
        eburst: 0,
    }
}

/// A meter's rates from P4Runtime's form.
pub fn meter_rates(config: &v1::MeterConfig) -> Result<MeterConfig, Refusal> {
    if config.eburst != 0 {
        return Err(Refusal::invalid("eburst: meters are of the two-rate three-colour type"));
    }
    let rates = MeterConfig {
        cir: unsigned("cir", config.cir)?,
        cburst: unsigned("cburst", config.cburst)?,
        pir: unsigned("pir", config.pir)?,
        pburst: unsigned("pburst", config.pburst)?,
    };
    if rates.pir < rates.cir {
        return Err(Refusal::invalid("pir: it is below cir"));
    }
    Ok(rates)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(field: &str, number: i64) -> Result<u64, Refusal> {
    u64::try_from(number).map_err(|_| Refusal::invalid(format!("{field}: it is negative")))
}

/// Meters do not count by colour.
pub fn refuse_colours(data: &Option<v1::MeterCounterData>) -> Result<(), Refusal> {
    match data {
        Some(_) => Err(Refusal::unimplemented("counter_data: meters do not count packets by colour")),
        None => Ok(()),
    }
}

fn target<'a>(
    state: &'a ControlState, kind: UpdateKind, entry: Option<&TableEntry>, what: &str,
) -> Result<(&'a BoundTable, EntryKey), Refusal> {
    if kind != UpdateKind::Modify {
        return Err(Refusal::invalid(format!("{what}: it can only be modified")));
    }
    let entry = entry.ok_or_else(|| Refusal::invalid(format!("{what}.table_entry: it is missing")))?;
    let table = table::find(&state.config.binding.tables, entry.table_id)?;
    if entry.is_default_action {
        return Err(Refusal::unimplemented(format!("{what}: not supported for the default entry")));
    }
    let key = matching::key(table, &entry.r#match, entry.priority);
    Ok((table, key.map_err(|refusal| refusal.within(&format!("table {}", table.name)))?))
}

fn wanted<'a>(
    state: &'a ControlState, entry: Option<&TableEntry>, has_resource: impl Fn(&BoundTable) -> bool,
    what: &str,
) -> Result<Vec<(u32, &'a BoundTable)>, Refusal> {
    let tables = &state.config.binding.tables;
    let id = entry.map_or(0, |entry| entry.table_id);
    if id == 0 {
        let all = tables.iter().filter(|(_, table)| has_resource(table));
        return Ok(all.map(|(id, table)| (*id, table)).collect());
    }
    let table = table::find(tables, id)?;
    if !has_resource(table) {
        return Err(Refusal::invalid(format!("table {} has no direct {what}", table.name)));
    }
    Ok(vec![(id, table)])
}

fn for_each_entry(
    forwarding: &Forwarding, tables: Vec<(u32, &BoundTable)>, filter: Option<&TableEntry>,
    mut visit: impl FnMut(TableEntry, groupflow_pipeline::EntryView<'_>),
) -> Result<(), Refusal> {
    let message = |id, table: &BoundTable, key: &EntryKey| TableEntry {
        table_id: id,
        r#match: matching::fields(table, key),
        priority: i32::try_from(key.priority).unwrap_or(i32::MAX),
        ..TableEntry::default()
    };
    let one = filter.filter(|entry| entry.table_id != 0 && !entry.r#match.is_empty());
    for (id, table) in tables {
        if let Some(entry) = one {
            let key = matching::key(table, &entry.r#match, entry.priority)?;
            let view = forwarding.pipeline.table_get(table.table, &key).map_err(table::refusal)?;
            visit(message(id, table, &key), view);
            continue;
        }
        for view in forwarding.pipeline.table_entries(table.table).map_err(table::refusal)? {
            visit(message(id, table, &view.entry.key), view);
        }
    }
    Ok(())
}
