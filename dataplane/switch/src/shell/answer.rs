//! The answers to reads: as short as on the wire until their clients take them, message by message.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use groupflow_host::process::lock;
use prost::Message;

use crate::p4rt::{Code, Status};
use crate::proto::p4::v1::{entity, Entity};
use crate::proto::ReadResponse;

/// Bytes of a message: one or two of each call are on their way beside those that wait.
const MESSAGE: usize = 64 << 10;
/// Bytes of all answers that wait. Beyond, the one gives way whose client has taken nothing for longest.
const WAITING_LIMIT: usize = 128 << 20;

/// The key of the field `entities`: number 1, of the wire type with a length.
const ENTITIES: u8 = 1 << 3 | 2;

#[derive(Debug, Default)]
pub struct Waiting {
    bytes: usize,
    next: u64,
    /// The messages of each, by a number that grows from take to take.
    answers: BTreeMap<u64, VecDeque<Box<[u8]>>>,
}

impl Waiting {
    fn add(&mut self, messages: VecDeque<Box<[u8]>>) -> u64 {
        self.next += 1;
        self.answers.insert(self.next, messages);
        self.next
    }

    fn remove(&mut self, number: u64) {
        let messages = self.answers.remove(&number).unwrap_or_default();
        self.bytes -= messages.iter().map(|message| message.len()).sum::<usize>();
    }
}

/// The messages of an answer, which are the state at one time.
#[derive(Debug)]
pub struct Answer {
    last: Vec<u8>,
    waiting: Arc<Mutex<Waiting>>,
    /// The answer's number among those that wait, until its end.
    number: Option<u64>,
}

impl Answer {
    pub fn new(waiting: &Arc<Mutex<Waiting>>) -> Answer {
        let number = Some(lock(waiting).add(VecDeque::new()));
        Answer { last: Vec::new(), waiting: Arc::clone(waiting), number }
    }

    /// Refuses an answer that had to give way, even to itself.
    pub fn check(&self) -> Result<(), Status> {
        let there = self.number.is_some_and(|number| lock(&self.waiting).answers.contains_key(&number));
        there.then_some(()).ok_or_else(|| Status::new(Code::ResourceExhausted, gave_way()))
    }

    /// Nothing more is added to the last message.
    pub fn end_message(&mut self) {
        let message: Box<[u8]> = self.last.as_slice().into();
        self.last.clear();
        let mut waiting = lock(&self.waiting);
        let own = self.number.and_then(|number| waiting.answers.get_mut(&number));
        let Some(own) = own.filter(|_| !message.is_empty()) else { return };
        let bytes = message.len();
        own.push_back(message);
        waiting.bytes += bytes;
        while waiting.bytes > WAITING_LIMIT {
            let Some(longest) = waiting.answers.keys().next().copied() else { break };
            waiting.remove(longest);
        }
    }

    pub fn push(&mut self, entity: entity::Entity) {
        let entity = Entity { entity: Some(entity) };
        self.last.push(ENTITIES);
        // There is always room in a vector.
        let _ = entity.encode_length_delimited(&mut self.last);
        if self.last.len() >= MESSAGE {
            self.end_message();
        }
    }
}

fn gave_way() -> String {
    format!("more than {} MiB of answers wait for their clients, this one for longest", WAITING_LIMIT >> 20)
}

impl Iterator for Answer {
    type Item = Result<ReadResponse, tonic::Status>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.number.take()?;
        let mut waiting = lock(&self.waiting);
        let Some(mut messages) = waiting.answers.remove(&number) else {
            return Some(Err(tonic::Status::resource_exhausted(gave_way())));
        };
        let message = messages.pop_front()?;
        waiting.bytes -= message.len();
        self.number = Some(waiting.add(messages));
        drop(waiting);
        Some(Ok(ReadResponse { encoded: message, ..ReadResponse::default() }))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            lock(&self.waiting).remove(number);
        }
    }
}

#[cfg(test)]
#[path = "tests/answer.rs"]
mod tests;
