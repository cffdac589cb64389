//! Batches of updates, of which some are carried out as a whole or not at all.
//!
//! P4Runtime specification, section "Batch Atomicity". A batch is taken back by steps that undo its updates,
//! the last first.

use groupflow_base::Nanos;
use groupflow_pipeline::TableId;

use super::digest::Learner;
use super::roles::Scope;
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{self, Purpose, Setting, UpdateKind};
use super::{table_read, Runtime};
use crate::core::{Forwarding, Switch};
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{Entity, MeterConfig, TableEntry, Update};

/// The most entities that are kept to take a batch back: a register has millions of cells.
const UNDO_LIMIT: usize = 1 << 18;

#[derive(Debug)]
pub struct Batch {
    atomicity: Atomicity,
    scope: Scope,
    results: Vec<Result<(), Status>>,
    undo: Vec<Step>,
    failed: bool,
}

/// A step that takes back a part of an update.
#[derive(Debug)]
enum Step {
    /// Writes an entity as it was.
    Write(Box<Update>),
    /// Forgets that a default entry was modified.
    Untouch(TableId),
    /// Enables a digest with its lists.
    Enable(u32, Box<Learner>),
}

impl Batch {
    pub fn new(atomicity: Atomicity, scope: Scope) -> Batch {
        Batch { atomicity, scope, results: Vec::new(), undo: Vec::new(), failed: false }
    }

    /// Whether no packet may see a part of the batch.
    pub fn is_atomic(&self) -> bool {
        self.atomicity == Atomicity::DataplaneAtomic
    }

    pub fn apply(&mut self, runtime: &mut Runtime, switch: &mut Switch, updates: &[Update]) {
        for update in updates {
            let result = self.attempt(runtime, switch, update);
            let ends = result.is_err() && self.atomicity != Atomicity::ContinueOnError && !self.failed;
            self.results.push(result);
            if ends {
                self.take_back(runtime, switch);
            }
        }
    }

    pub fn outcome(self) -> Result<(), Status> {
        Status::of_batch("update", &self.results)
    }

    fn attempt(&mut self, runtime: &mut Runtime, switch: &mut Switch, update: &Update) -> Result<(), Status> {
        if self.failed {
            return Err(aborted());
        }
        self.scope.check(update.entity.as_ref())?;
        if self.atomicity == Atomicity::ContinueOnError {
            return runtime.apply(switch, update);
        }
        if update::extern_entry(update.entity.as_ref()).is_some() {
            let why = "extern_entry: it cannot be taken back, so that atomicity must be CONTINUE_ON_ERROR";
            return Err(Status::unimplemented(why));
        }
        let (state, forwarding) = runtime.current(switch)?;
        let undo = inverse(state, forwarding, update)?;
        if self.undo.len() + undo.len() > UNDO_LIMIT {
            let why = format!("more than {UNDO_LIMIT} entities change in one batch that may be taken back");
            return Err(Status::exhausted(why));
        }
        runtime.apply(switch, update)?;
        self.undo.extend(undo);
        Ok(())
    }

    fn take_back(&mut self, runtime: &mut Runtime, switch: &mut Switch) {
        self.failed = true;
        let setting = Setting::of(switch, Purpose::Undo);
        let steps = std::mem::take(&mut self.undo);
        let outcome = runtime.change(switch, |state, forwarding| {
            undo(steps, state, forwarding, setting);
            Ok(())
        });
        debug_assert_eq!(outcome, Ok(()));
        for result in self.results.iter_mut().filter(|result| result.is_ok()) {
            *result = Err(aborted());
        }
    }
}

fn aborted() -> Status {
    Status::new(Code::Aborted, "not carried out, since another update of the batch failed")
}

fn undo(steps: Vec<Step>, state: &mut ControlState, forwarding: &mut Forwarding, setting: Setting) {
    for step in steps.into_iter().rev() {
        let outcome = match step {
            Step::Write(update) => update::write(state, forwarding, &update, setting),
            Step::Untouch(table) => {
                state.default_notes.remove(&table);
                Ok(())
            }
            Step::Enable(digest, learner) => {
                state.digests.restore(digest, *learner);
                Ok(())
            }
        };
        #[cfg(feature = "shell")]
        if let Err(refusal) = &outcome {
            tracing::error!(reason = refusal.message, "a part of an update was not taken back");
        }
        debug_assert_eq!(outcome, Ok(()));
    }
}

/// The steps that undo an update, the last first; none for one that will be refused.
fn inverse(state: &ControlState, forwarding: &Forwarding, update: &Update) -> Result<Vec<Step>, Status> {
    let Some(entity) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) else {
        return Ok(Vec::new());
    };
    let back = match UpdateKind::of(update)? {
        UpdateKind::Insert => {
            return Ok(vec![Step::Write(Box::new(update::of(UpdateKind::Delete, entity.clone())))])
        }
        UpdateKind::Delete => UpdateKind::Insert,
        kind => kind,
    };
    let (mut found, mut steps) = (Vec::new(), Vec::new());
    match entity {
        Kinds::DigestEntry(entry) if back == UpdateKind::Insert => {
            let enabled = state.digests.get(entry.digest_id).cloned();
            steps.extend(enabled.map(|learner| Step::Enable(entry.digest_id, Box::new(learner))));
        }
        Kinds::TableEntry(entry) if !entry.is_default_action => {
            // A deleted entry loses its counter; one that is changed keeps it.
            let counted = entry.counter_data.is_some() || back == UpdateKind::Insert;
            let coloured = entry.meter_counter_data.is_some() || back == UpdateKind::Insert;
            let before = table_read::to_write(state, forwarding, entry, (counted, coloured));
            found.extend(before.map(Kinds::from));
        }
        _ => {
            let request = Entity { entity: Some(filter(entity)) };
            // One more than the limit is enough to refuse the batch.
            let mut keep = |entity| found.extend((found.len() <= UNDO_LIMIT).then_some(entity));
            // An entity that cannot be read will not be written either.
            let _ = update::read(state, forwarding, &request, Nanos::ZERO, &mut keep);
        }
    }
    if let Kinds::TableEntry(TableEntry { is_default_action: true, table_id, .. }) = entity {
        let table = state.config.binding.tables.get(table_id).map(|table| table.table);
        let table = table.filter(|table| !state.default_notes.contains_key(table));
        steps.extend(table.map(Step::Untouch));
    }
    steps.extend(found.into_iter().map(|entity| Step::Write(Box::new(update::of(back, entity)))));
    Ok(steps)
}

/// The request that reads what an update changes.
fn filter(entity: &Kinds) -> Kinds {
    match entity.clone() {
        Kinds::TableEntry(mut entry) => {
            // A default entry that is reset loses its counts.
            if entry.action.take().is_none() {
                entry.counter_data.get_or_insert_with(Default::default);
                entry.meter_counter_data.get_or_insert_with(Default::default);
            }
            entry.meter_config = Some(MeterConfig::default());
            entry.into()
        }
        other => other,
    }
}
