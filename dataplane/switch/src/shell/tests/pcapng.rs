use super::*;
use groupflow_base::Nanos;
use groupflow_pipeline::Port;

/// The blocks of a file: kind and body of each.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("a word"));
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = word(bytes, 4) as usize;
        assert_eq!((length % 4, word(bytes, length - 4) as usize), (0, length));
        found.push((word(bytes, 0), bytes[8..length - 4].to_vec()));
        bytes = &bytes[length..];
    }
    found
}

#[test]
fn a_capture_is_a_pcapng_file_with_comments() {
    let dir = std::env::temp_dir().join(format!("gfswitch-pcap-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let mut capture = Capture::create(&dir, "s1-eth1").expect("created");
    let (time, port, bytes) = (Nanos(7), Port(1), b"frame".to_vec());
    let verdict = "in port 1: to port 2".to_owned();
    let frame = SeenFrame { time, port, inbound: true, bytes, verdict };
    capture.write(1_500_000_000_000_000_000, &frame).and_then(|()| capture.flush()).expect("written");
    let bytes = std::fs::read(dir.join("s1-eth1.pcapng")).expect("readable");
    std::fs::remove_dir_all(&dir).expect("removable");
    let blocks = blocks(&bytes);
    let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [SECTION_HEADER, INTERFACE, ENHANCED_PACKET]);
    assert_eq!(blocks[0].1[..4], MAGIC.to_ne_bytes());
    assert_eq!(blocks[1].1[..2], 1u16.to_ne_bytes());
    let time = 1_500_000_000_000_000_007_u64;
    let mut expected = words(&[0, (time >> 32) as u32, time as u32, 5, 5]);
    expected.extend(b"frame\0\0\0");
    expected.extend([2u16.to_ne_bytes(), 4u16.to_ne_bytes()].concat());
    expected.extend(1u32.to_ne_bytes());
    expected.extend([1u16.to_ne_bytes(), 20u16.to_ne_bytes()].concat());
    expected.extend(b"in port 1: to port 2\0\0\0\0");
    assert_eq!(blocks[2].1, expected);
}

#[test]
fn a_missing_directory_is_named() {
    let error = Capture::create(Path::new("/nonexistent/dir"), "eth0").expect_err("missing");
    assert!(error.to_string().starts_with("capture /nonexistent/dir/eth0.pcapng: "), "{error}");
}

#[test]
fn a_full_disk_is_told_once_with_its_cure() {
    let dir = std::env::temp_dir().join(format!("gfswitch-full-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    std::os::unix::fs::symlink("/dev/full", dir.join("eth0.pcapng")).expect("linked");
    let error = Capture::create(&dir, "eth0").expect_err("full").to_string();
    assert!(error.ends_with("(os error 28); free some room there, or name another --pcap"), "{error}");
    let full = File::options().write(true).open("/dev/full").expect("opened");
    let mut capture = Capture { path: dir.join("eth0.pcapng"), out: Some(BufWriter::new(full)) };
    let frame =
        SeenFrame { time: Nanos(7), port: Port(1), inbound: true, bytes: vec![0; 9], verdict: "in".into() };
    capture.write(0, &frame).expect("buffered");
    assert_eq!(capture.flush().expect_err("full").to_string(), error);
    capture.write(0, &frame).and_then(|()| capture.flush()).expect("no capture any more");
    std::fs::remove_dir_all(&dir).expect("removable");
}
