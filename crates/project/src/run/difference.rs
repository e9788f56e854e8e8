//! Differences between two results of one output.
//!
//! The absolute difference of two numbers is |a - b|, the relative one |a - b| / max(|a|, |b|). Two numbers
//! are within a tolerance t if |a - b| <= t * max(1, |a|, |b|): absolutely for small numbers, relatively for
//! large ones. Two values that are not a number are equal.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::plural::counted;

use super::cast;
use super::precision::narrower;

/// The smallest default tolerance of floats.
const MIN_TOLERANCE: f64 = 1e-4;

/// The default tolerance of floats, in steps of their element type at 1.
const STEPS: f64 = 8.0;

/// The differences of all elements of an output.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Difference {
    pub absolute: f64,
    pub relative: f64,
    pub elements: usize,
    /// The number of elements that are not equal.
    pub differing: usize,
    /// The number of elements whose difference exceeds the tolerance.
    pub beyond: usize,
    /// The largest tolerance that was applied.
    pub tolerance: f64,
    /// The float type that the tolerance follows from; `None` if the caller gives it, and for other types.
    pub narrowest: Option<Dtype>,
}

/// The result of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Comparison {
    Numbers(Difference),
    /// Values of different types or lengths, as a message.
    Unlike(String),
}

impl Comparison {
    /// Whether the outputs are equal up to the tolerance.
    pub fn is_close(&self) -> bool {
        match self {
            Self::Numbers(difference) => difference.beyond == 0,
            Self::Unlike(_) => false,
        }
    }
}

/// The facts that decide the tolerance of an output.
#[derive(Clone, Copy, Default, Debug)]
pub struct Precision {
    /// The tolerance that the caller gives.
    pub given: Option<f64>,
    /// The narrowest float type that the output is computed from.
    pub narrowest: Option<Dtype>,
}

/// The distance of 1 and the next number of a float type; the largest of them for floats of 8 bits or less.
pub fn step(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => f64::EPSILON,
        Dtype::F32 => f64::from(f32::EPSILON),
        Dtype::F16 => f64::from(2.0_f32.powi(-10)),
        Dtype::BF16 => f64::from(2.0_f32.powi(-7)),
        _ => 0.125,
    }
}

/// The tolerance of an element type, and the float type that it follows from.
fn tolerance(dtype: Dtype, precision: Precision) -> (f64, Option<Dtype>) {
    let Precision { given, narrowest } = precision;
    match (dtype.class(), given) {
        (DtypeClass::Float, None) => {
            let narrowest = narrower(narrowest, Some(dtype));
            (MIN_TOLERANCE.max(STEPS * narrowest.map_or(0.0, step)), narrowest)
        }
        (DtypeClass::SignedInt | DtypeClass::UnsignedInt, None) => (0.0, None),
        (DtypeClass::Float | DtypeClass::SignedInt | DtypeClass::UnsignedInt, Some(given)) => (given, None),
        (DtypeClass::Bool | DtypeClass::Complex | DtypeClass::String, _) => (0.0, None),
    }
}

/// Compares an output with the reference.
pub fn compare(own: &Datum, reference: &Datum, precision: Precision) -> Comparison {
    let mut total = Difference::default();
    let mut pending = vec![(own, reference)];
    while let Some((own, reference)) = pending.pop() {
        match (own, reference) {
            (Datum::Tensor(a), Datum::Tensor(b)) if a.dtype() == b.dtype() && a.shape() == b.shape() => {
                if !tensors(a, b, tolerance(a.dtype(), precision), &mut total) {
                    return Comparison::Unlike(format!("{} is not compared", own.describe()));
                }
            }
            (Datum::Sequence(a), Datum::Sequence(b)) if a.len() == b.len() => pending.extend(a.iter().zip(b)),
            (Datum::Map(a), Datum::Map(b)) if a.types() == b.types() && a.keys() == b.keys() => {
                if !tensors(a.values(), b.values(), tolerance(a.values().dtype(), precision), &mut total) {
                    return Comparison::Unlike(format!("{} is not compared", own.describe()));
                }
            }
            (Datum::Map(a), Datum::Map(b)) if a.types() == b.types() => {
                return Comparison::Unlike("the keys of a map differ".to_owned());
            }
            (Datum::Optional(None), Datum::Optional(None)) => {}
            (Datum::Optional(Some(a)), Datum::Optional(Some(b))) => pending.push((a, b)),
            // An optional with a value and the value are not distinguished by all interfaces of engines.
            (Datum::Optional(Some(a)), b) | (b, Datum::Optional(Some(a)))
                if !matches!(b, Datum::Optional(_)) =>
            {
                pending.push((a, b));
            }
            (own, reference) => {
                return Comparison::Unlike(format!(
                    "{} here, {} in the reference",
                    own.describe(),
                    reference.describe()
                ));
            }
        }
    }
    Comparison::Numbers(total)
}

/// Adds the differences of two tensors of one type and shape; `false` if their elements cannot be compared.
fn tensors(
    a: &AnyTensor,
    b: &AnyTensor,
    (tolerance, narrowest): (f64, Option<Dtype>),
    total: &mut Difference,
) -> bool {
    total.elements += a.len();
    if tolerance >= total.tolerance {
        (total.tolerance, total.narrowest) = (tolerance, narrowest);
    }
    if let (Ok(a), Ok(b)) = (a.strings(), b.strings()) {
        let differing = a.zip(b).filter(|(a, b)| a != b).count();
        total.differing += differing;
        total.beyond += differing;
        return true;
    }
    if a.bytes() == b.bytes() {
        return true;
    }
    // A float does not contain every integer of 64 bits.
    if let (Ok(a), Ok(b)) = (a.as_slice::<i64>(), b.as_slice::<i64>()) {
        a.iter().zip(b).for_each(|(a, b)| total.add_integers(i128::from(*a), i128::from(*b), tolerance));
        return true;
    }
    if let (Ok(a), Ok(b)) = (a.as_slice::<u64>(), b.as_slice::<u64>()) {
        a.iter().zip(b).for_each(|(a, b)| total.add_integers(i128::from(*a), i128::from(*b), tolerance));
        return true;
    }
    let numbers = |tensor: &AnyTensor| cast(tensor, Dtype::F64).ok()?.to_vec::<f64>().ok();
    if a.dtype().class() == DtypeClass::Complex {
        return false;
    }
    let (Some(a), Some(b)) = (numbers(a), numbers(b)) else { return false };
    a.into_iter().zip(b).for_each(|(a, b)| total.add(a, b, tolerance));
    true
}

impl Difference {
    fn add_integers(&mut self, a: i128, b: i128, tolerance: f64) {
        self.add_distance((a - b).unsigned_abs() as f64, a as f64, b as f64, tolerance);
    }

    fn add(&mut self, a: f64, b: f64, tolerance: f64) {
        let distance = match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (false, false) if a == b => 0.0,
            (false, false) => (a - b).abs(),
            _ => f64::INFINITY,
        };
        self.add_distance(distance, a, b, tolerance);
    }

    fn add_distance(&mut self, distance: f64, a: f64, b: f64, tolerance: f64) {
        if distance == 0.0 {
            return;
        }
        let size = a.abs().max(b.abs());
        self.differing += 1;
        self.absolute = self.absolute.max(distance);
        self.relative = self.relative.max(if size.is_finite() { distance / size } else { f64::INFINITY });
        if distance.is_infinite() || distance > tolerance * size.max(1.0) {
            self.beyond += 1;
        }
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Difference { absolute, relative, elements, differing, beyond, tolerance, narrowest } = match self
        {
            Self::Numbers(difference) => difference,
            Self::Unlike(message) => return f.write_str(message),
        };
        if *differing == 0 {
            return f.write_str("equal");
        }
        if *absolute > 0.0 {
            write!(f, "absolute {absolute:.1e}, relative {relative:.1e}, ")?;
        }
        match beyond {
            0 => write!(f, "within the tolerance of {tolerance:.1e}")?,
            beyond => {
                let verb = if *beyond == 1 { "exceeds" } else { "exceed" };
                let all = counted(*elements, "element");
                write!(f, "{beyond} of {all} {verb} the tolerance of {tolerance:.1e}")?;
            }
        }
        match narrowest {
            Some(narrowest) => write!(f, " for {}", narrowest.onnx_name()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(numbers: &[f32]) -> Datum {
        Datum::Tensor(AnyTensor::from_slice(&[numbers.len()], numbers).unwrap())
    }

    fn precision(given: Option<f64>) -> Precision {
        Precision { given, narrowest: None }
    }

    fn difference(a: &Datum, b: &Datum, given: Option<f64>) -> Difference {
        match compare(a, b, precision(given)) {
            Comparison::Numbers(difference) => difference,
            Comparison::Unlike(message) => panic!("{message}"),
        }
    }

    #[test]
    fn the_largest_differences_are_found_and_the_tolerance_is_relative_above_one() {
        let (a, b) = (floats(&[1000.0, 0.25, 3.0]), floats(&[1000.5, 0.5, 3.0]));
        let found = difference(&a, &b, Some(0.001));
        assert_eq!((found.absolute, found.relative, found.elements), (0.5, 0.5, 3));
        assert_eq!((found.differing, found.beyond), (2, 1));
        assert!(compare(&a, &b, precision(Some(0.25))).is_close());
        assert!(!compare(&a, &b, precision(None)).is_close());
    }

    #[test]
    fn values_that_are_no_numbers_are_equal_to_each_other_only() {
        let odd = floats(&[f32::NAN, f32::INFINITY, 1.0]);
        assert_eq!(difference(&odd, &odd, None).differing, 0);
        let found = difference(&odd, &floats(&[0.0, f32::INFINITY, 1.0]), Some(1e30));
        assert_eq!((found.differing, found.beyond), (1, 1));
        let found = difference(&odd, &floats(&[f32::NAN, 1.0, f32::NAN]), Some(1e30));
        assert_eq!((found.differing, found.beyond), (2, 2));
    }

    #[test]
    fn integers_of_64_bits_are_compared_exactly() {
        let of = |number: i64| Datum::Tensor(AnyTensor::from_scalar(number));
        assert_eq!(difference(&of(i64::MAX), &of(i64::MAX - 1), None).absolute, 1.0);
        assert_eq!(difference(&of(i64::MAX), &of(i64::MIN), None).beyond, 1);
    }

    #[test]
    fn containers_are_compared_element_by_element_and_types_have_to_agree() {
        let (one, two) = (floats(&[1.0]), floats(&[2.0]));
        let of = |items: &[&Datum]| Datum::Sequence(items.iter().copied().cloned().collect());
        assert_eq!(difference(&of(&[&one, &two]), &of(&[&one, &one]), None).beyond, 1);
        let some = Datum::Optional(Some(Box::new(one.clone())));
        assert!(compare(&some, &one, precision(None)).is_close());
        for (a, b) in [
            (&one, &floats(&[1.0, 1.0])),
            (&one, &Datum::Tensor(AnyTensor::from_slice(&[1], &[1.0_f64]).unwrap())),
            (&of(&[&one]), &of(&[])),
            (&some, &Datum::Optional(None)),
        ] {
            let found = compare(a, b, precision(Some(1e9)));
            assert!(matches!(&found, Comparison::Unlike(_)) && !found.is_close(), "{found:?}");
        }
    }

    #[test]
    fn a_result_of_narrower_floats_has_their_tolerance() {
        let (a, b) = (floats(&[1.0]), floats(&[1.001]));
        let halves = Precision { given: None, narrowest: Some(Dtype::F16) };
        assert!(!compare(&a, &b, Precision::default()).is_close());
        assert!(compare(&a, &b, halves).is_close());
        assert!(!compare(&a, &b, Precision { given: Some(1e-6), ..halves }).is_close());
        let text = compare(&a, &b, halves).to_string();
        assert!(text.ends_with("within the tolerance of 7.8e-3 for float16"), "{text}");
        let text = compare(&a, &b, Precision { given: None, narrowest: Some(Dtype::F64) }).to_string();
        assert!(text.ends_with("1 of 1 element exceeds the tolerance of 1.0e-4 for float"), "{text}");
    }

    #[test]
    fn texts_are_equal_or_not() {
        let of = |text: &str| Datum::Tensor(AnyTensor::from_strings(&[1], &[text]).unwrap());
        assert!(compare(&of("a"), &of("a"), Precision::default()).is_close());
        assert_eq!(
            compare(&of("a"), &of("b"), precision(Some(1.0))).to_string(),
            "1 of 1 element exceeds the tolerance of 0.0e0"
        );
    }
}
