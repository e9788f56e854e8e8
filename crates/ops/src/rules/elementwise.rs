//! Element-wise operators with the broadcasting rules of their version.
//!
//! The signature determines the element types. The rules compute the shape and, because exporters compute
//! shapes with these operators, the values of small integer tensors.

use smallvec::SmallVec;
use typeloom_solver::elem::Elem;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{ExtentRelation, Port, Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::dtype::DtypeClass;
use typeloom_types::plural::counted;

use super::common::require_one_element;
use super::{Entry, rule};

mod fold;
mod fraction;

use fold::{
    ABS, ADD, AND, CEIL, CLIP, COPY, DIV, EQUAL, GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL, MAX, MIN,
};
use fold::{MOD, MUL, NEG, NOT, OR, POW, SUB, SUM, WHERE, XOR};

/// The output and the first input have the same shape. Shapes are inferred in both directions.
pub(super) const SAME_SHAPE: Rule = Rule { name: "elementwise.shape", run: same_shape };

/// The output has the broadcast shape of all inputs. Source: "Broadcasting in ONNX", multidirectional
/// broadcasting.
pub(super) const BROADCAST: Rule = Rule { name: "broadcast.shape", run: broadcast };

/// The second input broadcasts to the first, and the output has the shape of the first. Source: "Broadcasting
/// in ONNX", unidirectional broadcasting.
pub(super) const BROADCAST_TO_FIRST: Rule = Rule { name: "broadcast.to_first", run: broadcast_to_first };

/// Broadcasting before version 7: only with the attribute `broadcast`, starting at `axis`. Source: Add
/// version 6, `axis` and `broadcast`.
const BROADCAST_AT_AXIS: Rule = Rule { name: "broadcast.at_axis", run: broadcast_at_axis };

/// The rules of unary operators whose values are not tracked.
const UNARY: &[Rule] = &[SAME_SHAPE];

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Abs", &[SAME_SHAPE, ABS]),
    Entry::of(
        "Acos Acosh Asin Asinh Atan Atanh BitwiseNot Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid \
         HardSwish IsInf IsNaN LeakyRelu Log Mish Reciprocal Selu Shrink Sigmoid Sign Sin Sinh \
         Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu",
        UNARY,
    ),
    Entry::of("Add And Div Equal Greater Less Mul Or Pow Sub Xor", &[BROADCAST_AT_AXIS]).until(7),
    Entry::of("Add", &[BROADCAST, ADD]).since(7),
    Entry::of("And", &[BROADCAST, AND]).since(7),
    Entry::of("BitShift BitwiseAnd BitwiseOr BitwiseXor", &[BROADCAST]),
    Entry::of("Ceil", &[SAME_SHAPE, CEIL]),
    Entry::of("Clip", UNARY).until(11),
    Entry::of("Clip", &[SAME_SHAPE, rule("clip.bounds", clip_bounds), CLIP]).since(11),
    Entry::of("Div", &[BROADCAST, DIV]).since(7),
    Entry::of("Equal", &[BROADCAST, EQUAL]).since(7),
    Entry::of("Floor", &[SAME_SHAPE, fold::FLOOR]),
    Entry::of("Greater", &[BROADCAST, GREATER]).since(7),
    Entry::of("GreaterOrEqual", &[BROADCAST, GREATER_OR_EQUAL]),
    Entry::of("Identity", &[SAME_SHAPE, COPY]),
    Entry::of("Less", &[BROADCAST, LESS]).since(7),
    Entry::of("LessOrEqual", &[BROADCAST, LESS_OR_EQUAL]),
    Entry::of("Max Mean Min Sum", &[rule("elementwise.all", all_same_shape)]).until(8),
    Entry::of("Max", &[BROADCAST, MAX]).since(8),
    Entry::of("Mean", &[BROADCAST]).since(8),
    Entry::of("Min", &[BROADCAST, MIN]).since(8),
    Entry::of("Mod", &[BROADCAST, rule("mod.fmod", fmod), MOD]).until(28),
    Entry::of("Mod", &[BROADCAST, MOD]).since(28),
    Entry::of("Mul", &[BROADCAST, MUL]).since(7),
    Entry::of("Neg", &[SAME_SHAPE, NEG]),
    Entry::of("Not", &[SAME_SHAPE, NOT]),
    Entry::of("Or", &[BROADCAST, OR]).since(7),
    Entry::of("PRelu", UNARY).until(7),
    Entry::of("PRelu", &[BROADCAST_TO_FIRST]).since(7),
    Entry::of("Pow", &[BROADCAST, POW]).since(7),
    Entry::of("Relu", &[SAME_SHAPE, fold::RELU]),
    Entry::of("Round", &[SAME_SHAPE, fold::ROUND]),
    Entry::of("Sub", &[BROADCAST, SUB]).since(7),
    Entry::of("Sum", &[BROADCAST, SUM]).since(8),
    Entry::of("Where", &[BROADCAST, WHERE]),
    Entry::of("Xor", &[BROADCAST, XOR]).since(7),
];

fn same_shape(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(0), Out(0))
}

fn broadcast(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let inputs: SmallVec<[Port; 4]> = (0..cx.input_count()).map(In).filter(|port| cx.has(*port)).collect();
    if let [first, rest @ ..] = &inputs[..]
        && rest.iter().all(|other| cx.shares_shape(*first, *other))
    {
        return cx.same_shape(*first, Out(0));
    }
    match cx.broadcast(&inputs)? {
        Some(shape) => cx.set_shape(Out(0), &shape),
        None => Ok(()),
    }
}

/// The remainder of floats has the sign of the dividend, which `fmod` requests. Source: Mod-10 and Mod-13,
/// `fmod`; version 28 also defines the remainder with the sign of the divisor.
fn fmod(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let dtype = cx.elem(In(0)).and_then(Elem::dtype);
    let is_float = dtype.is_some_and(|dtype| dtype.class() == DtypeClass::Float);
    match cx.attr_int("fmod")?.unwrap_or(0) {
        0 if is_float => Err(RuleError::attribute("fmod", "must be 1 for floating-point inputs")),
        _ => Ok(()),
    }
}

fn broadcast_to_first(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(0), Out(0))?;
    let (Some(wide), Some(narrow)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    let Some(missing) = wide.len().checked_sub(narrow.len()) else {
        return Err(cx.wrong_rank(In(1), ..=wide.len()));
    };
    for (axis, dim) in narrow.iter().enumerate() {
        let target = (In(0), missing + axis, wide[missing + axis]);
        let relation = ExtentRelation::of_broadcast("must match, as only the second input is broadcast");
        cx.require_one_or_equal((In(1), axis, *dim), target, relation)?;
    }
    Ok(())
}

fn broadcast_at_axis(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if !cx.attr_flag("broadcast")? {
        // The specification requires equal shapes here; runtimes and the reference broadcast nevertheless.
        return broadcast_to_first(cx);
    }
    cx.same_shape(In(0), Out(0))?;
    let (Some(wide), Some(narrow)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    if narrow.len() > wide.len() {
        return Err(cx.wrong_rank(In(1), ..=wide.len()));
    }
    let start = match cx.attr_int("axis")? {
        Some(axis) => cx.axis("axis", axis, wide.len().max(1))?,
        None => wide.len() - narrow.len(),
    };
    if start + narrow.len() > wide.len() {
        let message =
            format!("is {start}, which leaves {} for {}", counted(wide.len() - start, "axis"), narrow.len());
        return Err(RuleError::attribute("axis", message));
    }
    for (axis, dim) in narrow.iter().enumerate() {
        if cx.const_dim(*dim) != Some(1) {
            let target = (In(0), start + axis, wide[start + axis]);
            cx.require_equal(target, (In(1), axis, *dim), ExtentRelation::BROADCAST)?;
        }
    }
    Ok(())
}

/// All inputs and the output have the same shape. Source: Sum version 6.
fn all_same_shape(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    (0..cx.input_count()).try_for_each(|at| cx.same_shape(In(at), Out(0)))
}

/// The bounds of Clip are single numbers. Source: Clip version 11, `min` and `max`.
fn clip_bounds(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    for bound in [In(1), In(2)] {
        // Exporters write a tensor of one element instead of a scalar, and runtimes accept it.
        require_one_element(cx, bound, "a bound must be a single number")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    #[test]
    fn the_remainder_of_floats_is_requested() {
        let graph = |ty: &str, attributes: &str| {
            format!("g ({ty}[N] a, {ty}[N] b) => (y) {{ y = Mod {attributes} (a, b) }}")
        };
        assert_eq!(infer_y(21, &graph("int64", "")), "int64[N]");
        assert_eq!(infer_y(21, &graph("float16", "<fmod = 1>")), "float16[N]");
        let message = "mod.fmod: fmod must be 1 for floating-point inputs";
        assert_eq!(error(21, &graph("float", "")), message);
        assert_eq!(error(10, &graph("double", "<fmod = 0>")), message);
        assert_eq!(infer_y(28, &graph("float", "")), "float[N]");
    }

    #[test]
    fn only_the_slope_is_broadcast() {
        let graph = |slope: &str| format!("g (float[N, 3] x, {slope} s) => (y) {{ y = PRelu (x, s) }}");
        assert_eq!(conditions(21, &graph("float[1, 3]")), [""; 0]);
        assert_eq!(conditions(21, &graph("float[4, 3]")), ["N = 4"]);
        assert!(error(21, &graph("float[2]")).starts_with("broadcast.to_first"));
    }
}
