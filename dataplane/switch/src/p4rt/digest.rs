//! Digests: messages of the data plane, sent in lists without duplicates.
//!
//! P4Runtime specification, section "DigestEntry".

use std::collections::{BTreeMap, HashSet, VecDeque};

use groupflow_base::Nanos;
use groupflow_pipeline::Digest;

use super::binding::{Binding, BoundDigest};
use super::digest_type::DataType;
use super::state::ControlState;
use super::status::Status;
use super::update::{Found, UpdateKind};
use crate::proto::p4::v1::digest_entry::Config;
use crate::proto::p4::v1::{DigestEntry, DigestList, DigestListAck};

/// The longest list; a list size of zero means as many.
pub const LIST_LIMIT: usize = 1024;
/// The most messages per digest that wait for an acknowledgement; beyond it the oldest list is forgotten.
pub const UNACKNOWLEDGED_LIMIT: usize = 65_536;

#[derive(Debug, Default)]
pub struct Digests {
    enabled: BTreeMap<u32, Learner>,
    next_list: u64,
}

/// One digest that is enabled: the data that waits to be sent, and the lists sent but not acknowledged.
#[derive(Debug, Clone)]
pub struct Learner {
    config: Config,
    data: DataType,
    waiting: Vec<Vec<u128>>,
    since: Nanos,
    sent: VecDeque<(u64, Nanos, Vec<Vec<u128>>)>,
    known: HashSet<Vec<u128>>,
}

impl Digests {
    pub fn get(&self, id: u32) -> Option<&Learner> {
        self.enabled.get(&id)
    }

    pub fn restore(&mut self, id: u32, learner: Learner) {
        self.enabled.insert(id, learner);
    }

    /// Takes a message of the data plane; returns a list if the message completes one.
    pub fn learn(&mut self, now: Nanos, binding: &Binding, message: Digest) -> Option<DigestList> {
        let id = binding.digest(message.digest)?.id;
        let learner = self.enabled.get_mut(&id)?;
        learner.forget_expired(now);
        if learner.known.contains(&message.values) {
            return None;
        }
        if learner.waiting.is_empty() {
            learner.since = now;
        }
        learner.known.insert(message.values.clone());
        learner.waiting.push(message.values);
        let due = learner.waiting.len() >= learner.list_size() || learner.config.max_timeout_ns == 0;
        due.then(|| learner.list(now, id, &mut self.next_list))
    }

    pub fn due(&mut self, now: Nanos) -> Vec<DigestList> {
        let Digests { enabled, next_list } = self;
        let mut lists = Vec::new();
        for (id, learner) in enabled {
            while learner.deadline().is_some_and(|at| at <= now) {
                lists.push(learner.list(now, *id, next_list));
            }
        }
        lists
    }

    pub fn deadline(&self) -> Option<Nanos> {
        self.enabled.values().filter_map(Learner::deadline).min()
    }

    /// Notes that the controller has acted on a list.
    pub fn acknowledge(&mut self, binding: &Binding, ack: &DigestListAck) -> Result<(), Status> {
        find(binding, ack.digest_id)?;
        if let Some(learner) = self.enabled.get_mut(&ack.digest_id) {
            learner.forget(|list, _| list == ack.list_id);
        }
        Ok(())
    }
}

impl Learner {
    fn new(config: Config, digest: &BoundDigest) -> Learner {
        Learner {
            config,
            data: digest.data.clone(),
            waiting: Vec::new(),
            since: Nanos::ZERO,
            sent: VecDeque::new(),
            known: HashSet::new(),
        }
    }

    fn list_size(&self) -> usize {
        match usize::try_from(self.config.max_list_size) {
            Ok(size) if (1..=LIST_LIMIT).contains(&size) => size,
            _ => LIST_LIMIT,
        }
    }

    /// The time of the next list. A controller that makes lists smaller may leave more than one waiting.
    fn deadline(&self) -> Option<Nanos> {
        let is_full = self.waiting.len() >= self.list_size();
        let patience = if is_full { Nanos::ZERO } else { span(self.config.max_timeout_ns) };
        (!self.waiting.is_empty()).then(|| self.since + patience)
    }

    fn list(&mut self, now: Nanos, id: u32, next_list: &mut u64) -> DigestList {
        *next_list += 1;
        let messages: Vec<_> = self.waiting.drain(..self.list_size().min(self.waiting.len())).collect();
        let data = messages.iter().map(|values| self.data.data(&mut values.iter().copied())).collect();
        self.sent.push_back((*next_list, now, messages));
        while self.known.len() > UNACKNOWLEDGED_LIMIT {
            let Some((oldest, _, _)) = self.sent.front() else { break };
            let oldest = *oldest;
            self.forget(|list, _| list == oldest);
        }
        self.forget_expired(now);
        let timestamp = i64::try_from(now.0).unwrap_or(i64::MAX);
        DigestList { digest_id: id, list_id: *next_list, data, timestamp }
    }

    fn forget_expired(&mut self, now: Nanos) {
        let timeout = span(self.config.ack_timeout_ns);
        self.forget(|_, sent_at| now - sent_at >= timeout);
    }

    fn forget(&mut self, which: impl Fn(u64, Nanos) -> bool) {
        let known = &mut self.known;
        self.sent.retain(|(list, sent_at, messages)| {
            let gone = which(*list, *sent_at);
            if gone {
                messages.iter().for_each(|values| _ = known.remove(values));
            }
            !gone
        });
    }
}

pub fn write(state: &mut ControlState, kind: UpdateKind, entry: &DigestEntry) -> Result<(), Status> {
    let digest = find(&state.config.binding, entry.digest_id)?.clone();
    let enabled = &mut state.digests.enabled;
    let result = match (kind, enabled.get_mut(&digest.id)) {
        (UpdateKind::Insert, Some(_)) => Err(Status::exists("it is enabled already")),
        (UpdateKind::Insert, None) => {
            config(entry).map(|config| drop(enabled.insert(digest.id, Learner::new(config, &digest))))
        }
        (_, None) => Err(Status::not_found("it is not enabled")),
        (UpdateKind::Delete, _) => {
            enabled.remove(&digest.id);
            Ok(())
        }
        (_, Some(learner)) => config(entry).map(|config| learner.config = config),
    };
    result.map_err(|refusal| refusal.within(&format!("digest {}", digest.name)))
}

pub fn read(state: &ControlState, filter: &DigestEntry, found: &mut Found<'_>) -> Result<(), Status> {
    if filter.digest_id != 0 {
        find(&state.config.binding, filter.digest_id)?;
    }
    let wanted = |id: &u32| filter.digest_id == 0 || filter.digest_id == *id;
    for (id, learner) in state.digests.enabled.iter().filter(|(id, _)| wanted(id)) {
        found(DigestEntry { digest_id: *id, config: Some(learner.config) }.into());
    }
    Ok(())
}

fn find(binding: &Binding, id: u32) -> Result<&BoundDigest, Status> {
    let unknown = || Status::invalid(format!("digest_id: the program has no digest {id}"));
    binding.digests.get(&id).ok_or_else(unknown)
}

fn config(entry: &DigestEntry) -> Result<Config, Status> {
    let config = entry.config.ok_or_else(|| Status::invalid("config: it is missing"))?;
    let fields = [
        ("max_timeout_ns", config.max_timeout_ns),
        ("max_list_size", config.max_list_size.into()),
        ("ack_timeout_ns", config.ack_timeout_ns),
    ];
    let negative = fields.iter().find(|(_, value)| *value < 0);
    negative.map_or(Ok(config), |(name, _)| Err(Status::invalid(format!("{name}: it is negative"))))
}

fn span(nanoseconds: i64) -> Nanos {
    Nanos(u64::try_from(nanoseconds).unwrap_or(0))
}
