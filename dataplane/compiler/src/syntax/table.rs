//! Tables (specification, section 14.2).

use super::cursor::{Parsed, Parser};
use super::declaration::Declared;
use super::tree::{ActionReference, Annotation, DeclarationKind, Entries, Entry, Key, Path, Property, Table};
use crate::source::{nearest, Name, Span};

/// The properties of a table whose values are in braces.
const PROPERTIES: [&str; 3] = ["key", "actions", "entries"];

impl Parser<'_> {
    /// `table name { properties }`, from the word `table`.
    pub fn table(&mut self) -> Declared {
        self.advance();
        let ident = self.new_name("a table", false)?;
        self.expect("{", "the name of a table")?;
        let mut table = Table::default();
        self.items(&format!("the properties of table `{}`", ident.name), |parser| {
            parser.property(&mut table)
        })?;
        Ok((ident, DeclarationKind::Table(table)))
    }

    fn property(&mut self, table: &mut Table) -> Parsed<()> {
        let annotations = self.annotations()?;
        let constant = self.eat("const");
        let mut ident = if self.at("action") { self.keyword() } else { self.name("a property")? };
        if self.at("=") && self.ahead(1).is("{") && !PROPERTIES.contains(&&*ident.name) {
            let names = PROPERTIES.map(Name::from);
            let near = nearest(&ident.name, names.iter().map(|name| (name, Span::default())));
            if let Some((name, _)) = near.clone() {
                let message = format!("a table has no property `{}`", ident.name);
                self.diagnostics.error(ident.span, message).meant(near);
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
            let message = format!("the property `{}` is there twice", ident.name);
            self.diagnostics.error(ident.span, message).note(earlier, "the first one");
        }
        match &*ident.name {
            "key" => table.keys = self.keys_of_table()?,
            "actions" => table.actions = self.actions_of_table()?,
            "entries" => {
                self.expect("{", "`entries =`")?;
                let list = self.items("the entries of a table", Self::entry)?;
                table.entries = Some(Entries { constant, list, span: ident.span });
            }
            _ => {
                let value = self.value()?;
                self.semicolon(&format!("the property `{}`", ident.name))?;
                table.properties.push(Property { annotations, constant, ident, value });
            }
        }
        Ok(())
    }

    fn keys_of_table(&mut self) -> Parsed<Vec<Key>> {
        self.expect("{", "`key =`")?;
        self.items("the keys of a table", |parser| {
            let value = parser.value()?;
            parser.expect(":", "a key: how it is matched is missing, as in `hdr.ipv4.dst: lpm`")?;
            let match_kind = parser.name("a kind of match")?;
            let annotations = parser.annotations()?;
            parser.semicolon("a key")?;
            Ok(Key { value, match_kind, annotations })
        })
    }

    fn actions_of_table(&mut self) -> Parsed<Vec<ActionReference>> {
        self.expect("{", "`actions =`")?;
        self.items("the actions of a table", |parser| {
            let annotations = parser.annotations()?;
            let action = parser.action_reference(annotations)?;
            if parser.at(",") {
                let span = parser.advance().span;
                parser.diagnostics.error(span, "actions of a table end with `;`, not with `,`");
            } else {
                parser.semicolon(&format!("action `{}`", action.path.ident.name))?;
            }
            Ok(action)
        })
    }

    /// `name` or `name(arguments)`
    fn action_reference(&mut self, annotations: Vec<Annotation>) -> Parsed<ActionReference> {
        let start = self.span();
        let absolute = self.eat(".");
        let path = Path { absolute, ident: self.name("an action")? };
        let arguments = if self.at("(") { Some(self.arguments()?) } else { None };
        Ok(ActionReference { annotations, path, arguments, span: start.to(self.last()) })
    }

    fn entry(&mut self) -> Parsed<Entry> {
        let start = self.span();
        let constant = self.eat("const");
        let priority = if self.at("priority") && self.ahead(1).is("=") {
            self.advance();
            self.advance();
            let value = self.postfix()?;
            self.expect(":", "the priority of an entry")?;
            Some(value)
        } else {
            None
        };
        let keys = self.keys()?;
        self.expect(":", "the keys of an entry")?;
        let action = self.action_reference(Vec::new())?;
        let annotations = self.annotations()?;
        let span = start.to(self.last());
        self.semicolon("an entry")?;
        Ok(Entry { id: self.node(), annotations, constant, priority, keys, action, span })
    }
}
