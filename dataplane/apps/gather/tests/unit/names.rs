use groupflow_gather::machine::ClientName;

#[test]
fn names_can_name_files() {
    let long = "x".repeat(65);
    for (text, ok) in [
        ("cam1", true),
        ("Ward-3_bed.2", true),
        ("", false),
        (".x", false),
        ("a/b", false),
        ("ä", false),
        ("a b", false),
        (&long, false),
        (&long[1..], true),
    ] {
        assert_eq!(ClientName::parse(text).is_some(), ok, "{text}");
    }
}
