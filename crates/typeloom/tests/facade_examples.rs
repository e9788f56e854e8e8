//! Runs the examples of the facade's tasks and compares what they print. They use the facade only.

#[path = "../examples/check_and_print.rs"]
mod check_and_print;
#[path = "../examples/custom_types.rs"]
mod custom_types;
#[path = "../examples/interface_diff.rs"]
mod interface_diff;
#[path = "../examples/own_family.rs"]
mod own_family;
#[path = "../examples/pool_bundle.rs"]
mod pool_bundle;
#[path = "../examples/run_model.rs"]
mod run_model;
#[path = "../examples/subtyping.rs"]
mod subtyping;
#[path = "../examples/two_slots.rs"]
mod two_slots;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn a_check_prints_values_problems_and_a_fixed_model() -> Outcome {
    check_and_print::main()?;
    let expected = [
        "query: float[N, 4] from input",
        "weights: float[4, 8] from input",
        "mask: int64[8] from input",
        "hidden: float[N, 8] from MatMul",
        "y: error from Add",
        "error[element-type-mismatch]: `Add` needs one element type, but `hidden` is float and `mask` is int64",
        " --> scores.onnx: node #1 (`Add`)",
        "  |",
        "1 | y = Add(hidden, mask)",
        "  |         ------  ^^^^ int64, from graph input `mask`",
        "  |         |",
        "  |         float, because `MatMul` (#0) takes it from graph input `query`",
        "  = note: rule add.element (opset 14)",
        "  = help: insert Cast(mask, to=float) before this node",
        "after the fix: y: float[N, 8]",
    ];
    assert_eq!(check_and_print::walk()?.lines().collect::<Vec<_>>(), expected);
    Ok(())
}

#[test]
fn the_page_for_beginners_shows_an_example_and_its_output() -> Outcome {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/docs/start/rust.md"))?;
    let source = std::fs::read_to_string(format!("{root}/crates/typeloom/examples/check_and_print.rs"))?;
    for (language, text) in [("rust", source), ("text", check_and_print::walk()?)] {
        assert!(
            page.contains(&format!("\n```{language}\n{text}```\n")),
            "docs/start/rust.md differs from\n{text}"
        );
    }
    Ok(())
}

#[test]
fn a_rule_in_rust_computes_symbolic_dims_and_an_operator_returns_a_custom_leaf() -> Outcome {
    custom_types::main()?;
    let expected = [
        "x: float[N, 4*S]",
        "folded: float[N, S, 4]",
        "y: posit[N, S, 4]",
        "the leaf of y is registered: true",
    ];
    assert_eq!(custom_types::walk()?, expected);
    Ok(())
}

#[test]
fn a_module_runs_with_the_components_of_two_slots() -> Outcome {
    two_slots::main()?;
    let expected = ["ids: u64[1] [8]", "distances: f32[1] [2.0]"];
    assert_eq!(two_slots::walk()?, expected);
    Ok(())
}

#[test]
fn a_bundle_transfers_a_type_to_another_pool() -> Outcome {
    pool_bundle::main()?;
    let expected = [
        "struct scores { names: list<str>, best: option<int> }",
        "same digest: true",
        "compatible: false",
        "best.element: `int` -> `float` (incompatible)",
    ];
    assert_eq!(pool_bundle::walk()?, expected);
    Ok(())
}

#[test]
fn subtyping_includes_lifetimes() -> Outcome {
    subtyping::main()?;
    let expected = [
        "&'static str <: &'a str",
        "&'a str is no subtype of &'static str: `'a` is not known to outlive `'static`",
        "fn(&'a str) <: fn(&'static str)",
        "&'a mut &'static str is no subtype of &'a mut &'b str: `'b` is not known to outlive `'static`",
        "for<'x> fn(&'x u8) -> &'x u8 <: fn(&'a u8) -> &'a u8",
        "[u8; 4] is no subtype of [u8; 5]: `4` is not `5`",
    ];
    assert_eq!(subtyping::walk()?, expected);
    Ok(())
}

#[test]
fn a_family_outside_of_the_library_stores_types_and_goals_and_supplies_impls() -> Outcome {
    use typeloom::term::goals::Answer::{Ambiguous, Fails, Holds};

    own_family::main()?;
    let expected = [
        ("Vec<Vec<u8>>", Holds, Fails),
        ("Vec<str>", Fails, Holds),
        ("T", Fails, Fails),
        ("Vec<?0>", Ambiguous, Ambiguous),
    ];
    assert_eq!(own_family::walk()?, expected);
    Ok(())
}

#[test]
fn interfaces_are_compared_in_both_directions() -> Outcome {
    interface_diff::main()?;
    let expected = [
        "old: (x: float[N, 3]) -> (y: float[N, 3])",
        "new: (x: float[N, M], bias: float[M]) -> (y: float[N, M])",
        "backward compatible: false",
        "  harmless: inputs.x.shape[1] extent-changed",
        "  breaking: inputs.bias input-added",
        "  harmless: outputs.y.shape[1] extent-changed",
        "forward compatible: false",
        "  breaking: inputs.x.shape[1] extent-changed",
        "  breaking: inputs.bias input-added",
        "  breaking: outputs.y.shape[1] extent-changed",
    ];
    assert_eq!(interface_diff::walk()?, expected);
    Ok(())
}

#[test]
fn a_session_runs_for_several_sizes() -> Outcome {
    run_model::main()?;
    let expected = [
        "x: float[N, 2]",
        "w: float[2, M]",
        "M = 2, N = 1: y = [0.5, 0.5]",
        "M = 2, N = 2: y = [0.5, 0.5, 0.5, 0.5]",
    ];
    assert_eq!(run_model::walk()?, expected);
    Ok(())
}
