//! `gfagent send`: sends a file, a stream or datagrams to a session.

use std::os::fd::{AsFd, BorrowedFd};

use groupflow_base::{BitRate, Nanos};
use groupflow_host::error::{exit, AgentError};
use groupflow_host::files::{FileBytes, Input};
use groupflow_host::report::{goodput, lost_text, seconds, ProgressMeter, Reporter, Weight};
use groupflow_host::shell::{Interest, Shell};
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::agent;
use groupflow_session::control::LeaveReason;
use groupflow_session::sending::Completion;
use groupflow_session::{Endpoint, MemberEvent, SendConfig, SendEvent, Sending};
use groupflow_transport::assembly::{datagram_length, DATAGRAM_PREFIX, MAX_DATAGRAM};
use groupflow_transport::source::{Source, WrittenSource};
use groupflow_transport::Seq;
use nix::poll::PollFlags;
use serde_json::json;

use crate::args::SendArgs;

/// The most bytes of a stream or of datagrams that may wait for acknowledgement.
const BUFFER: usize = 8 << 20;

impl Subcommand for SendArgs {
    fn reporter(&self) -> Reporter {
        self.common.reporter("send", false, Some(self.session))
    }

    /// Sends until every receiver has everything; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.common.name)?;
        let (source, mut input) = open(self)?;
        let socket = GroupSocket::open(&self.common.socket(true))?;
        let mut shell = Shell::new(socket)?;
        reporter.ready(shell.socket.address);
        let config = SendConfig { receivers: self.members, cap: BitRate(self.rate) };
        let mut sender =
            Endpoint::sending(shell.clock.now(), self.common.member(self.session), config, source);
        let mut outcome = SendProgress::default();
        loop {
            shell.exchange(&mut sender)?;
            outcome.events(&mut shell, &mut sender, reporter)?;
            if outcome.ended {
                return Ok(outcome.exit);
            }
            if let (Some(input), Some(written)) = (input.as_mut(), sender.written()) {
                input.pass(written)?;
            }
            let now = shell.clock.now();
            outcome.progress(now, &sender, reporter);
            // While the sender waits for members it reads nothing: piped input stays in the pipe.
            let reading = input.as_ref().filter(|_| outcome.started);
            let reading = reading.filter(|input| sender.written().is_some_and(|sink| input.wants(sink)));
            let interest = reading.map(|input| Interest { fd: input.as_fd(), flags: PollFlags::POLLIN });
            let woken = shell.wait(&sender, outcome.meter.due(), interest)?;
            if woken.signal {
                return leave(&mut shell, &mut sender);
            }
            if let (true, Some(input), Some(written)) = (woken.ready, input.as_mut(), sender.written()) {
                if let Err(error) = input.read(written) {
                    let _ = leave(&mut shell, &mut sender);
                    return Err(error);
                }
            }
        }
    }
}

fn open(args: &SendArgs) -> Result<(Source, Option<Stdin>), AgentError> {
    match &args.file {
        Some(path) => {
            let bytes = Box::new(FileBytes::open(path)?);
            let source = Source::file(bytes, Seq::FIRST)
                .map_err(|e| AgentError::new("too_long", e.to_string(), "send it in several parts"))?;
            Ok((source, None))
        }
        None if args.datagrams => Ok((Source::datagrams(BUFFER, Seq::FIRST), Some(Stdin::open(true)?))),
        None => Ok((Source::stream(BUFFER, Seq::FIRST), Some(Stdin::open(false)?))),
    }
}

/// Leaves the session after a signal.
fn leave(shell: &mut Shell, sender: &mut Endpoint<Sending>) -> Result<u8, AgentError> {
    sender.leave(shell.clock.now(), LeaveReason::Aborted);
    shell.farewell(sender, Endpoint::has_ended)?;
    Err(AgentError::interrupted())
}

#[derive(Default)]
struct SendProgress {
    meter: ProgressMeter,
    started: bool,
    ended: bool,
    exit: u8,
}

impl SendProgress {
    fn events(
        &mut self, shell: &mut Shell, sender: &mut Endpoint<Sending>, reporter: &mut Reporter,
    ) -> Result<(), AgentError> {
        while let Some(event) = sender.poll_event() {
            match event {
                SendEvent::Member(event) => {
                    self.ended |= event == MemberEvent::Left;
                    agent::report(reporter, event)?;
                }
                SendEvent::Started { receivers } => {
                    self.started = true;
                    self.meter.start(shell.clock.now());
                    let human = Some(format!("sending to {receivers} receivers"));
                    reporter.event("started", Weight::Lasting, json!({"receivers": receivers}), human);
                }
                SendEvent::Stalled(quiet) => {
                    let human =
                        format!("no acknowledgement for {} s, still trying", quiet.as_millis() / 1000);
                    let fields = json!({"seconds": seconds(quiet)});
                    reporter.event("stalled", Weight::Lasting, fields, Some(human));
                }
                SendEvent::Complete(summary) => self.complete(&summary, sender, reporter),
                SendEvent::Failed(error) => {
                    // The goodbye is on its way; the machine repeats it if need be.
                    shell.farewell(sender, Endpoint::has_ended)?;
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    fn progress(&mut self, now: Nanos, sender: &Endpoint<Sending>, reporter: &mut Reporter) {
        let stats = sender.stats();
        let Some(sample) = self.meter.sample(now, stats.acked_bytes) else { return };
        let fields = json!({
            "bytes": stats.acked_bytes,
            "total_bytes": sender.total_bytes(),
            "seconds": seconds(sample.elapsed),
            "goodput_bps": sample.rate.0,
            "packets": stats.packets,
            "rate_bps": stats.pacing.0,
            "sent_bytes": stats.sent_bytes,
            "retransmitted": stats.retransmitted,
            "nacks": stats.nacks,
            "acks_beyond": stats.acks_beyond,
            "rtt_ms": stats.rtt.map(|rtt| seconds(rtt) * 1000.0),
            "outstanding": stats.outstanding,
        });
        reporter.event("progress", Weight::Passing, fields, None);
    }

    fn complete(&mut self, summary: &Completion, sender: &Endpoint<Sending>, reporter: &mut Reporter) {
        self.meter.stop();
        self.exit = if summary.lost.is_empty() { 0 } else { exit::LOST };
        let stats = sender.stats();
        let took = summary.took;
        let fields = json!({
            "bytes": stats.acked_bytes,
            "seconds": seconds(took),
            "goodput_bps": goodput(stats.acked_bytes, took),
            "packets": stats.packets,
            "sent_packets": stats.packets + stats.retransmitted,
            "retransmitted": stats.retransmitted,
            "nacks": stats.nacks,
            "acks_beyond": stats.acks_beyond,
            "polls": stats.polls,
            "rate_bps": goodput(stats.sent_wire, took),
            "rtt_ms": stats.rtt.map(|rtt| seconds(rtt) * 1000.0),
            "lost": summary.lost,
            "receivers": summary.receivers,
        });
        let human =
            format!("sent {} bytes in {:.3} s{}", stats.acked_bytes, seconds(took), lost_text(&summary.lost));
        reporter.event("complete", Weight::Lasting, fields, Some(human));
    }
}

const CHUNK: usize = 64 << 10;

/// Stdin, read as a stream or as datagrams.
#[derive(Debug)]
pub struct Stdin {
    input: Input,
    datagrams: bool,
    pending: Vec<u8>,
    ended: bool,
}

impl Stdin {
    /// Reads stdin as a byte stream, or as frames.
    pub fn open(datagrams: bool) -> Result<Stdin, AgentError> {
        Ok(Stdin { input: Input::open(None)?, datagrams, pending: Vec::new(), ended: false })
    }

    /// Whether to read now: there must be room for the bytes.
    pub fn wants(&self, sink: &WrittenSource) -> bool {
        if self.ended {
            return false;
        }
        if self.datagrams {
            self.pending.len() < CHUNK || self.frame().is_none()
        } else {
            sink.room() >= CHUNK
        }
    }

    /// Reads once, without blocking, and passes the bytes on.
    pub fn read(&mut self, sink: &mut WrittenSource) -> Result<(), AgentError> {
        let start = self.pending.len();
        self.pending.resize(start + CHUNK, 0);
        let result = self.input.read(&mut self.pending[start..]);
        self.pending.truncate(start + result.as_ref().map_or(0, |count| count.unwrap_or(0)));
        self.ended |= result? == Some(0);
        self.pass(sink)
    }

    /// Passes on as many bytes as there is room for.
    pub fn pass(&mut self, sink: &mut WrittenSource) -> Result<(), AgentError> {
        if self.datagrams {
            let mut used = 0;
            while let Some(length) = datagram_length(&self.pending[used..]) {
                let length = length as usize;
                if length > MAX_DATAGRAM {
                    let cause =
                        format!("a datagram of {length} bytes on stdin is longer than {MAX_DATAGRAM}");
                    return Err(AgentError::new(
                        "input",
                        cause,
                        "check the frames: u32 length, then the bytes",
                    ));
                }
                let start = used + DATAGRAM_PREFIX;
                let Some(datagram) = self.pending.get(start..start + length) else { break };
                if !sink.write_datagram(datagram) {
                    break;
                }
                used = start + length;
            }
            self.pending.drain(..used);
        } else {
            let accepted = sink.write(&self.pending);
            self.pending.drain(..accepted);
        }
        if self.ended && self.datagrams && !self.pending.is_empty() && self.frame().is_none() {
            let cause = "stdin ended within a datagram";
            return Err(AgentError::new("input", cause, "check the frames: u32 length, then the bytes"));
        }
        if self.ended && self.pending.is_empty() {
            sink.finish();
        }
        Ok(())
    }

    /// The length of the first datagram, if all of it is here.
    fn frame(&self) -> Option<usize> {
        let length = datagram_length(&self.pending)? as usize;
        (self.pending.len() >= DATAGRAM_PREFIX + length).then_some(length)
    }
}

impl AsFd for Stdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }
}
