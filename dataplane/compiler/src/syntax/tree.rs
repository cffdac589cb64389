//! The program as it is written: each declaration, statement and expression with its place.

use std::fmt;
use std::rc::Rc;

use num_bigint::BigInt;

use crate::source::{Name, Span};
use crate::token::Token;

/// A name where it is written.
#[derive(Clone)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

impl fmt::Display for Ident {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// A name that is used; `.name` looks outside of all blocks.
pub struct Path {
    pub absolute: bool,
    pub ident: Ident,
}

/// `@name`, `@name(...)` or `@name[...]`.
#[derive(Clone)]
pub struct Annotation {
    pub name: Ident,
    /// The words between parentheses; `None` without them.
    pub body: Option<Vec<Token>>,
    /// The values between brackets, or of `@field_list(...)`, `@pkginfo(...)`, `@platform_property(...)`.
    pub values: Option<Rc<[Argument]>>,
    /// Whether the values are in brackets (section 20.2).
    pub structured: bool,
}

/// A declaration of any kind.
pub struct Declaration {
    pub annotations: Vec<Annotation>,
    /// `error` and `match_kind` for declarations of their members.
    pub ident: Ident,
    pub kind: DeclarationKind,
    pub span: Span,
}

/// The kinds of declarations. An `Instance` is `Type(arguments) name = { initializer };`. A `Function`
/// without a body is an extern function. `Members` are those of `error` or `match_kind`. `NewType` is `type`:
/// a new type with the values of another.
pub enum DeclarationKind {
    Constant { of: Type, value: Expression },
    Variable { of: Type, value: Option<Expression> },
    Instance { of: Type, arguments: Vec<Argument>, initializer: Option<Vec<Declaration>> },
    Function { signature: Signature, body: Option<Block> },
    Extern { type_parameters: Vec<Ident>, methods: Vec<Method> },
    Action { parameters: Vec<Parameter>, body: Block },
    Applicable(ObjectKind, Applicable),
    Composite { shape: Shape, type_parameters: Vec<Ident>, fields: Vec<Field> },
    Enum { of: Option<Type>, members: Vec<Member> },
    Members(Vec<Member>),
    Typedef(Aliased),
    NewType(Type),
    ValueSet { of: Type, size: Expression },
    Table(Table),
}

/// The kinds of declarations that instances are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    Extern,
    Parser,
    Control,
    ParserType,
    ControlType,
    Package,
}

/// A parser, control or package, or the type of some: a parser has states, a control has statements.
pub struct Applicable {
    pub head: Head,
    pub constructor: Vec<Parameter>,
    pub locals: Vec<Declaration>,
    pub states: Vec<State>,
    pub apply: Block,
}

/// The kinds of types with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Header,
    Union,
    Struct,
}

impl Shape {
    pub const ALL: [(Shape, &'static str); 3] =
        [(Shape::Header, "header"), (Shape::Union, "header_union"), (Shape::Struct, "struct")];

    /// The word that declares it.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(one, _)| *one == self).map_or("", |(_, word)| word)
    }
}

/// The type of a `typedef`: another type, or one that is declared in the same place.
pub enum Aliased {
    Type(Type),
    Declared(Box<Declaration>),
}

/// The first annotation of a name.
pub fn annotated<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|one| &*one.name.name == name)
}

/// Type parameters and parameters.
pub struct Head {
    pub type_parameters: Vec<Ident>,
    pub parameters: Vec<Parameter>,
}

pub struct Signature {
    /// `None` for a constructor.
    pub returns: Option<Type>,
    pub head: Head,
}

/// A method of an extern.
pub struct Method {
    pub annotations: Vec<Annotation>,
    pub ident: Ident,
    pub is_abstract: bool,
    pub signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    None,
    In,
    Out,
    InOut,
}

pub struct Parameter {
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    pub of: Type,
    pub ident: Ident,
    pub default: Option<Expression>,
}

pub struct Field {
    pub annotations: Vec<Annotation>,
    pub of: Type,
    pub ident: Ident,
}

/// A member of an enum, of `error` or of `match_kind`.
pub struct Member {
    pub ident: Ident,
    pub value: Option<Expression>,
}

pub struct Type {
    pub id: NodeId,
    pub kind: TypeKind,
    pub span: Span,
}

/// The kinds of written types. `Integer` is `int` without a width, `Bits` are `bit<width>` and, if signed,
/// `int<width>`. An `Array` is `element[size]`: a stack of headers, or an array. `Any` is `_`: to be
/// inferred.
pub enum TypeKind {
    Void,
    Bool,
    Error,
    String,
    MatchKind,
    Integer,
    Bits { signed: bool, width: Box<Expression> },
    Varbit(Box<Expression>),
    Named(Path),
    Specialized(Path, Vec<Type>),
    Array(Box<Type>, Box<Expression>),
    Tuple(Vec<Type>),
    List(Box<Type>),
    Any,
}

/// Tells expressions and types apart, for what later stages know about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

pub struct Expression {
    pub id: NodeId,
    pub kind: ExpressionKind,
    pub span: Span,
}

/// The kinds of expressions:
///
/// - `Type` is a type in front of a member: `Suits.Clubs`, `error.NoMatch`;
/// - `Slice` is `value[high:low]`, `Part` is `value[low+:width]`, `Choice` is `condition ? then : otherwise`;
/// - `List` is `{a, b}`, `Record` is `{x = a, y = b}`, and `...` is behind either if `defaults`; `Default` is
///   `...` alone;
/// - `Invalid` is `{#}`: an invalid header;
/// - `Any` is `_` or `default`: it matches everything, or is an argument that is left out;
/// - `Mask` is `value &&& mask`, `Range` is `low .. high`;
/// - `Wrong` could not be read: there is a message already.
pub enum ExpressionKind {
    Bool(bool),
    Number(Number),
    String(Name),
    Name(Path),
    This,
    Type(Type),
    Member(Box<Expression>, Ident),
    Index(Box<Expression>, Box<Expression>),
    Slice { value: Box<Expression>, high: Box<Expression>, low: Box<Expression> },
    Part { value: Box<Expression>, low: Box<Expression>, width: Box<Expression> },
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Choice { condition: Box<Expression>, then: Box<Expression>, otherwise: Box<Expression> },
    Cast(Type, Box<Expression>),
    Call { callee: Box<Expression>, types: Vec<Type>, arguments: Vec<Argument> },
    List { items: Vec<Expression>, defaults: bool },
    Record { fields: Vec<(Ident, Expression)>, defaults: bool },
    Default,
    Invalid,
    Any,
    Mask(Box<Expression>, Box<Expression>),
    Range(Box<Expression>, Box<Expression>),
    Wrong,
}

/// A number as written: `8w255` has a width.
#[derive(PartialEq, Eq)]
pub struct Number {
    pub value: BigInt,
    /// Bits, and whether they are signed.
    pub width: Option<(u32, bool)>,
    /// The base in which it is written.
    pub base: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Complement,
    Minus,
    Plus,
}

/// Declares the operators of two sides, level by level: each binds more strongly than those above.
macro_rules! operators {
    ($($level:literal: $($name:ident $text:literal),+;)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Binary {
            $($($name),+),+
        }

        impl Binary {
            /// Each operator as it is written, and its level.
            pub const ALL: &'static [(&'static str, Binary, u8)] =
                &[$($(($text, Binary::$name, $level)),+),+];
        }
    };
}

operators! {
    0: Or "||";
    1: And "&&";
    2: Equal "==", NotEqual "!=";
    3: Less "<", Greater ">", LessOrEqual "<=", GreaterOrEqual ">=";
    4: BitOr "|";
    5: BitXor "^";
    6: BitAnd "&";
    7: ShiftLeft "<<", ShiftRight ">>";
    8: Concatenate "++", Add "+", Subtract "-", AddSaturating "|+|", SubtractSaturating "|-|";
    9: Multiply "*", Divide "/", Modulo "%";
}

/// An argument of a call; `name = value` names its parameter.
pub struct Argument {
    pub ident: Option<Ident>,
    pub value: Expression,
}

pub type Block = Vec<Statement>;

pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

/// The kinds of statements. An `Assign` with an operator is `left += right`; `ForIn` is `for (Type name in
/// items)`.
pub enum StatementKind {
    Empty,
    Assign { left: Expression, operator: Option<Binary>, right: Expression },
    Call(Expression),
    Block(Block),
    If { condition: Expression, then: Box<Statement>, otherwise: Option<Box<Statement>> },
    Switch { on: Expression, cases: Vec<Case> },
    For { start: Vec<Statement>, condition: Expression, step: Vec<Statement>, body: Box<Statement> },
    ForIn { of: Type, ident: Ident, items: Expression, body: Box<Statement> },
    Return(Option<Expression>),
    Exit,
    Break,
    Continue,
    Declaration(Declaration),
}

/// `label:` with a block, or without one: then the next one's.
pub struct Case {
    /// [`ExpressionKind::Any`] for `default`.
    pub label: Expression,
    pub body: Option<Block>,
}

/// A state of a parser.
pub struct State {
    pub ident: Ident,
    pub statements: Vec<Statement>,
    pub transition: Transition,
    pub span: Span,
}

/// The end of a state; if none is written, the packet is rejected.
pub enum Transition {
    Missing,
    To(Ident),
    Select { on: Vec<Expression>, cases: Vec<SelectCase>, span: Span },
}

pub struct SelectCase {
    /// One key for all expressions of the `select` together, or one for each.
    pub keys: Vec<Expression>,
    pub target: Ident,
    pub span: Span,
}

#[derive(Default)]
pub struct Table {
    pub keys: Vec<Key>,
    /// The place of the property `key`.
    pub key_span: Option<Span>,
    pub actions: Vec<ActionReference>,
    /// The place of the property `actions`.
    pub actions_span: Option<Span>,
    pub entries: Option<Entries>,
    /// `default_action`, `size`, and those of the architecture.
    pub properties: Vec<Property>,
}

pub struct Key {
    pub value: Expression,
    pub match_kind: Ident,
    pub annotations: Vec<Annotation>,
}

pub struct ActionReference {
    pub annotations: Vec<Annotation>,
    pub path: Path,
    pub arguments: Option<Vec<Argument>>,
    pub span: Span,
}

pub struct Entries {
    pub constant: bool,
    pub list: Vec<Entry>,
    pub span: Span,
}

pub struct Entry {
    /// Stands for the call of the action.
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub priority: Option<Expression>,
    pub keys: Vec<Expression>,
    pub action: ActionReference,
    pub span: Span,
}

pub struct Property {
    pub annotations: Vec<Annotation>,
    pub constant: bool,
    pub ident: Ident,
    pub value: Expression,
}
