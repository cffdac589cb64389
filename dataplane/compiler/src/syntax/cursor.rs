//! The parser's place in the words, and what all rules share: to expect a word, and to go on after a mistake.

use super::tree::{Expression, ExpressionKind, Ident, NodeId, Type, TypeKind};
pub use crate::diagnostic::Told;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{near, Blocks, Name, Span};
use crate::token::{Kind, Token};

pub type Parsed<T> = Result<T, Told>;

/// The deepest that expressions, types and statements may be nested.
const DEEPEST: usize = 128;
/// The most operators, members and indices on a way from an expression to a part of it.
const MOST_LINKS: usize = 500;

/// Words that are no names (appendix B).
const KEYWORDS: &str = "abstract action bool bit break const continue control default else enum error exit extern \
    false for header header_union if in inout int match_kind out package parser return select string struct switch \
    table this transition true tuple typedef value_set varbit void _ list";

fn is_keyword(word: &Token) -> bool {
    KEYWORDS.split(' ').any(|keyword| keyword == &*word.text)
}

/// Words that begin declarations outside of all blocks only.
const OUTER: [&str; 7] = ["control", "parser", "package", "header", "header_union", "struct", "extern"];

/// The name in messages of the statements between braces.
pub const BLOCK: &str = "a block";

pub struct Parser<'a> {
    pub words: Vec<Token>,
    /// The number of the word at hand.
    pub place: usize,
    pub diagnostics: &'a mut Diagnostics,
    /// Names, and whether they are types: `(name) value` is a cast only if `name` is one.
    pub scopes: Blocks<bool>,
    nodes: u32,
    depth: usize,
    /// The operators, members and indices of the expression at hand.
    pub links: usize,
    /// Whether a message says already that the blocks at hand have no end.
    pub open: bool,
}

impl<'a> Parser<'a> {
    pub fn new(words: Vec<Token>, diagnostics: &'a mut Diagnostics) -> Self {
        let scopes = Blocks::default();
        Self { words, place: 0, diagnostics, scopes, nodes: 0, depth: 0, links: 0, open: false }
    }

    /// The word at the parser's place. The last word, the end of the program, is never passed.
    pub fn word(&self) -> &Token {
        self.ahead(0)
    }

    /// The text of the word at the parser's place.
    pub fn text(&self) -> Name {
        self.word().text.clone()
    }

    /// The word `count` behind the parser's place.
    pub fn ahead(&self, count: usize) -> &Token {
        &self.words[(self.place + count).min(self.words.len() - 1)]
    }

    pub fn span(&self) -> Span {
        self.word().span
    }

    /// The place of the word before.
    pub fn last(&self) -> Span {
        self.words[self.place.saturating_sub(1)].span
    }

    pub fn at(&self, text: &str) -> bool {
        self.word().is(text)
    }

    pub fn at_end(&self) -> bool {
        self.word().kind == Kind::End
    }

    pub fn advance(&mut self) -> Token {
        let word = self.word().clone();
        if word.kind != Kind::End {
            self.place += 1;
        }
        word
    }

    /// Passes the word if it is there.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.at(text);
        if found {
            self.place += 1;
        }
        found
    }

    /// Passes a word that must be there; `after` says behind what: `the parameters of a control`.
    pub fn expect(&mut self, text: &str, after: &str) -> Parsed<Span> {
        let span = self.span();
        if self.eat(text) {
            return Ok(span);
        }
        if self.stray() {
            return Err(Told);
        }
        let message = format!("`{text}` is missing after {after}");
        if self.word().first {
            return self.refuse(self.last().behind(), message);
        }
        let (found, cure) = (self.found(), self.cure(text));
        self.error(span, format!("{message}: found {found}")).help = cure;
        Err(Told)
    }

    /// As [`Self::expect`], for a `;`: if the next word begins a line or ends a block, reading goes on there.
    pub fn semicolon(&mut self, after: &str) -> Parsed<()> {
        match self.expect(";", after) {
            Err(told) if !self.word().first && !self.at("}") => Err(told),
            _ => Ok(()),
        }
    }

    /// The word at hand, for a message.
    pub fn found(&self) -> String {
        match self.word().kind {
            Kind::End => "the end of the program".to_owned(),
            Kind::Text => "a string".to_owned(),
            Kind::Identifier if is_keyword(self.word()) => format!("the keyword `{}`", self.word().text),
            _ => format!("`{}`", self.word().text),
        }
    }

    /// A message about the word at hand.
    pub fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        if self.stray() {
            return Err(Told);
        }
        let (message, cure) = (format!("expected {wanted}, found {}", self.found()), self.cure(wanted));
        self.error(self.span(), message).help = cure;
        Err(Told)
    }

    /// Tells of a word that P4 does not have, if one is at hand.
    fn stray(&mut self) -> bool {
        let word = self.word();
        let (text, span) = (word.text.clone(), word.span);
        let message = match word.kind {
            Kind::Stray if text.starts_with('\'') => "P4 has no characters in single quotes".to_owned(),
            Kind::Stray => format!("P4 does not use the character `{text}`"),
            Kind::OpenComment => "this comment has no end: `*/` is missing".to_owned(),
            Kind::Text if text.len() < 2 => "this string has no end: `\"` is missing".to_owned(),
            Kind::Hash | Kind::Paste => {
                "a line of the preprocessor begins with `#`: nothing is before it".to_owned()
            }
            _ => return false,
        };
        self.error(span, message);
        true
    }

    /// Whether the word `count` behind the place is a name.
    pub fn name_ahead(&self, count: usize) -> bool {
        let word = self.ahead(count);
        word.kind == Kind::Identifier && (!is_keyword(word) || word.is("list"))
    }

    /// A name (section 6.4.1); `what` says of what: `a table`.
    pub fn name(&mut self, what: &str) -> Parsed<Ident> {
        match self.name_ahead(0) {
            true => Ok(self.keyword()),
            false => self.unexpected(&format!("the name of {what}")),
        }
    }

    /// The word at hand, or the one that is meant if it is misspelt: then reading goes on with that. `wanted`
    /// has words that may be meant, and what stands behind each: `_(`: a name, then that; `__`: two names.
    pub fn beginning(&mut self, wanted: &str) -> Name {
        let words: Vec<&str> = wanted.split(' ').collect();
        let fits = words.chunks_exact(2).filter(|pair| match pair[1].strip_prefix('_') {
            Some(mark) => self.name_ahead(1) && (self.ahead(2).is(mark) || mark == "_" && self.name_ahead(2)),
            None => self.ahead(1).is(pair[1]),
        });
        let (text, span) = (self.text(), self.span());
        if self.name_ahead(0) && self.scopes.find(&text, false).is_none() {
            let near = near(&text, fits.map(|pair| pair[0]));
            if let Some((meant, _)) = &near {
                self.words[self.place].text = meant.clone();
                self.error(span, format!("`{text}` is no word of P4")).meant(near);
            }
        }
        self.text()
    }

    /// Passes over a `case` before a label, as C has it, and mends a misspelt `default`.
    pub fn label(&mut self) {
        if self.at("case") && !self.ahead(1).is(":") {
            // The labels of one body are one mistake.
            if !self.words[self.place - 1].is(":") {
                self.error(self.span(), "P4 has no `case`").help("a label is a value and `:`");
            }
            self.advance();
        }
        self.beginning("default :");
    }

    /// Whether a name is a type's; with `absolute`, outside of all blocks.
    pub fn is_type(&self, name: &str, absolute: bool) -> bool {
        self.scopes.find(name, absolute).is_some_and(|is_type| *is_type)
    }

    /// A name that is declared here.
    pub fn new_name(&mut self, what: &str, is_type: bool) -> Parsed<Ident> {
        let ident = self.name(what)?;
        self.scopes.declare(&ident.name, is_type);
        Ok(ident)
    }

    /// Reads something whose names nobody sees outside of it.
    pub fn scoped<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.scopes.enter();
        let read = read(self);
        self.scopes.leave();
        read
    }

    /// Reads something if `word` is before it: `else` and a statement.
    pub fn behind<T>(&mut self, word: &str, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        if self.eat(word) {
            return read(self).map(Some);
        }
        Ok(None)
    }

    pub fn error(&mut self, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.error(span, message)
    }

    /// Tells of a mistake, for which the rule cannot be read.
    pub fn refuse<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.error(span, message);
        Err(Told)
    }

    /// The word at hand as a name, which it has for want of a better one: `error`, `match_kind`.
    pub fn keyword(&mut self) -> Ident {
        let word = self.advance();
        Ident { name: word.text, span: word.span }
    }

    pub fn node(&mut self) -> NodeId {
        self.nodes += 1;
        NodeId(self.nodes)
    }

    pub fn type_of(&mut self, kind: TypeKind, span: Span) -> Type {
        Type { id: self.node(), kind, span }
    }

    pub fn expression(&mut self, kind: ExpressionKind, span: Span) -> Expression {
        Expression { id: self.node(), kind, span }
    }

    /// Reads something that may contain its like, unless it is nested too deeply.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return self.refuse(self.span(), format!("this is nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Counts one more operator, member or index behind a value: each one nests what is before it.
    pub fn link(&mut self) -> Parsed<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return self.refuse(self.span(), format!("this has more than {MOST_LINKS} parts"));
        }
        Ok(())
    }

    /// Reads something if it is there: if not, nothing happened.
    pub fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Option<T> {
        let (place, messages) = (self.place, self.diagnostics.len());
        let result = read(self).ok();
        if result.is_none() {
            self.place = place;
            self.diagnostics.truncate(messages);
        }
        result
    }

    /// Whether `look` finds what it looks for; the place stays.
    pub fn sees(&mut self, look: impl FnOnce(&mut Self) -> Parsed<bool>) -> bool {
        let (place, messages) = (self.place, self.diagnostics.len());
        let found = look(self).unwrap_or(false);
        self.place = place;
        self.diagnostics.truncate(messages);
        found
    }

    /// Items between commas up to `close`, which is passed (section 6.4.4). A comma may be behind the last
    /// one.
    pub fn list<T>(
        &mut self, close: &str, what: &str, mut read: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        let (before, mut most) = (self.links, 0);
        while !self.at(close) {
            self.links = 0;
            items.push(read(self)?);
            most = most.max(self.links);
            // A `;` at the end of a line ends the statement, but for one behind a member.
            let separates = self.at(";") && close != ";" && (what == "a member" || !self.ahead(1).first);
            if separates && self.expect(",", what).is_err() {
                self.place += 1;
            } else if !self.eat(",") {
                break;
            }
        }
        self.links = before + most;
        self.expect(close, &format!("{what}, or `,` between them"))?;
        Ok(items)
    }

    /// Goes on after a mistake: behind the next `;`, or behind the block that begins before it, or before the
    /// `}` of the block around.
    pub fn recover(&mut self) {
        let mut depth = 0_usize;
        while !self.at_end() {
            // In front of `,` or `)` it is the end of a list of values.
            let is_end = self.at("}") && !self.ahead(1).is(",") && !self.ahead(1).is(")");
            match &*self.text() {
                "{" => depth += 1,
                "}" if depth == 0 && is_end => return,
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let ends = depth == 0 && (self.at(";") || is_end);
            self.advance();
            if ends {
                return;
            }
        }
    }

    /// `{ items }`; `after` is before the braces: `the name of a table`. Each mistake costs one item.
    pub fn braces<T>(
        &mut self, after: &str, what: &str, mut read: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        match self.expect("{", after) {
            Err(told) if !self.word().first => return Err(told),
            _ => {}
        }
        let mut items = Vec::new();
        while !self.at("}") && !self.at_end() {
            let before = self.place;
            self.links = 0;
            // `header ethernet_t ethernet;` is a field with a word too many.
            let is_field = self.name_ahead(2) && !self.at("extern");
            let outer = OUTER.contains(&&*self.word().text) && !self.ahead(1).is("=") && !is_field;
            if self.word().first && outer || what == BLOCK && self.begins_local() {
                self.unclosed(what);
                return Ok(items);
            }
            match read(self) {
                Ok(item) => items.push(item),
                Err(Told) => {
                    self.recover();
                    if self.at_end() {
                        return Err(Told);
                    } else if self.place == before {
                        self.advance();
                    }
                }
            }
        }
        self.expect("}", what)?;
        Ok(items)
    }

    /// Tells once that the blocks at hand have no `}`.
    pub fn unclosed(&mut self, what: &str) {
        if !self.open {
            let (end, found) = (self.last().behind(), self.span());
            let message = format!("`}}` is missing after {what}");
            self.error(end, message).note(found, "this begins behind it");
        }
        self.open = true;
    }
}
