//! One program on both engines, which must do the same.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{
    ActionCall, Arrival, Departure, EgressOutcome, Engine, Entry, EntryKey, Frame, Ingress, Instance, Match,
    MatchKind, Packet, Pipeline, PipelineOptions, Program, TableInfo, Unicast, Verdict, Weighted,
};
use proptest::prelude::*;

use super::{Egress, Emission, Leave};

/// How often a packet goes round.
const ROUNDS: u8 = 2;
/// The metadata of a packet that leaves without waiting.
const DEPARTURE: Departure = Departure {
    port: Port(1),
    rid: 0,
    instance: Instance::Normal,
    enq_timestamp: Nanos(77_000),
    enq_qdepth: 0,
    deq_qdepth: 0,
    deq_timedelta: Nanos(0),
};

/// The interpreter, and native code.
pub struct Twin([Pipeline; 2]);

impl Twin {
    pub fn new(program: &Arc<Program>) -> Twin {
        let pipelines = [Engine::Interpreter, Engine::Native].map(|engine| {
            Pipeline::with_options(
                Arc::clone(program),
                PipelineOptions { engine, ..PipelineOptions::default() },
            )
        });
        assert_eq!(pipelines[0].engine(), Engine::Interpreter);
        Twin(pipelines)
    }

    /// Whether there is native code at all.
    pub fn is_native(&self) -> bool {
        self.0[1].engine() == Engine::Native
    }

    /// Does something to both; it must have the same result.
    pub fn both<T: PartialEq + std::fmt::Debug>(&mut self, mut work: impl FnMut(&mut Pipeline) -> T) -> T {
        let [a, b] = &mut self.0;
        let (a, b) = (work(a), work(b));
        assert_eq!(a, b);
        a
    }

    /// Sends a frame through, with all copies and clones; all that comes out must be the same.
    pub fn send(&mut self, now: u64, port: u16, bytes: &[u8], tail: u32) {
        self.arrive(now, Arrival { tail, ..Arrival::on(Port(port)) }, bytes, 0);
    }

    fn arrive(&mut self, now: u64, arrival: Arrival, bytes: &[u8], round: u8) {
        let [a, b] = &mut self.0;
        let a = a.ingress(Nanos(now), arrival.clone(), bytes);
        // Every other packet goes through both pipelines of native code at once, if it may.
        let mut frame = Frame { bytes: vec![7; 3], tail: 1 };
        if now / 1_000 % 3 == 2 {
            // A traced packet is the interpreter's also where there is native code.
            let (traced, steps) = b.trace_ingress(Nanos(now), &arrival, bytes);
            assert!(!steps.is_empty());
            return self.compare(now, arrival, bytes, [a, traced], round);
        }
        let b = b.arrive(Nanos(now), &arrival, bytes);
        let unicast = b.unicast();
        let b = match unicast {
            Some(unicast) if now / 1_000 % 2 == 1 => {
                let passed = b.egress(&DEPARTURE, &mut frame);
                return self.passed(now, a, unicast, (passed, frame), round);
            }
            _ => b.hold(),
        };
        assert_eq!(unicast.is_some(), self.is_alone(&a));
        self.compare(now, arrival, bytes, [a, b], round);
    }

    fn compare(&mut self, now: u64, arrival: Arrival, bytes: &[u8], [a, b]: [Ingress; 2], round: u8) {
        assert_eq!(a.verdict, b.verdict);
        assert_eq!(a.digests, b.digests);
        assert_eq!(a.packet.is_some(), b.packet.is_some());
        assert_eq!(a.clone.is_some(), b.clone.is_some());
        for (a, b) in a.clone.into_iter().zip(b.clone) {
            assert_eq!(a.session, b.session);
            self.leave(now, [a.packet, b.packet], 5, Instance::CloneIngress, round);
        }
        if let (Some(a), Some(b)) = (a.packet, b.packet) {
            let copies = [self.0[0].replicate(&a), self.0[1].replicate(&b)];
            self.leave(now, copies, 2, Instance::Replication, round);
            self.leave(now, [a, b], 1, Instance::Normal, round);
        }
        if let Verdict::Resubmit(kept) = a.verdict {
            if round < ROUNDS {
                let again = Arrival { instance: Instance::Resubmit, restored: Some(kept), ..arrival };
                self.arrive(now, again, bytes, round + 1);
            }
        }
    }

    /// Whether the only thing that came of ingress is a packet for one port.
    fn is_alone(&self, done: &Ingress) -> bool {
        let unicast = matches!(done.verdict, Verdict::Unicast(_));
        unicast && done.clone.is_none() && done.digests.is_empty() && !self.0[0].has_written()
    }

    /// The interpreter held a packet that went through native code at once.
    fn passed(&mut self, now: u64, held: Ingress, met: Unicast, passed: (EgressOutcome, Frame), round: u8) {
        assert!(self.is_alone(&held));
        let packet = held.packet.expect("a packet for a port");
        let bytes = packet.wire_len() as u32;
        assert_eq!(Verdict::Unicast(met.port), held.verdict);
        assert_eq!(met, Unicast { port: met.port, priority: packet.priority(), bytes });
        let held = self.0[0].egress(Nanos(now), packet, DEPARTURE);
        self.left(now, [held, Egress::of(passed.0, passed.1)], DEPARTURE.port, round);
    }

    fn leave(&mut self, now: u64, packets: [Packet; 2], rid: u16, instance: Instance, round: u8) {
        let shape = |p: &Packet| (p.wire_len(), p.priority());
        assert_eq!(shape(&packets[0]), shape(&packets[1]));
        let departure = Departure {
            port: Port(rid),
            rid,
            instance,
            enq_timestamp: Nanos(now),
            enq_qdepth: 3,
            deq_qdepth: 4,
            deq_timedelta: Nanos(5_000),
        };
        let [a, b] = packets;
        let a = self.0[0].egress(Nanos(now + 5_000), a, departure);
        let b = self.0[1].egress(Nanos(now + 5_000), b, departure);
        self.left(now, [a, b], departure.port, round);
    }

    fn left(&mut self, now: u64, [a, b]: [Egress; 2], port: Port, round: u8) {
        assert_eq!(a.emission, b.emission);
        assert_eq!(a.clone.is_some(), b.clone.is_some());
        if round >= ROUNDS {
            return;
        }
        for (a, b) in a.clone.into_iter().zip(b.clone) {
            assert_eq!(a.session, b.session);
            self.leave(now, [a.packet, b.packet], 6, Instance::CloneEgress, round + 1);
        }
        if let Emission::Recirculate { frame, preserved } = a.emission {
            let instance = Instance::Recirculated;
            let again = Arrival { port, instance, restored: Some(preserved), tail: frame.tail };
            self.arrive(now, again, &frame.bytes, round + 1);
        }
    }

    /// Everything the control plane can read must be the same.
    pub fn compare_state(&mut self) {
        let program = Arc::clone(self.0[0].program());
        self.both(|p| p.stats());
        self.both(|p| std::iter::from_fn(|| p.pop_written()).collect::<Vec<_>>());
        for register in &program.registers {
            self.both(|p| {
                (0..register.size).map(|i| p.register_read(register.id, i).unwrap()).collect::<Vec<_>>()
            });
        }
        for counter in &program.counters {
            self.both(|p| {
                (0..counter.size).map(|i| p.counter_read(counter.id, i).unwrap()).collect::<Vec<_>>()
            });
        }
        for table in &program.tables {
            self.both(|p| {
                let entries = p.table_entries(table.id).unwrap();
                entries
                    .map(|view| (view.entry.clone(), view.resources.counter, view.resources.meter))
                    .collect::<Vec<_>>()
            });
        }
    }
}

/// A value of a field of this width: often one of a few small ones, so that packets and entries meet.
fn value(seed: u64, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    let value = match seed % 8 {
        0..=5 => u128::from(seed / 8 % 5),
        6 => all.wrapping_sub(u128::from(seed / 8 % 3)),
        _ => u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
    };
    value & all
}

/// An entry that fits the table, from random numbers.
pub fn entry(program: &Program, table: &TableInfo, seeds: &[u64]) -> Entry {
    let mut seeds = seeds.iter().cycle().enumerate().map(|(i, seed)| seed.rotate_left(7 * i as u32));
    let mut next = move || seeds.next().unwrap_or(0);
    let matches = table.key.iter().map(|field| {
        let width = field.width;
        let all = u128::MAX >> (128 - width);
        let one = value(next(), width);
        match field.kind {
            MatchKind::Exact => Match::Exact(one),
            MatchKind::Lpm => {
                let prefix = (next() % u64::from(width + 1)) as u8;
                let kept = all & !all.checked_shr(prefix.into()).unwrap_or(0);
                Match::Lpm { value: one & kept, prefix }
            }
            MatchKind::Ternary => {
                let mask = if next() % 3 == 0 { 0 } else { all & !value(next(), width) };
                Match::Ternary { value: one & mask, mask }
            }
            MatchKind::Range => {
                let other = value(next(), width);
                Match::Range { low: one.min(other), high: one.max(other) }
            }
            MatchKind::Optional => Match::Optional((next() % 2 == 0).then_some(one)),
        }
    });
    let matches = matches.collect();
    let actions: Vec<_> = table.actions.iter().map(|id| &program.actions[id.index()]).collect();
    let action = actions[seeds_of(&matches) % actions.len()];
    let arguments = if Some(action.id) == table.select {
        vec![handle(table).into()]
    } else {
        action.params.iter().zip(1..).map(|(param, i)| value(8 * i, param.width)).collect()
    };
    let priority = if table.with_priority { 1 + (seeds_of(&matches) % 5) as u32 } else { 0 };
    Entry { key: EntryKey { matches, priority }, call: ActionCall { action: action.id, arguments } }
}

/// The handle of a table's one group.
fn handle(table: &TableInfo) -> u64 {
    table.id.index() as u64
}

/// Actions for the group of a table with a selector, from random numbers: none, for some.
fn group(program: &Program, table: &TableInfo, seeds: &[u64; 3]) -> Vec<Weighted> {
    let weighted = seeds.iter().map(|&seed| {
        let watched = (seed % 2 == 0).then_some(Port((seed / 2 % 4) as u16));
        (entry(program, table, &[seed, 1]).call, (seed / 8 % 4) as u32, watched)
    });
    weighted.filter(|(call, ..)| Some(call.action) != table.select).collect()
}

fn seeds_of(matches: &Vec<Match>) -> usize {
    format!("{matches:?}").bytes().fold(7, |hash: usize, byte| hash.wrapping_mul(31) ^ usize::from(byte)) >> 3
}

/// An operation of the control plane: the table, the kind, random numbers for the entry.
pub type TableWrite = (prop::sample::Index, u8, [u64; 3]);

pub fn writes(most: usize) -> impl Strategy<Value = Vec<TableWrite>> {
    prop::collection::vec(any::<TableWrite>(), 0..most)
}

impl Twin {
    /// Changes a table on both.
    pub fn write(&mut self, (table, what, seeds): &TableWrite) {
        let program = Arc::clone(self.0[0].program());
        let tables: Vec<_> = program.tables.iter().filter(|table| !table.actions.is_empty()).collect();
        if tables.is_empty() {
            return;
        }
        let table = tables[table.index(tables.len())];
        let entry = entry(&program, table, seeds);
        self.both(|p| match what % 8 {
            3 if table.select.is_some() => {
                p.set_group(table.id, handle(table), group(&program, table, seeds)).is_ok()
            }
            4 if table.select.is_some() => {
                p.port_is(Port((seeds[0] % 4) as u16), seeds[1] % 2 == 0);
                true
            }
            0 => p.table_delete(table.id, &entry.key).is_ok(),
            1 => p.table_modify(table.id, &entry.key, &entry.call).is_ok(),
            2 => p.table_set_default(table.id, (seeds[0] % 3 != 0).then(|| entry.call.clone())).is_ok(),
            _ => p.table_insert(table.id, &entry.key, &entry.call).is_ok(),
        });
    }
}
