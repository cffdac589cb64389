//! Setting and reading the forwarding pipeline configuration.

use groupflow_switch::p4rt::{parse_p4info, Code, ConfigurationError, PipelineConfig, Status};
use groupflow_switch::proto::p4::config::v1::{
    action::Param, p4_data_type_spec::TypeSpec, Action as ActionInfo, Digest, P4BoolType, P4DataTypeSpec,
    P4Info, P4NamedType, PlatformProperties, Preamble, Table,
};
use groupflow_switch::proto::p4::v1::p4_data::Data;
use groupflow_switch::proto::p4::v1::{
    entity::Entity as Kinds, forwarding_pipeline_config::Cookie,
    get_forwarding_pipeline_config_request::ResponseType, set_forwarding_pipeline_config_request::Action,
    update::Type, CounterData, DigestEntry, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    Index, P4Data, RegisterEntry, SetForwardingPipelineConfigRequest, TableEntry, Uint128,
};

use serde_json::{json, Value};

use crate::common::{
    changed, digest_entry, exact, frame, group, json_table, optional, replica, Testbed, DEVICE, ELECTION,
    JSON, P4INFO,
};

fn message() -> ForwardingPipelineConfig {
    ForwardingPipelineConfig {
        p4info: Some(parse_p4info(P4INFO).unwrap()),
        p4_device_config: JSON.into(),
        cookie: Some(Cookie { cookie: 77 }),
    }
}

fn request(action: Action, config: Option<ForwardingPipelineConfig>) -> SetForwardingPipelineConfigRequest {
    SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        action: action as i32,
        config,
        ..SetForwardingPipelineConfigRequest::default()
    }
}

fn set(bed: &mut Testbed, action: Action, config: Option<ForwardingPipelineConfig>) -> Result<(), Status> {
    let request = request(action, config);
    let action = bed.runtime.check_set_config(&request)?;
    let config = request.config.map(|config| PipelineConfig::new(config).unwrap());
    bed.runtime.set_config(&mut bed.switch, action, config)
}

fn get(bed: &Testbed, kind: ResponseType) -> Option<ForwardingPipelineConfig> {
    let request = GetForwardingPipelineConfigRequest { device_id: DEVICE, response_type: kind as i32 };
    bed.runtime.get_config(&request).unwrap()
}

#[test]
fn verify_changes_nothing() {
    let mut bed = Testbed::without_program(&[]);
    assert_eq!(set(&mut bed, Action::Verify, Some(message())), Ok(()));
    assert_eq!(get(&bed, ResponseType::All), None);
    assert!(bed.switch.forwarding().is_none());
}

#[test]
fn verify_and_commit_clears_the_forwarding_state() {
    let mut bed = Testbed::without_program(&[]);
    assert_eq!(set(&mut bed, Action::VerifyAndCommit, Some(message())), Ok(()));
    bed.when_to(1, "multicast", &[1]);
    bed.apply(Type::Insert, group(1, &[replica(2, 1)])).unwrap();
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0).len(), 1);
    assert_eq!(set(&mut bed, Action::VerifyAndCommit, Some(message())), Ok(()));
    bed.inject(1, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(1), []);
    assert_eq!(bed.read(group(0, &[])).unwrap(), []);
}

#[test]
fn a_saved_configuration_takes_writes_and_replaces_the_old_one_when_committed() {
    let mut bed = Testbed::new(&[]);
    bed.when_to(1, "forward", &[2, 0]);
    assert_eq!(set(&mut bed, Action::VerifyAndSave, Some(message())), Ok(()));
    // Writes and reads are about the saved configuration, packets about the committed one.
    bed.when_to(1, "forward", &[3, 0]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 2)]);
    assert_eq!(set(&mut bed, Action::Commit, None), Ok(()));
    bed.inject(1, 1, &frame(1, 0x0800, 60));
    assert_eq!(bed.left(1), [(1, 3)]);
    let again = set(&mut bed, Action::Commit, None).expect_err("nothing is saved any more");
    assert_eq!((again.code, again.message.as_str()), (Code::NotFound, "COMMIT: no configuration is saved"));
}

#[test]
fn a_reconciliation_keeps_the_forwarding_state() {
    let mut bed = Testbed::new(&[]);
    let entry = TableEntry {
        metadata: b"mine".to_vec(),
        ..bed.entry("TestIngress.destinations", &[exact(1, 1)], "multicast", &[1])
    };
    bed.apply(Type::Insert, entry.clone()).unwrap();
    let counted = Some(CounterData { byte_count: 5, packet_count: 6 });
    let rule = TableEntry {
        priority: 1,
        counter_data: counted,
        ..bed.entry("TestIngress.rules", &[optional(3, 4)], "keep", &[])
    };
    bed.apply(Type::Insert, rule.clone()).unwrap();
    let default = TableEntry {
        is_default_action: true,
        ..bed.entry("TestIngress.destinations", &[], "forward", &[3, 0])
    };
    bed.apply(Type::Modify, default).unwrap();
    bed.apply(Type::Insert, group(1, &[replica(2, 1)])).unwrap();
    let cell = RegisterEntry {
        register_id: bed.register("TestIngress.cells"),
        index: Some(Index { index: 7 }),
        data: Some(P4Data { data: Some(Data::Bitstring(vec![9])) }),
    };
    bed.apply(Type::Modify, cell.clone()).unwrap();
    let digest = digest_entry(bed.digest(), 1, 2, 3);
    bed.apply(Type::Insert, digest.clone()).unwrap();
    // The new program has other constant entries, and a larger table.
    let mut changed = message();
    let mut program: Value = serde_json::from_str(&JSON.replace("0x5678", "0x5679")).unwrap();
    json_table(&mut program, "TestIngress.destinations")["max_size"] = 100.into();
    changed.p4_device_config = program.to_string().into_bytes();
    assert_eq!(set(&mut bed, Action::ReconcileAndCommit, Some(changed.clone())), Ok(()));
    assert_eq!(get(&bed, ResponseType::All), Some(changed));
    let asked = TableEntry { table_id: rule.table_id, counter_data: counted, ..TableEntry::default() };
    assert_eq!(bed.read(asked).unwrap(), [Kinds::from(rule.clone())]);
    let asked = TableEntry { table_id: entry.table_id, ..TableEntry::default() };
    assert_eq!(bed.read(asked).unwrap(), [Kinds::from(entry.clone())]);
    assert_eq!(bed.read(RegisterEntry { data: None, ..cell.clone() }).unwrap(), [Kinds::from(cell.clone())]);
    assert_eq!(bed.read(DigestEntry::default()).unwrap(), [Kinds::from(digest)]);
    bed.inject(0, 1, &frame(1, 0x0800, 60));
    bed.inject(0, 1, &frame(9, 0x0800, 60));
    assert_eq!(bed.left(0), [(0, 2), (0, 3)]);
    (2..=100).for_each(|mac| bed.when_to(mac, "forward", &[2, 0]));
}

/// Where P4Info has no width, a header of the program does, but only one with P4Info's other widths.
#[test]
fn a_header_of_other_widths_is_not_the_controllers() {
    for typed in [false, true] {
        let config = changed(|program, info| {
            let decoy = json!({"name": "d_t", "id": 99,
                "fields": [["ingress_port", 16, false], ["reason", 8, false]]});
            program["header_types"].as_array_mut().unwrap().insert(0, decoy);
            let decoy =
                json!({"name": "d", "id": 99, "header_type": "d_t", "metadata": false, "pi_omit": true});
            program["headers"].as_array_mut().unwrap().insert(0, decoy);
            if typed {
                let field = &mut info.controller_packet_metadata[0].metadata[0];
                (field.bitwidth, field.type_name) = (0, Some(P4NamedType { name: "port_t".into() }));
            }
        });
        let widths: Vec<u32> = config.binding.packet_in.iter().map(|field| field.width).collect();
        assert_eq!(widths, [9, 7], "{typed}");
    }
}

#[test]
fn a_reconciliation_that_would_lose_state_is_refused() {
    let mut bed = Testbed::new(&[]);
    let mut without = message();
    let info = without.p4info.as_mut().unwrap();
    let cells = info.registers.iter().position(|r| r.preamble.as_ref().unwrap().name == "TestIngress.cells");
    info.registers.remove(cells.unwrap());
    let cell = RegisterEntry {
        register_id: bed.register("TestIngress.cells"),
        index: Some(Index { index: 7 }),
        data: Some(P4Data { data: Some(Data::Bitstring(vec![9])) }),
    };
    bed.apply(Type::Modify, cell.clone()).unwrap();
    let status =
        set(&mut bed, Action::ReconcileAndCommit, Some(without.clone())).expect_err("the cell is lost");
    let start =
        "RECONCILE_AND_COMMIT: the new configuration has no place for this: register_id: the program has";
    assert!(status.code == Code::InvalidArgument && status.message.starts_with(start), "{}", status.message);
    assert_eq!(bed.read(RegisterEntry { data: None, ..cell.clone() }).unwrap(), [Kinds::from(cell.clone())]);
    let zero = P4Data { data: Some(Data::Bitstring(vec![0])) };
    bed.apply(Type::Modify, RegisterEntry { data: Some(zero), ..cell }).unwrap();
    assert_eq!(set(&mut bed, Action::ReconcileAndCommit, Some(without)), Ok(()), "nothing is lost");
}

#[test]
fn a_get_before_any_pipeline_fails_as_in_bmv2_on_request() {
    let bed = Testbed::without_program(&[]);
    let runtime = bed.runtime.like_bmv2(true);
    let request = GetForwardingPipelineConfigRequest { device_id: DEVICE, ..Default::default() };
    assert_eq!(runtime.get_config(&request).expect_err("none").code, Code::FailedPrecondition);
}

#[test]
fn refusals_name_the_reason() {
    let bed = Testbed::without_program(&[]);
    let good = request(Action::VerifyAndCommit, Some(message()));
    let other_device = SetForwardingPipelineConfigRequest { device_id: 1, ..good.clone() };
    let other_role = SetForwardingPipelineConfigRequest { role: "r".into(), ..good.clone() };
    let backup =
        SetForwardingPipelineConfigRequest { election_id: Some(Uint128 { high: 0, low: 1 }), ..good };
    let cases = [
        (other_device, Code::NotFound, "no device 1 here, only device 7"),
        (other_role, Code::NotFound, "role \"r\": no client has this role"),
        (backup, Code::PermissionDenied, "not primary: election id 1, the primary's is 10"),
        (
            request(Action::Unspecified, Some(message())),
            Code::InvalidArgument,
            "action: 0 is not one that is known",
        ),
        (request(Action::VerifyAndCommit, None), Code::InvalidArgument, "config: it is missing"),
        (request(Action::Verify, None), Code::InvalidArgument, "config: it is missing"),
        (
            request(Action::Commit, Some(message())),
            Code::InvalidArgument,
            "config: COMMIT takes none, it uses the saved one",
        ),
        (request(Action::ReconcileAndCommit, None), Code::InvalidArgument, "config: it is missing"),
    ];
    for (request, code, message) in cases {
        let status = bed.runtime.check_set_config(&request).expect_err(message);
        assert_eq!((status.code, status.message.as_str()), (code, message));
    }
}

#[test]
fn the_configuration_is_read_back() {
    let mut bed = Testbed::without_program(&[]);
    assert_eq!(get(&bed, ResponseType::All), None);
    set(&mut bed, Action::VerifyAndCommit, Some(message())).unwrap();
    assert_eq!(get(&bed, ResponseType::All), Some(message()));
    let nothing = ForwardingPipelineConfig { cookie: Some(Cookie { cookie: 77 }), ..Default::default() };
    assert_eq!(get(&bed, ResponseType::CookieOnly), Some(nothing.clone()));
    let info = ForwardingPipelineConfig { p4info: message().p4info, ..nothing.clone() };
    assert_eq!(get(&bed, ResponseType::P4infoAndCookie), Some(info));
    let device = ForwardingPipelineConfig { p4_device_config: JSON.into(), ..nothing };
    assert_eq!(get(&bed, ResponseType::DeviceConfigAndCookie), Some(device));
    let elsewhere = GetForwardingPipelineConfigRequest { device_id: 1, ..Default::default() };
    assert_eq!(bed.runtime.get_config(&elsewhere).expect_err("unknown").code, Code::NotFound);
}

#[test]
fn what_is_no_program_is_refused() {
    let with = |p4info: Option<P4Info>, json: &[u8]| {
        let config = ForwardingPipelineConfig { p4info, p4_device_config: json.to_vec(), cookie: None };
        PipelineConfig::new(config).expect_err("refused")
    };
    let info = || parse_p4info(P4INFO).ok();
    assert_eq!(with(None, JSON.as_bytes()), ConfigurationError::NoP4Info);
    assert_eq!(with(info(), b""), ConfigurationError::NoProgram);
    assert_eq!(with(info(), &[0xff]), ConfigurationError::NotText);
    let wrapped = |data: &[u8]| [&[26, data.len() as u8], data].concat();
    let error = with(info(), &wrapped(b"{\"a\": 1}"));
    assert!(error.to_string().starts_with("not p4c's BMv2 JSON"), "{error}");
    let error = with(info(), b"{\"a\": 1}");
    assert_eq!(error.field(), "p4_device_config");
    assert!(error.to_string().starts_with("not p4c's BMv2 JSON"), "{error}");
}

/// Each case breaks P4Info in one place; the message must say where.
#[test]
fn p4info_of_another_program_is_refused_naming_the_place() {
    type Break = fn(&mut P4Info);
    let cases: [(Break, &str); 16] = [
        (|i| drop(i.tables.remove(0)), "table TestIngress.destinations of the program is not in P4Info"),
        (
            |i| drop(i.tables[0].match_fields.pop()),
            "table TestIngress.destinations has 0 key fields in P4Info, 1 in the program",
        ),
        (
            |i| i.tables[0].match_fields[0].bitwidth = 32,
            "table TestIngress.destinations, key field hdr.ethernet.dst has 32 bits in P4Info, 48 in \
                the program",
        ),
        (
            |i| i.tables[0].match_fields[0].name = "x".into(),
            "table TestIngress.destinations, key field x is hdr.ethernet.dst in the program",
        ),
        (
            |i| i.tables[0].match_fields[0].r#match = i.tables[2].match_fields[0].r#match.clone(),
            "table TestIngress.destinations, key field hdr.ethernet.dst is lpm in P4Info, exact in \
                the program",
        ),
        (|i| i.tables[0].action_refs[0].id = 9, "table TestIngress.destinations: no action 9"),
        (
            |i| i.tables[0].action_refs[0].id = id(&i.actions, "TestIngress.tag"),
            "table TestIngress.destinations has no action TestIngress.tag in the program",
        ),
        (
            |i| drop(action(i, "TestIngress.forward").params.pop()),
            "action TestIngress.forward has 1 parameters in P4Info, 2 in the program",
        ),
        (
            |i| action(i, "TestIngress.forward").params[0].bitwidth = 16,
            "action TestIngress.forward, parameter port has 16 bits in P4Info, 9 in the program",
        ),
        (|i| i.registers[0].size = 5, "register TestIngress.cells has 5 cells in P4Info, 32 in the program"),
        (|i| name(&mut i.counters[0].preamble, "c"), "counter c is not in the program"),
        (
            |i| i.registers[0].preamble.as_mut().unwrap().id = id(&i.actions, "TestIngress.tag"),
            "TestIngress.tag and TestIngress.cells have the same id",
        ),
        (
            |i| action(i, "TestIngress.forward").params[1].id = 1,
            "TestIngress.forward: two of its parts have the same id, 1",
        ),
        (
            |i| properties(i).multicast_group_table_size = 65_536,
            "platform_properties: at most 65535 groups of 4096 replicas",
        ),
        (|i| properties(i).multicast_group_table_total_replicas = 4097, "platform_properties: at most 65535"),
        (|i| i.tables[1].match_fields[1].id = 1, "TestIngress.rules: two of its parts have the same id, 1"),
    ];
    for (change, message) in cases {
        let mut info = parse_p4info(P4INFO).unwrap();
        change(&mut info);
        let config = ForwardingPipelineConfig { p4info: Some(info), ..self::message() };
        let error = PipelineConfig::new(config).expect_err(message);
        assert_eq!(error.field(), "p4info");
        let text = error.to_string();
        let rest = text.strip_prefix("P4Info does not match the program: ").unwrap();
        assert!(rest.starts_with(message), "{text}");
    }
}

/// p4c names in P4Info what it leaves out of the program, and calls a digest without type differently there.
#[test]
fn p4info_may_name_more_than_the_program_has() {
    let mut info = parse_p4info(P4INFO).unwrap();
    let gone = |id, preamble: &Option<Preamble>| {
        Some(Preamble { id, name: "gone".into(), ..preamble.clone().unwrap() })
    };
    let table = info.tables[0].clone();
    info.tables.push(Table { preamble: gone(7, &table.preamble), ..table });
    name(&mut info.digests[0].preamble, "digest_0");
    let digest = info.digests[0].preamble.as_ref().unwrap().id;
    let bind = |info: &P4Info| {
        PipelineConfig::new(ForwardingPipelineConfig { p4info: Some(info.clone()), ..message() })
            .unwrap()
            .binding
    };
    let bound = bind(&info);
    assert!(!bound.tables.contains_key(&7));
    let warnings = |info: &P4Info| {
        let message = ForwardingPipelineConfig { p4info: Some(info.clone()), ..message() };
        PipelineConfig::new(message).unwrap().warnings()
    };
    let rule = "@entry_restriction(\"x\")".to_owned();
    let preamble = info.tables[0].preamble.clone();
    info.tables[0].preamble.as_mut().unwrap().annotations.push(rule);
    let ignored = "TestIngress.destinations: @entry_restriction: there is no key field x; it is not kept";
    assert!(warnings(&info).iter().any(|warning| warning == ignored), "{:?}", warnings(&info));
    info.tables[0].preamble = preamble;
    let table = "table gone is in P4Info and not in the program";
    assert_eq!(warnings(&info), [table]);
    assert!(bound.digests.contains_key(&digest));
    // Two digests that the program lacks: nobody knows which is which.
    let second = info.digests[0].clone();
    info.digests.push(Digest { preamble: gone(8, &second.preamble), ..second });
    assert!(bind(&info).digests.is_empty());
    let lost = PipelineConfig::from_files(JSON, P4INFO).unwrap().program.digests[0].name.clone();
    assert_eq!(warnings(&info), [table.to_owned(), format!("digest {lost} is not in P4Info")]);
    // One of another type is not the program's.
    info.digests.truncate(1);
    let bit = Some(P4DataTypeSpec { type_spec: Some(TypeSpec::Bool(P4BoolType {})) });
    info.digests[0].type_spec = bit;
    assert!(bind(&info).digests.is_empty());
}

#[test]
fn a_write_to_a_table_that_p4c_left_out_says_so() {
    let mut info = parse_p4info(P4INFO).unwrap();
    let table = info.tables[0].clone();
    let gone = Preamble { id: 7, name: "gone".into(), ..table.preamble.clone().unwrap() };
    info.tables.push(Table { preamble: Some(gone), ..table });
    let message = ForwardingPipelineConfig { p4info: Some(info), ..message() };
    let mut bed = Testbed::with(PipelineConfig::new(message).unwrap());
    let entry = TableEntry { table_id: 7, ..TableEntry::default() };
    let refused = bed.refused(Type::Insert, entry);
    assert_eq!(refused.1, "table gone is in P4Info and not in the program");
}

#[test]
fn removed_parameters_come_back_only_where_the_program_has_fewer() {
    let params = |change: &dyn Fn(&mut ActionInfo)| {
        let mut info = parse_p4info(P4INFO).unwrap();
        change(action(&mut info, "TestIngress.forward"));
        let message = ForwardingPipelineConfig { p4info: Some(info), ..message() };
        let program = PipelineConfig::new(message).map_err(|error| error.to_string())?.program;
        let found = program.actions.iter().find(|action| action.name == "TestIngress.forward");
        Ok::<_, String>(found.unwrap().params.iter().map(|param| param.width).collect::<Vec<_>>())
    };
    let own = params(&|_| ()).unwrap();
    assert_eq!(params(&|action| action.params[0].name = "renamed".into()), Ok(own.clone()));
    // The type of a string has no width.
    let add = |action: &mut ActionInfo, count: u32| {
        let type_name = Some(P4NamedType { name: "port_t".into() });
        let param =
            |id| Param { id, name: format!("p{id}"), type_name: type_name.clone(), ..Param::default() };
        action.params.extend((100..100 + count).map(param));
    };
    assert_eq!(params(&|action| add(action, 1)), Ok([own, vec![128]].concat()));
    let error = params(&|action| add(action, 300)).unwrap_err();
    assert!(error.ends_with("has 302 parameters in P4Info, 256 in the program"), "{error}");
}

fn properties(info: &mut P4Info) -> &mut PlatformProperties {
    info.pkg_info.as_mut().unwrap().platform_properties.get_or_insert_with(Default::default)
}

fn name(preamble: &mut Option<Preamble>, name: &str) {
    preamble.as_mut().unwrap().name = name.into();
}

fn id(actions: &[ActionInfo], name: &str) -> u32 {
    let preambles = actions.iter().filter_map(|action| action.preamble.as_ref());
    preambles.into_iter().find(|preamble| preamble.name == name).unwrap().id
}

fn action<'a>(info: &'a mut P4Info, name: &str) -> &'a mut ActionInfo {
    info.actions.iter_mut().find(|action| action.preamble.as_ref().unwrap().name == name).unwrap()
}
