//! The P4Runtime service of one device, without sockets: messages in, messages out.

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Digest;

use super::arbitration::{wrong_device, Arbitration, ClientId, ClientMessage};
use super::batch::Batch;
use super::config::PipelineConfig;
use super::roles::Scope;
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{Found, Purpose, Setting};
use super::{externs, idle, packet_io, reconcile, update};
use crate::core::{Forwarding, Switch};
use crate::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use crate::proto::p4::v1::stream_error::Details;
use crate::proto::p4::v1::stream_message_request::Update as Request;
use crate::proto::p4::v1::stream_message_response::Update as Response;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{
    DigestList, DigestListAck, DigestListAckError, Entity, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, IdleTimeoutNotification, PacketOut, PacketOutError, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamError, StreamMessageRequest, StreamMessageResponse,
    StreamOtherError, Uint128, Update, WriteRequest,
};

pub const API_VERSION: &str = "1.5.0";

#[derive(Debug, PartialEq)]
pub enum Reaction {
    Send(Vec<ClientMessage>),
    /// A packet for the pipeline, see [`Switch::packet_out`].
    PacketOut(Vec<u8>),
}

/// A configuration that is saved but not committed, with the state written to it so far.
#[derive(Debug)]
struct Saved {
    state: ControlState,
    forwarding: Forwarding,
}

impl Saved {
    /// A configuration to which nothing is written.
    fn new(switch: &Switch, config: Arc<PipelineConfig>) -> Saved {
        let forwarding = switch.fresh(config.program.clone(), config.binding.queues);
        let mut state = ControlState::new(config);
        state.profiles.ports = switch.config().ports.clone();
        Saved { state, forwarding }
    }
}

#[derive(Debug)]
pub struct Runtime {
    device_id: u64,
    arbitration: Arbitration,
    committed: Option<ControlState>,
    saved: Option<Box<Saved>>,
    /// The time since 1970 at the switch's time 0.
    epoch: Nanos,
    /// Whether BMv2 is followed where it contradicts the specification.
    like_bmv2: bool,
}

impl Runtime {
    pub fn new(device_id: u64) -> Runtime {
        let arbitration = Arbitration::new(device_id);
        Runtime { device_id, arbitration, committed: None, saved: None, epoch: Nanos::ZERO, like_bmv2: false }
    }

    /// With timestamps of messages since 1970, for a switch whose time 0 was then.
    pub fn since(self, epoch: Nanos) -> Runtime {
        Runtime { epoch, ..self }
    }

    /// Following BMv2 where clients depend on what it does against the specification.
    pub fn like_bmv2(self, like_bmv2: bool) -> Runtime {
        Runtime { like_bmv2, ..self }
    }

    pub fn primary(&self) -> Option<ClientId> {
        self.arbitration.primary()
    }

    pub fn config(&self) -> Option<&Arc<PipelineConfig>> {
        self.committed.as_ref().map(|state| &state.config)
    }

    pub fn stream_message(
        &mut self, stream: ClientId, message: StreamMessageRequest,
    ) -> Result<Reaction, Status> {
        let (refusal, details) = match message.update {
            Some(Request::Arbitration(update)) => {
                return self.arbitration.update(stream, &update).map(Reaction::Send);
            }
            Some(Request::Packet(packet)) => match self.packet_out(stream, &packet) {
                Ok(bytes) => return Ok(Reaction::PacketOut(bytes)),
                Err(refusal) => (refusal, Details::PacketOut(PacketOutError { packet_out: Some(packet) })),
            },
            Some(Request::DigestAck(ack)) => match self.digest_ack(stream, &ack) {
                Ok(()) => return Ok(Reaction::Send(Vec::new())),
                Err(refusal) => {
                    (refusal, Details::DigestListAck(DigestListAckError { digest_list_ack: Some(ack) }))
                }
            },
            Some(Request::Other(other)) => {
                let details = Details::Other(StreamOtherError { other: Some(other) });
                (Status::unimplemented("other: not supported"), details)
            }
            None => (Status::invalid("update: it is missing"), Details::Other(StreamOtherError::default())),
        };
        let error = StreamError {
            canonical_code: refusal.code as i32,
            message: refusal.message,
            space: "groupflow".into(),
            code: 0,
            details: Some(details),
        };
        let response = StreamMessageResponse { update: Some(Response::Error(error)) };
        Ok(Reaction::Send(vec![(stream, response)]))
    }

    /// A client that gave way to another one: its stream has to end.
    pub fn gone(&mut self) -> Option<ClientId> {
        self.arbitration.gone()
    }

    /// Takes their roles from all primaries, whose streams have to end, and forgets all election ids.
    pub fn depose(&mut self) -> (Vec<ClientId>, Vec<ClientMessage>) {
        self.arbitration.depose()
    }

    pub fn stream_closed(&mut self, stream: ClientId) -> Vec<ClientMessage> {
        self.arbitration.closed(stream)
    }

    /// Takes a packet from the pipeline: the messages to the primaries whose role gets it. None: no client is
    /// primary, or the packet is too short.
    pub fn packet_in(&self, bytes: &[u8]) -> Vec<ClientMessage> {
        let header = self.config().map(|config| &config.binding.packet_in);
        let packet = header.and_then(|header| packet_io::packet_in(header, bytes));
        let Some(packet) = packet else { return Vec::new() };
        let primaries = self.arbitration.primaries().filter(|(_, scope)| scope.gets(&packet));
        let response = || StreamMessageResponse { update: Some(Response::Packet(packet.clone())) };
        primaries.map(|(primary, _)| (primary, response())).collect()
    }

    pub fn digest(&mut self, now: Nanos, message: Digest) -> Vec<ClientMessage> {
        if self.arbitration.primaries().next().is_none() {
            return Vec::new();
        }
        let Some(state) = self.committed.as_mut() else { return Vec::new() };
        let list = state.digests.learn(now, &state.config.binding, message);
        self.digest_notices(list.into_iter().collect())
    }

    /// The messages that are due: digest lists, and entries that have grown idle.
    pub fn due(&mut self, switch: &mut Switch, now: Nanos) -> Vec<ClientMessage> {
        let Some(state) = self.committed.as_mut() else { return Vec::new() };
        let lists = state.digests.due(now);
        let idle = switch.forwarding().map(|f| idle::due(state, &f.pipeline, now)).unwrap_or_default();
        let mut notices = self.digest_notices(lists);
        for (primary, scope) in self.arbitration.primaries() {
            let theirs = idle.iter().filter(|entry| scope.has(Some(entry.table_id)));
            let table_entry: Vec<_> = theirs.cloned().collect();
            if !table_entry.is_empty() {
                let notice = IdleTimeoutNotification { table_entry, timestamp: self.wall(now) };
                let update = Some(Response::IdleTimeoutNotification(notice));
                notices.push((primary, StreamMessageResponse { update }));
            }
        }
        notices
    }

    /// When [`Runtime::due`] has something to do.
    pub fn deadline(&self) -> Option<Nanos> {
        let state = self.committed.as_ref()?;
        state.digests.deadline().into_iter().chain(state.idle.deadline()).min()
    }

    fn digest_notices(&self, lists: Vec<DigestList>) -> Vec<ClientMessage> {
        let mut notices = Vec::new();
        for list in lists {
            let timestamp = self.wall(Nanos(u64::try_from(list.timestamp).unwrap_or(0)));
            for (primary, _) in self.arbitration.primaries().filter(|(_, of)| of.has(Some(list.digest_id))) {
                let update = Some(Response::Digest(DigestList { timestamp, ..list.clone() }));
                notices.push((primary, StreamMessageResponse { update }));
            }
        }
        notices
    }

    /// Nanoseconds since 1970.
    fn wall(&self, time: Nanos) -> i64 {
        i64::try_from((self.epoch + time).0).unwrap_or(i64::MAX)
    }

    /// Puts a checked configuration, which several switches may share, into effect without a client's
    /// request.
    pub fn install(&mut self, switch: &mut Switch, config: impl Into<Arc<PipelineConfig>>) {
        let new = Saved::new(switch, config.into());
        self.commit(switch, new);
    }

    fn commit(&mut self, switch: &mut Switch, Saved { state, forwarding }: Saved) {
        switch.install(forwarding);
        self.saved = None;
        self.committed = Some(state);
    }

    /// Checks whether a client may set a configuration, before the configuration itself is looked at.
    pub fn check_set_config(&self, request: &SetForwardingPipelineConfigRequest) -> Result<Action, Status> {
        let SetForwardingPipelineConfigRequest { device_id, election_id, .. } = request;
        #[allow(deprecated)]
        let scope = self.check_client(*device_id, &request.role, request.role_id, election_id.as_ref())?;
        refuse_if!(!scope.sets_pipeline(), Status::denied, "role.config: this role may not set the pipeline");
        let action = Action::try_from(request.action).unwrap_or(Action::Unspecified);
        let fault = match (action, &request.config) {
            (Action::Unspecified, _) => format!("action: {} is not one that is known", request.action),
            (Action::Commit, Some(_)) => "config: COMMIT takes none, it uses the saved one".into(),
            (Action::Commit, None) | (_, Some(_)) => return Ok(action),
            (_, None) => "config: it is missing".into(),
        };
        Err(Status::invalid(fault))
    }

    /// Carries out a request that [`Runtime::check_set_config`] let pass. `config` is there unless it is a
    /// commit.
    pub fn set_config(
        &mut self, switch: &mut Switch, action: Action, config: Option<PipelineConfig>,
    ) -> Result<(), Status> {
        match (action, config) {
            (Action::Verify, _) => {}
            (Action::VerifyAndSave, Some(config)) => {
                self.saved = Some(Box::new(Saved::new(switch, Arc::new(config))));
            }
            (Action::VerifyAndCommit, Some(config)) => self.install(switch, config),
            (Action::ReconcileAndCommit, Some(config)) => {
                let mut new = Saved::new(switch, Arc::new(config));
                if let (Some(old), Some(from)) = (&self.committed, switch.forwarding()) {
                    let to = (&mut new.state, &mut new.forwarding);
                    reconcile::move_state((old, from), to, Setting::of(switch, Purpose::Move))?;
                }
                self.commit(switch, new);
            }
            _ => {
                let none = || Status::not_found("COMMIT: no configuration is saved");
                let saved = self.saved.take().ok_or_else(none)?;
                self.commit(switch, *saved);
            }
        }
        Ok(())
    }

    /// The configuration in effect, as far as asked for; `None` if there is none.
    pub fn get_config(
        &self, request: &GetForwardingPipelineConfigRequest,
    ) -> Result<Option<ForwardingPipelineConfig>, Status> {
        self.check_device(request.device_id)?;
        if self.like_bmv2 && self.config().is_none() {
            return Err(no_config());
        }
        Ok(self.config().map(|config| config.to_message(request.response_type())))
    }

    /// Checks a write as a whole, in the order that the specification demands.
    pub fn check_write(&self, request: &WriteRequest) -> Result<Batch, Status> {
        let WriteRequest { device_id, election_id, atomicity, .. } = request;
        #[allow(deprecated)]
        let scope = self.check_client(*device_id, &request.role, request.role_id, election_id.as_ref())?;
        self.check_config()?;
        let unknown = |_| Status::unimplemented(format!("atomicity: {atomicity} is not one that is known"));
        let atomicity = Atomicity::try_from(*atomicity).map_err(unknown)?;
        Ok(Batch::new(atomicity, scope.clone()))
    }

    /// Carries out one update of a write that [`Runtime::check_write`] let pass. Changes of queues and
    /// generators take effect at [`Switch::reached`].
    pub fn apply(&mut self, switch: &mut Switch, update: &Update) -> Result<(), Status> {
        if let Some(entry) = update::extern_entry(update.entity.as_ref()) {
            let saved = self.saved.as_mut().map(|saved| &mut saved.forwarding.generators);
            return externs::write(switch, saved, update::UpdateKind::of(update)?, entry);
        }
        let setting = Setting::of(switch, Purpose::Client);
        self.change(switch, |state, forwarding| update::write(state, forwarding, update, setting))
    }

    /// Changes the state that reads and writes are about.
    pub fn change(
        &mut self, switch: &mut Switch,
        change: impl FnOnce(&mut ControlState, &mut Forwarding) -> Result<(), Status>,
    ) -> Result<(), Status> {
        if let Some(saved) = &mut self.saved {
            // Queues get the rates when the saved configuration is committed.
            return change(&mut saved.state, &mut saved.forwarding);
        }
        match (&mut self.committed, switch.forwarding_mut()) {
            (Some(state), Some(forwarding)) => {
                change(state, forwarding)?;
                switch.obey_controller();
                Ok(())
            }
            _ => Err(no_config()),
        }
    }

    pub fn check_read(&self, request: &ReadRequest) -> Result<(), Status> {
        self.check_device(request.device_id)?;
        self.arbitration.scope(&request.role)?;
        self.check_config()
    }

    /// Adds the entities of a role that one entity of a read asks for.
    pub fn find(
        &self, switch: &Switch, role: &str, entity: &Entity, found: &mut Found<'_>,
    ) -> Result<(), Status> {
        let (state, forwarding) = self.current(switch)?;
        let scope = self.arbitration.scope(role)?;
        let found = &mut |entity| {
            if scope.has_entity(&entity) {
                found(entity);
            }
        };
        match update::extern_entry(Some(entity)) {
            Some(filter) => externs::read(switch, &forwarding.generators, filter, found),
            None => update::read(state, forwarding, entity, switch.reached(), found),
        }
    }

    /// The state that reads and writes are about.
    pub fn current<'a>(&'a self, switch: &'a Switch) -> Result<(&'a ControlState, &'a Forwarding), Status> {
        match (&self.saved, &self.committed, switch.forwarding()) {
            (Some(saved), ..) => Ok((&saved.state, &saved.forwarding)),
            (None, Some(state), Some(forwarding)) => Ok((state, forwarding)),
            _ => Err(no_config()),
        }
    }

    /// Capabilities are the server's; the device is only looked at.
    pub fn capabilities(&self, device_id: u64) -> Result<&'static str, Status> {
        if device_id != 0 {
            self.check_device(device_id)?;
        }
        Ok(API_VERSION)
    }

    fn packet_out(&self, stream: ClientId, packet: &PacketOut) -> Result<Vec<u8>, Status> {
        self.check_primary_stream(stream)?;
        let config = self.config().ok_or_else(no_config)?;
        let bytes = packet_io::packet_out(&config.binding.packet_out, packet);
        if config.binding.settle(false) && bytes.is_ok() {
            return Err(Status::not_found("metadata: a string that no entry has stands for nothing"));
        }
        bytes
    }

    fn digest_ack(&mut self, stream: ClientId, ack: &DigestListAck) -> Result<(), Status> {
        let scope = self.check_primary_stream(stream)?;
        scope.check_id(Some(ack.digest_id))?;
        let state = self.committed.as_mut().ok_or_else(no_config)?;
        state.digests.acknowledge(&state.config.binding, ack)
    }

    fn check_primary_stream(&self, stream: ClientId) -> Result<&Scope, Status> {
        self.arbitration.scope_of(stream).ok_or_else(|| Status::denied("only the primary may do this"))
    }

    fn check_client(
        &self, device_id: u64, role: &str, role_id: u64, election_id: Option<&Uint128>,
    ) -> Result<&Scope, Status> {
        self.check_device(device_id)?;
        refuse_if!(role_id != 0, Status::not_found, "role_id: numbers are deprecated, give the role a name");
        self.arbitration.check(role, election_id)
    }

    fn check_device(&self, device_id: u64) -> Result<(), Status> {
        if device_id == self.device_id {
            return Ok(());
        }
        Err(Status::not_found(wrong_device(device_id, self.device_id)))
    }

    fn check_config(&self) -> Result<(), Status> {
        if self.saved.is_some() || self.committed.is_some() {
            return Ok(());
        }
        Err(no_config())
    }
}

fn no_config() -> Status {
    Status::new(Code::FailedPrecondition, "no forwarding pipeline configuration is set yet")
}
