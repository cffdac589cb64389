//! The P4Runtime service of one device, without sockets: messages in, messages out.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Digest;

use super::arbitration::{wrong_device, Arbitration, ClientId, ClientMessage};
use super::config::PipelineConfig;
use super::state::ControlState;
use super::status::{Code, Refusal, Status};
use super::update::Found;
use super::{externs, packet_io, update};
use crate::core::{Forwarding, Switch};
use crate::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use crate::proto::p4::v1::stream_message_request::Update as Request;
use crate::proto::p4::v1::stream_message_response::Update as Response;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{
    stream_error, DigestList, DigestListAck, DigestListAckError, Entity, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, PacketOut, PacketOutError, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamError, StreamMessageRequest, StreamMessageResponse,
    StreamOtherError, Uint128, Update, WriteRequest,
};

/// The version of P4Runtime that is offered.
pub const API_VERSION: &str = "1.5.0";

/// The consequence of a message on a stream.
#[derive(Debug, PartialEq)]
pub enum Reaction {
    /// Messages for clients.
    Tell(Vec<ClientMessage>),
    /// A packet for the pipeline, see [`Switch::packet_out`].
    PacketOut(Vec<u8>),
}

/// A configuration that is saved but not committed, with the state written to it so far.
#[derive(Debug)]
struct Saved {
    state: ControlState,
    forwarding: Forwarding,
}

/// The service of one device.
#[derive(Debug)]
pub struct Runtime {
    device_id: u64,
    arbitration: Arbitration,
    committed: Option<ControlState>,
    saved: Option<Box<Saved>>,
}

impl Runtime {
    /// A device without clients and configuration.
    pub fn new(device_id: u64) -> Runtime {
        Runtime { device_id, arbitration: Arbitration::new(device_id), committed: None, saved: None }
    }

    /// The primary's stream.
    pub fn primary(&self) -> Option<ClientId> {
        self.arbitration.primary()
    }

    /// The configuration in effect.
    pub fn config(&self) -> Option<&Arc<PipelineConfig>> {
        self.committed.as_ref().map(|state| &state.config)
    }

    /// Handles a message on a client's stream; an error ends the stream.
    pub fn stream_message(
        &mut self, stream: ClientId, message: StreamMessageRequest,
    ) -> Result<Reaction, Status> {
        let error = match message.update {
            Some(Request::Arbitration(update)) => {
                return self.arbitration.update(stream, &update).map(Reaction::Tell);
            }
            Some(Request::Packet(packet)) => match self.packet_out(stream, &packet) {
                Ok(bytes) => return Ok(Reaction::PacketOut(bytes)),
                Err(refusal) => packet_out_error(refusal, packet),
            },
            Some(Request::DigestAck(ack)) => match self.digest_ack(stream, &ack) {
                Ok(()) => return Ok(Reaction::Tell(Vec::new())),
                Err(refusal) => digest_ack_error(refusal, ack),
            },
            Some(Request::Other(other)) => {
                let refusal = Refusal::unimplemented("other: not supported");
                let details = StreamOtherError { other: Some(other) };
                stream_error(refusal, stream_error::Details::Other(details))
            }
            None => {
                let refusal = Refusal::invalid("update: it is missing");
                stream_error(refusal, stream_error::Details::Other(StreamOtherError::default()))
            }
        };
        let response = StreamMessageResponse { update: Some(Response::Error(error)) };
        Ok(Reaction::Tell(vec![(stream, response)]))
    }

    /// Notes that a client's stream has ended.
    pub fn stream_closed(&mut self, stream: ClientId) -> Vec<ClientMessage> {
        self.arbitration.closed(stream)
    }

    /// Takes a packet from the pipeline. `None`: no client is primary, or the packet is too short.
    pub fn packet_in(&self, bytes: &[u8]) -> Option<ClientMessage> {
        let primary = self.arbitration.primary()?;
        let packet = packet_io::packet_in(&self.config()?.binding.packet_in, bytes)?;
        Some((primary, StreamMessageResponse { update: Some(Response::Packet(packet)) }))
    }

    /// Takes a digest message from the pipeline.
    pub fn digest(&mut self, now: Nanos, message: Digest) -> Option<ClientMessage> {
        let primary = self.arbitration.primary()?;
        let state = self.committed.as_mut()?;
        let list = state.digests.learn(now, &state.config.binding, message)?;
        Some(to_notice(primary, list))
    }

    /// The digest lists that are due.
    pub fn digests_due(&mut self, now: Nanos) -> Vec<ClientMessage> {
        let primary = self.arbitration.primary();
        let lists = self.committed.as_mut().map(|state| state.digests.due(now)).unwrap_or_default();
        let Some(primary) = primary else { return Vec::new() };
        lists.into_iter().map(|list| to_notice(primary, list)).collect()
    }

    /// When the next digest list is due.
    pub fn digest_deadline(&self) -> Option<Nanos> {
        self.committed.as_ref()?.digests.deadline()
    }

    /// Puts a checked configuration, which several switches may share, into effect without a client's
    /// request.
    pub fn install(&mut self, switch: &mut Switch, config: impl Into<Arc<PipelineConfig>>) {
        let config = config.into();
        switch.install(switch.fresh(config.program.clone(), config.binding.queues));
        self.saved = None;
        self.committed = Some(ControlState::new(config));
    }

    /// Checks whether a client may set a configuration, before the configuration itself is looked at.
    pub fn check_set_config(&self, request: &SetForwardingPipelineConfigRequest) -> Result<Action, Status> {
        #[allow(deprecated)]
        self.check_client(request.device_id, &request.role, request.role_id, request.election_id.as_ref())?;
        let action = Action::try_from(request.action).unwrap_or(Action::Unspecified);
        match (action, &request.config) {
            (Action::Unspecified, _) => {
                let message = format!("action: {} is not one that is known", request.action);
                Err(Status::new(Code::InvalidArgument, message))
            }
            (Action::ReconcileAndCommit, _) => {
                let message = "action: RECONCILE_AND_COMMIT is not supported, use VERIFY_AND_COMMIT";
                Err(Status::new(Code::Unimplemented, message))
            }
            (Action::Commit, Some(_)) => {
                Err(Status::new(Code::InvalidArgument, "config: COMMIT takes none, it uses the saved one"))
            }
            (Action::Commit, None) => Ok(action),
            (_, None) => Err(Status::new(Code::InvalidArgument, "config: it is missing")),
            (_, Some(_)) => Ok(action),
        }
    }

    /// Carries out a request that [`Runtime::check_set_config`] let pass. `config` is there unless it is a
    /// commit.
    pub fn set_config(
        &mut self, switch: &mut Switch, action: Action, config: Option<PipelineConfig>,
    ) -> Result<(), Status> {
        match (action, config) {
            (Action::Verify, _) => Ok(()),
            (Action::VerifyAndSave, Some(config)) => {
                let config = Arc::new(config);
                let forwarding = switch.fresh(config.program.clone(), config.binding.queues);
                self.saved = Some(Box::new(Saved { state: ControlState::new(config), forwarding }));
                Ok(())
            }
            (Action::VerifyAndCommit, Some(config)) => {
                self.install(switch, config);
                Ok(())
            }
            _ => {
                let saved = self.saved.take();
                let saved =
                    saved.ok_or_else(|| Status::new(Code::NotFound, "COMMIT: no configuration is saved"))?;
                switch.install(saved.forwarding);
                self.committed = Some(saved.state);
                Ok(())
            }
        }
    }

    /// The configuration in effect, as far as asked for; `None` if there is none.
    pub fn get_config(
        &self, request: &GetForwardingPipelineConfigRequest,
    ) -> Result<Option<ForwardingPipelineConfig>, Status> {
        self.check_device(request.device_id)?;
        Ok(self.config().map(|config| config.to_message(request.response_type())))
    }

    /// Checks a write as a whole, in the order that the specification demands.
    pub fn check_write(&self, request: &WriteRequest) -> Result<(), Status> {
        #[allow(deprecated)]
        self.check_client(request.device_id, &request.role, request.role_id, request.election_id.as_ref())?;
        self.current()?;
        match Atomicity::try_from(request.atomicity) {
            Ok(Atomicity::ContinueOnError) => Ok(()),
            _ => Err(Status::new(Code::Unimplemented, "atomicity: only CONTINUE_ON_ERROR is supported")),
        }
    }

    /// Carries out one update of a write that [`Runtime::check_write`] let pass. Changes of queues and
    /// generators take effect at [`Switch::reached`].
    pub fn apply(&mut self, switch: &mut Switch, update: &Update) -> Result<(), Refusal> {
        if let Some(entry) = update::extern_entry(update.entity.as_ref()) {
            let saved = self.saved.as_mut().map(|saved| &mut saved.forwarding.generators);
            return externs::write(switch, saved, update::UpdateKind::of(update)?, entry);
        }
        let priorities = switch.config().priorities;
        if let Some(saved) = &mut self.saved {
            let Saved { state, forwarding } = &mut **saved;
            // Queues get the rates when the saved configuration is committed.
            return update::write(state, forwarding, update, priorities);
        }
        match (&mut self.committed, switch.forwarding_mut()) {
            (Some(state), Some(forwarding)) => {
                update::write(state, forwarding, update, priorities)?;
                switch.obey_controller();
                Ok(())
            }
            _ => Err(Refusal::new(Code::FailedPrecondition, NO_CONFIG)),
        }
    }

    /// Checks a read as a whole.
    pub fn check_read(&self, request: &ReadRequest) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        check_role(&request.role, 0)?;
        self.current()
    }

    /// Adds the entities that one entity of a read asks for.
    pub fn find(&self, switch: &Switch, entity: &Entity, found: &mut dyn Found) -> Result<(), Refusal> {
        let (state, forwarding) = match (&self.saved, &self.committed, switch.forwarding()) {
            (Some(saved), ..) => (&saved.state, &saved.forwarding),
            (None, Some(state), Some(forwarding)) => (state, forwarding),
            _ => return Err(Refusal::new(Code::FailedPrecondition, NO_CONFIG)),
        };
        match update::extern_entry(Some(entity)) {
            Some(filter) => externs::read(switch, &forwarding.generators, filter, found),
            None => update::read(state, forwarding, entity, found),
        }
    }

    /// Capabilities are the server's; the device is only looked at.
    pub fn capabilities(&self, device_id: u64) -> Result<&'static str, Status> {
        if device_id != 0 {
            self.check_device(device_id)?;
        }
        Ok(API_VERSION)
    }

    fn packet_out(&self, stream: ClientId, packet: &PacketOut) -> Result<Vec<u8>, Refusal> {
        self.check_primary_stream(stream)?;
        let config = self.config().ok_or_else(|| Refusal::new(Code::FailedPrecondition, NO_CONFIG))?;
        packet_io::packet_out(&config.binding.packet_out, packet)
    }

    fn digest_ack(&mut self, stream: ClientId, ack: &DigestListAck) -> Result<(), Refusal> {
        self.check_primary_stream(stream)?;
        match &mut self.committed {
            Some(state) => state.digests.acknowledge(&state.config.binding, ack),
            None => Err(Refusal::new(Code::FailedPrecondition, NO_CONFIG)),
        }
    }

    fn check_primary_stream(&self, stream: ClientId) -> Result<(), Refusal> {
        if self.arbitration.primary() == Some(stream) {
            return Ok(());
        }
        Err(Refusal::denied("only the primary may do this"))
    }

    fn check_client(
        &self, device_id: u64, role: &str, role_id: u64, election_id: Option<&Uint128>,
    ) -> Result<(), Status> {
        self.check_device(device_id)?;
        check_role(role, role_id)?;
        self.arbitration.check(election_id)
    }

    fn check_device(&self, device_id: u64) -> Result<(), Status> {
        if device_id == self.device_id {
            return Ok(());
        }
        Err(Status::new(Code::NotFound, wrong_device(device_id, self.device_id)))
    }

    fn current(&self) -> Result<(), Status> {
        if self.saved.is_some() || self.committed.is_some() {
            return Ok(());
        }
        Err(Status::new(Code::FailedPrecondition, NO_CONFIG))
    }
}

const NO_CONFIG: &str = "no forwarding pipeline configuration is set yet";

fn check_role(role: &str, role_id: u64) -> Result<(), Status> {
    if role.is_empty() && role_id == 0 {
        return Ok(());
    }
    Err(Status::new(Code::NotFound, format!("role {role:?} is not offered, only the default role is")))
}

fn to_notice(stream: ClientId, list: DigestList) -> ClientMessage {
    (stream, StreamMessageResponse { update: Some(Response::Digest(list)) })
}

fn packet_out_error(refusal: Refusal, packet: PacketOut) -> StreamError {
    let details = PacketOutError { packet_out: Some(packet) };
    stream_error(refusal, stream_error::Details::PacketOut(details))
}

fn digest_ack_error(refusal: Refusal, ack: DigestListAck) -> StreamError {
    let details = DigestListAckError { digest_list_ack: Some(ack) };
    stream_error(refusal, stream_error::Details::DigestListAck(details))
}

fn stream_error(refusal: Refusal, details: stream_error::Details) -> StreamError {
    StreamError {
        canonical_code: refusal.code as i32,
        message: refusal.message,
        space: "groupflow".into(),
        code: 0,
        details: Some(details),
    }
}
