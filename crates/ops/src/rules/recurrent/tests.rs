use crate::rules::testing::{error, infer};

#[test]
fn states_follow_from_the_weights() {
    let graph = "g (float[t, b, 4] x, float[1, 24, 4] w, float[1, 24, 6] r) => (y, h, c) { y, h, c = LSTM (x, w, r) }";
    let types = infer(14, graph);
    assert_eq!(types["y"], "float[t, 1, b, 6]");
    assert_eq!(types["h"], "float[1, b, 6]");
    assert_eq!(types["c"], "float[1, b, 6]");
}

#[test]
fn the_batch_can_come_first() {
    let graph = "g (float[b, t, 4] x, float[2, 18, 4] w, float[2, 18, 6] r)
        => (y, h) { y, h = GRU <layout = 1, direction = \"bidirectional\", hidden_size = 6> (x, w, r) }";
    let types = infer(14, graph);
    assert_eq!(types["y"], "float[b, t, 2, 6]");
    assert_eq!(types["h"], "float[b, 2, 6]");
}

#[test]
fn the_first_version_of_gru_runs_forward_although_its_default_is_misspelt() {
    let graph =
        "g (float[t, b, 4] x, float[1, 18, 4] w, float[1, 18, 6] r) => (y, h) { y, h = GRU (x, w, r) }";
    assert_eq!(infer(1, graph)["h"], "float[1, b, 6]");
}

#[test]
fn an_output_can_be_left_out() {
    let graph = "g (float[t, b, 4] x, float[1, 6, 4] w, float[1, 6, 6] r) => (h) { \"\", h = RNN (x, w, r) }";
    assert_eq!(infer(7, graph)["h"], "float[1, b, 6]");
}

#[test]
fn every_operand_must_have_its_extents() {
    let graph = "g (float[5, 3, 4] x, float[1, 24, 4] w, float[1, 24, 6] r, float[1, 48] b, int32[3] l, float[1, 3, 6] h, float[1, 3, 6] c, float[1, 18] p)
        => (y) { y = LSTM <hidden_size = 6> (x, w, r, b, l, h, c, p) }";
    assert_eq!(infer(14, graph)["y"], "float[5, 1, 3, 6]");
    for (right, wrong, words) in [
        ("[1, 24, 4]", "[1, 25, 4]", "axis 1 of input 1"),
        ("[1, 24, 4]", "[1, 24, 5]", "axis 2 of input 0"),
        ("[1, 24, 4]", "[2, 24, 4]", "axis 0 of input 1"),
        ("[1, 48]", "[1, 24]", "axis 1 of input 3"),
        ("int32[3]", "int32[5]", "axis 1 of input 0"),
        ("[1, 18]", "[1, 24]", "axis 1 of input 7"),
        ("6 > ", "7> ", "hidden size"),
    ] {
        let found = error(14, &graph.replacen("6> ", "6 > ", 1).replacen(right, wrong, 1));
        assert!(found.starts_with("lstm.states: ") && found.contains(words), "{wrong}: {found}");
    }
}

#[test]
fn attributes_have_few_values() {
    let graph = |attribute: &str| {
        format!(
            "g (float[t, b, 4] x, float[1, 6, 4] w, float[1, 6, 6] r) => (y) {{ y = RNN <{attribute}> (x, w, r) }}"
        )
    };
    assert!(error(14, &graph("direction = \"both\"")).starts_with("attribute direction is `both`"));
    assert_eq!(error(14, &graph("layout = 2")), "rnn.states: layout is 2, but must be 0 or 1");
    assert_eq!(error(14, &graph("hidden_size = 0")), "rnn.states: hidden_size is 0, but must be at least 1");
}
