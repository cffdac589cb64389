//! The calls as they come in: each is noted at its connection's place, and messages that are not whole yet
//! are bounded, all clients' together. A gRPC library alone would hold as many as there are calls.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tonic::body::BoxBody;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Service, StdError};
use tonic::server::NamedService;

use super::connections::Place;

/// Bytes of messages, of all clients together, that are not whole yet.
const UNFINISHED_LIMIT: usize = 256 << 20;
/// Bytes of each that do not count: small messages are taken while others fill all the room.
const FREE: usize = 16 << 10;
/// Bytes in front of a message: whether it is compressed, and its length.
const HEAD: usize = 5;

/// A service whose calls are looked at first.
#[derive(Debug, Clone)]
pub struct Incoming<S> {
    service: S,
    unfinished: Arc<AtomicUsize>,
}

impl<S> Incoming<S> {
    pub fn new(service: S) -> Incoming<S> {
        Incoming { service, unfinished: Arc::default() }
    }
}

impl<S: NamedService> NamedService for Incoming<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<BoxBody>> for Incoming<S>
where
    S: Service<Request<Counted<BoxBody>>, Response = Response<BoxBody>, Error = Infallible>,
{
    type Response = Response<BoxBody>;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<BoxBody>) -> S::Future {
        if let Some(place) = request.extensions().get::<Place>() {
            place.call();
        }
        let unfinished = Message { all: Arc::clone(&self.unfinished), head: Vec::new(), missing: 0, size: 0 };
        self.service.call(request.map(|body| Counted { body, unfinished }))
    }
}

/// A request's body, which counts the bytes of the message that is under way.
#[derive(Debug)]
pub struct Counted<B> {
    body: B,
    unfinished: Message,
}

/// A message that is not whole yet.
#[derive(Debug)]
struct Message {
    all: Arc<AtomicUsize>,
    head: Vec<u8>,
    missing: usize,
    size: usize,
}

impl Message {
    fn counted(&self) -> usize {
        self.size.saturating_sub(FREE)
    }

    /// Takes bytes, which may be of several messages; whether there is room for them.
    fn take(&mut self, mut bytes: &[u8]) -> bool {
        self.all.fetch_sub(self.counted(), Ordering::Relaxed);
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(match self.head.len() {
                HEAD => self.missing,
                begun => HEAD - begun,
            }));
            if self.head.len() < HEAD {
                self.head.extend(now);
                self.missing = self.head[1..].iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
            } else {
                self.missing -= now.len();
                self.size += now.len();
            }
            if self.head.len() == HEAD && self.missing == 0 {
                self.head.clear();
                self.size = 0;
            }
            bytes = rest;
        }
        let counted = self.counted();
        self.all.fetch_add(counted, Ordering::Relaxed) + counted <= UNFINISHED_LIMIT || counted == 0
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.all.fetch_sub(self.counted(), Ordering::Relaxed);
    }
}

impl<B> Body for Counted<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<StdError>,
{
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>, context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(Ok(Some(data))) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
            if !self.unfinished.take(data) {
                let message = format!("more than {} MiB of messages are under way", UNFINISHED_LIMIT >> 20);
                return Poll::Ready(Some(Err(tonic::Status::resource_exhausted(message).into())));
            }
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

#[cfg(test)]
#[path = "tests/incoming.rs"]
mod tests;
