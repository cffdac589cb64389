//! The control plane's access to registers, counters and meters.

use crate::error::StateError;
use crate::pipeline::Pipeline;
use crate::program::entry::{CounterValue, MeterConfig};
use crate::program::field::{join, Value};
use crate::program::info::{CounterId, MeterId, RegisterId, ValueSetId};
use crate::state::meter;

impl Pipeline {
    /// Sets the members of a value set: a value and a mask for each part of each field.
    pub fn value_set_write(
        &mut self, set: ValueSetId, members: Vec<Vec<(u128, u128)>>,
    ) -> Result<(), StateError> {
        let info = self.program.value_sets.get(set.index()).ok_or(StateError::NoSuch("value set"))?;
        if members.len() > info.max_size {
            return Err(StateError::Full(info.name.clone(), info.max_size));
        }
        self.externs.value_sets[set.index()] = members;
        Ok(())
    }

    /// The lowest 128 bits of a register's cell.
    pub fn register_read(&self, register: RegisterId, index: usize) -> Result<u128, StateError> {
        Ok(self.register_cell(register, index)?.low())
    }

    /// The parts of a register's cell ([`part_widths`](crate::part_widths)).
    pub fn register_parts(&self, register: RegisterId, index: usize) -> Result<Vec<u128>, StateError> {
        Ok(self.register_cell(register, index)?.parts(self.program.registers[register.index()].width))
    }

    fn register_cell(&self, register: RegisterId, index: usize) -> Result<Value, StateError> {
        let info = self.program.registers.get(register.index()).ok_or(StateError::NoSuch("register"))?;
        let value = self.externs.registers[register.index()].get(index);
        value.ok_or_else(|| StateError::index("register", &info.name, index, info.size))
    }

    /// Sets a register's cell to a number that consists of these parts.
    pub fn register_write(
        &mut self, register: RegisterId, index: usize, parts: &[u128],
    ) -> Result<(), StateError> {
        self.register_cell(register, index)?;
        let info = &self.program.registers[register.index()];
        if join(parts).bits() > info.width.into() {
            return Err(StateError::Width(info.name.clone(), info.width));
        }
        self.externs.register_store(register.0, index as u128, &Value::of(parts));
        Ok(())
    }

    /// Sets a register's cell to the value's lowest bits; false past the end.
    pub fn register_set(&mut self, register: RegisterId, index: usize, value: u64) -> bool {
        let state = self.externs.registers.get_mut(register.index());
        state.is_some_and(|state| state.set(index, &Value::Narrow(value.into())))
    }

    /// Notes the program's writes to this register from now on, for [`Pipeline::pop_written`].
    ///
    /// [`Pipeline::register_write`] is noted, too, [`Pipeline::register_set`] is not. Does nothing for a
    /// register of another program.
    pub fn watch(&mut self, register: RegisterId) {
        if let Some(state) = self.externs.registers.get_mut(register.index()) {
            let cells = state.len();
            state.listed.get_or_insert_with(|| vec![false; cells]);
            if let Some(machine) = &mut self.runner.machine {
                machine.watch(register.index());
            }
        }
    }

    /// Whether [`Pipeline::pop_written`] has something to give.
    #[inline]
    pub fn has_written(&self) -> bool {
        !self.externs.written.is_empty()
    }

    /// The cell of a watched register that the program wrote first since it was last taken. A cell that
    /// was written several times comes once, so the list never outgrows the registers.
    pub fn pop_written(&mut self) -> Option<(RegisterId, usize)> {
        let (register, index) = self.externs.written.pop_front()?;
        if let Some(listed) = &mut self.externs.registers[register as usize].listed {
            listed[index as usize] = false;
        }
        Some((RegisterId(register), index as usize))
    }

    pub fn counter_read(&self, counter: CounterId, index: usize) -> Result<CounterValue, StateError> {
        let info = self.program.counters.get(counter.index()).ok_or(StateError::NoSuch("counter"))?;
        let value = self.externs.counters[counter.index()].get(index).copied();
        value.ok_or_else(|| StateError::index("counter", &info.name, index, info.size))
    }

    /// Sets a counter's cell.
    pub fn counter_write(
        &mut self, counter: CounterId, index: usize, value: CounterValue,
    ) -> Result<(), StateError> {
        self.counter_read(counter, index)?;
        self.externs.counters[counter.index()][index] = value;
        Ok(())
    }

    /// The rates of a meter's cell; `None` where it is not configured.
    pub fn meter_read(&self, meter: MeterId, index: usize) -> Result<Option<MeterConfig>, StateError> {
        let info = self.program.meters.get(meter.index()).ok_or(StateError::NoSuch("meter"))?;
        let cell = self.externs.meters[meter.index()].cells.get(index);
        let cell = cell.ok_or_else(|| StateError::index("meter", &info.name, index, info.size))?;
        Ok(cell.config())
    }

    /// The packets of each colour of a meter's cell: green, yellow, red.
    pub fn meter_colours(&self, meter: MeterId, index: usize) -> Result<[CounterValue; 3], StateError> {
        self.meter_read(meter, index)?;
        Ok(self.externs.meters[meter.index()].cells[index].colours)
    }

    /// Sets the packets of each colour of a meter's cell: green, yellow, red.
    pub fn meter_count(
        &mut self, meter: MeterId, index: usize, colours: [CounterValue; 3],
    ) -> Result<(), StateError> {
        self.meter_read(meter, index)?;
        self.externs.meters[meter.index()].cells[index].colours = colours;
        Ok(())
    }

    /// Sets the rates of a meter's cell; `None` makes every packet green.
    pub fn meter_write(
        &mut self, meter: MeterId, index: usize, config: Option<MeterConfig>,
    ) -> Result<(), StateError> {
        self.meter_read(meter, index)?;
        let name = || self.program.meters[meter.index()].name.clone();
        let refused = |reason| StateError::Meter(name(), reason);
        config.as_ref().map_or(Ok(()), meter::check).map_err(refused)?;
        self.externs.meters[meter.index()].cells[index].configure(config);
        Ok(())
    }
}
