//! `gfagent bone-rim`.

use std::sync::Arc;
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::process::{raise_descriptors, system, Wake};
use groupflow_host::report::{Reporter, Weight, PROGRESS};
use groupflow_host::shell::Shell;
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::control::Role;
use serde_json::json;

use super::args::BoneRimArgs;
use super::carrier::Carrier;
use super::http;
use super::orders::{self, Bound, Order, Orders};
use super::rim_driver::RimDriver;
use super::serve::Pages;
use super::shelf::Shelf;
use super::store::Store;
use crate::machine::{RimConfig, RimId};

/// How often the order of use is written to the index.
const SAVE: Nanos = Nanos::from_secs(5);

/// Bytes of all files that can be ordered.
const BYTES: Bound = Bound { name: "bytes", range: 1..=i64::MAX as u64 };

impl Subcommand for BoneRimArgs {
    fn reporter(&self) -> Reporter {
        self.bone.common.reporter("bone-rim", false, self.bone.session)
    }

    /// Receives and serves until a signal comes; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.bone.common.name)?;
        raise_descriptors();
        let (mut store, lost) =
            Store::open(&self.dir, if self.bone.orders { u64::MAX } else { self.max_bytes })?;
        store.limit = self.max_bytes.max(store.bytes());
        for name in lost {
            let human = format!("{name}: forgotten, the file is gone or changed");
            reporter.event("forgotten", Weight::Lasting, json!({"file": name.as_str()}), Some(human));
        }
        let (listener, http) = http::listen(self.http)?;
        let socket = GroupSocket::open(&self.bone.rim_socket())?;
        // This thread handles signals, and must block them before another thread exists.
        let mut shell = Shell::new(socket)?;
        if let Some(own) = self.bone.private_socket() {
            shell = shell.with_private(GroupSocket::open(&own)?);
        }
        let wake = Wake::new().map_err(|e| system(&e))?;
        let shelf = Arc::new(Shelf::new(store, wake));
        let pages = Arc::new(Pages::new(Arc::clone(&shelf), Duration::from_secs(self.miss_wait)));
        let stalled = Duration::from_secs(self.client_wait);
        http::serve(listener, stalled, move |request| Arc::clone(&pages).answer(request))?;
        let mut orders = Orders::new(BYTES, self.bone.orders);
        let address = shell.socket.address;
        let fields = json!({
            "addr": address.ip().to_string(), "port": address.port(), "http": http.to_string(),
            "files": shelf.store().files().count(),
        });
        let human = format!("hears {address}, serves http://{http}/");
        reporter.event("ready", Weight::Lasting, fields, Some(human));
        let common = &self.bone.common;
        let carrier = Carrier::new(shell.clock.now(), self.bone.session, Role::Receiver, common);
        let id = RimId(common.seed.map_or_else(rand::random, |seed| seed as u32));
        let config = RimConfig { id, max_size: shelf.store().limit, seed: common.seed(), forgets: false };
        let mut receiver = RimDriver::new(config, carrier, Arc::clone(&shelf), self.hub);
        let (mut save_at, mut progress_at) = (shell.clock.now() + SAVE, Nanos::ZERO);
        // The controller, which answers within two reports, may allow more than the command line does.
        let mut own_at = self.bone.orders.then_some(save_at);
        loop {
            shelf.wake.clear();
            receiver.attend(shell.clock.now());
            for order in orders.read() {
                obey(self, &mut own_at, &mut receiver, &shelf, order, reporter);
            }
            if own_at.is_some_and(|at| at <= shell.clock.now()) {
                own_at = None;
                receiver.set_limit(self.max_bytes);
            }
            shell.exchange(&mut receiver)?;
            receiver.carrier.events(reporter)?;
            receiver.notes.drain(..).for_each(|note| note.report(reporter));
            for name in shelf.take_damaged() {
                let human = format!("{name}: does not match its stored digest, and is removed");
                reporter.event("damaged", Weight::Lasting, json!({"file": name.as_str()}), Some(human));
            }
            let now = shell.clock.now();
            if progress_at <= now {
                progress_at = now + PROGRESS;
                if let Some((file, bytes)) = receiver.arriving() {
                    let fields =
                        json!({"file": file.name.as_str(), "bytes": bytes, "total_bytes": file.size});
                    reporter.event("progress", Weight::Passing, fields, None);
                }
            }
            if save_at <= now {
                save_at = now + SAVE;
                save(&shelf, reporter);
            }
            let until = if receiver.arriving().is_some() { progress_at } else { save_at };
            if shell.wait(&receiver, Some(until), orders.interests(&shelf.wake))?.signal {
                break;
            }
        }
        receiver.leave(shell.clock.now());
        shell.farewell(&mut receiver, |receiver| receiver.carrier.has_ended())?;
        save(&shelf, reporter);
        Ok(0)
    }
}

/// Carries out an order about the bytes of all files. `own_at`: the time from which the bound of the command
/// line holds, if it does not hold yet.
fn obey(
    args: &BoneRimArgs, own_at: &mut Option<Nanos>, receiver: &mut RimDriver, shelf: &Shelf, order: Order,
    reporter: &mut Reporter,
) {
    match order {
        Ok(bytes) => {
            *own_at = own_at.filter(|_| bytes.is_none());
            let limit = match own_at {
                Some(_) => shelf.store().limit,
                None => bytes.unwrap_or(args.max_bytes),
            };
            if shelf.store().limit != limit {
                receiver.set_limit(limit);
            }
            let store = shelf.store();
            orders::report_holds(reporter, store.files().count(), store.bytes(), limit);
        }
        Err(error) => orders::report_refused(reporter, &error),
    }
}

fn save(shelf: &Shelf, reporter: &mut Reporter) {
    if let Err(error) = shelf.store().save() {
        let (cause, cure) =
            (format!("cannot write the store's index: {}", plain(&error)), "make room on the disk");
        let human = Some(format!("{cause}; {cure}"));
        let fields = json!({"code": "index", "cause": cause, "cure": cure});
        reporter.event("trouble", Weight::Lasting, fields, human);
    }
}
