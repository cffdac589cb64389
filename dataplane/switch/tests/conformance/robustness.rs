//! No request panics, whatever is in it.

use std::collections::BTreeMap;

use groupflow_base::Nanos;
use groupflow_switch::p4rt::{parse_p4info, ClientId, PipelineConfig, Reaction};
use groupflow_switch::proto::p4::config::v1::P4Info;
use groupflow_switch::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use groupflow_switch::proto::p4::v1::stream_message_request::Update as Request;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{
    DigestListAck, Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, PacketMetadata, PacketOut,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, Uint128, Update, WriteRequest,
};
use proptest::prelude::*;
use prost::Message;

use crate::common::{exact, frame, group, replica, session, update, Testbed, DEVICE, JSON, P4INFO};

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
        let _ = bed
            .runtime
            .find(&bed.switch, "", &entity, &mut |kinds| found.push(Entity { entity: Some(kinds) }));
    }
    if let Ok(entity) = Entity::decode(bytes) {
        let _ = bed.runtime.find(&bed.switch, "", &entity, &mut |_| {});
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

/// A thing that a client, the network or the clock does.
#[derive(Debug, Clone)]
enum Step {
    Arbitrate(u64, Option<u64>),
    Close(u64),
    Say(u64, Vec<u8>),
    Acknowledge(u64, u64),
    SendPacket(u64, Vec<u8>),
    Write(u64, usize, i32),
    Configure(u64, i32),
    Read(usize),
    Arrive(u16, u64, u16),
    Later(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (client, id) = (1u64..5, 8u64..13);
    let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        3 => (client.clone(), proptest::option::of(id.clone())).prop_map(|(c, id)| Step::Arbitrate(c, id)),
        1 => client.clone().prop_map(Step::Close),
        1 => (client.clone(), bytes()).prop_map(|(c, bytes)| Step::Say(c, bytes)),
        1 => (client.clone(), 0u64..5).prop_map(|(c, list)| Step::Acknowledge(c, list)),
        1 => (client, bytes()).prop_map(|(c, bytes)| Step::SendPacket(c, bytes)),
        4 => (id.clone(), 0usize..6, 0..4).prop_map(|(id, which, kind)| Step::Write(id, which, kind)),
        2 => (id, 0..6).prop_map(|(id, action)| Step::Configure(id, action)),
        1 => (0usize..6).prop_map(Step::Read),
        3 => (0u16..6, 0u64..4, any::<u16>()).prop_map(|(port, mac, kind)| Step::Arrive(port, mac, kind)),
        2 => (0u64..20_000_000).prop_map(Step::Later),
    ]
}

/// The clients as the specification has them.
struct Clients {
    ids: BTreeMap<u64, Option<u64>>,
    highest: u64,
}

impl Clients {
    fn primary(&self) -> Option<u64> {
        self.ids.iter().find(|(_, id)| **id == Some(self.highest)).map(|(client, _)| *client)
    }

    /// An update ends the stream where another client has the id.
    fn arbitrate(&mut self, client: u64, id: Option<u64>) -> bool {
        let taken = id.is_some() && self.ids.iter().any(|(other, known)| *other != client && *known == id);
        if !taken {
            self.ids.insert(client, id);
            self.highest = self.highest.max(id.unwrap_or(0));
        }
        !taken
    }
}

fn take(bed: &mut Testbed, clients: &mut Clients, now: &mut u64, seeds: &[Update], step: Step) {
    let election = |id| Some(Uint128 { high: 0, low: id });
    let says = |bed: &mut Testbed, client, update| {
        bed.runtime.stream_message(ClientId(client), StreamMessageRequest { update: Some(update) })
    };
    match step {
        Step::Arbitrate(client, id) => {
            let id_message = id.and_then(election);
            let update =
                MasterArbitrationUpdate { device_id: DEVICE, election_id: id_message, ..Default::default() };
            let accepted = says(bed, client, Request::Arbitration(update)).is_ok();
            assert_eq!(accepted, clients.arbitrate(client, id));
        }
        Step::Close(client) => {
            bed.runtime.stream_closed(ClientId(client));
            clients.ids.remove(&client);
        }
        Step::Say(client, bytes) => match StreamMessageRequest::decode(&*bytes) {
            Ok(message) if !matches!(message.update, Some(Request::Arbitration(_))) => {
                assert!(bed.runtime.stream_message(ClientId(client), message).is_ok());
            }
            _ => {}
        },
        Step::Acknowledge(client, list_id) => {
            let ack = DigestListAck { digest_id: bed.digest(), list_id };
            assert!(says(bed, client, Request::DigestAck(ack)).is_ok());
        }
        Step::SendPacket(client, payload) => {
            let metadata = vec![PacketMetadata { metadata_id: 1, value: payload.clone() }];
            let packet = PacketOut { payload, metadata };
            if let Ok(Reaction::PacketOut(bytes)) = says(bed, client, Request::Packet(packet)) {
                assert_eq!(clients.primary(), Some(client));
                bed.switch.packet_out(Nanos(*now), &bytes);
            }
        }
        Step::Write(id, which, kind) => {
            let update = Update { r#type: kind, ..seeds[which % seeds.len()].clone() };
            let request = WriteRequest { election_id: election(id), ..bed.write_request(vec![update]) };
            let allowed = bed.runtime.check_write(&request).is_ok();
            assert_eq!(allowed, clients.primary().is_some() && id == clients.highest);
            let _ = bed.write(&request);
        }
        Step::Configure(id, action) => {
            let request = SetForwardingPipelineConfigRequest {
                device_id: DEVICE,
                election_id: election(id),
                action,
                config: (action != Action::Commit as i32).then(ForwardingPipelineConfig::default),
                ..Default::default()
            };
            if let Ok(action) = bed.runtime.check_set_config(&request) {
                let config = request.config.map(|_| PipelineConfig::from_files(JSON, P4INFO).unwrap());
                let _ = bed.runtime.set_config(&mut bed.switch, action, config);
            }
        }
        Step::Read(which) => {
            let entity = seeds[which % seeds.len()].entity.clone().unwrap_or_default();
            let _ = bed.runtime.find(&bed.switch, "", &entity, &mut |_| {});
        }
        Step::Arrive(port, mac, kind) => bed.inject(*now, port, &frame(mac, kind, 60)),
        Step::Later(span) => *now += span,
    }
    bed.advance(*now);
    for packet in std::mem::take(&mut bed.emitted.packet_ins) {
        bed.runtime.packet_in(&packet.bytes);
    }
    for (time, digest) in std::mem::take(&mut bed.emitted.digests) {
        bed.runtime.digest(time, digest);
    }
    bed.runtime.due(&mut bed.switch, Nanos(*now));
    assert_eq!(bed.runtime.primary().map(|client| client.0), clients.primary());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sequences_of_messages_leave_a_switch_that_works(steps in proptest::collection::vec(step(), 1..60)) {
        let mut bed = Testbed::new(&[]);
        let seeds = seeds(&bed);
        let mut clients = Clients { ids: BTreeMap::from([(1, Some(10))]), highest: 10 };
        let mut now = 0;
        for step in steps {
            take(&mut bed, &mut clients, &mut now, &seeds, step);
        }
        let next = clients.highest + 1;
        for step in [Step::Arbitrate(9, Some(next)), Step::Configure(next, Action::VerifyAndCommit as i32)] {
            take(&mut bed, &mut clients, &mut now, &seeds, step);
        }
        bed.advance(now + 1_000_000_000);
        bed.when_to(1, "forward", &[2, 0]);
        bed.inject(now + 1_000_000_000, 1, &frame(1, 0x0800, 60));
        let left = bed.left(now + 2_000_000_000);
        prop_assert!(left.iter().any(|(_, port)| *port == 2), "{:?}", left);
    }

    #[test]
    fn damaged_p4infos_are_refused_or_work(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        mac in 0u64..4,
    ) {
        let mut bytes = parse_p4info(P4INFO).unwrap().encode_to_vec();
        for (index, value) in cuts {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        let p4info = P4Info::decode(&*bytes);
        let config = p4info.map(|p4info| PipelineConfig::new(ForwardingPipelineConfig {
            p4info: Some(p4info),
            p4_device_config: JSON.into(),
            cookie: None,
        }));
        let mut bed = Testbed::new(&[]);
        let seeds = seeds(&bed);
        if let Ok(Ok(config)) = config {
            bed.runtime.install(&mut bed.switch, config);
            for update in seeds {
                let _ = bed.runtime.apply(&mut bed.switch, &update);
                let entity = update.entity.unwrap_or_default();
                let _ = bed.runtime.find(&bed.switch, "", &entity, &mut |_| {});
            }
            bed.inject(0, 1, &frame(mac, 0x0800, 60));
            bed.advance(1_000_000);
        }
    }
}
