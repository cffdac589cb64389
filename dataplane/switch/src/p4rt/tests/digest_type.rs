use super::super::config::parse_p4info;
use super::*;

/// As p4c writes it; `loop_t` is what no compiler writes.
const P4INFO: &str = r#"
        digests { type_spec { struct { name: "learned_t" } } }
        type_info {
          structs { key: "learned_t" value {
            members { name: "port" type_spec { new_type { name: "port_t" } } }
            members { name: "flag" type_spec { bool { } } }
            members { name: "level" type_spec { bitstring { int { bitwidth: 8 } } } }
            members { name: "pair" type_spec { tuple {
              members { bitstring { bit { bitwidth: 8 } } } members { new_type { name: "flag_t" } } } } }
            members { name: "colour" type_spec { enum { name: "Colour" } } }
            members { name: "code" type_spec { serializable_enum { name: "Code" } } }
            members { name: "error" type_spec { error { } } }
            members { name: "ether" type_spec { header { name: "ether_t" } } } } }
          structs { key: "loop_t" value { members { name: "l" type_spec { struct { name: "loop_t" } } } } }
          headers { key: "ether_t" value {
            members { name: "dst" type_spec { bit { bitwidth: 48 } } }
            members { name: "type" type_spec { bit { bitwidth: 16 } } } } }
          enums { key: "Colour" value { members { name: "RED" } members { name: "BLUE" } } }
          error { members: "NoError" members: "PacketTooShort" }
          new_types { key: "port_t" value { translated_type { uri: "u" sdn_string { } } } }
          new_types { key: "flag_t" value { original_type { bool { } } } }
        }"#;

fn types_of(digest: &str) -> (info::P4Info, Option<info::P4DataTypeSpec>) {
    let text = P4INFO.replacen("learned_t", digest, 1);
    let parsed = parse_p4info(text.as_bytes()).expect("valid");
    let spec = parsed.digests[0].type_spec.clone();
    (parsed, spec)
}

#[test]
fn members_have_their_types() {
    let (parsed, spec) = types_of("learned_t");
    let names = Names::default();
    let types = Types { info: parsed.type_info.as_ref(), names: &|_| Some(names.clone()) };
    let of = DataType::of(spec.as_ref(), &types, 10);
    let bits = |bytes: &[u8]| Data::Bitstring(bytes.to_vec());
    let like = |members: Vec<Data>| P4StructLike {
        members: members.into_iter().map(|data| P4Data { data: Some(data) }).collect(),
    };
    let ether = P4Header { is_valid: true, bitstrings: vec![vec![7], vec![8, 0]] };
    let expected = like(vec![
        bits(b"3"),
        Data::Bool(true),
        bits(&[0xfe]),
        Data::Tuple(like(vec![bits(&[9]), Data::Bool(false)])),
        Data::Enum("BLUE".into()),
        Data::EnumValue(vec![5]),
        Data::Error("PacketTooShort".into()),
        Data::Header(ether),
    ]);
    let values = [3, 1, 0xfe, 9, 0, 1, 5, 1, 7, 0x800];
    assert_eq!(of.data(&mut values.into_iter()).data, Some(Data::Struct(expected)));
}

#[test]
fn a_type_that_cannot_be_told_is_a_struct_of_bit_strings() {
    let flat = |values| DataType::Struct(vec![DataType::Bits(1, None); values]);
    for (digest, values) in [("loop_t", 2), ("learned_t", 3), ("unknown_t", 1)] {
        let (parsed, spec) = types_of(digest);
        let types = Types { info: parsed.type_info.as_ref(), names: &|_| None };
        assert_eq!(DataType::of(spec.as_ref(), &types, values), flat(values), "{digest}");
    }
}
