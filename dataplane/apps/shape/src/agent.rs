//! The loop: reports in, rates to the kernel.

use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_host::error::AgentError;
use groupflow_host::process::{signals, system};
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::Clock;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use serde_json::{json, Value};

use crate::args::ShapeArgs;
use crate::htb::Htb;
use crate::rates::Rates;
use crate::reports::Reports;

/// Rates are set at most this often: of reports that come faster, on short links, the newest counts.
const QUANTUM: Duration = Duration::from_millis(1);
/// So many reports are taken at most before rates are set and signals are seen.
const REPORTS: usize = 1000;
/// Silence is noticed so late at most.
const LOOK_MS: u16 = 100;
/// The rates are told so often while they change.
const TOLD: Nanos = Nanos::from_secs(1);

/// Shapes until a signal comes; returns the exit code.
pub fn run(args: &ShapeArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    let signals = signals().map_err(|error| system(&error.into()))?;
    let clock = Clock::start();
    let reports = Reports::open(&args.iface)?;
    let mut rates = Rates::new(args.flows.iter().map(|flow| flow.number), args.packet_bytes);
    let mut htb = Htb::new(&args.iface, &args.flows, args.packet_bytes)?;
    let mut set: Vec<Option<u64>> = vec![None; args.flows.len()];
    let mut told = Nanos::ZERO;
    reporter.event("ready", Weight::Lasting, json!({}), Some(format!("shaping on {}", args.iface)));
    loop {
        let mut fds = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(reports.as_fd(), PollFlags::POLLIN),
        ];
        if poll(&mut fds, PollTimeout::from(LOOK_MS)).map_err(|error| system(&error.into()))? == 0 {
            reports.check()?;
        }
        if fds[0].any().unwrap_or(false) {
            return Ok(0);
        }
        let now = clock.now();
        for _ in 0..REPORTS {
            let Some(report) = reports.next()? else { break };
            rates.take(now, &report);
        }
        let changes = rates.changes(now);
        if changes.is_empty() {
            continue;
        }
        htb.set(&changes)?;
        for change in changes {
            set[change.place] = change.rate;
        }
        if now >= told + TOLD {
            told = now;
            reporter.event("rates", Weight::Passing, fields(args, &set), None);
        }
        thread::sleep(QUANTUM);
    }
}

/// Each flow's rate in bit/s; null: no limit.
fn fields(args: &ShapeArgs, rates: &[Option<u64>]) -> Value {
    let each = args.flows.iter().zip(rates);
    let rates: serde_json::Map<String, Value> =
        each.map(|(flow, rate)| (flow.number.to_string(), json!(rate.map(|rate| 8 * rate)))).collect();
    json!({ "rate_bps": rates })
}
