//! Expressions (section 8).

use super::cursor::{Parsed, Parser, Told};
use super::number::number;
use super::tree::{Argument, Binary, Expression, ExpressionKind, Ident, Path, Type, TypeKind, Unary};
use crate::token::Kind;

/// Operators as other languages write them.
const WORDS: [(&str, &str); 3] = [("and", "&&"), ("or", "||"), ("not", "!")];

impl Parser<'_> {
    /// An expression (section 8).
    pub fn value(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.choice(true))
    }

    /// `(value)` behind something; `what` is the value: `the condition of`.
    pub fn in_parentheses(&mut self, what: &str, after: &str) -> Parsed<Expression> {
        self.expect("(", after)?;
        let value = self.value()?;
        self.expect(")", &format!("{what} {after}"))?;
        Ok(value)
    }

    /// `condition ? then : otherwise` (section 8.5.1); `greater`: whether `>` is an operator.
    pub fn choice(&mut self, greater: bool) -> Parsed<Expression> {
        let condition = self.binary(0, greater)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let then = Box::new(self.value()?);
        self.expect(":", "the first value of `? :`")?;
        let otherwise = Box::new(self.nested(|parser| parser.choice(greater))?);
        let span = condition.span.to(otherwise.span);
        let condition = Box::new(condition);
        Ok(self.expression(ExpressionKind::Choice { condition, then, otherwise }, span))
    }

    /// Operators that bind at least as strongly as `least`, and their sides (sections 8.5 to 8.9).
    fn binary(&mut self, least: u8, greater: bool) -> Parsed<Expression> {
        let mut left = self.unary()?;
        while let Some((operator, level, words)) = self.operator(least, greater) {
            self.link()?;
            self.word_operator();
            self.place += words;
            let right = self.binary(level + 1, greater)?;
            let span = left.span.to(right.span);
            left = self.expression(ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span);
        }
        Ok(left)
    }

    /// The operator at hand, how strongly it binds, and how many words it is.
    fn operator(&self, least: u8, greater: bool) -> Option<(Binary, u8, usize)> {
        let (text, words) = self.symbol();
        let found = Binary::ALL.iter().find(|(one, _, level)| *one == text && *level >= least)?;
        (greater || !self.at(">")).then_some((found.1, found.2, words))
    }

    /// The operator at hand, and how many words it is: `>>` and `>>=` are two, as `>` may close types.
    pub fn symbol(&self) -> (&str, usize) {
        let next = self.ahead(1);
        match &*next.text {
            ">" if self.at(">") && !next.spaced => (">>", 2),
            ">=" if self.at(">") && !next.spaced => (">>=", 2),
            _ => {
                (WORDS.iter().find(|(word, _)| self.at(word)).map_or(&self.word().text, |(_, text)| text), 1)
            }
        }
    }

    /// Tells of an operator that is a word in other languages, if one is at hand.
    pub fn word_operator(&mut self) {
        if let Some((word, operator)) = WORDS.iter().find(|(word, _)| self.at(word)) {
            self.error(self.span(), format!("P4 has no `{word}`")).help(format!("`{operator}`"));
        }
    }

    /// Operators of one side (sections 8.5 to 8.8).
    fn unary(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let operator = match &*self.text() {
            "!" => Unary::Not,
            "~" => Unary::Complement,
            "-" => Unary::Minus,
            "+" => Unary::Plus,
            "not" if self.name_ahead(1) || self.scopes.find("not", false).is_none() => {
                self.word_operator();
                Unary::Not
            }
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        Ok(self.expression(ExpressionKind::Unary(operator, Box::new(operand)), span))
    }

    /// Members, indices, slices, calls (sections 8.16 to 8.20).
    pub fn postfix(&mut self) -> Parsed<Expression> {
        let mut value = self.primary()?;
        loop {
            if self.at(".") || self.at("[") || self.at("(") {
                self.link()?;
            }
            if self.eat(".") {
                let member = self.member()?;
                let span = value.span.to(member.span);
                value = self.expression(ExpressionKind::Member(Box::new(value), member), span);
            } else if self.at("[") {
                value = self.bracket(value)?;
            } else if self.at("(") {
                value = self.call(value, Vec::new())?;
            } else if let Some(types) = self.call_types(&value) {
                value = self.call(value, types)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn member(&mut self) -> Parsed<Ident> {
        // `t.apply()` and `f.key`: words that are keywords elsewhere only.
        match self.word().kind {
            Kind::Identifier => Ok(self.keyword()),
            _ => self.unexpected("the name of a member"),
        }
    }

    /// `[index]`, `[high:low]` or `[low+:width]` behind a value (sections 8.6 and 8.18).
    fn bracket(&mut self, value: Expression) -> Parsed<Expression> {
        self.advance();
        let (start, value, first) = (value.span, Box::new(value), Box::new(self.value()?));
        let kind = if self.eat(":") {
            ExpressionKind::Slice { value, high: first, low: Box::new(self.value()?) }
        } else if self.eat("+:") {
            ExpressionKind::Part { value, low: first, width: Box::new(self.value()?) }
        } else {
            ExpressionKind::Index(value, first)
        };
        let end = self.expect("]", "an index")?;
        Ok(self.expression(kind, start.to(end)))
    }

    /// `<bit<32>>` in front of `(` (section 8.20): the types of a generic call. `<` may be a comparison as
    /// well.
    fn call_types(&mut self, callee: &Expression) -> Option<Vec<Type>> {
        let callable = matches!(callee.kind, ExpressionKind::Name(_) | ExpressionKind::Member(..));
        if !callable || !self.at("<") {
            return None;
        }
        self.attempt(|parser| {
            parser.advance();
            let types = parser.list(">", "types", Self::known_type)?;
            (parser.at("(") && !types.is_empty()).then_some(types).ok_or(Told)
        })
    }

    /// The arguments behind what is called (section 8.20).
    fn call(&mut self, callee: Expression, types: Vec<Type>) -> Parsed<Expression> {
        let arguments = self.arguments()?;
        let span = callee.span.to(self.last());
        Ok(self.expression(ExpressionKind::Call { callee: Box::new(callee), types, arguments }, span))
    }

    /// `(a, name = b)` (section 6.8)
    pub fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect("(", "the name of what is called")?;
        self.list(")", "the arguments", Self::argument)
    }

    pub fn argument(&mut self) -> Parsed<Argument> {
        let named = self.name_ahead(0) && self.ahead(1).is("=");
        let ident = named.then(|| self.keyword());
        self.eat("=");
        let value = if self.at("_") { self.any() } else { self.value()? };
        Ok(Argument { ident, value })
    }

    fn any(&mut self) -> Expression {
        let span = self.advance().span;
        self.expression(ExpressionKind::Any, span)
    }

    /// Literals, names, and what is in parentheses or braces (sections 6.4.3 and 8).
    fn primary(&mut self) -> Parsed<Expression> {
        let word = self.word().clone();
        let is_dotted = self.ahead(1).is(".") && self.ahead(2).kind == Kind::Number;
        let kind = match (&*word.text, word.kind) {
            (_, Kind::Number) if is_dotted || (1..10).step_by(2).all(|place| self.ahead(place).is(":")) => {
                let message = match is_dotted && !self.ahead(3).is(".") {
                    true => "P4 has no numbers with a fraction",
                    false => "an address is one number: 10.0.0.1 is 0x0a000001, 00:...:01 is 0x000000000001",
                };
                return self.refuse(word.span, message);
            }
            (_, Kind::Number) => match number(&word.text) {
                Ok(number) => ExpressionKind::Number(number),
                Err(message) => {
                    self.error(word.span, message);
                    ExpressionKind::Wrong
                }
            },
            (text, Kind::Text) if text.len() > 1 => ExpressionKind::String(text[1..text.len() - 1].into()),
            ("true", _) => ExpressionKind::Bool(true),
            ("false", _) => ExpressionKind::Bool(false),
            ("this", _) => ExpressionKind::This,
            ("...", _) => ExpressionKind::Default,
            ("{#}", _) => ExpressionKind::Invalid,
            ("{", _) => return self.list_or_record(),
            ("(", _) => return self.parentheses(),
            ("error", _) => ExpressionKind::Type(self.type_of(TypeKind::Error, word.span)),
            _ => return self.name_or_type(),
        };
        self.advance();
        Ok(self.expression(kind, word.span))
    }

    /// A name of a value, or a type in front of a member or of arguments (section 6.9).
    fn name_or_type(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let absolute = self.at(".");
        if ["bit", "int", "bool"].iter().any(|word| self.at(word)) {
            return self.refuse(start, "a cast is `(bit<8>) x`, a call `packet.lookahead<bit<8>>()`");
        } else if !self.name_ahead(usize::from(absolute)) {
            return self.unexpected("a value");
        }
        if self.is_type(&self.ahead(usize::from(absolute)).text, absolute) {
            // `Type<bit<8>>(...)`: an instance without a name; `Suits.Clubs`.
            if let Some(kind) = self.attempt(Self::named) {
                let of = self.type_of(kind, start.to(self.last()));
                let span = of.span;
                return Ok(self.expression(ExpressionKind::Type(of), span));
            }
        }
        self.eat(".");
        let path = Path { absolute, ident: self.keyword() };
        Ok(self.expression(ExpressionKind::Name(path), start.to(self.last())))
    }

    /// `(type) value` or `(value)` (section 8.11.1).
    fn parentheses(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let cast = self.attempt(|parser| {
            parser.advance();
            // In front of a value is a type, if there is none of its name: the checker says so.
            let is_value = parser.name_ahead(2) && WORDS.iter().all(|(word, _)| !parser.ahead(2).is(word));
            let is_cast = parser.ahead(1).is(")") && (is_value || parser.ahead(2).kind == Kind::Number);
            let of = if is_cast { parser.type_reference()? } else { parser.known_type()? };
            parser.expect(")", "a type")?;
            Ok(of)
        });
        if let Some(of) = cast {
            let value = Box::new(self.nested(Self::unary)?);
            let span = start.to(value.span);
            return Ok(self.expression(ExpressionKind::Cast(of, value), span));
        }
        self.advance();
        let mut value = self.value()?;
        value.span = start.to(self.expect(")", "an expression in parentheses")?);
        Ok(value)
    }

    /// `{a, b}` and `{x = a, ...}` (sections 8.12 to 8.14)
    fn list_or_record(&mut self) -> Parsed<Expression> {
        let start = self.advance().span;
        let mut defaults = false;
        let kind = if self.name_ahead(0) && self.ahead(1).is("=") {
            let fields = self.list("}", "the values of fields", |parser| {
                if parser.eat("...") {
                    defaults = true;
                    return Ok(None);
                }
                let ident = parser.name("a field")?;
                parser.expect("=", "the name of a field")?;
                Ok(Some((ident, parser.value()?)))
            })?;
            ExpressionKind::Record { fields: fields.into_iter().flatten().collect(), defaults }
        } else {
            let mut items = self.list("}", "a list of values", Self::value)?;
            if matches!(items.last(), Some(Expression { kind: ExpressionKind::Default, .. })) {
                items.pop();
                defaults = true;
            }
            ExpressionKind::List { items, defaults }
        };
        Ok(self.expression(kind, start.to(self.last())))
    }

    /// A key of a `select` or an entry (section 8.15): a value, a mask, a range, or everything.
    pub fn key(&mut self) -> Parsed<Expression> {
        if self.at("_") || self.at("default") {
            return Ok(self.any());
        }
        let value = self.value()?;
        self.mask_or_range(value)
    }

    /// `&&& mask` or `.. high` behind a value (sections 8.15.3 and 8.15.4).
    pub fn mask_or_range(&mut self, value: Expression) -> Parsed<Expression> {
        let kind = match &*self.text() {
            "&&&" => ExpressionKind::Mask,
            ".." => ExpressionKind::Range,
            _ => return Ok(value),
        };
        self.advance();
        let other = self.value()?;
        let span = value.span.to(other.span);
        Ok(self.expression(kind(Box::new(value), Box::new(other)), span))
    }

    /// The keys of a case or an entry (section 8.15.5): one, or several in parentheses.
    pub fn keys(&mut self) -> Parsed<Vec<Expression>> {
        if self.at("(") {
            // `(a)`, `(a + b) * c` and `(type) a` begin with `(` as well.
            let tuple = self.attempt(|parser| {
                parser.advance();
                let keys = parser.list(")", "keys", Self::key)?;
                let alone = keys.len() == 1 && is_plain(&keys[0]);
                (parser.at(":") && !alone).then_some(keys).ok_or(Told)
            });
            if let Some(keys) = tuple {
                return Ok(keys);
            }
        }
        Ok(vec![self.key()?])
    }
}

fn is_plain(key: &Expression) -> bool {
    !matches!(key.kind, ExpressionKind::Mask(..) | ExpressionKind::Range(..) | ExpressionKind::Any)
}
