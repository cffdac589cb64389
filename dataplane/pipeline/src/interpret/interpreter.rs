//! The interpreter that runs primitives on one packet.

use groupflow_base::Nanos;

use crate::program::action::{AssignTarget, HeaderRef, Op};
use crate::program::calculation::Calculation;
use crate::program::expr::{Env, Expr};
use crate::program::field::Value;
use crate::program::info::shown;
use crate::program::names::Place;
use crate::program::Program;
use crate::state::context::{Context, Setting};
use crate::state::Externs;
use crate::trace::{CountStep, Step};

/// How many primitives one packet may run in a pipeline: bounds loops within actions.
const STEP_LIMIT: u64 = 100_000;

/// The numbers of the failures in [`Context::failed`].
const ASSERTION: u64 = 1;
const STEPS: u64 = 2;

/// Runs primitives on one packet.
pub(crate) struct Interpreter<'a> {
    pub program: &'a Program,
    pub phv: &'a mut [u8],
    pub externs: &'a mut Externs,
    pub context: &'a mut Context,
    /// The frame that arrived, or the payload.
    pub bytes: &'a [u8],
}

impl Interpreter<'_> {
    pub fn act(&mut self, action: u32, locals: &[u128]) {
        let program = self.program;
        // An action that selects from a group is not in the source.
        let places = program.names.primitives.get(action as usize).map_or(&[][..], |places| places);
        self.run_at(&program.bodies[action as usize].ops, locals, places);
    }

    /// Runs primitives outside of an action.
    pub fn run(&mut self, ops: &[Op], locals: &[u128]) {
        self.run_at(ops, locals, &[]);
    }

    fn run_at(&mut self, ops: &[Op], locals: &[u128], places: &[Place]) {
        let mut at = 0;
        while let Some(op) = ops.get(at) {
            self.context.steps += 1;
            if self.context.steps > STEP_LIMIT {
                self.externs.stats.step_limit += 1;
                self.fail(STEPS);
                return;
            }
            let current = at;
            at = match op {
                Op::Jump(to) => *to as usize,
                Op::JumpIfZero { condition, to } if self.eval(condition, locals) == 0 => *to as usize,
                _ => at + 1,
            };
            if let Some(recording) = &mut self.externs.recording {
                recording.at.clear();
                recording.at.extend(places.get(current).map(|place| &**place));
            }
            self.step(op, locals);
            if self.context.failed != 0 {
                return;
            }
        }
    }

    fn env<'a>(&'a self, locals: &'a [u128]) -> Env<'a> {
        Env { layout: &self.program.layout, phv: self.phv, locals }
    }

    pub fn eval(&self, expr: &Expr, locals: &[u128]) -> u128 {
        expr.eval(self.env(locals))
    }

    /// Assigns the value of an expression, all of it where the target is wide.
    pub fn set_to(&mut self, target: &AssignTarget, value: &Expr, locals: &[u128]) {
        let AssignTarget::Field(field) = target else { return self.set_other(target, value, locals) };
        let value = self.eval(value, locals);
        field.write(self.phv, value);
    }

    #[inline(never)] // rarer, and long
    fn set_other(&mut self, target: &AssignTarget, value: &Expr, locals: &[u128]) {
        let value = match target {
            AssignTarget::Element { parts: ..=1, .. } => Value::Narrow(self.eval(value, locals)),
            _ => Value::Wide(value.big(self.env(locals))),
        };
        self.assign(target, value, locals);
    }

    fn step(&mut self, op: &Op, locals: &[u128]) {
        match op {
            Op::Assign { target, value } => self.set_to(target, value, locals),
            Op::AddHeader(_) | Op::RemoveHeader(_) | Op::CopyHeaders { .. } => self.header_step(op, locals),
            Op::CopyVariable { target, source } => {
                let value = source.read(self.phv);
                if let (Some(to), Some(from)) = (target.length, source.length) {
                    to.write(self.phv, from.bits(self.phv));
                }
                target.write(self.phv, &value);
            }
            Op::Shift { stack, count, push } => {
                let count = self.eval(count, locals);
                self.program.layout.shift(*stack, count, *push, self.phv);
            }
            Op::MarkToDrop { egress_spec, mcast_grp, place } => {
                self.context.dropped_at = (*place).into();
                self.record(|_, at| Step::MarkToDrop { at });
                egress_spec.write(self.phv, u128::from(self.externs.options.drop_port.0));
                if let Some(group) = mcast_grp {
                    group.write(self.phv, 0);
                }
            }
            Op::Random { target, low, high } => {
                let (low, high) = (self.eval(low, locals), self.eval(high, locals));
                if low <= high {
                    let drawn = self.externs.random.within(low, high);
                    let choices = self.externs.choices.as_mut();
                    let value = choices.map_or(drawn, |choices| choices.value(low, high, drawn));
                    self.assign(target, Value::Narrow(value), locals);
                }
            }
            Op::Hash { target, base, calculation, max } => {
                let max = self.eval(max, locals).max(1);
                let hash = u128::from(self.calculate(*calculation)) % max;
                let value = self.eval(base, locals).wrapping_add(hash);
                self.assign(target, Value::Narrow(value), locals);
            }
            Op::Select { calculation } => {
                self.context.selected = 0;
                let group =
                    locals.first().and_then(|group| self.externs.groups.get(&(*group as u64))).cloned();
                let Some(group) = group else { return };
                let hash = self.calculate(*calculation);
                let call = match &mut self.externs.choices {
                    Some(choices) => choices.member(self.program, &group),
                    None => group.choose(hash),
                };
                // An empty group does nothing.
                let Some(call) = call else { return };
                self.context.selected = u64::from(call.action.0) + 1;
                self.record(|program, at| program.actions[call.action.index()].step(&call.arguments, at));
                self.act(call.action.0, &call.arguments);
            }
            Op::Assert { condition, place } => {
                if self.eval(condition, locals) == 0 {
                    self.context.dropped_at = (*place).into();
                    self.externs.stats.assertions_failed += 1;
                    self.record(|_, at| Step::AssertFailed { at });
                    self.fail(ASSERTION);
                }
            }
            Op::Exit => {
                self.record(|_, at| Step::Exit { at });
                self.context.exit = 1;
            }
            Op::Nothing | Op::Jump(_) | Op::JumpIfZero { .. } => {}
            Op::Clone { session, list } => {
                let session = self.eval(session, locals) as u32;
                self.record(|_, at| Step::Clone { session, at });
                self.context.clone_session = session.into();
                self.context.clone_list = u64::from(*list) + 1;
            }
            Op::Digest(list) if self.externs.digests.contains(list) => {}
            Op::Digest(list) => {
                let digest = |program: &Program| program.digests[*list as usize].name.clone();
                self.record(|program, at| Step::Digest { digest: digest(program), at });
                self.externs.digests.push(*list);
            }
            Op::Resubmit(list) => {
                self.record(|_, at| Step::Resubmit { at });
                self.context.resubmit = u64::from(*list) + 1;
            }
            Op::Recirculate(list) => {
                self.record(|_, at| Step::Recirculate { at });
                self.context.recirculate = u64::from(*list) + 1;
            }
            Op::Truncate(length) => {
                let bytes = u32::try_from(self.eval(length, locals)).unwrap_or(u32::MAX);
                self.record(|_, at| Step::Truncate { bytes, at });
                self.context.truncate = bytes.into();
            }
            Op::RegisterRead { .. }
            | Op::RegisterWrite { .. }
            | Op::Count { .. }
            | Op::ExecuteMeter { .. } => self.extern_step(op, locals),
        }
    }

    fn header_step(&mut self, op: &Op, locals: &[u128]) {
        let layout = &self.program.layout;
        match op {
            Op::AddHeader(header) => {
                let Some(header) = self.header(header, locals) else { return };
                let header = layout.header(header);
                if !header.is_valid(self.phv) {
                    header.clear(self.phv);
                    header.set_valid(self.phv, true);
                    let length = self.context.length + header.size(self.phv) as u64;
                    self.context.length = length.min(u32::MAX.into());
                }
            }
            Op::RemoveHeader(header) => {
                let Some(header) = self.header(header, locals) else { return };
                let header = layout.header(header);
                if header.is_valid(self.phv) && !header.metadata {
                    let size = header.size(self.phv) as u64;
                    header.set_valid(self.phv, false);
                    self.context.length = self.context.length.saturating_sub(size);
                }
            }
            Op::CopyHeaders { pairs, next } => {
                for (target, source) in pairs {
                    if let (Some(to), Some(from)) = (self.header(target, locals), self.header(source, locals))
                    {
                        layout.header(to).assign(layout.header(from), self.phv);
                    }
                }
                if let Some((to, from)) = next {
                    to.write(self.phv, from.bits(self.phv));
                }
            }
            _ => {}
        }
    }

    fn extern_step(&mut self, op: &Op, locals: &[u128]) {
        match op {
            Op::RegisterRead { target, register, index } => {
                let index = self.eval(index, locals);
                let value = self.externs.register_load(*register, index);
                self.record(|program, at| Step::RegisterRead {
                    register: program.registers[*register as usize].name.clone(),
                    index: index.to_string(),
                    value: value
                        .as_ref()
                        .map_or_else(String::new, |value| register_value(program, *register, value)),
                    at,
                });
                if let Some(value) = value {
                    self.assign(target, value, locals);
                }
            }
            Op::RegisterWrite { register, index, value } => {
                let index = self.eval(index, locals);
                let value = match self.program.registers[*register as usize].width {
                    ..=128 => Value::Narrow(self.eval(value, locals)),
                    _ => Value::Wide(value.big(self.env(locals))),
                };
                self.externs.register_store(*register, index, &value);
                self.record(|program, at| Step::RegisterWrite {
                    register: program.registers[*register as usize].name.clone(),
                    index: index.to_string(),
                    value: register_value(program, *register, &value),
                    at,
                });
            }
            Op::Count { counter, index } => {
                let index = self.eval(index, locals);
                self.externs.count(*counter, index, self.context.received as u32);
                let info = &self.program.counters[*counter as usize];
                if !info.reasons.is_empty() {
                    self.context.counter = u64::from(*counter) + 1;
                    self.context.counter_cell = index as u64;
                }
                self.record(|_, at| {
                    let reason =
                        usize::try_from(index).ok().and_then(|index| info.reasons.get(index)).cloned();
                    Step::Count(CountStep {
                        counter: info.name.clone(),
                        index: index.to_string(),
                        reason,
                        at,
                    })
                });
            }
            Op::ExecuteMeter { meter, index, target } => {
                let index = self.eval(index, locals);
                let (now, received) = (Nanos(self.context.now), self.context.received as u32);
                let colour = self.externs.meter_colour(*meter, index, now, received);
                self.record(|program, at| Step::Meter {
                    meter: program.meters[*meter as usize].name.clone(),
                    index: index.to_string(),
                    colour: colour.map(|colour| colour.to_string()),
                    at,
                });
                if let Some(colour) = colour {
                    self.assign(target, Value::Narrow(colour), locals);
                }
            }
            _ => {}
        }
    }

    #[inline(never)]
    pub fn assign(&mut self, target: &AssignTarget, value: Value, locals: &[u128]) {
        let layout = &self.program.layout;
        match (target, value) {
            (AssignTarget::Field(field), value) => field.write(self.phv, value.low()),
            (AssignTarget::Wide(field), Value::Narrow(value)) => field.write(self.phv, &value.into()),
            (AssignTarget::Wide(field), Value::Wide(value)) => field.write(self.phv, &value),
            (AssignTarget::Element { stack, index, offset, parts }, value) => {
                let Some(header) = layout.element(*stack, self.eval(index, locals)) else { return };
                let fields = &layout.header(header).fields[*offset as usize..][..*parts as usize];
                let width = fields.iter().map(|part| u32::from(part.width)).sum();
                fields.iter().zip(value.parts(width)).for_each(|(part, value)| part.write(self.phv, value));
            }
        }
    }

    fn header(&self, header: &HeaderRef, locals: &[u128]) -> Option<u32> {
        match header {
            HeaderRef::Fixed(header) => Some(*header),
            HeaderRef::Element { stack, index } => {
                self.program.layout.element(*stack, self.eval(index, locals))
            }
        }
    }

    /// The result of a hash or checksum over fields and payload.
    pub fn calculate(&mut self, calculation: u32) -> u64 {
        let calculation: &Calculation = &self.program.calculations[calculation as usize];
        let payload = &self.bytes[self.bytes.len() - self.context.payload_len as usize..];
        let buffer = &mut self.externs.scratch;
        calculation.gather(&self.program.layout, self.phv, payload, buffer);
        calculation.algorithm.apply(buffer)
    }

    /// Records a step of the packet, if it is traced; `step` gets the place of the primitive.
    pub fn record(&mut self, step: impl FnOnce(&Program, String) -> Step) {
        if let Some(recording) = &mut self.externs.recording {
            let at = recording.at.clone();
            recording.step(step(self.program, at));
        }
    }

    /// Sets fields from words of the context.
    pub fn set(&mut self, settings: &[Setting]) {
        for &(field, word) in settings {
            if let Some(field) = field {
                field.write(self.phv, self.context.word(word).into());
            }
        }
    }

    fn fail(&mut self, failure: u64) {
        self.context.failed = failure;
        self.context.exit = 1;
    }
}

fn register_value(program: &Program, register: u32, value: &Value) -> String {
    let info = &program.registers[register as usize];
    shown(&info.name, info.width, &value.parts(info.width))
}
