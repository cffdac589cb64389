//! Annotations (specification, section 20).

use super::cursor::{Parsed, Parser};
use super::tree::Annotation;
use crate::token::Kind;

impl Parser<'_> {
    /// The annotations in front of something.
    pub fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.at("@") {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> Parsed<Annotation> {
        self.advance();
        if self.word().kind != Kind::Identifier {
            return self.unexpected("the name of an annotation");
        }
        let name = self.keyword();
        if &*name.name == "pragma" {
            return Ok(self.pragma());
        }
        let (close, structured) = match &*self.text() {
            "(" => (")", false),
            "[" => ("]", true),
            _ => return Ok(Annotation { name, body: None, structured: false }),
        };
        let open = self.advance();
        let mut depth = 1_usize;
        let mut body = Vec::new();
        loop {
            if self.at_end() {
                return self.refuse(open.span, format!("this annotation has no `{close}`"));
            }
            let word = self.advance();
            if word.is(&open.text) {
                depth += 1;
            } else if word.is(close) {
                depth -= 1;
                if depth == 0 {
                    return Ok(Annotation { name, body: Some(body), structured });
                }
            }
            body.push(word);
        }
    }

    /// `@pragma name words`, up to the end of the line.
    fn pragma(&mut self) -> Annotation {
        let name = self.keyword();
        let mut body = Vec::new();
        while !self.word().first && !self.at_end() {
            body.push(self.advance());
        }
        Annotation { name, body: Some(body), structured: false }
    }
}
