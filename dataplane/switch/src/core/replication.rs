//! The packet replication engine: multicast groups and clone sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use groupflow_pipeline::Port;
use thiserror::Error;

pub const SESSION_LIMIT: usize = 32_768;
pub const REPLICA_LIMIT: usize = 4096;
/// The most clones that egress makes of one packet and of its clones. BMv2 has no bound.
pub const CLONE_LIMIT: u32 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    pub port: Port,
    /// The `egress_rid` of the copy in egress.
    pub instance: u16,
}

/// A clone session: the copies that a packet leaves, their queue and their length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    pub priority: u8,
    /// Bytes to keep of a copy; `None` keeps all.
    pub truncate: Option<usize>,
}

/// The way by which egress cloned a packet.
#[derive(Debug, Clone, Default)]
pub struct Lineage {
    generation: u16,
    /// The clones of all generations that egress made of the first packet; `None`: this is the first.
    clones: Option<Arc<AtomicU32>>,
}

impl Lineage {
    pub fn next(self) -> Lineage {
        Lineage { generation: self.generation + 1, clones: Some(self.clones.unwrap_or_default()) }
    }

    /// How many times egress cloned its way to the packet.
    pub fn generation(&self) -> u16 {
        self.generation
    }

    /// The number of clones, of those `wanted`, that may be made; they count at once.
    pub fn take(&self, wanted: usize) -> usize {
        let Some(clones) = &self.clones else { return wanted };
        let made = clones.load(Ordering::Relaxed);
        let allowed = wanted.min((CLONE_LIMIT - made) as usize);
        clones.store(made + allowed as u32, Ordering::Relaxed);
        allowed
    }
}

/// The reason why the engine refused an operation, which then changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReplicationError {
    #[error("the replication engine is full")]
    Full,
    #[error("more than {REPLICA_LIMIT} replicas")]
    TooManyReplicas,
    #[error("{0} with instance {1} is there twice")]
    Duplicate(Port, u16),
}

#[derive(Debug, Clone, Default)]
pub struct ReplicationEngine {
    /// The groups by id, up to the highest id that was ever used: each multicast packet needs a look-up.
    groups: Vec<Option<Arc<[Replica]>>>,
    sessions: HashMap<u32, CloneSession>,
    /// The groups with backups: for each copy, the replicas that may make it, the preferred first.
    backed: HashMap<u16, Vec<Vec<Replica>>>,
    down: Vec<Port>,
}

impl ReplicationEngine {
    pub fn group(&self, id: u16) -> Option<&Arc<[Replica]>> {
        self.groups.get(usize::from(id))?.as_ref()
    }

    pub fn set_group(&mut self, id: u16, replicas: Vec<Replica>) -> Result<(), ReplicationError> {
        check(&replicas)?;
        let place = usize::from(id);
        if self.groups.len() <= place {
            self.groups.resize(place + 1, None);
        }
        self.groups[place] = Some(replicas.into());
        self.backed.remove(&id);
        Ok(())
    }

    /// (port, instance) must be unique within a group, with its backups, and within a session.
    pub fn check_unique(replicas: &[Replica]) -> Result<(), ReplicationError> {
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
        twice.map_or(Ok(()), |pair| Err(ReplicationError::Duplicate(pair[0].port, pair[0].instance)))
    }

    /// Gives each copy of a group the replicas that may make it, the preferred first: the first whose port is
    /// up does, or else the preferred one.
    pub fn back_up(&mut self, id: u16, choices: Vec<Vec<Replica>>) {
        self.choose(id, &choices);
        self.backed.insert(id, choices);
    }

    pub fn port_is(&mut self, port: Port, up: bool) {
        self.down.retain(|other| *other != port);
        self.down.extend((!up).then_some(port));
        let backed = std::mem::take(&mut self.backed);
        backed.iter().for_each(|(id, choices)| self.choose(*id, choices));
        self.backed = backed;
    }

    fn choose(&mut self, id: u16, choices: &[Vec<Replica>]) {
        let up = |replica: &&Replica| !self.down.contains(&replica.port);
        let chosen = choices.iter().filter_map(|choice| choice.iter().find(up).or(choice.first()));
        let chosen: Arc<[Replica]> = chosen.copied().collect();
        if let Some(Some(group)) = self.groups.get_mut(usize::from(id)) {
            *group = chosen;
        }
    }

    pub fn remove_group(&mut self, id: u16) {
        if let Some(group) = self.groups.get_mut(usize::from(id)) {
            *group = None;
        }
        self.backed.remove(&id);
    }

    pub fn session(&self, id: u32) -> Option<&CloneSession> {
        self.sessions.get(&id)
    }

    pub fn set_session(&mut self, id: u32, session: CloneSession) -> Result<(), ReplicationError> {
        check(&session.replicas)?;
        if self.sessions.len() >= SESSION_LIMIT && !self.sessions.contains_key(&id) {
            return Err(ReplicationError::Full);
        }
        self.sessions.insert(id, session);
        Ok(())
    }

    pub fn remove_session(&mut self, id: u32) {
        self.sessions.remove(&id);
    }
}

fn check(replicas: &[Replica]) -> Result<(), ReplicationError> {
    if replicas.len() > REPLICA_LIMIT {
        return Err(ReplicationError::TooManyReplicas);
    }
    ReplicationEngine::check_unique(replicas)
}

#[cfg(test)]
#[path = "tests/replication.rs"]
mod tests;
