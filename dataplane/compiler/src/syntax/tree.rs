//! The program as it is written: each declaration, statement and expression with its place.

use num_bigint::BigInt;

use crate::source::{Name, Span};
use crate::token::Token;

/// A name where it is written.
#[derive(Clone, Debug)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

/// A name that is used; `.name` looks outside of all blocks.
#[derive(Clone, Debug)]
pub struct Path {
    pub absolute: bool,
    pub ident: Ident,
}

/// `@name`, `@name(...)` or `@name[...]`.
#[derive(Clone, Debug)]
pub struct Annotation {
    pub name: Ident,
    /// The words between the parentheses or brackets; `None` without them.
    pub body: Option<Vec<Token>>,
    /// Whether the body is in brackets: structured (specification, section 20.2).
    pub structured: bool,
}

/// A declaration of any kind.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub annotations: Vec<Annotation>,
    /// `error` and `match_kind` for declarations of their members.
    pub ident: Ident,
    pub kind: DeclarationKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum DeclarationKind {
    Constant {
        of: Type,
        value: Expression,
    },
    Variable {
        of: Type,
        value: Option<Expression>,
    },
    /// `Type(arguments) name = { initializer };`
    Instance {
        of: Type,
        arguments: Vec<Argument>,
        initializer: Option<Vec<Declaration>>,
    },
    /// A function of P4 code, or an extern function: without a body.
    Function {
        signature: Signature,
        body: Option<Block>,
    },
    Extern {
        type_parameters: Vec<Ident>,
        methods: Vec<Method>,
    },
    Action {
        parameters: Vec<Parameter>,
        body: Block,
    },
    Parser {
        head: Head,
        constructor: Vec<Parameter>,
        locals: Vec<Declaration>,
        states: Vec<State>,
    },
    Control {
        head: Head,
        constructor: Vec<Parameter>,
        locals: Vec<Declaration>,
        apply: Block,
    },
    ParserType(Head),
    ControlType(Head),
    Package(Head),
    Composite {
        shape: Shape,
        type_parameters: Vec<Ident>,
        fields: Vec<Field>,
    },
    Enum {
        of: Option<Type>,
        members: Vec<Member>,
    },
    Error {
        members: Vec<Member>,
    },
    MatchKind {
        members: Vec<Member>,
    },
    Typedef(Aliased),
    /// `type`: a new type with the values of another.
    NewType(Type),
    ValueSet {
        of: Type,
        size: Expression,
    },
    Table(Table),
}

/// The kinds of types with fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Header,
    Union,
    Struct,
}

/// The type of a `typedef`: another type, or one that is declared in the same place.
#[derive(Clone, Debug)]
pub enum Aliased {
    Type(Type),
    Declared(Box<Declaration>),
}

/// Type parameters and parameters.
#[derive(Clone, Debug)]
pub struct Head {
    pub type_parameters: Vec<Ident>,
    pub parameters: Vec<Parameter>,
}

#[derive(Clone, Debug)]
pub struct Signature {
    /// `None` for a constructor.
    pub returns: Option<Type>,
    pub head: Head,
}

/// A method of an extern.
#[derive(Clone, Debug)]
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

#[derive(Clone, Debug)]
pub struct Parameter {
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    pub of: Type,
    pub ident: Ident,
    pub default: Option<Expression>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub annotations: Vec<Annotation>,
    pub of: Type,
    pub ident: Ident,
}

/// A member of an enum, of `error` or of `match_kind`.
#[derive(Clone, Debug)]
pub struct Member {
    pub annotations: Vec<Annotation>,
    pub ident: Ident,
    pub value: Option<Expression>,
}

#[derive(Clone, Debug)]
pub struct Type {
    pub id: NodeId,
    pub kind: TypeKind,
    pub span: Span,
}

impl Type {
    /// Whether a part of the type is `_`.
    #[must_use]
    pub fn has_any(&self) -> bool {
        match &self.kind {
            TypeKind::Any => true,
            TypeKind::Specialized(_, types) | TypeKind::Tuple(types) => types.iter().any(Type::has_any),
            TypeKind::List(of) | TypeKind::Array(of, _) => of.has_any(),
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub enum TypeKind {
    Void,
    Bool,
    Error,
    String,
    MatchKind,
    /// `int` without a width.
    Integer,
    /// `bit<width>`, and `int<width>` if signed.
    Bits {
        signed: bool,
        width: Box<Expression>,
    },
    Varbit(Box<Expression>),
    Named(Path),
    Specialized(Path, Vec<Type>),
    /// `element[size]`: a stack of headers, or an array.
    Array(Box<Type>, Box<Expression>),
    Tuple(Vec<Type>),
    List(Box<Type>),
    /// `_`: to be inferred.
    Any,
}

/// Tells expressions and types apart, for what later stages know about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

#[derive(Clone, Debug)]
pub struct Expression {
    pub id: NodeId,
    pub kind: ExpressionKind,
    pub span: Span,
}

impl Expression {
    /// Whether two expressions are the same but for their places, as far as names, members, numbers and lists go.
    #[must_use]
    pub fn is_like(&self, other: &Expression) -> bool {
        match (&self.kind, &other.kind) {
            (ExpressionKind::Name(one), ExpressionKind::Name(other)) => one.ident.name == other.ident.name,
            (ExpressionKind::Number(one), ExpressionKind::Number(other)) => one == other,
            (ExpressionKind::Member(of, one), ExpressionKind::Member(other_of, other)) => {
                one.name == other.name && of.is_like(other_of)
            }
            (ExpressionKind::Record { fields, .. }, ExpressionKind::Record { fields: others, .. }) => {
                let like = |(one, value): &(Ident, Expression)| {
                    others.iter().any(|(other, same)| one.name == other.name && value.is_like(same))
                };
                fields.len() == others.len() && fields.iter().all(like)
            }
            (
                ExpressionKind::Call { callee: one, arguments, .. },
                ExpressionKind::Call { callee: other, arguments: others, .. },
            ) => {
                one.is_like(other)
                    && arguments.iter().zip(others).all(|(one, other)| one.value.is_like(&other.value))
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

#[derive(Clone, Debug)]
pub enum ExpressionKind {
    Bool(bool),
    Number(Number),
    String(Name),
    Name(Path),
    This,
    /// A type in front of a member: `Suits.Clubs`, `error.NoMatch`.
    Type(Type),
    Member(Box<Expression>, Ident),
    Index(Box<Expression>, Box<Expression>),
    /// `value[high:low]`
    Slice {
        value: Box<Expression>,
        high: Box<Expression>,
        low: Box<Expression>,
    },
    /// `value[low+:width]`
    Part {
        value: Box<Expression>,
        low: Box<Expression>,
        width: Box<Expression>,
    },
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `condition ? then : otherwise`
    Choice {
        condition: Box<Expression>,
        then: Box<Expression>,
        otherwise: Box<Expression>,
    },
    Cast(Type, Box<Expression>),
    Call {
        callee: Box<Expression>,
        types: Vec<Type>,
        arguments: Vec<Argument>,
    },
    /// `{a, b}`, or `{a, ...}` with `defaults`.
    List {
        items: Vec<Expression>,
        defaults: bool,
    },
    /// `{x = a, y = b}`, or `{x = a, ...}` with `defaults`.
    Record {
        fields: Vec<(Ident, Expression)>,
        defaults: bool,
    },
    /// `...` alone: the default value.
    Default,
    /// `{#}`: an invalid header.
    Invalid,
    /// `_` or `default`: matches everything, or an argument that is left out.
    Any,
    /// `value &&& mask`
    Mask(Box<Expression>, Box<Expression>),
    /// `low .. high`
    Range(Box<Expression>, Box<Expression>),
    /// Could not be read: there is a message already.
    Wrong,
}

/// A number as written: `8w255` has a width.
#[derive(Clone, Debug, PartialEq, Eq)]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Multiply,
    Divide,
    Modulo,
    Add,
    Subtract,
    AddSaturating,
    SubtractSaturating,
    ShiftLeft,
    ShiftRight,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
    Equal,
    NotEqual,
    BitAnd,
    BitXor,
    BitOr,
    Concatenate,
    And,
    Or,
}

/// An argument of a call; `name = value` names its parameter.
#[derive(Clone, Debug)]
pub struct Argument {
    pub ident: Option<Ident>,
    pub value: Expression,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub annotations: Vec<Annotation>,
    pub statements: Vec<Statement>,
    /// From `{` to `}`.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum StatementKind {
    Empty,
    /// `left = right`, or `left += right` with an operator.
    Assign {
        left: Expression,
        operator: Option<Binary>,
        right: Expression,
    },
    Call(Expression),
    Block(Block),
    If {
        condition: Expression,
        then: Box<Statement>,
        otherwise: Option<Box<Statement>>,
    },
    Switch {
        on: Expression,
        cases: Vec<Case>,
    },
    For {
        start: Vec<Statement>,
        condition: Expression,
        step: Vec<Statement>,
        body: Box<Statement>,
    },
    /// `for (Type name in items)`
    ForIn {
        of: Type,
        ident: Ident,
        items: Expression,
        body: Box<Statement>,
    },
    Return(Option<Expression>),
    Exit,
    Break,
    Continue,
    Declaration(Declaration),
}

/// `label:` with a block, or without one: then the next one's.
#[derive(Clone, Debug)]
pub struct Case {
    /// [`ExpressionKind::Any`] for `default`.
    pub label: Expression,
    pub body: Option<Block>,
}

/// A state of a parser.
#[derive(Clone, Debug)]
pub struct State {
    pub annotations: Vec<Annotation>,
    pub ident: Ident,
    pub statements: Vec<Statement>,
    pub transition: Transition,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Transition {
    /// None is written: the packet is rejected.
    Missing,
    To(Ident),
    Select {
        on: Vec<Expression>,
        cases: Vec<SelectCase>,
        span: Span,
    },
}

#[derive(Clone, Debug)]
pub struct SelectCase {
    /// One key for all expressions of the `select` together, or one for each.
    pub keys: Vec<Expression>,
    pub target: Ident,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
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

#[derive(Clone, Debug)]
pub struct Key {
    pub value: Expression,
    pub match_kind: Ident,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
pub struct ActionReference {
    pub annotations: Vec<Annotation>,
    pub path: Path,
    pub arguments: Option<Vec<Argument>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Entries {
    pub constant: bool,
    pub list: Vec<Entry>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Entry {
    /// Stands for the call of the action.
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub constant: bool,
    pub priority: Option<Expression>,
    pub keys: Vec<Expression>,
    pub action: ActionReference,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Property {
    pub annotations: Vec<Annotation>,
    pub constant: bool,
    pub ident: Ident,
    pub value: Expression,
}
