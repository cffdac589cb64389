//! Requests to the controller, repeated until answered.

use std::collections::VecDeque;

use groupflow_base::{Nanos, Transmit};
use groupflow_transport::wire::Header;

use crate::control::{Request, RequestId};

/// A request is repeated this long after it was sent.
pub const RETRY: Nanos = Nanos::from_millis(200);
/// The most requests that wait for an answer; further ones push the oldest out.
const BOUND: usize = 64;

#[derive(Debug)]
struct Pending {
    id: RequestId,
    packet: Transmit,
    due: Nanos,
}

/// The requests without an answer. Every repetition is byte-identical.
#[derive(Debug)]
pub struct PendingRequests {
    pending: VecDeque<Pending>,
    next_id: u32,
}

impl PendingRequests {
    /// Request ids count from `first_id`: random, so that a restarted host does not repeat them.
    pub fn new(first_id: u32) -> PendingRequests {
        PendingRequests { pending: VecDeque::new(), next_id: first_id }
    }

    /// No requests yet, and request ids that never meet these: they are half the number space away.
    pub fn beside(&self) -> PendingRequests {
        PendingRequests::new(self.next_id ^ 0x8000_0000)
    }

    /// Sends a request with a fresh id, never 0, from `now` on until it is answered. `header` is complete but
    /// for its kind.
    pub fn send(
        &mut self, now: Nanos, header: Header, request: impl FnOnce(RequestId) -> Request,
    ) -> RequestId {
        if self.pending.len() == BOUND {
            self.pending.pop_front();
        }
        self.next_id = self.next_id.wrapping_add(1).max(1);
        let id = RequestId(self.next_id);
        let request = request(id);
        let packet = Header { kind: request.kind(), ..header }.to_group(&request.encode());
        self.pending.push_back(Pending { id, packet, due: now });
        id
    }

    /// Whether a request with this id waits for its answer.
    pub fn awaits(&self, id: RequestId) -> bool {
        self.pending.iter().any(|p| p.id == id)
    }

    /// Ends the request that was answered. False: no request has this id (any more).
    pub fn answered(&mut self, id: RequestId) -> bool {
        let before = self.pending.len();
        self.pending.retain(|p| p.id != id);
        self.pending.len() < before
    }

    /// Forgets every request.
    pub fn clear(&mut self) {
        self.pending.clear();
    }

    /// The next request that is due.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        let pending = self.pending.iter_mut().find(|p| p.due <= now)?;
        pending.due = now + RETRY;
        Some(pending.packet.clone())
    }

    /// When the next request is due.
    pub fn next_deadline(&self) -> Option<Nanos> {
        self.pending.iter().map(|p| p.due).min()
    }
}
