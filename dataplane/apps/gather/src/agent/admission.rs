//! Connections and streams at their beginning and their end: accepting, admitting, refusing; news that
//! clients get of their streams, and farewells.

use std::fs::File;
use std::io;
use std::time::Duration;

use groupflow_base::reassembly::Reassembly;
use groupflow_host::link::{Channel, LongHandshake, TlsMismatch};
use groupflow_host::tcp::{self, is_exhausted, is_later, EXHAUSTED};
use serde_json::json;

use super::flow::{GatherFlow, ServerStripe};
use super::server::{Server, ServerPollKey};
use crate::machine::frame::Hello;
use crate::machine::{Admitted, ClientName, Epoch, GatherFrame, RefusalCode, Refused};

impl Server {
    pub(super) fn accept(&mut self) {
        while self.listed {
            let (socket, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if is_exhausted(&error) && self.spare.take().is_some() => {
                    // The spare descriptor gives room for one more connection, which is closed at once.
                    drop(self.listener.accept());
                    self.spare = File::open("/dev/null").ok();
                    let fields =
                        json!({"peer": null, "client": null, "code": "descriptors", "text": EXHAUSTED});
                    self.events.event("refused", fields, Some(EXHAUSTED.to_owned()));
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_later(&error) => return,
                // The connection is gone already.
                Err(_) => continue,
            };
            self.next += 1;
            let number = self.next;
            if tcp::prepare(&socket, self.options.silence).is_err() {
                continue;
            }
            let tls =
                self.options.tls.clone().map(|config| rustls::ServerConnection::new(config).map(Into::into));
            let Ok(tls) = tls.transpose() else { continue };
            let Ok(registration) = self.poller.add(&socket, ServerPollKey::Stripe(number)) else { continue };
            self.stripes
                .insert(number, ServerStripe::new(Channel::accepted(socket, tls), registration, peer));
            self.pending.insert(number, self.poller.now);
            if self.pending.len() > self.options.max_pending {
                if let Some((&oldest, _)) = self.pending.first_key_value() {
                    self.refuse(oldest, RefusalCode::Late, "too many connections have sent no HELLO yet");
                }
            }
        }
    }

    /// Handles a connection's HELLO.
    pub(super) fn admit(&mut self, number: u64, hello: &Hello) {
        let began = match self.roster.admit(hello) {
            Ok(admitted) => self.enter(number, hello, admitted),
            Err(refused) => Err(refused),
        };
        if let Err(Refused { code, text }) = began {
            self.refuse_as(number, Some(hello), code, &text);
        }
    }

    fn enter(&mut self, number: u64, hello: &Hello, admitted: Admitted) -> Result<(), Refused> {
        let client = &hello.client;
        if let Admitted::Replaces(_) = admitted {
            self.end_flow(client, "replaced", None);
        }
        if !self.flows.contains_key(client) {
            if let Err(refused) = self.begin(hello) {
                self.roster.forget(client, hello.stream);
                return Err(refused);
            }
        }
        let wanted = self.settings.get(client).copied().unwrap_or_default().connections;
        self.pending.remove(&number);
        let (Some(flow), Some(stripe)) = (self.flows.get_mut(client), self.stripes.get_mut(&number)) else {
            return Ok(());
        };
        stripe.client = Some(client.clone());
        flow.stripes.insert(number);
        flow.alone = None;
        let welcome = flow.welcome(wanted);
        self.share_window(client);
        self.send(number, &welcome);
        Ok(())
    }

    fn begin(&mut self, hello: &Hello) -> Result<(), Refused> {
        let opened = self.folder.open(&hello.client, hello.stream);
        let (destination, delivered) = opened.map_err(|text| Refused { code: RefusalCode::Output, text })?;
        if delivered < hello.acknowledged {
            let text = format!(
                "client {} has let go of the first {} bytes of stream {}, and {delivered} are here",
                hello.client, hello.acknowledged, hello.stream
            );
            return Err(Refused { code: RefusalCode::CannotResume, text });
        }
        let path = destination.path().map(|path| path.display().to_string());
        let core = Reassembly::new(delivered, self.options.room);
        let flow = GatherFlow::new(hello.stream, Epoch(rand::random()), (destination, delivered), core);
        self.flows.insert(hello.client.clone(), flow);
        let stream = hello.stream.to_string();
        let fields =
            json!({"client": hello.client.as_str(), "stream": stream, "from": delivered, "path": path});
        let human = format!("client {}: stream {stream} from byte {delivered}", hello.client);
        self.events.event("stream_started", fields, Some(human));
        Ok(())
    }

    /// Handles a connection that broke while it was read. If TLS kept the connection from its HELLO, the
    /// refusal is reported.
    pub(super) fn on_broken(&mut self, number: u64, error: &io::Error) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        let why = error.get_ref();
        if let Some(mismatch) = why.and_then(|why| why.downcast_ref::<TlsMismatch>()) {
            if *mismatch == TlsMismatch::Server {
                stripe.link.channel.undress();
            }
            return self.refuse(number, RefusalCode::Tls, &mismatch.to_string());
        }
        let is_tls = why.is_some_and(|why| why.is::<rustls::Error>() || why.is::<LongHandshake>());
        if is_tls && stripe.client.is_none() {
            let peer = stripe.peer.to_string();
            let text = format!("TLS: {error}");
            let human = format!("refused {peer}: {text}");
            let fields = json!({"peer": peer, "client": null, "code": RefusalCode::Tls.word(), "text": text});
            self.events.event("refused", fields, Some(human));
        }
        self.lose(number);
    }

    /// Tells a connection why it is refused, and closes it.
    pub(super) fn refuse(&mut self, number: u64, code: RefusalCode, text: &str) {
        self.refuse_as(number, None, code, text);
    }

    fn refuse_as(&mut self, number: u64, hello: Option<&Hello>, code: RefusalCode, text: &str) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        let client = hello.map(|hello| &hello.client).or(stripe.client.as_ref());
        let fields = json!({
            "peer": stripe.peer.to_string(), "client": client.map(|name| name.as_str()),
            "code": code.word(), "text": text,
        });
        self.events.event("refused", fields, Some(format!("refused {}: {text}", stripe.peer)));
        stripe.send(&GatherFrame::Refusal { code, text: text.to_owned() });
        if let Some(client) = stripe.client.take() {
            self.detach(&client, number);
        }
        self.farewell(number);
    }
}

/// Time within which a peer must close after its farewell.
const FAREWELL: Duration = Duration::from_secs(5);

/// Bytes accepted after a farewell: more than the buffers of both kernels hold with Linux's settings (32 MiB
/// and 4 MiB), so that a peer that reads its refusal can always do so. A peer that sends more is cut off.
const UNDER_WAY: usize = 64 << 20;

impl Server {
    /// Tells clients how much is delivered; ends streams that are complete or cannot be written.
    pub(super) fn report_delivered(&mut self) {
        for client in std::mem::take(&mut self.touched) {
            let Some(flow) = self.flows.get_mut(&client) else { continue };
            if let Some(why) = flow.failure.take() {
                self.fail(&client, &why);
                continue;
            }
            if flow.core.is_complete() {
                self.complete(&client);
                continue;
            }
            match flow.delivered_frame(self.poller.now) {
                Some(frame) => {
                    let speaker = [flow.last].into_iter().chain(flow.stripes.iter().copied());
                    let speaker = speaker.into_iter().find(|number| flow.stripes.contains(number));
                    let number = speaker.unwrap_or(flow.last);
                    self.send(number, &frame);
                }
                None if flow.report_at.is_some() => drop(self.touched.insert(client)),
                None => {}
            }
        }
    }

    /// Sends a frame on a connection; a connection whose peer does not read is lost.
    pub(super) fn send(&mut self, number: u64, frame: &GatherFrame) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        if !stripe.send(frame) || stripe.flush().is_err() {
            self.lose(number);
        }
    }

    pub(super) fn complete(&mut self, client: &ClientName) {
        let Some(flow) = self.flows.get_mut(client) else { return };
        if let Err(why) = flow.destination.finish() {
            return self.fail(client, &why);
        }
        let length = flow.core.delivered();
        self.end_flow(client, "complete", Some(&GatherFrame::Complete { length }));
    }

    pub(super) fn fail(&mut self, client: &ClientName, why: &str) {
        let text = why.to_owned();
        let refusal = GatherFrame::Refusal { code: RefusalCode::Output, text: text.clone() };
        let fields = json!({"peer": null, "client": client.as_str(), "code": "output", "text": text});
        self.events.event("refused", fields, Some(format!("client {client}: {why}")));
        self.end_flow(client, "failed", Some(&refusal));
    }

    /// Ends a stream: its connections are told, and closed.
    pub(super) fn end_flow(&mut self, client: &ClientName, outcome: &str, word: Option<&GatherFrame>) {
        let Some(flow) = self.flows.remove(client) else { return };
        self.roster.forget(client, flow.stream);
        for &number in &flow.stripes {
            if let Some(stripe) = self.stripes.get_mut(&number) {
                stripe.client = None;
                if let Some(word) = word {
                    stripe.send(word);
                }
            }
            self.farewell(number);
        }
        let bytes = flow.core.delivered();
        let seconds = flow.began.elapsed().as_secs_f64();
        let path = flow.destination.path().map(|path| path.display().to_string());
        let fields = json!({
            "client": client.as_str(), "stream": flow.stream.to_string(), "outcome": outcome,
            "bytes": bytes, "seconds": seconds, "path": path,
        });
        let human = format!("client {client}: stream {} {outcome}, {bytes} bytes", flow.stream);
        self.events.event("stream_ended", fields, Some(human));
    }

    /// Closes a connection once its last frame has been sent and its peer has closed, too.
    pub(super) fn farewell(&mut self, number: u64) {
        self.pending.remove(&number);
        let until = self.poller.now + FAREWELL;
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        stripe.farewell = Some(until);
        let failed = stripe.flush().is_err();
        self.farewells.insert(number, until);
        self.ready.insert(number);
        if failed {
            self.lose(number);
        }
    }

    /// Counts bytes that arrived after the farewell. False: there were too many, and the connection was
    /// closed.
    pub(super) fn discard(&mut self, number: u64, bytes: usize) -> bool {
        let Some(stripe) = self.stripes.get_mut(&number) else { return false };
        stripe.discarded += bytes;
        let goes_on = stripe.discarded <= UNDER_WAY;
        if !goes_on {
            self.lose(number);
        }
        goes_on
    }

    /// Removes a connection that is gone.
    pub(super) fn lose(&mut self, number: u64) {
        self.pending.remove(&number);
        self.farewells.remove(&number);
        self.ready.remove(&number);
        let Some(stripe) = self.stripes.remove(&number) else { return };
        stripe.link.close(&mut self.poller);
        if let Some(client) = stripe.client {
            self.detach(&client, number);
        }
    }

    /// Removes a connection from its client's stream.
    pub(super) fn detach(&mut self, client: &ClientName, number: u64) {
        let Some(flow) = self.flows.get_mut(client) else { return };
        if !flow.stripes.remove(&number) {
            return;
        }
        self.roster.leave(client, flow.stream);
        if flow.stripes.is_empty() {
            flow.alone = Some(self.poller.now);
        }
        self.share_window(client);
    }
}
