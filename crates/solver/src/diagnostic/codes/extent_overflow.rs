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
