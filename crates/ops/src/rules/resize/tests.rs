use crate::rules::testing::{error, infer_y};

#[test]
fn scales_multiply_extents() {
    let graph = "g (float[1, 3, 10, h] x) => (y) <float[4] s = {1, 1, 0.7, 2}> { y = Resize (x, s) }";
    assert_eq!(infer_y(10, graph), "float[1, 3, 6, 2*h]");
    let graph = "g (float[N, 3, h, w] x) => (y) <float[2] s = {0.5, 1.3}> { y = Resize <axes = [2, -1]> (x, \"\", s) }";
    assert_eq!(infer_y(19, graph), "float[N, 3, h//2, ?]");
}

#[test]
fn sizes_are_the_extents() {
    let graph = "g (float[N, 3, h, w] x) => (y) <int64[2] s = {7, 8}> { y = Resize <axes = [3, 2]> (x, \"\", \"\", s) }";
    assert_eq!(infer_y(18, graph), "float[N, 3, 8, 7]");
    let graph = "g (float[N, 3, 5, 5] x, float[8] r) => (y) <float[0] e = {}, int64[4] s = {2, 3, 7, 8}> { y = Resize (x, r, e, s) }";
    assert_eq!(infer_y(11, graph), "float[2, 3, 7, 8]");
    let graph = "g (float[N, 3, h, w] x, int64[4] s) => (y) { y = Resize (x, \"\", \"\", s) }";
    assert_eq!(infer_y(13, graph), "float[?, ?, ?, ?]");
}

#[test]
fn the_aspect_ratio_can_be_kept() {
    let graph = |policy| {
        format!(
            "g (float[1, 1, 2, 4] x) => (y) <int64[2] s = {{7, 8}}> {{ y = Resize <axes = [2, 3], keep_aspect_ratio_policy = \"{policy}\"> (x, \"\", \"\", s) }}"
        )
    };
    assert_eq!(infer_y(18, &graph("not_larger")), "float[1, 1, 4, 8]");
    assert_eq!(infer_y(18, &graph("not_smaller")), "float[1, 1, 7, 14]");
    let same = graph("not_smaller").replace("2, 4]", "16777217, 4]").replace("{7, 8}", "{16777217, 4}");
    assert_eq!(infer_y(18, &same), "float[1, 1, 16777217, 4]", "a scale of one is exact");
    assert!(error(18, &graph("larger")).starts_with("attribute keep_aspect_ratio_policy is `larger`"));
}

#[test]
fn scales_and_sizes_must_fit() {
    let none = "g (float[1, 2] x) => (y) { y = Resize (x) }";
    assert!(error(13, none).starts_with("resize.sizes: the output's extents follow"));
    let both = "g (float[1, 2] x, float[2] s, int64[2] t) => (y) { y = Resize (x, \"\", s, t) }";
    assert_eq!(error(13, both), "resize.sizes: input 3 is given as well as `scales`");
    let count = "g (float[1, 2] x) => (y) <float[3] s = {1, 2, 3}> { y = Resize (x, \"\", s) }";
    assert_eq!(error(13, count), "resize.sizes: input 2 has 3 numbers for 2 axes");
    let zero = "g (float[1, 2] x) => (y) <float[2] s = {1, 0}> { y = Resize (x, \"\", s) }";
    assert_eq!(error(13, zero), "resize.sizes: input 2 must be positive, but holds 0");
    let twice = "g (float[1, 2] x) => (y) <float[2] s = {1, 2}> { y = Resize <axes = [1, -1]> (x, \"\", s) }";
    assert_eq!(error(18, twice), "resize.sizes: axes names axis 1 twice");
}

#[test]
fn upsampling_reads_scales_from_the_attribute_or_input_of_its_version() {
    let graph = "g (float[1, c, h, 3] x) => (y) { y = Upsample <height_scale = 2.0, width_scale = 3.0> (x) }";
    assert_eq!(infer_y(6, graph), "float[1, c, 2*h, 9]");
    let graph = "g (float[1, c, h, 3] x) => (y) { y = Upsample <scales = [1.0, 1.0, 2.0, 1.5]> (x) }";
    assert_eq!(infer_y(7, graph), "float[1, c, 2*h, 4]");
    let graph = "g (float[1, c, h, 3] x) => (y) <float[4] s = {1, 1, 4, 1}> { y = Upsample (x, s) }";
    assert_eq!(infer_y(9, graph), "float[1, c, 4*h, 3]");
}
