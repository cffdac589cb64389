//! Connections from senders: their streams begin, or are refused.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;

use groupflow_base::{gives_way, StreamId};
use groupflow_host::channel::Channel;
use groupflow_host::link::TcpLink;
use groupflow_host::tcp;
use serde_json::json;

use super::Agent;
use crate::config::SessionSpec;
use crate::frame::{Fault, SplitFrame};
use crate::link::{Upstream, OUTBOX};
use crate::live::{Abort, Live, Turn};
use crate::session::SplitPollKey;

impl Agent {
    /// Accepts a connection; `None`: no more are waiting. A connection for which there is no descriptor is
    /// refused.
    pub(super) fn accept(
        &mut self, listener: &TcpListener, session: u32,
    ) -> Option<(TcpStream, SocketAddrV4)> {
        loop {
            match listener.accept() {
                Ok((socket, SocketAddr::V4(peer))) => {
                    let prepared = tcp::prepare(&socket, self.resources.limits.silence);
                    if prepared.and_then(|()| tcp::reset_on_close(&socket)).is_ok() {
                        return Some((socket, peer));
                    }
                }
                Ok(_) => continue,
                Err(error) if tcp::is_exhausted(&error) => {
                    // The spare descriptor takes the connection, so that it can be reset.
                    self.spare.take()?;
                    let refused = listener.accept();
                    if let Ok((socket, _)) = &refused {
                        let _ = tcp::reset_on_close(socket);
                        self.refused(session, Fault::Refused.word(), tcp::EXHAUSTED);
                    }
                    let none = refused.is_err();
                    drop(refused);
                    self.spare = File::open("/dev/null").ok();
                    if none {
                        return None;
                    }
                }
                // A connection that the client gave up while it waited is not worth an event.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
        }
    }

    pub(super) fn refused(&mut self, session: u32, code: &str, text: &str) {
        self.resources.event("refused", session, None, json!({"code": code, "text": text}));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.refused += 1;
        }
    }

    pub(super) fn accept_senders(&mut self, session: u32, port: u16) {
        let Some(found) = self.sessions.get(&session) else { return };
        let Some(listener) = found.at_port(port) else { return };
        let spec = Arc::clone(&found.spec);
        while let Some((socket, peer)) = self.accept(&listener, session) {
            if let Err((code, text)) = self.make_room() {
                self.refused(session, code, text);
                continue;
            }
            let id = StreamId(rand::random());
            let Ok(registration) = self.resources.poller.add(&socket, SplitPollKey::Upstream(id)) else {
                self.refused(session, "descriptors", "the connection cannot be watched");
                continue;
            };
            let link = TcpLink::established(Channel::begun(socket, None), registration, OUTBOX);
            self.open(id, Arc::clone(&spec), Upstream::new(link, peer, false), 0);
        }
    }

    /// Whether the agent has room for another stream. A sender that has not sent a byte gives way to others.
    pub(super) fn make_room(&mut self) -> Result<(), (&'static str, &'static str)> {
        if self.streams.len() >= self.max_streams {
            let mut silent: Vec<_> = self.streams.values().filter(|live| live.is_silent()).collect();
            silent.sort_by_key(|live| live.began);
            let oldest = gives_way(silent.iter().map(|live| (live.id, (*live.upstream.peer.ip()).into())));
            if let Some(id) = oldest {
                let text = "it sent nothing, and another sender came";
                self.end(id, Turn::Aborted(Abort::new(Fault::Refused, text)));
            }
        }
        if self.streams.len() >= self.max_streams {
            Err(("streams", "the agent has as many streams as it may have (--max-streams)"))
        } else if self.resources.pool.is_exhausted() {
            Err(("cache", "the agent has no cache memory left (--max-cache)"))
        } else {
            Ok(())
        }
    }

    pub(super) fn open(&mut self, id: StreamId, spec: Arc<SessionSpec>, upstream: Upstream, offset: u64) {
        let (session, peer, is_agent) = (spec.id, upstream.peer, upstream.is_agent);
        let fields = json!({
            "peer": peer.to_string(),
            "from": if is_agent { "agent" } else { "sender" },
            "offset": offset,
        });
        // An agent upstream asks again when its session changes, because there may be new members.
        let known = self.lost.tally(id);
        match Live::open(&mut self.resources, id, spec, upstream, offset, known) {
            Ok(mut live) => {
                live.upstream.say(&SplitFrame::Welcome { offset });
                self.resources.event("stream_opened", session, Some(id), fields);
                self.streams.insert(id, live);
                self.ready.insert(id);
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.opened += 1;
                }
            }
            Err((upstream, abort)) => {
                self.refused(session, abort.fault.word(), &abort.text);
                match is_agent {
                    true => self.say_no(upstream.link, abort.fault, &abort.text),
                    false => upstream.link.close(&mut self.resources.poller),
                }
            }
        }
    }
}
