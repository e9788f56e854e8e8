//! The conditions of models that read tensors at computed positions.

use super::super::testing::{conditions, error, infer};

/// The conditions of a graph with the extents `b`, `n` and `m` of its inputs, and some constants.
fn needed(inputs: &str, nodes: &str) -> Vec<String> {
    let graph = format!(
        "g ({inputs}) => (y)
           <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 minus_one = {{-1}}, int64[1] flat = {{-1}},
            int64[1] axis0 = {{0}}, int64[1] axis1 = {{1}}>
         {{ b = Shape <start = 0, end = 1> (k)
            b0 = Squeeze (b)
            n = Shape <start = 1, end = 2> (k)
            n0 = Squeeze (n)
            m = Shape <start = 1, end = 2> (x)
            m0 = Squeeze (m)
            {nodes} }}"
    );
    conditions(21, &graph)
}

const INPUTS: &str = "bool[B, M] x, float[B, N] k";

#[test]
fn a_range_into_an_axis_needs_as_many_elements() {
    assert_eq!(needed(INPUTS, "i = Range (zero, n0, one) y = Gather <axis = 1> (x, i)"), ["N <= M"]);
    assert_eq!(needed(INPUTS, "i = Range (one, n0, two) y = Gather <axis = 1> (x, i)"), ["2*(N//2) <= M"]);
    let reversed =
        "last = Sub (n0, one) r = Range (zero, n0, one) i = Sub (last, r) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, reversed), ["N <= M"]);
    let falling = "last = Sub (n0, one) i = Range (last, minus_one, minus_one) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, falling), ["N <= M"]);
    assert_eq!(needed(INPUTS, "i = Range (zero, m0, one) y = Gather <axis = 1> (x, i)"), [""; 0]);
}

#[test]
fn positions_from_the_end_are_counted_back() {
    let back = "r = Range (zero, n0, one) i = Sub (r, n0) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, back), ["N <= M"]);
    let one_back = "r = Range (one, n0, one) i = Neg (r) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, one_back), ["N - 1 <= M"]);
}

#[test]
fn a_flattened_tensor_is_read_by_rows_and_columns() {
    let flat =
        "w = Reshape (x, flat) q = Range (zero, b0, one) rows = Unsqueeze (q, axis1) first = Mul (rows, m)
                r = Range (zero, n0, one) i = Add (first, r)";
    for read in [
        "y = Gather (w, i)",
        "j = Reshape (i, flat) y = Gather (w, j)",
        "j = Transpose (i) y = Gather (w, j)",
        "j = Reshape (i, flat) y = GatherElements (w, j)",
        "j = Unsqueeze (i, flat) y = GatherND (w, j)",
        "j = Cast <to = 6> (i) y = Gather (w, j)",
    ] {
        assert_eq!(needed(INPUTS, &format!("{flat} {read}")), ["B*M - M + N <= B*M"], "{read}");
    }
}

#[test]
fn tuples_of_indices_are_compared_with_their_axes() {
    let tuples = "q = Range (zero, b0, one) rows = Unsqueeze (q, axis1) r = Range (zero, n0, one)
                  columns = Unsqueeze (r, axis0) target = Concat <axis = 0> (b, n)
                  row = Expand (rows, target) column = Expand (columns, target)
                  a = Unsqueeze (row, flat) c = Unsqueeze (column, flat) i = Concat <axis = -1> (a, c)";
    assert_eq!(needed(INPUTS, &format!("{tuples} y = GatherND (x, i)")), ["N <= M"]);
    let written = "true = Expand (yes, target) y = ScatterND (x, i, true)";
    let inputs = format!("{INPUTS}, bool yes");
    assert_eq!(needed(&inputs, &format!("{tuples} {written}")), ["N <= M"]);
    // One column that is known only at run time does not hide the other.
    let inputs = format!("{INPUTS}, int64[B, N, 1] free");
    let mixed = format!("{tuples} j = Concat <axis = -1> (free, c) y = GatherND (x, j)");
    assert_eq!(needed(&inputs, &mixed), ["N <= M"]);
}

#[test]
fn a_symbolic_index_is_compared_too() {
    let last = "i = Sub (n0, one) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, last), ["N <= M"]);
    let back = "i = Sub (n0, two) y = Gather <axis = 1> (k, i)";
    assert_eq!(needed(INPUTS, back), [""; 0], "the index -1 of one element is valid");
    let window = "end = Add (n0, two) i = Range (n0, end, one) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, window), ["N + 2 <= M"]);
    let elements =
        "i = Sub (n0, one) j = Reshape (i, axis1) e = Expand (j, p) y = GatherElements <axis = 1> (x, e)";
    let inputs = "float[1, M] x, float[1, N] k, int64[2] p";
    assert_eq!(needed(inputs, elements), [""; 0]);
}

#[test]
fn monotone_functions_keep_both_ends() {
    let range = "r = Range (zero, n0, one)";
    for (function, condition) in [
        ("i = Min (r, two)", "min(N, 3) <= M"),
        ("i = Max (r, two)", "max(3, N) <= M"),
        ("i = Clip (r, one, two)", "max(0, 2 - N) + min(N, 3) <= M"),
        ("i = Div (r, two)", "max(0, (N - 1)//2) + 1 <= M"),
        ("i = Mod (r, two)", "min(N, 2) <= M"),
        ("i = Abs (r)", "N <= M"),
        ("less = Less (r, zero) w = Add (r, m) i = Where (less, w, r)", "N <= M"),
        ("f = Cast <to = 1> (r) g = Floor (f) i = Cast <to = 7> (g)", "N <= M"),
        ("c = ConstantOfShape <value = int64[1] {1}> (n) s = CumSum (c, zero) i = Sub (s, one)", "N <= M"),
        ("c = ConstantOfShape <value = int64[1] {1}> (n) t = NonZero (c) i = Squeeze (t, axis0)", "N <= M"),
        ("f = ReduceMax <keepdims = 0> (r) i = Add (f, two)", "N + 2 <= M"),
        ("i = Slice (r, axis1, n)", "N <= M"),
        ("h, i = Split <num_outputs = 2> (r)", "(N - 1)//2 + N//2 + 1 <= M"),
        ("i = Gather (r, r)", "N <= M"),
        ("i = Tile (r, b)", "N <= M"),
    ] {
        let found = needed(INPUTS, &format!("{range} {function} y = Gather <axis = 1> (x, i)"));
        assert!(found.contains(&condition.to_owned()), "{function}: {found:?}");
    }
}

#[test]
fn a_flat_index_is_taken_apart_exactly() {
    let flat = "q = Range (zero, b0, one) rows = Unsqueeze (q, axis1) first = Mul (rows, n0)
                r = Range (zero, n0, one) i = Add (first, r)";
    assert_eq!(needed(INPUTS, &format!("{flat} j = Mod (i, n0) y = Gather <axis = 1> (x, j)")), ["N <= M"]);
    assert_eq!(needed(INPUTS, &format!("{flat} j = Div (i, n0) y = Gather (x, j)")), [""; 0]);
}

#[test]
fn elements_that_depend_on_one_axis_in_two_ways_are_not_followed() {
    // The greatest element of the sum is unknown: the terms have their greatest values at different
    // positions.
    let sum = "r = Range (zero, n0, one) up = Min (r, two) back = Sub (two, r) i = Add (up, back)
               y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, sum), [""; 0]);
}

#[test]
fn a_condition_holds_where_there_are_no_indices() {
    let empty = "r = Range (two, n0, one) i = Add (r, two) y = Gather <axis = 1> (x, i)";
    assert_eq!(needed(INPUTS, empty), ["N + 2 <= max(4, M)"], "without positions for N <= 2, any M will do");
    let none = "r = Range (two, n0, one) y = Gather <axis = 1> (k, r)";
    assert_eq!(needed(INPUTS, none), [""; 0], "holds wherever there is a position");
}

#[test]
fn an_index_that_is_always_outside_is_an_error() {
    let graph = "g (float[N, 4] x) => (y) <int64 four = {4}, int64 one = {1}> {
        n = Shape <start = 0, end = 1> (x) n0 = Squeeze (n) end = Add (n0, four) r = Range (four, end, one)
        y = Gather <axis = 1> (x, r) }";
    let found = error(21, graph);
    assert!(found.starts_with("ForcedSymbol") && found.contains("values: [0]"), "{found}");
}

#[test]
fn extents_that_depend_on_signs_are_derived() {
    let types = infer(
        21,
        "g (float[2*N, M] x, float[N, M] k, float[16] table) => ()
           <int64 zero = {0}, int64[1] start = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] eight = {8},
            int64[1] sixteen = {16}, int64[1] minus_one = {-1}, int64[1] three = {3}>
         { n = Shape <start = 0, end = 1> (k)
           m = Shape <start = 1, end = 2> (k)
           twice = Mul (n, two)
           odd = Sub (twice, one)
           head = Slice (x, start, odd)
           last = Mod (minus_one, m)
           tail = Slice (x, last, m, one)
           body = Slice (x, start, last, one)
           rolled = Concat <axis = 1> (tail, body)
           first = Sub (eight, n)
           more = Add (n, eight)
           window = Slice (table, first, more)
           less = Less (n, eight)
           least = Where (less, n, eight)
           capped = ConstantOfShape (least)
           is_one = Equal (n, one)
           other = Where (is_one, three, n)
           changed = ConstantOfShape (other)
         }",
    );
    let found = ["head", "tail", "body", "rolled", "capped"].map(|name| types[name].as_str());
    assert_eq!(
        found,
        [
            "float[max(0, 2*N - 1), M]",
            "float[2*N, min(M, 1)]",
            "float[2*N, max(0, M - 1)]",
            "float[2*N, M]",
            "float[min(N, 8)]"
        ]
    );
    assert!(!types["window"].contains('?'), "{}", types["window"]);
    assert!(!types["changed"].contains('?'), "{}", types["changed"]);
}

#[test]
fn a_product_that_can_be_negative_without_elements_is_an_extent() {
    let types = infer(
        21,
        "g (float[4, N, M] x, float[4, 2*N - 1, 2*M - 1] r) => ()
           <int64[1] one = {1}, int64[1] two = {2}, int64[1] rest = {-1}>
         { n = Shape <start = 1, end = 2> (x)
           m = Shape <start = 2, end = 3> (x)
           n2 = Mul (n, two)
           m2 = Mul (m, two)
           p = Sub (n2, one)
           q = Sub (m2, one)
           pq = Mul (p, q)
           t = Transpose <perm = [1, 2, 0]> (r)
           target = Concat <axis = 0> (pq, rest)
           y = Reshape (t, target)
         }",
    );
    assert_eq!(types["y"], "float[4*N*M - 2*N - 2*M + 1, 4]");
}

#[test]
fn positions_of_a_rotary_embedding_are_rows_of_its_cache() {
    let graph = "g (float[1, 2, S, 8] x, float[1, P] past, float[R, 4] c, float[R, 4] s) => (y)
       <int64[1] axis0 = {0}, int64 one = {1}>
     { n = Shape <start = 2, end = 3> (x) p = Shape <start = 1, end = 2> (past) p0 = Squeeze (p) t = Add (p, n)
       t0 = Squeeze (t) r = Range (p0, t0, one) i = Unsqueeze (r, axis0) y = RotaryEmbedding (x, c, s, i) }";
    let found = conditions(23, graph);
    assert!(found.contains(&"S + P <= R".to_owned()), "{found:?}");
}
