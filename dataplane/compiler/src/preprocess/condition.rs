//! The arithmetic of `#if`: integers, and names that are no macro count as 0.

use super::Preprocessor;
use crate::source::{Name, Span};
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
        let words = self.expand(self.defined(words));
        let mut reader = Reader { words: &words, place: 0, depth: 0 };
        let value = reader.binary(0).filter(|_| reader.place == words.len());
        if value.is_none() {
            let span = words.get(reader.place).map_or(last.span.behind(), |word| word.span);
            self.diagnostics.error(span, "the preprocessor cannot read this condition");
        }
        value.is_some_and(|value| value != 0)
    }

    /// Replaces `defined NAME` by 1 or 0, before macros are expanded.
    fn defined(&self, words: &[Token]) -> Vec<Token> {
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
            let text = Name::from(if holds { "1" } else { "0" });
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

type Operator = (&'static str, u8, fn(i64, i64) -> Option<i64>);

/// C's operators of two sides: how strongly each binds, and its result.
const OPERATORS: [Operator; 18] = [
    ("||", 0, |left, right| Some(i64::from(left != 0 || right != 0))),
    ("&&", 1, |left, right| Some(i64::from(left != 0 && right != 0))),
    ("|", 2, |left, right| Some(left | right)),
    ("^", 3, |left, right| Some(left ^ right)),
    ("&", 4, |left, right| Some(left & right)),
    ("==", 5, |left, right| Some(i64::from(left == right))),
    ("!=", 5, |left, right| Some(i64::from(left != right))),
    ("<", 6, |left, right| Some(i64::from(left < right))),
    (">", 6, |left, right| Some(i64::from(left > right))),
    ("<=", 6, |left, right| Some(i64::from(left <= right))),
    (">=", 6, |left, right| Some(i64::from(left >= right))),
    ("<<", 7, |left, right| left.checked_shl(u32::try_from(right).ok()?)),
    (">>", 7, |left, right| left.checked_shr(u32::try_from(right).ok()?)),
    ("+", 8, |left, right| Some(left.wrapping_add(right))),
    ("-", 8, |left, right| Some(left.wrapping_sub(right))),
    ("*", 9, |left, right| Some(left.wrapping_mul(right))),
    ("/", 9, i64::checked_div),
    ("%", 9, i64::checked_rem),
];

impl Reader<'_> {
    /// Operators that bind at least as strongly as `least`, and their sides.
    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.unary()?;
        while let Some(word) = self.words.get(self.place) {
            let found = OPERATORS.iter().find(|(text, level, _)| word.is(text) && *level >= least);
            let Some((_, level, result)) = found else { break };
            self.place += 1;
            left = result(left, self.binary(level + 1)?)?;
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
