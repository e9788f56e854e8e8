use crate::rules::testing::{conditions, error, errors, infer_y};

fn product(zero_point: &str) -> String {
    format!("g (uint8[N, 4] a, int8[4, 5] b, {zero_point} z) => (y) {{ y = MatMulInteger (a, b, , z) }}")
}

#[test]
fn a_zero_point_is_one_number_or_one_for_each_column() {
    for zero_point in ["int8", "int8[1]", "int8[5]", "int8[1, 5]", "int8[...]"] {
        assert_eq!(infer_y(21, &product(zero_point)), "int32[N, 5]", "{zero_point}");
    }
    for zero_point in ["int8[4]", "int8[4, 1]", "int8[1, 1, 5]"] {
        assert!(error(21, &product(zero_point)).starts_with("matmulinteger.zero_points"), "{zero_point}");
    }
    let batched =
        "g (uint8[2, 3, 4] a, int8[2, 4, 5] b, int8[2, 1, 5] z) => (y) { y = MatMulInteger (a, b, , z) }";
    assert!(errors(21, batched).is_empty());
    assert!(!errors(21, &batched.replace("[2, 1, 5] z", "[5] z")).is_empty());
}

#[test]
fn scales_and_zero_points_may_differ_in_shape() {
    let graph = "g (uint8[3, 4] a, float s, uint8 z, int8[4, 5] b, float[5] t, int8[1] u) => (y) \
        { y = QLinearMatMul (a, s, z, b, t, u, s, z) }";
    assert_eq!(infer_y(21, graph), "uint8[3, 5]");
    assert!(error(21, &graph.replace("float[5] t", "float[4] t")).starts_with("qlinearmatmul.scales"));
}

#[test]
fn only_the_third_operand_of_gemm_is_broadcast() {
    let gemm = |c: &str| format!("g (float[N, 3] a, float[3, 2] b, {c} c) => (y) {{ y = Gemm (a, b, c) }}");
    assert_eq!(infer_y(21, &gemm("float[1, 2]")), "float[N, 2]");
    assert_eq!(conditions(21, &gemm("float[1, 2]")), [""; 0]);
    assert_eq!(conditions(21, &gemm("float[4, 2]")), ["N = 4"]);
}
