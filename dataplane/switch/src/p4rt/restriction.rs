//! The rules that `@entry_restriction` and `@action_restriction` state, in the language of p4-constraints.
//!
//! Language specification of p4-constraints, sections "Tour of the language" and "Grammar". A number is taken
//! modulo 2^W where it meets `bit<W>`, and a match kind with several fields equals the number that it alone
//! matches.

use std::cmp::Ordering;

use groupflow_pipeline::{part_widths, Match};

use super::bytestring::{self, ones};
use super::restriction_text::Parser;
use super::status::Status;
use super::translation::Names;

/// The most bytes of rules of an object: each is looked at for each entry.
pub const LIMIT: usize = 16 << 10;
const SHOWN: usize = 200;

/// The rules of a table's entries, or of an action's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restriction {
    annotation: &'static str,
    rules: Vec<(String, Rule)>,
}

/// The entry or action that rules are about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub matches: &'a [Match],
    pub arguments: &'a [u128],
    pub priority: u32,
}

impl Restriction {
    /// The rules in an object's annotations, if there are any. `parser` knows the names that rules may use.
    pub fn of(
        annotations: &[String], annotation: &'static str, parser: Parser<'_>,
    ) -> Result<Option<Restriction>, String> {
        let named = |text: &&String| {
            let text = text.trim_start_matches('@');
            text.strip_prefix(annotation).is_some_and(|rest| rest.trim_start().starts_with('('))
        };
        let (mut rules, mut room) = (Vec::new(), LIMIT);
        for text in annotations.iter().filter(named) {
            let text = literals(text).ok_or_else(|| format!("@{annotation}: it has no text in quotes"))?;
            let rest = room.checked_sub(text.trim_end().len());
            room = rest.ok_or_else(|| format!("@{annotation}: it is longer than {LIMIT} bytes"))?;
            rules.extend(parser.rules(&text).map_err(|error| format!("@{annotation}: {error}"))?);
        }
        Ok((!rules.is_empty()).then_some(Restriction { annotation, rules }))
    }

    /// Refuses what breaks a rule, which the error quotes.
    pub fn check(&self, subject: Subject<'_>) -> Result<(), Status> {
        let Some((text, _)) = self.rules.iter().find(|(_, rule)| !rule.holds(subject)) else { return Ok(()) };
        let shown: String = text.chars().take(SHOWN).collect();
        Err(Status::invalid(format!("@{}: it breaks {shown:?}", self.annotation)))
    }
}

/// The text of an annotation's string literals, which follow one another.
fn literals(annotation: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = annotation.chars();
    while chars.by_ref().any(|c| c == '"') {
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => match chars.next()? {
                    'n' => text.push('\n'),
                    escaped => text.push(escaped),
                },
                plain => text.push(plain),
            }
        }
        text.push('\n');
    }
    Some(text).filter(|text| !text.trim().is_empty())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `true` or `false`.
    Constant(bool),
    /// `!`
    Not(Box<Rule>),
    /// `&&` and `;`
    All(Vec<Rule>),
    /// `||`
    Any(Vec<Rule>),
    /// `->`
    Implies(Box<(Rule, Rule)>),
    /// `==` or `!=` of two rules.
    Same(bool, Box<(Rule, Rule)>),
    /// A comparison, of numbers of this width if there is one.
    Compare(Comparison, Option<u32>, Box<(Term, Term)>),
}

/// A comparison, by the orders of two values for which it is true. Some different values have no order.
pub type Comparison = &'static [Option<Ordering>];

/// An expression that is a number, or the match of a key field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    Number(Number),
    /// `-`
    Minus(Box<Term>),
    Key(usize),
    /// A part of the match of a key field.
    Part(usize, Part),
    /// The first part of a parameter, and their number.
    Argument(usize, usize),
    /// The string of a key field, whose bytes are a number; one of more than 128 bits is like the highest.
    Text(usize, Names),
    /// `::priority`
    Priority,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `::value`, and `::low` of a range.
    Value,
    /// `::mask`, `::prefix_length`, or `::high` of a range.
    Second,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub negative: bool,
    pub size: u128,
}

enum Value<'a> {
    Number(Number),
    Match(&'a Match),
}

impl From<u128> for Number {
    fn from(size: u128) -> Number {
        Number { negative: false, size }
    }
}

impl Number {
    fn minus(self) -> Number {
        Number { negative: !self.negative && self.size != 0, size: self.size }
    }

    /// The number modulo 2^width.
    fn bits(self, width: u32) -> u128 {
        (if self.negative { self.size.wrapping_neg() } else { self.size }) & ones(width)
    }

    fn order(self, other: Number) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.size.cmp(&other.size),
            (true, true) => other.size.cmp(&self.size),
            (own, others) => others.cmp(&own),
        }
    }
}

impl Rule {
    fn holds(&self, subject: Subject<'_>) -> bool {
        match self {
            Rule::Constant(constant) => *constant,
            Rule::Not(rule) => !rule.holds(subject),
            Rule::All(rules) => rules.iter().all(|rule| rule.holds(subject)),
            Rule::Any(rules) => rules.iter().any(|rule| rule.holds(subject)),
            Rule::Implies(rules) => !rules.0.holds(subject) || rules.1.holds(subject),
            Rule::Same(same, rules) => (rules.0.holds(subject) == rules.1.holds(subject)) == *same,
            Rule::Compare(comparison, width, terms) => {
                comparison.contains(&order(terms.0.value(subject), terms.1.value(subject), *width))
            }
        }
    }
}

impl Term {
    fn value<'a>(&self, subject: Subject<'a>) -> Value<'a> {
        let number = |number| Value::Number(Number::from(number));
        match self {
            Term::Number(number) => Value::Number(*number),
            Term::Minus(term) => match term.value(subject) {
                Value::Number(number) => Value::Number(number.minus()),
                other => other,
            },
            Term::Key(place) => Value::Match(&subject.matches[*place]),
            Term::Part(place, part) => number(part.of(&subject.matches[*place])),
            Term::Argument(place, parts) => {
                let parts = subject.arguments[*place..][..*parts].iter();
                number(Match::Wide(parts.copied().map(Match::Exact).collect()).numbers().0)
            }
            Term::Text(place, names) => number(text(&subject.matches[*place], names)),
            Term::Priority => number(subject.priority.into()),
        }
    }
}

/// The number that the bytes of a key's string are; 0 where any string matches.
fn text(found: &Match, names: &Names) -> u128 {
    match found.numbers() {
        (number, 1..) => {
            bytestring::decode(&[&[0], &*names.encode(number)].concat(), 128).unwrap_or(u128::MAX)
        }
        _ => 0,
    }
}

impl Part {
    fn of(self, found: &Match) -> u128 {
        let (value, second) = found.numbers();
        match self {
            Part::Value => value,
            Part::Second => second,
        }
    }
}

/// The order of two values; none of different values that have no order.
fn order(left: Value<'_>, right: Value<'_>, width: Option<u32>) -> Option<Ordering> {
    let equal = match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            return Some(match width {
                Some(width) => left.bits(width).cmp(&right.bits(width)),
                None => left.order(right),
            });
        }
        (Value::Match(left), Value::Match(right)) => left == right,
        (Value::Match(found), Value::Number(number)) | (Value::Number(number), Value::Match(found)) => {
            width.is_some_and(|width| is_just(found, number.bits(width), width))
        }
    };
    equal.then_some(Ordering::Equal)
}

/// Whether a match is that of one number alone.
fn is_just(found: &Match, number: u128, width: u32) -> bool {
    match *found {
        Match::Exact(value) => value == number,
        Match::Lpm { value, prefix } => value == number && u32::from(prefix) == width,
        Match::Ternary { value, mask } => value == number && mask == ones(width),
        Match::Range { low, high } => low == number && high == number,
        Match::Optional(value) => value == Some(number),
        Match::Wide(ref parts) => {
            (0..parts.len()).rev().zip(parts).zip(part_widths(width)).all(|((below, part), width)| {
                is_just(part, if below == 0 { number } else { 0 }, width.into())
            })
        }
    }
}
