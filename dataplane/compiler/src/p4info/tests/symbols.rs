use super::{Kind, Symbols};

fn symbols(names: &[(Kind, &str, Option<u32>)]) -> Symbols {
    let mut symbols = Symbols::default();
    names.iter().for_each(|&(kind, name, id)| symbols.add(kind, name, id).expect("a new name and id"));
    symbols.assign();
    symbols
}

#[test]
fn an_id_is_the_hash_of_the_name_behind_the_kind() {
    let symbols = symbols(&[(Kind::ACTION, "NoAction", None), (Kind::TABLE, "MyIngress.ipv4_lpm", None)]);
    assert_eq!(symbols.id(Kind::ACTION, "NoAction"), 21_257_015);
    assert_eq!(symbols.id(Kind::TABLE, "MyIngress.ipv4_lpm"), 37_375_156);
}

#[test]
fn a_taken_id_is_followed_by_the_next() {
    let taken = Some(21_257_015);
    let symbols = symbols(&[(Kind::ACTION, "mine", taken), (Kind::ACTION, "NoAction", None)]);
    assert_eq!(symbols.id(Kind::ACTION, "mine"), 21_257_015);
    assert_eq!(symbols.id(Kind::ACTION, "NoAction"), 21_257_016);
}

#[test]
fn an_alias_is_the_shortest_suffix_of_one_name() {
    let names = ["c.a.x", "d.b.x", "e.b.x", "y", "f.y"];
    let symbols = symbols(&names.map(|name| (Kind::TABLE, name, None)));
    assert_eq!(names.map(|name| symbols.alias(name)), ["a.x", "d.b.x", "e.b.x", "y", "f.y"]);
}
