//! A rim's machine with its store: bytes are stored as they arrive, and waiting clients are told.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;

use groupflow_base::{CodecError, Datagram, Digest, Machine, Nanos, Transmit};
use groupflow_host::error::plain;
use groupflow_host::report::seconds;
use hyper::StatusCode;
use serde_json::json;

use super::carrier::Carrier;
use super::incoming::{Announced, IncomingFile};
use super::note::Note;
use super::shelf::{PartialFile, Progress, Shelf};
use crate::machine::message::{Message, Parameters};
use crate::machine::{Asker, FileName, Rim, RimConfig, RimEvent, Verdict, WishOutcome};

/// How long a rim waits for a hub's announcement, longer than an idle hub's interval between announcements.
const UNHEARD: Nanos = Nanos::from_secs(8);

/// A rim that stores its files.
pub struct RimDriver {
    rim: Rim,
    asker: Asker,
    pub carrier: Carrier,
    shelf: Arc<Shelf>,
    /// The only hub that is accepted.
    only: Option<SocketAddrV4>,
    incoming: Option<(IncomingFile, Nanos)>,
    /// Files wished for before any hub was heard, each with the time until which the rim waits for a hub.
    unheard: VecDeque<(Nanos, FileName)>,
    /// The events that were not taken yet.
    pub notes: VecDeque<Note>,
}

impl RimDriver {
    /// A rim that has heard no hub yet. If `only` is set, no other hub is accepted.
    pub fn new(
        config: RimConfig, carrier: Carrier, shelf: Arc<Shelf>, only: Option<SocketAddrV4>,
    ) -> RimDriver {
        let (rim, asker) = (Rim::new(config), Asker::new(config.id));
        RimDriver {
            rim,
            asker,
            carrier,
            shelf,
            only,
            incoming: None,
            unheard: VecDeque::new(),
            notes: VecDeque::new(),
        }
    }

    /// The file that is arriving, and how many of its bytes are there.
    pub fn arriving(&self) -> Option<(&Announced, u64)> {
        self.incoming.as_ref().map(|(incoming, _)| (&incoming.announced, self.rim.bytes()))
    }

    /// Sets the bound of all files in bytes: the least recently used files are removed until the others fit,
    /// and the arriving file is given up if it does not.
    pub fn set_limit(&mut self, limit: u64) {
        self.rim.set_max_size(limit);
        if self.arriving().is_some_and(|(announced, _)| announced.size > limit) {
            self.fail(StatusCode::INSUFFICIENT_STORAGE, "it is larger than the rim's new bound");
            self.rim.leave(false);
        }
        let gone = self.shelf.store().set_limit(limit);
        self.evicted(&gone);
    }

    /// Notes files that were removed to make room for others.
    fn evicted(&mut self, gone: &[FileName]) {
        self.notes.extend(gone.iter().map(|name| Note::of_file("evicted", name, "removed to make room")));
    }

    /// Asks the hub for files that clients wait for, and stops asking for files that no client wants any
    /// more.
    pub fn attend(&mut self, now: Nanos) {
        for name in self.shelf.take_abandoned() {
            self.asker.forget(&name);
        }
        for name in self.shelf.take_wishes() {
            if self.shelf.store().digest(&name).is_some() {
                self.shelf.publish(&name, Progress::Stored); // it arrived meanwhile
            } else if self.arriving().is_some_and(|(announced, _)| announced.name == name) {
                self.show();
            } else if self.asker.ask(now, name.clone()) {
                self.notes.push_back(Note::of_file("asking", &name, "the hub is asked for it"));
                if self.hub().is_none() {
                    self.unheard.push_back((now + UNHEARD, name));
                }
            } else {
                let why = "the hub is asked for too many files; try again";
                self.shelf.publish(&name, Progress::Failed(StatusCode::SERVICE_UNAVAILABLE, why.to_owned()));
            }
        }
        self.give_up_unheard(now);
    }

    /// Gives up wishes that waited too long for a hub.
    fn give_up_unheard(&mut self, now: Nanos) {
        if self.hub().is_some() {
            self.unheard.clear();
        }
        while self.unheard.front().is_some_and(|(until, _)| *until <= now) {
            let Some((_, name)) = self.unheard.pop_front() else { return };
            let why = "no hub is heard; start it, or name its address";
            self.asker.forget(&name);
            self.shelf.publish(&name, Progress::Failed(StatusCode::GATEWAY_TIMEOUT, why.to_owned()));
        }
    }

    pub fn leave(&mut self, now: Nanos) {
        if self.incoming.take().is_some() {
            self.rim.leave(false);
        }
        self.carrier.leave(now);
    }

    fn hub(&self) -> Option<SocketAddrV4> {
        self.only.or(self.rim.hub())
    }

    fn take(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        if self.only.is_some_and(|only| only != datagram.from) {
            return Ok(());
        }
        self.asker.handle(now, &Message::parse(datagram.bytes)?.body);
        self.rim.handle(now, datagram)?;
        self.follow(now);
        Ok(())
    }

    /// Handles the rim's events, and stores the bytes that arrived.
    fn follow(&mut self, now: Nanos) {
        let events: Vec<RimEvent> = self.rim.events().collect();
        let mut complete = false;
        for event in events {
            match event {
                RimEvent::Began(Parameters { name, size, digest, .. }) => {
                    self.begin(now, Announced { name, size, digest: Digest(digest) });
                }
                RimEvent::Complete => complete = true,
                RimEvent::Abandoned => self.fail(StatusCode::BAD_GATEWAY, "the hub gave the file up"),
                RimEvent::Silent => self.fail(StatusCode::GATEWAY_TIMEOUT, "the hub fell silent; try again"),
                RimEvent::TooLong { name, size } => {
                    let limit = self.shelf.store().limit;
                    let why = format!("its {size} bytes are more than the {limit} of the rim's bound");
                    self.give_up(name, StatusCode::INSUFFICIENT_STORAGE, why);
                }
            }
        }
        if let Err(error) = self.store_bytes() {
            self.fail(StatusCode::INSUFFICIENT_STORAGE, &disk(&error));
            self.rim.leave(false);
        }
        if complete {
            self.complete(now);
        }
    }

    fn begin(&mut self, now: Nanos, announced: Announced) {
        self.fail(StatusCode::BAD_GATEWAY, "the hub gave the file up");
        let name = announced.name.clone();
        let had = self.shelf.store().digest(&name) == Some(announced.digest);
        if had {
            self.asker.forget(&name);
            self.shelf.publish(&name, Progress::Stored);
            self.notes.push_back(Note::of_file("had", &name, "is here already"));
            return self.rim.leave(true);
        }
        let incoming = self.shelf.store().begin(announced.clone());
        match incoming {
            Ok(incoming) => {
                self.asker.forget(&name);
                self.incoming = Some((incoming, now));
                let (size, digest) = (announced.size, announced.digest.to_string());
                let fields = json!({"file": name.as_str(), "size": size, "sha256": digest});
                let human = format!("{name}: {size} bytes begin to come");
                self.notes.push_back(Note::new("began", fields, human));
                self.show();
            }
            Err(error) => {
                self.rim.leave(false);
                self.give_up(name, StatusCode::INSUFFICIENT_STORAGE, disk(&error));
            }
        }
    }

    /// Shows the arriving file to the clients that want it.
    fn show(&self) {
        let Some((incoming, _)) = &self.incoming else { return };
        let Announced { name, size, digest, .. } = &incoming.announced;
        let (file, position) = (Arc::clone(&incoming.file), self.rim.position());
        self.shelf
            .publish(name, Progress::Arriving(PartialFile { file, size: *size, digest: *digest, position }));
    }

    fn store_bytes(&mut self) -> io::Result<()> {
        let mut any = false;
        while let Some(write) = self.rim.next_write() {
            if let Some((incoming, _)) = &self.incoming {
                incoming.write(&write)?;
                any = true;
            }
        }
        if let Some((incoming, _)) = self.incoming.as_mut().filter(|_| any) {
            let position = self.rim.position();
            incoming.hash(position)?;
            self.shelf.advance(&incoming.announced.name, position);
        }
        Ok(())
    }

    /// Handles a file of which all bytes are there.
    fn complete(&mut self, now: Nanos) {
        let Some((mut incoming, began)) = self.incoming.take() else { return };
        let announced = incoming.announced.clone();
        let adopted = match incoming.complete() {
            Ok(true) => self.shelf.store().adopt(incoming),
            Ok(false) => {
                let why = "the bytes received do not match the hub's SHA-256".to_owned();
                self.rim.leave(false);
                return self.give_up(announced.name, StatusCode::BAD_GATEWAY, why);
            }
            Err(error) => Err(error),
        };
        match adopted {
            Ok(gone) => {
                self.evicted(&gone);
                self.shelf.publish(&announced.name, Progress::Stored);
                let Announced { name, size, digest } = announced;
                let (digest, took) = (digest.to_string(), seconds(now - began));
                let fields = json!({"file": name.as_str(), "size": size, "sha256": digest, "seconds": took});
                let human = format!("{name}: stored, {size} bytes in {took:.1} s");
                self.notes.push_back(Note::new("stored", fields, human));
            }
            Err(error) => {
                self.rim.leave(false);
                self.give_up(announced.name, StatusCode::INSUFFICIENT_STORAGE, disk(&error));
            }
        }
    }

    /// Gives up the file that is arriving.
    fn fail(&mut self, status: StatusCode, why: &str) {
        if let Some((incoming, _)) = self.incoming.take() {
            self.give_up(incoming.announced.name.clone(), status, why.to_owned());
        }
    }

    fn give_up(&mut self, name: FileName, status: StatusCode, why: String) {
        self.asker.forget(&name);
        self.shelf.publish(&name, Progress::Failed(status, format!("{name}: {why}")));
        let fields = json!({"file": name.as_str(), "why": why});
        self.notes.push_back(Note::new("failed", fields, format!("{name}: {why}")));
    }

    /// Handles the hub's answers to wishes.
    fn listen(&mut self) {
        let outcomes: Vec<WishOutcome> = self.asker.events().collect();
        for (name, verdict) in outcomes {
            let failure = match verdict {
                Some(Verdict::Queued) => None,
                Some(Verdict::Unknown) => Some((StatusCode::NOT_FOUND, "the hub has no such file")),
                Some(Verdict::Busy) => {
                    Some((StatusCode::SERVICE_UNAVAILABLE, "too many files wait at the hub; try again"))
                }
                Some(Verdict::Unreadable) => Some((StatusCode::BAD_GATEWAY, "the hub cannot read the file")),
                None => Some((StatusCode::GATEWAY_TIMEOUT, "the hub does not answer; try again")),
            };
            if let Some((status, why)) = failure {
                self.shelf.publish(&name, Progress::Failed(status, format!("{name}: {why}")));
            }
            let answer = verdict.map_or("silent", Verdict::word);
            let fields = json!({"file": name.as_str(), "answer": answer});
            self.notes.push_back(Note::new("answered", fields, format!("{name}: the hub says {answer}")));
        }
    }
}

fn disk(error: &io::Error) -> String {
    let cure = match error.kind() {
        io::ErrorKind::AlreadyExists => "move the file away that is not the rim's",
        _ => "make room on the disk",
    };
    format!("the file cannot be stored: {}; {cure}", plain(error))
}

impl Machine for RimDriver {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        if let Some(datagram) = self.carrier.unpack(now, datagram)? {
            self.take(now, datagram)?;
            self.listen();
        }
        Ok(())
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        let transmit = self.carrier.poll_transmit(now).or_else(|| self.rim.poll_transmit(now));
        self.follow(now);
        transmit
    }

    fn poll_private(&mut self, now: Nanos) -> Option<Transmit> {
        let hub = self.hub()?;
        let ask = self.asker.poll_transmit(now, hub);
        self.listen();
        ask
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let asker = self.asker.next_deadline().filter(|_| self.hub().is_some());
        let unheard = self.unheard.front().map(|(until, _)| *until);
        [self.carrier.next_deadline(), self.rim.next_deadline(), asker, unheard].into_iter().flatten().min()
    }
}

#[cfg(test)]
#[path = "tests/rim_driver.rs"]
mod tests;
