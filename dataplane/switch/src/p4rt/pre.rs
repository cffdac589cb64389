//! Multicast groups and clone sessions.
//!
//! P4Runtime specification, section "PacketReplicationEngineEntry".

use groupflow_pipeline::Port;

use super::bytestring::{decode, encode};
use super::state::ControlState;
use super::status::{Code, Status};
use super::table::METADATA_LIMIT;
use super::update::{Found, Setting, UpdateKind};
use crate::core::{CloneSession, Forwarding, Replica, ReplicationEngine, ReplicationError, MAX_PORT};
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::packet_replication_engine_entry::Type;
use crate::proto::p4::v1::replica::PortKind;
use crate::proto::p4::v1::{self, CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry};

const BACKUP_LIMIT: usize = 16;

pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind,
    entry: &PacketReplicationEngineEntry, setting: Setting,
) -> Result<(), Status> {
    match &entry.r#type {
        Some(Type::MulticastGroupEntry(group)) => {
            let context = format!("multicast group {}", group.multicast_group_id);
            write_group(state, forwarding, kind, group).map_err(|e| e.within(&context))
        }
        Some(Type::CloneSessionEntry(session)) => {
            let context = format!("clone session {}", session.session_id);
            write_session(state, forwarding, kind, session, setting.priorities)
                .map_err(|e| e.within(&context))
        }
        None => Err(Status::invalid("packet_replication_engine_entry: neither a group nor a clone session")),
    }
}

pub fn read(
    state: &ControlState, filter: &PacketReplicationEngineEntry, found: &mut Found<'_>,
) -> Result<(), Status> {
    match &filter.r#type {
        Some(Type::MulticastGroupEntry(wanted)) => {
            let id = wanted.multicast_group_id;
            let groups = state.groups.values().filter(|group| id == 0 || group.multicast_group_id == id);
            groups.for_each(|group| found(entity(Type::MulticastGroupEntry(group.clone()))));
            Ok(())
        }
        Some(Type::CloneSessionEntry(wanted)) => {
            let id = wanted.session_id;
            let sessions = state.sessions.values().filter(|session| id == 0 || session.session_id == id);
            sessions.for_each(|session| found(entity(Type::CloneSessionEntry(session.clone()))));
            Ok(())
        }
        None => Err(Status::invalid("packet_replication_engine_entry: neither a group nor a clone session")),
    }
}

fn entity(kind: Type) -> Kinds {
    PacketReplicationEngineEntry { r#type: Some(kind) }.into()
}

fn write_group(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, group: &MulticastGroupEntry,
) -> Result<(), Status> {
    // 0 is "no multicast" in the data plane, and "all" when reading.
    let id = u16::try_from(group.multicast_group_id).ok().filter(|id| *id != 0);
    let id = id.ok_or_else(|| Status::invalid("multicast_group_id: it is not between 1 and 65535"))?;
    kind.check(state.groups.contains_key(&id))?;
    if kind == UpdateKind::Delete {
        forwarding.replication.remove_group(id);
        state.groups.remove(&id);
        return Ok(());
    }
    let long = group.metadata.len() > METADATA_LIMIT;
    refuse_if!(long, "metadata: it is longer than {METADATA_LIMIT} bytes");
    let (replicas, mut written) = replicas(&group.replicas)?;
    let choices = written.iter_mut().zip(&replicas).enumerate().map(|(n, (written, preferred))| {
        choice(written, *preferred).map_err(|refusal| refusal.within(&format!("replica {}", n + 1)))
    });
    let choices: Vec<Vec<Replica>> = choices.collect::<Result<_, _>>()?;
    ReplicationEngine::check_unique(&choices.concat()).map_err(refusal)?;
    let engine = &mut forwarding.replication;
    engine.set_group(id, replicas).map_err(refusal)?;
    if choices.iter().any(|choice| choice.len() > 1) {
        engine.back_up(id, choices);
    }
    state.groups.insert(id, MulticastGroupEntry { replicas: written, ..group.clone() });
    Ok(())
}

fn write_session(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, session: &CloneSessionEntry,
    priorities: u8,
) -> Result<(), Status> {
    let id = session.session_id;
    refuse_if!(id == 0, "session_id: it is zero");
    kind.check(state.sessions.contains_key(&id))?;
    if kind == UpdateKind::Delete {
        forwarding.replication.remove_session(id);
        state.sessions.remove(&id);
        return Ok(());
    }
    let priority = u8::try_from(session.class_of_service).ok().filter(|priority| *priority < priorities);
    let priority = priority.ok_or_else(|| {
        let (class, highest) = (session.class_of_service, priorities - 1);
        Status::invalid(format!("class_of_service: {class} is above the highest priority, {highest}"))
    })?;
    let length = usize::try_from(session.packet_length_bytes);
    let length = length.map_err(|_| Status::invalid("packet_length_bytes: it is negative"))?;
    let backed = session.replicas.iter().any(|replica| !replica.backup_replicas.is_empty());
    refuse_if!(backed, Status::unimplemented, "backup_replicas: only multicast groups have them");
    let (replicas, written) = replicas(&session.replicas)?;
    let value = CloneSession { replicas, priority, truncate: (length > 0).then_some(length) };
    forwarding.replication.set_session(id, value).map_err(refusal)?;
    state.sessions.insert(id, CloneSessionEntry { replicas: written, ..session.clone() });
    Ok(())
}

/// The replicas for the engine, and as they are read back: in the form written, ports canonical.
fn replicas(given: &[v1::Replica]) -> Result<(Vec<Replica>, Vec<v1::Replica>), Status> {
    let decoded = given.iter().enumerate().map(|(n, replica)| {
        decode_replica(replica).map_err(|refusal| refusal.within(&format!("replica {}", n + 1)))
    });
    let pairs: Vec<(Replica, v1::Replica)> = decoded.collect::<Result<_, _>>()?;
    Ok(pairs.into_iter().unzip())
}

/// The replicas that may make a copy, the preferred first.
fn choice(written: &mut v1::Replica, preferred: Replica) -> Result<Vec<Replica>, Status> {
    let mut choice = vec![preferred];
    for backup in &mut written.backup_replicas {
        let number = decode(&backup.port, 32).map_err(|refusal| refusal.within("backup_replicas: port"))?;
        let replica = Replica { port: port("port", number)?, instance: instance(backup.instance)? };
        let twice = choice.iter().any(|other| other.port == replica.port);
        refuse_if!(twice, "backup_replicas: {} is there twice", replica.port);
        choice.push(replica);
        backup.port = encode(number);
    }
    let many = choice.len() > BACKUP_LIMIT;
    refuse_if!(many, Status::exhausted, "backup_replicas: more than {BACKUP_LIMIT} ports for one copy");
    Ok(choice)
}

fn instance(number: u32) -> Result<u16, Status> {
    u16::try_from(number).map_err(|_| Status::invalid("instance: it is above 65535"))
}

/// The port with a number, which the field `what` holds.
pub fn port(what: &str, number: u128) -> Result<Port, Status> {
    let port = u16::try_from(number).ok().filter(|port| *port <= MAX_PORT);
    port.map(Port).ok_or_else(|| Status::invalid(format!("{what}: {number} is above {MAX_PORT}")))
}

fn decode_replica(given: &v1::Replica) -> Result<(Replica, v1::Replica), Status> {
    #[allow(deprecated)]
    let (number, kind) = match &given.port_kind {
        Some(PortKind::Port(bytes)) => {
            let number = decode(bytes, 32).map_err(|refusal| refusal.within("port"))?;
            (number, PortKind::Port(encode(number)))
        }
        Some(PortKind::EgressPort(number)) => (u128::from(*number), PortKind::EgressPort(*number)),
        None => return Err(Status::invalid("port: it is missing")),
    };
    let written = v1::Replica { port_kind: Some(kind), ..given.clone() };
    Ok((Replica { port: port("port", number)?, instance: instance(given.instance)? }, written))
}

fn refusal(error: ReplicationError) -> Status {
    let is_full = error == ReplicationError::Full;
    let code = if is_full { Code::ResourceExhausted } else { Code::InvalidArgument };
    Status::new(code, error.to_string())
}
