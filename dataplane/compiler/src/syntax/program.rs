//! The outermost declarations: types, parsers, controls, packages (specification, sections 7.2, 13, 14, 16).

use super::cursor::{Parsed, Parser, Told};
use super::declaration::Declared;
use super::tree::{
    Declaration, DeclarationKind, Head, Ident, Member, Parameter, SelectCase, Shape, State, Transition,
};
use crate::token::Kind;

impl Parser<'_> {
    /// All declarations up to the end.
    pub fn program(&mut self) -> Vec<Declaration> {
        let mut found = Vec::new();
        while !self.at_end() {
            if self.eat(";") {
                continue;
            }
            let before = self.mark();
            self.begin();
            match self.declared(Self::outer) {
                Ok(declaration) => found.push(declaration),
                Err(Told) => {
                    self.recover();
                    if self.mark() == before || self.at("}") {
                        self.advance();
                    }
                }
            }
        }
        found
    }

    fn outer(&mut self) -> Declared {
        match &*self.text() {
            "const" => self.constant(),
            "extern" => self.extern_declaration(),
            "action" => self.action(),
            "parser" => self.applicable("a parser", Self::parser_body),
            "control" => self.applicable("a control", Self::control_body),
            "package" => self.package(),
            "header" | "header_union" | "struct" | "enum" => self.derived_type(),
            "error" | "match_kind" if self.ahead(1).is("{") => self.members_declaration(),
            "typedef" => self.typedef(),
            "type" if !self.ahead(1).is("(") => self.new_type(),
            "table" | "apply" => self.misplaced("a control"),
            "state" => self.misplaced("a parser"),
            _ if self.word().kind == Kind::Identifier || self.at(".") => self.function_or_instance(),
            _ => self.unexpected("a declaration"),
        }
    }

    fn misplaced<T>(&mut self, place: &str) -> Parsed<T> {
        self.refuse(self.span(), format!("`{}` belongs inside of {place}", self.text()))
    }

    fn function_or_instance(&mut self) -> Declared {
        if self.is_instance() {
            return self.variable_or_instance();
        }
        let is_function = self.sees(|parser| {
            parser.type_reference()?;
            parser.name("a function")?;
            Ok(parser.at("(") || parser.at("<"))
        });
        if is_function {
            return self.function();
        }
        if self.name_ahead(0) && !self.name_ahead(1) {
            return self.unexpected("a declaration");
        }
        let start = self.span();
        self.variable_or_instance()?;
        let span = start.to(self.last());
        self.diagnostics
            .error(span, "a variable belongs inside of a control, parser, action or function")
            .help("`const` makes a constant");
        Err(Told)
    }

    /// `header`, `header_union`, `struct` and `enum`, from the keyword.
    pub fn derived_type(&mut self) -> Declared {
        let word = self.advance().text;
        if &*word == "enum" {
            return self.enumeration();
        }
        let ident = self.new_name(&format!("a {word}"), true)?;
        let (type_parameters, fields) =
            self.scoped(|parser| Ok((parser.type_parameters()?, parser.fields(&word)?)))?;
        let shape = match &*word {
            "header" => Shape::Header,
            "struct" => Shape::Struct,
            _ => Shape::Union,
        };
        Ok((ident, DeclarationKind::Composite { shape, type_parameters, fields }))
    }

    fn enumeration(&mut self) -> Declared {
        let has_type = !self.name_ahead(0) || !self.ahead(1).is("{");
        let of = if has_type { Some(self.type_reference()?) } else { None };
        let ident = self.new_name("an enum", true)?;
        let members = self.members("the name of an enum")?;
        Ok((ident, DeclarationKind::Enum { of, members }))
    }

    /// `{ A, B = 2 }`
    fn members(&mut self, after: &str) -> Parsed<Vec<Member>> {
        self.expect("{", after)?;
        self.list("}", "a member", |parser| {
            let annotations = parser.annotations()?;
            let ident = parser.name("a member")?;
            Ok(Member { annotations, ident, value: parser.behind("=", Self::value)? })
        })
    }

    fn members_declaration(&mut self) -> Declared {
        let ident = self.keyword();
        let members = self.members(&format!("`{}`", ident.name))?;
        let is_error = &*ident.name == "error";
        let kind = if is_error {
            DeclarationKind::Error { members }
        } else {
            DeclarationKind::MatchKind { members }
        };
        Ok((ident, kind))
    }

    fn new_type(&mut self) -> Declared {
        self.advance();
        let of = self.type_reference()?;
        let ident = self.new_name("the new type", true)?;
        let of = self.arrays(of)?;
        self.semicolon("a type")?;
        Ok((ident, DeclarationKind::NewType(of)))
    }

    fn package(&mut self) -> Declared {
        self.advance();
        let ident = self.new_name("a package", true)?;
        let head = self.scoped(Self::head)?;
        self.semicolon("a package")?;
        Ok((ident, DeclarationKind::Package(head)))
    }

    /// A parser or control, or the type of some: a name, a head, parameters of the constructor if there are any.
    fn applicable(
        &mut self, what: &str,
        body: impl FnOnce(&mut Self, &Ident, Head, Vec<Parameter>) -> Parsed<DeclarationKind>,
    ) -> Declared {
        let is_parser = self.advance().is("parser");
        let ident = self.new_name(what, true)?;
        let kind = self.scoped(|parser| {
            let head = parser.head()?;
            let constructor = if parser.at("(") { parser.parameters()? } else { Vec::new() };
            if parser.eat(";") {
                let kind = if is_parser { DeclarationKind::ParserType } else { DeclarationKind::ControlType };
                return Ok(kind(head));
            }
            parser.expect("{", &format!("the parameters of {what}"))?;
            body(parser, &ident, head, constructor)
        })?;
        Ok((ident, kind))
    }

    fn parser_body(
        &mut self, ident: &Ident, head: Head, constructor: Vec<Parameter>,
    ) -> Parsed<DeclarationKind> {
        let (mut locals, mut states) = (Vec::new(), Vec::new());
        self.items(&format!("the states of parser `{}`", ident.name), |parser| {
            let annotations = parser.annotations()?;
            let read: fn(&mut Self) -> Declared = match &*parser.text() {
                "state" => {
                    let start = parser.span();
                    let (ident, statements, transition) = parser.state()?;
                    let span = start.to(parser.last());
                    states.push(State { annotations, ident, statements, transition, span });
                    return Ok(());
                }
                "value_set" => Self::value_set,
                "const" => Self::constant,
                "table" | "action" | "apply" => return parser.misplaced("a control"),
                _ if parser.declares() => Self::variable_or_instance,
                _ => return parser.unexpected("`state`, a variable or a constant"),
            };
            locals.push(parser.annotated(annotations, read)?);
            Ok(())
        })?;
        Ok(DeclarationKind::Parser { head, constructor, locals, states })
    }

    fn value_set(&mut self) -> Declared {
        self.advance();
        self.expect("<", "`value_set`")?;
        let of = self.type_reference()?;
        self.expect(">", "the type of a value set")?;
        let size = self.in_parentheses("the size of", "a value set")?;
        let ident = self.new_name("a value set", false)?;
        self.semicolon("a value set")?;
        Ok((ident, DeclarationKind::ValueSet { of, size }))
    }

    fn state(&mut self) -> Parsed<(Ident, Vec<super::tree::Statement>, Transition)> {
        self.advance();
        let ident = self.name("a state")?;
        self.expect("{", "the name of a state")?;
        let mut transition = Transition::Missing;
        let statements = self.scoped(|parser| {
            parser.items(&format!("the statements of state `{}`", ident.name), |parser| {
                if !parser.at("transition") {
                    return parser.statement().map(Some);
                }
                transition = parser.transition()?;
                if !parser.at("}") {
                    return parser.unexpected("`}`: a transition ends its state");
                }
                Ok(None)
            })
        })?;
        Ok((ident, statements.into_iter().flatten().collect(), transition))
    }

    fn transition(&mut self) -> Parsed<Transition> {
        let span = self.advance().span;
        if !self.eat("select") {
            let target = self.name("a state")?;
            self.semicolon("`transition`")?;
            return Ok(Transition::To(target));
        }
        self.expect("(", "`select`")?;
        let on = self.list(")", "the expressions of `select`", Self::value)?;
        self.expect("{", "the expressions of `select`")?;
        let cases = self.items("the cases of `select`", |parser| {
            let start = parser.span();
            let keys = parser.keys()?;
            parser.expect(":", "the keys of a case")?;
            let target = parser.name("a state")?;
            parser.semicolon("a case of `select`")?;
            Ok(SelectCase { keys, target, span: start.to(parser.last()) })
        })?;
        Ok(Transition::Select { on, cases, span: span.to(self.last()) })
    }

    fn control_body(
        &mut self, ident: &Ident, head: Head, constructor: Vec<Parameter>,
    ) -> Parsed<DeclarationKind> {
        let (mut locals, mut body) = (Vec::new(), None);
        self.items(&format!("control `{}`", ident.name), |parser| {
            let annotations = parser.annotations()?;
            let read: fn(&mut Self) -> Declared = match &*parser.text() {
                "action" => Self::action,
                "table" => Self::table,
                "const" => Self::constant,
                "apply" if parser.ahead(1).is("{") || parser.ahead(1).is("@") => {
                    parser.advance();
                    body = Some(parser.block("`apply`")?);
                    return Ok(());
                }
                "state" => return parser.misplaced("a parser"),
                _ if parser.declares() => Self::variable_or_instance,
                "if" | "switch" | "for" => return parser.misplaced("`apply { ... }`"),
                _ => return parser.unexpected("`action`, `table`, a variable or `apply`"),
            };
            locals.push(parser.annotated(annotations, read)?);
            Ok(())
        })?;
        match body {
            Some(apply) => Ok(DeclarationKind::Control { head, constructor, locals, apply }),
            None if self.open => Err(Told),
            None => self.refuse(ident.span, format!("control `{}` has no `apply {{ ... }}`", ident.name)),
        }
    }
}
