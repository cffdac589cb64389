use super::*;

#[test]
fn no_step_of_groupflow_is_left_to_the_interpreter() {
    let program = Program::from_json(include_str!("../../../../../p4src/build/groupflow.json")).unwrap();
    assert_eq!(Compiled::new(&program).unwrap().rare, Rare::default());
}
