//! Optimisers and gradients, domain `ai.onnx.preview.training`.

use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::common::require_single;
use super::{Entry, rule};

const DOMAIN: &str = "ai.onnx.preview.training";

pub(super) const OPERATORS: &[Entry] = &[
    // The inputs are parameters, gradients and one history per parameter; the outputs are parameters and
    // histories. Source: Adagrad, `inputs` and `outputs`.
    Entry::of("Adagrad", &[rule("adagrad.parameters", |cx| optimizer(cx, 1))]).in_domain(DOMAIN),
    // As Adagrad, with two histories per parameter. Source: Adam, `inputs` and `outputs`.
    Entry::of("Adam", &[rule("adam.parameters", |cx| optimizer(cx, 2))]).in_domain(DOMAIN),
    Entry::of("Gradient", &[rule("gradient.variables", gradient)]).in_domain(DOMAIN),
    // As Adagrad. Source: Momentum, `inputs` and `outputs`.
    Entry::of("Momentum", &[rule("momentum.parameters", |cx| optimizer(cx, 1))]).in_domain(DOMAIN),
];

/// The inputs are the learning rate and the step count, which are single numbers, the parameters, their gradients, and `histories` groups
/// of tensors that are updated in each step.
fn optimizer(cx: &mut RuleCx<'_, '_>, histories: usize) -> RuleResult {
    require_single(cx, In(0))?;
    require_single(cx, In(1))?;
    let groups = 2 + histories;
    let given = cx.input_count().saturating_sub(2);
    if !given.is_multiple_of(groups) || cx.output_count() != given / groups * (1 + histories) {
        let message = format!(
            "{} in and {} out do not divide into parameters, gradients and histories",
            counted(given, "tensor"),
            cx.output_count()
        );
        return Err(RuleError::shapes(&[In(2), Out(0)], message));
    }
    let count = given / groups;
    for at in 0..count {
        let parameter = In(2 + at);
        for group in 1..groups {
            let other = In(2 + group * count + at);
            cx.same_type(parameter, other)?;
            cx.same_shape(parameter, other)?;
        }
        for group in 0..=histories {
            let out = Out(group * count + at);
            cx.same_type(parameter, out)?;
            cx.same_shape(parameter, out)?;
        }
    }
    Ok(())
}

/// Each output is the derivative with respect to one of `xs` and has its type. Source: Gradient, `xs` and
/// `Outputs`.
fn gradient(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let count = cx.attr_strings("xs")?.unwrap_or_default().len();
    if cx.output_count() > count || cx.input_count() < count {
        let message = format!(
            "names {}, but there are {} and {}",
            counted(count, "variable"),
            counted(cx.input_count(), "input"),
            counted(cx.output_count(), "output")
        );
        return Err(RuleError::attribute("xs", message));
    }
    for at in 0..cx.output_count() {
        cx.same_type(In(at), Out(at))?;
        cx.same_shape(In(at), Out(at))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::outputs_despite_errors;

    #[test]
    fn the_number_of_steps_is_a_single_number() {
        let text = r#"<ir_version: 10, opset_import: ["": 17, "ai.onnx.preview.training": 1]>
            g (float r, int64[2] t, float[3] x, float[3] dx, float[3] h) => (y, k)
            { y, k = ai.onnx.preview.training.Adagrad (r, t, x, dx, h) }"#;
        assert_eq!(outputs_despite_errors(text).len(), 2);
    }
}
