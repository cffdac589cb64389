//! The right to write: the primary is the client whose election id equals the highest ever seen.
//!
//! P4Runtime specification, sections "Rules for Handling MasterArbitrationUpdate" and "Client
//! Arbitration Notifications".

use std::collections::BTreeMap;

use super::roles::Scope;
use super::status::{Code, Status};
use crate::proto::google::rpc;
use crate::proto::p4::v1::{
    stream_message_response::Update, MasterArbitrationUpdate, Role, StreamMessageResponse, Uint128,
};

/// The most clients at once.
pub const CLIENT_LIMIT: usize = 64;

/// A client, which has one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// A message for a client.
pub type ClientMessage = (ClientId, StreamMessageResponse);

/// The most named roles that are remembered.
const ROLE_LIMIT: usize = 64;

/// The clients of a device and which of them are primary, one a role. The default role has no name.
#[derive(Debug)]
pub struct Arbitration {
    device_id: u64,
    clients: BTreeMap<ClientId, Client>,
    roles: BTreeMap<String, RoleState>,
}

#[derive(Debug)]
struct Client {
    role: String,
    election_id: Option<u128>,
}

/// A role since its first client.
#[derive(Debug, Default)]
struct RoleState {
    highest: Option<u128>,
    /// The role's configuration as its last primary gave it.
    config: Option<prost_types::Any>,
    scope: Scope,
}

impl Arbitration {
    /// A device without clients.
    pub fn new(device_id: u64) -> Arbitration {
        let roles = BTreeMap::from([(String::new(), RoleState::default())]);
        Arbitration { device_id, clients: BTreeMap::new(), roles }
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

    /// The scope of a role.
    pub fn scope(&self, role: &str) -> Result<&Scope, Status> {
        let unknown = || Status::new(Code::NotFound, format!("role {role:?}: no client has this role"));
        self.roles.get(role).map(|state| &state.scope).ok_or_else(unknown)
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
        Err(Status::new(Code::PermissionDenied, message))
    }

    /// A client's arbitration update: the messages to clients, or the reason why the stream ends.
    pub fn update(
        &mut self, stream: ClientId, update: &MasterArbitrationUpdate,
    ) -> Result<Vec<ClientMessage>, Status> {
        let role = update.role.as_ref().map_or("", |role| &role.name).to_owned();
        let config = update.role.as_ref().and_then(|role| role.config.clone());
        let election_id = self.check_update(stream, &role, update)?;
        let scope = self.check_config(&role, config.as_ref())?;
        let was_primary = self.primary_of(&role) == Some(stream);
        self.clients.insert(stream, Client { role: role.clone(), election_id });
        let state = self.roles.entry(role.clone()).or_default();
        if election_id.is_some() && election_id >= state.highest {
            *state = RoleState { highest: election_id, config, scope };
            return Ok(self.notices(&role));
        }
        if was_primary {
            return Ok(self.notices(&role));
        }
        Ok(vec![self.notice(&role, stream)])
    }

    /// A client's stream has ended: the messages to the others.
    pub fn closed(&mut self, stream: ClientId) -> Vec<ClientMessage> {
        let was_primary = self.scope_of(stream).is_some();
        match self.clients.remove(&stream) {
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
        if election_id.is_some() && self.clients.iter().any(taken) {
            let id = election_id.unwrap_or_default();
            let message = format!("election id {id} is already used by another client");
            return Err(Status::new(Code::InvalidArgument, message));
        }
        if known.is_none() && self.clients.len() >= CLIENT_LIMIT {
            return Err(Status::new(Code::ResourceExhausted, format!("more than {CLIENT_LIMIT} clients")));
        }
        if !self.roles.contains_key(role) && self.roles.len() > ROLE_LIMIT {
            return Err(Status::new(Code::ResourceExhausted, format!("more than {ROLE_LIMIT} roles")));
        }
        Ok(election_id)
    }

    /// The scope that a role's configuration gives, which must not have what another role has alone.
    fn check_config(&self, role: &str, config: Option<&prost_types::Any>) -> Result<Scope, Status> {
        if role.is_empty() && config.is_some() {
            return Err(Status::new(Code::InvalidArgument, "role.config: the default role has none"));
        }
        let scope = Scope::of(config)?;
        let others = self.roles.iter().filter(|(name, _)| *name != role);
        let conflict =
            others.into_iter().find_map(|(name, state)| Some((name, scope.conflict(&state.scope)?)));
        match conflict {
            Some((name, id)) => {
                let message = format!("role.config: exclusive id {id} is one of role {name:?}, too");
                Err(Status::new(Code::InvalidArgument, message))
            }
            None => Ok(scope),
        }
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
        let named = || Role {
            name: role.into(),
            config: state.and_then(|state| state.config.clone()),
            ..Role::default()
        };
        let update = MasterArbitrationUpdate {
            device_id: self.device_id,
            role: (!role.is_empty()).then(named),
            election_id: state.and_then(|state| state.highest).map(uint128),
            status: Some(rpc::Status { code: code as i32, message: message.into(), details: Vec::new() }),
        };
        (stream, StreamMessageResponse { update: Some(Update::Arbitration(update)) })
    }
}

/// The refusal of another device's id.
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
mod tests {
    use super::*;

    const DEVICE: u64 = 3;

    fn update(id: Option<u128>) -> MasterArbitrationUpdate {
        MasterArbitrationUpdate { device_id: DEVICE, election_id: id.map(uint128), ..Default::default() }
    }

    /// Stream, code and election id of each notice.
    fn told(notices: Vec<ClientMessage>) -> Vec<(u64, i32, Option<u128>)> {
        notices
            .into_iter()
            .map(|(stream, response)| match response.update {
                Some(Update::Arbitration(update)) => {
                    (stream.0, update.status.map_or(-1, |s| s.code), update.election_id.as_ref().map(number))
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn ok(arbitration: &mut Arbitration, stream: u64, id: Option<u128>) -> Vec<(u64, i32, Option<u128>)> {
        told(arbitration.update(ClientId(stream), &update(id)).expect("accepted"))
    }

    #[test]
    fn the_highest_id_ever_seen_is_primary() {
        let mut arbitration = Arbitration::new(DEVICE);
        assert_eq!(ok(&mut arbitration, 1, Some(10)), [(1, 0, Some(10))]);
        assert_eq!(ok(&mut arbitration, 2, Some(5)), [(2, 6, Some(10))]);
        assert_eq!(ok(&mut arbitration, 3, Some(11)), [(1, 6, Some(11)), (2, 6, Some(11)), (3, 0, Some(11))]);
        assert!(arbitration.check("", Some(&uint128(11))).is_ok());
        assert!(arbitration.check("", Some(&uint128(10))).is_err());
        assert!(arbitration.check("", None).is_err());
    }

    #[test]
    fn nobody_is_promoted_when_the_primary_leaves() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        ok(&mut arbitration, 2, Some(9));
        assert_eq!(told(arbitration.closed(ClientId(1))), [(2, 5, Some(10))]);
        assert_eq!(arbitration.primary(), None);
        assert!(arbitration.check("", Some(&uint128(10))).is_err(), "its stream is gone");
        let refusal = arbitration.check("", Some(&uint128(9))).expect_err("backup");
        assert_eq!(refusal.message, "not primary: election id 9, at least 10 is needed");
        // An id at least as high takes over; a lower one does not.
        assert_eq!(ok(&mut arbitration, 3, Some(8)), [(3, 5, Some(10))]);
        assert_eq!(ok(&mut arbitration, 4, Some(10)), [(2, 6, Some(10)), (3, 6, Some(10)), (4, 0, Some(10))]);
    }

    #[test]
    fn a_primary_can_downgrade_itself_and_a_backup_can_rise() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        ok(&mut arbitration, 2, Some(9));
        assert_eq!(ok(&mut arbitration, 1, Some(3)), [(1, 5, Some(10)), (2, 5, Some(10))]);
        assert_eq!(ok(&mut arbitration, 2, Some(12)), [(1, 6, Some(12)), (2, 0, Some(12))]);
    }

    #[test]
    fn zero_is_an_id_and_unset_never_wins() {
        let mut arbitration = Arbitration::new(DEVICE);
        assert_eq!(ok(&mut arbitration, 1, None), [(1, 5, None)]);
        assert_eq!(ok(&mut arbitration, 2, None), [(2, 5, None)], "unset ids may be shared");
        assert_eq!(ok(&mut arbitration, 3, Some(0)), [(1, 6, Some(0)), (2, 6, Some(0)), (3, 0, Some(0))]);
        assert!(arbitration.check("", Some(&Uint128 { high: 0, low: 0 })).is_ok());
    }

    #[test]
    fn the_primary_may_repeat_its_update() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(7));
        assert_eq!(ok(&mut arbitration, 1, Some(7)), [(1, 0, Some(7))]);
    }

    fn with_role(name: &str, id: u128, config: Option<prost_types::Any>) -> MasterArbitrationUpdate {
        let role = Role { name: name.into(), config, ..Role::default() };
        MasterArbitrationUpdate { role: Some(role), ..update(Some(id)) }
    }

    /// `stratum.P4RoleConfig` with these exclusive ids.
    fn exclusive(ids: &[u8]) -> Option<prost_types::Any> {
        let value = ids.iter().flat_map(|id| [8, *id]).collect();
        Some(prost_types::Any { type_url: "type.googleapis.com/stratum.P4RoleConfig".into(), value })
    }

    #[test]
    fn bad_updates_end_the_stream() {
        let other_device = MasterArbitrationUpdate { device_id: 9, ..update(Some(50)) };
        #[allow(deprecated)]
        let numbered = Some(Role { id: 4, ..Role::default() });
        let numbered = MasterArbitrationUpdate { role: numbered, ..update(Some(50)) };
        let unknown = Some(prost_types::Any { type_url: "x/y.Config".into(), value: Vec::new() });
        let cases = [
            (2, other_device.clone(), Code::NotFound, "no device 9 here, only device 3"),
            (1, other_device, Code::FailedPrecondition, "no device 9 here, only device 3"),
            (
                1,
                with_role("routing", 50, None),
                Code::FailedPrecondition,
                "role \"routing\": this stream has role \"\", open another",
            ),
            (2, numbered, Code::NotFound, "role.id: numbers are deprecated, give the role a name"),
            (
                2,
                with_role("", 50, exclusive(&[])),
                Code::InvalidArgument,
                "role.config: the default role has none",
            ),
            (
                2,
                with_role("routing", 50, unknown),
                Code::InvalidArgument,
                "role.config: \"x/y.Config\" is not stratum.P4RoleConfig",
            ),
            (2, update(Some(10)), Code::InvalidArgument, "election id 10 is already used by another client"),
        ];
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        for (stream, update, code, message) in cases {
            let status = arbitration.update(ClientId(stream), &update).expect_err(message);
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[test]
    fn each_role_has_a_primary_and_a_configuration() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        let mut join = |stream, name, id, config| {
            arbitration.update(ClientId(stream), &with_role(name, id, config)).map(|notices| {
                let Some(Update::Arbitration(update)) = notices[0].1.update.clone() else { panic!() };
                assert_eq!(update.role.as_ref().map(|role| role.name.as_str()), Some(name));
                (told(notices), update.role.and_then(|role| role.config))
            })
        };
        let acl = exclusive(&[5, 6]);
        assert_eq!(join(2, "acl", 10, acl.clone()), Ok((vec![(2, 0, Some(10))], acl.clone())));
        let told = vec![(3, 6, Some(10))];
        assert_eq!(join(3, "acl", 4, None), Ok((told, acl)), "a backup gets the primary's configuration");
        let taken = join(4, "routing", 1, exclusive(&[7, 6])).expect_err("6 is not free");
        assert_eq!(taken.message, "role.config: exclusive id 6 is one of role \"acl\", too");
        assert_eq!(arbitration.primary(), Some(ClientId(1)));
        assert_eq!(arbitration.primaries().count(), 2);
        let scope = arbitration.check("acl", Some(&uint128(10))).expect("primary");
        assert!(scope.has(Some(6)) && !scope.has(Some(7)) && !scope.sets_pipeline());
        assert_eq!(arbitration.scope("routing").expect_err("unknown").code, Code::NotFound);
        assert_eq!(super::tests::told(arbitration.closed(ClientId(2))), [(3, 5, Some(10))]);
    }

    #[test]
    fn the_number_of_clients_is_bounded() {
        let mut arbitration = Arbitration::new(DEVICE);
        (0..CLIENT_LIMIT as u64).for_each(|n| drop(ok(&mut arbitration, n, None)));
        let status = arbitration.update(ClientId(1000), &update(None)).expect_err("full");
        assert_eq!(status.code, Code::ResourceExhausted);
        arbitration.closed(ClientId(0));
        ok(&mut arbitration, 1000, None);
    }
}
