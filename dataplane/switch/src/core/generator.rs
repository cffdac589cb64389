//! Packet generators: frames that the switch itself makes, at exact times.

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use thiserror::Error;

use super::config::MAX_PORT;
use super::port::MAX_FRAME;

/// The most generators of a switch.
pub const GENERATOR_LIMIT: u8 = 64;
/// The shortest period: it bounds the share of the switch's time that a generator can take.
pub const PERIOD_MIN: Nanos = Nanos::from_micros(1);

/// The reason why a generator cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GeneratorError {
    /// A number beyond that of the last generator.
    #[error("id: {0} is not between 0 and 63")]
    Id(u64),
    /// A period that is too short.
    #[error("period_ns: {} is below {} ns", .0.0, PERIOD_MIN.0)]
    Period(Nanos),
    /// A frame that no port would take.
    #[error("frame: {0} bytes, of at most {MAX_FRAME}, at least 1")]
    Frame(usize),
    /// A port that P4 cannot express.
    #[error("port: {} is above the highest, {MAX_PORT}", .0.0)]
    Port(Port),
    /// The generator exists already.
    #[error("it exists already")]
    AlreadyExists,
    /// The generator does not exist.
    #[error("it does not exist")]
    NotFound,
}

/// The packets of a generator, and their times: tick n is at `first + n * period`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    /// The time between ticks.
    pub period: Nanos,
    /// Tick 0, on the switch's clock. Ticks before the generator was set are not made up for.
    pub first: Nanos,
    /// The frame.
    pub frame: Vec<u8>,
    /// The port at which the frame seems to arrive. The switch need not have it.
    pub port: Port,
    /// Whether the generator ticks.
    pub enabled: bool,
}

impl Generator {
    /// Refuses settings that contradict each other or their limits.
    pub fn check(&self) -> Result<(), GeneratorError> {
        if self.period < PERIOD_MIN {
            return Err(GeneratorError::Period(self.period));
        }
        if self.frame.is_empty() || self.frame.len() > MAX_FRAME {
            return Err(GeneratorError::Frame(self.frame.len()));
        }
        if self.port.0 > MAX_PORT {
            return Err(GeneratorError::Port(self.port));
        }
        Ok(())
    }

    /// The first tick at `time` or later.
    fn from(&self, time: Nanos) -> Nanos {
        let missed = (time - self.first).0.div_ceil(self.period.0);
        self.first + Nanos(missed.saturating_mul(self.period.0))
    }
}

/// A generator at work.
#[derive(Debug, Clone)]
struct RunningGenerator {
    id: u8,
    generator: Generator,
    /// The generator's next tick; never if the generator is disabled.
    next: Nanos,
    ticks: u64,
}

/// The generators of a program, by their numbers.
#[derive(Debug, Default, Clone)]
pub struct Generators {
    running: Vec<RunningGenerator>,
}

impl Generators {
    /// Adds a generator that ticks from `now` on.
    pub fn insert(&mut self, now: Nanos, id: u8, generator: Generator) -> Result<(), GeneratorError> {
        check(id, &generator)?;
        match self.find(id) {
            Ok(_) => Err(GeneratorError::AlreadyExists),
            Err(place) => {
                self.running
                    .insert(place, RunningGenerator { id, next: next(&generator, now), generator, ticks: 0 });
                Ok(())
            }
        }
    }

    /// Replaces a generator.
    pub fn modify(&mut self, now: Nanos, id: u8, generator: Generator) -> Result<(), GeneratorError> {
        check(id, &generator)?;
        let place = self.find(id).map_err(|_| GeneratorError::NotFound)?;
        let running = &mut self.running[place];
        running.next = next(&generator, now);
        running.generator = generator;
        Ok(())
    }

    /// Removes a generator.
    pub fn delete(&mut self, id: u8) -> Result<(), GeneratorError> {
        let place = self.find(id).map_err(|_| GeneratorError::NotFound)?;
        self.running.remove(place);
        Ok(())
    }

    /// All generators, with their numbers and how often they ticked.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &Generator, u64)> {
        self.running.iter().map(|running| (running.id, &running.generator, running.ticks))
    }

    /// Leaves out ticks before `now`.
    pub(super) fn start(&mut self, now: Nanos) {
        self.running.iter_mut().for_each(|running| running.next = next(&running.generator, now));
    }

    /// The next tick.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.running.iter().map(|running| running.next).min().filter(|due| *due < Nanos::MAX)
    }

    /// Takes the next tick if it is due by `now`: its time, its port, and its frame, copied to `frame`.
    pub(super) fn tick(&mut self, now: Nanos, frame: &mut Vec<u8>) -> Option<(Nanos, Port)> {
        // Of several ticks at one time, the generator with the lowest number is first.
        let running = self.running.iter_mut().min_by_key(|running| running.next)?;
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

    fn find(&self, id: u8) -> Result<usize, usize> {
        self.running.binary_search_by_key(&id, |running| running.id)
    }
}

fn check(id: u8, generator: &Generator) -> Result<(), GeneratorError> {
    if id >= GENERATOR_LIMIT {
        return Err(GeneratorError::Id(id.into()));
    }
    generator.check()
}

fn next(generator: &Generator, now: Nanos) -> Nanos {
    if generator.enabled {
        generator.from(now)
    } else {
        Nanos::MAX
    }
}

#[cfg(test)]
#[path = "tests/generator.rs"]
mod tests;
