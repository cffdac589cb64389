//! Expressions: their types, and their values where the compiler knows them (P4_16 specification, section 8).

use super::call::Site;
use super::constant::{fits, wrap, Value};
use super::scope::{Entity, Found};
use super::type_reference::cure_of;
use super::types::Type;
use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Expression, ExpressionKind, Number, Path};

/// Facts about an expression, or about the name of a value.
#[derive(Clone, Debug)]
pub struct Typed {
    pub of: Type,
    /// Whether it can be assigned to (section 6.7).
    pub writable: bool,
    pub value: Option<Value>,
    /// Known before the program runs, if not yet here: it may depend on parameters of a constructor (section
    /// 18.1).
    pub is_constant: bool,
    pub is_parameter: bool,
}

/// A value about which there is a message already.
impl Default for Typed {
    fn default() -> Self {
        Self { is_constant: true, ..Self::of(Type::Wrong) }
    }
}

impl Typed {
    /// A value that is known when the program runs.
    pub fn of(of: Type) -> Self {
        Self::new(of, None, false)
    }

    /// A value that changes when the program runs.
    pub fn variable(of: Type) -> Self {
        Self { writable: true, ..Self::of(of) }
    }

    /// A value that cannot be assigned to.
    pub fn new(of: Type, value: Option<Value>, is_constant: bool) -> Self {
        Self { of, writable: false, value, is_constant, is_parameter: false }
    }

    pub fn known(of: Type, value: Value) -> Self {
        Self::new(of, Some(value), true)
    }

    /// Whether the value depends on what runs: there is no message about it yet.
    pub fn varies(&self) -> bool {
        !self.is_constant && !self.of.is_wrong()
    }

    /// The value if it is a number that the compiler knows.
    pub fn number(&self) -> Option<&num_bigint::BigInt> {
        self.value.as_ref().and_then(Value::number)
    }
}

impl<'t> Checker<'t, '_> {
    /// The type of an expression; `want` is the one that fits its place, for literals that have none of their
    /// own.
    pub fn expression(&mut self, expression: &'t Expression, want: Option<&Type>) -> Typed {
        let typed = self.read(expression, want);
        self.facts.types.insert(expression.id, typed.of.clone());
        if let Some(value) = &typed.value {
            self.facts.values.insert(expression.id, value.clone());
        }
        Typed { of: typed.of.known().clone(), ..typed }
    }

    fn read(&mut self, expression: &'t Expression, want: Option<&Type>) -> Typed {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Bool(truth) => Typed::known(Type::Bool, Value::Bool(*truth)),
            ExpressionKind::Number(number) => self.number(number, span),
            ExpressionKind::String(text) => Typed::known(Type::String, Value::String(text.clone())),
            ExpressionKind::Name(path) => self.name(path, want),
            ExpressionKind::This if self.in_initializer => Typed::default(),
            ExpressionKind::This => {
                fail!(self, span, "`this` is for the methods that an instance has in braces")
            }
            ExpressionKind::Type(of) => {
                let of = self.type_reference(of);
                if !of.is_wrong() {
                    let error = error!(self, span, "`{of}` is a type, and a value belongs here");
                    if of.is_object() {
                        error.help(format!("`{of}(...)` makes one"));
                    }
                }
                Typed::default()
            }
            ExpressionKind::Member(of, member) => self.member(of, member),
            ExpressionKind::Index(of, index) => self.index(of, index),
            ExpressionKind::Slice { value, high, low } => self.slice([value, high, low], span),
            ExpressionKind::Part { value, low, width } => self.part([value, low, width], span),
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand, span),
            ExpressionKind::Binary(operator, left, right) => {
                let typed = self.expression(left, None);
                self.operation(*operator, span, (left, typed), right)
            }
            ExpressionKind::Choice { condition, then, otherwise } => {
                self.choice([condition, then, otherwise], want)
            }
            ExpressionKind::Cast(of, value) => {
                let of = self.type_reference(of);
                self.cast(&of, value, span)
            }
            ExpressionKind::Call { callee, types, arguments } => {
                self.call(Site { id: expression.id, span, types, arguments, want }, callee)
            }
            ExpressionKind::List { items, defaults } => self.list(items, *defaults, want, span),
            ExpressionKind::Record { fields, defaults } => self.record(fields, *defaults, want, span),
            ExpressionKind::Default => self.default_value(want, span),
            ExpressionKind::Invalid => self.invalid(want, span),
            ExpressionKind::Any | ExpressionKind::Mask(..) | ExpressionKind::Range(..) => {
                fail!(self, span, "this belongs to the keys of `select`, tables and entries only")
            }
            ExpressionKind::Wrong => Typed::default(),
        }
    }

    /// A number as it is written (section 6.4.3.2).
    fn number(&mut self, number: &Number, span: Span) -> Typed {
        match number.width {
            None => Typed::known(Type::Integer, Value::Number(number.value.clone())),
            Some((width, signed)) => self.of_width(&number.value, Type::Bits { width, signed }, span),
        }
    }

    /// A number of a type; warns of bits that the type does not have (section 8.11.2).
    fn of_width(&mut self, number: &num_bigint::BigInt, of: Type, span: Span) -> Typed {
        if !fits(number, &of) {
            self.warning(span, format!("{number} does not fit into {of}: its upper bits are lost"));
        }
        let value = Value::Number(wrap(number, &of));
        Typed::known(of, value)
    }

    /// A name that stands for a value (section 6.9).
    fn name(&mut self, path: &Path, want: Option<&Type>) -> Typed {
        let (name, span) = (&path.ident.name, path.ident.span);
        let Some(found) = self.find(path).cloned() else {
            if self.match_kinds.contains(name) {
                return Typed::known(Type::MatchKind, Value::Member(name.clone()));
            }
            return self.no_name(path, want);
        };
        match found.entity {
            Entity::Value(typed) => typed,
            Entity::Action(_) => Typed::of(Type::Action),
            Entity::Table(_) => Typed::of(Type::Table),
            Entity::Functions(_) => fail!(self, span, "`{name}` is a function: its arguments are missing"),
            Entity::State => fail!(self, span, "`{name}` is a state, not a value"),
            Entity::Type(..) | Entity::Object(_) => {
                fail!(self, span, "`{name}` is a type, and a value belongs here")
            }
        }
    }

    /// Tells that a name is not declared; `want` is the type that fits its place.
    pub fn no_name(&mut self, path: &Path, want: Option<&Type>) -> Typed {
        let name = &path.ident.name;
        let near = self.similar(name, |entity| !matches!(entity, Entity::Type(..)));
        // `ipv4` instead of `hdr.ipv4`, `crc16` instead of `HashAlgorithm.crc16`.
        let parts = |found: &Found<'t>| match &found.entity {
            Entity::Value(Typed { of: Type::Composite(of), .. }) => of.field(name).is_some(),
            Entity::Type(_, of @ Type::Enum(one)) => {
                want == Some(of) && one.members.iter().any(|(member, _)| member == name)
            }
            _ => false,
        };
        let wholes = self.scopes.iter().filter(|(_, found)| parts(found));
        let whole = wholes.max_by_key(|(_, found)| found.span).map(|(one, _)| one.clone());
        let is_macro = name.chars().all(|one| matches!(one, 'A'..='Z' | '0'..='9' | '_'));
        let error = error!(self, path.ident.span, "`{name}` is not declared");
        match (cure_of(name), whole) {
            (Some(cure), _) => error.help(cure),
            (None, Some(whole)) => error.help(format!("`{whole}.{name}` may be meant")),
            (None, None) if is_macro && near.is_none() => error.help(format!("a macro: `-D {name}=VALUE`")),
            (None, None) => error.meant(near),
        };
        Typed::default()
    }

    /// The value of an expression that belongs where a value of type `want` does.
    pub fn value_of(&mut self, expression: &'t Expression, want: &Type) -> Typed {
        let typed = self.expression(expression, Some(want));
        self.coerce(expression, typed, want)
    }

    /// As [`Self::value_of`], for a value that must be known before the program runs (section 18.1).
    pub fn constant_of(&mut self, expression: &'t Expression, want: &Type, message: &str) -> Typed {
        let typed = self.value_of(expression, want);
        if typed.varies() {
            self.error(expression.span, message);
        }
        typed
    }

    /// Converts without a cast where P4 does (sections 8.11.2, 8.23), and else tells that the types differ.
    pub fn coerce(&mut self, expression: &'t Expression, typed: Typed, want: &Type) -> Typed {
        let (of, want) = (typed.of.known().clone(), want.known().clone());
        let base = if let Type::New(new) = &want { &new.of } else { &want };
        if of == Type::Integer && want.underlying().is_bits() && base.enum_values().is_none() {
            return self.give_width(expression, &typed, want);
        }
        if want == Type::Integer && of.is_bits() && typed.value.is_some() {
            return Typed { of: want, ..typed };
        }
        if of.unify(&want) {
            return typed;
        }
        if matches!(want, Type::Bits { .. } | Type::New(_)) && of.enum_values() == Some(&want) {
            self.facts.conversions.insert(expression.id, want.clone());
            return Typed { of: want, writable: false, ..typed };
        }
        self.mismatch(expression.span, &of, &want);
        Typed::default()
    }

    /// Makes a number without a width one with the width that its place has (section 8.11.2).
    fn give_width(&mut self, expression: &'t Expression, typed: &Typed, want: Type) -> Typed {
        self.facts.conversions.insert(expression.id, want.clone());
        let Some(number) = typed.number() else { return Typed::new(want, None, typed.is_constant) };
        let given = self.of_width(number, want, expression.span);
        self.facts.values.extend(given.value.clone().map(|value| (expression.id, value)));
        Typed { is_constant: typed.is_constant, ..given }
    }

    /// As [`Type::unify`], with a message if the types are not one.
    pub fn same_type(&mut self, span: Span, found: &Type, want: &Type) {
        if !found.unify(want) {
            self.mismatch(span, found, want);
        }
    }

    pub fn mismatch(&mut self, span: Span, found: &Type, want: &Type) {
        let error = error!(self, span, "expected {want}, found {found}");
        if found.underlying().is_number() && want.underlying().is_number() {
            error.help(format!("a cast converts: `({want}) ...`"));
        } else if *want.known() == Type::Bool {
            error.help = condition_of(found).map(str::to_owned);
        }
    }
}

/// The condition that was meant probably by a value of another type than bool.
pub fn condition_of(value: &Type) -> Option<&'static str> {
    match value.underlying() {
        Type::Integer => Some("the values of bool are `true` and `false`"),
        Type::Bits { .. } => Some("a number is compared: `x != 0`"),
        Type::Applied => Some("`.hit` says whether an entry matched"),
        of if of.is_header() => Some("`.isValid()` says whether the header is there"),
        _ => None,
    }
}
