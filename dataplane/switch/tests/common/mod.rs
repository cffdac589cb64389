//! A switch that runs tests/programs/testbed.p4, with words for what tests do to it.

#![allow(dead_code)] // Each test file uses some of it.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::sync::{Arc, OnceLock};

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_switch::core::{Emitted, FlowControl, SentFrame, Switch, SwitchConfig};
use groupflow_switch::p4rt::{
    encode, parse_p4info, Binding, ClientId, Code, PipelineConfig, Reaction, Runtime, Status,
};
use groupflow_switch::proto::p4::config::v1::{P4Info, Table};
use groupflow_switch::proto::p4::v1::action::Param;
use groupflow_switch::proto::p4::v1::digest_entry::Config;
use groupflow_switch::proto::p4::v1::entity::Entity as Kinds;
use groupflow_switch::proto::p4::v1::replica::PortKind;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{
    field_match, stream_message_request, table_action, Action, CloneSessionEntry, DigestEntry, Entity,
    FieldMatch, ForwardingPipelineConfig, MasterArbitrationUpdate, MulticastGroupEntry,
    PacketReplicationEngineEntry, ReadRequest, Replica, Role, StreamMessageRequest, TableAction, TableEntry,
    Uint128, Update, WriteRequest,
};
use serde_json::Value;

pub const JSON: &str = include_str!("../programs/testbed.json");
pub const P4INFO: &[u8] = include_bytes!("../programs/testbed.p4info.txtpb");
pub const QUEUES_JSON: &str = include_str!("../programs/queues.json");
pub const QUEUES_P4INFO: &[u8] = include_bytes!("../programs/queues.p4info.txtpb");
pub const DEVICE: u64 = 7;
pub const ELECTION: Uint128 = Uint128 { high: 0, low: 10 };

pub struct Testbed {
    pub switch: Switch,
    pub runtime: Runtime,
    pub emitted: Emitted,
}

pub fn config() -> Arc<PipelineConfig> {
    static CONFIG: OnceLock<Arc<PipelineConfig>> = OnceLock::new();
    let load = || Arc::new(PipelineConfig::from_files(JSON, P4INFO).unwrap());
    Arc::clone(CONFIG.get_or_init(load))
}

pub fn queues_config() -> Arc<PipelineConfig> {
    static CONFIG: OnceLock<Arc<PipelineConfig>> = OnceLock::new();
    let load = || Arc::new(PipelineConfig::from_files(QUEUES_JSON, QUEUES_P4INFO).unwrap());
    Arc::clone(CONFIG.get_or_init(load))
}

/// The testbed's program with other parts.
pub fn changed(change: impl FnOnce(&mut Value, &mut P4Info)) -> PipelineConfig {
    let mut program: Value = serde_json::from_str(JSON).unwrap();
    let mut p4info = parse_p4info(P4INFO).unwrap();
    change(&mut program, &mut p4info);
    let p4_device_config = program.to_string().into_bytes();
    PipelineConfig::new(ForwardingPipelineConfig { p4info: Some(p4info), p4_device_config, cookie: None })
        .unwrap()
}

/// A table of a program.
pub fn json_table<'a>(program: &'a mut Value, name: &str) -> &'a mut Value {
    let tables = program["pipelines"][0]["tables"].as_array_mut().unwrap();
    tables.iter_mut().find(|table| table["name"] == name).unwrap()
}

/// A table of P4Info.
pub fn info_table<'a>(p4info: &'a mut P4Info, name: &str) -> &'a mut Table {
    p4info.tables.iter_mut().find(|table| table.preamble.as_ref().unwrap().name == name).unwrap()
}

/// Ports 1 to 4, links as described, two priorities.
pub fn switch_config(links: &[&str]) -> SwitchConfig {
    SwitchConfig {
        ports: (1..=4).map(Port).collect(),
        links: links.iter().map(|text| groupflow_switch::core::parse_port_link(text).unwrap()).collect(),
        priorities: 2,
        ..SwitchConfig::default()
    }
}

impl Testbed {
    /// With the program, and stream 1 as the primary.
    pub fn new(links: &[&str]) -> Testbed {
        let mut testbed = Testbed::without_program(links);
        testbed.runtime.install(&mut testbed.switch, config());
        testbed
    }

    /// With tests/programs/queues.p4 and 8 queues a port.
    pub fn of_queues(links: &[&str]) -> Testbed {
        Testbed::of_shared_queues(links, FlowControl::default())
    }

    pub fn of_shared_queues(links: &[&str], flow_control: FlowControl) -> Testbed {
        let config = SwitchConfig { priorities: 8, flow_control, ..switch_config(links) };
        let mut testbed = Testbed::of(config);
        testbed.runtime.install(&mut testbed.switch, queues_config());
        testbed
    }

    /// With the testbed's program in another form.
    pub fn with(config: PipelineConfig) -> Testbed {
        let mut testbed = Testbed::without_program(&[]);
        testbed.runtime.install(&mut testbed.switch, config);
        testbed
    }

    pub fn without_program(links: &[&str]) -> Testbed {
        Testbed::of(switch_config(links))
    }

    pub fn of(config: SwitchConfig) -> Testbed {
        let switch = Switch::new(config).unwrap();
        let mut runtime = Runtime::new(DEVICE);
        let update = MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(ELECTION),
            ..MasterArbitrationUpdate::default()
        };
        let request = stream_message_request::Update::Arbitration(update);
        let reaction = runtime.stream_message(ClientId(1), StreamMessageRequest { update: Some(request) });
        assert!(matches!(reaction, Ok(Reaction::Send(_))));
        Testbed { switch, runtime, emitted: Emitted::default() }
    }

    pub fn binding(&self) -> &Binding {
        &self.runtime.config().unwrap().binding
    }

    pub fn apply(&mut self, kind: Type, entity: impl Into<Kinds>) -> Result<(), Status> {
        let update = update(kind, entity);
        self.runtime.apply(&mut self.switch, &update)
    }

    /// Applies, and gives code and message of the refusal.
    pub fn refused(&mut self, kind: Type, entity: impl Into<Kinds>) -> (Code, String) {
        let refusal = self.apply(kind, entity).expect_err("it should be refused");
        (refusal.code, refusal.message)
    }

    /// A whole write request, as the server carries it out.
    pub fn write(&mut self, request: &WriteRequest) -> Result<(), Status> {
        let mut batch = self.runtime.check_write(request)?;
        batch.apply(&mut self.runtime, &mut self.switch, &request.updates);
        batch.outcome()
    }

    /// A whole read request, as the server carries it out: the entities found, and the outcome.
    pub fn read_all(&self, request: &ReadRequest) -> (Vec<Entity>, Result<(), Status>) {
        let mut found = Vec::new();
        if let Err(status) = self.runtime.check_read(request) {
            return (found, Err(status));
        }
        let mut keep = |entity| found.push(Entity { entity: Some(entity) });
        let find = |entity| self.runtime.find(&self.switch, &request.role, entity, &mut keep);
        let results: Vec<_> = request.entities.iter().map(find).collect();
        (found, Status::of_batch("request", &results))
    }

    pub fn read(&self, entity: impl Into<Kinds>) -> Result<Vec<Kinds>, Status> {
        let mut found = Vec::new();
        let entity = Entity { entity: Some(entity.into()) };
        self.runtime.find(&self.switch, "", &entity, &mut |entity| found.push(entity))?;
        Ok(found)
    }

    /// Frames to `mac` are treated by an action of table `destinations`.
    pub fn when_to(&mut self, mac: u128, action: &str, arguments: &[u128]) {
        let entry = self.entry("TestIngress.destinations", &[exact(1, mac)], action, arguments);
        self.apply(Type::Insert, entry).unwrap();
    }

    pub fn entry(&self, table: &str, matches: &[FieldMatch], action: &str, args: &[u128]) -> TableEntry {
        TableEntry {
            table_id: self.table(table),
            r#match: matches.to_vec(),
            action: Some(self.action(table, action, args)),
            ..TableEntry::default()
        }
    }

    pub fn table(&self, name: &str) -> u32 {
        let tables = &self.binding().tables;
        *tables.iter().find(|(_, table)| table.name == name).unwrap().0
    }

    pub fn action(&self, table: &str, name: &str, arguments: &[u128]) -> TableAction {
        let tables = &self.binding().tables;
        let table = tables.values().find(|known| known.name == table).unwrap();
        let named = |known: &str| known == name || known == format!("TestIngress.{name}");
        let (id, _) = table.actions.iter().find(|(_, action)| named(&action.name)).unwrap();
        let params = (1..).zip(arguments);
        let params = params.map(|(id, value)| Param { param_id: id, value: encode(*value) }).collect();
        let action = Action { action_id: *id, params };
        TableAction { r#type: Some(table_action::Type::Action(action)) }
    }

    pub fn counter(&self, name: &str) -> u32 {
        *self.binding().counters.iter().find(|(_, array)| array.name == name).unwrap().0
    }

    pub fn register(&self, name: &str) -> u32 {
        *self.binding().registers.iter().find(|(_, array)| array.name == name).unwrap().0
    }

    pub fn meter(&self, name: &str) -> u32 {
        *self.binding().meters.iter().find(|(_, array)| array.name == name).unwrap().0
    }

    pub fn digest(&self) -> u32 {
        *self.binding().digests.keys().next().unwrap()
    }

    /// The answer of a stream to an arbitration update with a role.
    pub fn join(&mut self, stream: u64, role: Role) -> Result<Reaction, Status> {
        let update = MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(ELECTION),
            role: Some(role),
            ..MasterArbitrationUpdate::default()
        };
        let update = Some(stream_message_request::Update::Arbitration(update));
        self.runtime.stream_message(ClientId(stream), StreamMessageRequest { update })
    }

    pub fn write_request(&self, updates: Vec<Update>) -> WriteRequest {
        WriteRequest { device_id: DEVICE, election_id: Some(ELECTION), updates, ..WriteRequest::default() }
    }

    pub fn inject(&mut self, now: u64, port: u16, bytes: &[u8]) {
        self.switch.inject(Nanos(now), Port(port), bytes);
    }

    /// Everything that left by `now`.
    pub fn advance(&mut self, now: u64) -> Vec<SentFrame> {
        self.switch.advance(Nanos(now), &mut self.emitted);
        std::mem::take(&mut self.emitted.outputs)
    }

    /// Time and port of everything that left by `now`.
    pub fn left(&mut self, now: u64) -> Vec<(u64, u16)> {
        self.advance(now).iter().map(|output| (output.time.0, output.port.0)).collect()
    }
}

/// An Ethernet frame of `length` bytes.
pub fn frame(dst: u64, ethertype: u16, length: usize) -> Vec<u8> {
    let mut bytes = dst.to_be_bytes()[2..].to_vec();
    bytes.extend([0x02, 0, 0, 0, 0, 0x01]);
    bytes.extend(ethertype.to_be_bytes());
    bytes.resize(length, 0xab);
    bytes
}

/// A frame of queues.p4 for a queue of a port; `id` tells frames apart.
pub fn request(port: u16, queue: u8, id: u16, length: usize) -> Vec<u8> {
    let mut bytes = port.to_be_bytes().to_vec();
    bytes.extend([queue, 0]);
    bytes.extend(id.to_be_bytes());
    bytes.extend([0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00]);
    bytes.resize(length, 0xab);
    bytes
}

/// A frame of queues.p4 that sets a queue's rate in 1/64 packet/s, and is then dropped.
pub fn set_rate(port: u16, queue: u8, rate: u32) -> Vec<u8> {
    let mut bytes = request(511, 0, 0, 14);
    bytes[12..14].copy_from_slice(&0x88b6u16.to_be_bytes());
    bytes.extend((port * 8 + u16::from(queue)).to_be_bytes());
    bytes.extend(rate.to_be_bytes());
    bytes
}

pub fn update(kind: Type, entity: impl Into<Kinds>) -> Update {
    Update { r#type: kind as i32, entity: Some(Entity { entity: Some(entity.into()) }) }
}

pub fn exact(field_id: u32, value: u128) -> FieldMatch {
    let exact = field_match::Exact { value: encode(value) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Exact(exact)) }
}

pub fn lpm(field_id: u32, value: u128, prefix_len: i32) -> FieldMatch {
    let lpm = field_match::Lpm { value: encode(value), prefix_len };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Lpm(lpm)) }
}

pub fn ternary(field_id: u32, value: u128, mask: u128) -> FieldMatch {
    let ternary = field_match::Ternary { value: encode(value), mask: encode(mask) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Ternary(ternary)) }
}

pub fn range(field_id: u32, low: u128, high: u128) -> FieldMatch {
    let range = field_match::Range { low: encode(low), high: encode(high) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Range(range)) }
}

pub fn optional(field_id: u32, value: u128) -> FieldMatch {
    let optional = field_match::Optional { value: encode(value) };
    FieldMatch { field_id, field_match_type: Some(field_match::FieldMatchType::Optional(optional)) }
}

pub fn replica(port: u16, instance: u32) -> Replica {
    let port_kind = Some(PortKind::Port(encode(port.into())));
    Replica { port_kind, instance, ..Replica::default() }
}

pub fn group(id: u32, replicas: &[Replica]) -> PacketReplicationEngineEntry {
    use groupflow_switch::proto::p4::v1::packet_replication_engine_entry::Type;
    let group =
        MulticastGroupEntry { multicast_group_id: id, replicas: replicas.to_vec(), ..Default::default() };
    PacketReplicationEngineEntry { r#type: Some(Type::MulticastGroupEntry(group)) }
}

pub fn session(id: u32, replicas: &[Replica], class: u32, length: i32) -> PacketReplicationEngineEntry {
    use groupflow_switch::proto::p4::v1::packet_replication_engine_entry::Type;
    let session = CloneSessionEntry {
        session_id: id,
        replicas: replicas.to_vec(),
        class_of_service: class,
        packet_length_bytes: length,
    };
    PacketReplicationEngineEntry { r#type: Some(Type::CloneSessionEntry(session)) }
}

pub fn digest_entry(digest_id: u32, max_list_size: i32, timeout: i64, ack_timeout: i64) -> DigestEntry {
    let config = Config { max_timeout_ns: timeout, max_list_size, ack_timeout_ns: ack_timeout };
    DigestEntry { digest_id, config: Some(config) }
}
