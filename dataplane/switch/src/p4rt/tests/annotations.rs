use super::*;

#[test]
fn reasons_are_words_of_one_annotation() {
    let read = |annotations: &[&str]| {
        let annotations: Vec<String> = annotations.iter().map(|&text| text.into()).collect();
        reasons("drops", 2, &annotations).map_err(|BindingError(what)| what)
    };
    let words = Ok(vec!["none".to_owned(), "no_route".to_owned()]);
    assert_eq!(read(&["@groupflow_reasons(none, no_route)"]), words);
    assert_eq!(read(&["@groupflow_reasons( \"none\" , no_route )"]), words);
    assert_eq!(read(&["@other(a)"]), Ok(vec![]));
    let refused = "counter drops: @groupflow_reasons: 3 words, of which none is empty, for 2 cells";
    assert_eq!(read(&["@groupflow_reasons(a, b, c)"]), Err(refused.into()));
    let twice = read(&["@groupflow_reasons(a)", "@groupflow_reasons(b)"]);
    assert_eq!(twice, Err("counter drops: it has @groupflow_reasons twice".into()));
}
