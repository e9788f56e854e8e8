//! Questions about extents whose answer can depend on symbols.

use typeloom_dim::{DimId, Dims};

/// The answer to a question about extents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Truth {
    Yes,
    No,
    /// It depends on symbols: the conditions under which the answer is yes or no.
    Open {
        yes: String,
        no: String,
    },
    /// It depends on something that is not known.
    Unknown,
}

impl Truth {
    pub(crate) fn of(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }

    pub(crate) fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Open { yes, no } => Self::Open { yes: no, no: yes },
            Self::Unknown => Self::Unknown,
        }
    }

    /// Whether all answers are yes.
    pub(crate) fn all(answers: impl IntoIterator<Item = Self>) -> Self {
        let mut found = Self::Yes;
        for answer in answers {
            found = match (found, answer) {
                (Self::No, _) | (_, Self::No) => return Self::No,
                (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
                (Self::Yes, other) | (other, Self::Yes) => other,
                (Self::Open { yes, no }, Self::Open { yes: also, no: or }) => {
                    if yes == also {
                        Self::Open { yes, no }
                    } else {
                        Self::Open { yes: format!("{yes} and {also}"), no: format!("{no} or {or}") }
                    }
                }
            };
        }
        found
    }

    /// Whether one answer is yes.
    pub(crate) fn any(answers: impl IntoIterator<Item = Self>) -> Self {
        Self::all(answers.into_iter().map(Self::not)).not()
    }
}

/// Whether an extent is 1.
pub(crate) fn is_one(dims: &mut Dims, dim: DimId) -> Truth {
    let one = dims.constant(1);
    is_equal(dims, dim, one)
}

/// Whether two extents are equal.
pub(crate) fn is_equal(dims: &mut Dims, a: DimId, b: DimId) -> Truth {
    if a == b {
        return Truth::Yes;
    }
    if let (Some(a), Some(b)) = (dims.as_constant(a), dims.as_constant(b)) {
        return Truth::of(a == b);
    }
    if dims.is_unknown(a) || dims.is_unknown(b) {
        return Truth::Unknown;
    }
    match dims.compare(a, b) {
        typeloom_dim::Decision::Equal => Truth::Yes,
        typeloom_dim::Decision::Different => Truth::No,
        typeloom_dim::Decision::Undecided => {
            let (a, b) = (dims.display(a).to_string(), dims.display(b).to_string());
            Truth::Open { yes: format!("{a} = {b}"), no: format!("{a} != {b}") }
        }
    }
}

/// No extent of a model is larger; ends of slices are, where they mean the end of an axis.
const LARGEST: i64 = i32::MAX as i64;

/// Whether an extent is smaller than another one, and not zero.
pub(crate) fn is_smaller(dims: &mut Dims, a: DimId, b: DimId) -> Truth {
    let is_large = dims.as_constant(a).is_some_and(|a| a >= LARGEST || a == 0);
    if a == b || is_large || dims.as_constant(b).is_some_and(|b| b <= 1) {
        return Truth::No;
    }
    let difference = dims.sub(b, a);
    match (dims.as_constant(difference), dims.as_constant(a)) {
        (Some(difference), _) if difference <= 0 => return Truth::No,
        (Some(_), Some(_)) => return Truth::Yes,
        _ => {}
    }
    if dims.is_unknown(a) || dims.is_unknown(b) {
        return Truth::Unknown;
    }
    let (a, b) = (dims.display(a).to_string(), dims.display(b).to_string());
    Truth::Open { yes: format!("{a} < {b}"), no: format!("{a} >= {b}") }
}
