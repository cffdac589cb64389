//! The news that clients get of their streams, and the ends of streams and connections.

use std::time::Duration;

use serde_json::json;

use super::server::Server;
use crate::machine::{GatherFrame, RefusalCode};

/// Time within which a peer must close after its farewell.
const FAREWELL: Duration = Duration::from_secs(5);

/// Bytes accepted after a farewell: more than the buffers of both kernels hold with Linux's settings (32 MiB
/// and 4 MiB), so that a peer that reads its refusal can always do so. A peer that sends more is cut off.
const UNDER_WAY: usize = 64 << 20;

impl Server {
    /// Tells clients how much is delivered; ends streams that are complete or cannot be written.
    pub(super) fn tell_delivered(&mut self) {
        for client in std::mem::take(&mut self.touched) {
            let Some(flow) = self.flows.get_mut(&client) else { continue };
            if let Some(why) = flow.failure.take() {
                self.fail(client, &why);
                continue;
            }
            if flow.core.is_complete() {
                self.complete(client);
                continue;
            }
            match flow.news(self.now) {
                Some(news) => {
                    let speaker = [flow.last].into_iter().chain(flow.stripes.iter().copied());
                    let speaker = speaker.into_iter().find(|number| flow.stripes.contains(number));
                    let number = speaker.unwrap_or(flow.last);
                    self.say(number, &news);
                }
                None if flow.tell_at.is_some() => drop(self.touched.insert(client)),
                None => {}
            }
        }
    }

    /// Sends a frame on a connection; a connection whose peer does not read is lost.
    pub(super) fn say(&mut self, number: u64, frame: &GatherFrame) {
        let Some(stripe) = self.stripes.get_mut(&number) else { return };
        if !stripe.say(frame) || stripe.flush().is_err() {
            self.lose(number);
        }
    }

    pub(super) fn complete(&mut self, client: usize) {
        let Some(flow) = self.flows.get_mut(&client) else { return };
        if let Err(why) = flow.destination.finish() {
            return self.fail(client, &why);
        }
        let length = flow.core.delivered();
        self.end_flow(client, "complete", Some(&GatherFrame::Complete { length }));
    }

    pub(super) fn fail(&mut self, client: usize, why: &str) {
        let text = why.to_owned();
        let refusal = GatherFrame::Refusal { code: RefusalCode::Output, text: text.clone() };
        let fields =
            json!({"peer": null, "client": self.names[client].as_str(), "code": "output", "text": text});
        self.events.tell("refused", fields, Some(format!("client {}: {why}", self.names[client])));
        self.end_flow(client, "failed", Some(&refusal));
    }

    /// Ends a stream: its connections are told, and closed.
    pub(super) fn end_flow(&mut self, client: usize, outcome: &str, word: Option<&GatherFrame>) {
        let Some(flow) = self.flows.remove(&client) else { return };
        let name = self.names[client].clone();
        self.roster.forget(&name, flow.stream);
        for &number in &flow.stripes {
            if let Some(stripe) = self.stripes.get_mut(&number) {
                stripe.client = None;
                if let Some(word) = word {
                    stripe.say(word);
                }
            }
            self.farewell(number);
        }
        let bytes = flow.core.delivered();
        let seconds = flow.began.elapsed().as_secs_f64();
        let path = flow.destination.path().map(|path| path.display().to_string());
        let fields = json!({
            "client": name.as_str(), "stream": flow.stream.to_string(), "outcome": outcome,
            "bytes": bytes, "seconds": seconds, "path": path,
        });
        let human = format!("client {name}: stream {} {outcome}, {bytes} bytes", flow.stream);
        self.events.tell("stream_ended", fields, Some(human));
    }

    /// Closes a connection once its last frame has been sent and its peer has closed, too.
    pub(super) fn farewell(&mut self, number: u64) {
        self.pending.remove(&number);
        let until = self.now + FAREWELL;
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
    pub(super) fn throw_away(&mut self, number: u64, bytes: usize) -> bool {
        let Some(stripe) = self.stripes.get_mut(&number) else { return false };
        stripe.thrown_away += bytes;
        let goes_on = stripe.thrown_away <= UNDER_WAY;
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
            self.detach(client, number);
        }
    }

    /// Removes a connection from its client's stream.
    pub(super) fn detach(&mut self, client: usize, number: u64) {
        let Some(flow) = self.flows.get_mut(&client) else { return };
        if !flow.stripes.remove(&number) {
            return;
        }
        self.roster.leave(&self.names[client], flow.stream);
        if flow.stripes.is_empty() {
            flow.alone = Some(self.now);
        }
        self.share_window(client);
    }
}
