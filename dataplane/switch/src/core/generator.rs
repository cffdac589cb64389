//! Packet generators: frames that the switch itself makes, at exact times.

use std::collections::btree_map::{BTreeMap, Entry};

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use thiserror::Error;

use super::config::MAX_PORT;
use super::port::MAX_FRAME;

pub const GENERATOR_LIMIT: u8 = 64;
/// The shortest period: it bounds the share of the switch's time that a generator can take.
pub const PERIOD_MIN: Nanos = Nanos::from_micros(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GeneratorError {
    #[error("id: {0} is not between 0 and 63")]
    Id(u64),
    #[error("period_ns: {} is below {} ns", .0.0, PERIOD_MIN.0)]
    Period(Nanos),
    #[error("frame: {0} bytes, of at most {MAX_FRAME}, at least 1")]
    Frame(usize),
    #[error("port: {} is above the highest, {MAX_PORT}", .0.0)]
    Port(Port),
    #[error("it exists already")]
    AlreadyExists,
    #[error("it does not exist")]
    NotFound,
}

/// The packets of a generator, and their times: tick n is at `first + n * period`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    pub period: Nanos,
    /// Tick 0, on the switch's clock. Ticks before the generator was set are not made up for.
    pub first: Nanos,
    pub frame: Vec<u8>,
    /// The port at which the frame seems to arrive. The switch need not have it.
    pub port: Port,
    pub enabled: bool,
}

impl Generator {
    fn check(&self, id: u8) -> Result<(), GeneratorError> {
        match self {
            _ if id >= GENERATOR_LIMIT => Err(GeneratorError::Id(id.into())),
            _ if self.period < PERIOD_MIN => Err(GeneratorError::Period(self.period)),
            _ if !(1..=MAX_FRAME).contains(&self.frame.len()) => Err(GeneratorError::Frame(self.frame.len())),
            _ if self.port.0 > MAX_PORT => Err(GeneratorError::Port(self.port)),
            _ => Ok(()),
        }
    }

    /// The first tick at `time` or later; never if the generator is disabled.
    fn next(&self, time: Nanos) -> Nanos {
        if !self.enabled {
            return Nanos::MAX;
        }
        let missed = (time - self.first).0.div_ceil(self.period.0);
        self.first + Nanos(missed.saturating_mul(self.period.0))
    }
}

#[derive(Debug, Clone)]
struct RunningGenerator {
    generator: Generator,
    next: Nanos,
    ticks: u64,
}

#[derive(Debug, Default, Clone)]
pub struct Generators {
    running: BTreeMap<u8, RunningGenerator>,
}

impl Generators {
    /// Adds a generator that ticks from `now` on.
    pub fn insert(&mut self, now: Nanos, id: u8, generator: Generator) -> Result<(), GeneratorError> {
        generator.check(id)?;
        let Entry::Vacant(place) = self.running.entry(id) else { return Err(GeneratorError::AlreadyExists) };
        place.insert(RunningGenerator { next: generator.next(now), generator, ticks: 0 });
        Ok(())
    }

    pub fn modify(&mut self, now: Nanos, id: u8, generator: Generator) -> Result<(), GeneratorError> {
        generator.check(id)?;
        let running = self.running.get_mut(&id).ok_or(GeneratorError::NotFound)?;
        (running.next, running.generator) = (generator.next(now), generator);
        Ok(())
    }

    pub fn delete(&mut self, id: u8) -> Result<(), GeneratorError> {
        self.running.remove(&id).map(drop).ok_or(GeneratorError::NotFound)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u8, &Generator, u64)> {
        self.running.iter().map(|(id, running)| (*id, &running.generator, running.ticks))
    }

    /// Leaves out ticks before `now`.
    pub(super) fn start(&mut self, now: Nanos) {
        self.running.values_mut().for_each(|running| running.next = running.generator.next(now));
    }

    pub(super) fn due(&self) -> Option<Nanos> {
        self.running.values().map(|running| running.next).min().filter(|due| *due < Nanos::MAX)
    }

    /// Takes the next tick if it is due by `now`: its time, its port, and its frame, copied to `frame`.
    pub(super) fn tick(&mut self, now: Nanos, frame: &mut Vec<u8>) -> Option<(Nanos, Port)> {
        // Of several ticks at one time, the generator with the lowest number is first.
        let running = self.running.values_mut().min_by_key(|running| running.next)?;
        let time = running.next;
        if time > now || time == Nanos::MAX {
            return None;
        }
        running.next = time + running.generator.period;
        running.ticks += 1;
        frame.clear();
        frame.extend_from_slice(&running.generator.frame);
        Some((time, running.generator.port))
    }
}

#[cfg(test)]
#[path = "tests/generator.rs"]
mod tests;
