//! The right to write: the primary is the client whose election id equals the highest ever seen.
//!
//! P4Runtime specification, sections "Rules for Handling MasterArbitrationUpdate" and "Client
//! Arbitration Notifications".

use std::collections::{BTreeMap, BTreeSet};

use super::roles::Scope;
use super::status::{Code, Status};
use crate::proto::google::rpc;
use crate::proto::p4::v1::{
    stream_message_response::Update, MasterArbitrationUpdate, Role, StreamMessageResponse, Uint128,
};

pub const CLIENT_LIMIT: usize = 64;

/// A client, which has one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

pub type ClientMessage = (ClientId, StreamMessageResponse);

/// The most named roles that are remembered: each client may have one.
const ROLE_LIMIT: usize = CLIENT_LIMIT;
/// The longest name of a role, in bytes.
const NAME_LIMIT: usize = 256;

/// The clients of a device and which of them are primary, one a role. The default role has no name.
#[derive(Debug)]
pub struct Arbitration {
    device_id: u64,
    clients: BTreeMap<ClientId, Client>,
    roles: BTreeMap<String, RoleState>,
    /// A client that gave way to another one, until its stream is ended.
    gone: Option<ClientId>,
}

#[derive(Debug)]
struct Client {
    role: String,
    election_id: Option<u128>,
}

/// A role that has or had clients.
#[derive(Debug, Default)]
struct RoleState {
    highest: Option<u128>,
    config: Option<prost_types::Any>,
    scope: Scope,
}

impl Arbitration {
    pub fn new(device_id: u64) -> Arbitration {
        let roles = BTreeMap::from([(String::new(), RoleState::default())]);
        Arbitration { device_id, clients: BTreeMap::new(), roles, gone: None }
    }

    /// The stream of the default role's primary.
    pub fn primary(&self) -> Option<ClientId> {
        self.primary_of("")
    }

    fn primary_of(&self, role: &str) -> Option<ClientId> {
        let highest = self.roles.get(role)?.highest?;
        let is_primary = |client: &Client| client.role == role && client.election_id == Some(highest);
        self.clients.iter().find(|(_, client)| is_primary(client)).map(|(stream, _)| *stream)
    }

    /// The primaries of all roles, with their scopes.
    pub fn primaries(&self) -> impl Iterator<Item = (ClientId, &Scope)> {
        self.roles.iter().filter_map(|(role, state)| Some((self.primary_of(role)?, &state.scope)))
    }

    /// The scope of a client that is the primary of its role.
    pub fn scope_of(&self, stream: ClientId) -> Option<&Scope> {
        self.primaries().find(|(primary, _)| *primary == stream).map(|(_, scope)| scope)
    }

    pub fn scope(&self, role: &str) -> Result<&Scope, Status> {
        check_name(role)?;
        let state = self.roles.get(role).filter(|_| role.is_empty() || self.has_clients(role));
        let unknown = || Status::not_found(format!("role {role:?}: no client has this role"));
        state.map(|state| &state.scope).ok_or_else(unknown)
    }

    /// The scope of a role for its primary. Refuses other clients, with the primary's election id.
    pub fn check(&self, role: &str, election_id: Option<&Uint128>) -> Result<&Scope, Status> {
        let scope = self.scope(role)?;
        let (id, highest) = (election_id.map(number), self.roles.get(role).and_then(|state| state.highest));
        let primary = self.primary_of(role);
        if id.is_some() && id == highest && primary.is_some() {
            return Ok(scope);
        }
        let own = id.map_or("none".into(), |id| id.to_string());
        let message = match (primary, highest) {
            (Some(_), Some(highest)) => format!("not primary: election id {own}, the primary's is {highest}"),
            (_, Some(highest)) => format!("not primary: election id {own}, at least {highest} is needed"),
            _ => "not primary: there is none yet, open a stream and send an arbitration update".into(),
        };
        Err(Status::denied(message))
    }

    /// A client's arbitration update: the messages to clients, or the reason why the stream ends.
    pub fn update(
        &mut self, stream: ClientId, update: &MasterArbitrationUpdate,
    ) -> Result<Vec<ClientMessage>, Status> {
        let role = update.role.as_ref().map_or("", |role| &role.name).to_owned();
        let config = update.role.as_ref().and_then(|role| role.config.clone());
        let election_id = self.check_update(stream, &role, update)?;
        let scope = self.check_config(&role, config.as_ref())?;
        self.make_way(stream, election_id)?;
        self.make_room(&role);
        let was_primary = self.primary_of(&role) == Some(stream);
        self.clients.insert(stream, Client { role: role.clone(), election_id });
        let state = self.roles.entry(role.clone()).or_default();
        let wins = election_id.is_some() && election_id >= state.highest;
        if wins {
            *state = RoleState { highest: election_id, config, scope };
        }
        Ok(if wins || was_primary { self.notices(&role) } else { vec![self.notice(&role, stream)] })
    }

    /// A client that gave way to another one since the last call: its stream has to end.
    pub fn gone(&mut self) -> Option<ClientId> {
        self.gone.take()
    }

    /// Takes their roles from all primaries and forgets all election ids: the streams that have to end, and
    /// the messages to the other clients.
    pub fn depose(&mut self) -> (Vec<ClientId>, Vec<ClientMessage>) {
        let primaries: Vec<ClientId> = self.primaries().map(|(primary, _)| primary).collect();
        for primary in &primaries {
            self.remove(*primary);
        }
        self.clients.values_mut().for_each(|client| client.election_id = None);
        self.roles.values_mut().for_each(|state| state.highest = None);
        (primaries, self.roles.keys().flat_map(|role| self.notices(role)).collect())
    }

    pub fn closed(&mut self, stream: ClientId) -> Vec<ClientMessage> {
        let was_primary = self.scope_of(stream).is_some();
        match self.remove(stream) {
            Some(client) if was_primary => self.notices(&client.role),
            _ => Vec::new(),
        }
    }

    fn check_update(
        &self, stream: ClientId, role: &str, update: &MasterArbitrationUpdate,
    ) -> Result<Option<u128>, Status> {
        let known = self.clients.get(&stream);
        let mismatch = if known.is_some() { Code::FailedPrecondition } else { Code::NotFound };
        if update.device_id != self.device_id {
            return Err(Status::new(mismatch, wrong_device(update.device_id, self.device_id)));
        }
        check_name(role)?;
        if let Some(known) = known.filter(|known| known.role != role) {
            let message = format!("role {role:?}: this stream has role {:?}, open another", known.role);
            return Err(Status::new(Code::FailedPrecondition, message));
        }
        #[allow(deprecated)]
        if update.role.as_ref().is_some_and(|role| role.id != 0 && role.name.is_empty()) {
            return Err(Status::new(mismatch, "role.id: numbers are deprecated, give the role a name"));
        }
        let election_id = update.election_id.as_ref().map(number);
        let taken = |(other, client): (&ClientId, &Client)| {
            *other != stream && client.role == role && client.election_id == election_id
        };
        match election_id.filter(|_| self.clients.iter().any(taken)) {
            Some(id) => Err(Status::invalid(format!("election id {id} is already used by another client"))),
            None => Ok(election_id),
        }
    }

    /// The scope that a role's configuration gives, which must not have what another role has alone.
    fn check_config(&self, role: &str, config: Option<&prost_types::Any>) -> Result<Scope, Status> {
        refuse_if!(role.is_empty() && config.is_some(), "role.config: the default role has none");
        let scope = Scope::of(config)?;
        let mut others = self.roles.iter().filter(|(name, _)| *name != role);
        match others.find_map(|(name, state)| Some((name, scope.conflict(&state.scope)?))) {
            Some((name, id)) => {
                Err(Status::invalid(format!("role.config: exclusive id {id} is one of role {name:?}, too")))
            }
            None => Ok(scope),
        }
    }

    /// When there are too many clients, the one with the lowest election id gives way to a higher one, a
    /// backup before a primary. So backups and strangers without an id keep no controller out.
    fn make_way(&mut self, newcomer: ClientId, election_id: Option<u128>) -> Result<(), Status> {
        if self.clients.len() < CLIENT_LIMIT || self.clients.contains_key(&newcomer) {
            return Ok(());
        }
        let primaries: BTreeSet<ClientId> = self.primaries().map(|(primary, _)| primary).collect();
        let rank = |(stream, client): &(&ClientId, &Client)| (primaries.contains(stream), client.election_id);
        let lowest = self.clients.iter().min_by_key(rank);
        let lowest = lowest.filter(|(_, client)| client.election_id < election_id).map(|(stream, _)| *stream);
        // A primary gives way only where all clients are primaries: nobody else of its role is told.
        self.remove(lowest.ok_or_else(too_many)?);
        self.gone = lowest;
        Ok(())
    }

    /// Forgets a role without clients, with its election id, where another one would be too many. There is
    /// such a role: there may be as many roles as clients.
    fn make_room(&mut self, role: &str) {
        if self.roles.contains_key(role) || self.roles.len() <= ROLE_LIMIT {
            return;
        }
        let unused = self.roles.iter().filter(|(name, _)| !name.is_empty() && !self.has_clients(name));
        if let Some(name) = unused.min_by_key(|(_, state)| state.highest).map(|(name, _)| name.clone()) {
            self.roles.remove(&name);
        }
    }

    /// Removes a client. The last one of a role takes the configuration along; the election id stays.
    fn remove(&mut self, stream: ClientId) -> Option<Client> {
        let client = self.clients.remove(&stream)?;
        if !self.has_clients(&client.role) {
            if let Some(state) = self.roles.get_mut(&client.role) {
                *state = RoleState { highest: state.highest, ..RoleState::default() };
            }
        }
        Some(client)
    }

    fn has_clients(&self, role: &str) -> bool {
        self.clients.values().any(|client| client.role == role)
    }

    /// The messages to all clients of a role when its primary changes; that to the new primary last.
    fn notices(&self, role: &str) -> Vec<ClientMessage> {
        let primary = self.primary_of(role);
        let clients = self.clients.iter().filter(|(_, client)| client.role == role);
        let backups = clients.map(|(stream, _)| *stream).filter(|stream| Some(*stream) != primary);
        backups.chain(primary).map(|stream| self.notice(role, stream)).collect()
    }

    fn notice(&self, role: &str, stream: ClientId) -> ClientMessage {
        let (code, message) = match self.primary_of(role) {
            Some(primary) if primary == stream => (Code::Ok, "you are primary"),
            Some(_) => (Code::AlreadyExists, "another client is primary"),
            None => (Code::NotFound, "there is no primary"),
        };
        let state = self.roles.get(role);
        let config = state.and_then(|state| state.config.clone());
        let named = || Role { name: role.into(), config, ..Role::default() };
        let update = MasterArbitrationUpdate {
            device_id: self.device_id,
            role: (!role.is_empty()).then(named),
            election_id: state.and_then(|state| state.highest).map(uint128),
            status: Some(rpc::Status { code: code as i32, message: message.into(), details: Vec::new() }),
        };
        (stream, StreamMessageResponse { update: Some(Update::Arbitration(update)) })
    }
}

/// Refuses a name that is too long, without repeating it.
fn check_name(role: &str) -> Result<(), Status> {
    if role.len() <= NAME_LIMIT {
        return Ok(());
    }
    Err(Status::invalid(format!("role: its name has {} bytes, more than {NAME_LIMIT}", role.len())))
}

/// The error of a client for which there is no room.
pub fn too_many() -> Status {
    Status::exhausted(format!("more than {CLIENT_LIMIT} clients: those with the highest election ids stay"))
}

pub fn wrong_device(got: u64, ours: u64) -> String {
    format!("no device {got} here, only device {ours}")
}

fn number(id: &Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn uint128(number: u128) -> Uint128 {
    Uint128 { high: (number >> 64) as u64, low: number as u64 }
}

#[cfg(test)]
#[path = "tests/arbitration.rs"]
mod tests;
