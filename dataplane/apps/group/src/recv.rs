//! `gfagent recv`: receives a stream or datagrams of a session.

use std::os::fd::AsFd;

use groupflow_base::{BitRate, Nanos};
use groupflow_host::error::AgentError;
use groupflow_host::files::{Output, WRITE_BLOCK};
use groupflow_host::report::{goodput, seconds, ProgressMeter, Reporter, Weight};
use groupflow_host::shell::{Interest, Shell};
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::agent;
use groupflow_session::control::LeaveReason;
use groupflow_session::{Endpoint, ReceiveConfig, ReceiveEvent, Receiving};
use groupflow_transport::MemberId;
use nix::poll::PollFlags;
use serde_json::json;

use crate::args::RecvArgs;

/// The longest time until bytes in order are written.
const WRITE_DELAY: Nanos = Nanos::from_millis(20);

impl Subcommand for RecvArgs {
    fn reporter(&self) -> Reporter {
        self.common.reporter("recv", self.output.as_os_str() == "-", Some(self.session))
    }

    /// Receives until everything is written; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.common.name)?;
        let output = Output::open(&self.output)?;
        let socket = GroupSocket::open(&self.common.socket(true))?;
        let mut shell = Shell::new(socket)?;
        reporter.ready(shell.socket.address);
        let (source, start, datagrams) = (MemberId(self.source), self.from.into(), self.datagrams);
        let config = ReceiveConfig { source, start, datagrams, target: BitRate(self.target) };
        let began = shell.clock.now();
        let mut receiver = Endpoint::receiving(began, self.common.member(self.session), config);
        let mut transfer = ReceiveProgress::new(began, output);
        loop {
            shell.exchange(&mut receiver)?;
            let now = shell.clock.now();
            let failure = transfer.events(now, &mut receiver, reporter);
            let unwritten = transfer.write(now, &mut receiver).err();
            if let Some(error) = failure.or(unwritten) {
                return Err(farewell(&mut shell, &mut receiver, error));
            }
            transfer.finish(now, &receiver, reporter)?;
            transfer.progress(now, &receiver, reporter);
            // Writing made room in the receiver, which is worth an acknowledgement.
            shell.exchange(&mut receiver)?;
            if transfer.finished && receiver.has_ended() {
                return Ok(0);
            }
            let blocked = !transfer.buffer.is_empty() && matches!(transfer.output, Output::Stdout(_));
            let interest =
                blocked.then(|| Interest { fd: transfer.output.as_fd(), flags: PollFlags::POLLOUT });
            let until = [transfer.meter.due(), transfer.write_due].into_iter().flatten().min();
            if shell.wait(&receiver, until, interest)?.signal {
                return Err(farewell(&mut shell, &mut receiver, AgentError::interrupted()));
            }
        }
    }
}

/// Leaves the session, and returns the error that ended the transfer.
fn farewell(shell: &mut Shell, receiver: &mut Endpoint<Receiving>, error: AgentError) -> AgentError {
    receiver.leave(shell.clock.now(), LeaveReason::Aborted);
    let _ = shell.farewell(receiver, Endpoint::has_ended);
    error
}

struct ReceiveProgress {
    output: Output,
    joined_at: Nanos,
    meter: ProgressMeter,
    started: Option<Nanos>,
    /// Bytes that were there when it started, which are no part of the rate.
    first_bytes: u64,
    /// Bytes taken from the receiver but not written yet.
    buffer: Vec<u8>,
    write_due: Option<Nanos>,
    finished: bool,
}

impl ReceiveProgress {
    fn new(began: Nanos, output: Output) -> ReceiveProgress {
        ReceiveProgress {
            output,
            joined_at: began,
            meter: ProgressMeter::default(),
            started: None,
            first_bytes: 0,
            buffer: Vec::with_capacity(2 * WRITE_BLOCK),
            write_due: None,
            finished: false,
        }
    }

    fn events(
        &mut self, now: Nanos, receiver: &mut Endpoint<Receiving>, reporter: &mut Reporter,
    ) -> Option<AgentError> {
        let mut failure = None;
        while let Some(event) = receiver.poll_event() {
            match event {
                ReceiveEvent::Member(event) => failure = failure.or(agent::report(reporter, event).err()),
                ReceiveEvent::Started { source, seq } => {
                    self.started = Some(now);
                    self.first_bytes = receiver.stats().bytes;
                    self.meter.start(now);
                    let took = seconds(now - self.joined_at);
                    let fields = json!({"source": source.0, "seq": seq.0, "seconds": took});
                    reporter.event("started", Weight::Lasting, fields, Some("receiving".to_owned()));
                }
                ReceiveEvent::Failed(error) => failure = Some(error.into()),
                ReceiveEvent::Complete => {}
            }
        }
        failure
    }

    /// Writes in large blocks; if stdout is slow, the rest stays with the receiver, which then stops
    /// acknowledging.
    fn write(&mut self, now: Nanos, receiver: &mut Endpoint<Receiving>) -> Result<(), AgentError> {
        if self.buffer.len() < WRITE_BLOCK && receiver.ready() > 0 {
            let enough = self.buffer.len() + receiver.ready() >= WRITE_BLOCK || receiver.complete();
            let due = *self.write_due.get_or_insert(now + WRITE_DELAY);
            if enough || now >= due {
                receiver.take(now, &mut self.buffer);
                self.write_due = None;
            }
        }
        if !self.buffer.is_empty() {
            self.output.write(&mut self.buffer)?;
        }
        Ok(())
    }

    /// Completes the output, once everything is written.
    fn finish(
        &mut self, now: Nanos, receiver: &Endpoint<Receiving>, reporter: &mut Reporter,
    ) -> Result<(), AgentError> {
        let written = self.buffer.is_empty() && receiver.ready() == 0;
        if self.finished || !receiver.complete() || !written {
            return Ok(());
        }
        self.finished = true;
        self.meter.stop();
        self.output.finish()?;
        let stats = receiver.stats();
        let took = now - self.started.unwrap_or(now);
        let rate = goodput(stats.bytes - self.first_bytes, took);
        let fields = json!({
            "bytes": stats.bytes,
            "seconds": rate.map(|_| seconds(took)),
            "goodput_bps": rate,
            "packets": stats.packets,
            "repaired_packets": stats.repaired,
            "duplicates": stats.duplicates,
            "nacks": stats.nacks,
            "retransmitted": stats.retransmitted,
            "datagrams": stats.datagrams,
        });
        let human = format!(
            "received {} bytes in {:.3} s, {} packets repaired",
            stats.bytes,
            seconds(took),
            stats.repaired
        );
        reporter.event("complete", Weight::Lasting, fields, Some(human));
        Ok(())
    }

    fn progress(&mut self, now: Nanos, receiver: &Endpoint<Receiving>, reporter: &mut Reporter) {
        let stats = receiver.stats();
        let Some(sample) = self.meter.sample(now, stats.bytes) else { return };
        let fields = json!({
            "bytes": stats.bytes,
            "total_bytes": null,
            "seconds": seconds(sample.elapsed),
            "goodput_bps": sample.rate.0,
            "packets": stats.packets,
            "repaired_packets": stats.repaired,
            "nacks": stats.nacks,
            "queued_packets": stats.queued,
        });
        reporter.event("progress", Weight::Passing, fields, None);
    }
}
