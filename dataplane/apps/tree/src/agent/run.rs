//! The commands: their loops, the input, the output, and the end.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::error::{exit, AgentError};
use groupflow_host::files::{Input, Output};
use groupflow_host::report::{goodput, lost_text, seconds, Reporter, Weight};
use groupflow_host::subcommand::{StreamStart, Subcommand};
use serde_json::json;

use super::edges::BATCH;
use super::host::TreeHost;
use super::{TreeRecvArgs, TreeSendArgs};
use crate::machine::{HostId, ReadItem, StartAt, TreeNode};

/// The time between lines of progress.
const PROGRESS: Duration = Duration::from_millis(200);
/// Batches of input before other work has its turn: a source that never waits could write for ever.
const TURNS: usize = 16;
/// How long a leaving host waits for its children to find parents, and a source for absent dispatchers.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long a host that has all of the stream waits for dispatchers that are away, to tell them.
const LAST_WORD: Duration = Duration::from_secs(10);
/// How long the source, whose cache no host needs any more, waits for hosts to put away their last bytes.
const PUT_AWAY: Duration = Duration::from_secs(30);

impl Subcommand for TreeSendArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.tree.json, false, "tree-send", &self.tree.name, None)
    }

    /// Sends all of the input once enough hosts are in the tree, and waits until they have it.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        let args = &self.tree;
        args.check()?;
        let input = Input::open(self.file.as_deref())?;
        let config = args.config();
        let mut host = TreeHost::open(args, config.host, TreeNode::source(config), true)?;
        host.dialogue.delay_bound_ms = self.delay_ms;
        let watched = host.watch(input.as_fd())?;
        let mut run = TransferEvents::new();
        let mut chunk = vec![0; BATCH];
        let mut pending = Vec::new();
        let mut finished = false;
        loop {
            host.pump()?;
            run.report(&host, reporter);
            let may_begin = host.dialogue.members.hosts >= self.members || run.bytes > 0;
            let mut turns = 0;
            while may_begin && !finished && turns < TURNS {
                turns += 1;
                if pending.is_empty() {
                    match input.read(&mut chunk)? {
                        // An interrupt may have ended the program that writes the input, too: this is not the
                        // stream's end.
                        Some(0) if host.drive.poller.is_stopped() => break,
                        Some(0) => {
                            finished = true;
                            host.drive.node.finish(host.drive.nanos());
                            break;
                        }
                        Some(count) => pending.extend_from_slice(&chunk[..count]),
                        None => break,
                    }
                }
                if run.bytes == 0 {
                    host.dialogue.begin_stream();
                }
                let taken = host.drive.node.write(host.drive.nanos(), &pending);
                pending.drain(..taken);
                run.bytes += taken as u64;
                if taken == 0 {
                    break;
                }
            }
            host.pump()?;
            if finished && host.drive.node.is_complete() && !host.drive.node.is_unsure() {
                break;
            }
            if host.dialogue.ended {
                let cure = "start it again to be in a new tree";
                return Err(AgentError::new("ended", "the dispatchers say that the tree has ended", cure));
            }
            if host.drive.poller.stopped {
                leave(&mut host)?;
                return Err(AgentError::interrupted());
            }
            let more = turns == TURNS || may_begin && !finished && pending.is_empty() && !watched;
            host.wait(Some(if more { Instant::now() } else { run.next() }))?;
        }
        let lost = wait_for_hosts(&mut host)?;
        run.complete(reporter, "sent", Some(&lost));
        leave(&mut host)?;
        Ok(if lost.is_empty() { 0 } else { exit::LOST })
    }
}

impl Subcommand for TreeRecvArgs {
    fn reporter(&self) -> Reporter {
        let stdout = self.output.as_os_str() == "-";
        Reporter::new(self.tree.json, stdout, "tree-recv", &self.tree.name, None)
    }

    /// Receives the whole stream, and serves the host's children until they have it.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        let args = &self.tree;
        args.check()?;
        let mut output = Output::open(&self.output)?;
        let begin = if self.from == StreamStart::Now { StartAt::Now } else { StartAt::Offset(0) };
        let config = args.config();
        let mut host = TreeHost::open(args, config.host, TreeNode::new(config, begin), false)?;
        host.watch(output.as_fd())?;
        let mut run = TransferEvents::new();
        let mut unwritten = Unwritten::default();
        let mut complete = false;
        loop {
            host.pump()?;
            run.report(&host, reporter);
            loop {
                unwritten.fill(&mut host, reporter)?;
                let before = unwritten.bytes.len();
                output.write(&mut unwritten.bytes)?;
                let written = (before - unwritten.bytes.len()) as u64;
                run.bytes += written;
                if written == 0 {
                    break;
                }
            }
            if unwritten.ended && unwritten.bytes.is_empty() && !complete {
                output.finish()?;
                complete = true;
                host.drive.node.on_stored(host.drive.nanos());
                run.complete(reporter, "received", None);
            }
            host.pump()?;
            if complete && (host.drive.poller.stopped || host.drive.node.is_complete()) {
                leave(&mut host)?;
                return Ok(0);
            }
            if host.drive.poller.stopped {
                leave(&mut host)?;
                return Err(AgentError::interrupted());
            }
            // The host's reader was cut off; until now the host passed the stream on.
            if let Some(at) = host.drive.node.failed().filter(|_| host.drive.node.is_complete()) {
                leave(&mut host)?;
                return Err(broken(at));
            }
            if host.dialogue.ended && !host.drive.node.has_all() && host.drive.node.parent().is_none() {
                let cure = "ask the sender to send it again";
                let cause = "the source has left before the stream was complete";
                return Err(AgentError::new("sender_lost", cause, cure));
            }
            host.wait(Some(run.next()))?;
        }
    }
}

/// Bytes that the node gave and the output did not take yet: no more than a batch or two, or a record.
#[derive(Default)]
struct Unwritten {
    bytes: Vec<u8>,
    ended: bool,
}

impl Unwritten {
    fn fill(&mut self, host: &mut TreeHost, reporter: &mut Reporter) -> Result<(), AgentError> {
        while !self.ended && self.bytes.len() < BATCH {
            match host.drive.node.read(host.drive.nanos(), BATCH) {
                Some(ReadItem::Bytes(bytes)) => self.bytes.extend(bytes),
                Some(ReadItem::Skipped { to }) => {
                    let human = format!("goes on at byte {to}");
                    reporter.event("skipped", Weight::Lasting, json!({"to": to}), Some(human));
                }
                Some(ReadItem::End) => self.ended = true,
                Some(ReadItem::Broken { at }) => return Err(broken(at)),
                None => break,
            }
        }
        Ok(())
    }
}

/// Waits until the dispatchers know of each host whether it has all bytes. Returns the names of those that
/// have not. The source is complete, so each host that it served has told its parent that it has all: where
/// no dispatcher is reached, none is missing.
fn wait_for_hosts(host: &mut TreeHost) -> Result<Vec<String>, AgentError> {
    let (began, mut reached) = (Instant::now(), None);
    loop {
        host.pump()?;
        let now = Instant::now();
        let is_connected = host.dialogue.is_connected();
        reached = if is_connected { Some(now) } else { reached };
        let is_away = now >= reached.unwrap_or(began) + FAREWELL;
        if is_connected && host.dialogue.members.receiving == 0 || is_away && reached.is_none() {
            return Ok(host.dialogue.lost());
        }
        if is_away || host.dialogue.ended || now >= began + PUT_AWAY || host.drive.poller.stopped {
            return Ok(host.dialogue.lost_or_receiving());
        }
        host.wait(Some(now + PROGRESS))?;
    }
}

/// Leaves the tree, after other hosts have taken over this one's children.
fn leave(host: &mut TreeHost) -> Result<(), AgentError> {
    let began = Instant::now();
    host.drive.node.leave(host.drive.nanos());
    loop {
        host.pump()?;
        let is_unheard = host.drive.node.has_all_read() && !host.dialogue.is_connected();
        let until = began + if is_unheard { LAST_WORD } else { FAREWELL };
        if host.dialogue.ended || host.drive.node.is_over() || Instant::now() >= until {
            break;
        }
        host.wait(Some(until))?;
    }
    // The last messages to the dispatchers may still wait.
    host.pump()
}

fn broken(at: u64) -> AgentError {
    let cause = format!("no host has the stream from byte {at} on any more");
    AgentError::new("gone", cause, "join earlier, read faster, or give hosts more --cache")
}

struct TransferEvents {
    /// When the first bytes were there, and how many, which are no part of the rate.
    began: Option<(Instant, u64)>,
    opened: Instant,
    reported: Instant,
    joined: bool,
    delay: Option<(Nanos, Nanos)>,
    bytes: u64,
}

impl TransferEvents {
    fn new() -> TransferEvents {
        let now = Instant::now();
        TransferEvents { began: None, opened: now, reported: now, joined: false, delay: None, bytes: 0 }
    }

    fn next(&self) -> Instant {
        self.reported + PROGRESS
    }

    fn report(&mut self, host: &TreeHost, reporter: &mut Reporter) {
        let now = Instant::now();
        if self.bytes > 0 && self.began.is_none() {
            self.began = Some((now, self.bytes));
        }
        if host.dialogue.is_in() && !self.joined {
            self.joined = true;
            let seconds = now.saturating_duration_since(self.opened).as_secs_f64();
            let fields = json!({"host": host.dialogue.card.peer.host, "seconds": seconds});
            let human = format!("{} is in the tree", host.dialogue.card.name);
            reporter.event("joined", Weight::Lasting, fields, Some(human));
        }
        if let Some((delay, bound)) = host.dialogue.delay.filter(|&reported| Some(reported) != self.delay) {
            self.delay = Some((delay, bound));
            let ([delay, bound], beyond) = ([delay, bound].map(|time| time.0 as f64 / 1e6), delay > bound);
            let fields = json!({"delay_ms": delay, "bound_ms": bound, "beyond": beyond});
            let how = if beyond { "beyond" } else { "again within" };
            let human = format!("{delay:.1} ms from the source, {how} the bound of {bound:.1} ms");
            reporter.event("delay", Weight::Lasting, fields, Some(human));
        }
        if now >= self.next() {
            self.reported = now;
            let children: Vec<HostId> = host.drive.node.children().collect();
            let fields = json!({
                "bytes": self.bytes, "parent": host.drive.node.parent(), "children": children,
                "hosts": host.dialogue.members.hosts,
            });
            reporter.event("progress", Weight::Passing, fields, None);
        }
    }

    fn complete(&self, reporter: &mut Reporter, what: &str, lost: Option<&[String]>) {
        let measured = self.began.and_then(|(began, first)| {
            let took = Nanos(began.elapsed().as_nanos() as u64);
            Some((seconds(took), goodput(self.bytes - first, took)?))
        });
        let (took, goodput) = measured.unzip();
        let mut fields = json!({"bytes": self.bytes, "seconds": took, "goodput_bps": goodput});
        let mut human = format!("{} bytes {what} in {:.3} s", self.bytes, took.unwrap_or_default());
        if let Some(lost) = lost {
            fields["lost"] = json!(lost);
            human += &lost_text(lost);
        }
        reporter.event("complete", Weight::Lasting, fields, Some(human));
    }
}
