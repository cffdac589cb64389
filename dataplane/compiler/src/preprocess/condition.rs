//! The arithmetic of `#if`: integers, and names that are no macro count as 0.

use std::collections::VecDeque;

use super::Preprocessor;
use crate::source::Span;
use crate::token::{Kind, Token};

/// The deepest that parentheses and `!` may be nested.
const DEEPEST: usize = 100;

impl Preprocessor<'_> {
    /// Whether the expression of an `#if` is not 0.
    pub fn condition(&mut self, directive: Span, words: &[Token]) -> bool {
        let Some(last) = words.last() else {
            self.error(directive, "this condition has no expression");
            return false;
        };
        self.in_condition = true;
        let words = self.expand(words.to_vec());
        self.in_condition = false;
        let mut reader = Reader { words: &words, place: 0, depth: 0 };
        let value = reader.choice().filter(|_| reader.place == words.len());
        if value.is_none() {
            let span = words.get(reader.place).map_or(last.span.behind(), |word| word.span);
            self.error(span, "the preprocessor cannot read this condition");
        }
        value.is_some_and(|value| value != 0)
    }

    /// Whether the name behind `defined`, in parentheses or without, is a macro's.
    pub fn defined(&self, word: Token, left: &mut VecDeque<Token>) -> Token {
        let open = usize::from(left.front().is_some_and(|open| open.is("(")));
        let Some(name) = left.get(open) else { return word };
        let text = if self.is_macro(&name.text) { "1" } else { "0" };
        left.drain(..left.len().min(1 + 2 * open));
        Token { kind: Kind::Number, text: text.into(), ..word }
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
    /// `condition ? then : otherwise`, or the condition alone.
    fn choice(&mut self) -> Option<i64> {
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Some(condition);
        }
        self.depth += 1;
        let then = self.choice()?;
        let otherwise = self.takes(":").then(|| self.choice())??;
        Some(if condition == 0 { otherwise } else { then })
    }

    fn takes(&mut self, text: &str) -> bool {
        let takes = self.words.get(self.place).is_some_and(|word| word.is(text));
        self.place += usize::from(takes);
        takes
    }

    /// Operators that bind at least as strongly as `least`, and their sides.
    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.unary()?;
        while let Some(word) = self.words.get(self.place) {
            // `>>` is two words, as types end with `>`.
            let next = self.words.get(self.place + 1).filter(|next| word.is(">") && !next.spaced);
            let text = if next.is_some_and(|next| next.is(">")) { ">>" } else { &word.text };
            let found = OPERATORS.iter().find(|(one, level, _)| *one == text && *level >= least);
            let Some((_, level, result)) = found else { break };
            self.place += if text == ">>" { 2 } else { 1 };
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
                let value = self.choice()?;
                self.takes(")").then_some(value)?
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
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    i64::from_str_radix(digits, base).ok()
}
