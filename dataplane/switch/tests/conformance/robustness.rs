//! No request panics, whatever is in it.

use groupflow_switch::p4rt::ClientId;
use groupflow_switch::proto::p4::v1::{Entity, StreamMessageRequest, Update, WriteRequest};
use proptest::prelude::*;
use prost::Message;

use crate::common::{exact, group, replica, session, update, Testbed};
use groupflow_switch::proto::p4::v1::update::Type;

/// Valid messages, to be damaged.
fn seeds(bed: &Testbed) -> Vec<Update> {
    let entry = bed.entry("TestIngress.destinations", &[exact(1, 1)], "forward", &[1, 0]);
    let rule = bed.entry("TestIngress.rules", &[crate::common::ternary(1, 1, 1)], "tag", &[1]);
    vec![
        update(Type::Insert, entry.clone()),
        update(Type::Modify, entry),
        update(Type::Insert, rule),
        update(Type::Insert, group(1, &[replica(1, 1)])),
        update(Type::Modify, session(1, &[replica(1, 1)], 1, 5)),
        update(Type::Insert, crate::common::digest_entry(bed.digest(), 1, 2, 3)),
    ]
}

/// Any bytes that are taken as a message get an answer.
fn try_everything(bed: &mut Testbed, bytes: &[u8]) {
    if let Ok(update) = Update::decode(bytes) {
        let _ = bed.runtime.apply(&mut bed.switch, &update);
        let entity = update.entity.unwrap_or_default();
        let mut found = Vec::new();
        let _ = bed.runtime.find(&bed.switch, "", &entity, &mut found);
    }
    if let Ok(entity) = Entity::decode(bytes) {
        let _ = bed.runtime.find(&bed.switch, "", &entity, &mut Vec::new());
    }
    if let Ok(request) = WriteRequest::decode(bytes) {
        let _ = bed.write(&request);
    }
    if let Ok(message) = StreamMessageRequest::decode(bytes) {
        let _ = bed.runtime.stream_message(ClientId(1), message);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn damaged_requests_are_answered(
        which in 0usize..6,
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bed = Testbed::new(&[]);
        let seeds = seeds(&bed);
        for seed in &seeds {
            let _ = bed.runtime.apply(&mut bed.switch, seed);
        }
        let mut bytes = seeds[which % seeds.len()].encode_to_vec();
        for (index, value) in cuts {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        try_everything(&mut bed, &bytes);
    }

    #[test]
    fn random_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let mut bed = Testbed::new(&[]);
        try_everything(&mut bed, &bytes);
    }

    #[test]
    fn random_ids_and_values_are_answered(
        table in 0usize..8, field in 0u32..5, value in proptest::collection::vec(any::<u8>(), 0..20),
        prefix: i32, priority: i32, kind in 0i32..5, shape in 0u8..6, action in 0usize..12,
    ) {
        use groupflow_switch::proto::p4::v1::{
            action::Param, field_match::*, table_action, Action, FieldMatch, TableAction, TableEntry,
        };
        let mut bed = Testbed::new(&[]);
        let tables: Vec<u32> = bed.binding().tables.keys().copied().collect();
        let actions: Vec<u32> =
            bed.binding().tables.values().flat_map(|table| table.actions.keys().copied()).collect();
        let matched = match shape {
            0 => FieldMatchType::Exact(Exact { value: value.clone() }),
            1 => FieldMatchType::Lpm(Lpm { value: value.clone(), prefix_len: prefix }),
            2 => FieldMatchType::Ternary(Ternary { value: value.clone(), mask: value.clone() }),
            3 => FieldMatchType::Range(Range { low: value.clone(), high: value.clone() }),
            4 => FieldMatchType::Optional(Optional { value: value.clone() }),
            _ => FieldMatchType::Other(prost_types::Any::default()),
        };
        let call = Action {
            action_id: actions[action % actions.len()],
            params: vec![Param { param_id: field, value: value.clone() }],
        };
        let entry = TableEntry {
            table_id: tables.get(table).copied().unwrap_or(9),
            r#match: vec![FieldMatch { field_id: field, field_match_type: Some(matched) }],
            action: Some(TableAction { r#type: Some(table_action::Type::Action(call)) }),
            priority,
            ..TableEntry::default()
        };
        let mut update = update(Type::Insert, entry.clone());
        update.r#type = kind;
        let _ = bed.runtime.apply(&mut bed.switch, &update);
        let _ = bed.read(entry);
    }
}
