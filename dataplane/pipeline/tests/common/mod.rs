//! A small builder of BMv2 JSON, and helpers that push packets through a program.

#![allow(dead_code)] // Each test file uses its own part.

pub mod twin;

use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use groupflow_pipeline::{
    ActionCall, Arrival, CloneRequest, Departure, DropReason, EgressOutcome, Engine, Entry, EntryKey, Fate,
    Frame, Match, Packet, Pipeline, PipelineOptions, Preserved, Program, TableId, Verdict,
};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use serde_json::{json, Value};

/// Property tests that draw the same cases in every run, or those of PROPTEST_RNG_SEED: so many, or as few as
/// PROPTEST_CASES says.
pub fn seeded(cases: u32) -> ProptestConfig {
    let most = std::env::var("PROPTEST_CASES").ok().and_then(|most| most.parse().ok());
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        given => given,
    };
    ProptestConfig {
        cases: cases.min(most.unwrap_or(u32::MAX)),
        rng_seed,
        failure_persistence: None,
        ..default
    }
}

/// The outcome of egress for a packet, the frame included.
pub struct Egress {
    pub emission: Emission,
    pub clone: Option<CloneRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emission {
    Drop(DropReason),
    Send(Frame),
    Recirculate { frame: Frame, preserved: Box<Preserved> },
}

impl Egress {
    pub fn of(EgressOutcome { fate, clone }: EgressOutcome, frame: Frame) -> Egress {
        let emission = match fate {
            Fate::Drop(reason) => Emission::Drop(reason),
            Fate::Send => Emission::Send(frame),
            Fate::Recirculate(preserved) => Emission::Recirculate { frame, preserved },
        };
        Egress { emission, clone }
    }
}

/// Egress with a buffer of its own for each packet.
pub trait Leave {
    fn egress(&mut self, now: Nanos, packet: Packet, departure: Departure) -> Egress;
}

impl Leave for Pipeline {
    fn egress(&mut self, now: Nanos, packet: Packet, departure: Departure) -> Egress {
        let mut frame = Frame::default();
        let outcome = self.egress_into(now, packet, departure, &mut frame);
        Egress::of(outcome, frame)
    }
}

/// A program in the making. It starts with a header `h` (`a` 8, `b` 16, `c` 32, `d` 8 bits), metadata `m`,
/// a parser that extracts `h`, empty controls and a deparser that emits `h`.
pub struct P4 {
    pub json: Value,
    /// The last node of ingress and of egress.
    last: [Option<usize>; 2],
}

pub const INGRESS: usize = 0;
pub const EGRESS: usize = 1;

pub fn field(header: &str, name: &str) -> Value {
    json!({"type": "field", "value": [header, name]})
}

pub fn hex(value: u128) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#x}")})
}

pub fn param(index: u32) -> Value {
    json!({"type": "runtime_data", "value": index})
}

pub fn header(name: &str) -> Value {
    json!({"type": "header", "value": name})
}

pub fn named(kind: &str, name: &str) -> Value {
    json!({"type": kind, "value": name})
}

/// A binary operation.
pub fn op(name: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": name, "left": left, "right": right}})
}

/// A unary operation.
pub fn unary(name: &str, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": name, "left": null, "right": right}})
}

pub fn primitive(name: &str, parameters: Value) -> Value {
    json!({"op": name, "parameters": parameters})
}

pub fn assign(header: &str, name: &str, value: Value) -> Value {
    primitive("assign", json!([field(header, name), value]))
}

/// `egress_spec = port`.
pub fn forward(port: u128) -> Value {
    assign("standard_metadata", "egress_spec", hex(port))
}

impl P4 {
    pub fn new() -> P4 {
        let standard = json!([
            ["ingress_port", 9, false],
            ["egress_spec", 9, false],
            ["egress_port", 9, false],
            ["instance_type", 32, false],
            ["packet_length", 32, false],
            ["enq_timestamp", 32, false],
            ["enq_qdepth", 19, false],
            ["deq_timedelta", 32, false],
            ["deq_qdepth", 19, false],
            ["ingress_global_timestamp", 48, false],
            ["egress_global_timestamp", 48, false],
            ["mcast_grp", 16, false],
            ["egress_rid", 16, false],
            ["checksum_error", 1, false],
            ["parser_error", 32, false],
            ["priority", 3, false]
        ]);
        let pipeline =
            |name| json!({"name": name, "id": 0, "init_table": null, "tables": [], "conditionals": []});
        let mut p4 = P4 {
            json: json!({
                "__meta__": {"version": [2, 23], "compiler": "test"},
                "program": "test.p4",
                "header_types": [], "headers": [], "header_stacks": [], "header_union_types": [],
                "header_unions": [], "header_union_stacks": [], "field_lists": [],
                "errors": [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3],
                    ["HeaderTooShort", 4], ["ParserTimeout", 5], ["ParserInvalidArgument", 6]],
                "enums": [], "parse_vsets": [],
                "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": []}],
                "deparsers": [{"name": "deparser", "id": 0, "order": ["h"], "primitives": []}],
                "meter_arrays": [], "counter_arrays": [], "register_arrays": [], "calculations": [],
                "learn_lists": [], "actions": [], "checksums": [], "force_arith": [], "extern_instances": [],
                "pipelines": [pipeline("ingress"), pipeline("egress")],
                "field_aliases": [["intrinsic_metadata.mcast_grp", ["standard_metadata", "mcast_grp"]]],
            }),
            last: [None, None],
        };
        p4.add_header("standard_metadata", standard, true);
        p4.add_header("h", json!([["a", 8], ["b", 16], ["c", 32], ["d", 8]]), false);
        p4.add_header("m", json!([["x", 32], ["wide", 128], ["s", 8, true], ["flag", 1], ["pad", 7]]), true);
        p4.state("start", json!([P4::extract("h")]), json!([]), json!([P4::otherwise(None)]));
        p4
    }

    fn list(&mut self, key: &str) -> &mut Vec<Value> {
        self.json[key].as_array_mut().unwrap()
    }

    /// A header type and its only instance, of the same name.
    pub fn add_header(&mut self, name: &str, fields: Value, metadata: bool) -> usize {
        let id = self.list("headers").len();
        self.list("header_types").push(json!({"name": name, "id": id, "fields": fields}));
        self.list("headers").push(json!({"name": name, "id": id, "header_type": name, "metadata": metadata}));
        id
    }

    /// A stack `name` of `size` one-byte headers with the field `v` and `last`, a bit that ends the stack.
    pub fn add_stack(&mut self, name: &str, size: usize) {
        let kind = format!("{name}_t");
        self.list("header_types").push(json!({"name": kind, "id": 90, "fields": [["last", 1], ["v", 7]]}));
        let first = self.list("headers").len();
        for i in 0..size {
            let element = json!({
                "name": format!("{name}[{i}]"), "id": first + i, "header_type": kind, "metadata": false});
            self.list("headers").push(element);
        }
        let ids: Vec<usize> = (first..first + size).collect();
        self.list("header_stacks")
            .push(json!({"name": name, "id": 0, "header_type": kind, "size": size, "header_ids": ids}));
    }

    pub fn extract(header: &str) -> Value {
        json!({"op": "extract", "parameters": [{"type": "regular", "value": header}]})
    }

    pub fn otherwise(next: Option<&str>) -> Value {
        json!({"type": "default", "value": null, "mask": null, "next_state": next})
    }

    pub fn on(value: &str, mask: Option<&str>, next: Option<&str>) -> Value {
        json!({"type": "hexstr", "value": value, "mask": mask, "next_state": next})
    }

    /// Adds a parser state, or replaces the one of the same name.
    pub fn state(&mut self, name: &str, ops: Value, key: Value, transitions: Value) {
        let states = self.json["parsers"][0]["parse_states"].as_array_mut().unwrap();
        states.retain(|state| state["name"] != name);
        let state = json!({"name": name, "id": states.len(), "parser_ops": ops, "transition_key": key,
            "transitions": transitions});
        states.push(state);
    }

    pub fn emit(&mut self, headers: &[&str]) {
        self.json["deparsers"][0]["order"] = json!(headers);
    }

    /// Adds an action and returns its id.
    pub fn action(&mut self, name: &str, params: &[(&str, u32)], ops: Vec<Value>) -> usize {
        let id = self.list("actions").len();
        let data: Vec<Value> =
            params.iter().map(|(name, width)| json!({"name": name, "bitwidth": width})).collect();
        self.list("actions").push(json!({"name": name, "id": id, "runtime_data": data, "primitives": ops}));
        id
    }

    /// Lets the control run these primitives next, as p4c does with statements outside of tables.
    pub fn run(&mut self, control: usize, ops: Vec<Value>) -> &mut P4 {
        let name = format!("act_{}", self.list("actions").len());
        let action = self.action(&name, &[], ops);
        let table = format!("tbl_{name}");
        self.table(
            control,
            &table,
            json!([]),
            &[action],
            json!({"action_id": action, "action_const": true, "action_data": []}),
        );
        self
    }

    /// Adds a table to the end of a control. `key` holds `[match_type, header, field]`.
    pub fn table(
        &mut self, control: usize, name: &str, key: Value, actions: &[usize], default: Value,
    ) -> &mut Value {
        let names: Vec<Value> = actions.iter().map(|&id| self.json["actions"][id]["name"].clone()).collect();
        let next: serde_json::Map<String, Value> =
            names.iter().map(|n| (n.as_str().unwrap().to_owned(), Value::Null)).collect();
        let part = |k: &Value| {
            json!({"match_type": k[0], "target": [k[1], k[2]], "mask": null,
            "name": format!("{}.{}", k[1].as_str().unwrap(), k[2].as_str().unwrap())})
        };
        let key: Vec<Value> = key.as_array().unwrap().iter().map(part).collect();
        let table = json!({"name": name, "id": 0, "key": key, "match_type": "exact", "type": "simple",
            "max_size": 64, "with_counters": false, "support_timeout": false, "direct_meters": null,
            "action_ids": actions, "actions": names, "base_default_next": null, "next_tables": next,
            "default_entry": default});
        let pipeline = &mut self.json["pipelines"][control];
        match self.last[control] {
            None => pipeline["init_table"] = json!(name),
            Some(before) => {
                let before = &mut pipeline["tables"][before];
                before["base_default_next"] = json!(name);
                for (_, next) in before["next_tables"].as_object_mut().unwrap() {
                    *next = json!(name);
                }
            }
        }
        let tables = pipeline["tables"].as_array_mut().unwrap();
        tables.push(table);
        self.last[control] = Some(tables.len() - 1);
        tables.last_mut().unwrap()
    }

    /// Adds an element to one of the lists of arrays, calculations and the like.
    pub fn add(&mut self, list: &str, value: Value) -> &mut P4 {
        self.list(list).push(value);
        self
    }

    pub fn load(&self) -> Pipeline {
        self.load_on(Engine::Native)
    }

    pub fn load_on(&self, engine: Engine) -> Pipeline {
        let options = PipelineOptions { engine, ..PipelineOptions::default() };
        match Program::from_json(&self.json.to_string()) {
            Ok(program) => Pipeline::with_options(Arc::new(program), options),
            Err(error) => panic!("{error}"),
        }
    }

    /// The program in each engine.
    pub fn engines(&self) -> [Pipeline; 2] {
        let program = Arc::new(Program::from_json(&self.json.to_string()).unwrap());
        [Engine::Native, Engine::Interpreter].map(|engine| {
            let options = PipelineOptions { engine, ..PipelineOptions::default() };
            Pipeline::with_options(Arc::clone(&program), options)
        })
    }

    pub fn load_error(&self) -> String {
        match Program::from_json(&self.json.to_string()) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

/// The packet that ingress sends to a port or group.
pub fn ingress(pipeline: &mut Pipeline, bytes: &[u8]) -> (Verdict, Option<Packet>) {
    let done = pipeline.ingress(Nanos(0), Arrival::on(Port(1)), bytes);
    (done.verdict, done.packet)
}

/// The frame that leaves egress; the program must forward it.
pub fn through(pipeline: &mut Pipeline, bytes: &[u8]) -> Vec<u8> {
    let (verdict, packet) = ingress(pipeline, bytes);
    let Verdict::Unicast(port) = verdict else { panic!("{verdict:?}") };
    leave(pipeline, packet.unwrap(), port)
}

/// The frame that leaves egress at `port`.
pub fn leave(pipeline: &mut Pipeline, packet: Packet, port: Port) -> Vec<u8> {
    let departure = Departure { port, ..Departure::default() };
    match pipeline.egress(Nanos(0), packet, departure).emission {
        Emission::Send(frame) => frame.bytes,
        other => panic!("{other:?}"),
    }
}

pub fn table_id(pipeline: &Pipeline, name: &str) -> TableId {
    pipeline.program().table(name).unwrap().id
}

pub fn entry(
    pipeline: &Pipeline, table: &str, matches: Vec<Match>, priority: u32, action: &str, arguments: &[u128],
) -> Entry {
    let program = pipeline.program();
    let table = program.table(table).unwrap().id;
    let action = program.table_action(table, action).unwrap().id;
    Entry { key: EntryKey { matches, priority }, call: ActionCall { action, arguments: arguments.to_vec() } }
}

/// Adds an entry that must be accepted.
pub fn insert(
    pipeline: &mut Pipeline, table: &str, matches: Vec<Match>, priority: u32, action: &str,
    arguments: &[u128],
) {
    let new = entry(pipeline, table, matches, priority, action, arguments);
    let id = table_id(pipeline, table);
    pipeline.table_insert(id, &new.key, &new.call).unwrap();
}

/// A program whose ingress sends packets to the port that table `t` finds, or to port 500.
pub fn table_program(key: Value) -> P4 {
    let mut p4 = P4::new();
    let hit = p4.action("hit", &[("port", 9)], vec![assign("standard_metadata", "egress_spec", param(0))]);
    let miss = p4.action("miss", &[], vec![forward(500)]);
    p4.table(
        INGRESS,
        "t",
        key,
        &[hit, miss],
        json!({"action_id": miss, "action_const": false, "action_data": []}),
    );
    p4
}

/// The port for a packet with these fields.
pub fn port(pipeline: &mut Pipeline, a: u8, b: u16, c: u32) -> u16 {
    let mut bytes = vec![a];
    bytes.extend(b.to_be_bytes());
    bytes.extend(c.to_be_bytes());
    bytes.push(0);
    match pipeline.ingress(Nanos(0), Arrival::on(Port(1)), &bytes).verdict {
        Verdict::Unicast(port) => port.0,
        other => panic!("{other:?}"),
    }
}

/// Lets packets that match go to `port`.
pub fn add_port(pipeline: &mut Pipeline, matches: Vec<Match>, priority: u32, port: u128) {
    insert(pipeline, "t", matches, priority, "hit", &[port]);
}
