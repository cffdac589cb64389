//! A hub's machine with its folder.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;
use std::sync::Arc;

use groupflow_base::{CodecError, Datagram, Dest, Machine, Nanos, Transmit};

use super::carrier::Carrier;
use super::folder::{FileState, Folder};
use super::shelf::Desk;
use crate::machine::{
    FileName, Hub, HubConfig, HubEvent, Method, RimId, TransferOutcome, TransferReport, Verdict,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HubNote {
    /// A file begins to be sent.
    Began(FileName),
    Ended(TransferReport),
    Lost(RimId),
    Asked(RimId, FileName, Verdict),
}

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
    pub notes: VecDeque<HubNote>,
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
                    let state = match &report.outcome {
                        TransferOutcome::Done => FileState::Sent,
                        TransferOutcome::Nobody => {
                            FileState::Failed("no rim took part, or each has the file already".to_owned())
                        }
                        TransferOutcome::Unreadable(why) => FileState::Failed(why.clone()),
                    };
                    folder.set(&report.name, state);
                    match &report.outcome {
                        TransferOutcome::Unreadable(_) => self.disappoint(&folder, &report.name),
                        TransferOutcome::Done | TransferOutcome::Nobody => {
                            drop(self.wishes.take(&report.name))
                        }
                    }
                    self.sending = None;
                    self.notes.push_back(HubNote::Ended(report));
                }
                HubEvent::Lost(rim) => self.notes.push_back(HubNote::Lost(rim)),
                HubEvent::Asked { rim, from, name } => {
                    let verdict = folder.want(&name);
                    self.hub.answer(from, rim, name.clone(), verdict);
                    if verdict == Verdict::Queued {
                        self.wishes.add(&name, rim, from);
                    }
                    self.notes.push_back(HubNote::Asked(rim, name, verdict));
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
                self.notes.push_back(HubNote::Began(name.clone()));
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

#[derive(Debug, Default)]
pub struct Wishes {
    of: BTreeMap<FileName, BTreeMap<RimId, SocketAddrV4>>,
    count: usize,
}

impl Wishes {
    /// Notes that a rim was told that the file is queued.
    pub fn add(&mut self, name: &FileName, rim: RimId, from: SocketAddrV4) {
        if self.count < MOST && self.of.entry(name.clone()).or_default().insert(rim, from).is_none() {
            self.count += 1;
        }
    }

    /// Removes and returns the rims that wanted a file.
    pub fn take(&mut self, name: &FileName) -> BTreeMap<RimId, SocketAddrV4> {
        let rims = self.of.remove(name).unwrap_or_default();
        self.count -= rims.len();
        rims
    }
}

#[cfg(test)]
#[path = "tests/wishes.rs"]
mod tests;
