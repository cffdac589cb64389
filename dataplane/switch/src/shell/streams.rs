//! The clients' open streams, and the way of messages to them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use groupflow_host::process::lock;
use tokio::sync::mpsc::{channel, error::TrySendError, Receiver, Sender};
use tokio::sync::oneshot;
use tonic::Status;

use crate::p4rt::{ClientId, ClientMessage};
use crate::proto::p4::v1::stream_message_response::Update;
use crate::proto::p4::v1::StreamMessageResponse;

const WAITING: usize = 4096;

/// Messages about idle entries are long: they wait only behind so few others.
const IDLE_WAITING: usize = 16;

pub type StreamReply = Result<StreamMessageResponse, Status>;

/// The ends of an open stream: where its client reads, and the end that resolves when it is closed.
type Ends = (Sender<StreamReply>, oneshot::Sender<()>);

#[derive(Debug, Default)]
pub struct Streams {
    next: AtomicU64,
    open: Mutex<HashMap<ClientId, Ends>>,
}

impl Streams {
    /// Opens a stream; returns its number, the end that the client reads, and one that resolves when the
    /// stream is closed from here.
    pub fn open(&self) -> (ClientId, Receiver<StreamReply>, oneshot::Receiver<()>) {
        let id = ClientId(self.next.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = channel(WAITING);
        let (hold, closed) = oneshot::channel();
        lock(&self.open).insert(id, (sender, hold));
        (id, receiver, closed)
    }

    /// Sends messages. A client that is too slow for packets loses them; the stream of a client that is too
    /// slow for arbitration is closed.
    pub fn send(&self, notices: Vec<ClientMessage>) {
        let mut open = lock(&self.open);
        for (id, message) in notices {
            let Some((sender, _)) = open.get(&id) else { continue };
            let is_idle = matches!(message.update, Some(Update::IdleTimeoutNotification(_)));
            let may_be_lost =
                is_idle || matches!(message.update, Some(Update::Packet(_) | Update::Digest(_)));
            if is_idle && WAITING - sender.capacity() >= IDLE_WAITING {
                continue;
            }
            let full = matches!(sender.try_send(Ok(message)), Err(TrySendError::Full(_)));
            if full && !may_be_lost {
                open.remove(&id);
            }
        }
    }

    pub fn close(&self, id: ClientId, error: Option<Status>) {
        let sender = lock(&self.open).remove(&id);
        if let (Some((sender, _)), Some(error)) = (sender, error) {
            // A full stream ends without its error.
            drop(sender.try_send(Err(error)));
        }
    }

    pub fn close_all(&self, error: &Status) {
        for (_, (sender, _)) in lock(&self.open).drain() {
            drop(sender.try_send(Err(error.clone())));
        }
    }
}

#[cfg(test)]
#[path = "tests/streams.rs"]
mod tests;
