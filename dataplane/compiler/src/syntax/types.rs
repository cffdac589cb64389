//! Types (section 7).

use super::cursor::{Parsed, Parser, Told};
use super::declaration::Declared;
use super::tree::{
    Aliased, DeclarationKind, ExpressionKind, Field, Head, Ident, Number, Path, Type, TypeKind,
};
use crate::source::near;
use crate::token::Kind;

impl Parser<'_> {
    /// A type (section 7). A name that nobody declared is taken for one: the checker says that there is none.
    pub fn type_reference(&mut self) -> Parsed<Type> {
        self.nested(|parser| {
            let first = parser.element_type()?;
            parser.arrays(first)
        })
    }

    /// A type whose names are known as types: elsewhere, the same words may be an expression.
    pub fn known_type(&mut self) -> Parsed<Type> {
        let absolute = self.at(".");
        let name = self.ahead(usize::from(absolute));
        if self.name_ahead(usize::from(absolute))
            && !self.is_type(&name.text, absolute)
            && !(name.is("list") && self.ahead(1).is("<"))
        {
            return Err(Told);
        }
        self.type_reference()
    }

    /// The name of something behind its type; as in C, the sizes of arrays may be behind the name.
    pub fn name_of(&mut self, of: Type, what: &str) -> Parsed<(Type, Ident)> {
        let ident = self.name(what)?;
        Ok((self.arrays(of)?, ident))
    }

    /// `type[4]` (section 7.2.3)
    pub fn arrays(&mut self, mut of: Type) -> Parsed<Type> {
        while self.eat("[") {
            self.link()?;
            let size = self.value()?;
            let end = self.expect("]", "the size of an array")?;
            let span = of.span.to(end);
            of = self.type_of(TypeKind::Array(Box::new(of), Box::new(size)), span);
        }
        Ok(of)
    }

    /// A type that is no array (sections 7.1 and 7.2).
    fn element_type(&mut self) -> Parsed<Type> {
        let start = self.span();
        let word = self.text();
        if &*word == "." || self.name_ahead(0) && !(&*word == "list" && self.ahead(1).is("<")) {
            let kind = self.named()?;
            return Ok(self.type_of(kind, start.to(self.last())));
        }
        if self.at_end() || self.word().kind != Kind::Identifier {
            return self.unexpected("a type");
        }
        self.advance();
        let kind = match &*word {
            "void" => TypeKind::Void,
            "bool" => TypeKind::Bool,
            "error" => TypeKind::Error,
            "string" => TypeKind::String,
            "match_kind" => TypeKind::MatchKind,
            "_" => TypeKind::Any,
            "bit" | "int" | "varbit" => self.sized(&word)?,
            "tuple" => TypeKind::Tuple(self.type_arguments()?),
            "list" => {
                let mut of = self.type_arguments()?;
                match of.pop().filter(|_| of.is_empty()) {
                    Some(of) => TypeKind::List(Box::new(of)),
                    None => return self.unexpected("one type for the elements of the list"),
                }
            }
            _ => return self.refuse(start, format!("expected a type, found the keyword `{word}`")),
        };
        Ok(self.type_of(kind, start.to(self.last())))
    }

    /// `bit<8>`, `int<8>`, `int`, `varbit<320>` (section 7.1.6)
    fn sized(&mut self, word: &str) -> Parsed<TypeKind> {
        if !self.eat("<") {
            return match word {
                "int" => Ok(TypeKind::Integer),
                "bit" if !self.at("[") && !self.at("(") => {
                    let one = Number { value: 1.into(), width: None, base: 10 };
                    let width = self.expression(ExpressionKind::Number(one), self.last());
                    Ok(TypeKind::Bits { signed: false, width: Box::new(width) })
                }
                _ => self.unexpected(&format!("`<` and the width of `{word}`")),
            };
        }
        // `>` ends the width, unless it is in parentheses.
        let width = Box::new(self.nested(|parser| parser.choice(false))?);
        self.expect(">", "the width of a type")?;
        Ok(match word {
            "varbit" => TypeKind::Varbit(width),
            _ => TypeKind::Bits { signed: word == "int", width },
        })
    }

    /// The name of a type, perhaps with others between `<` and `>` (section 7.2.11).
    pub fn named(&mut self) -> Parsed<TypeKind> {
        let absolute = self.eat(".");
        if !self.name_ahead(0) {
            return self.unexpected("a type");
        }
        let path = Path { absolute, ident: self.keyword() };
        let (name, span) = (&path.ident.name, path.ident.span);
        if self.at("<") && self.ahead(1).kind == Kind::Number && !self.is_type(name, absolute) {
            let near = near(name, ["bit", "int", "varbit"]);
            self.error(span, format!("there is no type `{name}`")).meant(near);
            return Err(Told);
        } else if self.at("<") {
            return Ok(TypeKind::Specialized(path, self.type_arguments()?));
        }
        Ok(TypeKind::Named(path))
    }

    /// `<bit<8>, _>` (section 7.2.11)
    pub fn type_arguments(&mut self) -> Parsed<Vec<Type>> {
        self.expect("<", "a generic name")?;
        self.list(">", "the types between `<` and `>`", Self::type_reference)
    }

    /// `<H, M>`, whose names are types from here to the end of the scope (section 7.2.11).
    pub fn type_parameters(&mut self) -> Parsed<Vec<Ident>> {
        if !self.eat("<") {
            return Ok(Vec::new());
        }
        self.list(">", "the type parameters", |parser| parser.new_name("a type parameter", true))
    }

    /// `<H, M>(in H headers, ...)`; the caller opens the scope of the names.
    pub fn head(&mut self) -> Parsed<Head> {
        Ok(Head { type_parameters: self.type_parameters()?, parameters: self.parameters()? })
    }

    /// `header`, `header_union`, `struct` with its fields, behind the keyword (sections 7.2.2 to 7.2.5).
    pub fn fields(&mut self, what: &str) -> Parsed<Vec<Field>> {
        self.braces(&format!("the name of a {what}"), &format!("the fields of a {what}"), |parser| {
            let annotations = parser.annotations()?;
            let of = parser.type_reference()?;
            let (of, ident) = parser.name_of(of, "a field")?;
            parser.semicolon(&format!("field `{}`", ident.name))?;
            Ok(Field { annotations, of, ident })
        })
    }

    /// `typedef bit<48> mac_t;` (section 7.5)
    pub fn typedef(&mut self) -> Declared {
        self.advance();
        let declares = matches!(&*self.word().text, "header" | "header_union" | "struct" | "enum");
        let (ident, of) = if declares {
            let of = self.declared(Self::derived_type)?;
            (self.name("the new type")?, Aliased::Declared(Box::new(of)))
        } else {
            let of = self.type_reference()?;
            let (of, ident) = self.name_of(of, "the new type")?;
            (ident, Aliased::Type(of))
        };
        self.scopes.declare(&ident.name, true);
        self.semicolon("a typedef")?;
        Ok((ident, DeclarationKind::Typedef(of)))
    }

    /// `type` (section 7.6).
    pub fn new_type(&mut self) -> Declared {
        self.advance();
        let of = self.type_reference()?;
        let ident = self.new_name("the new type", true)?;
        let of = self.arrays(of)?;
        self.semicolon("a type")?;
        Ok((ident, DeclarationKind::NewType(of)))
    }

    /// Whether a type is at hand, and behind it a name: then a variable or an instance is declared.
    pub fn declares(&mut self) -> bool {
        match &*self.text() {
            "bit" | "int" | "varbit" | "bool" | "tuple" | "string" | "void" => return true,
            "error" | "list" => {}
            _ if self.name_ahead(0) || self.at(".") => {}
            _ => return false,
        }
        let is_number = self.ahead(1).is("<") && self.ahead(2).kind == Kind::Number;
        if self.name_ahead(0) && (self.name_ahead(1) || is_number) {
            return true;
        }
        self.sees(|parser| {
            parser.known_type()?;
            Ok(parser.name_ahead(0) || parser.at("("))
        })
    }
}
