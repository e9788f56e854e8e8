//! Limits of the solver that hide a part of a type.

/// A limit that hides a part of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// A constant has more elements than are followed.
    Constant {
        /// How many are.
        most: usize,
    },
    /// An expression over symbols is too large, or a number does not fit into 64 bits.
    Expression,
    /// A loop changes the shape of a value too often.
    Widenings {
        /// How often its extents are widened before its rank is given up.
        most: usize,
    },
    /// A loop whose iterations are solved one by one has too many.
    Iterations {
        /// How many are solved.
        most: usize,
    },
    /// Too many conditions are open.
    Cases {
        /// How many cases are solved.
        most: usize,
        /// How many conditions one case may assume.
        depth: usize,
    },
}

impl Limit {
    /// The reason, as a clause that follows "because".
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Constant { most } => format!("a constant of more than {most} elements is not followed"),
            Self::Expression => "its expression is larger than the limits of dims".to_owned(),
            Self::Widenings { most } => format!("the loop changes it more than {most} times"),
            Self::Iterations { most } => {
                format!("no more than {most} iterations of a loop are solved one by one")
            }
            Self::Cases { most, depth } => {
                format!("no more than {most} cases of at most {depth} conditions are solved")
            }
        }
    }
}
