//! A file that a hub is given to send, its transfer as the hub keeps it, and the report on it.

use std::collections::VecDeque;
use std::ops::Range;

use groupflow_base::ranges::Ranges;
use groupflow_base::{Nanos, SeekableBytes};

use super::hub::{millis, HubConfig};
use super::message::{DataPacket, FileName, Parameters, Repair, SILENCES_S, WAITS_MS};
use super::size::SizeControl;

pub(super) struct Job {
    offer: Offer,
    /// Bytes that some rim is known to lack, including those not sent yet.
    pub(super) lacks: Ranges,
    pub(super) sizes: SizeControl,
    pub(super) round: u32,
    /// The bytes of the round's packets that are still to be sent.
    pub(super) planned: VecDeque<Range<u64>>,
    /// The number of the last packet sent.
    pub(super) numbered: u16,
    /// Byte ranges of the file sent in this round.
    sent: Vec<Range<u64>>,
    /// The time over which answers are spread.
    pub(super) window: Nanos,
    /// Whether a rim lacks the control parameters.
    pub(super) describe: bool,
    /// Unicast: the index of the current rim.
    pub(super) target: usize,
    /// Unicast: whether the current rim declined the file.
    pub(super) declined: bool,
    /// Consecutive times that nobody answered.
    pub(super) silent: u8,
    pub(super) report: TransferReport,
}

impl Job {
    pub(super) fn new(offer: Offer, sizes: SizeControl, now: Nanos) -> Job {
        let size = offer.source.len();
        let report = TransferReport {
            name: offer.name.clone(),
            outcome: TransferOutcome::Done,
            size,
            started: now,
            ended: now,
            sent: 0,
            copies: 0,
            packets: 0,
            rounds: 0,
            answers: 0,
            complete: 0,
            lost: 0,
            without: Vec::new(),
        };
        Job {
            report,
            offer,
            lacks: Ranges::default(),
            sizes,
            round: 0,
            planned: VecDeque::new(),
            numbered: 0,
            sent: Vec::new(),
            window: Nanos::ZERO,
            describe: false,
            target: 0,
            declined: false,
            silent: 0,
        }
    }

    /// Starts over: no rim has any byte.
    pub(super) fn restart(&mut self) {
        self.lacks.clear();
        self.lacks.insert(0..self.report.size);
        self.silent = 0;
        self.declined = false;
    }

    pub(super) fn name(&self) -> &FileName {
        &self.offer.name
    }

    /// Bytes that no rim is known to lack.
    pub(super) fn done(&self) -> u64 {
        self.report.size.saturating_sub(self.lacks.total)
    }

    pub(super) fn control(&self, config: &HubConfig) -> Parameters {
        Parameters {
            method: config.method,
            repair: config.repair,
            size: self.report.size,
            mode: self.offer.mode & 0o777,
            packet: config.packet,
            per_round: config.per_round,
            interval_us: u32::try_from(config.interval.0 / 1000).unwrap_or(u32::MAX),
            grace_ms: millis(config.grace),
            window_ms: millis(self.window),
            join_ms: millis(config.join_wait).clamp(*WAITS_MS.start(), *WAITS_MS.end()),
            result_ms: millis(config.result_wait).clamp(*WAITS_MS.start(), *WAITS_MS.end()),
            silence_s: self.silence(config),
            digest: self.offer.digest,
            name: self.offer.name.clone(),
        }
    }

    /// A rim gives up its hub as a hub gives up a rim: after `patience` of the hub's longest pauses, and one
    /// for the way. In seconds.
    fn silence(&self, config: &HubConfig) -> u16 {
        let HubConfig { join_wait, result_wait, interval, patience, .. } = *config;
        let pause = join_wait.max(result_wait + self.window).max(interval);
        let seconds = pause.0.saturating_mul(u64::from(patience) + 1) / 1_000_000_000;
        u16::try_from(seconds).unwrap_or(u16::MAX).clamp(*SILENCES_S.start(), *SILENCES_S.end())
    }

    fn read(&mut self, range: &Range<u64>) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.offer.source.read_at(range.start, &mut bytes).map_err(|why| format!("reading failed: {why}"))?;
        Ok(bytes)
    }

    /// Plans a round of at most `most` packets, from the first bytes that are lacking.
    pub(super) fn plan(&mut self, most: u16) {
        let (mut rest, packet) = (self.lacks.clone(), self.sizes.size);
        self.planned = std::iter::from_fn(|| rest.take_first(packet.into())).take(most.into()).collect();
    }

    /// The round's next packet; `None`: the round is over.
    pub(super) fn next_packet(&mut self, repair: Repair) -> Result<Option<DataPacket>, String> {
        let Some(range) = self.planned.pop_front() else { return Ok(None) };
        self.numbered += 1;
        // Packet 0 is the file's last in the paper. Where rounds may be short, it is the round's last.
        let last = match repair {
            Repair::GoBackN => range.end == self.report.size,
            Repair::Selective => self.planned.is_empty(),
        };
        let bytes = self.read(&range)?;
        self.report.sent += bytes.len() as u64;
        self.report.packets += 1;
        let offset = range.start;
        self.sent.push(range);
        let number = if last { 0 } else { self.numbered };
        Ok(Some(DataPacket { round: self.round, number, offset, bytes }))
    }

    /// Ends a round with the bytes that rims asked for; `silent`: some rim has not said which bytes it lacks.
    pub(super) fn conclude(&mut self, asked: Ranges, silent: bool, slowest: Option<u64>) {
        let sent = std::mem::take(&mut self.sent);
        let Some(end) = sent.iter().map(|range| range.end).max() else { return self.join(asked) };
        self.report.rounds += 1;
        self.lacks.remove_below(end);
        self.join(asked);
        let total: u64 = sent.iter().map(|range| range.end - range.start).sum();
        let useful: u64 = sent.iter().map(|range| self.lacks.missing(range)).sum();
        if !silent {
            self.sizes.on_round(useful, total, slowest);
        }
    }

    /// Adds bytes that a rim lacks.
    pub(super) fn join(&mut self, asked: Ranges) {
        for range in asked.iter() {
            // A rim may ask for bytes beyond the end of the file.
            self.lacks.insert(range.start.min(self.report.size)..range.end.min(self.report.size));
        }
    }
}

pub struct Offer {
    pub name: FileName,
    /// The file's access mode.
    pub mode: u16,
    pub digest: [u8; 32],
    pub source: Box<dyn SeekableBytes>,
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer").field("name", &self.name).field("size", &self.source.len()).finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferOutcome {
    /// Every rim that took part and was not dropped has the file; unscheduled: no rim asked for more.
    Done,
    /// No rim took part, or none is left.
    Nobody,
    Unreadable(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferReport {
    pub name: FileName,
    pub outcome: TransferOutcome,
    /// The file's size in bytes.
    pub size: u64,
    /// When the first message was sent.
    pub started: Nanos,
    /// When the end was known.
    pub ended: Nanos,
    /// Payload bytes sent, to all rims or (unicast) to one after the other.
    pub sent: u64,
    /// How often the file was sent: once to all rims, or (unicast) to each that took it.
    pub copies: u32,
    /// Packets that carried these bytes.
    pub packets: u64,
    pub rounds: u32,
    /// Reception results that arrived.
    pub answers: u64,
    /// Rims that reported that they are complete.
    pub complete: usize,
    /// How often a rim was dropped.
    pub lost: usize,
    /// The rims that left without the file, or were dropped and did not answer since, or (unicast) their
    /// addresses.
    pub without: Vec<String>,
}
