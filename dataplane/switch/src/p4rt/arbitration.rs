//! The right to write: the primary is the client whose election id equals the highest ever seen.
//!
//! P4Runtime specification, sections "Rules for Handling MasterArbitrationUpdate" and "Client
//! Arbitration Notifications". There is one role, the default one.

use std::collections::BTreeMap;

use super::status::{Code, Status};
use crate::proto::google::rpc;
use crate::proto::p4::v1::{
    stream_message_response::Update, MasterArbitrationUpdate, StreamMessageResponse, Uint128,
};

/// The most clients at once.
pub const CLIENT_LIMIT: usize = 64;

/// A client, which has one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// A message for a client.
pub type ClientMessage = (ClientId, StreamMessageResponse);

/// The clients of a device and which of them is primary.
#[derive(Debug)]
pub struct Arbitration {
    device_id: u64,
    highest: Option<u128>,
    clients: BTreeMap<ClientId, Option<u128>>,
}

impl Arbitration {
    /// A device without clients.
    pub fn new(device_id: u64) -> Arbitration {
        Arbitration { device_id, highest: None, clients: BTreeMap::new() }
    }

    /// The stream of the primary.
    pub fn primary(&self) -> Option<ClientId> {
        let highest = self.highest?;
        self.clients.iter().find(|(_, id)| **id == Some(highest)).map(|(stream, _)| *stream)
    }

    /// Whether this election id is the primary's.
    pub fn is_primary(&self, election_id: Option<&Uint128>) -> bool {
        let id = election_id.map(number);
        id.is_some() && id == self.highest && self.primary().is_some()
    }

    /// Refuses a client that is not primary. The error names the primary's election id.
    pub fn check(&self, election_id: Option<&Uint128>) -> Result<(), Status> {
        if self.is_primary(election_id) {
            return Ok(());
        }
        let own = election_id.map_or("none".into(), |id| number(id).to_string());
        let message = match (self.primary(), self.highest) {
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
        let election_id = self.check_update(stream, update)?;
        let former_primary = self.primary();
        let known = self.clients.insert(stream, election_id).is_some();
        if election_id.is_some() && election_id >= self.highest {
            self.highest = election_id;
            return Ok(self.notices());
        }
        if known && former_primary == Some(stream) {
            return Ok(self.notices());
        }
        Ok(vec![self.notice(stream)])
    }

    /// A client's stream has ended: the messages to the others.
    pub fn closed(&mut self, stream: ClientId) -> Vec<ClientMessage> {
        let was_primary = self.primary() == Some(stream);
        self.clients.remove(&stream);
        if was_primary {
            self.notices()
        } else {
            Vec::new()
        }
    }

    fn check_update(
        &self, stream: ClientId, update: &MasterArbitrationUpdate,
    ) -> Result<Option<u128>, Status> {
        let known = self.clients.contains_key(&stream);
        if update.device_id != self.device_id {
            let code = if known { Code::FailedPrecondition } else { Code::NotFound };
            return Err(Status::new(code, wrong_device(update.device_id, self.device_id)));
        }
        if let Some(role) = &update.role {
            #[allow(deprecated)]
            if !role.name.is_empty() || role.id != 0 {
                let code = if known { Code::FailedPrecondition } else { Code::NotFound };
                let message = format!("role {:?} is not offered, only the default role is", role.name);
                return Err(Status::new(code, message));
            }
            if role.config.is_some() {
                return Err(Status::new(Code::InvalidArgument, "role.config: the default role has none"));
            }
        }
        let election_id = update.election_id.as_ref().map(number);
        let taken = |(other, id): (&ClientId, &Option<u128>)| *other != stream && *id == election_id;
        if election_id.is_some() && self.clients.iter().any(taken) {
            let id = election_id.unwrap_or_default();
            let message = format!("election id {id} is already used by another client");
            return Err(Status::new(Code::InvalidArgument, message));
        }
        if !known && self.clients.len() >= CLIENT_LIMIT {
            return Err(Status::new(Code::ResourceExhausted, format!("more than {CLIENT_LIMIT} clients")));
        }
        Ok(election_id)
    }

    /// The messages to all clients when the primary changes; that to the new primary last.
    fn notices(&self) -> Vec<ClientMessage> {
        let primary = self.primary();
        let backups = self.clients.keys().filter(|stream| Some(**stream) != primary);
        backups.copied().chain(primary).map(|stream| self.notice(stream)).collect()
    }

    fn notice(&self, stream: ClientId) -> ClientMessage {
        let (code, message) = match self.primary() {
            Some(primary) if primary == stream => (Code::Ok, "you are primary"),
            Some(_) => (Code::AlreadyExists, "another client is primary"),
            None => (Code::NotFound, "there is no primary"),
        };
        let update = MasterArbitrationUpdate {
            device_id: self.device_id,
            role: None,
            election_id: self.highest.map(uint128),
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
        assert!(arbitration.is_primary(Some(&uint128(11))));
        assert!(!arbitration.is_primary(Some(&uint128(10))));
        assert!(!arbitration.is_primary(None));
    }

    #[test]
    fn nobody_is_promoted_when_the_primary_leaves() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        ok(&mut arbitration, 2, Some(9));
        assert_eq!(told(arbitration.closed(ClientId(1))), [(2, 5, Some(10))]);
        assert_eq!(arbitration.primary(), None);
        assert!(!arbitration.is_primary(Some(&uint128(10))), "its stream is gone");
        let refusal = arbitration.check(Some(&uint128(9))).expect_err("backup");
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
        assert!(arbitration.is_primary(Some(&Uint128 { high: 0, low: 0 })));
    }

    #[test]
    fn the_primary_may_repeat_its_update() {
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(7));
        assert_eq!(ok(&mut arbitration, 1, Some(7)), [(1, 0, Some(7))]);
    }

    #[test]
    fn bad_updates_end_the_stream() {
        use crate::proto::p4::v1::Role;
        let role = |name: &str| Some(Role { name: name.into(), ..Role::default() });
        let config = Some(Role { config: Some(prost_types::Any::default()), ..Role::default() });
        let other_device = MasterArbitrationUpdate { device_id: 9, ..update(Some(50)) };
        let with_role = MasterArbitrationUpdate { role: role("routing"), ..update(Some(50)) };
        let with_config = MasterArbitrationUpdate { role: config, ..update(Some(50)) };
        let cases = [
            (2, &other_device, Code::NotFound, "no device 9 here, only device 3"),
            (1, &other_device, Code::FailedPrecondition, "no device 9 here, only device 3"),
            (2, &with_role, Code::NotFound, "role \"routing\" is not offered, only the default role is"),
            (
                1,
                &with_role,
                Code::FailedPrecondition,
                "role \"routing\" is not offered, only the default role is",
            ),
            (2, &with_config, Code::InvalidArgument, "role.config: the default role has none"),
            (2, &update(Some(10)), Code::InvalidArgument, "election id 10 is already used by another client"),
        ];
        let mut arbitration = Arbitration::new(DEVICE);
        ok(&mut arbitration, 1, Some(10));
        for (stream, update, code, message) in cases {
            let status = arbitration.update(ClientId(stream), update).expect_err(message);
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
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
