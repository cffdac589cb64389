//! The outermost declarations: types, parsers, controls, packages; and tables (P4_16 specification, sections
//! 7.2, 13, 14, 16).

use super::cursor::{Parsed, Parser, Told, BLOCK};
use super::declaration::Declared;
use super::tree::{
    ActionReference, Annotation, Applicable, Block, Declaration, DeclarationKind, Entries, Entry, Ident, Key,
    Member, ObjectKind, Path, Property, SelectCase, Shape, State, Table, Transition,
};
use crate::source::near;
use crate::token::Kind;

/// The properties of a table whose values are in braces.
const PROPERTIES: [&str; 3] = ["key", "actions", "entries"];

/// Words that begin declarations, and what stands behind them; `_`: behind a name behind them.
const OUTER: &str =
    "parser _( control _( action _( header _{ header_union _{ struct _{ enum _{ const bit typedef bit";
/// Those of a control.
const LOCAL: &str = "apply { table _{ action _( const bit";
/// The end of a state: `transition accept;`, `transition select(...)`.
const TRANSITION: &str = "transition _; transition _( transition select";

/// Words that begin declarations of P4_14 only.
const P4_14: [&str; 4] = ["header_type", "field_list", "calculated_field", "action_profile"];

impl Parser<'_> {
    /// All declarations up to the end (section 6.6).
    pub fn program(&mut self) -> Vec<Declaration> {
        let mut found = Vec::new();
        while !self.at_end() {
            if self.eat(";") {
                continue;
            }
            let before = self.place;
            (self.open, self.links) = (false, 0);
            match self.declared(Self::outer) {
                Ok(declaration) => found.push(declaration),
                Err(Told) => {
                    self.recover();
                    if self.place == before || self.at("}") {
                        self.advance();
                    }
                }
            }
        }
        found
    }

    /// A declaration outside of all others (section 6.6).
    fn outer(&mut self) -> Declared {
        // No program of that version includes core.p4, which declares packet_in.
        if !self.is_type("packet_in", true) && self.is_p4_14() {
            self.diagnostics.truncate(0);
            self.error(self.span(), "this is P4_14: `p4c-bm2-ss --std p4-14` compiles it");
            while !self.at_end() {
                self.advance();
            }
            return Err(Told);
        }
        match &*self.beginning(OUTER) {
            "const" => self.constant(),
            "extern" => self.extern_declaration(),
            "action" => self.action(),
            "parser" | "control" | "package" => self.applicable(),
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

    /// Whether a declaration of P4's version before is at hand.
    fn is_p4_14(&self) -> bool {
        match [0, 1, 2, 3, 4].map(|count| &*self.ahead(count).text) {
            ["header" | "metadata", ..] => self.name_ahead(1) && self.name_ahead(2),
            ["table", _, "{", "reads" | "actions", "{"] | ["control", _, "{", "apply" | "if", "("] => true,
            [word, _, "{", ..] if P4_14.contains(&word) => true,
            ["parser", _, "{", word, _] => ["extract", "return", "set_metadata"].contains(&word),
            _ => false,
        }
    }

    fn misplaced<T>(&mut self, place: &str) -> Parsed<T> {
        self.refuse(self.span(), format!("`{}` belongs inside of {place}", self.text()))
    }

    /// A function or an instance (sections 10 and 11.3).
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
        let message = "a variable belongs inside of a control, parser, action or function";
        self.error(start.to(self.last()), message).help("`const` makes a constant");
        Err(Told)
    }

    /// `header`, `header_union`, `struct` and `enum`, from the keyword (sections 7.2.1 to 7.2.5).
    pub fn derived_type(&mut self) -> Declared {
        let word = self.advance().text;
        if &*word == "enum" {
            return self.enumeration();
        }
        let ident = self.new_name(&format!("a {word}"), true)?;
        let (type_parameters, fields) =
            self.scoped(|parser| Ok((parser.type_parameters()?, parser.fields(&word)?)))?;
        let shape = Shape::ALL.iter().find(|(_, one)| *one == &*word).map_or(Shape::Struct, |(one, _)| *one);
        Ok((ident, DeclarationKind::Composite { shape, type_parameters, fields }))
    }

    /// `enum`, behind the keyword (section 7.2.1).
    fn enumeration(&mut self) -> Declared {
        let has_type = !self.name_ahead(0) || !self.ahead(1).is("{");
        let of = if has_type { Some(self.type_reference()?) } else { None };
        let ident = self.new_name("an enum", true)?;
        let members = self.members("the name of an enum")?;
        Ok((ident, DeclarationKind::Enum { of, members }))
    }

    /// `{ A, B = 2 }` (sections 7.1.2, 7.1.3 and 7.2.1)
    fn members(&mut self, after: &str) -> Parsed<Vec<Member>> {
        self.expect("{", after)?;
        self.list("}", "a member", |parser| {
            parser.annotations()?;
            let ident = parser.name("a member")?;
            Ok(Member { ident, value: parser.behind("=", Self::value)? })
        })
    }

    fn members_declaration(&mut self) -> Declared {
        let ident = self.keyword();
        let members = self.members(&format!("`{ident}`"))?;
        Ok((ident, DeclarationKind::Members(members)))
    }

    /// A parser, control or package, or the type of some (sections 7.2.12, 7.2.13, 13.2 and 14): a name, a
    /// head, parameters of the constructor if there are any.
    fn applicable(&mut self) -> Declared {
        let word = self.advance().text;
        let ident = self.new_name(&format!("a {word}"), true)?;
        let kind = self.scoped(|parser| {
            let head = parser.head()?;
            let has_constructor = &*word != "package" && parser.at("(");
            let constructor = if has_constructor { parser.parameters()? } else { Vec::new() };
            let kind = match (&*word, parser.at(";")) {
                ("package", _) => ObjectKind::Package,
                ("parser", true) => ObjectKind::ParserType,
                ("parser", false) => ObjectKind::Parser,
                (_, true) => ObjectKind::ControlType,
                (_, false) => ObjectKind::Control,
            };
            let (locals, states, apply) = match kind {
                ObjectKind::Parser | ObjectKind::Control => {
                    parser.body(&ident, kind == ObjectKind::Parser)?
                }
                _ => {
                    parser.semicolon(&format!("a {word}"))?;
                    Default::default()
                }
            };
            let applicable = Applicable { head, constructor, locals, states, apply };
            Ok(DeclarationKind::Applicable(kind, applicable))
        })?;
        Ok((ident, kind))
    }

    /// The declarations of a parser and its states, or those of a control and its statements.
    fn body(&mut self, ident: &Ident, is_parser: bool) -> Parsed<(Vec<Declaration>, Vec<State>, Block)> {
        let (mut locals, mut states, mut apply) = (Vec::new(), Vec::new(), None);
        let before = self.diagnostics.len();
        let (word, what) =
            if is_parser { ("parser", "the states of parser") } else { ("control", "control") };
        self.braces(&format!("the parameters of a {word}"), &format!("{what} `{ident}`"), |parser| {
            if apply.is_some() {
                return parser.unexpected("`}`: nothing is behind `apply { ... }`");
            }
            let annotations = parser.annotations()?;
            let read: fn(&mut Self) -> Declared =
                match &*parser.beginning(if is_parser { "state _{" } else { LOCAL }) {
                    "const" => Self::constant,
                    "value_set" if is_parser => Self::value_set,
                    "state" if is_parser => {
                        states.push(parser.state()?);
                        return Ok(());
                    }
                    "table" | "action" | "apply" if is_parser => return parser.misplaced("a control"),
                    "action" => Self::action,
                    "table" => Self::table,
                    "apply" => {
                        parser.advance();
                        apply = Some(Block::default());
                        apply = Some(parser.block("`apply`")?);
                        return Ok(());
                    }
                    "state" => return parser.misplaced("a parser"),
                    _ if parser.declares() => Self::variable_or_instance,
                    _ if is_parser => return parser.unexpected("`state`, a variable or a constant"),
                    "if" | "switch" | "for" => return parser.misplaced("`apply { ... }`"),
                    _ => return parser.unexpected("`action`, `table`, a variable or `apply`"),
                };
            locals.push(parser.annotated(annotations, read)?);
            Ok(())
        })?;
        match apply {
            None if !is_parser && self.diagnostics.len() > before => Err(Told),
            None if !is_parser => {
                self.refuse(ident.span, format!("control `{ident}` has no `apply {{ ... }}`"))
            }
            apply => Ok((locals, states, apply.unwrap_or_default())),
        }
    }

    /// `value_set<type>(size) name;` (section 13.11).
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

    /// A state of a parser (section 13.4).
    fn state(&mut self) -> Parsed<State> {
        let start = self.advance().span;
        let ident = self.name("a state")?;
        let mut transition = Transition::Missing;
        let statements = self.scoped(|parser| {
            parser.braces("the name of a state", BLOCK, |parser| {
                if &*parser.beginning(TRANSITION) != "transition" {
                    return parser.statement().map(Some);
                }
                transition = parser.transition()?;
                if !parser.at("}") && !parser.begins_local() {
                    return parser.unexpected("`}`: a transition ends its state");
                }
                Ok(None)
            })
        })?;
        let statements = statements.into_iter().flatten().collect();
        Ok(State { ident, statements, transition, span: start.to(self.last()) })
    }

    /// `transition` (sections 13.5 and 13.6).
    fn transition(&mut self) -> Parsed<Transition> {
        let span = self.advance().span;
        if &*self.beginning("select (") != "select" {
            let target = self.name("a state")?;
            self.semicolon("`transition`")?;
            return Ok(Transition::To(target));
        }
        self.advance();
        self.expect("(", "`select`")?;
        let on = self.list(")", "the expressions of `select`", Self::value)?;
        let cases = self.braces("the expressions of `select`", "the cases of `select`", |parser| {
            let start = parser.span();
            parser.label();
            let keys = parser.keys()?;
            parser.expect(":", "the keys of a case")?;
            let target = parser.name("a state")?;
            parser.semicolon("a case of `select`")?;
            Ok(SelectCase { keys, target, span: start.to(parser.last()) })
        })?;
        Ok(Transition::Select { on, cases, span: span.to(self.last()) })
    }

    /// `table name { properties }`, from the word `table` (section 14.2).
    pub fn table(&mut self) -> Declared {
        self.advance();
        let ident = self.new_name("a table", false)?;
        let mut table = Table::default();
        self.braces("the name of a table", &format!("the properties of table `{ident}`"), |parser| {
            parser.property(&mut table)
        })?;
        Ok((ident, DeclarationKind::Table(table)))
    }

    /// A property of a table (section 14.2.1).
    fn property(&mut self, table: &mut Table) -> Parsed<()> {
        let annotations = self.annotations()?;
        let constant = self.eat("const");
        let mut ident = if self.at("action") { self.keyword() } else { self.name("a property")? };
        if self.at("=") && self.ahead(1).is("{") && !PROPERTIES.contains(&&*ident.name) {
            let near = near(&ident.name, PROPERTIES);
            if let Some((name, _)) = near.clone() {
                self.error(ident.span, format!("a table has no property `{ident}`")).meant(near);
                ident.name = name;
            }
        }
        self.expect("=", "the name of a property")?;
        let twice = match &*ident.name {
            "key" => table.key_span.replace(ident.span),
            "actions" => table.actions_span.replace(ident.span),
            "entries" => table.entries.as_ref().map(|entries| entries.span),
            _ => table.properties.iter().find(|one| one.ident.name == ident.name).map(|one| one.ident.span),
        };
        if let Some(earlier) = twice {
            let message = format!("the property `{ident}` is there twice");
            self.error(ident.span, message).note(earlier, "the first one");
        }
        match &*ident.name {
            "key" => table.keys = self.keys_of_table()?,
            "actions" => table.actions = self.actions_of_table()?,
            "entries" => {
                let list = self.braces("`entries =`", "the entries of a table", Self::entry)?;
                table.entries = Some(Entries { constant, list, span: ident.span });
            }
            _ => {
                let value = self.value()?;
                self.semicolon(&format!("the property `{ident}`"))?;
                table.properties.push(Property { annotations, constant, ident, value });
            }
        }
        Ok(())
    }

    /// `key = { ... }`, from the brace (section 14.2.1.1).
    fn keys_of_table(&mut self) -> Parsed<Vec<Key>> {
        self.braces("`key =`", "the keys of a table", |parser| {
            let value = parser.value()?;
            parser.expect(":", "a key: how it is matched is missing, as in `hdr.ipv4.dst: lpm`")?;
            let match_kind = parser.name("a kind of match")?;
            let annotations = parser.annotations()?;
            parser.semicolon("a key")?;
            Ok(Key { value, match_kind, annotations })
        })
    }

    /// `actions = { ... }`, from the brace (section 14.2.1.2).
    fn actions_of_table(&mut self) -> Parsed<Vec<ActionReference>> {
        self.braces("`actions =`", "the actions of a table", |parser| {
            let annotations = parser.annotations()?;
            let action = parser.action_reference(annotations)?;
            parser.semicolon(&format!("action `{}`", action.path.ident))?;
            Ok(action)
        })
    }

    /// `name` or `name(arguments)` (section 14.2.1.2)
    fn action_reference(&mut self, annotations: Vec<Annotation>) -> Parsed<ActionReference> {
        let start = self.span();
        let absolute = self.eat(".");
        let path = Path { absolute, ident: self.name("an action")? };
        let arguments = if self.at("(") { Some(self.arguments()?) } else { None };
        Ok(ActionReference { annotations, path, arguments, span: start.to(self.last()) })
    }

    /// An entry of a table (section 14.2.1.4).
    fn entry(&mut self) -> Parsed<Entry> {
        let start = self.span();
        self.eat("const");
        let mut priority = None;
        if self.at("priority") && self.ahead(1).is("=") {
            self.place += 2;
            priority = Some(self.postfix()?);
            self.expect(":", "the priority of an entry")?;
        }
        let keys = self.keys()?;
        self.expect(":", "the keys of an entry")?;
        let action = self.action_reference(Vec::new())?;
        let annotations = self.annotations()?;
        let span = start.to(self.last());
        self.semicolon("an entry")?;
        Ok(Entry { id: self.node(), annotations, priority, keys, action, span })
    }
}
