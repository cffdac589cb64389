use super::*;

#[test]
fn a_program_comes_as_it_is_or_wrapped() {
    let wrapped = P4DeviceConfig { device_data: b"{\"a\": 1}".to_vec() }.encode_to_vec();
    // With `reassign` and `extras`, as the P4 tutorials' library and ONOS write it.
    let full = [&[8, 1, 18, 6, 10, 4, 10, 0, 18, 0][..], &wrapped].concat();
    for config in [b" {\"a\": 1}".as_slice(), &wrapped, &full] {
        assert_eq!(device_json(config).map(|json| json.trim().to_owned()), Ok("{\"a\": 1}".into()));
    }
    let cut = &wrapped[..5];
    for config in [b"\xff\xff".as_slice(), b"no json", cut, &[8, 1]] {
        assert_eq!(device_json(config), Err(ConfigurationError::NotText), "{config:?}");
    }
}
