use crate::rules::testing::{error, infer_y};

#[test]
fn a_grid_has_the_extents_of_the_output() {
    let graph = "g (float[N, c, h, w] x, float[N, 6, v, 2] g) => (y) { y = GridSample (x, g) }";
    assert_eq!(infer_y(16, graph), "float[N, c, 6, v]");
    assert!(error(16, &graph.replace("v, 2]", "v, 3]")).starts_with("gridsample.grid: axis 3 of input 1"));
    let volume = "g (float[N, c, h, w, d] x, float[N, 6, v, 4, 3] g) => (y) { y = GridSample (x, g) }";
    assert_eq!(infer_y(20, volume), "float[N, c, 6, v, 4]");
    assert_eq!(error(16, volume), "gridsample.grid: input 0 has rank 5, not 4");
}

#[test]
fn an_affine_grid_has_a_position_for_each_element() {
    let graph = "g (float[2, 2, 3] t) => (y) <int64[4] s = {2, 3, 5, 6}> { y = AffineGrid (t, s) }";
    assert_eq!(infer_y(20, graph), "float[2, 5, 6, 2]");
    let unknown = "g (float[N, 3, 4] t, int64[5] s) => (y) { y = AffineGrid (t, s) }";
    assert_eq!(infer_y(20, unknown), "float[N, ?, ?, ?, 3]");
    let volume = graph.replace("2, 3] t", "3, 4] t");
    assert_eq!(error(20, &volume), "affinegrid.size: transformations of 3 axes do not fit a size of 2");
}

#[test]
fn selected_boxes_have_three_indices() {
    let graph = "g (float[b, s, 4] x, float[b, c, s] v, int64 m) => (y) { y = NonMaxSuppression (x, v, m) }";
    assert_eq!(infer_y(11, graph), "int64[?, 3]");
    let none = "g (float[b, s, 4] x, float[b, c, s] v) => (y) { y = NonMaxSuppression (x, v) }";
    assert_eq!(infer_y(10, none), "int64[0, 3]");
    let wrong = "g (float[1, 6, 4] x, float[1, 2, 5] v, int64 m) => (y) { y = NonMaxSuppression (x, v, m) }";
    assert!(error(11, wrong).starts_with("nonmaxsuppression.boxes: axis 1 of input 0"));
}

#[test]
fn a_decoded_image_has_the_channels_of_its_format() {
    assert_eq!(infer_y(20, "g (uint8[n] x) => (y) { y = ImageDecoder (x) }"), "uint8[?, ?, 3]");
    let grey = "g (uint8[n] x) => (y) { y = ImageDecoder <pixel_format = \"Grayscale\"> (x) }";
    assert_eq!(infer_y(20, grey), "uint8[?, ?, 1]");
    assert!(error(20, &grey.replace("Grayscale", "CMYK")).starts_with("attribute pixel_format is `CMYK`"));
}
