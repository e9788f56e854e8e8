//! Diagnostic code `wrong-rank`.

use typeloom_types::plural::counted;

use crate::diagnostic::{Code, Diagnostic, Fix, Safety, Scope, clip};
use crate::elem::Elem;
use crate::program::StepId;
use crate::rule::Port;

super::code!("wrong-rank", Error, "a tensor has the wrong number of axes");

/// A range of numbers of axes: `2 axes`, `1 to 3 axes`, `at least 1 axis`.
pub(crate) fn axes_text(least: usize, most: Option<usize>) -> String {
    let axes = |count: usize| counted(count, "axis");
    match most {
        Some(most) if least == most => axes(least),
        Some(most) if least == 0 => format!("at most {}", axes(most)),
        Some(most) => format!("{least} to {}", axes(most)),
        None => format!("at least {}", axes(least)),
    }
}

impl Scope<'_, '_> {
    /// A port has the wrong number of axes.
    pub(crate) fn wrong_rank(
        &mut self,
        step: StepId,
        port: Port,
        (found, least, most): (usize, usize, Option<usize>),
    ) -> Diagnostic {
        let expected = axes_text(least, most);
        let ty = self.port_type(step, port);
        let shown = self.show(&ty);
        let (op, name) = (self.op_text(step), self.port_text(step, port));
        let message = format!("{op} needs {expected}, but {name} has {found}: {shown}");
        let mark = self.mark(step, port, &shown, true);
        let diagnostic = self.node_diagnostic(Code::WrongRank, step, message, &[mark]);
        let (Port::In(input), Some(value), (0, 1)) = (port, self.value(step, port), (found, least)) else {
            return diagnostic;
        };
        let value = self.body().value_name(value).to_owned();
        let help = format!("insert Unsqueeze({}, axes=[0]) before this node", clip(&value, 64));
        // An integer without axes where a list is needed is a part of a shape.
        let is_integer = ty.tensor().is_some_and(|tensor| {
            tensor.elem.single().is_some_and(|elem| [Elem::INT32, Elem::INT64].contains(&elem))
        });
        let safety = if is_integer { Safety::Safe } else { Safety::Unsafe };
        diagnostic.with_help(help).with_fix(Fix::UnsqueezeInput { input, value }, safety)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_convolution_needs_spatial_axes() {
        let model = "g (float[3] x, float[1, 1, 3] w) => (y) { y = Conv(x, w) }";
        let expected = ["error[wrong-rank]: `Conv` needs at least 3 axes, but `x` has 1: float[3]"];
        assert_eq!(reports(model), expected);
    }
}
