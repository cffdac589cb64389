//! The control plane's access to tables.

use std::sync::Arc;

use groupflow_base::Nanos;

use crate::error::TableError;
use crate::pipeline::Pipeline;
use crate::port::Port;
use crate::program::check;
use crate::program::entry::{ActionCall, CounterValue, Entry, EntryKey, EntryView, MeterConfig};
use crate::program::info::{TableId, TableInfo};
use crate::program::Program;
use crate::state::group::{Group, Weighted, ACTION_LIMIT};
use crate::state::meter::{self, Meter};
use crate::state::table::{Bound, Row, TableState};

/// The declaration of a table.
fn info(program: &Program, table: TableId) -> Result<&TableInfo, TableError> {
    program.tables.get(table.index()).ok_or(TableError::NoSuchTable)
}

/// The call's action with the node that follows it.
fn bind(program: &Program, table: &TableInfo, call: &ActionCall) -> Result<Bound, TableError> {
    let position = check::call(table, &program.actions, call)?;
    let next = program.match_tables[table.id.index()].next[position];
    Ok(Bound { action: call.action.0, arguments: call.arguments.clone(), next })
}

fn not_found(table: &TableInfo) -> TableError {
    TableError::NotFound(table.name.clone())
}

impl Pipeline {
    /// Installs the entries and defaults that the program declares; the loader has checked them.
    pub(crate) fn install_declared(&mut self) {
        for (table, state) in self.program.tables.iter().zip(&mut self.tables) {
            let declared = &self.program.match_tables[table.id.index()];
            state.default = declared.default.clone();
            state.miss = declared.default.as_ref().and_then(|call| bind(&self.program, table, call).ok());
            let mut native = self.native.as_mut().map(|native| &mut native.tables[table.id.index()]);
            if let Some(native) = &mut native {
                native.set_miss(state.miss.as_ref());
            }
            for entry in &declared.entries {
                if let Ok(bound) = bind(&self.program, table, &entry.call) {
                    let place = state.insert(entry.clone(), bound);
                    if let (Some(native), Some(row)) = (&mut native, state.row(place)) {
                        native.insert(place, row);
                    }
                }
            }
        }
    }

    /// Adds an entry.
    pub fn table_insert(&mut self, table: TableId, entry: Entry) -> Result<(), TableError> {
        let (info, state) = self.writable(table)?;
        let key = check::key(info, &entry.key)?;
        let bound = bind(&self.program, info, &entry.call)?;
        if state.find(&key).is_some() {
            return Err(TableError::AlreadyExists(info.name.clone()));
        }
        if state.len() >= info.max_size {
            return Err(TableError::Full { table: info.name.clone(), size: info.max_size });
        }
        let state = &mut self.tables[table.index()];
        let place = state.insert(Entry { key, call: entry.call }, bound);
        if let (Some(native), Some(row)) = (&mut self.native, state.row(place)) {
            native.tables[table.index()].insert(place, row);
        }
        Ok(())
    }

    /// Gives an entry another action. Its counter and meter stay.
    pub fn table_modify(&mut self, table: TableId, entry: Entry) -> Result<(), TableError> {
        let (info, state) = self.writable(table)?;
        let key = check::key(info, &entry.key)?;
        let bound = bind(&self.program, info, &entry.call)?;
        let place = state.find(&key).ok_or_else(|| not_found(info))?;
        if let Some(row) = self.tables[table.index()].row_mut(place) {
            row.entry.call = entry.call;
            row.bound = bound;
            if let Some(native) = &mut self.native {
                native.tables[table.index()].modify(place, &row.bound);
            }
        }
        Ok(())
    }

    /// Sets the actions among which entries of a table select, with their weights, by a handle of the caller's
    /// that no other table uses; none removes the group. An action is left out while the port that it names is
    /// down.
    pub fn set_group(
        &mut self, table: TableId, handle: u64, weighted: Vec<Weighted>,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        for (call, ..) in &weighted {
            check::call(info, &self.program.actions, call)?;
            if Some(call.action) == info.select {
                return Err(TableError::Action(info.name.clone()));
            }
        }
        let before = self.externs.groups.get(&handle).map_or(0, |group| group.len());
        let actions = self.externs.group_actions - before + weighted.len();
        if actions > ACTION_LIMIT {
            return Err(TableError::GroupsFull(ACTION_LIMIT));
        }
        self.externs.group_actions = actions;
        if weighted.is_empty() {
            self.externs.groups.remove(&handle);
        } else {
            let group = Group::new(weighted, &self.externs.down);
            self.externs.groups.insert(handle, Arc::new(group));
        }
        Ok(())
    }

    /// Says that a port went up or down, for groups whose actions watch it.
    pub fn port_is(&mut self, port: Port, up: bool) {
        self.externs.down.retain(|other| *other != port);
        self.externs.down.extend((!up).then_some(port));
        for group in self.externs.groups.values_mut().filter(|group| group.watches(port)) {
            Arc::make_mut(group).weigh(&self.externs.down);
        }
    }

    /// Removes an entry.
    pub fn table_delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), TableError> {
        let (info, _) = self.writable(table)?;
        let key = check::key(info, key)?;
        let error = not_found(info);
        let place = self.tables[table.index()].remove(&key).ok_or(error)?;
        if let Some(native) = &mut self.native {
            native.tables[table.index()].remove(place, &key);
        }
        Ok(())
    }

    fn writable(&self, table: TableId) -> Result<(&TableInfo, &TableState), TableError> {
        let info = info(&self.program, table)?;
        if info.const_entries {
            return Err(TableError::ConstEntries(info.name.clone()));
        }
        Ok((info, &self.tables[table.index()]))
    }

    /// One entry with its state.
    pub fn table_get(&self, table: TableId, key: &EntryKey) -> Result<EntryView<'_>, TableError> {
        let info = info(&self.program, table)?;
        let state = &self.tables[table.index()];
        let key = check::key(info, key)?;
        let found = state.find(&key).and_then(|place| Some((place, state.row(place)?)));
        let (place, row) = found.ok_or_else(|| not_found(info))?;
        Ok(self.view(info, place, row))
    }

    /// All entries with their state, constant ones included, in an order that repeats.
    pub fn table_entries(&self, table: TableId) -> Result<impl Iterator<Item = EntryView<'_>>, TableError> {
        let info = info(&self.program, table)?;
        let rows = self.tables[table.index()].rows();
        Ok(rows.map(move |(place, row)| self.view(info, place, row)))
    }

    /// An entry with its state. The engine keeps its counter, and the interpreter too the time of its packets.
    fn view<'a>(&'a self, table: &TableInfo, place: u32, row: &'a Row) -> EntryView<'a> {
        let native = self.native.as_ref().map(|native| &native.tables[table.id.index()]);
        let counter = native.map_or(row.counter, |native| native.counter(Some(place)));
        let hit = native.filter(|_| table.timed).map_or(0, |native| native.hit(place));
        EntryView {
            entry: &row.entry,
            is_const: table.const_entries,
            counter: table.direct_counter.then_some(counter),
            meter: row.meter.as_ref().and_then(|meter| meter.config()),
            colours: row.meter.as_ref().map(|meter| meter.colours).unwrap_or_default(),
            hit: row.hit.max(Nanos(hit)),
        }
    }

    /// Counts an entry of a table that keeps the time of its packets as used at this time.
    pub fn table_touch(&mut self, table: TableId, key: &EntryKey, now: Nanos) -> Result<(), TableError> {
        self.row_mut(table, key)?.1.hit = now;
        Ok(())
    }

    /// The default entry; `None` where a miss does nothing.
    pub fn table_default(&self, table: TableId) -> Result<Option<&ActionCall>, TableError> {
        info(&self.program, table)?;
        Ok(self.tables[table.index()].default.as_ref())
    }

    /// Sets the default entry; `None` resets it to the one that the program declares.
    pub fn table_set_default(&mut self, table: TableId, call: Option<ActionCall>) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if info.const_default {
            return Err(TableError::ConstDefault(info.name.clone()));
        }
        let call = call.or_else(|| self.program.match_tables[table.index()].default.clone());
        let bound = call.as_ref().map(|call| bind(&self.program, info, call)).transpose()?;
        let state = &mut self.tables[table.index()];
        state.default = call;
        state.miss = bound;
        if let Some(native) = &mut self.native {
            native.tables[table.index()].set_miss(state.miss.as_ref());
        }
        Ok(())
    }

    /// The counter of the default entry, the rates of its meter, and the packets of each colour.
    pub fn default_resources(
        &self, table: TableId,
    ) -> Result<(CounterValue, Option<MeterConfig>, [CounterValue; 3]), TableError> {
        info(&self.program, table)?;
        let state = &self.tables[table.index()];
        let native = self.native.as_ref().map(|native| native.tables[table.index()].counter(None));
        let meter = &state.miss_meter;
        Ok((native.unwrap_or(state.miss_counter), meter.config(), meter.colours))
    }

    /// Sets an entry's direct counter, or that of the default entry.
    pub fn direct_counter_write(
        &mut self, table: TableId, key: Option<&EntryKey>, value: CounterValue,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if !info.direct_counter {
            return Err(TableError::NoDirect { table: info.name.clone(), what: "counter" });
        }
        let place = match key {
            Some(key) => {
                let (place, row) = self.row_mut(table, key)?;
                row.counter = value;
                Some(place)
            }
            None => {
                self.tables[table.index()].miss_counter = value;
                None
            }
        };
        if let Some(native) = &mut self.native {
            native.tables[table.index()].set_counter(place, value);
        }
        Ok(())
    }

    /// Sets the rates of the direct meter of an entry, or of the default entry; `None` makes every packet green.
    pub fn direct_meter_write(
        &mut self, table: TableId, key: Option<&EntryKey>, config: Option<MeterConfig>,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if info.direct_meter.is_none() {
            return Err(TableError::NoDirect { table: info.name.clone(), what: "meter" });
        }
        let refused = |reason| TableError::Meter { table: info.name.clone(), reason };
        config.as_ref().map_or(Ok(()), meter::check).map_err(refused)?;
        self.meter_mut(table, key)?.configure(config);
        Ok(())
    }

    /// Sets the packets of each colour of a direct meter: green, yellow, red.
    pub fn direct_meter_count(
        &mut self, table: TableId, key: Option<&EntryKey>, colours: [CounterValue; 3],
    ) -> Result<(), TableError> {
        self.meter_mut(table, key)?.colours = colours;
        Ok(())
    }

    fn meter_mut(&mut self, table: TableId, key: Option<&EntryKey>) -> Result<&mut Meter, TableError> {
        match key {
            Some(key) => Ok(self.row_mut(table, key)?.1.meter.get_or_insert_with(Box::default)),
            None => Ok(&mut self.tables[table.index()].miss_meter),
        }
    }

    fn row_mut(&mut self, table: TableId, key: &EntryKey) -> Result<(u32, &mut Row), TableError> {
        let info = info(&self.program, table)?;
        let key = check::key(info, key)?;
        let state = &mut self.tables[table.index()];
        let place = state.find(&key).ok_or_else(|| not_found(info))?;
        state.row_mut(place).map(|row| (place, row)).ok_or_else(|| not_found(info))
    }
}
