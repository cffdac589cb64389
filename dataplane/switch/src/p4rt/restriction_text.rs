//! The text of restrictions, read and checked for types.

use std::cmp::Ordering;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use groupflow_pipeline::{part_widths, MatchKind};

use super::bind::kind_name;
use super::binding::BoundField;
use super::restriction::{Comparison, Number, Part, Rule, Term};

/// How deep parentheses and negations may stand in one another.
const DEPTH: usize = 64;
const SHOWN: usize = 24;

const LESS: Option<Ordering> = Some(Ordering::Less);
const EQUAL: Option<Ordering> = Some(Ordering::Equal);
const MORE: Option<Ordering> = Some(Ordering::Greater);
/// The comparisons; `<=` comes before `<`, with which it begins.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", &[EQUAL]),
    ("!=", &[LESS, MORE, None]),
    ("<=", &[LESS, EQUAL]),
    (">=", &[MORE, EQUAL]),
    ("<", &[LESS]),
    (">", &[MORE]),
];

#[derive(Debug, Clone)]
pub struct Parser<'a> {
    /// The fields of a key, or the parameters of an action.
    fields: &'a [BoundField],
    is_of_key: bool,
    rest: &'a str,
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Type {
    Int,
    Bits(u32),
    Match(MatchKind, u32),
}

enum Expression {
    Rule(Rule),
    Term(Term, Type),
}

impl<'a> Parser<'a> {
    /// For restrictions of entries with a key of these fields, or of actions with these parameters.
    pub fn new(fields: &'a [BoundField], is_of_key: bool) -> Parser<'a> {
        Parser { fields, is_of_key, rest: "", depth: 0 }
    }

    pub fn rules(&self, text: &str) -> Result<Vec<(String, Rule)>, String> {
        let mut parser = Parser { rest: text, ..self.clone() };
        let mut rules = Vec::new();
        parser.skip();
        while !parser.rest.is_empty() {
            let start = parser.rest;
            let expression = parser.implication()?;
            let rule = parser.rule(expression)?;
            let words = start[..start.len() - parser.rest.len()].split_whitespace().collect::<Vec<_>>();
            rules.push((words.join(" "), rule));
            if !parser.takes(";") && !parser.rest.is_empty() {
                return parser.wrong("an operator or ; should be");
            }
        }
        Ok(rules)
    }

    fn implication(&mut self) -> Result<Expression, String> {
        let left = self.either()?;
        if !self.takes("->") {
            return Ok(left);
        }
        let right = self.either()?;
        if self.rest.starts_with("->") {
            return self.wrong("parentheses should say what belongs together");
        }
        let rules = (self.rule(left)?, self.rule(right)?);
        Ok(Expression::Rule(Rule::Implies(Box::new(rules))))
    }

    fn either(&mut self) -> Result<Expression, String> {
        self.chain("||", Parser::both, Rule::Any)
    }

    fn both(&mut self) -> Result<Expression, String> {
        self.chain("&&", Parser::comparison, Rule::All)
    }

    fn chain(
        &mut self, operator: &str, part: fn(&mut Self) -> Result<Expression, String>,
        join: fn(Vec<Rule>) -> Rule,
    ) -> Result<Expression, String> {
        let first = part(self)?;
        if !self.rest.starts_with(operator) {
            return Ok(first);
        }
        let mut rules = vec![self.rule(first)?];
        while self.takes(operator) {
            let next = part(self)?;
            rules.push(self.rule(next)?);
        }
        Ok(Expression::Rule(join(rules)))
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.unary()?;
        let Some((text, comparison)) = self.operator() else { return Ok(left) };
        let right = self.unary()?;
        if self.operator().is_some() {
            return self.wrong("parentheses should say what belongs together");
        }
        let ordered = !matches!(text, "==" | "!=");
        match (left, right) {
            (Expression::Rule(left), Expression::Rule(right)) if !ordered => {
                Ok(Expression::Rule(Rule::Same(text == "==", Box::new((left, right)))))
            }
            (Expression::Term(left, of_left), Expression::Term(right, of_right)) => {
                let width = common_width(of_left, of_right, ordered);
                let width = width.ok_or_else(|| format!("{of_left} and {of_right} cannot be compared so"))?;
                Ok(Expression::Rule(Rule::Compare(comparison, width, Box::new((left, right)))))
            }
            _ => Err("a truth value can only be equal or unequal to another".into()),
        }
    }

    fn operator(&mut self) -> Option<(&'static str, Comparison)> {
        COMPARISONS.into_iter().find(|(text, _)| self.takes(text))
    }

    fn unary(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("it is more than {DEPTH} levels deep"));
        }
        let found = if self.takes("!") {
            let expression = self.unary()?;
            Expression::Rule(Rule::Not(Box::new(self.rule(expression)?)))
        } else if self.takes("-") {
            match self.unary()? {
                Expression::Term(term, Type::Int) => Expression::Term(Term::Minus(Box::new(term)), Type::Int),
                _ => return Err("only whole numbers can be negative".into()),
            }
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn primary(&mut self) -> Result<Expression, String> {
        if self.takes("(") {
            let mut inner = self.implication()?;
            if self.rest.starts_with(';') {
                let mut rules = vec![self.rule(inner)?];
                while self.takes(";") && !self.rest.starts_with(')') {
                    let next = self.implication()?;
                    rules.push(self.rule(next)?);
                }
                inner = Expression::Rule(Rule::All(rules));
            }
            return if self.takes(")") { Ok(inner) } else { self.wrong("a ) should be") };
        }
        if self.takes("::") {
            return match self.word() {
                "priority" if self.is_of_key => Ok(Expression::Term(Term::Priority, Type::Int)),
                other => Err(format!("there is no ::{other}")),
            };
        }
        let number = |number| Ok(Expression::Term(Term::Number(Number::from(number)), Type::Int));
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return numeral(self.word()).map_or_else(|| self.wrong("a number should be"), number);
        }
        match self.word() {
            "" => self.wrong("a key field, a number or ( should be"),
            "true" => Ok(Expression::Rule(Rule::Constant(true))),
            "false" => Ok(Expression::Rule(Rule::Constant(false))),
            kind @ ("ipv4" | "ipv6" | "mac") if self.takes("(") => {
                let text = self.rest.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
                let known = text.and_then(|(text, rest)| Some((address(kind, text)?, rest)));
                let Some((value, rest)) = known else {
                    return self.wrong(&format!("an address ({kind}) in '' should be"));
                };
                self.rest = rest;
                self.skip();
                if self.takes(")") {
                    number(value)
                } else {
                    self.wrong("a ) should be")
                }
            }
            name => self.named(name),
        }
    }

    /// The value of a name: a key field or a part of it, or a parameter.
    fn named(&mut self, name: &str) -> Result<Expression, String> {
        let what = if self.is_of_key { "key field" } else { "parameter" };
        let found = self.fields.iter().enumerate().find(|(_, field)| field.name == name);
        let (place, field) = found.ok_or_else(|| format!("there is no {what} {name}"))?;
        let (kind, bits) = (field.kind, Type::Bits(field.width));
        if !self.is_of_key {
            let parts = self.fields[..place].iter().map(|field| part_widths(field.width).count());
            return match &field.names {
                None => {
                    let own = part_widths(field.width).count();
                    Ok(Expression::Term(Term::Argument(parts.sum(), own), bits))
                }
                Some(_) => Err(format!("{what} {name} is a string, which rules cannot be about")),
            };
        }
        let part = |part, of| match (&field.names, part) {
            (Some(names), Part::Value) => Ok(Expression::Term(Term::Text(place, names.clone()), Type::Int)),
            _ => Ok(Expression::Term(Term::Part(place, part), of)),
        };
        if !self.takes("::") {
            return match kind {
                _ if field.names.is_some() => part(Part::Value, bits),
                MatchKind::Exact => part(Part::Value, bits),
                _ => Ok(Expression::Term(Term::Key(place), Type::Match(kind, field.width))),
            };
        }
        match (self.word(), kind) {
            ("low", MatchKind::Range) => part(Part::Value, bits),
            ("high", MatchKind::Range) => part(Part::Second, bits),
            ("mask", MatchKind::Ternary | MatchKind::Optional) => part(Part::Second, bits),
            ("prefix_length", MatchKind::Lpm) => part(Part::Second, Type::Int),
            ("value", kind) if kind != MatchKind::Range => part(Part::Value, bits),
            (other, _) => Err(format!("key field {name}, which is {}, has no ::{other}", kind_name(kind))),
        }
    }

    fn rule(&self, expression: Expression) -> Result<Rule, String> {
        match expression {
            Expression::Rule(rule) => Ok(rule),
            Expression::Term(_, of) => Err(format!("{of} is not true or false")),
        }
    }

    /// The word that comes next, with its blanks behind.
    fn word(&mut self) -> &'a str {
        let is_end = |c: char| !(c.is_ascii_alphanumeric() || "_.$[]".contains(c));
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip();
        word
    }

    fn takes(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        self.skip();
        true
    }

    /// Leaves blanks and comments out. A comment without an end stays, where nothing expects it.
    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = match self.rest.get(..2) {
                Some("//") => Some(self.rest.find('\n').unwrap_or(self.rest.len())),
                Some("/*") => self.rest[2..].find("*/").map(|end| end + 4),
                _ => None,
            };
            let Some(end) = end else { return };
            self.rest = &self.rest[end..];
        }
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, String> {
        let shown: String = self.rest.chars().take(SHOWN).collect();
        Err(format!("{expected} where {shown:?} is"))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Int => write!(f, "a whole number"),
            Type::Bits(width) => write!(f, "a bit<{width}>"),
            Type::Match(kind, width) => write!(f, "a match of kind {} of {width} bits", kind_name(*kind)),
        }
    }
}

/// The width in which two types are compared; none if they cannot be.
fn common_width(left: Type, right: Type, ordered: bool) -> Option<Option<u32>> {
    match (left, right) {
        (Type::Int, Type::Int) => Some(None),
        (Type::Int, Type::Bits(width)) | (Type::Bits(width), Type::Int) => Some(Some(width)),
        (Type::Bits(left), Type::Bits(right)) => (left == right).then_some(Some(left)),
        _ if ordered => None,
        (Type::Match(_, width), Type::Int) | (Type::Int, Type::Match(_, width)) => Some(Some(width)),
        (Type::Match(_, left), Type::Bits(right)) | (Type::Bits(left), Type::Match(_, right)) => {
            (left == right).then_some(Some(left))
        }
        (Type::Match(_, width), Type::Match(..)) => (left == right).then_some(Some(width)),
    }
}

fn numeral(word: &str) -> Option<u128> {
    let radix = match word.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        Some("0d") => 10,
        _ => return word.parse().ok(),
    };
    u128::from_str_radix(&word[2..], radix).ok()
}

fn address(kind: &str, text: &str) -> Option<u128> {
    match kind {
        "ipv4" => text.parse().ok().map(|address: Ipv4Addr| u32::from(address).into()),
        "ipv6" => text.parse().ok().map(|address: Ipv6Addr| u128::from(address)),
        _ => {
            let byte = |part: &str| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2);
            let bytes: Vec<u8> = text.split(':').map(byte).collect::<Option<_>>()?;
            (bytes.len() == 6).then(|| bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte)))
        }
    }
}

#[cfg(test)]
#[path = "tests/restriction_text.rs"]
mod tests;
