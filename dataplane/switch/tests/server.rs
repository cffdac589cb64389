//! P4Runtime over real gRPC on the loopback interface, and the control socket. No root, no packets.

#[allow(unused)]
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, group, replica, update, Testbed, DEVICE, ELECTION, JSON, P4INFO};
use groupflow_base::Nanos;
use groupflow_switch::core::{QueueRegisters, Switch, TraceRequest};
use groupflow_switch::p4rt::{parse_p4info, Runtime, GENERATOR};
use groupflow_switch::proto::google::rpc;
use groupflow_switch::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use groupflow_switch::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use groupflow_switch::proto::p4::v1::update::Type;
use groupflow_switch::proto::p4::v1::{
    get_forwarding_pipeline_config_request::ResponseType, stream_message_request, stream_message_response,
    write_request::Atomicity, CapabilitiesRequest, Entity, Error, ExternEntry, ForwardingPipelineConfig,
    MasterArbitrationUpdate, PacketMetadata, PacketOut, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, TableEntry, Uint128, WriteRequest,
};
use groupflow_switch::shell::{
    ask, find_switch, render, trace_switch, Connections, ControlRequest, ControlSocket, P4RuntimeService,
    Shared, ShellError, ToControlPlane,
};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::StreamExt;
use tonic::transport::{Channel, Server};

type P4RuntimeChannel = P4RuntimeClient<Channel>;

struct RunningServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    to_control_plane: mpsc::Sender<ToControlPlane>,
}

/// A server on a port of the kernel's choice.
async fn serve() -> RunningServer {
    let switch = Switch::new(common::switch_config(&[])).unwrap();
    let shared = Arc::new(Shared::new(switch, vec!["a".into(); 4]).unwrap());
    let service = P4RuntimeService::new(Arc::clone(&shared), Runtime::new(DEVICE));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = Connections::new(listener);
    let (to_control_plane, from_datapath) = mpsc::channel(16);
    tokio::spawn(service.clone().forward(from_datapath));
    tokio::spawn(Server::builder().add_service(service.into_server()).serve_with_incoming(incoming));
    RunningServer { address, shared, to_control_plane }
}

struct Stream {
    requests: mpsc::Sender<StreamMessageRequest>,
    responses: tonic::Streaming<StreamMessageResponse>,
}

impl Stream {
    async fn open(client: &mut P4RuntimeChannel) -> Stream {
        let (requests, receiver) = mpsc::channel(16);
        let responses = client.stream_channel(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        Stream { requests, responses }
    }

    async fn arbitrate(&mut self, low: u64) -> (i32, u64) {
        let update = MasterArbitrationUpdate {
            device_id: DEVICE,
            election_id: Some(Uint128 { high: 0, low }),
            ..MasterArbitrationUpdate::default()
        };
        self.send(stream_message_request::Update::Arbitration(update)).await;
        self.arbitration().await
    }

    async fn send(&self, update: stream_message_request::Update) {
        self.requests.send(StreamMessageRequest { update: Some(update) }).await.unwrap();
    }

    async fn next(&mut self) -> stream_message_response::Update {
        let next = tokio::time::timeout(Duration::from_secs(20), self.responses.next());
        next.await.expect("an answer in time").unwrap().unwrap().update.unwrap()
    }

    async fn arbitration(&mut self) -> (i32, u64) {
        match self.next().await {
            stream_message_response::Update::Arbitration(update) => {
                (update.status.unwrap().code, update.election_id.unwrap().low)
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn connect(address: SocketAddr) -> P4RuntimeChannel {
    P4RuntimeClient::connect(format!("http://{address}")).await.unwrap()
}

fn set_config(p4info: &[u8], json: &str) -> SetForwardingPipelineConfigRequest {
    SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        election_id: Some(ELECTION),
        action: Action::VerifyAndCommit as i32,
        config: Some(ForwardingPipelineConfig {
            p4info: parse_p4info(p4info).ok(),
            p4_device_config: json.into(),
            cookie: None,
        }),
        ..SetForwardingPipelineConfigRequest::default()
    }
}

/// The testbed's words for messages.
fn words() -> Testbed {
    Testbed::new(&[])
}

#[tokio::test]
async fn a_controller_takes_over_writes_reads_and_exchanges_packets() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    assert_eq!(stream.arbitrate(10).await, (0, 10));
    client.set_forwarding_pipeline_config(set_config(P4INFO, JSON)).await.unwrap();

    let inserts = (1..=2500).map(|id| update(Type::Insert, group(id, &[replica(1, id)]))).collect();
    client.write(words().write_request(inserts)).await.unwrap();
    let request = ReadRequest {
        device_id: DEVICE,
        entities: vec![Entity { entity: Some(group(0, &[]).into()) }],
        ..ReadRequest::default()
    };
    let mut responses = client.read(request).await.unwrap().into_inner();
    let mut found = 0;
    while let Some(response) = responses.message().await.unwrap() {
        assert!(prost::Message::encoded_len(&response) < 1 << 20, "messages stay small");
        found += response.entities.len();
    }
    assert_eq!(found, 2500);

    let field = |metadata_id, value: u8| PacketMetadata { metadata_id, value: vec![value] };
    let packet = PacketOut { payload: b"hello".to_vec(), metadata: vec![field(1, 2), field(2, 0)] };
    stream.send(stream_message_request::Update::Packet(packet)).await;
    running.to_control_plane.send(ToControlPlane::Packet(vec![0x01, 0x85, b'x'])).await.unwrap();
    match stream.next().await {
        stream_message_response::Update::Packet(packet) => assert_eq!(packet.payload, b"x"),
        other => panic!("{other:?}"),
    }
    assert_eq!(running.shared.switch().stats().cpu.packet_outs, 1);
}

#[tokio::test]
async fn what_has_to_do_with_time_is_carried_out_at_the_time_of_the_write() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    stream.arbitrate(10).await;
    client.set_forwarding_pipeline_config(set_config(P4INFO, JSON)).await.unwrap();
    assert_eq!(running.shared.switch().reached(), Nanos::ZERO, "no data path runs here");
    let number = |value: f64| prost_types::Value { kind: Some(prost_types::value::Kind::NumberValue(value)) };
    let text = prost_types::Value { kind: Some(prost_types::value::Kind::StringValue("00ff".into())) };
    let fields = [("id", number(1.0)), ("period_ns", number(1e6)), ("frame", text)];
    let fields = prost_types::Struct { fields: fields.map(|(name, value)| (name.into(), value)).into() };
    let type_url = "type.googleapis.com/google.protobuf.Struct".into();
    let entry = Some(prost_types::Any { type_url, value: fields.encode_to_vec() });
    let entry = ExternEntry { extern_type_id: GENERATOR, extern_id: 0, entry };
    let before = running.shared.clock.now();
    client.write(words().write_request(vec![update(Type::Insert, entry)])).await.unwrap();
    let switch = running.shared.switch();
    assert!(before <= switch.reached() && switch.reached() <= running.shared.clock.now());
    assert_eq!(switch.deadline(), Some(switch.reached()), "the first tick is now");
}

#[tokio::test]
async fn an_idle_entry_is_told_though_nothing_else_happens() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    stream.arbitrate(10).await;
    let program = common::changed(|program, info| {
        common::json_table(program, "TestIngress.destinations")["support_timeout"] = true.into();
        common::info_table(info, "TestIngress.destinations").idle_timeout_behavior = 1;
    });
    let set = |action: Action, config| SetForwardingPipelineConfigRequest {
        action: action.into(),
        config,
        ..set_config(P4INFO, JSON)
    };
    let message = program.to_message(ResponseType::All);
    let entry = |mac| TableEntry {
        idle_timeout_ns: 1,
        ..words().entry("TestIngress.destinations", &[common::exact(1, mac)], "forward", &[1, 0])
    };
    let mut next = async || match stream.next().await {
        stream_message_response::Update::IdleTimeoutNotification(notice) => notice.table_entry.len(),
        other => panic!("{other:?}"),
    };
    // The timer of an entry starts with the configuration that was saved, or at once.
    client.set_forwarding_pipeline_config(set(Action::VerifyAndSave, Some(message))).await.unwrap();
    client.write(words().write_request(vec![update(Type::Insert, entry(1))])).await.unwrap();
    client.set_forwarding_pipeline_config(set(Action::Commit, None)).await.unwrap();
    assert_eq!(next().await, 1);
    client.write(words().write_request(vec![update(Type::Insert, entry(2))])).await.unwrap();
    while next().await < 2 {}
}

#[tokio::test]
async fn an_atomic_batch_is_there_as_a_whole() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    stream.arbitrate(10).await;
    client.set_forwarding_pipeline_config(set_config(P4INFO, JSON)).await.unwrap();
    let inserts = (1..=20_000).map(|id| update(Type::Insert, group(id, &[replica(1, id)]))).collect();
    let atomicity = Atomicity::DataplaneAtomic.into();
    let batch = WriteRequest { atomicity, ..words().write_request(inserts) };
    let shared = Arc::clone(&running.shared);
    let packets = std::thread::spawn(move || loop {
        let switch = shared.switch();
        let engine = &switch.forwarding().unwrap().replication;
        let (first, last) = (engine.group(1).is_some(), engine.group(20_000).is_some());
        assert_eq!(first, last, "a part of the batch can be seen");
        if last {
            return;
        }
    });
    client.write(batch).await.unwrap();
    packets.join().unwrap();
}

#[tokio::test]
async fn errors_carry_their_details() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    stream.arbitrate(10).await;
    let status = client.set_forwarding_pipeline_config(set_config(P4INFO, "{}")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert!(status.message().starts_with("p4_device_config: "), "{}", status.message());
    client.set_forwarding_pipeline_config(set_config(P4INFO, JSON)).await.unwrap();
    let updates = vec![update(Type::Insert, group(0, &[])), update(Type::Insert, group(1, &[]))];
    let status = client.write(words().write_request(updates)).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unknown);
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (2, status.message()));
    let codes: Vec<i32> = details
        .details
        .iter()
        .map(|any| {
            assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
            Error::decode(&any.value[..]).unwrap().canonical_code
        })
        .collect();
    assert_eq!(codes, [3, 0]);
}

#[tokio::test]
async fn a_client_that_vanishes_is_no_longer_primary() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut primary = Stream::open(&mut client).await;
    assert_eq!(primary.arbitrate(10).await, (0, 10));
    let mut other = connect(running.address).await;
    let mut backup = Stream::open(&mut other).await;
    assert_eq!(backup.arbitrate(9).await, (6, 10));
    drop(primary);
    drop(client);
    assert_eq!(backup.arbitration().await, (5, 10), "told that there is no primary");
    let request =
        WriteRequest { election_id: Some(Uint128 { high: 0, low: 9 }), ..words().write_request(vec![]) };
    assert_eq!(other.write(request).await.unwrap_err().code(), tonic::Code::PermissionDenied);
    assert_eq!(backup.arbitrate(10).await, (0, 10));
}

/// The bytes with which a client of HTTP/2 begins: the preface, and settings without content.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[tokio::test]
async fn strangers_who_take_all_places_keep_nobody_out() {
    use tokio::io::AsyncWriteExt;
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    assert_eq!(stream.arbitrate(10).await, (0, 10));
    let mut strangers = Vec::new();
    for said in [&b""[..], b"P", &PREFACE[..24], PREFACE] {
        for _ in 0..256 {
            let mut stranger = tokio::net::TcpStream::connect(running.address).await.unwrap();
            stranger.write_all(said).await.unwrap();
            strangers.push(stranger);
        }
        let mut newcomer = connect(running.address).await;
        let mut another = Stream::open(&mut newcomer).await;
        assert_eq!(another.arbitrate(9).await, (6, 10), "after those who say {said:?}");
    }
    // Strangers who make calls give way, too, to one who makes none yet.
    let mut callers = Vec::new();
    for _ in 0..256 {
        let mut caller = connect(running.address).await;
        caller.capabilities(CapabilitiesRequest { device_id: DEVICE }).await.unwrap();
        callers.push(caller);
    }
    let mut newcomer = connect(running.address).await;
    newcomer.capabilities(CapabilitiesRequest { device_id: DEVICE }).await.unwrap();
    // The controller is the oldest of all.
    assert_eq!(stream.arbitrate(11).await, (0, 11), "the controller kept its place");
}

#[tokio::test]
async fn a_bad_arbitration_ends_the_stream_with_its_error() {
    let running = serve().await;
    let mut client = connect(running.address).await;
    let mut stream = Stream::open(&mut client).await;
    let update = MasterArbitrationUpdate { device_id: 99, ..MasterArbitrationUpdate::default() };
    stream.send(stream_message_request::Update::Arbitration(update)).await;
    let status = stream.responses.next().await.unwrap().unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (tonic::Code::NotFound, "no device 99 here, only device 7")
    );
    assert!(stream.responses.next().await.is_none());
}

#[tokio::test]
async fn the_control_socket_shows_and_changes() {
    let running = serve().await;
    let folder = std::env::temp_dir().join(format!("gfswitch-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("s.sock");
    let socket = ControlSocket::bind(&path).unwrap();
    assert!(ControlSocket::bind(&path).unwrap_err().to_string().contains("belongs to a gfswitch that runs"));
    let shared = Arc::clone(&running.shared);
    let server = tokio::spawn(async move { socket.serve(shared, DEVICE).await });
    let ask_at = path.clone();
    tokio::task::spawn_blocking(move || {
        let link = |port, spec: &str| ControlRequest::Link { port, spec: spec.into() };
        ask(&ask_at, &link(2, "rate=10mbit,delay=5ms,dir=out")).unwrap();
        let stats = ask(&ask_at, &ControlRequest::Stats { reset: true }).unwrap();
        assert_eq!(stats["device_id"], DEVICE);
        assert_eq!(find_switch(ask_at.parent().unwrap(), DEVICE), Some(ask_at.clone()));
        assert_eq!(find_switch(ask_at.parent().unwrap(), DEVICE + 1), None);
        assert_eq!(stats["cpu_bound"], false);
        assert_eq!(stats["ports"][1]["out"]["link"]["rate_bps"], 10_000_000);
        assert_eq!(stats["ports"][1]["in"]["link"]["rate_bps"], serde_json::Value::Null);
        assert_eq!(stats["ports"][1]["out"]["queues"].as_array().map(Vec::len), Some(2));
        let queue = |queue, spec: &str| ControlRequest::Queue { port: 2, queue, spec: spec.into() };
        assert!(ask(&ask_at, &queue(1, "level=7,rate=2.5pps,pause")).is_ok());
        assert!(ask(&ask_at, &ControlRequest::Port { port: 2, nominal_packet: 600 }).is_ok());
        let stats = ask(&ask_at, &ControlRequest::Stats { reset: false }).unwrap();
        let out = &stats["ports"][1]["out"];
        assert_eq!((&out["queues"][1]["level"], &out["queues"][1]["rate"]), (&7.into(), &"2.5pps".into()));
        assert_eq!((&out["queues"][1]["paused"], &out["nominal_packet"]), (&true.into(), &600.into()));
        let shown = render(&stats);
        assert_eq!(
            shown.lines().filter(|line| line.trim_start().starts_with("queue ")).collect::<Vec<_>>(),
            ["      queue 1  level 7   weight 1   rate paused J - L -  enqueued 0 sent 0 (0 bytes) \
                queued 0 most 0  -"]
        );
        let refused = |request| ask(&ask_at, &request).unwrap_err().to_string();
        assert_eq!(refused(queue(2, "pause")), "port 2 has queues 0 to 1, not 2");
        assert_eq!(refused(queue(1, "weight=0")), "weight: \"0\" is not a number between 1 and 65535");
        assert_eq!(refused(link(9, "up")), "there is no port 9");
        assert_eq!(
            refused(link(1, "rate=9")),
            "rate: \"9\" is not a rate above zero such as 100mbit (bit, kbit, mbit, gbit or unlimited)"
        );
    })
    .await
    .unwrap();
    server.abort();
    assert!(server.await.unwrap_err().is_cancelled());
    assert!(!path.exists(), "the file goes with the socket");
    assert!(ask(&path, &ControlRequest::Stats { reset: false })
        .unwrap_err()
        .to_string()
        .starts_with("no gfswitch answers"));
}

#[tokio::test]
async fn a_trace_waits_aloud_and_says_why_it_ends() {
    let shared = serve().await.shared;
    let fresh = |switch: &mut Switch| {
        let program = Arc::clone(&common::config().program);
        switch.install(switch.fresh(program, QueueRegisters::default()));
    };
    fresh(&mut shared.switch());
    let path = std::env::temp_dir().join(format!("gfswitch-trace-{}.sock", std::process::id()));
    let (socket, theirs) = (ControlSocket::bind(&path).unwrap(), Arc::clone(&shared));
    let server = tokio::spawn(async move { socket.serve(theirs, DEVICE).await });
    tokio::task::spawn_blocking(move || {
        let request = |port| TraceRequest { port, next: 2, ..TraceRequest::default() };
        let none = |_: &serde_json::Value| -> Result<(), ShellError> { panic!("no packet came") };
        // The program changes when the client says that it waits.
        let ended = trace_switch(&path, request(None), none, || fresh(&mut shared.switch())).unwrap_err();
        assert_eq!(ended.to_string(), "another program was loaded; 0 of 2 packets came");
        let refused = trace_switch(&path, request(Some(9)), none, || panic!("it is refused")).unwrap_err();
        assert_eq!(refused.to_string(), "port: there is no port 9; there are 1, 2, 3, 4, 510");
    })
    .await
    .unwrap();
    server.abort();
}

#[test]
fn the_socket_of_a_dead_switch_is_replaced() {
    let path = std::env::temp_dir().join(format!("gfswitch-dead-{}.sock", std::process::id()));
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { drop(ControlSocket::bind(&path).unwrap()) });
    assert!(!path.exists());
}

#[test]
fn a_wrong_command_line_is_told_in_one_line() {
    let run =
        |word: &str| std::process::Command::new(env!("CARGO_BIN_EXE_gfswitch")).arg(word).output().unwrap();
    let wrong = run("--devise-id");
    let line = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!((wrong.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    assert!(line.starts_with("gfswitch: unexpected argument '--devise-id' found"), "{line}");
    assert!(line.contains("'--device-id'") && line.ends_with("; see gfswitch --help\n"), "{line}");
    let help = run("--help");
    assert!(help.status.success() && help.stderr.is_empty() && help.stdout.len() > 1000);
}
