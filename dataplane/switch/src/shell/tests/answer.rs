use super::*;
use crate::proto::p4::v1::TableEntry;

fn entry(metadata: usize) -> entity::Entity {
    TableEntry { table_id: 1, metadata: vec![7; metadata], ..TableEntry::default() }.into()
}

fn answer(waiting: &Arc<Mutex<Waiting>>, messages: usize) -> Answer {
    let mut answer = Answer::new(waiting);
    (0..messages).for_each(|_| answer.push(entry(MESSAGE)));
    answer
}

fn codes(answer: Answer) -> Vec<Option<tonic::Code>> {
    answer.map(|message| message.err().map(|status| status.code())).collect()
}

#[test]
fn messages_are_cut_by_size_and_counted_until_they_are_taken() {
    let waiting = Arc::default();
    let mut answer = Answer::new(&waiting);
    (0..10).for_each(|_| answer.push(entry(MESSAGE / 4)));
    answer.end_message();
    assert!(lock(&waiting).bytes > 10 * MESSAGE / 4);
    let entities = |message: ReadResponse| {
        let sent = ReadResponse::decode(&*message.encode_to_vec());
        sent.map_or(0, |received| {
            received.entities.iter().filter(|one| one.entity == Some(entry(MESSAGE / 4))).count()
        })
    };
    let counts: Vec<usize> = answer.by_ref().map(|message| message.map_or(0, entities)).collect();
    assert_eq!(counts, [4, 4, 2]);
    let waiting = lock(&waiting);
    assert_eq!((waiting.bytes, waiting.answers.len()), (0, 0));
}

#[test]
fn the_answer_that_nobody_takes_for_longest_gives_way() {
    let waiting = Arc::default();
    let half = WAITING_LIMIT / (MESSAGE + 100) / 2;
    let (mut taken, left, third) = (answer(&waiting, half), answer(&waiting, half), Answer::new(&waiting));
    assert!(taken.next().is_some_and(|message| message.is_ok()));
    drop(answer(&waiting, half / 2));
    assert_eq!(codes(left), [Some(tonic::Code::ResourceExhausted)], "more than there is room for");
    assert_eq!(codes(taken), vec![None; half - 1]);
    assert!(codes(third).is_empty());
    assert_eq!(lock(&waiting).bytes, 0);
}

#[test]
fn an_answer_larger_than_all_the_room_is_refused() {
    let waiting = Arc::default();
    let large = answer(&waiting, WAITING_LIMIT / MESSAGE + 1);
    assert_eq!(large.check().map_err(|status| status.code), Err(Code::ResourceExhausted));
    assert_eq!(lock(&waiting).bytes, 0);
    assert!(answer(&waiting, 1).check().is_ok());
}
