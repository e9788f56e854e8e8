//! Interfaces: digests depend only on properties that callers can observe; verdicts about pairs of models.

use typeloom_interface::bundle::{Exported, export_interfaces, import_interfaces};
use typeloom_interface::{Interface, InterfaceComparison, InterfaceDifference, PortIdentity, compare};
use typeloom_pool::compat::Direction;
use typeloom_pool::{Digest, Pool};
use typeloom_solver::model::Mode;

use crate::support::{graph, model, model_files, solved, universe};

fn of_bytes(bytes: &[u8]) -> Interface {
    Interface::of_checked(&mut solved(bytes, Mode::Strict).expect("the model can be read"))
}

fn of(text: &str) -> Interface {
    of_bytes(&graph(text))
}

fn digest(interface: &Interface) -> Digest {
    let mut pool = Pool::new();
    let ty = interface.to_pool(&mut pool).expect("the interface is portable");
    pool.digest(ty).expect("it has no inference variables")
}

fn signature(text: &str) -> String {
    let mut pool = Pool::new();
    let ty = of(text).to_pool(&mut pool).expect("the interface is portable");
    pool.signature(ty)
}

/// Backward and forward compatibility, and the differences.
fn verdict(old: &str, new: &str) -> (bool, bool, Vec<String>) {
    verdict_of(&of(old), &of(new), PortIdentity::NameAndPosition)
}

fn verdict_of(old: &Interface, new: &Interface, identity: PortIdentity) -> (bool, bool, Vec<String>) {
    let fits = |direction| compare(old, new, direction, identity);
    let shown = |answer: &InterfaceComparison| -> Vec<String> {
        let line =
            |it: &InterfaceDifference| format!("{} {}: {} -> {}", it.change.code(), it.path, it.old, it.new);
        answer.differences.iter().map(line).collect()
    };
    let backward = fits(Direction::Backward);
    let forward = fits(Direction::Forward);
    let full = fits(Direction::Full).is_compatible();
    assert_eq!(full, backward.is_compatible() && forward.is_compatible());
    assert_eq!(full, digest(old) == digest(new) || backward.differences.is_empty());
    (backward.is_compatible(), forward.is_compatible(), shown(&backward))
}

#[test]
fn a_signature_has_symbols_as_variables_and_defaults_as_optional_parameters() {
    assert_eq!(
        signature("g (float[N, 3] x, float[3] b = {1, 2, 3}) => (y) { y = Add(x, b) }"),
        "forall A. (struct inputs { x: Tensor<f32, [A, 3]>, b: default<Tensor<f32, [3]>> }) \
         -> struct outputs { y: Tensor<f32, [A, 3]> }"
    );
    assert_eq!(
        signature("g (float[2, N] x) => (y) { y = NonZero(x) }"),
        "forall A. (struct inputs { x: Tensor<f32, [2, A]> }) -> struct outputs { y: Tensor<i64, [2, ?]> }"
    );
}

#[test]
fn an_initializer_that_an_old_model_lists_as_input_is_no_parameter() {
    let bytes = model(
        "<ir_version: 3, opset_import: [\"\" : 21]>
         g (float[N] x, float[1] b = {1}) => (y) { y = Add(x, b) }",
    );
    assert_eq!(of_bytes(&bytes).inputs.len(), 1);
}

#[test]
fn names_of_symbols_and_of_values_inside_are_no_part_of_the_type() {
    let one = of("g (float[N, M] x) => (y) { h = Relu(x) y = Neg(h) }");
    let other = of("other (float[rows, cols] x) => (y) { k1 = Relu(x) k2 = Abs(k1) y = Neg(k2) }");
    assert_eq!(digest(&one), digest(&other));
    let unnamed = of("g (float[?, ?] x) => (y) { y = Neg(x) }");
    assert_eq!(digest(&one), digest(&unnamed), "the caller also chooses anonymous extents");
    let tied = of("g (float[N, N] x) => (y) { y = Neg(x) }");
    assert_ne!(digest(&one), digest(&tied));
}

#[test]
fn a_symbolic_batch_replaces_a_fixed_one() {
    let fixed = "g (float[1, 3] x) => (y) { y = Relu(x) }";
    let symbolic = "g (float[batch, 3] x) => (y) { y = Relu(x) }";
    assert_eq!(
        verdict(fixed, symbolic),
        (
            true,
            false,
            vec![
                "extent-changed inputs.x.shape[0]: 1 -> batch".to_owned(),
                "extent-changed outputs.y.shape[0]: 1 -> batch".to_owned()
            ]
        )
    );
    let (backward, forward, _) = verdict(symbolic, fixed);
    assert!(!backward && forward);
}

#[test]
fn an_added_input_breaks_callers_unless_it_has_a_default() {
    let old = "g (float[N] x) => (y) { y = Relu(x) }";
    let required = "g (float[N] x, float[1] s) => (y) { y = Mul(x, s) }";
    let optional = "g (float[N] x, float[1] s = {1}) => (y) { y = Mul(x, s) }";
    assert_eq!(verdict(old, required), (false, false, vec!["input-added inputs.s:  -> float[1]".to_owned()]));
    let (backward, forward, _) = verdict(old, optional);
    assert!(backward && !forward);
    assert_eq!(
        verdict(optional, required),
        (false, true, vec!["default-removed inputs.s: optional -> required".to_owned()])
    );
}

#[test]
fn another_element_type_breaks_both_ways() {
    let old = "g (float[N] x) => (y) { y = Relu(x) }";
    let new = "g (float16[N] x) => (y) { y = Relu(x) }";
    let lines = [
        "element-type-changed inputs.x: float[N] -> float16[N]",
        "element-type-changed outputs.y: float[N] -> float16[N]",
    ];
    assert_eq!(verdict(old, new), (false, false, lines.map(str::to_owned).to_vec()));
}

#[test]
fn reordered_outputs_break_callers_that_bind_by_position() {
    let old = "g (float[N] x) => (a, b) { a = Relu(x) b = Neg(x) }";
    let new = "g (float[N] x) => (b, a) { a = Relu(x) b = Neg(x) }";
    let lines = vec!["output-order outputs: a, b -> b, a".to_owned()];
    assert_eq!(verdict(old, new), (false, false, lines));
    let by_name = compare(&of(old), &of(new), Direction::Full, PortIdentity::Name);
    assert!(by_name.is_compatible());
}

#[test]
fn outputs_may_be_added_behind_and_not_removed() {
    let old = "g (float[N] x) => (a) { a = Relu(x) }";
    let new = "g (float[N] x) => (a, b) { a = Relu(x) b = Neg(x) }";
    assert_eq!(verdict(old, new), (true, false, vec!["output-added outputs.b:  -> float[N]".to_owned()]));
    let front = "g (float[N] x) => (b, a) { a = Relu(x) b = Neg(x) }";
    assert!(!verdict(old, front).0, "the position of `a` has changed");
}

#[test]
fn a_renamed_input_is_one_removed_and_one_added() {
    let old = "g (float[N] x) => (y) { y = Relu(x) }";
    let new = "g (float[N] z) => (y) { y = Relu(z) }";
    let lines = ["input-removed inputs.x: float[N] -> ", "input-added inputs.z:  -> float[N]"];
    assert_eq!(verdict(old, new), (false, false, lines.map(str::to_owned).to_vec()));
}

#[test]
fn a_relation_between_symbols_may_be_loosened_and_not_tightened() {
    let apart = "g (float[N, 4] x, float[M, 4] y) => (a, b) { a = Relu(x) b = Relu(y) }";
    let same = "g (float[N, 4] x, float[N, 4] y) => (a, b) { a = Relu(x) b = Relu(y) }";
    let (backward, forward, lines) = verdict(apart, same);
    assert!(!backward && forward);
    let expected = ["extent-changed inputs.y.shape[0]: M -> N", "extent-changed outputs.b.shape[0]: M -> N"];
    assert_eq!(lines, expected);
    let (backward, forward, _) = verdict(same, apart);
    assert!(backward && !forward);
}

#[test]
fn expressions_are_solved_for_symbols() {
    let even = "g (float[2*n] x) => (y) { y = Relu(x) }";
    let any = "g (float[n] x) => (y) { y = Relu(x) }";
    let eight = "g (float[8] x) => (y) { y = Relu(x) }";
    assert!(verdict(even, any).0, "the new model accepts all extents, not only even ones");
    assert!(!verdict(any, even).0, "the new model rejects odd extents");
    assert!(verdict(eight, even).0, "8 is even");
    let area = "g (float[a*b, b + 1] x) => (y) { y = Relu(x) }";
    assert_eq!(verdict(area, area), (true, true, vec![]));
    let joined = "g (float[n, 2] x, float[m, 2] y) => (z) { z = Concat <axis = 0> (x, y) }";
    assert_eq!(verdict(joined, joined), (true, true, vec![]));
}

#[test]
fn an_output_may_become_more_precise_and_not_less() {
    let vague = "g (float[N, M] x) => (float[?, ?] y) { y = Foo(x) }";
    let exact = "g (float[N, M] x) => (y) { y = Relu(x) }";
    let vague =
        Interface::of_checked(&mut solved(&graph(vague), Mode::Permissive).expect("the model can be read"));
    let exact = of(exact);
    assert!(compare(&vague, &exact, Direction::Backward, PortIdentity::default()).is_compatible());
    assert!(!compare(&exact, &vague, Direction::Backward, PortIdentity::default()).is_compatible());
}

#[test]
fn an_extent_that_the_program_chooses_is_known_to_be_the_same_in_two_outputs() {
    let same = "g (float[2, N] x) => (a, b) { a = NonZero(x) b = Neg(a) }";
    let apart = "g (float[2, N] x) => (a, b) { a = NonZero(x) k = Neg(x) b = NonZero(k) }";
    assert!(verdict(apart, same).0);
    assert!(!verdict(same, apart).0);
}

/// The interface of a text after a bundle, and the format version of the bundle.
fn through_a_bundle(text: &str) -> (Interface, u8) {
    let exported = Exported::new("main", of(text)).expect("the interface is portable");
    let bundle = export_interfaces(&[exported]).expect("the interface is portable");
    let back = import_interfaces(bundle.as_bytes()).expect("a bundle").remove(0);
    (back.interface, bundle.as_bytes()[4])
}

#[test]
fn names_of_symbols_come_back_from_a_bundle() {
    // The function type has its result first, so variables are not numbered in the order of the inputs.
    let texts = [
        "g (float[batch, 4, past, 8] key, float[batch, 4, seq, 8] new) => (present) { present = Concat <axis = 2> (key, new) }",
        "g (float[N, M] x) => (y) { y = Transpose (x) }",
        "g (float[?, rows] x) => (y, z) { y = Relu(x) z = Transpose (x) }",
        "g (float[a, b] x, float[c, d] y) => (z) { z = Einsum <equation = \"ij,kl->ikl\"> (x, y) }",
    ];
    for text in texts {
        let (interface, (back, version)) = (of(text), through_a_bundle(text));
        assert_eq!((back.to_string(), version), (interface.to_string(), 3));
        assert_eq!(digest(&back), digest(&interface));
    }
}

#[test]
fn names_that_a_reader_invents_or_a_bundle_cannot_contain_are_left_out() {
    let of_symbol = |symbol: &str| {
        let (back, version) =
            through_a_bundle(&format!("g (float[\"{symbol}\", 3] x) => (y) {{ y = Relu(x) }}"));
        (back.symbols(), version)
    };
    assert_eq!(of_symbol("A"), (vec!["A".to_owned()], 2));
    assert_eq!(of_symbol("B"), (vec!["B".to_owned()], 3));
    assert_eq!(of_symbol(&"n".repeat(256)), (vec!["n".repeat(256)], 3));
    assert_eq!(of_symbol(&"n".repeat(257)), (vec!["A".to_owned()], 2));
    let (back, version) = through_a_bundle("g (float[?, 3] x) => (y) { y = Relu(x) }");
    assert_eq!((back.symbols(), version), (vec!["A".to_owned()], 2));
}

#[test]
fn an_interface_comes_back_from_a_pool_as_it_went_in() {
    let mut seen = 0;
    for path in model_files() {
        let bytes = std::fs::read(&path).expect("a listed file can be read");
        let Ok(mut checked) = solved(&bytes, Mode::Strict) else { continue };
        if !checked.is_ok() {
            continue;
        }
        let interface = Interface::of_checked(&mut checked);
        let mut pool = Pool::new();
        let Ok(ty) = interface.to_pool(&mut pool) else { continue };
        let back = Interface::from_pool(&pool, ty, universe()).expect("a written interface can be read");
        assert_eq!(back.to_pool(&mut pool), Ok(ty), "{}", path.display());
        let (named, names) = interface.to_pool_named(&mut pool).expect("it was encoded before");
        assert_eq!(named, ty, "{}", path.display());
        let back = Interface::from_pool_named(&pool, ty, &names, universe())
            .expect("a written interface can be read");
        assert_eq!(back.to_pool_named(&mut pool), Ok((ty, names)), "{}", path.display());
        let answer = compare(&interface, &back, Direction::Full, PortIdentity::default());
        assert!(answer.differences.is_empty(), "{}: {:?}", path.display(), answer.differences);
        seen += 1;
    }
    assert!(seen > 0, "some model has an interface");
}
