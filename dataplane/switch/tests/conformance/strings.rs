//! Fields and parameters of a type that the controller writes as strings.

use std::sync::Arc;

use groupflow_switch::p4rt::{ClientId, Code, PipelineConfig, Reaction};
use groupflow_switch::proto::p4::config::v1 as info;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, field_match, set_forwarding_pipeline_config_request::Action,
    stream_message_request, stream_message_response, table_action, update::Type, FieldMatch, PacketMetadata,
    PacketOut, StreamMessageRequest, TableEntry,
};
use info::p4_new_type_spec::Representation;
use info::p4_new_type_translation::{SdnString, SdnType};

use crate::common::{changed, exact, frame, info_table, lpm, switch_config, Testbed};

const DESTINATIONS: &str = "TestIngress.destinations";
const RULES: &str = "TestIngress.rules";
const PREFIXES: &str = "TestIngress.prefixes";

/// Ports are strings: the first parameter of `forward`, the third field of `rules`, that of packets' headers;
/// and the field of `prefixes`, which no entry can have then.
fn config() -> PipelineConfig {
    config_of("ports", info::match_field::MatchType::Optional)
}

/// The same with a URI of the type, and a match kind of the field.
fn config_of(uri: &str, kind_of_match: info::match_field::MatchType) -> PipelineConfig {
    changed(|_, p4info| {
        let sdn_type = Some(SdnType::SdnString(SdnString {}));
        let to = info::P4NewTypeTranslation { uri: uri.into(), sdn_type };
        let kind = Representation::TranslatedType(to);
        let kind = info::P4NewTypeSpec { representation: Some(kind), ..info::P4NewTypeSpec::default() };
        p4info.type_info.get_or_insert_with(Default::default).new_types.insert("port_t".into(), kind);
        let port = || Some(info::P4NamedType { name: "port_t".into() });
        let named = |action: &&mut info::Action| {
            action.preamble.as_ref().is_some_and(|preamble| preamble.name == "TestIngress.forward")
        };
        let param = &mut p4info.actions.iter_mut().find(named).unwrap().params[0];
        (param.bitwidth, param.type_name) = (0, port());
        let field = &mut info_table(p4info, RULES).match_fields[2];
        (field.bitwidth, field.type_name) = (0, port());
        field.r#match = Some(info::match_field::Match::MatchType(kind_of_match.into()));
        let prefix = &mut info_table(p4info, PREFIXES).match_fields[0];
        (prefix.bitwidth, prefix.type_name) = (0, port());
        for header in &mut p4info.controller_packet_metadata {
            (header.metadata[0].bitwidth, header.metadata[0].type_name) = (0, port());
        }
    })
}

/// An entry for frames to `mac`, which leave by the port of this name.
fn to(bed: &Testbed, mac: u128, port: &str) -> TableEntry {
    let mut entry = bed.entry(DESTINATIONS, &[exact(1, mac)], "forward", &[0, 0]);
    match entry.action.as_mut().unwrap().r#type.as_mut().unwrap() {
        table_action::Type::Action(action) => action.params[0].value = port.into(),
        other => panic!("{other:?}"),
    }
    entry
}

/// An entry for frames of the port of this name.
fn from(bed: &Testbed, port: &str) -> TableEntry {
    let optional = field_match::Optional { value: port.into() };
    let key =
        FieldMatch { field_id: 3, field_match_type: Some(field_match::FieldMatchType::Optional(optional)) };
    TableEntry { priority: 1, ..bed.entry(RULES, &[key], "keep", &[]) }
}

fn all(bed: &Testbed, table: &str) -> Vec<Kinds> {
    bed.read(TableEntry { table_id: bed.table(table), ..TableEntry::default() }).unwrap()
}

/// The port by which a frame to `mac` leaves.
fn port_of(bed: &mut Testbed, mac: u64, time: u64) -> Vec<u16> {
    bed.inject(time, 4, &frame(mac, 0x0800, 60));
    bed.left(time).into_iter().map(|(_, port)| port).collect()
}

#[test]
fn a_field_of_a_string_type_has_strings() {
    let mut bed = Testbed::with(config());
    let entry = to(&bed, 1, "Ethernet8");
    bed.apply(Type::Insert, entry.clone()).unwrap();
    assert_eq!(all(&bed, DESTINATIONS), [Kinds::from(entry)]);
    assert_eq!(port_of(&mut bed, 1, 0), [1], "the first string is 1");
    let rule = from(&bed, "Ethernet8");
    bed.apply(Type::Insert, rule.clone()).unwrap();
    assert_eq!(all(&bed, RULES), [Kinds::from(rule)]);
    // Nine bits of the packet, whose width P4Info does not say.
    let update = bed.runtime.packet_in(&[0x00, 0x85, 0xaa]).remove(0).1.update;
    let Some(stream_message_response::Update::Packet(packet)) = update else { panic!("no packet") };
    assert_eq!((packet.metadata[0].value.as_slice(), packet.payload), (&b"Ethernet8"[..], vec![0xaa]));
}

#[test]
fn a_ternary_string_is_matched_as_a_whole() {
    let mut bed = Testbed::with(config_of("", info::match_field::MatchType::Ternary));
    let rule = |mask: &[u8]| {
        let ternary = field_match::Ternary { value: "Ethernet8".into(), mask: mask.to_vec() };
        let ternary = Some(field_match::FieldMatchType::Ternary(ternary));
        let key = FieldMatch { field_id: 3, field_match_type: ternary };
        TableEntry { priority: 1, ..bed.entry(RULES, &[key], "keep", &[]) }
    };
    let (whole, part) = (rule(&[0x01, 0xff]), rule(&[0x0f]));
    assert!(bed.refused(Type::Insert, part).1.contains("a string has no bits that could be left out"));
    bed.apply(Type::Insert, whole.clone()).unwrap();
    assert_eq!(all(&bed, RULES), [Kinds::from(whole)]);
    // The empty string is 0.
    let entry = to(&bed, 1, "");
    bed.apply(Type::Insert, entry.clone()).unwrap();
    assert_eq!((all(&bed, DESTINATIONS), port_of(&mut bed, 1, 0)), (vec![Kinds::from(entry)], vec![]));
}

#[test]
fn a_string_has_no_prefixes() {
    let mut bed = Testbed::with(config());
    let entry = bed.entry(PREFIXES, &[lpm(1, 1, 48)], "metered", &[]);
    assert!(bed
        .refused(Type::Insert, entry)
        .1
        .contains("a string has no prefixes and no ranges: leave it out"));
    let entry = bed.entry(PREFIXES, &[], "metered", &[]);
    bed.apply(Type::Insert, entry.clone()).unwrap();
    assert_eq!(all(&bed, PREFIXES), [Kinds::from(entry)]);
}

#[test]
fn strings_keep_their_numbers_when_the_pipeline_is_reconciled() {
    let mut bed = Testbed::with(config());
    let (first, second) = (to(&bed, 1, "Ethernet8"), to(&bed, 2, "Ethernet4"));
    bed.apply(Type::Insert, first.clone()).unwrap();
    bed.apply(Type::Insert, second.clone()).unwrap();
    bed.apply(Type::Delete, first).unwrap();
    assert_eq!(port_of(&mut bed, 2, 0), [2]);
    bed.runtime.set_config(&mut bed.switch, Action::ReconcileAndCommit, Some(config())).unwrap();
    assert_eq!(port_of(&mut bed, 2, 1), [2]);
    assert_eq!(all(&bed, DESTINATIONS), [Kinds::from(second)]);
    let third = to(&bed, 3, "Ethernet0");
    bed.apply(Type::Insert, third).unwrap();
    assert_eq!(port_of(&mut bed, 3, 2), [3], "1 is still Ethernet8");
}

#[test]
fn only_accepted_writes_give_strings_a_number() {
    let mut bed = Testbed::with(config());
    let read = TableEntry { action: None, ..from(&bed, "read") };
    assert_eq!(bed.read(read), Ok(Vec::new()));
    let absent = to(&bed, 1, "refused");
    assert_eq!(bed.refused(Type::Modify, absent).0, Code::NotFound);
    let metadata = bed.binding().packet_out.iter().enumerate().map(|(place, field)| PacketMetadata {
        metadata_id: field.id,
        value: if place == 0 { b"sent".to_vec() } else { vec![0] },
    });
    let packet = PacketOut { payload: Vec::new(), metadata: metadata.collect() };
    let send = |bed: &mut Testbed, packet: &PacketOut| {
        let update = Some(stream_message_request::Update::Packet(packet.clone()));
        bed.runtime.stream_message(ClientId(1), StreamMessageRequest { update })
    };
    assert!(matches!(send(&mut bed, &packet), Ok(Reaction::Send(_))), "an error");
    bed.runtime.packet_in(&[0x00, 0x85, 0xaa]);
    let entry = to(&bed, 1, "sent");
    bed.apply(Type::Insert, entry).unwrap();
    assert_eq!(port_of(&mut bed, 1, 0), [1]);
    assert!(matches!(send(&mut bed, &packet), Ok(Reaction::PacketOut(_))));
}

#[test]
fn switches_that_share_a_configuration_have_their_own_numbers() {
    let config = Arc::new(config());
    let mut beds = [(); 2].map(|()| Testbed::of(switch_config(&[])));
    for (bed, names) in beds.iter_mut().zip([["a", "b"], ["b", "a"]]) {
        bed.runtime.install(&mut bed.switch, config.clone());
        for (mac, name) in (1..).zip(names) {
            let entry = to(bed, mac, name);
            bed.apply(Type::Insert, entry).unwrap();
        }
        assert_eq!([port_of(bed, 1, 0), port_of(bed, 2, 1)], [[1], [2]]);
    }
}
