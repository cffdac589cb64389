//! The answer to a read: as short as on the wire until the client takes it, message by message.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use prost::Message;

use crate::p4rt::{Code, Found, Status};
use crate::proto::p4::v1::{Entity, ReadResponse};

/// Bytes of a message: well below gRPC's usual limit of 4 MiB.
const MESSAGE: usize = 256 << 10;
/// Bytes of answers that all clients together may leave unread before further reads are refused.
const UNREAD_LIMIT: usize = 128 << 20;

/// The messages of an answer, which are the state at one time.
#[derive(Debug)]
pub struct Answer {
    messages: VecDeque<Box<[u8]>>,
    last: ReadResponse,
    last_bytes: usize,
    /// Bytes of all answers, those of this one among them.
    unread: Arc<AtomicUsize>,
}

impl Answer {
    /// An empty answer, unless too many wait.
    pub fn new(unread: &Arc<AtomicUsize>) -> Result<Answer, Status> {
        check(unread)?;
        let unread = Arc::clone(unread);
        Ok(Answer { messages: VecDeque::new(), last: ReadResponse::default(), last_bytes: 0, unread })
    }

    /// Refuses an answer that, with those that wait, takes too much memory.
    pub fn check(&self) -> Result<(), Status> {
        check(&self.unread)
    }

    /// Nothing more is added to the last message.
    pub fn end_message(&mut self) {
        if !self.last.entities.is_empty() {
            let message = self.last.encode_to_vec();
            self.last.entities.clear();
            self.last_bytes = 0;
            self.unread.fetch_add(message.len(), Ordering::Relaxed);
            self.messages.push_back(message.into());
        }
    }
}

fn check(unread: &AtomicUsize) -> Result<(), Status> {
    if unread.load(Ordering::Relaxed) <= UNREAD_LIMIT {
        return Ok(());
    }
    let message = format!("more than {} MiB of answers wait for their clients", UNREAD_LIMIT >> 20);
    Err(Status::new(Code::ResourceExhausted, message))
}

impl Found for Answer {
    fn push(&mut self, entity: Entity) {
        self.last_bytes += entity.encoded_len();
        self.last.entities.push(entity);
        if self.last_bytes >= MESSAGE {
            self.end_message();
        }
    }
}

impl Iterator for Answer {
    type Item = Result<ReadResponse, tonic::Status>;

    fn next(&mut self) -> Option<Self::Item> {
        let message = self.messages.pop_front()?;
        self.unread.fetch_sub(message.len(), Ordering::Relaxed);
        let decoded = ReadResponse::decode(&*message);
        Some(decoded.map_err(|error| tonic::Status::internal(error.to_string())))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let left = self.messages.iter().map(|message| message.len()).sum();
        self.unread.fetch_sub(left, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::v1::{entity, TableEntry};

    fn entry(metadata: usize) -> Entity {
        let entry = TableEntry { table_id: 1, metadata: vec![7; metadata], ..TableEntry::default() };
        Entity { entity: Some(entity::Entity::TableEntry(entry)) }
    }

    #[test]
    fn messages_are_cut_by_size_and_counted_until_they_are_taken() {
        let unread = Arc::new(AtomicUsize::new(0));
        let mut answer = Answer::new(&unread).expect("nothing waits");
        (0..10).for_each(|_| answer.push(entry(MESSAGE / 4)));
        answer.end_message();
        assert!(unread.load(Ordering::Relaxed) > 10 * MESSAGE / 4);
        let counts: Vec<usize> = answer.by_ref().map(|m| m.map_or(0, |m| m.entities.len())).collect();
        assert_eq!(counts, [4, 4, 2]);
        assert_eq!(unread.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn answers_that_nobody_takes_end_further_reads_and_not_the_memory() {
        let unread = Arc::new(AtomicUsize::new(0));
        let mut answer = Answer::new(&unread).expect("nothing waits");
        (0..=UNREAD_LIMIT / MESSAGE).for_each(|_| answer.push(entry(MESSAGE)));
        assert_eq!(Answer::new(&unread).map(drop).expect_err("full").code, Code::ResourceExhausted);
        drop(answer);
        assert!(Answer::new(&unread).is_ok(), "the client has gone");
    }
}
