//! A client's connections report how they fare; those that carry nothing report less often.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use groupflow_gather::machine::{Epoch, GatherFrame, Item, Side, StripeDecoder};

use super::harness::send;

const CONNECTIONS: u16 = 4;
const TICKS: usize = 12;

/// A server that takes all connections and counts the reports of each.
fn serve(listener: TcpListener, counts: Arc<Mutex<Vec<usize>>>) {
    for stream in listener.incoming().map_while(Result::ok) {
        counts.lock().expect("counts").push(0);
        let (counts, place) = (counts.clone(), counts.lock().expect("counts").len() - 1);
        std::thread::spawn(move || count(stream, &counts, place));
    }
}

fn count(mut stream: TcpStream, counts: &Mutex<Vec<usize>>, place: usize) {
    let (mut decoder, mut bytes) = (StripeDecoder::new(Side::Client), [0; 1024]);
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        let mut input = &bytes[..count];
        while let Some(item) = decoder.next_item(&mut input).expect("a frame") {
            match item {
                Item::Frame(GatherFrame::Hello(_)) => {
                    let (delivered, limit) = (0, 1 << 20);
                    let welcome =
                        GatherFrame::Welcome { epoch: Epoch(1), delivered, limit, wanted: CONNECTIONS };
                    let mut out = std::collections::VecDeque::new();
                    welcome.encode_into(&mut out);
                    stream.write_all(out.make_contiguous()).expect("written");
                }
                Item::Frame(GatherFrame::Report(_)) => counts.lock().expect("counts")[place] += 1,
                _ => {}
            }
        }
    }
}

#[test]
fn of_connections_that_carry_nothing_one_reports_in_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let Ok(SocketAddr::V4(address)) = listener.local_addr() else {
        panic!("an address");
    };
    let counts = Arc::new(Mutex::new(Vec::new()));
    let counted = counts.clone();
    std::thread::spawn(move || serve(listener, counted));
    let mut client = send(address, "a", &[]);
    for _ in 0..TICKS {
        client.wait(|event| event["event"] == "progress" && event["connections"] == CONNECTIONS);
    }
    let counts = counts.lock().expect("counts").clone();
    assert_eq!(counts.len(), usize::from(CONNECTIONS));
    // The first one of each follows what was said when it began.
    let most = TICKS + 2 * usize::from(CONNECTIONS);
    assert!(counts.iter().sum::<usize>() <= most && counts.iter().all(|&count| count > 1), "{counts:?}");
}
