//! The controller's settings beside the pipeline's own state: they are read back as they were written.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::{EntryKey, TableId};

use super::config::PipelineConfig;
use super::digest::Digests;
use super::idle::IdleTimers;
use super::profiles::Profiles;
use crate::proto::p4::v1::{CloneSessionEntry, MulticastGroupEntry, TableEntry, ValueSetEntry};

/// The controller's own notes on a table entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryNote {
    /// `controller_metadata`.
    pub cookie: u64,
    /// `metadata`.
    pub metadata: Vec<u8>,
    /// `idle_timeout_ns`; 0 is none.
    pub idle_timeout: Nanos,
    /// When it is to be seen whether the entry is idle.
    pub due: Nanos,
}

impl EntryNote {
    /// An entry's message with what is noted.
    #[allow(deprecated)]
    pub fn add_to(&self, entry: TableEntry) -> TableEntry {
        TableEntry {
            controller_metadata: self.cookie,
            metadata: self.metadata.clone(),
            idle_timeout_ns: i64::try_from(self.idle_timeout.0).unwrap_or(i64::MAX),
            ..entry
        }
    }
}

/// A pipeline configuration with the controller's writes since it was set.
#[derive(Debug)]
pub struct ControlState {
    /// The configuration.
    pub config: Arc<PipelineConfig>,
    /// Notes on entries, where there are any.
    pub notes: HashMap<(TableId, EntryKey), EntryNote>,
    /// Notes on default entries that were modified.
    pub default_notes: HashMap<TableId, EntryNote>,
    /// The timers of entries with an idle timeout.
    pub idle: IdleTimers,
    /// Action profiles, and the entries that use them.
    pub profiles: Profiles,
    /// Value sets as written.
    pub value_sets: BTreeMap<u32, ValueSetEntry>,
    /// Multicast groups as written.
    pub groups: BTreeMap<u16, MulticastGroupEntry>,
    /// Clone sessions as written.
    pub sessions: BTreeMap<u32, CloneSessionEntry>,
    /// Digests that are enabled, and their lists.
    pub digests: Digests,
}

impl ControlState {
    /// The state of a configuration to which nothing was written.
    pub fn new(config: Arc<PipelineConfig>) -> ControlState {
        ControlState {
            config: PipelineConfig::for_one(config),
            notes: HashMap::new(),
            default_notes: HashMap::new(),
            idle: IdleTimers::default(),
            profiles: Profiles::default(),
            value_sets: BTreeMap::new(),
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            digests: Digests::default(),
        }
    }
}
