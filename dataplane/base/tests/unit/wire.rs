use groupflow_base::codec::{Reader, Writer};
use groupflow_base::wire::{last_text, WireField};
use groupflow_base::{wire_enum, wire_frames, wire_number, wire_struct, CodecError};

wire_enum!(Color, "color", { Red = 1, Green = 2 });

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Id(u16);
wire_number!(Id);

wire_struct!(Place, "place.", { id: Id, row: u8 = 1..=9, color: Color });
wire_frames!(Word, "kind", "word", {
    Put(place: Place) = 1,
    Say = 2 => "say." { loud: bool, text: String => last_text },
    Stop = 0x20,
});

fn bytes(word: &Word) -> Vec<u8> {
    let mut w = Writer::default();
    word.write_body(&mut w);
    w.into_bytes()
}

#[test]
fn messages_are_as_they_are_declared() {
    let place = Place { id: Id(0x0102), row: 3, color: Color::Green };
    let cases = [
        (Word::Put(place), 1, vec![1, 2, 3, 2]),
        (Word::Say { loud: true, text: "ä".to_owned() }, 2, vec![1, 0xc3, 0xa4]),
        (Word::Stop, 0x20, vec![]),
    ];
    for (word, number, expected) in cases {
        assert_eq!((word.number(), bytes(&word)), (number, expected.clone()));
        assert_eq!(Word::parse_body(number, &expected), Ok(word));
    }
}

#[test]
fn errors_name_the_field() {
    let cases: [(u8, &[u8], &str); 8] = [
        (3, &[], "kind: 3 is not a legal value"),
        (0x20, &[7], "word: 1 bytes too many"),
        (1, &[1], "place.id: 1 bytes where 2 are needed"),
        (1, &[1, 2, 0, 1], "place.row: 0 is not a legal value"),
        (1, &[1, 2, 10, 1], "place.row: 10 is not a legal value"),
        (1, &[1, 2, 9, 3], "color: 3 is not a legal value"),
        (2, &[2], "say.loud: 2 is not a legal value"),
        (2, &[1, 0xff], "say.text: not UTF-8"),
    ];
    for (kind, body, expected) in cases {
        let error = Word::parse_body(kind, body).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
    let long = [&[0][..], &[b'x'; last_text::MOST + 1]].concat();
    let error = Word::parse_body(2, &long).expect_err("a bound");
    assert_eq!(error.to_string(), "say.text: more than 512 bytes");
}

#[test]
fn plain_fields_round_trip() {
    fn round<T: WireField + PartialEq + std::fmt::Debug>(value: T) -> Result<(), CodecError> {
        let mut w = Writer::default();
        value.write(&mut w);
        let bytes = w.into_bytes();
        assert_eq!(T::read(&mut Reader::new(&bytes), "field")?, value);
        Ok(())
    }
    assert!(round(u64::MAX).and(round(7_u32)).and(round(true)).is_ok());
    assert!(round("text".to_owned()).and(round([1_u8, 2, 3])).is_ok());
}
