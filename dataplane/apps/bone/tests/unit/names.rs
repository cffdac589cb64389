use groupflow_bone::machine::FileName;

#[test]
fn a_name_never_leaves_its_directory() {
    let long = "x".repeat(201);
    for (text, ok) in [
        ("index.html", true),
        ("ein Bild.png", true),
        ("日本.txt", true),
        (&long[1..], true),
        (&long, false),
        ("", false),
        (".", false),
        ("..", false),
        (".profile", false),
        ("../x", false),
        ("a/b", false),
        ("/etc/passwd", false),
        ("a\\b", false),
        ("a\0b", false),
        ("a\nb", false),
    ] {
        assert_eq!(FileName::parse(text).is_ok(), ok, "{text:?}");
    }
}
