//! Connections and streams at their beginning and their end: accepting, admitting, refusing; news that
//! clients get of their streams, and farewells.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use groupflow_base::gives_way;
use groupflow_base::reassembly::Reassembly;
use groupflow_host::link::{Channel, LongHandshake, TlsMismatch};
use groupflow_host::report::Weight;
use groupflow_host::tcp::{Accepted, EXHAUSTED};
use serde_json::json;

use super::flow::{Destination, GatherFlow, ServerStripe};
use super::server::{Server, ServerPollKey};
use crate::machine::frame::Hello;
use crate::machine::{admit, ClientName, Epoch, GatherFrame, RefusalCode, Refused};

/// Time within which a peer must close after its farewell.
const FAREWELL: Duration = Duration::from_secs(5);
/// Bytes accepted after a farewell: more than the buffers of both kernels hold with Linux's settings (32 MiB
/// and 4 MiB), so that a peer that reads its refusal can always do so. A peer that sends more is cut off.
const UNDER_WAY: usize = 64 << 20;

impl Server<'_> {
    pub(super) fn accept(&mut self) {
        while self.listed {
            let silence = Duration::from_secs(self.args.silence);
            let (socket, peer) = match self.acceptor.accept(&self.listener, silence) {
                Some(Accepted::Peer(socket, peer)) => (socket, peer),
                Some(Accepted::Refused) => {
                    self.tell_refused(None, None, "descriptors", EXHAUSTED);
                    continue;
                }
                None => return,
            };
            self.next += 1;
            let number = self.next;
            let tls = self.tls.clone().map(|config| rustls::ServerConnection::new(config).map(Into::into));
            let Ok(tls) = tls.transpose() else { continue };
            let Ok(registration) = self.poller.add(&socket, ServerPollKey::Stripe(number)) else { continue };
            let channel = Channel::accepted(socket, tls);
            if self.pending.len() >= self.args.max_pending as usize {
                let from = |number| Some((number, (*self.stripes.get(&number)?.peer.ip()).into()));
                let gives_way = gives_way(self.pending.keys().copied().filter_map(from));
                if let Some(other) = gives_way {
                    self.refuse(other, RefusalCode::Late, "too many connections have sent no HELLO yet");
                }
            }
            self.stripes.insert(number, ServerStripe::new(channel, registration, peer));
            self.pending.insert(number, self.poller.now);
        }
    }

    /// Handles a connection's HELLO.
    pub(super) fn admit(&mut self, number: u64, hello: &Hello) {
        if let Err(Refused { code, text }) = self.enter(number, hello) {
            self.refuse_as(number, Some(hello), code, &text);
        }
    }

    fn enter(&mut self, number: u64, hello: &Hello) -> Result<(), Refused> {
        let client = &hello.client;
        let remembered = self.flows.get(client).map(|flow| (flow.stream, flow.stripes.len()));
        admit(hello, self.tokens.get(client), remembered, self.bounds.connections)?;
        if remembered.is_some_and(|(stream, _)| stream != hello.stream) {
            self.end_flow(client, "replaced", None);
        }
        if !self.flows.contains_key(client) {
            self.begin(hello)?;
        }
        let wanted = self.settings.get(client).copied().unwrap_or_default().connections;
        self.pending.remove(&number);
        let (Some(flow), Some(stripe)) = (self.flows.get_mut(client), self.stripes.get_mut(&number)) else {
            return Ok(());
        };
        stripe.client = Some(client.clone());
        flow.stripes.insert(number);
        flow.alone = None;
        let (epoch, delivered, limit) = (flow.epoch, flow.core.delivered, flow.core.limit());
        let welcome = GatherFrame::Welcome { epoch, delivered, limit, wanted };
        self.share_window(client);
        self.send(number, &welcome);
        Ok(())
    }

    fn begin(&mut self, hello: &Hello) -> Result<(), Refused> {
        let opened = Destination::open(self.args.out.as_deref(), &hello.client, hello.stream);
        let (destination, delivered) = opened.map_err(|text| Refused { code: RefusalCode::Output, text })?;
        if delivered < hello.acknowledged {
            let text = format!(
                "client {} has let go of the first {} bytes of stream {}, and {delivered} are here",
                hello.client, hello.acknowledged, hello.stream
            );
            return Err(Refused { code: RefusalCode::CannotResume, text });
        }
        let path = destination.path().map(|path| path.display().to_string());
        let core = Reassembly::new(delivered, self.args.room());
        let flow = GatherFlow::new(hello.stream, Epoch(rand::random()), (destination, delivered), core);
        self.flows.insert(hello.client.clone(), flow);
        let stream = hello.stream.to_string();
        let fields =
            json!({"client": hello.client.as_str(), "stream": stream, "from": delivered, "path": path});
        let human = format!("client {}: stream {stream} from byte {delivered}", hello.client);
        self.events.event("stream_started", Weight::Lasting, fields, Some(human));
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
            let peer = stripe.peer;
            self.tell_refused(Some(peer), None, RefusalCode::Tls.word(), &format!("TLS: {error}"));
        }
        self.lose(number);
    }

    /// Reports a refusal, of a connection whose client may not be known, or of a client's stream.
    fn tell_refused(
        &mut self, peer: Option<SocketAddrV4>, client: Option<&ClientName>, code: &str, text: &str,
    ) {
        let peer = peer.map(|peer| peer.to_string());
        let human = match (&peer, client) {
            (Some(peer), _) => format!("refused {peer}: {text}"),
            (None, Some(client)) => format!("client {client}: {text}"),
            (None, None) => text.to_owned(),
        };
        let client = client.map(ClientName::as_str);
        let fields = json!({"peer": peer, "client": client, "code": code, "text": text});
        self.events.event("refused", Weight::Lasting, fields, Some(human));
    }

    /// Tells a connection why it is refused, and closes it.
    pub(super) fn refuse(&mut self, number: u64, code: RefusalCode, text: &str) {
        self.refuse_as(number, None, code, text);
    }

    fn refuse_as(&mut self, number: u64, hello: Option<&Hello>, code: RefusalCode, text: &str) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        stripe.send(&GatherFrame::Refusal { code, text: text.to_owned() });
        let (peer, own) = (stripe.peer, stripe.client.take());
        let client = hello.map(|hello| &hello.client).or(own.as_ref());
        self.tell_refused(Some(peer), client, code.word(), text);
        if let Some(client) = own {
            self.detach(&client, number);
        }
        self.farewell(number);
    }

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
                    let spoke = flow.stripes.get(&flow.last);
                    let number = spoke.or(flow.stripes.first()).copied().unwrap_or(flow.last);
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
        let length = flow.core.delivered;
        self.end_flow(client, "complete", Some(&GatherFrame::Complete { length }));
    }

    pub(super) fn fail(&mut self, client: &ClientName, why: &str) {
        let code = RefusalCode::Output;
        self.tell_refused(None, Some(client), code.word(), why);
        self.end_flow(client, "failed", Some(&GatherFrame::Refusal { code, text: why.to_owned() }));
    }

    /// Ends a stream: its connections are told, and closed.
    pub(super) fn end_flow(&mut self, client: &ClientName, outcome: &str, word: Option<&GatherFrame>) {
        let Some(flow) = self.flows.remove(client) else { return };
        for &number in &flow.stripes {
            if let Some(stripe) = self.stripes.get_mut(&number) {
                stripe.client = None;
                if let Some(word) = word {
                    stripe.send(word);
                }
            }
            self.farewell(number);
        }
        let bytes = flow.core.delivered;
        let seconds = flow.began.elapsed().as_secs_f64();
        let path = flow.destination.path().map(|path| path.display().to_string());
        let fields = json!({
            "client": client.as_str(), "stream": flow.stream.to_string(), "outcome": outcome,
            "bytes": bytes, "seconds": seconds, "path": path,
        });
        let human = format!("client {client}: stream {} {outcome}, {bytes} bytes", flow.stream);
        self.events.event("stream_ended", Weight::Lasting, fields, Some(human));
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
        if stripe.discarded <= UNDER_WAY {
            return true;
        }
        self.lose(number);
        false
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
        if flow.stripes.is_empty() {
            flow.alone = Some(self.poller.now);
        }
        self.share_window(client);
    }
}
