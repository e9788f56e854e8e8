//! Diagnostic code `extent-overflow`.

use crate::diagnostic::{Code, Diagnostic, Scope};
use crate::program::ValueId;
use crate::solve_error::ErrorSite;

super::code!("extent-overflow", Error, "a tensor has more elements than 64 bits can count");

impl Scope<'_, '_> {
    /// A tensor has more elements than 64 bits can count.
    pub(crate) fn extent_overflow(&mut self, site: ErrorSite, value: ValueId) -> Diagnostic {
        let subject = self.value_text(value);
        let ty = self.type_of(value);
        let ty = self.show(&ty);
        let message = format!("{subject} is {ty}, which is more elements than 64 bits can count");
        Diagnostic::new(Code::ExtentOverflow, message, self.location(site))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::tests::reports;

    #[test]
    fn more_elements_than_a_64_bit_number_counts_are_reported() {
        let model = "g (float[9223372036854775807, 2] x) => (y) { y = Neg(x) }";
        let expected = [
            "error[extent-overflow]: graph input `x` is float[9223372036854775807, 2], which is more elements than 64 bits can count",
        ];
        assert_eq!(reports(model), expected);
    }
}
