//! The state that a program keeps between packets.

pub(crate) mod choices;
// Native code works on the context, too.
#[allow(unsafe_code)]
pub(crate) mod context;
pub(crate) mod group;
pub(crate) mod index;
pub(crate) mod meter;
pub(crate) mod options;
pub(crate) mod row;
pub(crate) mod slots;
pub(crate) mod table;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use groupflow_base::Nanos;

use crate::packet::pool::PacketPool;
use crate::port::Port;
use crate::program::entry::CounterValue;
use crate::program::field::{mask, part_widths, Value};
use crate::program::info::MeterUnit;
use crate::program::parser::Bits;
use crate::program::Program;
use crate::state::choices::Choices;
use crate::state::group::Group;
use crate::state::meter::Meter;
use crate::state::options::{PipelineOptions, Stats};
use crate::state::table::TableState;
use crate::trace::Recording;

/// A small generator for the `random` extern (SplitMix64): repeatable, not secret.
#[derive(Debug, Clone)]
pub(crate) struct RandomExtern(u64);

impl RandomExtern {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A value within `low..=high`.
    pub fn within(&mut self, low: u128, high: u128) -> u128 {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        match (high - low).checked_add(1) {
            // 128 random bits: the bias of the remainder is below 2^-64 for spans up to 64 bits.
            Some(span) => low + bits % span,
            None => bits,
        }
    }
}

/// Registers, counters and meters, and the memory that both engines work in.
#[derive(Debug, Clone)]
pub(crate) struct Externs {
    pub options: PipelineOptions,
    pub stats: Stats,
    pub random: RandomExtern,
    pub registers: Vec<Register>,
    /// Native code has the address of each counter's cells, whose number does not change.
    pub counters: Vec<Vec<CounterValue>>,
    pub meters: Vec<MeterArray>,
    /// The actions among which entries select, by the control plane's handles.
    pub groups: HashMap<u64, Arc<Group>>,
    pub group_actions: usize,
    pub down: Vec<Port>,
    /// The members of the parser's value sets.
    pub value_sets: Vec<Vec<Bits>>,
    /// Register and index of the watched cells the program wrote, until somebody takes them.
    pub written: VecDeque<(u32, u32)>,
    /// Bytes under a hash or checksum.
    pub scratch: Vec<u8>,
    /// The words of the key of the table being looked up, and the arguments of the action found.
    pub key: Vec<u64>,
    pub arguments: Vec<u128>,
    /// The digests that the program asked for, of the packet at work.
    pub digests: Vec<u32>,
    /// The steps of the packet that is traced, if one is.
    pub recording: Option<Box<Recording>>,
    /// The choices of the packet of which all are tried, if they are.
    pub choices: Option<Choices>,
}

#[derive(Debug, Clone)]
pub(crate) struct Register {
    pub width: u32,
    /// The cells, if they have 64 bits or less. Native code has their address.
    pub cells: Vec<u64>,
    /// The parts of the cells otherwise, one cell after another.
    wide: Vec<u128>,
    /// If writes are noted: which cells are in the list of written ones, so that each is there once at most.
    pub listed: Option<Vec<bool>>,
}

impl Register {
    pub fn len(&self) -> usize {
        self.cells.len() + self.wide.len() / self.parts()
    }

    /// The parts of a cell.
    fn parts(&self) -> usize {
        part_widths(self.width).count().max(1)
    }

    /// A cell's value; `None` past the end.
    pub fn get(&self, index: usize) -> Option<Value> {
        let wide = || self.wide.chunks(self.parts()).nth(index).map(Value::of);
        self.cells.get(index).map(|cell| Value::Narrow((*cell).into())).or_else(wide)
    }

    /// Sets a cell to the value's lowest bits; false past the end.
    pub fn set(&mut self, index: usize, value: &Value) -> bool {
        let (width, parts) = (self.width, self.parts());
        if let Some(cell) = self.cells.get_mut(index) {
            *cell = (value.low() & mask(width as u8)) as u64;
            return true;
        }
        let cell = self.wide.chunks_mut(parts).nth(index);
        let set = cell.map(|cell| cell.iter_mut().zip(value.parts(width)).for_each(|(to, part)| *to = part));
        set.is_some()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct MeterArray {
    pub unit: MeterUnit,
    pub cells: Vec<Meter>,
}

/// The state that all engines work with.
pub(crate) struct EngineParts<'a> {
    pub program: &'a Program,
    pub externs: &'a mut Externs,
    pub states: &'a mut [TableState],
    pub pool: &'a mut PacketPool,
}

impl Externs {
    pub fn new(program: &Program, options: PipelineOptions) -> Externs {
        let register = |info: &crate::program::info::RegisterInfo| Register {
            width: info.width,
            cells: vec![0; if info.width > 64 { 0 } else { info.size }],
            wide: vec![0; if info.width > 64 { info.size * part_widths(info.width).count() } else { 0 }],
            listed: None,
        };
        let meter = |info: &crate::program::info::MeterInfo| MeterArray {
            unit: info.unit,
            cells: vec![Meter::default(); info.size],
        };
        Externs {
            options,
            stats: Stats::default(),
            random: RandomExtern(options.seed),
            registers: program.registers.iter().map(register).collect(),
            counters: program.counters.iter().map(|info| vec![CounterValue::default(); info.size]).collect(),
            meters: program.meters.iter().map(meter).collect(),
            groups: HashMap::new(),
            group_actions: 0,
            down: Vec::new(),
            value_sets: vec![Vec::new(); program.value_sets.len()],
            written: VecDeque::new(),
            scratch: Vec::new(),
            key: Vec::new(),
            arguments: Vec::new(),
            digests: Vec::new(),
            recording: None,
            choices: None,
        }
    }

    /// A cell's value; none past the end, where a read leaves its target as it was.
    pub fn register_load(&mut self, register: u32, index: u128) -> Option<Value> {
        let value =
            usize::try_from(index).ok().and_then(|index| self.registers[register as usize].get(index));
        self.stats.register_out_of_range += u64::from(value.is_none());
        value
    }

    /// Sets a cell to the value's lowest bits; past the end nothing is written.
    pub fn register_store(&mut self, register: u32, index: u128, value: &Value) {
        match usize::try_from(index) {
            Ok(at) if self.registers[register as usize].set(at, value) => self.note(register, at as u32),
            _ => self.stats.register_out_of_range += 1,
        }
    }

    /// Lists a cell the program wrote, if the register is watched.
    pub fn note(&mut self, register: u32, index: u32) {
        if let Some(listed) = &mut self.registers[register as usize].listed {
            if !std::mem::replace(&mut listed[index as usize], true) {
                self.written.push_back((register, index));
            }
        }
    }

    pub fn count(&mut self, counter: u32, index: u128, bytes: u32) {
        let cells = &mut self.counters[counter as usize];
        match cell(cells.len(), index) {
            Some(index) => cells[index].add(bytes),
            None => self.stats.counter_out_of_range += 1,
        }
    }

    /// The packet's colour; `None` past the end.
    pub fn meter_colour(&mut self, meter: u32, index: u128, now: Nanos, bytes: u32) -> Option<u128> {
        let array = &mut self.meters[meter as usize];
        match cell(array.cells.len(), index) {
            Some(index) => Some(array.cells[index].colour(now, array.unit, bytes)),
            None => {
                self.stats.meter_out_of_range += 1;
                None
            }
        }
    }
}

fn cell(size: usize, index: u128) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < size)
}

impl CounterValue {
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(u64::from(bytes));
    }
}

#[cfg(test)]
#[path = "tests/random.rs"]
mod tests;
