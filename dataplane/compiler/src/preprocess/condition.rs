//! The arithmetic of `#if`: integers, and names that are no macro count as 0.

use super::Preprocessor;
use crate::source::Span;
use crate::token::{Kind, Token};

/// The deepest that parentheses and `!` may be nested.
const DEEPEST: usize = 100;

impl Preprocessor<'_> {
    /// Whether the expression of an `#if` is not 0.
    pub fn condition(&mut self, directive: Span, words: &[Token]) -> bool {
        let Some(last) = words.last() else {
            self.diagnostics.error(directive, "this condition has no expression");
            return false;
        };
        let words = self.defined(words);
        let words = self.expand(words);
        let mut reader = Reader { words: &words, place: 0, depth: 0 };
        let value = reader.binary(0);
        match value {
            Some(value) if reader.place == words.len() => value != 0,
            _ => {
                let span = words.get(reader.place).map_or(last.span.behind(), |word| word.span);
                self.diagnostics.error(span, "the preprocessor cannot read this condition");
                false
            }
        }
    }

    /// Replaces `defined NAME` by 1 or 0, before macros are expanded.
    fn defined(&mut self, words: &[Token]) -> Vec<Token> {
        let mut made = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.is("defined") {
                made.push(word.clone());
                continue;
            }
            let mut name = words.next();
            if name.is_some_and(|name| name.is("(")) {
                name = words.next();
                words.next();
            }
            let holds = name.is_some_and(|name| self.macros.contains_key(&name.text));
            let text = self.interner.name(if holds { "1" } else { "0" });
            made.push(Token { kind: Kind::Number, text, ..word.clone() });
        }
        made
    }
}

struct Reader<'a> {
    words: &'a [Token],
    place: usize,
    depth: usize,
}

/// Operators of two sides by how strongly they bind, the weakest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Reader<'_> {
    fn binary(&mut self, level: usize) -> Option<i64> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(word) = self.words.get(self.place) {
            let Some(operator) = operators.iter().find(|operator| word.is(operator)) else { break };
            self.place += 1;
            let right = self.binary(level + 1)?;
            left = apply(operator, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        let word = self.words.get(self.place)?;
        self.place += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = match (&*word.text, word.kind) {
            ("!", _) => i64::from(self.unary()? == 0),
            ("-", _) => self.unary()?.wrapping_neg(),
            ("+", _) => self.unary()?,
            ("~", _) => !self.unary()?,
            ("(", _) => {
                let value = self.binary(0)?;
                self.words.get(self.place).filter(|word| word.is(")"))?;
                self.place += 1;
                value
            }
            (text, Kind::Number) => number(text)?,
            (_, Kind::Identifier) => 0,
            _ => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    let shift = u32::try_from(right).ok().filter(|&bits| bits < 64);
    Some(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => left << shift?,
        ">>" => left >> shift?,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}
