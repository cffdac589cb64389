//! The client's loop: it opens as many connections as the server wants, and sends the stream over them.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use groupflow_base::{CodecError, StreamId};
use groupflow_host::error::{exit, one_line, AgentError};
use groupflow_host::files::Input;
use groupflow_host::link::ReadOutcome;
use groupflow_host::poller::{Poller, Ready};
use groupflow_host::process::system;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::tcp::TcpOptions;
use groupflow_host::tls::{self, Trust};
use serde_json::json;

use super::args::GatherSendArgs;
use super::client_stripe::{taking, ClientStripe, StripeStage};
use crate::machine::frame::{data_header, Hello};
use crate::machine::{GatherFrame, Item, Outgoing, RefusalCode, Send, StripeId};

/// Bytes that the kernel accepts before it has sent them (TCP_NOTSENT_LOWAT): bytes that wait in a slow
/// stripe's socket cannot move to a faster stripe.
const UNSENT: i32 = 16 << 10;
/// Bytes of one read.
const SCRATCH: usize = 64 << 10;
/// Time between reports to the server, and between progress events.
const REPORT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
pub enum ClientPollKey {
    Input,
    Stripe(StripeId),
}

pub struct Client<'a> {
    pub(super) args: &'a GatherSendArgs,
    pub(super) trust: Option<Trust>,
    pub(super) options: TcpOptions,
    stream: StreamId,
    pub(super) core: Outgoing,
    pub(super) stripes: BTreeMap<StripeId, ClientStripe>,
    pub(super) next: u32,
    pub(super) poller: Poller<ClientPollKey>,
    input: Input,
    input_ready: bool,
    /// The input is always ready; such a file is not registered for polling.
    always_ready: bool,
    input_ended: bool,
    scratch: Box<[u8]>,
    began: Instant,
    reported: Instant,
    reports: usize,
    pub(super) not_before: Instant,
    /// Failures since a connection was opened last.
    pub(super) failures: u32,
    /// Since when no connection has carried the stream.
    pub(super) alone: Option<Instant>,
    started: bool,
    pub(super) trouble: String,
}

impl<'a> Client<'a> {
    /// A client with its input, which is registered here; without `trust`, nothing is encrypted.
    pub fn new(
        args: &'a GatherSendArgs, trust: Option<Trust>, stream: StreamId, input: Input,
        mut poller: Poller<ClientPollKey>,
    ) -> io::Result<Client<'a>> {
        let always_ready = !poller.watch(input.as_fd(), ClientPollKey::Input)?;
        let now = poller.now;
        Ok(Client {
            args,
            trust,
            options: TcpOptions {
                congestion: args.congestion.clone(),
                unsent: Some(UNSENT),
                ..TcpOptions::default()
            },
            stream,
            core: Outgoing::new(usize::try_from(args.memory).unwrap_or(usize::MAX)),
            stripes: BTreeMap::new(),
            next: 0,
            poller,
            input,
            input_ready: true,
            always_ready,
            input_ended: false,
            scratch: vec![0; SCRATCH].into_boxed_slice(),
            began: now,
            reported: now,
            reports: 0,
            not_before: now,
            failures: 0,
            alone: Some(now),
            started: false,
            trouble: "no answer".to_owned(),
        })
    }

    /// Runs until the whole stream is delivered; returns the seconds that it took.
    pub fn run(&mut self, reporter: &mut Reporter) -> Result<f64, AgentError> {
        let mut happened = Vec::new();
        while !self.core.complete {
            self.keep_number()?;
            self.read_input()?;
            self.give();
            self.poller.wait(Some(self.timeout()), &mut happened).map_err(|e| system(&e))?;
            if self.poller.stopped {
                return Err(AgentError::interrupted());
            }
            for (target, ready) in happened.drain(..) {
                match target {
                    ClientPollKey::Input => self.input_ready = true,
                    ClientPollKey::Stripe(id) => self.serve(id, ready, reporter)?,
                }
            }
            if self.poller.now >= self.reported + REPORT {
                self.report(reporter);
            }
        }
        Ok(self.began.elapsed().as_secs_f64())
    }

    fn timeout(&self) -> Duration {
        let more_to_read = self.always_ready && !self.input_ended && self.core.room() >= SCRATCH;
        if more_to_read {
            return Duration::ZERO;
        }
        let short = self.stripes.len() < self.target();
        let connect = short.then_some(self.not_before.max(self.poller.now));
        let next = connect.into_iter().fold(self.reported + REPORT, Instant::min);
        next.saturating_duration_since(Instant::now())
    }

    fn read_input(&mut self) -> Result<(), AgentError> {
        if self.args.duration.is_some_and(|s| self.poller.now >= self.began + Duration::from_secs(s)) {
            self.end_input();
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        while !self.input_ended && (self.input_ready || self.always_ready) && self.core.room() > 0 {
            let most = self.core.room().min(SCRATCH);
            match self.input.read(&mut scratch[..most]) {
                Ok(Some(0)) => self.end_input(),
                Ok(Some(count)) => drop(self.core.push(&scratch[..count])),
                Ok(None) => {
                    self.input_ready = false;
                    break;
                }
                Err(error) => {
                    self.scratch = scratch;
                    return Err(error);
                }
            }
        }
        self.scratch = scratch;
        Ok(())
    }

    fn end_input(&mut self) {
        self.input_ended = true;
        self.core.finish();
    }

    /// Gives each connection that has room a block, in turns.
    fn give(&mut self) {
        loop {
            let mut given = false;
            for id in taking(&self.stripes) {
                let Some(stripe) = self.stripes.get_mut(&id) else { continue };
                match self.core.give(id) {
                    Some(Send::Data(range)) => {
                        let (front, back) = self.core.bytes(&range);
                        let out = stripe.link.out.bytes();
                        out.extend(data_header(range.start, front.len() + back.len()));
                        out.extend(front);
                        out.extend(back);
                    }
                    Some(Send::End(length)) => {
                        GatherFrame::End { length }.encode_into(stripe.link.out.bytes())
                    }
                    None => continue,
                }
                given = true;
                if stripe.flush().is_err() {
                    self.lose(id);
                }
            }
            if !given {
                return;
            }
        }
    }

    fn serve(&mut self, id: StripeId, ready: Ready, reporter: &mut Reporter) -> Result<(), AgentError> {
        let Some(stripe) = self.stripes.get_mut(&id) else { return Ok(()) };
        stripe.link.on_ready(ready);
        if stripe.stage == StripeStage::Connecting && ready.writable {
            if let Ok(Some(error)) | Err(error) = stripe.link.socket().take_error() {
                self.fail(&error);
                self.lose(id);
                return Ok(());
            }
            stripe.stage = StripeStage::Greeting;
            let hello = Hello {
                stream: self.stream,
                acknowledged: self.core.acknowledged(),
                client: self.args.client.clone(),
                token: self.args.token.clone(),
            };
            GatherFrame::Hello(hello).encode_into(stripe.link.out.bytes());
        }
        if let Err(error) = stripe.flush() {
            return self.on_broken(id, &error, reporter);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.read(id, &mut scratch, reporter);
        self.scratch = scratch;
        result
    }

    fn read(&mut self, id: StripeId, scratch: &mut [u8], reporter: &mut Reporter) -> Result<(), AgentError> {
        while let Some(stripe) = self.stripes.get_mut(&id).filter(|stripe| stripe.link.readable) {
            match stripe.link.read(scratch) {
                Ok(ReadOutcome::Bytes(count)) => self.take(id, &scratch[..count], reporter)?,
                Ok(ReadOutcome::Nothing) => {}
                Ok(ReadOutcome::End) if stripe.stage == StripeStage::Leaving => {
                    self.core.on_left(id);
                    self.lose(id);
                }
                Ok(ReadOutcome::End) => {
                    let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return self.on_broken(id, &error, reporter);
                }
                Err(error) => return self.on_broken(id, &error, reporter),
            }
        }
        Ok(())
    }

    /// Handles bytes from the server.
    fn take(&mut self, id: StripeId, bytes: &[u8], reporter: &mut Reporter) -> Result<(), AgentError> {
        let mut input = bytes;
        loop {
            let Some(stripe) = self.stripes.get_mut(&id) else { return Ok(()) };
            let wrong = |error: CodecError| {
                let cause = format!("the server's {error}");
                AgentError::new("protocol", cause, "check that client and server are of the same version")
            };
            let frame = match stripe.decoder.next_item(&mut input) {
                Ok(Some(Item::Frame(frame))) => frame,
                Ok(Some(Item::Data { .. })) => continue,
                Ok(None) => return Ok(()),
                Err(error) => return Err(wrong(error)),
            };
            match frame {
                GatherFrame::Welcome { epoch, delivered, limit, wanted } => {
                    stripe.stage = StripeStage::Open;
                    let stale = self.core.on_welcome(id, epoch, (delivered, limit), wanted).map_err(wrong)?;
                    for stale in stale {
                        self.lose(stale);
                    }
                    self.on_open(delivered, reporter);
                }
                GatherFrame::Delivered { delivered, limit } => {
                    self.core.on_delivered(id, delivered, limit).map_err(wrong)?;
                }
                GatherFrame::Want { wanted } => self.core.on_want(wanted),
                GatherFrame::Complete { length } => self.core.on_complete(length).map_err(wrong)?,
                GatherFrame::Refusal { code: RefusalCode::TooMany | RefusalCode::Late, text } => {
                    self.fail(&io::Error::other(text));
                    self.lose(id);
                }
                GatherFrame::Refusal { code, text } => return Err(refused(code, &text)),
                _ => {}
            }
        }
    }

    fn on_open(&mut self, delivered: u64, reporter: &mut Reporter) {
        self.failures = 0;
        self.not_before = self.poller.now;
        self.alone = None;
        if !std::mem::replace(&mut self.started, true) {
            let fields = json!({"stream": self.stream.to_string(), "from": delivered});
            let human = format!("sending stream {} to {}", self.stream, self.args.to);
            reporter.event("started", Weight::Lasting, fields, Some(human));
        }
    }

    fn on_broken(
        &mut self, id: StripeId, error: &io::Error, reporter: &mut Reporter,
    ) -> Result<(), AgentError> {
        if self.core.complete {
            return Ok(());
        }
        if let Some(error) = tls::hopeless(error, self.args.to) {
            return Err(error);
        }
        let stage = self.stripes.get(&id).map(|stripe| stripe.stage);
        let was_open = matches!(stage, Some(StripeStage::Open | StripeStage::Leaving));
        self.fail(error);
        self.lose(id);
        if was_open {
            let text = self.trouble.clone();
            let human = format!("a connection is lost ({text}), {} are left", self.stripes.len());
            reporter.event("stripe_lost", Weight::Passing, json!({"text": text}), Some(human));
        }
        Ok(())
    }

    /// Reports the state of the connections to the server, and progress to the user. Of the connections that
    /// carry nothing only one reports at a time, in turns, so that many idle clients cost the server little.
    fn report(&mut self, reporter: &mut Reporter) {
        self.reported = self.poller.now;
        self.reports += 1;
        self.find_stalled();
        let (mut sum, mut count) = (0, 0);
        let open: Vec<StripeId> = self.open_stripes().collect();
        let turn = self.reports % open.len().max(1);
        for (index, id) in open.into_iter().enumerate() {
            let Some(stripe) = self.stripes.get_mut(&id) else { continue };
            let Some(report) = stripe.report(index == turn) else { continue };
            sum += u64::from(report.rtt_us);
            count += 1;
            if stripe.flush().is_err() {
                self.lose(id);
            }
        }
        let fields = json!({
            "read": self.core.read(), "acknowledged": self.core.acknowledged(), "connections": count,
            "wanted": self.core.wanted,
            "rtt_ms": sum.checked_div(count).map(|mean: u64| mean as f64 / 1000.0),
        });
        reporter.event("progress", Weight::Passing, fields, None);
    }
}

/// The error for a refusal by the server, with a remedy.
fn refused(code: RefusalCode, text: &str) -> AgentError {
    let cure = match code {
        RefusalCode::UnknownClient => "check --client, or put it on the server's list",
        RefusalCode::WrongToken => "pass the client's token in GROUPFLOW_TOKEN or a --token-file",
        RefusalCode::DuplicateClient => {
            "stop the other program that sends as this client, or choose another name"
        }
        RefusalCode::CannotResume => "send the stream again from the beginning",
        RefusalCode::Output => "check the server's disk, then send the stream again",
        RefusalCode::Tls => "pass the fingerprint that the server tells when it starts with --tls-pin",
        RefusalCode::BadFrame | RefusalCode::TooMany | RefusalCode::Late => {
            "check that client and server are of the same version"
        }
    };
    let cause = format!("refused by the server: {}", one_line(text));
    AgentError { exit: exit::REFUSED, ..AgentError::new("refused", cause, cure) }
}
