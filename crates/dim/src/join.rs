//! Conditions in one symbol as few conditions: `h//4 = 2*(h//8)`, `h//2 = 2*(h//4)` and `h = 2*(h//2)` are
//! `h is divisible by 8`.

use crate::arena::Dims;
use crate::condition::{Condition, Goal};
use crate::domain::Domain;
use crate::examine::Verdict;
use crate::id::DimId;

impl Dims {
    /// Conditions whose conjunction is equivalent to that of some conditions in one symbol; `None` if these
    /// are not simpler, or if few values remain.
    pub fn joined(
        &mut self,
        conditions: &[Condition],
        symbol: DimId,
        domain: &Domain,
    ) -> Option<Vec<Condition>> {
        let mut all: Vec<Vec<Goal>> = Vec::with_capacity(conditions.len());
        for condition in conditions {
            all.push(self.alternatives(*condition)?);
        }
        let flat = all.concat();
        let pivot = self.pivot(&flat, domain).filter(|pivot| pivot.factors[..] == [symbol])?;
        let period = self.common_period(&flat)?;
        let mut both = self.solutions(&[Goal::Zero(DimId::ZERO)], &pivot, period)?;
        for goals in all {
            both = both.intersect(&self.solutions(&goals, &pivot, period)?);
        }
        match self.described(&both, symbol)? {
            Verdict::Restricted { conditions: joined } if joined.len() < conditions.len() => Some(joined),
            Verdict::Restricted { .. }
            | Verdict::Always
            | Verdict::Never
            | Verdict::Only { .. }
            | Verdict::Equals { .. }
            | Verdict::Undecided => None,
        }
    }
}
