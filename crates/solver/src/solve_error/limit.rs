//! Limits of the solver that hide part of a type.

/// A limit that hides part of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// A constant has more elements than the solver follows.
    Constant {
        /// Maximum number of elements.
        most: usize,
    },
    /// An expression over symbols is too large, or a number exceeds 64 bits.
    Expression,
    /// A loop changes the shape of a value too often.
    Widenings {
        /// Number of widenings of the extents before the rank is dropped.
        most: usize,
    },
    /// A loop has more iterations than are solved one by one.
    Iterations {
        /// Maximum number of iterations.
        most: usize,
    },
    /// Examinations of the model's conditions take too many steps.
    Proofs,
    /// Too many conditions are open.
    Cases {
        /// Maximum number of cases.
        most: usize,
        /// Maximum number of conditions that a case assumes.
        depth: usize,
    },
}

impl Limit {
    /// The reason, as a clause after "because".
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Constant { most } => format!("a constant of more than {most} elements is not followed"),
            Self::Expression => "its expression is larger than the limits of dims".to_owned(),
            Self::Widenings { most } => format!("the loop changes it more than {most} times"),
            Self::Iterations { most } => {
                format!("no more than {most} iterations of a loop are solved one by one")
            }
            Self::Proofs => "the proofs about its conditions take too many steps".to_owned(),
            Self::Cases { most, depth } => {
                format!("no more than {most} cases of at most {depth} conditions are solved")
            }
        }
    }
}
