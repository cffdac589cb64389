//! A hub's machine with its folder.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;

use groupflow_base::{CodecError, Datagram, Dest, Machine, Nanos, Transmit};
use groupflow_host::report::seconds;
use serde_json::json;

use super::carrier::Carrier;
use super::folder::{FileState, Folder};
use super::note::Note;
use super::shelf::Desk;
use crate::machine::{
    FileName, Hub, HubConfig, HubEvent, Method, RimId, TransferOutcome, TransferReport, Verdict,
};

/// A hub that sends the files of a folder.
pub struct HubDriver {
    hub: Hub,
    group: Dest,
    unicast: bool,
    pub carrier: Carrier,
    desk: Arc<Desk>,
    sending: Option<FileName>,
    wishes: Wishes,
    /// The events that were not taken yet.
    pub notes: VecDeque<Note>,
}

impl HubDriver {
    /// A hub that has nothing to send yet.
    pub fn new(config: HubConfig, carrier: Carrier, desk: Arc<Desk>) -> HubDriver {
        let (group, unicast) = (Dest::Host(config.group), config.method == Method::Unicast);
        let hub = Hub::new(config);
        let (wishes, notes) = (Wishes::default(), VecDeque::new());
        HubDriver { hub, group, unicast, carrier, desk, sending: None, wishes, notes }
    }

    /// Sets the time between packets, from the next file on.
    pub fn set_interval(&mut self, interval: Nanos) {
        self.hub.set_interval(interval);
    }

    /// The file being sent, the bytes of it that no rim is known to lack, and the payload bytes sent.
    pub fn progress(&self) -> Option<(&FileName, u64, u64)> {
        self.hub.sending().map(|name| (name, self.hub.done(), self.hub.sent()))
    }

    /// Queues files that are ready, answers rims, and updates the states in the folder.
    pub fn attend(&mut self) {
        let desk = Arc::clone(&self.desk);
        let mut folder = desk.folder();
        let events: Vec<HubEvent> = self.hub.events().collect();
        for event in events {
            match event {
                HubEvent::Ended(report) => {
                    let state = match failure(&report) {
                        Some(why) => FileState::Failed(why),
                        None if report.without.is_empty() => FileState::Sent(None),
                        None => FileState::Sent(Some(format!("without {}", report.without.join(", ")))),
                    };
                    folder.set(&report.name, state);
                    match &report.outcome {
                        TransferOutcome::Unreadable(_) => self.disappoint(&folder, &report.name),
                        TransferOutcome::Done | TransferOutcome::Nobody => {
                            drop(self.wishes.take(&report.name))
                        }
                    }
                    self.sending = None;
                    self.notes.push_back(ended(&report));
                }
                HubEvent::Lost(rim) => {
                    let human = format!("{rim} does not answer and is dropped");
                    self.notes.push_back(Note::new("rim_lost", json!({"rim": rim.0}), human));
                }
                HubEvent::Asked { rim, from, name } => {
                    let verdict = folder.want(&name);
                    self.hub.answer(from, rim, name.clone(), verdict);
                    if verdict == Verdict::Queued {
                        self.wishes.add(&name, rim, from);
                    }
                    let answer = verdict.word();
                    let fields = json!({"file": name.as_str(), "rim": rim.0, "answer": answer});
                    let human = format!("{rim} wants {name}: {answer}");
                    self.notes.push_back(Note::new("asked", fields, human));
                }
            }
        }
        for name in std::mem::take(&mut folder.unhashed) {
            self.disappoint(&folder, &name);
        }
        while let Some(offer) = folder.ready.pop_front() {
            // The folder's bound on waiting files is below the machine's.
            if let Err(offer) = self.hub.push(offer) {
                folder.set(&offer.name, FileState::Failed("too many files wait".to_owned()));
            }
        }
        if let Some(name) = self.hub.sending() {
            folder.advance(name, self.hub.done());
        }
        let sending = self.hub.sending();
        if sending != self.sending.as_ref() {
            self.sending = sending.cloned();
            if let Some(name) = &self.sending {
                folder.set(name, FileState::Sending);
                self.notes.push_back(Note::of_file("began", name, "is sent"));
            }
        }
    }

    /// Tells the rims that asked for a file that it will not come. Rims that heard the transfer's END know
    /// that already; rims to which nothing of the file was sent do not.
    fn disappoint(&mut self, folder: &Folder, name: &FileName) {
        let Some(verdict) = folder.why_unsent(name) else { return };
        for (rim, from) in self.wishes.take(name) {
            self.hub.answer(from, rim, name.clone(), verdict);
        }
    }
}

/// Why no rim got the file.
fn failure(report: &TransferReport) -> Option<String> {
    match &report.outcome {
        TransferOutcome::Done => None,
        TransferOutcome::Nobody if report.without.is_empty() => {
            Some("no rim took part, or each has the file already".to_owned())
        }
        TransferOutcome::Nobody => Some(format!("no rim is left; without {}", report.without.join(", "))),
        TransferOutcome::Unreadable(why) => Some(why.clone()),
    }
}

/// The event of a transfer that has ended.
fn ended(report: &TransferReport) -> Note {
    let took = seconds(report.ended - report.started);
    let why = failure(report);
    let outcome = match &report.outcome {
        TransferOutcome::Done => "done",
        TransferOutcome::Nobody => "nobody",
        TransferOutcome::Unreadable(_) => "unreadable",
    };
    let fields = json!({
        "file": report.name.as_str(), "outcome": outcome, "why": why, "size": report.size, "seconds": took,
        "sent_bytes": report.sent, "copies": report.copies, "packets": report.packets, "rounds": report.rounds,
        "answers": report.answers, "complete": report.complete, "lost": report.lost,
        "without": report.without,
    });
    let human = match why {
        Some(why) => format!("{}: not sent: {why}", report.name),
        None => {
            let copied = report.size * u64::from(report.copies);
            let again = (copied > 0).then(|| (100.0 * (report.sent as f64 / copied as f64 - 1.0)).round());
            let again = again.map_or(String::new(), |percent| format!("{percent} % again, "));
            let without: String = report.without.iter().map(|rim| format!(", without {rim}")).collect();
            let (name, complete) = (&report.name, report.complete);
            format!("{name}: sent in {took:.1} s, {again}{complete} rims complete{without}")
        }
    };
    Note::new("sent", fields, human)
}

impl Machine for HubDriver {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        match self.carrier.unpack(now, datagram)? {
            Some(datagram) => self.hub.handle(now, datagram),
            None => Ok(()),
        }
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if let Some(transmit) = self.carrier.poll_transmit(now) {
            return Some(transmit);
        }
        if !self.carrier.ready() {
            return None;
        }
        let transmit = self.hub.poll_transmit(now)?;
        match transmit.dest == self.group && !self.unicast {
            true => Some(self.carrier.pack(now, transmit)),
            false => Some(transmit),
        }
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let hub = self.hub.next_deadline().filter(|_| self.carrier.ready());
        [self.carrier.next_deadline(), hub].into_iter().flatten().min()
    }
}

/// The most wishes remembered; a rim whose wish is not remembered asks again after a minute.
const MOST: usize = 4096;

/// The files that rims were told are queued, and the rims' addresses.
#[derive(Debug, Default)]
pub struct Wishes(BTreeMap<(FileName, RimId), SocketAddrV4>);

impl Wishes {
    pub fn add(&mut self, name: &FileName, rim: RimId, from: SocketAddrV4) {
        if self.0.len() < MOST {
            self.0.insert((name.clone(), rim), from);
        }
    }

    /// Removes the wishes for a file; returns the rims that had them.
    pub fn take(&mut self, name: &FileName) -> Vec<(RimId, SocketAddrV4)> {
        let (taken, kept) = std::mem::take(&mut self.0).into_iter().partition(|((of, _), _)| of == name);
        self.0 = kept;
        let taken: BTreeMap<_, _> = taken;
        taken.into_iter().map(|((_, rim), from)| (rim, from)).collect()
    }
}

#[cfg(test)]
#[path = "tests/wishes.rs"]
mod tests;
