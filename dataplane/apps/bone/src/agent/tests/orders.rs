use super::*;

fn read(line: &str) -> Result<Option<u64>, String> {
    let bound = Bound { name: "bytes", range: 1..=1000 };
    parse(line.as_bytes(), &bound).map_err(|error| error.to_string())
}

#[test]
fn an_order_has_one_bound_or_names_the_field_that_is_wrong() {
    assert_eq!(read("{\"bytes\": 1000}\n"), Ok(Some(1000)));
    assert_eq!(read("{\"bytes\": null}\n"), Ok(None));
    assert!(read("{}\n").is_err_and(|text| text.starts_with("order.bytes must be given")));
    let range = Err("order.bytes must be a number from 1 to 1000".to_owned());
    for value in ["0", "1001", "-1", "1.5", "\"1\"", "[]", "1e400", "18446744073709551616"] {
        let said = read(&format!("{{\"bytes\": {value}}}\n"));
        assert!(said == range || said == Err("order must be JSON".to_owned()), "{value}: {said:?}");
    }
    assert!(read("{\"bytes\": 1, \"rate\": 2}\n").is_err_and(|text| text.starts_with("order.rate ")));
    assert_eq!(read("[]\n"), Err("order must be an object".to_owned()));
    assert_eq!(read("{\"bytes\":"), Err("order must be JSON".to_owned()));
}
