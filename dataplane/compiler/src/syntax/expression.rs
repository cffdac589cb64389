//! Expressions (specification, section 8).

use super::cursor::{Parsed, Parser, Told};
use super::number::number;
use super::tree::{Argument, Binary, Expression, ExpressionKind, Ident, Path, Type, TypeKind, Unary};
use crate::token::Kind;

/// Operators of two sides by how strongly they bind, the weakest first. `>>` is two words: `>` may close types.
pub const OPERATORS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::Or)],
    &[("&&", Binary::And)],
    &[("==", Binary::Equal), ("!=", Binary::NotEqual)],
    &[
        ("<", Binary::Less),
        (">", Binary::Greater),
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
    ],
    &[("|", Binary::BitOr)],
    &[("^", Binary::BitXor)],
    &[("&", Binary::BitAnd)],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[
        ("++", Binary::Concatenate),
        ("+", Binary::Add),
        ("-", Binary::Subtract),
        ("|+|", Binary::AddSaturating),
        ("|-|", Binary::SubtractSaturating),
    ],
    &[("*", Binary::Multiply), ("/", Binary::Divide), ("%", Binary::Modulo)],
];

impl Parser<'_> {
    /// An expression.
    pub fn value(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.choice(true))
    }

    /// An expression in which `>` ends it, unless it is in parentheses: the width of `bit<...>`.
    pub fn value_below_greater(&mut self) -> Parsed<Expression> {
        self.nested(|parser| parser.choice(false))
    }

    fn choice(&mut self, greater: bool) -> Parsed<Expression> {
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

    fn binary(&mut self, level: usize, greater: bool) -> Parsed<Expression> {
        let Some(operators) = OPERATORS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1, greater)?;
        while let Some((operator, words)) = self.operator(operators, greater) {
            self.link()?;
            for _ in 0..words {
                self.advance();
            }
            let right = self.binary(level + 1, greater)?;
            let span = left.span.to(right.span);
            left = self.expression(ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span);
        }
        Ok(left)
    }

    /// The operator at hand, and how many words it is.
    fn operator(&self, operators: &[(&str, Binary)], greater: bool) -> Option<(Binary, usize)> {
        let shifts = self.at(">") && self.ahead(1).is(">") && !self.ahead(1).spaced;
        let assigns = self.at(">") && self.ahead(1).is(">=") && !self.ahead(1).spaced;
        if assigns || self.at(">") && !greater {
            return None;
        }
        let text = if shifts { ">>" } else { &*self.word().text };
        let found =
            operators.iter().find(|(operator, _)| *operator == text && self.word().kind == Kind::Mark)?;
        Some((found.1, 1 + usize::from(shifts)))
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let operator = match &*self.text() {
            "!" => Unary::Not,
            "~" => Unary::Complement,
            "-" => Unary::Minus,
            "+" => Unary::Plus,
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        Ok(self.expression(ExpressionKind::Unary(operator, Box::new(operand)), span))
    }

    /// Members, indices, slices, calls.
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
        if self.word().kind == Kind::Identifier {
            return Ok(self.keyword());
        }
        self.unexpected("the name of a member")
    }

    fn bracket(&mut self, value: Expression) -> Parsed<Expression> {
        self.advance();
        let first = self.value()?;
        let value = Box::new(value);
        let (value_span, first) = (value.span, Box::new(first));
        let kind = if self.eat(":") {
            let low = Box::new(self.value()?);
            ExpressionKind::Slice { value, high: first, low }
        } else if self.eat("+:") {
            let width = Box::new(self.value()?);
            ExpressionKind::Part { value, low: first, width }
        } else {
            ExpressionKind::Index(value, first)
        };
        let end = self.expect("]", "an index")?;
        Ok(self.expression(kind, value_span.to(end)))
    }

    /// `<bit<32>>` in front of `(`: the types of a generic call. `<` may be a comparison as well.
    fn call_types(&mut self, callee: &Expression) -> Option<Vec<Type>> {
        let callable = matches!(callee.kind, ExpressionKind::Name(_) | ExpressionKind::Member(..));
        if !callable || !self.at("<") {
            return None;
        }
        self.attempt(|parser| {
            parser.advance();
            let types = parser.list(">", "types", Self::known_type)?;
            if parser.at("(") && !types.is_empty() {
                Ok(types)
            } else {
                Err(Told)
            }
        })
    }

    fn call(&mut self, callee: Expression, types: Vec<Type>) -> Parsed<Expression> {
        let arguments = self.arguments()?;
        let span = callee.span.to(self.last());
        Ok(self.expression(ExpressionKind::Call { callee: Box::new(callee), types, arguments }, span))
    }

    /// `(a, name = b)`
    pub fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        self.expect("(", "the name of what is called")?;
        self.list(")", "the arguments", |parser| {
            let named = parser.name_ahead(0) && parser.ahead(1).is("=");
            let ident = named.then(|| parser.keyword());
            parser.eat("=");
            let value = if parser.at("_") { parser.any() } else { parser.value()? };
            Ok(Argument { ident, value })
        })
    }

    fn any(&mut self) -> Expression {
        let span = self.advance().span;
        self.expression(ExpressionKind::Any, span)
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let word = self.word().clone();
        let kind = match (&*word.text, word.kind) {
            (_, Kind::Number) => match number(&word.text) {
                Ok(number) => ExpressionKind::Number(number),
                Err(message) => {
                    self.diagnostics.error(word.span, message);
                    ExpressionKind::Wrong
                }
            },
            (text, Kind::Text) if text.len() > 1 => ExpressionKind::String(text[1..text.len() - 1].into()),
            ("true", _) => ExpressionKind::Bool(true),
            ("false", _) => ExpressionKind::Bool(false),
            ("this", _) => ExpressionKind::This,
            ("...", _) => ExpressionKind::Default,
            ("{#}", _) => ExpressionKind::Invalid,
            ("{", _) => return self.braces(),
            ("(", _) => return self.parentheses(),
            ("error", _) => ExpressionKind::Type(self.type_of(TypeKind::Error, word.span)),
            _ => return self.name_or_type(),
        };
        self.advance();
        Ok(self.expression(kind, word.span))
    }

    fn name_or_type(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let absolute = self.at(".");
        if !self.name_ahead(usize::from(absolute)) {
            return self.unexpected("a value");
        }
        if self.is_type(&self.ahead(usize::from(absolute)).text, absolute) {
            // `Type<bit<8>>(...)`: an instance without a name; `Suits.Clubs`.
            if let Some(kind) = self.attempt(Self::named) {
                let span = start.to(self.last());
                let of = self.type_of(kind, span);
                return Ok(self.expression(ExpressionKind::Type(of), span));
            }
        }
        self.eat(".");
        let path = Path { absolute, ident: self.keyword() };
        Ok(self.expression(ExpressionKind::Name(path), start.to(self.last())))
    }

    /// `(type) value` or `(value)`.
    fn parentheses(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let cast = self.attempt(|parser| {
            parser.advance();
            let of = parser.known_type()?;
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

    /// `{a, b}` and `{x = a, ...}`
    fn braces(&mut self) -> Parsed<Expression> {
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

    /// A key of a `select` or an entry: a value, a mask, a range, or everything.
    pub fn key(&mut self) -> Parsed<Expression> {
        if self.at("_") || self.at("default") {
            return Ok(self.any());
        }
        let value = self.value()?;
        self.mask_or_range(value)
    }

    /// `&&& mask` or `.. high` behind a value.
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

    /// The keys of a case or an entry: one, or several in parentheses.
    pub fn keys(&mut self) -> Parsed<Vec<Expression>> {
        if self.at("(") {
            // `(a)`, `(a + b) * c` and `(type) a` begin with `(` as well.
            let tuple = self.attempt(|parser| {
                parser.advance();
                let keys = parser.list(")", "keys", Self::key)?;
                let alone = keys.len() == 1 && is_plain(&keys[0]);
                if parser.at(":") && !alone {
                    Ok(keys)
                } else {
                    Err(Told)
                }
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
