//! P4Runtime over gRPC.

#![allow(clippy::result_large_err)] // tonic::Status is large.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use groupflow_base::Nanos;
use groupflow_host::process::lock;
use tokio::sync::{mpsc::Receiver, oneshot, Notify};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::Stream;
use tonic::{Request, Response, Streaming};

use super::answer::{Answer, Waiting};
use super::connections::Place;
use super::incoming::Incoming;
use super::run::warn_of;
use super::shared::{Shared, ToControlPlane};
use super::streams::{StreamReply, Streams};
use crate::p4rt::{self, ClientId, PipelineConfig, Reaction, Runtime};
use crate::proto::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use crate::proto::p4::v1::*;

/// Updates carried out before packets get their turn.
const UPDATES_AT_ONCE: usize = 64;
/// The largest message taken: a program and its P4Info, or a large batch.
const MESSAGE_LIMIT: usize = 256 << 20;

/// The service; clones share everything.
#[derive(Debug, Clone)]
pub struct P4RuntimeService {
    shared: Arc<Shared>,
    runtime: Arc<Mutex<Runtime>>,
    streams: Arc<Streams>,
    /// Tells that a message may be due earlier than before.
    earlier: Arc<Notify>,
    /// The answers to reads that clients have not taken.
    waiting: Arc<Mutex<Waiting>>,
}

impl P4RuntimeService {
    pub fn new(shared: Arc<Shared>, runtime: Runtime) -> P4RuntimeService {
        P4RuntimeService {
            shared,
            runtime: Arc::new(Mutex::new(runtime)),
            streams: Arc::default(),
            earlier: Arc::default(),
            waiting: Arc::default(),
        }
    }

    pub fn into_server(self) -> Incoming<P4RuntimeServer<P4RuntimeService>> {
        Incoming::new(P4RuntimeServer::new(self).max_decoding_message_size(MESSAGE_LIMIT))
    }

    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Passes packets and digests of the data path to the primary, until the data path ends.
    pub async fn forward(self, mut from_datapath: Receiver<ToControlPlane>) {
        loop {
            let deadline = lock(&self.runtime).deadline();
            tokio::select! {
                () = self.earlier.notified() => {}
                message = from_datapath.recv() => match message {
                    Some(message) => self.forward_one(message),
                    None => return,
                },
                () = self.shared.depose.notified() => self.depose(),
                () = self.sleep_until(deadline), if deadline.is_some() => {
                    let now = self.shared.clock.now();
                    let notices = lock(&self.runtime).due(&mut self.shared.switch(), now);
                    self.streams.send(notices);
                }
            }
        }
    }

    fn depose(&self) {
        let mut runtime = lock(&self.runtime);
        let (primaries, notices) = runtime.depose();
        for primary in primaries {
            let error = tonic::Status::permission_denied("the switch's owner took the role away");
            self.streams.close(primary, Some(error));
        }
        self.streams.send(notices);
    }

    fn forward_one(&self, message: ToControlPlane) {
        let mut runtime = lock(&self.runtime);
        let notices = match message {
            ToControlPlane::Packet(bytes) => {
                let notices = runtime.packet_in(&bytes);
                if notices.is_empty() {
                    self.shared.no_primary.fetch_add(1, Ordering::Relaxed);
                }
                notices
            }
            ToControlPlane::Digest(time, digest) => runtime.digest(time, digest),
        };
        drop(runtime);
        self.streams.send(notices);
    }

    async fn sleep_until(&self, deadline: Option<Nanos>) {
        let remaining = deadline.unwrap_or(Nanos::MAX) - self.shared.clock.now();
        tokio::time::sleep(Duration::from_nanos(remaining.0)).await;
    }

    async fn serve_stream(
        self, stream: ClientId, place: Place, mut requests: Streaming<StreamMessageRequest>,
        mut closed: oneshot::Receiver<()>,
    ) {
        let mut client = None;
        let error = loop {
            let message = tokio::select! {
                message = requests.message() => message,
                _ = &mut closed => break None,
            };
            let Ok(Some(message)) = message else { break None };
            let arbitrates = matches!(message.update, Some(stream_message_request::Update::Arbitration(_)));
            if let Err(status) = self.react(stream, message) {
                break Some(status);
            }
            if arbitrates && client.is_none() {
                client = Some(place.client());
            }
        };
        if let Some(status) = &error {
            tracing::info!(stream = stream.0, message = status.message(), "stream refused");
        }
        let notices = lock(&self.runtime).stream_closed(stream);
        self.streams.close(stream, error);
        self.streams.send(notices);
    }

    fn react(&self, stream: ClientId, message: StreamMessageRequest) -> Result<(), tonic::Status> {
        // The lock is held until the notices are under way, so that clients see arbitration in order.
        let mut runtime = lock(&self.runtime);
        match runtime.stream_message(stream, message).map_err(to_tonic)? {
            Reaction::Send(notices) => {
                self.streams.send(notices);
                if let Some(gone) = runtime.gone() {
                    self.streams.close(gone, Some(to_tonic(p4rt::too_many())));
                }
            }
            Reaction::PacketOut(bytes) => {
                drop(runtime);
                let mut switch = self.shared.switch();
                switch.packet_out(self.shared.clock.now(), &bytes);
                drop(switch);
                self.shared.waker.wake();
            }
        }
        Ok(())
    }

    fn write_all(&self, request: &WriteRequest) -> Result<(), p4rt::Status> {
        // No other write is carried out in between, but packets are processed.
        let mut runtime = lock(&self.runtime);
        let mut batch = runtime.check_write(request)?;
        let deadline = runtime.deadline();
        let at_once = if batch.is_atomic() { request.updates.len().max(1) } else { UPDATES_AT_ONCE };
        for updates in request.updates.chunks(at_once) {
            let mut switch = self.shared.switch();
            if updates.iter().any(p4rt::takes_effect_in_time) {
                switch.catch_up(self.shared.clock.now());
                self.shared.waker.wake();
            }
            batch.apply(&mut runtime, &mut switch, updates);
        }
        if runtime.deadline() != deadline {
            self.earlier.notify_one();
        }
        batch.outcome()
    }

    /// The answer to a read, and the error behind it.
    fn read_all(&self, request: &ReadRequest) -> Result<(Answer, Result<(), p4rt::Status>), p4rt::Status> {
        let runtime = lock(&self.runtime);
        runtime.check_read(request)?;
        let mut answer = Answer::new(&self.waiting);
        let mut results = Vec::with_capacity(request.entities.len());
        for entity in &request.entities {
            let mut switch = self.shared.switch();
            if p4rt::is_timed(entity) {
                switch.catch_up(self.shared.clock.now());
                self.shared.waker.wake();
            }
            let mut push = |found| answer.push(found);
            results.push(runtime.find(&switch, &request.role, entity, &mut push));
            drop(switch);
            answer.check()?; // one request may name all entries again and again
        }
        answer.end_message();
        Ok((answer, p4rt::Status::of_batch("request", &results)))
    }
}

type ResponseStream<T> = Pin<Box<dyn Stream<Item = Result<T, tonic::Status>> + Send>>;

#[tonic::async_trait]
impl P4Runtime for P4RuntimeService {
    type ReadStream = ResponseStream<crate::proto::ReadResponse>;
    type StreamChannelStream = ReceiverStream<StreamReply>;

    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, tonic::Status> {
        self.write_all(request.get_ref()).map_err(to_tonic)?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, tonic::Status> {
        let (answer, outcome) = self.read_all(request.get_ref()).map_err(to_tonic)?;
        let error = outcome.err().map(|status| Err(to_tonic(status)));
        Ok(Response::new(Box::pin(tokio_stream::iter(answer.chain(error)))))
    }

    async fn set_forwarding_pipeline_config(
        &self, request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, tonic::Status> {
        let mut request = request.into_inner();
        lock(&self.runtime).check_set_config(&request).map_err(to_tonic)?;
        // Loading a program takes a while: neither packets nor other clients wait for it.
        let given = request.config.take();
        let build = move || given.map(PipelineConfig::new).transpose();
        let config = tokio::task::spawn_blocking(build).await;
        let config = config
            .map_err(|_| tonic::Status::internal("loading the program panicked"))?
            .map_err(|error| tonic::Status::invalid_argument(format!("{}: {error}", error.field())))?;
        config.iter().for_each(warn_of);
        // The client may have lost its role, or the message its meaning, in the meantime.
        request.config = config.is_some().then(ForwardingPipelineConfig::default);
        let mut runtime = lock(&self.runtime);
        let action = runtime.check_set_config(&request).map_err(to_tonic)?;
        let mut switch = self.shared.switch();
        runtime.set_config(&mut switch, action, config).map_err(to_tonic)?;
        let engine = switch.forwarding().map(|forwarding| forwarding.pipeline.engine());
        self.earlier.notify_one();
        tracing::info!(action = action.as_str_name(), ?engine, "pipeline configuration set");
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self, request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, tonic::Status> {
        let config = lock(&self.runtime).get_config(request.get_ref()).map_err(to_tonic)?;
        Ok(Response::new(GetForwardingPipelineConfigResponse { config }))
    }

    async fn stream_channel(
        &self, request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, tonic::Status> {
        let (stream, responses, closed) = self.streams.open();
        let place = request.extensions().get::<Place>().cloned().unwrap_or_default();
        tokio::spawn(self.clone().serve_stream(stream, place, request.into_inner(), closed));
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn capabilities(
        &self, request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, tonic::Status> {
        let version = lock(&self.runtime).capabilities(request.get_ref().device_id).map_err(to_tonic)?;
        let p4runtime_api_version = version.into();
        Ok(Response::new(CapabilitiesResponse { p4runtime_api_version, ..Default::default() }))
    }
}

fn to_tonic(status: p4rt::Status) -> tonic::Status {
    let code = tonic::Code::from_i32(status.code as i32);
    tonic::Status::with_details(code, status.message.clone(), status.details().into())
}
