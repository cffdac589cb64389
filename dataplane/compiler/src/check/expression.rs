//! Expressions: their types, and their values where the compiler knows them.

use super::call::Site;
use super::constant::{fits, wrap, Value};
use super::scope::{Entity, Found, Variable};
use super::type_reference::file_of;
use super::types::Type;
use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Expression, ExpressionKind, Number, Path};

/// Facts about an expression.
#[derive(Clone, Debug)]
pub struct Typed {
    pub of: Type,
    /// Whether it can be assigned to.
    pub writable: bool,
    pub value: Option<Value>,
    /// Known before the program runs, if not yet here: it may depend on parameters of a constructor.
    pub is_constant: bool,
}

impl Typed {
    pub fn wrong() -> Self {
        Self { is_constant: true, ..Self::of(Type::Wrong) }
    }

    /// A value that is known when the program runs.
    pub fn of(of: Type) -> Self {
        Self { of, writable: false, value: None, is_constant: false }
    }

    /// A value that cannot be assigned to.
    pub fn new(of: Type, value: Option<Value>, is_constant: bool) -> Self {
        Self { of, writable: false, value, is_constant }
    }

    pub fn known(of: Type, value: Value) -> Self {
        Self::new(of, Some(value), true)
    }
}

impl<'t> Checker<'t, '_> {
    /// The type of an expression; `want` is the one that fits its place, for literals that have none of their own.
    pub fn expression(&mut self, expression: &'t Expression, want: Option<&Type>) -> Typed {
        let typed = self.read(expression, want);
        self.note(expression, &typed);
        typed
    }

    /// Facts about an expression, and its type as far as that was inferred.
    pub fn typed(&mut self, expression: &'t Expression, want: Option<&Type>) -> (Typed, Type) {
        let typed = self.expression(expression, want);
        let of = self.inference.shallow(&typed.of);
        (typed, of)
    }

    fn note(&mut self, expression: &Expression, typed: &Typed) {
        self.facts.types.insert(expression.id, typed.of.clone());
        if let Some(value) = &typed.value {
            self.facts.values.insert(expression.id, value.clone());
        }
    }

    fn read(&mut self, expression: &'t Expression, want: Option<&Type>) -> Typed {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Bool(truth) => Typed::known(Type::Bool, Value::Bool(*truth)),
            ExpressionKind::Number(number) => self.number(number, span),
            ExpressionKind::String(text) => Typed::known(Type::String, Value::String(text.clone())),
            ExpressionKind::Name(path) => self.name(path),
            ExpressionKind::This => {
                if !self.in_initializer {
                    self.error(span, "`this` is for the methods that an instance has in braces");
                }
                Typed::wrong()
            }
            ExpressionKind::Type(of) => {
                let kind = self.type_reference(of);
                if !kind.is_wrong() {
                    self.error(span, format!("`{}` is a type, and a value belongs here", self.spell(&kind)));
                }
                Typed::wrong()
            }
            ExpressionKind::Member(of, member) => self.member(of, member),
            ExpressionKind::Index(of, index) => self.index(of, index),
            ExpressionKind::Slice { value, high, low } => self.slice(value, high, low, span),
            ExpressionKind::Part { value, low, width } => self.part(value, low, width, span),
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand, span),
            ExpressionKind::Binary(operator, left, right) => {
                let typed = self.expression(left, None);
                self.operation(*operator, span, (left, typed), right)
            }
            ExpressionKind::Choice { condition, then, otherwise } => {
                self.choice(condition, then, otherwise, want)
            }
            ExpressionKind::Cast(of, value) => {
                let of = self.type_reference(of);
                self.cast(&of, value, span)
            }
            ExpressionKind::Call { callee, types, arguments } => {
                self.call(Site { id: expression.id, span }, callee, types, arguments, want)
            }
            ExpressionKind::List { items, defaults } => self.list(items, *defaults, want, span),
            ExpressionKind::Record { fields, defaults } => self.record(fields, *defaults, want, span),
            ExpressionKind::Default => self.default_value(want, span),
            ExpressionKind::Invalid => self.invalid(want, span),
            ExpressionKind::Any | ExpressionKind::Mask(..) | ExpressionKind::Range(..) => {
                self.wrong(span, "this belongs to the keys of `select`, tables and entries only")
            }
            ExpressionKind::Wrong => Typed::wrong(),
        }
    }

    fn number(&mut self, number: &Number, span: Span) -> Typed {
        let Some((width, signed)) = number.width else {
            return Typed::known(Type::Integer, Value::Number(number.value.clone()));
        };
        let of = Type::Bits { width, signed };
        if !fits(&number.value, &of) {
            let kind = self.spell(&of);
            self.warning(span, format!("{} does not fit into {kind}: its upper bits are lost", number.value));
        }
        let value = Value::Number(wrap(&number.value, &of));
        Typed::known(of, value)
    }

    fn name(&mut self, path: &Path) -> Typed {
        let name = &path.ident.name;
        let span = path.ident.span;
        let Some(found) = self.scopes.find(name, path.absolute).cloned() else {
            if self.match_kinds.contains(name) {
                return Typed::known(Type::MatchKind, Value::Member(name.clone()));
            }
            return self.no_name(path);
        };
        match found.entity {
            Entity::Value(Variable { of, writable, value, is_constant }) => {
                Typed { of, writable, value, is_constant }
            }
            Entity::Action(_) => Typed::of(Type::Action),
            Entity::Table(_) => Typed::of(Type::Table),
            Entity::Functions(_) => {
                self.wrong(span, format!("`{name}` is a function: its arguments are missing"))
            }
            Entity::State => self.wrong(span, format!("`{name}` is a state, not a value")),
            Entity::Type(_) | Entity::Generic(_) | Entity::Object(_) => {
                self.error(span, format!("`{name}` is a type, and a value belongs here"))
                    .declared(name, found.span);
                Typed::wrong()
            }
        }
    }

    /// Tells of a mistake, for which an expression has no type.
    pub fn wrong(&mut self, span: Span, message: impl Into<String>) -> Typed {
        self.error(span, message);
        Typed::wrong()
    }

    /// Tells that a name is not declared.
    pub fn no_name(&mut self, path: &Path) -> Typed {
        let name = &path.ident.name;
        let near = self.similar(name, |entity| !matches!(entity, Entity::Type(_) | Entity::Generic(_)));
        // `ipv4` instead of `hdr.ipv4`.
        let parts = |found: &Found<'t>| match &found.entity {
            Entity::Value(Variable { of: Type::Composite(of), .. }) => of.field(name).is_some(),
            _ => false,
        };
        let whole = self.scopes.iter().find(|(_, found)| parts(found)).map(|(one, _)| one.clone());
        let error = self.error(path.ident.span, format!("`{name}` is not declared"));
        match (file_of(name), whole) {
            (Some(file), _) => error.help(format!("`#include <{file}>`")),
            (None, Some(whole)) => error.help(format!("`{whole}.{name}` may be meant")),
            (None, None) => error.meant(near),
        };
        Typed::wrong()
    }

    /// The value of an expression that belongs where a value of type `want` does.
    pub fn value_of(&mut self, expression: &'t Expression, want: &Type) -> Typed {
        let typed = self.expression(expression, Some(want));
        self.coerce(expression, typed, want)
    }

    /// Converts without a cast where P4 does (specification, section 8.12.2), and else tells that the types differ.
    pub fn coerce(&mut self, expression: &'t Expression, typed: Typed, want: &Type) -> Typed {
        let of = self.inference.shallow(&typed.of);
        let want = self.inference.shallow(want);
        if of == Type::Integer && matches!(want, Type::Bits { .. }) {
            return self.give_width(expression, typed, &want);
        }
        if want == Type::Integer && matches!(of, Type::Bits { .. }) && typed.value.is_some() {
            return Typed { of: want, ..typed };
        }
        if self.inference.unify(&of, &want) {
            return typed;
        }
        let converts = match (&of, &want) {
            (Type::Enum(one), Type::Bits { .. }) => one.of.as_ref().is_some_and(|inner| *inner == want),
            (Type::Enum(one), Type::New(_)) => one.of.as_ref().is_some_and(|inner| *inner == want),
            _ => false,
        };
        if converts {
            self.facts.conversions.insert(expression.id, want.clone());
            return Typed { of: want, writable: false, ..typed };
        }
        self.mismatch(expression.span, &of, &want);
        Typed::wrong()
    }

    /// Makes a number without a width one with the width that its place has.
    fn give_width(&mut self, expression: &'t Expression, typed: Typed, want: &Type) -> Typed {
        let value = match &typed.value {
            Some(Value::Number(number)) => {
                if !fits(number, want) {
                    let kind = self.spell(want);
                    self.warning(
                        expression.span,
                        format!("{number} does not fit into {kind}: its upper bits are lost"),
                    );
                }
                Some(Value::Number(wrap(number, want)))
            }
            _ => None,
        };
        self.facts.conversions.insert(expression.id, want.clone());
        if let Some(value) = &value {
            self.facts.values.insert(expression.id, value.clone());
        }
        Typed::new(want.clone(), value, typed.is_constant)
    }

    pub fn mismatch(&mut self, span: Span, found: &Type, want: &Type) {
        let (of, wants) = (self.spell(found), self.spell(want));
        let (found, want) = (self.inference.shallow(found), self.inference.shallow(want));
        let error = self.error(span, format!("expected {wants}, found {of}"));
        let number = |of: &Type| matches!(of.underlying(), Type::Bits { .. } | Type::Integer);
        if number(&found) && number(&want) {
            error.help(format!("a cast converts: `({wants}) ...`"));
        } else if matches!(want, Type::Bool) && number(&found) {
            error.help("a number is compared: `x == 1`");
        }
    }

    /// The type and value of an expression that must be known before the program runs.
    pub fn constant(&mut self, expression: &'t Expression, what: &str) -> Option<(Type, Value)> {
        let typed = self.expression(expression, None);
        match typed.value {
            Some(value) => Some((typed.of, value)),
            // A parameter of a constructor: the value is checked where an object is made.
            None if typed.is_constant || typed.of.is_wrong() => None,
            None => {
                self.error(expression.span, format!("{what} is a constant, and this is not known before"));
                None
            }
        }
    }
}
