//! Meanings of names while the program is lowered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::value::Value;
use crate::source::Name;
use crate::syntax::tree::Declaration;

#[derive(Clone)]
pub enum Binding<'t> {
    Value(Value),
    /// A constant or an instance outside of all blocks: made when it is used first.
    Late(&'t Declaration),
    /// An action with the names that its body sees.
    Action(&'t Declaration, Rc<Environment<'t>>),
    Table(&'t Declaration, usize),
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
        Rc::new(Self { outer: Some(outer.clone()), open: false, names: RefCell::default() })
    }

    /// The names of an action in its control.
    pub fn open(outer: &Rc<Self>) -> Rc<Self> {
        Rc::new(Self { outer: Some(outer.clone()), open: true, names: RefCell::default() })
    }

    pub fn declare(&self, name: &Name, binding: Binding<'t>) {
        self.names.borrow_mut().insert(name.clone(), binding);
    }

    /// Gives a name something else to stand for, where it is declared.
    pub fn rebind(&self, name: &Name, binding: Binding<'t>) {
        let mut environment = Some(self);
        while let Some(at) = environment {
            if let Some(old) = at.names.borrow_mut().get_mut(name) {
                *old = binding;
                return;
            }
            environment = at.outer.as_deref();
        }
    }

    pub fn find(&self, name: &str) -> Option<Binding<'t>> {
        self.reach(name).map(|(binding, _)| binding)
    }

    /// The meaning of a name, and whether an action finds it outside.
    pub fn reach(&self, name: &str) -> Option<(Binding<'t>, bool)> {
        let (mut environment, mut outside) = (Some(self), false);
        while let Some(at) = environment {
            if let Some(binding) = at.names.borrow().get(name) {
                return Some((binding.clone(), outside));
            }
            outside |= at.open;
            environment = at.outer.as_deref();
        }
        None
    }
}
