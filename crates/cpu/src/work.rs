//! Limit of the work of kernels.
//!
//! A few bytes of a model can request hours: a convolution whose window has 2^30 elements, or a transform
//! over 2^20 points for each of them. Kernels therefore compute their work from the shapes, and request it
//! with `spend` before their loops begin. A request above the limit is an error, so no kernel needs to be
//! interrupted.
//!
//! A unit is about a nanosecond of one core: one element of a result, or 16 products of a matrix product of
//! floats. [`Operator::run_in`](crate::ops::Operator::run_in) requests the work of reading all inputs, and
//! the constructors of tensors that of writing the results. A kernel requests work itself if it takes more
//! than time proportional to both.
//!
//! **Invariant:** without a limit every request is granted.
//!
//! **Limit:** work is an estimate. It is right to an order of magnitude, and the same on every machine.

use std::cell::Cell;

use typeloom_types::dtype::Dtype;

use crate::error::KernelErrorKind;

/// Products of floats in a unit, for kernels with vector instructions.
const PRODUCTS: u64 = 16;

/// Work of a call without elements.
pub(crate) const CALL: u64 = 256;

#[derive(Clone, Copy)]
struct Budget {
    limit: u64,
    left: u64,
}

const UNLIMITED: Budget = Budget { limit: u64::MAX, left: u64::MAX };

thread_local! {
    static BUDGET: Cell<Budget> = const { Cell::new(UNLIMITED) };
}

/// Runs a closure with a limit for the work of all kernels that it runs; a nested limit can only lower the
/// current one.
pub fn within<T>(limit: u64, run: impl FnOnce() -> T) -> T {
    struct Restore(Budget);
    impl Drop for Restore {
        fn drop(&mut self) {
            BUDGET.set(self.0);
        }
    }
    let mut restore = Restore(BUDGET.get());
    let inner = if limit < restore.0.left { Budget { limit, left: limit } } else { restore.0 };
    BUDGET.set(inner);
    let result = run();
    if restore.0.limit != u64::MAX {
        restore.0.left -= inner.left - BUDGET.get().left;
    }
    drop(restore);
    result
}

/// Work that is left; `u64::MAX` without a limit.
#[must_use]
pub fn left() -> u64 {
    BUDGET.get().left
}

/// Requests units of work.
#[inline]
pub(crate) fn spend(units: u64) -> Result<(), KernelErrorKind> {
    let Budget { limit, left } = BUDGET.get();
    if limit == u64::MAX {
        return Ok(());
    }
    match left.checked_sub(units) {
        Some(left) => {
            BUDGET.set(Budget { limit, left });
            Ok(())
        }
        None => Err(KernelErrorKind::TooMuchWork { limit }),
    }
}

/// Requests a unit for each combination of indices below these extents.
pub(crate) fn spend_each(extents: &[usize]) -> Result<(), KernelErrorKind> {
    spend(times(extents))
}

/// Requests the work of a product for each combination of indices below these extents. Products of some types
/// have vector instructions.
pub(crate) fn spend_products(dtype: Dtype, extents: &[usize]) -> Result<(), KernelErrorKind> {
    let products = times(extents);
    spend(match dtype {
        Dtype::F32 | Dtype::I8 | Dtype::U8 => products / PRODUCTS,
        _ => products / 2,
    })
}

/// The product of extents, or the greatest number.
pub(crate) fn times(extents: &[usize]) -> u64 {
    if extents.contains(&0) {
        return 0;
    }
    extents.iter().fold(1, |product, extent| product.saturating_mul(*extent as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_counts_across_nested_limits() {
        within(100, || {
            assert!(spend(40).is_ok());
            within(u64::MAX, || assert!(spend(30).is_ok()));
            within(20, || {
                assert!(spend(10).is_ok());
                assert_eq!(spend(11), Err(KernelErrorKind::TooMuchWork { limit: 20 }));
            });
            assert_eq!(left(), 20);
            assert_eq!(spend(21), Err(KernelErrorKind::TooMuchWork { limit: 100 }));
            assert!(spend(20).is_ok());
        });
        assert!(spend(u64::MAX).is_ok());
    }

    #[test]
    fn work_without_elements_is_none_and_too_much_is_the_greatest_number() {
        assert_eq!(times(&[usize::MAX, usize::MAX, 0]), 0);
        assert_eq!(times(&[usize::MAX, 2]), u64::MAX);
        assert_eq!(times(&[2, 3]), 6);
    }
}
