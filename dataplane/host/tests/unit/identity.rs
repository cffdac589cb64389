use std::os::unix::fs::PermissionsExt;

use groupflow_host::tls::Identity;

#[test]
fn a_certificate_is_made_once_and_its_key_is_its_owners() {
    let folder = std::env::temp_dir().join(format!("gfidentity-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (certificate, key) = (folder.join("a.crt"), folder.join("a.key"));
    let first = Identity::open(&certificate, &key).expect("made");
    let again = Identity::open(&certificate, &key).expect("read");
    assert!(first.made && !again.made);
    assert_eq!(first.fingerprint, again.fingerprint);
    let mode = std::fs::metadata(&key).expect("there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    std::fs::remove_file(&key).expect("removed");
    let error = Identity::open(&certificate, &key).expect_err("half of it is gone");
    assert!(error.cause.starts_with("cannot use ") && error.cause.contains("a.key"), "{error}");
    std::fs::write(&key, "no key").expect("written");
    assert!(Identity::open(&certificate, &key).is_err());
    std::fs::remove_dir_all(&folder).expect("removed");
}
