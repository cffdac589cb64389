//! Meanings of names while the program is lowered (P4_16 specification, section 6.9).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::ir::Order;
use super::pass::Passed;
use super::value::Value;
use crate::source::Name;
use crate::syntax::tree::{Declaration, Table};

#[derive(Clone)]
pub enum Binding<'t> {
    Value(Value),
    /// A constant or an instance outside of all blocks: made when it is used first.
    Late(&'t Declaration),
    /// An action with the names that its body sees, and its order.
    Action(&'t Declaration, Rc<Environment<'t>>, Order),
    Table(&'t Table, usize),
}

/// The names of a block, and the block around it.
pub struct Environment<'t> {
    outer: Option<Rc<Environment<'t>>>,
    /// Whether it is an action's: what it finds outside was not passed to it.
    open: bool,
    names: RefCell<HashMap<Name, Binding<'t>>>,
}

impl<'t> Environment<'t> {
    pub fn outermost() -> Rc<Self> {
        Rc::new(Self { outer: None, open: false, names: RefCell::default() })
    }

    pub fn inside(outer: &Rc<Self>) -> Rc<Self> {
        outer.with(false, &[])
    }

    /// The names of a function, or of an action in its control.
    pub fn with(self: &Rc<Self>, open: bool, passed: &[Passed]) -> Rc<Self> {
        let names = passed.iter().map(|one| (one.name.clone(), Binding::Value(one.value.clone())));
        Rc::new(Self { outer: Some(self.clone()), open, names: RefCell::new(names.collect()) })
    }

    pub fn declare(&self, name: &Name, binding: Binding<'t>) {
        self.names.borrow_mut().insert(name.clone(), binding);
    }

    /// Gives a name something else to stand for, where it is declared.
    pub fn rebind(&self, name: &Name, binding: Binding<'t>) {
        match (self.names.borrow_mut().get_mut(name), &self.outer) {
            (Some(old), _) => *old = binding,
            (None, Some(outer)) => outer.rebind(name, binding),
            (None, None) => {}
        }
    }

    /// Whether it is in an action.
    pub fn is_open(&self) -> bool {
        self.open || self.outer.as_ref().is_some_and(|outer| outer.is_open())
    }

    pub fn find(&self, name: &str) -> Option<Binding<'t>> {
        self.reach(name).map(|(binding, _)| binding)
    }

    /// The meaning of a name, and whether an action finds it outside.
    pub fn reach(&self, name: &str) -> Option<(Binding<'t>, bool)> {
        if let Some(binding) = self.names.borrow().get(name) {
            return Some((binding.clone(), false));
        }
        self.outer.as_ref()?.reach(name).map(|(binding, outside)| (binding, outside || self.open))
    }
}
