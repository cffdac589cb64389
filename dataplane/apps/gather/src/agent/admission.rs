//! The admission of connections: accepting, admitting, refusing.

use std::fs::File;
use std::io;

use groupflow_base::reassembly::Reassembly;
use groupflow_host::channel::{Channel, LongHandshake, TlsMismatch};
use groupflow_host::tcp::{self, is_exhausted, is_later, EXHAUSTED};
use serde_json::json;

use super::flow::GatherFlow;
use super::flow::ServerStripe;
use super::server::{Server, ServerPollKey};
use crate::machine::frame::Hello;
use crate::machine::{Admitted, Epoch, GatherFrame, RefusalCode, Refused};

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
                    self.events.tell("refused", fields, Some(EXHAUSTED.to_owned()));
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
            self.pending.insert(number, self.now);
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
        // Each admitted client is on the list.
        let Some(&client) = self.numbers.get(&hello.client) else { return Ok(()) };
        if let Admitted::Replaces(_) = admitted {
            self.end_flow(client, "replaced", None);
        }
        if !self.flows.contains_key(&client) {
            if let Err(refused) = self.begin(client, hello) {
                self.roster.forget(&hello.client, hello.stream);
                return Err(refused);
            }
        }
        let wanted = self.settings[client].connections;
        self.pending.remove(&number);
        let (Some(flow), Some(stripe)) = (self.flows.get_mut(&client), self.stripes.get_mut(&number)) else {
            return Ok(());
        };
        stripe.client = Some(client);
        flow.stripes.insert(number);
        flow.alone = None;
        let welcome = flow.welcome(wanted);
        self.share_window(client);
        self.say(number, &welcome);
        Ok(())
    }

    fn begin(&mut self, client: usize, hello: &Hello) -> Result<(), Refused> {
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
        self.flows.insert(client, flow);
        let stream = hello.stream.to_string();
        let fields =
            json!({"client": hello.client.as_str(), "stream": stream, "from": delivered, "path": path});
        let human = format!("client {}: stream {stream} from byte {delivered}", hello.client);
        self.events.tell("stream_started", fields, Some(human));
        Ok(())
    }

    /// Handles a connection that broke while it was read. If TLS kept the connection from its HELLO, the
    /// refusal is reported.
    pub(super) fn break_off(&mut self, number: u64, error: &io::Error) {
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
            self.events.tell("refused", fields, Some(human));
        }
        self.lose(number);
    }

    /// Tells a connection why it is refused, and closes it.
    pub(super) fn refuse(&mut self, number: u64, code: RefusalCode, text: &str) {
        self.refuse_as(number, None, code, text);
    }

    fn refuse_as(&mut self, number: u64, hello: Option<&Hello>, code: RefusalCode, text: &str) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        let client = hello.map(|hello| &hello.client).or(stripe.client.map(|client| &self.names[client]));
        let fields = json!({
            "peer": stripe.peer.to_string(), "client": client.map(|name| name.as_str()),
            "code": code.word(), "text": text,
        });
        self.events.tell("refused", fields, Some(format!("refused {}: {text}", stripe.peer)));
        stripe.say(&GatherFrame::Refusal { code, text: text.to_owned() });
        if let Some(client) = stripe.client.take() {
            self.detach(client, number);
        }
        self.farewell(number);
    }
}
