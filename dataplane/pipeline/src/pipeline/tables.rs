//! The control plane's access to tables.

use std::sync::Arc;

use groupflow_base::Nanos;

use crate::error::TableError;
use crate::pipeline::Pipeline;
use crate::port::Port;
use crate::program::check;
use crate::program::entry::{
    ActionCall, CounterValue, Entry, EntryKey, EntryResources, EntryView, MeterConfig,
};
use crate::program::info::{ActionInfo, TableId, TableInfo};
use crate::program::Program;
use crate::state::group::{Group, Weighted, ACTION_LIMIT};
use crate::state::meter;
use crate::state::table::TableState;

fn info(program: &Program, table: TableId) -> Result<&TableInfo, TableError> {
    program.tables.get(table.index()).ok_or(TableError::NoSuchTable)
}

/// The call's position in the table's list of actions, if it fits the table, and its arguments.
fn bind<'a>(
    actions: &[ActionInfo], table: &TableInfo, call: &'a ActionCall,
) -> Result<(usize, &'a [u128]), TableError> {
    Ok((check::call(table, actions, call)?, &call.arguments))
}

/// A table whose entries may change.
fn writable<'a>(
    program: &'a Program, tables: &'a mut [TableState], table: TableId,
) -> Result<(&'a TableInfo, &'a mut TableState), TableError> {
    let info = info(program, table)?;
    if info.const_entries {
        return Err(TableError::ConstEntries);
    }
    Ok((info, &mut tables[table.index()]))
}

fn words(info: &TableInfo, state: &TableState, key: &EntryKey) -> Result<Vec<u64>, TableError> {
    check::key(info, key)?;
    Ok(state.shape.encode(key))
}

fn find(info: &TableInfo, state: &TableState, key: &EntryKey) -> Result<u32, TableError> {
    state.find(&words(info, state, key)?).ok_or(TableError::NotFound)
}

impl Pipeline {
    /// Installs the entries and defaults that the program declares; the loader has checked them.
    pub(crate) fn install_declared(&mut self) {
        for (table, state) in self.program.tables.iter().zip(&mut self.tables) {
            let declared = &self.program.match_tables[table.id.index()];
            let bind = |call| bind(&self.program.actions, table, call).ok();
            state.set(0, declared.default.as_ref().and_then(bind));
            for entry in &declared.entries {
                if let Some(call) = bind(&entry.call) {
                    state.insert(state.shape.encode(&entry.key), call);
                }
            }
        }
    }

    pub fn table_insert(
        &mut self, table: TableId, key: &EntryKey, call: &ActionCall,
    ) -> Result<(), TableError> {
        let (info, state) = writable(&self.program, &mut self.tables, table)?;
        let key = words(info, state, key)?;
        let call = bind(&self.program.actions, info, call)?;
        if state.find(&key).is_some() {
            return Err(TableError::AlreadyExists);
        }
        if state.len() >= info.max_size {
            return Err(TableError::Full(info.max_size));
        }
        state.insert(key, call);
        Ok(())
    }

    /// Gives an entry another action. Its counter and meter stay.
    pub fn table_modify(
        &mut self, table: TableId, key: &EntryKey, call: &ActionCall,
    ) -> Result<(), TableError> {
        let (info, state) = writable(&self.program, &mut self.tables, table)?;
        let row = find(info, state, key)?;
        let call = bind(&self.program.actions, info, call)?;
        state.set(row, Some(call));
        Ok(())
    }

    /// Sets the actions among which entries of a table select, with their weights, by a handle of the
    /// caller's that no other table uses; none removes the group. An action is left out while the port that
    /// it names is down.
    pub fn set_group(
        &mut self, table: TableId, handle: u64, weighted: Vec<Weighted>,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        for (call, ..) in &weighted {
            check::call(info, &self.program.actions, call)?;
            if Some(call.action) == info.select {
                return Err(TableError::Action);
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

    pub fn table_delete(&mut self, table: TableId, key: &EntryKey) -> Result<(), TableError> {
        let (info, state) = writable(&self.program, &mut self.tables, table)?;
        let row = find(info, state, key)?;
        state.remove(row);
        Ok(())
    }

    /// One entry with its state.
    pub fn table_get(&self, table: TableId, key: &EntryKey) -> Result<EntryView, TableError> {
        let info = info(&self.program, table)?;
        let row = find(info, &self.tables[table.index()], key)?;
        self.view(info, row).ok_or(TableError::NotFound)
    }

    /// All entries with their state, constant ones included, in an order that repeats.
    pub fn table_entries(&self, table: TableId) -> Result<impl Iterator<Item = EntryView> + '_, TableError> {
        let info = info(&self.program, table)?;
        Ok(self.tables[table.index()].entries().filter_map(move |row| self.view(info, row)))
    }

    fn view(&self, table: &TableInfo, row: u32) -> Option<EntryView> {
        let state = &self.tables[table.id.index()];
        Some(EntryView {
            entry: Entry { key: state.key(row), call: self.call(table, row)? },
            is_const: table.const_entries,
            resources: self.resources(table, row),
            hit: Nanos(if table.timed { state.hit(row) } else { 0 }),
        })
    }

    fn resources(&self, table: &TableInfo, row: u32) -> EntryResources {
        let state = &self.tables[table.id.index()];
        let meter = state.meter(row);
        EntryResources {
            counter: table.direct_counter.then(|| state.counter(row)),
            meter: meter.and_then(|meter| meter.config()),
            colours: meter.map(|meter| meter.colours).unwrap_or_default(),
        }
    }

    /// The action of a row, if it has one.
    fn call(&self, table: &TableInfo, row: u32) -> Option<ActionCall> {
        let state = &self.tables[table.id.index()];
        let action = table.actions[state.action(row)?];
        Some(ActionCall { action, arguments: state.arguments(row).collect() })
    }

    /// Counts an entry of a table that keeps the time of its packets as used at this time.
    pub fn table_touch(&mut self, table: TableId, key: &EntryKey, now: Nanos) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        let state = &mut self.tables[table.index()];
        let row = find(info, state, key)?;
        if info.timed {
            state.set_hit(row, now.0);
        }
        Ok(())
    }

    /// The default entry; `None` where a miss does nothing.
    pub fn table_default(&self, table: TableId) -> Result<Option<ActionCall>, TableError> {
        Ok(self.call(info(&self.program, table)?, 0))
    }

    /// Sets the default entry; `None` resets it to the one that the program declares.
    pub fn table_set_default(&mut self, table: TableId, call: Option<ActionCall>) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if info.const_default {
            return Err(TableError::ConstDefault);
        }
        let call = call.as_ref().or(self.program.match_tables[table.index()].default.as_ref());
        let call = call.map(|call| bind(&self.program.actions, info, call)).transpose()?;
        self.tables[table.index()].set(0, call);
        Ok(())
    }

    /// The counter and meter of the default entry.
    pub fn default_resources(&self, table: TableId) -> Result<EntryResources, TableError> {
        Ok(self.resources(info(&self.program, table)?, 0))
    }

    /// Sets an entry's direct counter, or that of the default entry.
    pub fn direct_counter_write(
        &mut self, table: TableId, key: Option<&EntryKey>, value: CounterValue,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if !info.direct_counter {
            return Err(TableError::NoDirect("counter"));
        }
        let state = &mut self.tables[table.index()];
        let row = key.map_or(Ok(0), |key| find(info, state, key))?;
        state.set_counter(row, value);
        Ok(())
    }

    /// Sets the rates of the direct meter of an entry, or of the default entry; `None` makes every packet
    /// green.
    pub fn direct_meter_write(
        &mut self, table: TableId, key: Option<&EntryKey>, config: Option<MeterConfig>,
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        if info.direct_meter.is_none() {
            return Err(TableError::NoDirect("meter"));
        }
        config.as_ref().map_or(Ok(()), meter::check).map_err(TableError::Invalid)?;
        let state = &mut self.tables[table.index()];
        let row = key.map_or(Ok(0), |key| find(info, state, key))?;
        state.meter_mut(row).configure(config);
        Ok(())
    }

    /// Sets the packets of each colour of a direct meter: green, yellow, red.
    pub fn direct_meter_count(
        &mut self, table: TableId, key: Option<&EntryKey>, colours: [CounterValue; 3],
    ) -> Result<(), TableError> {
        let info = info(&self.program, table)?;
        let state = &mut self.tables[table.index()];
        let row = key.map_or(Ok(0), |key| find(info, state, key))?;
        state.meter_mut(row).colours = colours;
        Ok(())
    }
}
