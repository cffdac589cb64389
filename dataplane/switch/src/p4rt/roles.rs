//! The scope of a named role: the entities that it may write, and the packets that it gets.
//!
//! P4Runtime specification, section "Role Config", leaves the form of `role.config` open. This is the one of
//! Stratum, `stratum.P4RoleConfig`, which lists ids of P4Info.

use std::sync::Arc;

use prost::Message;

use super::bytestring::decode;
use super::status::Status;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::{Entity, PacketIn};

const CONFIG: &str = "stratum.P4RoleConfig";
/// The largest configuration of a role, in bytes.
const CONFIG_LIMIT: usize = 64 << 10;

/// `stratum.P4RoleConfig`; the ids are sorted once they are read.
#[derive(Clone, PartialEq, Message)]
struct P4RoleConfig {
    #[prost(uint32, repeated, tag = "1")]
    exclusive_p4_ids: Vec<u32>,
    #[prost(uint32, repeated, tag = "2")]
    shared_p4_ids: Vec<u32>,
    #[prost(message, optional, tag = "3")]
    packet_in_filter: Option<PacketFilter>,
    #[prost(bool, tag = "4")]
    receives_packet_ins: bool,
    #[prost(bool, tag = "5")]
    can_push_pipeline: bool,
}

#[derive(Clone, PartialEq, Message)]
struct PacketFilter {
    #[prost(uint32, tag = "1")]
    metadata_id: u32,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// The scope of a role; everything, without a configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope(Option<Arc<P4RoleConfig>>);

impl Scope {
    pub fn of(config: Option<&prost_types::Any>) -> Result<Scope, Status> {
        let Some(config) = config else { return Ok(Scope::default()) };
        let wrong = |what: String| Status::invalid(format!("role.config: {what}"));
        if config.type_url.len() + config.value.len() > CONFIG_LIMIT {
            return Err(wrong(format!("it has more than {CONFIG_LIMIT} bytes")));
        }
        if config.type_url.rsplit('/').next() != Some(CONFIG) {
            let found: String = config.type_url.chars().take(200).collect();
            return Err(wrong(format!("{found:?} is not {CONFIG}")));
        }
        let mut config = P4RoleConfig::decode(&*config.value).map_err(|error| wrong(error.to_string()))?;
        match &config.packet_in_filter {
            Some(_) if !config.receives_packet_ins => {
                return Err(wrong("packet_in_filter: receives_packet_ins is not set".into()));
            }
            Some(filter) if filter.metadata_id == 0 || filter.value.is_empty() => {
                return Err(wrong("packet_in_filter: metadata_id or value is missing".into()));
            }
            _ => {}
        }
        config.exclusive_p4_ids.sort_unstable();
        config.shared_p4_ids.sort_unstable();
        Ok(Scope(Some(Arc::new(config))))
    }

    /// An id that both have and one claims for itself alone.
    pub fn conflict(&self, other: &Scope) -> Option<u32> {
        let (Some(one), Some(other)) = (&self.0, &other.0) else { return None };
        let claimed = one.exclusive_p4_ids.iter().find(|id| other.lists(**id));
        claimed.or_else(|| other.exclusive_p4_ids.iter().find(|id| one.lists(**id))).copied()
    }

    pub fn sets_pipeline(&self) -> bool {
        self.0.as_ref().map_or(true, |config| config.can_push_pipeline)
    }

    /// Whether the role has the object of an id. Objects without an id, such as multicast groups, belong to
    /// all roles.
    pub fn has(&self, id: Option<u32>) -> bool {
        let (Some(config), Some(id)) = (&self.0, id) else { return true };
        config.lists(id)
    }

    pub fn has_entity(&self, entity: &Kinds) -> bool {
        self.has(p4_id(entity))
    }

    pub fn check(&self, entity: Option<&Entity>) -> Result<(), Status> {
        self.check_id(entity.and_then(|entity| p4_id(entity.entity.as_ref()?)))
    }

    pub fn check_id(&self, id: Option<u32>) -> Result<(), Status> {
        if self.has(id) {
            return Ok(());
        }
        Err(Status::denied(format!("object {} is not in this role's configuration", id.unwrap_or_default())))
    }

    pub fn gets(&self, packet: &PacketIn) -> bool {
        let Some(config) = &self.0 else { return true };
        let passes = config.packet_in_filter.as_ref().map_or(true, |filter| {
            let number = |bytes: &[u8]| decode(bytes, 128).ok();
            let equal = |value: &[u8]| value == filter.value || number(value) == number(&filter.value);
            packet.metadata.iter().any(|field| field.metadata_id == filter.metadata_id && equal(&field.value))
        });
        config.receives_packet_ins && passes
    }
}

impl P4RoleConfig {
    fn lists(&self, id: u32) -> bool {
        [&self.exclusive_p4_ids, &self.shared_p4_ids].iter().any(|ids| ids.binary_search(&id).is_ok())
    }
}

/// P4Info's id of the object that an entity belongs to.
fn p4_id(entity: &Kinds) -> Option<u32> {
    let entry = |entry: &Option<crate::proto::p4::v1::TableEntry>| entry.as_ref().map_or(0, |e| e.table_id);
    Some(match entity {
        Kinds::TableEntry(entry) => entry.table_id,
        Kinds::RegisterEntry(entry) => entry.register_id,
        Kinds::CounterEntry(entry) => entry.counter_id,
        Kinds::MeterEntry(entry) => entry.meter_id,
        Kinds::DirectCounterEntry(direct) => entry(&direct.table_entry),
        Kinds::DirectMeterEntry(direct) => entry(&direct.table_entry),
        Kinds::DigestEntry(entry) => entry.digest_id,
        Kinds::ActionProfileMember(member) => member.action_profile_id,
        Kinds::ActionProfileGroup(group) => group.action_profile_id,
        Kinds::ValueSetEntry(entry) => entry.value_set_id,
        Kinds::PacketReplicationEngineEntry(_) | Kinds::ExternEntry(_) => return None,
    })
}

#[cfg(test)]
#[path = "tests/roles.rs"]
mod tests;
