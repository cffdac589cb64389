//! The program after lowering: one parser, two controls, actions without calls, fields instead of variables.
//!
//! Every name is resolved, every function, control and parser inlined. Statements are still nested: the backend makes
//! its graphs of them.

use num_bigint::BigInt;

use crate::check::types::Type;
use crate::source::{Name, Span};
use crate::syntax::tree::{Annotation, Binary};

pub type HeaderId = usize;
pub type StackId = usize;
pub type UnionId = usize;

#[derive(Default)]
pub struct Program {
    pub header_types: Vec<HeaderType>,
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub unions: Vec<Union>,
    pub union_stacks: Vec<UnionStack>,
    pub errors: Vec<Name>,
    pub states: Vec<State>,
    /// The state in which the parser begins.
    pub first: usize,
    pub value_sets: Vec<ValueSet>,
    pub ingress: Control,
    pub egress: Control,
    pub deparser: Vec<HeaderId>,
    pub deparser_span: Option<Span>,
    pub actions: Vec<Action>,
    pub tables: Vec<Table>,
    pub arrays: Vec<Array>,
    pub profiles: Vec<Profile>,
    pub digests: Vec<FieldList>,
    pub field_lists: Vec<FieldList>,
    pub calculations: Vec<Calculation>,
    pub checksums: Vec<Checksum>,
}

#[derive(Default)]
pub struct Control {
    pub name: String,
    pub span: Option<Span>,
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
    pub of: usize,
    pub metadata: bool,
}

pub struct Stack {
    pub name: String,
    pub of: usize,
    pub headers: Vec<HeaderId>,
}

pub struct Union {
    pub name: String,
    pub type_name: String,
    pub members: Vec<(Name, HeaderId)>,
}

pub struct UnionStack {
    pub name: String,
    pub type_name: String,
    pub unions: Vec<UnionId>,
}

/// A header where it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderRef {
    Fixed(HeaderId),
    /// An element of a stack, by an index that is computed.
    Element(StackId, Box<Expr>),
    /// The element that is extracted next, in a parser.
    Next(StackId),
    Last(StackId),
    /// A member of an element of a stack of unions.
    Member(UnionRef, usize),
}

#[derive(Clone, Debug, PartialEq)]
pub enum UnionRef {
    Fixed(UnionId),
    Element(usize, Box<Expr>),
    Next(usize),
    Last(usize),
}

/// A field where it is used: a header, and the number of the field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldRef {
    pub header: HeaderRef,
    pub field: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Number(BigInt),
    Bool(bool),
    Field(FieldRef),
    /// A parameter of the action, by its number.
    Parameter(usize),
    Valid(HeaderRef),
    UnionValid(UnionRef),
    Not(Box<Expr>),
    Complement(Box<Expr>),
    /// `left operator right`, of any size.
    Binary(Binary, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The low bits of a number.
    Wrap(Box<Expr>, u32, bool),
    /// The nearest number that has so many bits.
    Clamp(Box<Expr>, u32, bool),
    FromBool(Box<Expr>),
    ToBool(Box<Expr>),
    /// Bits of the packet behind the parser's place: offset and width.
    Lookahead(u32, u32),
    LastIndex(StackId),
}

impl Expr {
    /// Whether `test` holds for it or a part of it.
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        test(self)
            || match self {
                Expr::Not(a) | Expr::Complement(a) | Expr::Wrap(a, ..) | Expr::Clamp(a, ..) => a.any(test),
                Expr::FromBool(a) | Expr::ToBool(a) => a.any(test),
                Expr::Binary(_, a, b) => a.any(test) || b.any(test),
                Expr::Choice(a, b, c) => a.any(test) || b.any(test) || c.any(test),
                Expr::Field(FieldRef { header: HeaderRef::Element(_, index), .. })
                | Expr::Valid(HeaderRef::Element(_, index)) => index.any(test),
                _ => false,
            }
    }
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// The end of something that is left early: of a control, an action, a loop's body.
pub type Label = usize;

#[derive(Clone, Debug)]
pub enum StatementKind {
    Operation(Operation),
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

/// The way on after a table is applied.
#[derive(Clone, Debug)]
pub enum Outcome {
    Same,
    Hit(Vec<Statement>, Vec<Statement>),
    /// By action; the last for all others.
    Actions(Vec<(usize, Vec<Statement>)>, Vec<Statement>),
}

#[derive(Clone, Debug)]
pub enum Operation {
    Assign(FieldRef, Expr),
    /// A varbit field from another.
    AssignVarbit(FieldRef, FieldRef),
    AssignHeader(HeaderRef, HeaderRef),
    AssignUnion(UnionRef, UnionRef),
    AssignStack(StackId, StackId),
    AssignUnionStack(usize, usize),
    SetValid(HeaderRef),
    SetInvalid(HeaderRef),
    Push(StackId, u32),
    Pop(StackId, u32),
    Extract(HeaderRef),
    ExtractVarbit(HeaderRef, Expr),
    Advance(Expr),
    Verify(Expr, Expr),
    /// A primitive of the target, by its name.
    Primitive(&'static str, Vec<Argument>),
}

#[derive(Clone, Debug)]
pub enum Argument {
    Value(Expr),
    Field(FieldRef),
    Header(HeaderId),
    /// A counter, meter or register by its number in [`Program::arrays`].
    Array(usize),
    Calculation(usize),
    /// The id of a field list or digest.
    Number(u32),
    Text(Name),
    Values(Vec<Expr>),
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
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    State(usize),
    Accept,
    Reject,
}

pub enum Pattern {
    Any,
    /// Value and mask of each part of the key.
    Bits(Vec<(BigInt, BigInt)>),
    ValueSet(usize),
}

pub struct ValueSet {
    pub name: String,
    pub size: u32,
    pub annotations: Vec<Annotation>,
    pub of: Type,
    pub span: Span,
}

pub struct Action {
    pub name: String,
    pub parameters: Vec<ActionParameter>,
    pub body: Vec<Statement>,
    pub span: Span,
    /// Made by the compiler: the control plane does not see it.
    pub hidden: bool,
    pub annotations: Vec<Annotation>,
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
    /// By the control plane's order (specification, section 14.2.1.4).
    pub priority: Option<u64>,
    /// `@priority`, which p4c had before entries had priorities: BMv2's own order.
    pub annotated_priority: Option<u64>,
    pub call: ActionCall,
    pub constant: bool,
    pub span: Span,
}

pub enum Match {
    Exact(BigInt),
    Ternary(BigInt, BigInt),
    Prefix(BigInt, u32),
    Range(BigInt, BigInt),
    Any,
}

pub struct Table {
    pub name: String,
    pub span: Span,
    pub hidden: bool,
    pub annotations: Vec<Annotation>,
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
    pub control: Gress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gress {
    Ingress,
    Egress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    Counter,
    Meter,
    Register { width: u32, signed: bool },
}

/// Counters, meters, registers.
pub struct Array {
    pub name: String,
    pub kind: ArrayKind,
    /// `packets`, `bytes` or `packets_and_bytes` of counters and meters.
    pub unit: Name,
    pub size: u64,
    /// The direct ones are a table's.
    pub direct: bool,
    pub table: Option<usize>,
    /// The field that gets a direct meter's colour.
    pub result: Option<FieldRef>,
    pub element: Type,
    pub index: Type,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

/// An action profile, or an action selector with the calculation and fields by which it chooses.
pub struct Profile {
    pub name: String,
    pub size: u64,
    pub selector: Option<(Name, Vec<Expr>)>,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

pub struct FieldList {
    pub name: String,
    pub values: Vec<(Expr, u32)>,
    pub of: Type,
    pub span: Span,
}

pub struct Calculation {
    pub algorithm: Name,
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
