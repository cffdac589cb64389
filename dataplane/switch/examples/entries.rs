//! The bench of P4Runtime's entries (experiments/bench/pipeline.py): a client that does little else than to
//! wait for the switch, so that the switch is measured and not its client.
//!
//! `entries GFSWITCH PROGRAM.json P4INFO.txtpb` starts gfswitch with groupflow's program, compiled with a
//! MAX_ROUTES of `KEPT` or more, and prints each figure as a line of JSON.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use groupflow_switch::p4rt::parse_p4info;
use groupflow_switch::proto::p4::config::v1::Preamble;
use groupflow_switch::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use groupflow_switch::proto::p4::v1::set_forwarding_pipeline_config_request::Action as SetAction;
use groupflow_switch::proto::p4::v1::stream_message_request::Update as Request;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{
    action::Param, entity, field_match, table_action, Action, CapabilitiesRequest, Entity, FieldMatch,
    ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, TableAction, TableEntry, Uint128, Update, WriteRequest,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

type AnyError = Box<dyn Error + Send + Sync>;
type Client = P4RuntimeClient<Channel>;

/// Another switch may have the number that they have by default.
const DEVICE: u64 = 9_559;
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };
/// A table with one prefix of 32 bits, and its action with a port and two addresses.
const TABLE: &str = "GroupflowIngress.forwarding.ipv4_route";
const ACTION: &str = "GroupflowIngress.forwarding.route";
/// Entries that are read, and of which the memory is measured: much more than what was there before.
const READ: u32 = 50_000;
const KEPT: u32 = 250_000;
/// Calls are timed in rounds, the best of which counts.
const ROUNDS: u32 = 5;
const CALLS: u32 = 10_000;
const IN_FLIGHT: [u32; 3] = [1, 8, 64];
const BATCH: u32 = 100;
const READS: u32 = 5;
/// The note of figures that are measured on one connection.
const ONE: &str = "one connection";

/// gfswitch, until this goes.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The program may have ended already.
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

impl Server {
    /// Starts it; gives the address of P4Runtime, too.
    fn start(program: &str) -> Result<(Server, String), AnyError> {
        let arguments = ["--no-p4", "--grpc-server-addr", "127.0.0.1:0", "--device-id", &DEVICE.to_string()];
        let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("gfswitch has no output")?;
        let server = Server(child);
        let mut ready = String::new();
        BufReader::new(out).read_line(&mut ready)?;
        let address = ready.split_whitespace().find_map(|word| word.strip_prefix("grpc="));
        Ok((server, address.ok_or("gfswitch did not start")?.to_owned()))
    }

    /// Resident memory, bytes.
    fn resident(&self) -> Result<u64, AnyError> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
    }
}

/// The ids of the table, its field, the action and its parameters.
#[derive(Clone)]
struct Ids {
    table: u32,
    field: u32,
    action: u32,
    /// With their widths.
    params: Vec<(u32, i32)>,
}

impl Ids {
    fn update(&self, kind: Type, n: u32) -> Update {
        let prefix = field_match::Lpm { value: (10 << 24 | n).to_be_bytes().to_vec(), prefix_len: 32 };
        let field_match_type = Some(field_match::FieldMatchType::Lpm(prefix));
        let param = |&(param_id, width): &(u32, i32)| {
            let value = if width < 48 { vec![1] } else { u64::from(n).to_be_bytes()[2..].to_vec() };
            Param { param_id, value }
        };
        let params = self.params.iter().map(param).collect();
        let action = Action { action_id: self.action, params };
        let entry = TableEntry {
            table_id: self.table,
            r#match: vec![FieldMatch { field_id: self.field, field_match_type }],
            action: Some(TableAction { r#type: Some(table_action::Type::Action(action)) }),
            ..TableEntry::default()
        };
        let entity = Some(Entity { entity: Some(entity::Entity::TableEntry(entry)) });
        Update { r#type: kind.into(), entity }
    }

    fn request(&self, kind: Type, numbers: std::ops::Range<u32>) -> WriteRequest {
        let updates = numbers.map(|n| self.update(kind, n)).collect();
        WriteRequest { device_id: DEVICE, election_id: Some(ELECTION), updates, ..WriteRequest::default() }
    }
}

/// Becomes primary and sets the pipeline.
async fn prepare(client: &mut Client, json: &str, p4info: &str) -> Result<(Ids, impl Sized), AnyError> {
    let (requests, receiver) = mpsc::channel(1);
    let update =
        MasterArbitrationUpdate { device_id: DEVICE, election_id: Some(ELECTION), ..Default::default() };
    requests.send(StreamMessageRequest { update: Some(Request::Arbitration(update)) }).await?;
    let mut responses = client.stream_channel(ReceiverStream::new(receiver)).await?.into_inner();
    responses.message().await?;
    let p4info = parse_p4info(p4info.as_bytes())?;
    let id = |preamble: &Option<Preamble>, name| {
        preamble.as_ref().filter(|preamble| preamble.name == name).map(|preamble| preamble.id)
    };
    let table = p4info.tables.iter().find_map(|table| Some((table, id(&table.preamble, TABLE)?)));
    let action = p4info.actions.iter().find_map(|action| Some((action, id(&action.preamble, ACTION)?)));
    let ((table, table_id), (action, action_id)) = table.zip(action).ok_or("no such table or action")?;
    let ids = Ids {
        table: table_id,
        field: table.match_fields.first().map_or(0, |field| field.id),
        action: action_id,
        params: action.params.iter().map(|param| (param.id, param.bitwidth)).collect(),
    };
    let config =
        ForwardingPipelineConfig { p4info: Some(p4info), p4_device_config: json.into(), cookie: None };
    let request = SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        action: SetAction::VerifyAndCommit.into(),
        config: Some(config),
        ..Default::default()
    };
    client.set_forwarding_pipeline_config(request).await?;
    Ok((ids, (requests, responses)))
}

/// Writes so many entries, `each` a call, with so many calls in flight on the client's connection. Gives the
/// time that it takes once all messages are made.
async fn write(
    client: &Client, ids: &Ids, kind: Type, first: u32, (entries, each, in_flight): (u32, u32, u32),
) -> Result<Duration, AnyError> {
    let share = entries / in_flight;
    let requests = |task| {
        let firsts = (first + task * share..first + (task + 1) * share).step_by(each as usize);
        firsts.map(|first| ids.request(kind, first..first + each)).collect::<Vec<_>>()
    };
    let requests: Vec<_> = (0..in_flight).map(requests).collect();
    let start = Instant::now();
    let tasks = requests.into_iter().map(|requests| {
        let mut client = client.clone();
        tokio::spawn(async move {
            for request in requests {
                client.write(request).await?;
            }
            Ok::<(), tonic::Status>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(start.elapsed())
}

async fn measure(arguments: &[String]) -> Result<(), AnyError> {
    let [program, json, p4info] = arguments else { return Err("usage: entries GFSWITCH JSON P4INFO".into()) };
    let (server, address) = Server::start(program)?;
    let mut client = P4RuntimeClient::connect(format!("http://{address}")).await?;
    let (json, p4info) = (std::fs::read_to_string(json)?, std::fs::read_to_string(p4info)?);
    let (ids, _stream) = prepare(&mut client, &json, &p4info).await?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            client.capabilities(CapabilitiesRequest { device_id: DEVICE }).await?;
        }
        best = best.min(start.elapsed());
    }
    let per_second = (f64::from(CALLS) / best.as_secs_f64()).round();
    let name = "P4Runtime, Capabilities, 1 in flight";
    println!("{}", json!([name, per_second, "calls/s", "what gRPC allows"]));
    for in_flight in IN_FLIGHT {
        let calls = CALLS / in_flight * in_flight;
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            best = best.min(write(&client, &ids, Type::Insert, 0, (calls, 1, in_flight)).await?);
            write(&client, &ids, Type::Delete, 0, (calls, calls / in_flight, in_flight)).await?;
        }
        let name = format!("P4Runtime, inserts one a call, {in_flight} in flight");
        println!("{}", json!([name, (f64::from(calls) / best.as_secs_f64()).round(), "entries/s", ONE]));
    }
    let resident = server.resident()?;
    let mut written = write(&client, &ids, Type::Insert, 0, (READ, BATCH, 4)).await?;
    let mut best = Duration::MAX;
    for _ in 0..READS {
        let start = Instant::now();
        let read = read(&mut client, ids.table).await?;
        if read != READ as usize {
            return Err(format!("{read} of {READ} entries were read").into());
        }
        best = best.min(start.elapsed());
    }
    println!("{}", json!([format!("P4Runtime, {READ} entries read"), best.as_secs_f64(), "s", ONE]));
    for first in (READ..KEPT).step_by(READ as usize) {
        written = written.min(write(&client, &ids, Type::Insert, first, (READ, BATCH, 4)).await?);
    }
    let per_second = f64::from(READ) / written.as_secs_f64();
    let name = format!("P4Runtime, inserts in batches of {BATCH}, 4 in flight");
    println!("{}", json!([name, per_second.round(), "entries/s", ONE]));
    let bytes = server.resident()?.saturating_sub(resident) as f64 / f64::from(KEPT);
    println!("{}", json!(["a table entry", bytes.round(), "bytes", format!("resident, of {KEPT} routes")]));
    Ok(())
}

/// Reads the entries of a table; gives their number.
async fn read(client: &mut Client, table_id: u32) -> Result<usize, AnyError> {
    let entry = TableEntry { table_id, ..TableEntry::default() };
    let entities = vec![Entity { entity: Some(entity::Entity::TableEntry(entry)) }];
    let request = ReadRequest { device_id: DEVICE, entities, ..ReadRequest::default() };
    let mut answer = client.read(request).await?.into_inner();
    let mut read = 0;
    while let Some(message) = answer.message().await? {
        read += message.entities.len();
    }
    Ok(read)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = executor.map_err(AnyError::from).and_then(|executor| executor.block_on(measure(&arguments)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("entries: {error}");
            ExitCode::FAILURE
        }
    }
}
