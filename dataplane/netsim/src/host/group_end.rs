//! The machines of group sessions: members and cache agents, the endpoints of `dataplane/session`.

use groupflow_base::{BitRate, Nanos};
use groupflow_session::control::StartAt;
use groupflow_session::{
    Caching, Endpoint, MemberConfig, ReceiveConfig, Receiving, SendConfig, SendEvent, Sending,
};
use groupflow_transport::source::{Source, SourceError};
use groupflow_transport::{MemberId, Seq, SessionId};

use super::machine_end::{pattern, wrong_bytes, Application, PatternBytes, Simulated};
use crate::sample::FlowSample;
use crate::spec::{MemberRole, MemberSpec};

/// The most bytes that wait in a sender's buffer for acknowledgement, as at `gfagent send`.
const BUFFER: usize = 8 << 20;

/// The machine of a member that joins at its start, or of a cache agent.
pub fn member(spec: &MemberSpec, seed: u64) -> Result<Box<dyn Simulated>, SourceError> {
    let start = Nanos(spec.start_ns);
    let member = MemberConfig {
        session: SessionId(spec.session),
        name: spec.name.clone(),
        token: spec.token.clone(),
        patience: None,
        seed,
    };
    Ok(match spec.role {
        MemberRole::Sender { bytes, receivers, rate_bps, messages } => {
            let source = match messages {
                Some(_) => Source::stream(BUFFER, Seq::FIRST),
                None => Source::file(Box::new(PatternBytes(bytes)), Seq::FIRST)?,
            };
            let config = SendConfig { receivers, cap: BitRate(rate_bps) };
            Box::new(Endpoint::sending(start, member, config, source))
        }
        MemberRole::Receiver => {
            let (source, from, datagrams) = (MemberId::NONE, StartAt::Now, false);
            let config = ReceiveConfig { source, start: from, datagrams, target: BitRate(0) };
            Box::new(Endpoint::receiving(start, member, config))
        }
        MemberRole::Cache { max_bytes } => Box::new(Endpoint::caching(start, member, max_bytes)),
    })
}

impl Simulated for Endpoint<Sending> {
    /// Hands the messages that are due to the stream, as far as there is room.
    fn settle(&mut self, now: Nanos, application: &mut Application) {
        if let Some(messages) = &mut application.messages {
            messages.take(now);
            if let Some(stream) = self.written() {
                let span = application.written..messages.offered();
                let bytes: Vec<u8> = span.take(stream.room()).map(pattern).collect();
                application.written += stream.write(&bytes) as u64;
            }
        }
        while let Some(event) = self.poll_event() {
            match (event, application.first) {
                (SendEvent::Started { .. }, _) => application.first = Some(now),
                (SendEvent::Complete(end), Some(first)) => application.latest = Some(first + end.took),
                _ => {}
            }
        }
    }

    fn measure(&mut self, _application: &mut Application, sample: &mut FlowSample) {
        let stats = self.stats();
        sample.finished = Some(self.has_ended());
        sample.sent_packets = stats.packets + stats.retransmitted;
        sample.retransmissions = Some(stats.retransmitted);
        sample.acknowledged_bytes = Some(stats.acked_bytes);
    }
}

impl Simulated for Endpoint<Receiving> {
    fn settle(&mut self, now: Nanos, application: &mut Application) {
        let mut bytes = Vec::new();
        self.take(now, &mut bytes);
        while self.poll_event().is_some() {}
        application.corrupt += wrong_bytes(application.delivered, &bytes);
        application.delivered += bytes.len() as u64;
        if !bytes.is_empty() {
            application.latest = Some(now);
        }
    }

    fn measure(&mut self, application: &mut Application, sample: &mut FlowSample) {
        sample.delivered_bytes = Some(application.delivered);
        sample.repairs = Some(self.stats().repaired);
        sample.finished = Some(self.complete());
    }
}

impl Simulated for Endpoint<Caching> {
    fn settle(&mut self, _now: Nanos, _application: &mut Application) {
        while self.poll_event().is_some() {}
    }

    fn measure(&mut self, _application: &mut Application, sample: &mut FlowSample) {
        let counters = self.stats().counters;
        sample.repairs = Some(counters.repairs_unicast + counters.repairs_multicast);
    }

    fn cache(&self) -> Option<(u64, u64)> {
        let stats = self.stats();
        Some((stats.cache_bytes, stats.cache_peak_bytes))
    }
}
