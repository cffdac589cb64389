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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryNote {
    pub cookie: u64,
    pub metadata: Vec<u8>,
    /// `idle_timeout_ns`; 0 is none.
    pub idle_timeout: Nanos,
    /// When it is to be seen whether the entry is idle.
    pub due: Nanos,
}

impl EntryNote {
    /// An entry's message with what is noted, if anything is.
    #[allow(deprecated)]
    pub fn add_to(note: Option<&EntryNote>, entry: TableEntry) -> TableEntry {
        let Some(note) = note else { return entry };
        TableEntry {
            controller_metadata: note.cookie,
            metadata: note.metadata.clone(),
            idle_timeout_ns: i64::try_from(note.idle_timeout.0).unwrap_or(i64::MAX),
            ..entry
        }
    }
}

/// A pipeline configuration with the controller's writes since it was set.
#[derive(Debug)]
pub struct ControlState {
    pub config: Arc<PipelineConfig>,
    pub notes: HashMap<(TableId, EntryKey), EntryNote>,
    pub default_notes: HashMap<TableId, EntryNote>,
    pub idle: IdleTimers,
    pub profiles: Profiles,
    pub value_sets: BTreeMap<u32, ValueSetEntry>,
    pub groups: BTreeMap<u16, MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, CloneSessionEntry>,
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
