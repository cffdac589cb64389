use super::*;
use crate::testing::MemoryFile;

fn sizes(mut source: Source) -> Vec<(usize, bool)> {
    (1..)
        .map_while(|seq| source.fresh(Seq(seq)).ok().flatten())
        .map(|piece| (piece.payload.len(), piece.flags.has(Flags::FIN)))
        .collect()
}

#[test]
fn files_are_cut_into_full_packets() {
    let cases: [(usize, &[(usize, bool)]); 5] = [
        (0, &[(0, true)]),
        (1, &[(1, true)]),
        (1448, &[(1448, true)]),
        (1449, &[(1448, false), (1, true)]),
        (2896, &[(1448, false), (1448, true)]),
    ];
    for (length, expected) in cases {
        let source = Source::file(Box::new(MemoryFile(vec![7; length])), Seq::FIRST);
        assert_eq!(source.map(sizes), Ok(expected.to_vec()), "{length} bytes");
    }
}

#[test]
fn packet_numbers_may_not_run_out() {
    let fits = |length: usize, first: Seq| Source::file(Box::new(MemoryFile(vec![0; length])), first).is_ok();
    assert!(fits(1448, Seq::LAST));
    assert!(!fits(1449, Seq::LAST));
    assert!(fits(1449, Seq::LAST.prev()));
    let mut stream = WrittenSource::new(1 << 20, Seq::LAST.prev(), false);
    stream.write(&[0; 2 * MAX_PAYLOAD]);
    assert!(stream.fresh(Seq::LAST.prev()).is_ok());
    assert_eq!(stream.fresh(Seq::LAST), Err(SourceError::TooLong));
    stream.finish();
    assert!(stream.fresh(Seq::LAST).is_ok());
}

#[test]
fn a_stream_is_bounded_until_acknowledged() {
    let mut stream = WrittenSource::new(4000, Seq::FIRST, false);
    assert_eq!(stream.write(&[1; 10_000]), 4000);
    assert_eq!(stream.write(&[1; 1]), 0);
    let lengths: Vec<_> =
        (1..=4).filter_map(|seq| stream.fresh(Seq(seq)).ok().flatten()).map(|p| p.payload.len()).collect();
    assert_eq!(lengths, [1448, 1448, 1104]);
    assert_eq!(stream.again(Seq(2)), Some(Piece { flags: Flags::NONE, payload: vec![1; 1448] }));
    stream.acknowledged(Seq(3));
    assert_eq!(stream.again(Seq(2)), None);
    assert_eq!(stream.room(), 4000 - 1104 - PIECE_OVERHEAD);
}

#[test]
fn the_end_of_a_stream_is_told_once() {
    type Case<'a> = (&'a [u8], bool, &'a [(usize, bool)]);
    let cases: [Case<'_>; 3] =
        [(b"", false, &[(0, true)]), (b"abc", false, &[(3, true)]), (b"abc", true, &[(3, false), (0, true)])];
    for (bytes, sent_before_the_end, expected) in cases {
        let mut stream = WrittenSource::new(4000, Seq::FIRST, false);
        stream.write(bytes);
        if sent_before_the_end {
            assert!(stream.fresh(Seq(1)).is_ok());
        }
        stream.finish();
        assert_eq!(sizes(Source::Written(stream)), expected);
    }
}

#[test]
fn datagrams_begin_packets() {
    let mut source = WrittenSource::new(8000, Seq::FIRST, true);
    assert!(source.write_datagram(&[9; 2000]));
    assert!(source.write_datagram(b""));
    assert!(!source.write_datagram(&[9; 7000]), "no room");
    source.finish();
    let pieces: Vec<Piece> = (1..).map_while(|seq| source.fresh(Seq(seq)).ok().flatten()).collect();
    let shape: Vec<_> = pieces.iter().map(|p| (p.payload.len(), p.flags)).collect();
    let end = Flags::BOUNDARY.with(Flags::FIN);
    assert_eq!(shape, [(1448, Flags::BOUNDARY), (556, Flags::NONE), (4, end)]);
    assert_eq!(pieces[0].payload[..5], [0, 0, 7, 208, 9]);
}

#[test]
fn one_datagram_always_has_room_in_an_empty_buffer() {
    let mut source = WrittenSource::new(100, Seq::FIRST, true);
    assert!(source.write_datagram(&[1; 5000]));
    assert!(!source.write_datagram(&[1; 1]));
    assert!(!WrittenSource::new(100, Seq::FIRST, true).write_datagram(&vec![0; MAX_DATAGRAM + 1]));
}
