//! `gfagent cache`: keeps packets of sessions beside a switch.

use groupflow_base::Nanos;
use groupflow_host::error::AgentError;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::Shell;
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::agent;
use groupflow_session::control::LeaveReason;
use groupflow_session::{Caching, Endpoint};
use groupflow_transport::cache::CacheStats;
use groupflow_transport::SessionId;
use serde_json::json;

use crate::args::CacheArgs;

/// How often unchanged stats are repeated.
const STATS_IDLE: Nanos = Nanos::from_secs(2);

impl Subcommand for CacheArgs {
    fn reporter(&self) -> Reporter {
        self.common.reporter("cache", false, None)
    }

    /// Caches until a signal comes; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.common.name)?;
        let socket = GroupSocket::open(&self.common.socket(false))?;
        let mut shell = Shell::new(socket)?;
        reporter.ready(shell.socket.address);
        // An agent is of no session.
        let member = self.common.member(SessionId(0));
        let mut agent = Endpoint::caching(shell.clock.now(), member, self.max_bytes);
        let mut stats = StatsReport::new(shell.clock.now(), Nanos::from_millis(self.stats_ms));
        loop {
            shell.exchange(&mut agent)?;
            while let Some(event) = agent.poll_event() {
                agent::report(reporter, event)?;
            }
            stats.report(shell.clock.now(), &agent, reporter);
            if shell.wait(&agent, Some(stats.due), None)?.signal {
                break;
            }
        }
        agent.leave(shell.clock.now(), LeaveReason::Done);
        shell.farewell(&mut agent, Endpoint::has_ended)?;
        reporter.event("stats", Weight::Lasting, json!(agent.stats()), None);
        Ok(0)
    }
}

/// The last stats, and when the next are due.
struct StatsReport {
    period: Nanos,
    due: Nanos,
    reported: Nanos,
    last: CacheStats,
}

impl StatsReport {
    fn new(now: Nanos, period: Nanos) -> StatsReport {
        StatsReport { period, due: now + period, reported: now, last: CacheStats::default() }
    }

    fn report(&mut self, now: Nanos, agent: &Endpoint<Caching>, reporter: &mut Reporter) {
        if now < self.due {
            return;
        }
        self.due = now + self.period;
        let stats = agent.stats();
        if stats != self.last || now >= self.reported + STATS_IDLE {
            reporter.event("stats", Weight::Passing, json!(stats), None);
            self.reported = now;
            self.last = stats;
        }
    }
}
