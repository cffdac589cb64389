//! Pause frames (IEEE 802.1Qbb, one priority class): a node tells its neighbour to stop sending.
//!
//! A pause ends by itself after the time that the frame tells, so that a lost frame stops no sender for
//! ever; a receiver that wants the pause to last repeats it in time.

use groupflow_base::{BitRate, Nanos};
use serde::Deserialize;

const DESTINATION: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
const ETHERTYPE: [u8; 2] = [0x88, 0x08];
/// Priority-based flow control; the class that is meant is the lowest.
const OPCODE: [u8; 2] = [0x01, 0x01];
const CLASSES: [u8; 2] = [0x00, 0x01];
/// The offset of the class's time in a frame.
const QUANTA: usize = 18;
/// Bytes of a frame up to the last of the eight classes' times.
const HEAD: usize = QUANTA + 16;
/// Bytes that fill a pause frame up to the least size of a frame.
const PADDING: u32 = 64 - HEAD as u32;
/// Bit times of a quantum.
const QUANTUM_BITS: u64 = 512;
const NANOS: u64 = 1_000_000_000;
/// The rate by which quanta are counted on a link that has none.
const NOMINAL_RATE: u64 = 1_000_000_000;

/// The longest pause, in quanta.
pub const LONGEST: u16 = u16::MAX;
/// The pause that tells a neighbour to go on.
pub const RESUME: u16 = 0;

pub fn frame(quanta: u16) -> ([u8; HEAD], u32) {
    let mut head = [0; HEAD];
    head[..6].copy_from_slice(&DESTINATION);
    head[12..14].copy_from_slice(&ETHERTYPE);
    head[14..16].copy_from_slice(&OPCODE);
    head[16..18].copy_from_slice(&CLASSES);
    head[QUANTA..QUANTA + 2].copy_from_slice(&quanta.to_be_bytes());
    (head, PADDING)
}

/// The quanta for which a frame pauses; `None`: the frame is no pause frame.
#[inline]
pub fn read(head: &[u8]) -> Option<u16> {
    let fields = head.get(12..QUANTA + 2)?;
    let is_pause = fields[..2] == ETHERTYPE && fields[2..4] == OPCODE && fields[4..6] == CLASSES;
    is_pause.then(|| u16::from_be_bytes([fields[6], fields[7]]))
}

/// The length of quanta on a link.
pub fn span(quanta: u16, rate: Option<BitRate>) -> Nanos {
    let rate = rate.map_or(NOMINAL_RATE, |rate| rate.0.max(1));
    Nanos(u64::from(quanta) * QUANTUM_BITS * NANOS / rate)
}

/// When a neighbour is told to stop, and when to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseSpec {
    /// The neighbour is told to stop when more packets than this wait that came by its link.
    pub xoff: u32,
    /// The neighbour is told to go on when this many of these packets wait, or fewer.
    pub xon: u32,
}

/// The packets of a neighbour that are stored here, and the pause that the neighbour was told.
#[derive(Debug)]
pub struct Restraint {
    /// The thresholds; `None`: the neighbour is told nothing.
    thresholds: Option<PauseSpec>,
    stored: u32,
    stop: bool,
    /// Whether the neighbour was told to stop, and when to tell it again.
    repeat_at: Option<Nanos>,
    rate: Option<BitRate>,
    pauses: u64,
}

impl Restraint {
    /// The pause of the neighbour at a link of this rate.
    pub fn new(thresholds: Option<PauseSpec>, rate: Option<BitRate>) -> Restraint {
        Restraint { thresholds, stored: 0, stop: false, repeat_at: None, rate, pauses: 0 }
    }

    /// Notes that a packet of the neighbour is stored.
    #[inline]
    pub fn enter(&mut self) {
        self.stored += 1;
        if self.thresholds.is_some_and(|thresholds| self.stored > thresholds.xoff) {
            self.stop = true;
        }
    }

    /// Notes that a packet of the neighbour is no longer stored.
    #[inline]
    pub fn leave(&mut self) {
        self.stored -= 1;
        if self.thresholds.is_some_and(|thresholds| self.stored <= thresholds.xon) {
            self.stop = false;
        }
    }

    /// When the neighbour must be told of a pause; [`Nanos::MAX`]: it has been told.
    #[inline]
    pub fn due(&self) -> Nanos {
        match (self.stop, self.repeat_at) {
            (true, Some(again)) => again,
            (false, None) => Nanos::MAX,
            _ => Nanos::ZERO,
        }
    }

    /// The pause to announce to the neighbour, in quanta.
    pub fn announce(&mut self, now: Nanos) -> u16 {
        if !self.stop {
            self.repeat_at = None;
            return RESUME;
        }
        self.pauses += u64::from(self.repeat_at.is_none());
        self.repeat_at = Some(now + Nanos((span(LONGEST, self.rate).0 / 2).max(1)));
        LONGEST
    }

    /// The number of times that the neighbour was told to stop.
    pub fn pauses(&self) -> u64 {
        self.pauses
    }
}

#[cfg(test)]
#[path = "tests/pause.rs"]
mod tests;
