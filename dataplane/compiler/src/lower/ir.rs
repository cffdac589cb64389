//! The program after lowering: one parser, two controls, actions without calls, fields instead of variables.
//!
//! Every name is resolved, every function, control and parser inlined. Statements are still nested: the
//! backend makes its graphs of them.

use num_bigint::BigInt;

use crate::check::types::Type;
use crate::source::{Name, Span};
use crate::syntax::tree::Annotation;

pub type HeaderId = usize;
pub type StackId = usize;

#[derive(Default)]
pub struct Program {
    pub header_types: Vec<HeaderType>,
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub unions: Vec<Union>,
    pub errors: Vec<Name>,
    pub states: Vec<State>,
    /// The state in which the parser begins.
    pub first: usize,
    pub value_sets: Vec<ValueSet>,
    pub ingress: Control,
    pub egress: Control,
    /// The operations that the deparser runs before it emits.
    pub deparser: Control,
    /// The headers that it emits.
    pub emitted: Vec<HeaderId>,
    pub actions: Vec<Action>,
    /// The actions that controls call without a table, as the control plane knows them.
    pub called: Vec<Action>,
    pub tables: Vec<Table>,
    pub arrays: Vec<Array>,
    pub profiles: Vec<Profile>,
    pub digests: Vec<FieldList>,
    pub field_lists: Vec<FieldList>,
    pub calculations: Vec<Calculation>,
    pub checksums: Vec<Checksum>,
}

impl Program {
    /// The number of the type of a header.
    pub fn type_of(&self, header: &HeaderRef) -> usize {
        self.headers[self.similar(header)].of
    }

    /// In bits.
    pub fn width(&self, field: &FieldRef) -> u32 {
        self.header_types[self.type_of(&field.header)].fields[field.field].width
    }

    /// A header or union of the same type.
    fn similar(&self, of: &HeaderRef) -> usize {
        match of {
            HeaderRef::Fixed(id) => *id,
            HeaderRef::Element(stack, _) | HeaderRef::Next(stack) | HeaderRef::Last(stack) => {
                self.stacks[*stack].elements[0]
            }
            HeaderRef::Member(stack, member) => {
                self.unions[self.stacks[*stack].elements[0]].members[*member].1
            }
        }
    }
}

/// Adds an object, and gives its number.
pub fn add<T>(objects: &mut Vec<T>, object: T) -> usize {
    objects.push(object);
    objects.len() - 1
}

#[derive(Default)]
pub struct Control {
    pub span: Span,
    pub body: Vec<Statement>,
}

#[derive(Clone)]
pub struct HeaderType {
    pub name: String,
    pub fields: Vec<HeaderField>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HeaderField {
    pub name: String,
    /// In bits; the most for a varbit field.
    pub width: u32,
    pub signed: bool,
    pub varbit: bool,
}

pub struct Header {
    pub name: String,
    /// The number of its type.
    pub of: usize,
}

/// A stack of headers, or of unions.
pub struct Stack {
    pub name: String,
    pub of_unions: bool,
    /// The numbers of its headers or unions: there is one at least.
    pub elements: Vec<usize>,
}

pub struct Union {
    pub name: String,
    pub type_name: String,
    pub members: Vec<(Name, HeaderId)>,
}

/// A header or a union where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderRef {
    Fixed(usize),
    /// An element of a stack, by an index that is computed.
    Element(StackId, Box<Expr>),
    /// The element that is extracted next, in a parser.
    Next(StackId),
    Last(StackId),
    /// A header of the union that is extracted next.
    Member(StackId, usize),
}

/// A field where it is used: a header, and the number of the field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRef {
    pub header: HeaderRef,
    pub field: usize,
}

/// A value, or an argument of a primitive.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Of any size.
    Number(BigInt),
    Bool(bool),
    Field(FieldRef),
    /// Bits of a field: `field[high:low]`.
    Slice(FieldRef, u32, u32),
    /// A parameter of the action, by its number.
    Parameter(usize),
    Valid(HeaderRef),
    /// A number as a truth.
    ToBool(Box<Expr>),
    /// Bits of the packet behind the parser's place: offset and width.
    Lookahead(u32, u32),
    /// An operation of the target by its name, with one operand, two or three.
    Operation(&'static str, Vec<Expr>),
    Header(HeaderRef),
    Union(HeaderRef),
    Stack(StackId),
    /// An object of the target, or a text: the kind, and the name.
    Named(&'static str, String),
    Values(Vec<Expr>),
}

impl Expr {
    /// `!value`
    pub fn negated(self) -> Expr {
        Expr::Operation("not", vec![self])
    }

    /// A truth as a number.
    pub fn into_bit(self) -> Expr {
        Expr::Operation("b2d", vec![self])
    }
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// Whether nothing behind it is reached.
pub fn is_leave(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::Leave(_))
}

/// The end of something that is left early: of a control, an action, a loop's body.
pub type Label = usize;

#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A primitive of the target by its name, or a parser's operation.
    Operation(&'static str, Vec<Expr>),
    If(Expr, Vec<Statement>, Vec<Statement>),
    Apply {
        table: usize,
        then: Outcome,
    },
    /// Statements that `Leave` of the label ends.
    Labelled(Label, Vec<Statement>),
    Leave(Label),
    /// Statements that `Leave` of the label begins again: actions only.
    Again(Label, Vec<Statement>),
    Exit,
    /// A parser that a parser applies: its states are numbers of [`Program::states`].
    Parse {
        start: usize,
        accept: usize,
    },
}

/// Whether a primitive is that of an extern, not one for headers and fields.
pub fn is_extern(primitive: &str) -> bool {
    !primitive.starts_with("assign") && !["add_header", "remove_header", "push", "pop"].contains(&primitive)
}

/// Visits statements and those in them.
pub fn each_kind(statements: &[Statement], visit: &mut dyn FnMut(&StatementKind)) {
    for Statement { kind, .. } in statements {
        visit(kind);
        match kind {
            StatementKind::If(_, then, otherwise)
            | StatementKind::Apply { then: Outcome::Hit(then, otherwise), .. } => {
                each_kind(then, visit);
                each_kind(otherwise, visit);
            }
            StatementKind::Labelled(_, inner) | StatementKind::Again(_, inner) => each_kind(inner, visit),
            StatementKind::Apply { then: Outcome::Actions(cases, rest), .. } => {
                cases.iter().for_each(|(_, case)| each_kind(case, visit));
                each_kind(rest, visit);
            }
            _ => {}
        }
    }
}

/// The way on after a table is applied.
#[derive(Clone, Debug)]
pub enum Outcome {
    Same,
    Hit(Vec<Statement>, Vec<Statement>),
    /// By action; the last for all others.
    Actions(Vec<(usize, Vec<Statement>)>, Vec<Statement>),
}

pub struct State {
    pub name: String,
    pub body: Vec<Statement>,
    pub key: Vec<(Expr, u32)>,
    pub cases: Vec<Case>,
    pub span: Span,
}

pub struct Case {
    pub pattern: Pattern,
    /// The state that comes next; `None` at the end.
    pub next: Option<usize>,
}

pub enum Pattern {
    Any,
    /// Value and mask of each part of the key.
    Bits(Vec<(BigInt, BigInt)>),
    /// A value set by its name.
    ValueSet(Name),
}

pub struct ValueSet {
    pub head: Head,
    pub size: u32,
    pub of: Type,
}

/// The place of an object in the program, as p4c orders them: its block of the package, and in each control
/// around the number of its declaration. Objects of an inlined control are where it is instantiated.
pub type Order = Vec<usize>;

/// The head of an object that the control plane knows.
#[derive(Clone, Default)]
pub struct Head {
    pub name: String,
    /// Empty for an action outside of all controls.
    pub order: Order,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

pub struct Action {
    pub head: Head,
    pub parameters: Vec<ActionParameter>,
    pub body: Vec<Statement>,
}

pub struct ActionParameter {
    pub name: Name,
    pub of: Type,
    pub annotations: Vec<Annotation>,
}

pub struct Key {
    pub name: String,
    pub kind: Name,
    pub value: Expr,
    pub of: Type,
    pub annotations: Vec<Annotation>,
}

pub struct TableAction {
    pub action: usize,
    /// The action as it is written.
    pub written: Name,
    pub annotations: Vec<Annotation>,
}

pub struct ActionCall {
    pub action: usize,
    pub arguments: Vec<BigInt>,
}

pub struct Entry {
    pub keys: Vec<Match>,
    /// By the control plane's order (section 14.2.1.4).
    pub priority: Option<u64>,
    /// `@priority`, which p4c had before entries had priorities: BMv2's own order.
    pub annotated_priority: Option<u64>,
    pub call: ActionCall,
    pub span: Span,
}

/// A set of values (section 8.15).
pub enum Match {
    /// `_`
    Any,
    Value(BigInt),
    /// `value &&& mask`
    Mask(BigInt, BigInt),
    /// `low .. high`
    Range(BigInt, BigInt),
}

#[derive(Default)]
pub struct Table {
    pub head: Head,
    pub keys: Vec<Key>,
    pub actions: Vec<TableAction>,
    pub default: Option<ActionCall>,
    pub constant_default: bool,
    pub entries: Option<Vec<Entry>>,
    pub constant_entries: bool,
    pub size: u64,
    pub profile: Option<usize>,
    pub counter: Option<usize>,
    pub meter: Option<usize>,
    pub idle_timeout: bool,
}

impl Table {
    /// The number of an action by its name in the program.
    pub fn action(&self, written: &str) -> Option<usize> {
        self.actions.iter().find(|one| &*one.written == written).map(|one| one.action)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    Counter,
    Meter,
    Register,
}

impl ArrayKind {
    /// The target's name of the kind.
    pub fn word(self) -> &'static str {
        match self {
            ArrayKind::Counter => "counter_array",
            ArrayKind::Meter => "meter_array",
            ArrayKind::Register => "register_array",
        }
    }
}

/// The target's name of a calculation.
pub fn calculation_name(number: usize) -> String {
    format!("calc_{number}")
}

/// Counters, meters, registers.
pub struct Array {
    pub head: Head,
    pub kind: ArrayKind,
    /// `packets`, `bytes` or `packets_and_bytes` of counters and meters.
    pub unit: &'static str,
    pub size: u64,
    /// The direct ones are a table's.
    pub direct: bool,
    pub table: Option<usize>,
    /// The field that gets a direct meter's colour.
    pub result: Option<FieldRef>,
    pub element: Type,
}

/// An action profile, or an action selector with the calculation and fields by which it chooses.
pub struct Profile {
    pub head: Head,
    pub size: u64,
    pub selector: Option<(&'static str, Vec<Expr>)>,
}

pub struct FieldList {
    pub name: String,
    pub order: Order,
    pub values: Vec<(Expr, u32)>,
    pub of: Type,
    pub span: Span,
}

pub struct Calculation {
    pub algorithm: &'static str,
    pub input: Vec<(Expr, u32)>,
    pub with_payload: bool,
    pub span: Span,
}

pub struct Checksum {
    pub target: FieldRef,
    pub calculation: usize,
    pub condition: Expr,
    pub verify: bool,
    pub span: Span,
}
