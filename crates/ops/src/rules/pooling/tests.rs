use crate::rules::testing::{error, infer, infer_y};

fn max_pool(opset: u32, extent: &str, attributes: &str) -> String {
    infer_y(opset, &format!("g (float[1, 1, {extent}] x) => (y) {{ y = MaxPool <{attributes}> (x) }}"))
}

#[test]
fn pooling_counts_the_positions_of_its_windows() {
    assert_eq!(max_pool(1, "32", "kernel_shape = [2]"), "float[1, 1, 31]");
    assert_eq!(
        max_pool(12, "h", "kernel_shape = [3], strides = [2], pads = [1, 1]"),
        "float[1, 1, (h - 1)//2 + 1]"
    );
    assert_eq!(
        max_pool(12, "5", "kernel_shape = [2], auto_pad = \"SAME_LOWER\", strides = [2]"),
        "float[1, 1, 3]"
    );
    let graph =
        "g (float[1, 3, 32, 32] x) => (y) { y = LpPool <kernel_shape = [2, 2], dilations = [2, 2]> (x) }";
    assert_eq!(infer_y(18, graph), "float[1, 3, 30, 30]");
}

#[test]
fn indices_have_the_shape_of_the_indexed_output() {
    let types = infer(12, "g (float[1, 1, 6] x) => (y, i) { y, i = MaxPool <kernel_shape = [2]> (x) }");
    assert_eq!(types["i"], "int64[1, 1, 5]");
}

#[test]
fn a_partial_last_window_counts_if_extents_are_rounded_up() {
    assert_eq!(max_pool(22, "4", "kernel_shape = [5], strides = [3], ceil_mode = 1"), "float[1, 1, 1]");
    let too_far =
        "g (float[1, 1, 4] x) => (y) { y = MaxPool <kernel_shape = [8], strides = [3], ceil_mode = 1> (x) }";
    assert!(error(22, too_far).starts_with("pool.windows"), "{}", error(22, too_far));
}

#[test]
fn a_window_that_starts_after_the_input_is_omitted() {
    let attributes = "kernel_shape = [1], strides = [2], ceil_mode = 1";
    assert_eq!(max_pool(22, "2", attributes), "float[1, 1, 1]");
    let attributes = "kernel_shape = [3], strides = [3], pads = [1, 1], ceil_mode = 1";
    assert_eq!(max_pool(22, "4", attributes), "float[1, 1, 2]");
    assert_eq!(max_pool(22, "5", "kernel_shape = [2], strides = [2], ceil_mode = 1"), "float[1, 1, 3]");
}

/// A constant extent gives the same result as the formula of a symbolic one.
#[test]
fn rounding_up_of_a_symbol_agrees_with_rounding_up_of_numbers() {
    for (kernel, stride, padding) in [(2, 2, 1), (3, 2, 1), (2, 3, 1), (1, 3, 0)] {
        let attributes = format!(
            "kernel_shape = [{kernel}], strides = [{stride}], pads = [{padding}, {padding}], ceil_mode = 1"
        );
        let formula = max_pool(22, "h", &attributes);
        let mut dims = typeloom_dim::Dims::new();
        let last = formula.trim_start_matches("float[1, 1, ").trim_end_matches(']');
        let parsed = dims.parse(last).unwrap();
        let symbol = dims.symbol("h");
        for extent in kernel..12 {
            let value = dims.constant(extent);
            let value = dims.substitute(parsed, &[(symbol, value)]);
            let expected = max_pool(22, &extent.to_string(), &attributes);
            assert_eq!(format!("float[1, 1, {}]", dims.display(value)), expected, "{formula} at {extent}");
        }
    }
}

#[test]
fn a_count_is_unknown_if_implementations_disagree() {
    assert_eq!(
        max_pool(12, "2", "kernel_shape = [1], strides = [4], pads = [0, 1], ceil_mode = 1"),
        "float[1, 1, ?]"
    );
    assert_eq!(
        max_pool(22, "5", "kernel_shape = [2], strides = [2], auto_pad = \"VALID\", ceil_mode = 1"),
        "float[1, 1, ?]"
    );
}

#[test]
fn invalid_windows_are_rejected() {
    let strides = "g (float[1, 1, 6] x) => (y) { y = AveragePool <kernel_shape = [2], strides = [0]> (x) }";
    assert_eq!(error(19, strides), "pool.windows: strides must be at least 1, but holds 0");
    let count = "g (float[1, 1, 6, 6] x) => (y) { y = AveragePool <kernel_shape = [2]> (x) }";
    assert_eq!(error(19, count), "pool.windows: kernel_shape must have 2 entries for these axes, but has 1");
    let rank = "g (float[1, 6] x) => (y) { y = MaxPool <kernel_shape = [2]> (x) }";
    assert_eq!(error(19, rank), "pool.windows: input 0 has rank 2, not 3 or more");
}

#[test]
fn global_pooling_leaves_one_number_a_channel() {
    assert_eq!(infer_y(1, "g (float[N, c, h, 5] x) => (y) { y = GlobalMaxPool (x) }"), "float[N, c, 1, 1]");
}

#[test]
fn unpooling_inverts_pooling() {
    let graph = "g (float[1, 1, 2, h] x, int64[1, 1, 2, h] i) => (y) { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) }";
    assert_eq!(infer_y(11, graph), "float[1, 1, 4, 2*h]");
    let graph = "g (float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i) => (y) <int64[4] s = {1, 1, 5, 5}> { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }";
    assert_eq!(infer_y(11, graph), "float[1, 1, 5, 5]");
    let other = graph.replace("int64[1, 1, 2, 2] i", "int64[1, 1, 2, 3] i");
    assert!(error(11, &other).starts_with("maxunpool.windows"));
}

#[test]
fn regions_are_pooled_to_one_size() {
    let graph =
        "g (float[N, 3, 9, 9] x, float[r, 5] b) => (y) { y = MaxRoiPool <pooled_shape = [2, 3]> (x, b) }";
    assert_eq!(infer_y(1, graph), "float[r, 3, 2, 3]");
    let graph = "g (float[N, 3, 9, 9] x, float[r, 4] b, int64[r] i) => (y) { y = RoiAlign <output_height = 7> (x, b, i) }";
    assert_eq!(infer_y(16, graph), "float[r, 3, 7, 1]");
    assert!(error(16, &graph.replace("[r, 4]", "[r, 5]")).starts_with("roialign.regions: axis 1 of input 1"));
}

#[test]
fn columns_become_an_image() {
    let graph = "g (float[N, 10, 12] x) => (y) <int64[2] i = {4, 5}, int64[2] b = {1, 5}> { y = Col2Im <pads = [0, 1, 0, 1]> (x, i, b) }";
    assert_eq!(infer_y(18, graph), "float[N, 2, 4, 5]");
    assert!(error(18, &graph.replace("12]", "11]")).starts_with("col2im.blocks: axis 2 of input 0"));
    assert!(error(18, &graph.replace("10,", "11,")).starts_with("col2im.blocks: a column has 11 elements"));
    assert_eq!(
        error(18, &graph.replace("{1, 5}", "{9223372036854775807, 5}")),
        "col2im.blocks: input 2 makes an axis longer than any tensor can be: its extent would overflow"
    );
}

#[test]
fn an_impossible_rank_stays_unknown() {
    let kernel = vec!["1"; 100_000].join(", ");
    let graph = format!(
        "g (float x_any) => (y) {{ x = Opaque (x_any) y = MaxPool <kernel_shape = [{kernel}]> (x) }}"
    );
    // ONNX writes an unknown rank as empty brackets.
    assert_eq!(infer_y(12, &graph), "float|uint8|int8|float16|double[...]");
}
