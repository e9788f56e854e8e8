//! Vocabulary of compatibility reports; see [`crate::compat`].

use std::fmt;

use crate::tag::display_name;

/// Direction in which two versions must be compatible: the new one can replace the old one, the old one can
/// replace the new one, or both.
///
/// For types of *data*, `Backward` means that readers of `new` accept values of `old`: `old` is a subtype of
/// `new`. For items that are *called or imported*, it means that users of `old` can use `new`. Then `new`
/// must be a subtype of `old`, so their types are compared in the [reversed](Self::reversed) direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The new version accepts all inputs of the old one.
    #[default]
    Backward,
    /// The old version accepts all inputs of the new one.
    Forward,
    /// Both directions.
    Full,
}

impl Direction {
    /// The name in reports and on the command line: `backward`, `forward` or `full`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Backward => "backward",
            Self::Forward => "forward",
            Self::Full => "full",
        }
    }

    /// The direction after the two sides are exchanged.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Backward => Self::Forward,
            Self::Forward => Self::Backward,
            Self::Full => Self::Full,
        }
    }

    /// Whether a difference with these effects makes the versions incompatible in this direction.
    #[must_use]
    pub const fn is_broken_by(self, breaks: Breaks) -> bool {
        match self {
            Self::Backward => breaks.backward,
            Self::Forward => breaks.forward,
            Self::Full => breaks.backward || breaks.forward,
        }
    }
}

/// Directions that a difference breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Breaks {
    /// Breaks [`Direction::Backward`].
    pub backward: bool,
    /// Breaks [`Direction::Forward`].
    pub forward: bool,
}

impl Breaks {
    /// Breaks both directions.
    pub const BOTH: Self = Self { backward: true, forward: true };

    /// The effects after the two sides are exchanged.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { backward: self.forward, forward: self.backward }
    }

    /// The effects of two differences together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self { backward: self.backward || other.backward, forward: self.forward || other.forward }
    }
}

/// Classification of a change, from the old version to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// The new type has more values than the old one.
    Widened,
    /// The new type has fewer values than the old one.
    Narrowed,
    /// Neither type contains the other one.
    Incompatible,
    /// Only the new version has the item.
    Added,
    /// Only the old version has the item.
    Removed,
}

impl ChangeKind {
    /// The name in reports, such as `widened`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Widened => "widened",
            Self::Narrowed => "narrowed",
            Self::Incompatible => "incompatible",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

display_name!(Direction, ChangeKind);

/// Classifies a changed type of data that both versions have. A change that breaks neither direction is
/// [`ChangeKind::Widened`].
impl From<Breaks> for ChangeKind {
    fn from(breaks: Breaks) -> Self {
        match breaks {
            Breaks { backward: true, forward: true } => Self::Incompatible,
            Breaks { backward: true, forward: false } => Self::Narrowed,
            Breaks { backward: false, forward: _ } => Self::Widened,
        }
    }
}

/// One step from a type, interface or item to a part of it. `N` is the type of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathStep<N = String> {
    /// A part with a fixed name, such as `key`, `returns` or `shape`.
    Part(&'static str),
    /// A parameter, from 0.
    Param(usize),
    /// An element, argument, axis or positional field, from 0.
    Element(usize),
    /// A field, port or other named member.
    Field(N),
    /// A variant of an enum.
    Variant(N),
    /// A step described in prose, such as ``parameter `x` ``. Such steps are separated by ` > `.
    Label(N),
}

/// Path from the compared root to a part of it. The empty path is the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypePath(pub Vec<PathStep>);

impl FromIterator<PathStep> for TypePath {
    fn from_iter<I: IntoIterator<Item = PathStep>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for TypePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(the type itself)");
        }
        for (at, step) in self.0.iter().enumerate() {
            let (dot, arrow) = if at == 0 { ("", "") } else { (".", " > ") };
            match step {
                PathStep::Part(name) => write!(f, "{dot}{name}")?,
                PathStep::Param(param) => write!(f, "{dot}param[{param}]")?,
                PathStep::Element(element) => write!(f, "[{element}]")?,
                PathStep::Field(name) | PathStep::Variant(name) => write!(f, "{dot}{name}")?,
                PathStep::Label(text) => write!(f, "{arrow}{text}")?,
            }
        }
        Ok(())
    }
}

/// Change of a pool type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeChange {
    /// A different kind, name or constant; the two renderings show it.
    Type,
    /// A different number of parameters, elements or arguments.
    Count {
        /// The number in the old type.
        old: usize,
        /// The number in the new type.
        new: usize,
    },
    /// A field that only the new type has.
    FieldAdded(String),
    /// A field that only the old type has.
    FieldRemoved(String),
    /// A variant that only the new type has.
    VariantAdded(String),
    /// A variant that only the old type has.
    VariantRemoved(String),
}

/// One difference between two versions. `C` is the enum of changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Difference<C = TypeChange> {
    /// Path to the differing part.
    pub path: TypePath,
    /// The change of that part.
    pub change: C,
    /// Rendering of the old part; empty if there is none.
    pub old: String,
    /// Rendering of the new part; empty if there is none.
    pub new: String,
    /// Directions that the change breaks.
    pub breaks: Breaks,
}

/// Formats the difference as a line of [`Pool::diff`](crate::Pool::diff).
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, change, old, new, breaks } = self;
        write!(f, "{path}: ")?;
        match change {
            TypeChange::Type => write!(f, "`{old}` -> `{new}`")?,
            TypeChange::Count { old, new } => write!(f, "{old} -> {new} in number")?,
            TypeChange::FieldAdded(name) => write!(f, "field `{name}` added")?,
            TypeChange::FieldRemoved(name) => write!(f, "field `{name}` removed")?,
            TypeChange::VariantAdded(name) => write!(f, "variant `{name}` added")?,
            TypeChange::VariantRemoved(name) => write!(f, "variant `{name}` removed")?,
        }
        f.write_str(match (breaks.backward, breaks.forward) {
            (true, true) => " (incompatible)",
            (true, false) => " (breaks backward)",
            (false, true) => " (breaks forward)",
            (false, false) => " (compatible)",
        })
    }
}
