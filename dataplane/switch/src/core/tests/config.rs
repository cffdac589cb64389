use super::*;

#[test]
fn nonsense_is_named() {
    let base = SwitchConfig { ports: vec![Port(1), Port(2)], ..SwitchConfig::default() };
    assert_eq!(base.check(), Ok(()));
    let cases = [
        (SwitchConfig { ports: vec![Port(1), Port(1)], ..base.clone() }, "port 1 is used twice"),
        (SwitchConfig { ports: vec![Port(510)], ..base.clone() }, "port 510 is used twice"),
        (SwitchConfig { ports: vec![Port(512)], ..base.clone() }, "port 512 is above the highest, 511"),
        (
            SwitchConfig { links: vec![(Port(3), LinkChange::default())], ..base.clone() },
            "there is no port 3",
        ),
        (SwitchConfig { priorities: 0, ..base }, "0 is no number of priorities between 1 and 64"),
    ];
    for (config, message) in cases {
        assert_eq!(config.check().map_err(|e| e.to_string()), Err(message.to_string()));
    }
}
