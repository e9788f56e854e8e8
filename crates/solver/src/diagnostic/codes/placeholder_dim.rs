//! Diagnostic code `placeholder-dim`.

use crate::diagnostic::{Code, Diagnostic, Fix, Safety, Scope, declaration, quote};
use crate::program::ValueId;
use crate::solve_error::ErrorSite;

super::code!("placeholder-dim", Warning, "a dim is named by a mark for an unknown extent");

impl Scope<'_, '_> {
    /// Dims are named by a mark for an unknown extent.
    pub(crate) fn placeholder_dim(
        &mut self,
        site: ErrorSite,
        value: ValueId,
        axis: usize,
        mark: &str,
        others: usize,
    ) -> Diagnostic {
        let mark = quote(mark);
        let mut message =
            format!("axis {axis} of {} is named {mark}, which is not a name", self.value_text(value));
        if others > 0 {
            let noun = if others == 1 { "axis" } else { "axes" };
            message.push_str(&format!(" (and {others} more {noun})"));
        }
        let text = self.declared_text(value).unwrap_or_default();
        let label = format!("axis {axis} is treated as unknown");
        let snippet = declaration(&text, self.body().value_name(value), label, true);
        Diagnostic::new(Code::PlaceholderDim, message, self.location(site))
            .with_snippets([snippet])
            .with_help(
                "give each axis a name such as `batch`; `typeloom fix` gives each input axis a distinct name",
            )
            .with_fix(Fix::RenameDims, Safety::Safe)
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn a_question_mark_is_no_name_of_a_dim() {
        let model = r#"g (float["?"] x) => (y) { y = Neg(x) }"#;
        let expected =
            ["warning[placeholder-dim]: axis 0 of graph input `x` is named `?`, which is not a name"];
        assert_eq!(reports(model), expected);
    }
}
