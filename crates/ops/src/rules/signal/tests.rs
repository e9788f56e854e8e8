use crate::rules::testing::{conditions, error, infer_y};

#[test]
fn a_transform_keeps_the_shape_and_returns_complex_numbers() {
    assert_eq!(infer_y(17, "g (float[N, t, 1] x) => (y) { y = DFT (x) }"), "float[N, t, 2]");
    assert_eq!(infer_y(20, "g (float[N, t, 2] x) => (y) { y = DFT <inverse = 1> (x) }"), "float[N, t, 2]");
}

#[test]
fn half_of_a_real_transform_is_enough() {
    assert_eq!(
        infer_y(17, "g (float[N, t, 1] x) => (y) { y = DFT <onesided = 1> (x) }"),
        "float[N, t//2 + 1, 2]"
    );
    let back = "g (float[N, t, 2] x) => (y) { y = DFT <onesided = 1, inverse = 1> (x) }";
    assert_eq!(infer_y(20, back), "float[N, 2*t - 2, 1]");
}

#[test]
fn the_length_and_the_axis_may_be_inputs() {
    let graph =
        "g (float[N, t, u, 1] x) => (y) <int64 l = {9}, int64 a = {1}> { y = DFT <onesided = 1> (x, l, a) }";
    assert_eq!(infer_y(20, graph), "float[N, 5, u, 2]");
    let open = "g (float[N, t, u, 1] x, int64 a) => (y) { y = DFT <onesided = 1> (x, \"\", a) }";
    assert_eq!(infer_y(20, open), "float[?, ?, ?, 2]");
    let same = "g (float[N, t, u, 1] x, int64 a) => (y) { y = DFT (x, \"\", a) }";
    assert_eq!(infer_y(20, same), "float[N, t, u, 2]");
}

#[test]
fn the_last_axis_of_a_transform_has_one_or_two_numbers() {
    let needs = |attributes: &str| {
        conditions(17, &format!("g (float[N, t, c] x) => (y) {{ y = DFT {attributes} (x) }}"))
    };
    assert_eq!(needs(""), ["c <= 2"]);
    assert_eq!(needs("<onesided = 1>"), ["c = 1"]);
}

#[test]
fn transforms_of_the_wrong_numbers_are_found() {
    let last = "g (float[N, t, 1] x) => (y) { y = DFT <axis = -1> (x) }";
    assert_eq!(error(17, last), "dft.length: axis is -1, the axis of real and imaginary parts");
    let complex = "g (float[N, t, 2] x) => (y) { y = DFT <onesided = 1> (x) }";
    assert!(error(17, complex).starts_with("dft.length: a one-sided transform takes real input"));
    let three = "g (float[N, t, 3] x) => (y) { y = DFT (x) }";
    assert!(error(17, three).starts_with("dft.length: the last axis must be 1"));
}

#[test]
fn frames_are_counted_and_one_sided_by_default() {
    let graph = "g (float[N, 128, 1] x) => (y) <int64 s = {8}, int64 l = {16}> { y = STFT (x, s, \"\", l) }";
    assert_eq!(infer_y(17, graph), "float[N, 15, 9, 2]");
    let symbol =
        "g (float[N, t, 1] x, float[w] v) => (y) <int64 s = {8}> { y = STFT <onesided = 0> (x, s, v) }";
    assert_eq!(infer_y(17, symbol), "float[N, (t - w)//8 + 1, w, 2]");
}

#[test]
fn a_complex_signal_is_not_one_sided() {
    let graph = "g (float[N, 128, 2] x, float[16] v) => (y) <int64 s = {8}> { y = STFT (x, s, v) }";
    assert_eq!(infer_y(17, graph), "float[N, 15, ?, 2]");
    let asked = graph.replace("STFT", "STFT <onesided = 1>");
    assert!(error(17, &asked).starts_with("stft.frames: onesided is 1"));
    let window = "g (float[N, 128, 1] x, float[17] v) => (y) <int64 s = {8}, int64 l = {16}> { y = STFT (x, s, v, l) }";
    assert!(error(17, window).starts_with("stft.frames: axis 0 of input 2"));
}
