use crate::rules::testing::{conditions, error, errors, infer_y};

#[test]
fn a_convolution_counts_the_positions_of_its_windows() {
    let graph = "g (float[1, 3, 224, 224] x, float[64, 3, 7, 7] w) => (y) { y = Conv <strides = [2, 2], pads = [3, 3, 3, 3]> (x, w) }";
    assert_eq!(infer_y(22, graph), "float[1, 64, 112, 112]");
    let graph = "g (float[1, 1, 10] x, float[2, 1, 3] w) => (y) { y = Conv <dilations = [2]> (x, w) }";
    assert_eq!(infer_y(1, graph), "float[1, 2, 6]");
}

#[test]
fn symbolic_extents_give_expressions() {
    let graph = "g (float[N, 3, h, w] x, float[8, 3, 3, 3] k) => (y) { y = Conv <strides = [2, 1], pads = [1, 1, 1, 1]> (x, k) }";
    assert_eq!(infer_y(11, graph), "float[N, 8, (h - 1)//2 + 1, w]");
    let graph = "g (float[N, 3, h] x, float[m, 3, k] w) => (y) { y = Conv (x, w) }";
    assert_eq!(infer_y(11, graph), "float[N, m, h - k + 1]");
}

#[test]
fn automatic_padding_divides_the_extent_by_the_stride() {
    let graph = "g (float[1, 1, 5, h] x, float[1, 1, 3, 3] w) => (y) { y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 1, 3, (h - 1)//2 + 1]");
    let graph = "g (float[1, 1, 5] x, float[1, 1, 3] w) => (y) { y = Conv <auto_pad = \"VALID\"> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 1, 3]");
}

#[test]
fn one_known_operand_determines_its_part_of_the_result() {
    let graph =
        "g (float x_any, float[4, 3, 3, 3] w, float[4] b) => (y) { x = Opaque (x_any) y = Conv (x, w, b) }";
    assert_eq!(infer_y(11, graph), "float[?, 4, ?, ?]");
}

#[test]
fn quantised_convolutions_find_their_weights() {
    let graph = "g (uint8[1, 3, 5, 5] x, int8[4, 3, 2, 2] w) => (y) { y = ConvInteger (x, w) }";
    assert_eq!(infer_y(10, graph), "int32[1, 4, 4, 4]");
    let graph = "g (uint8[1, 3, 5, 5] x, float s, uint8 z, int8[4, 3, 2, 2] w, float[4] ws, int8[4] wz, float t, int8 v, int32[4] b)
        => (y) { y = QLinearConv (x, s, z, w, ws, wz, t, v, b) }";
    assert_eq!(infer_y(10, graph), "int8[1, 4, 4, 4]");
    let wrong = graph.replace("float[4] ws", "float[3] ws");
    assert_eq!(
        error(10, &wrong),
        "qlinearconv.scales: axis 0 of input 4 and axis 0 of input 3 are the output channels"
    );
}

#[test]
fn channels_groups_and_biases_must_fit() {
    let graph = "g (float[1, 4, 5] x, float[6, 2, 3] w) => (y) { y = Conv <group = 2> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 6, 3]");
    let channels = "g (float[1, 4, 5] x, float[6, 3, 3] w) => (y) { y = Conv (x, w) }";
    assert!(error(11, channels).starts_with("conv.channels: axis 1 of input 0"));
    let group = "g (float[1, 4, 5] x, float[5, 2, 3] w) => (y) { y = Conv <group = 2> (x, w) }";
    assert_eq!(error(11, group), "conv.channels: group is 2, which does not divide the 5 output channels");
    let bias = "g (float[1, 3, 5] x, float[6, 3, 3] w, float[5] b) => (y) { y = Conv (x, w, b) }";
    assert!(error(11, bias).starts_with("conv.bias: axis 0 of input 2"));
    let kernel = "g (float[1, 3, 5] x, float[6, 3, 3] w) => (y) { y = Conv <kernel_shape = [2]> (x, w) }";
    assert!(error(11, kernel).starts_with("conv.kernel: axis 2 of input 1"));
}

#[test]
fn windows_must_fit() {
    let large = "g (float[1, 1, 2] x, float[1, 1, 3] w) => (y) { y = Conv (x, w) }";
    assert_eq!(
        error(11, large),
        "conv.windows: a window over 3 elements does not fit into axis 2, which has 2 with its padding"
    );
    let far = "g (float[1, 1, 5] x, float[1, 1, 2] w) => (y) { y = Conv <dilations = [9223372036854775807]> (x, w) }";
    assert!(error(22, far).starts_with("conv.windows: dilations"));
    let both = "g (float[1, 1, 5] x, float[1, 1, 3] w) => (y) { y = Conv <auto_pad = \"SAME_UPPER\", pads = [2, 2]> (x, w) }";
    assert_eq!(error(11, both), "conv.windows: auto_pad requests another padding than `pads`");
    let word = "g (float[1, 1, 5] x, float[1, 1, 3] w) => (y) { y = Conv <auto_pad = \"SAME\"> (x, w) }";
    assert!(error(11, word).starts_with("attribute auto_pad is `SAME`"));
}

#[test]
fn a_transposed_convolution_widens() {
    let graph = "g (float[1, 2, 3, h] x, float[2, 5, 3, 3] w) => (y) { y = ConvTranspose <strides = [3, 2], output_padding = [1, 1]> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 5, 10, 2*h + 2]");
    let graph = "g (float[1, 4, 3, 3] x, float[4, 5, 3, 3] w) => (y) { y = ConvTranspose <group = 2, output_shape = [10, 8], strides = [3, 2]> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 10, 10, 8]");
    let graph = "g (float[1, 1, h] x, float[1, 2, 3] w) => (y) { y = ConvTranspose <auto_pad = \"SAME_LOWER\", strides = [2]> (x, w) }";
    assert_eq!(infer_y(11, graph), "float[1, 2, 2*h]");
}

#[test]
fn a_transposed_convolution_is_checked_like_a_convolution() {
    let channels = "g (float[1, 3, 4] x, float[2, 5, 3] w) => (y) { y = ConvTranspose (x, w) }";
    assert!(error(11, channels).starts_with("convtranspose.channels: axis 1 of input 0"));
    let bias = "g (float[1, 4, 4] x, float[4, 5, 3] w, float[5] b) => (y) { y = ConvTranspose <group = 2> (x, w, b) }";
    assert!(error(11, bias).starts_with("convtranspose.bias: axis 0 of input 2"));
    let padding = "g (float[1, 4, 4] x, float[4, 5, 3] w) => (y) { y = ConvTranspose <strides = [2], output_padding = [2]> (x, w) }";
    assert!(error(11, padding).starts_with("convtranspose.padding: output_padding is 2"));
}

#[test]
fn a_deformed_convolution_has_offsets_for_each_position() {
    let graph = "g (float[1, 1, 3, 3] x, float[1, 1, 2, 2] w, float[1, 8, 2, 2] o, float[1] b, float[1, 4, 2, 2] m) => (y) { y = DeformConv (x, w, o, b, m) }";
    assert_eq!(infer_y(19, graph), "float[1, 1, 2, 2]");
    let offsets = graph.replace("[1, 8, 2, 2]", "[1, 4, 2, 2]");
    assert!(error(19, &offsets).starts_with("deformconv.offsets: axis 1 of input 2"));
    let mask = graph.replace("[1, 4, 2, 2]", "[1, 4, 3, 2]");
    assert!(error(19, &mask).starts_with("deformconv.offsets: axis 2 of input 4"));
}

#[test]
fn constant_windows_have_as_many_positions_as_fit_one_by_one() {
    for (input, kernel, stride, dilation) in (1..7_usize)
        .flat_map(|input| (1..4).map(move |kernel| (input, kernel)))
        .flat_map(|(input, kernel)| (1..4).map(move |stride| (input, kernel, stride)))
        .flat_map(|(input, kernel, stride)| (1..3).map(move |dilation| (input, kernel, stride, dilation)))
    {
        for (before, after) in [(0, 0), (1, 0), (0, 2), (1, 1)] {
            let graph = format!(
                "g (float[1, 1, {input}] x, float[1, 1, {kernel}] w) => (y) {{
                    y = Conv <strides = [{stride}], dilations = [{dilation}], pads = [{before}, {after}]> (x, w)
                }}"
            );
            let reach = dilation * (kernel - 1) + 1;
            let padded = before + input + after;
            let positions = (0..padded).step_by(stride).filter(|start| start + reach <= padded).count();
            if positions == 0 {
                assert!(error(22, &graph).starts_with("conv.windows: "), "{graph}");
                continue;
            }
            assert_eq!(infer_y(22, &graph), format!("float[1, 1, {positions}]"), "{graph}");
            let pool = format!(
                "g (float[1, 1, {input}] x) => (y) {{
                    y = MaxPool <kernel_shape = [{kernel}], strides = [{stride}], dilations = [{dilation}], pads = [{before}, {after}]> (x)
                }}"
            );
            assert_eq!(infer_y(22, &pool), format!("float[1, 1, {positions}]"), "{pool}");
        }
    }
}

#[test]
fn pads_of_a_transposed_convolution_leave_an_element() {
    let graph = "g (float[1, 1, N] x, float[1, 1, 2] w) => (y) \
        { y = ConvTranspose <pads = [3, 3], strides = [2]> (x, w) }";
    assert_eq!(conditions(21, graph), ["2*N - 6 >= 1"]);
    assert_eq!(conditions(21, &graph.replace("[3, 3]", "[0, 0]")), [""; 0]);
    assert!(!errors(21, &graph.replace('N', "3")).is_empty());
}
