//! Declarations of values: constants, variables, instances, functions, actions, parameters; and annotations
//! (P4_16 specification, sections 10, 11 and 20).

use super::cursor::{Parsed, Parser, Told};
use super::tree::{
    Annotation, Declaration, DeclarationKind, Direction, Head, Ident, Method, Parameter, Signature, Type,
};
use crate::token::Kind;

/// The directions of parameters.
const DIRECTIONS: &str = "in __ out __ inout __ in bit out bit inout bit";

/// A declaration as its rule reads it.
pub type Declared = Parsed<(Ident, DeclarationKind)>;

impl Parser<'_> {
    /// A declaration with its annotations and place.
    pub fn declared(&mut self, read: impl FnOnce(&mut Self) -> Declared) -> Parsed<Declaration> {
        let annotations = self.annotations()?;
        self.annotated(annotations, read)
    }

    /// A declaration whose annotations were read.
    pub fn annotated(
        &mut self, annotations: Vec<Annotation>, read: impl FnOnce(&mut Self) -> Declared,
    ) -> Parsed<Declaration> {
        let start = self.span();
        let (ident, kind) = read(self)?;
        Ok(Declaration { annotations, ident, kind, span: start.to(self.last()) })
    }

    /// `const type name = value;` (section 11.1)
    pub fn constant(&mut self) -> Declared {
        self.advance();
        let of = self.type_reference()?;
        let (of, ident) = self.name_of(of, "a constant")?;
        self.scopes.declare(&ident.name, false);
        self.expect("=", "the name of a constant: its value is missing")?;
        let value = self.value()?;
        self.semicolon("a constant")?;
        Ok((ident, DeclarationKind::Constant { of, value }))
    }

    /// `type name = value`, without its `;` (section 11.2).
    pub fn variable(&mut self) -> Declared {
        let of = self.type_reference()?;
        self.variable_of(of)
    }

    fn variable_of(&mut self, of: Type) -> Declared {
        let (of, ident) = self.name_of(of, "a variable")?;
        let value = self.behind("=", Self::value)?;
        self.scopes.declare(&ident.name, false);
        Ok((ident, DeclarationKind::Variable { of, value }))
    }

    /// `type name = value;` or `Type(arguments) name;` (sections 11.2 and 11.3)
    pub fn variable_or_instance(&mut self) -> Declared {
        let makes = self.is_type(&self.text(), false);
        let of = self.type_reference()?;
        if !self.at("(") {
            let variable = self.variable_of(of)?;
            if self.at("(") {
                let (message, help) = match makes {
                    true => ("the arguments of an instance are in front of its name", "Type(...) NAME;"),
                    false => ("a function is declared outside of blocks", "action NAME(...) { ... }"),
                };
                let help = help.replace("NAME", &variable.0.name);
                self.error(self.span(), message).help(format!("`{help}`"));
                return Err(Told);
            }
            self.semicolon(&format!("the declaration of `{}`", variable.0.name))?;
            return Ok(variable);
        }
        let arguments = self.arguments()?;
        let (of, ident) = self.name_of(of, "an instance, as `main`")?;
        self.scopes.declare(&ident.name, false);
        let initializer = self.behind("=", |parser| {
            // The extern's abstract methods, and instances that they use (section 11.3.1).
            parser.braces("`=` of an instance", "the methods of an instance", |parser| {
                match parser.is_instance() {
                    true => parser.declared(Self::variable_or_instance),
                    false => parser.declared(Self::function),
                }
            })
        })?;
        self.semicolon(&format!("the instance `{}`", ident.name))?;
        Ok((ident, DeclarationKind::Instance { of, arguments, initializer }))
    }

    /// Whether `Type(` is at hand.
    pub fn is_instance(&mut self) -> bool {
        self.sees(|parser| {
            parser.type_reference()?;
            Ok(parser.at("("))
        })
    }

    /// `type name<T>(parameters) { ... }` (section 10)
    pub fn function(&mut self) -> Declared {
        let read = self.scoped(|parser| {
            let (ident, signature) = parser.signature()?;
            let body = Some(parser.block("the parameters of a function")?);
            Ok((ident, DeclarationKind::Function { signature, body }))
        })?;
        self.scopes.declare(&read.0.name, false);
        Ok(read)
    }

    /// `type name<T>(parameters)` (section 10); the caller opens the scope of its names.
    fn signature(&mut self) -> Parsed<(Ident, Signature)> {
        let returns = Some(self.type_reference()?);
        let ident = self.name("a function")?;
        Ok((ident, Signature { returns, head: self.head()? }))
    }

    /// `action name(parameters) { ... }` (section 14.1)
    pub fn action(&mut self) -> Declared {
        self.advance();
        let ident = self.new_name("an action", false)?;
        let kind = self.scoped(|parser| {
            let parameters = parser.parameters()?;
            let body = parser.block("the parameters of an action")?;
            Ok(DeclarationKind::Action { parameters, body })
        })?;
        Ok((ident, kind))
    }

    /// `(in bit<8> x, inout headers h = default)` (section 6.8); the names are values from here on.
    pub fn parameters(&mut self) -> Parsed<Vec<Parameter>> {
        self.expect("(", "a name: its parameters are missing")?;
        self.list(")", "the parameters", |parser| {
            let annotations = parser.annotations()?;
            let direction = match &*parser.beginning(DIRECTIONS) {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                _ => Direction::None,
            };
            if direction != Direction::None {
                parser.advance();
            }
            let of = parser.type_reference()?;
            let (of, ident) = parser.name_of(of, "a parameter behind its type")?;
            let default = parser.behind("=", Self::value)?;
            parser.scopes.declare(&ident.name, false);
            Ok(Parameter { annotations, direction, of, ident, default })
        })
    }

    /// `extern name<T> { methods }`, `extern type function(...);` (section 7.2.10)
    pub fn extern_declaration(&mut self) -> Declared {
        self.advance();
        let is_object = self.name_ahead(0)
            && (self.ahead(1).is("{") || self.ahead(1).is(";") || self.sees(Self::generic_object));
        if !is_object {
            let (ident, signature) = self.scoped(Self::signature)?;
            self.scopes.declare(&ident.name, false);
            self.semicolon("an extern function")?;
            return Ok((ident, DeclarationKind::Function { signature, body: None }));
        }
        let ident = self.new_name("an extern", true)?;
        let kind = self.scoped(|parser| {
            let type_parameters = parser.type_parameters()?;
            let mut methods = Vec::new();
            if !parser.eat(";") {
                methods = parser.braces("the name of an extern", "the methods of an extern", |parser| {
                    parser.method(&ident)
                })?;
            }
            Ok(DeclarationKind::Extern { type_parameters, methods })
        })?;
        Ok((ident, kind))
    }

    /// `name<T> {`: not `type<bit<8>> function(`.
    fn generic_object(&mut self) -> Parsed<bool> {
        self.advance();
        self.type_arguments()?;
        Ok(self.at("{") || self.at(";"))
    }

    /// A method or a constructor of an extern (section 7.2.10.2).
    fn method(&mut self, of: &Ident) -> Parsed<Method> {
        let annotations = self.annotations()?;
        let is_abstract = self.eat("abstract");
        let (ident, signature) = self.scoped(|parser| {
            if parser.word().text != of.name || !parser.ahead(1).is("(") {
                return parser.signature();
            }
            let ident = parser.keyword();
            let head = Head { type_parameters: Vec::new(), parameters: parser.parameters()? };
            Ok((ident, Signature { returns: None, head }))
        })?;
        self.semicolon("a method")?;
        Ok(Method { annotations, ident, is_abstract, signature })
    }

    /// The annotations in front of something (section 20).
    pub fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.at("@") {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    /// `@name`, `@name(...)` or `@name[...]` (sections 20.1 and 20.2).
    fn annotation(&mut self) -> Parsed<Annotation> {
        self.advance();
        if self.word().kind != Kind::Identifier {
            return self.unexpected("the name of an annotation");
        }
        let name = self.keyword();
        if &*name.name == "pragma" {
            return Ok(self.pragma());
        }
        let structured = self.at("[");
        let is_read = matches!(&*name.name, "field_list" | "pkginfo" | "platform_property") && self.at("(");
        if structured || is_read {
            self.advance();
            let close = if structured { "]" } else { ")" };
            let values = Some(self.list(close, "the values of an annotation", Self::argument)?.into());
            return Ok(Annotation { name, body: None, values, structured });
        }
        let open = self.span();
        let mut body = self.eat("(").then(Vec::new);
        let mut depth = 1_usize;
        while let Some(words) = body.as_mut() {
            if self.at_end() {
                return self.refuse(open, "this annotation has no `)`");
            }
            let word = self.advance();
            depth = depth + usize::from(word.is("(")) - usize::from(word.is(")"));
            if depth == 0 {
                break;
            }
            words.push(word);
        }
        Ok(Annotation { name, body, values: None, structured })
    }

    /// `@pragma name words`, up to the end of the line.
    fn pragma(&mut self) -> Annotation {
        let name = self.keyword();
        let mut body = Vec::new();
        while !self.word().first && !self.at_end() {
            body.push(self.advance());
        }
        Annotation { name, body: Some(body), values: None, structured: false }
    }
}
