//! The first difference between two types with named children, for messages.

use typeloom_tensor::value_type::Composite;

use super::Type;

/// A difference between two types that do not unify.
pub(crate) struct Difference<'t> {
    /// The names of the children around the difference, the outermost first.
    names: Vec<&'t str>,
    /// The name of a child that only one side has, and whether this is the second side.
    extra: Option<(&'t str, bool)>,
    /// The types that differ.
    pub(crate) sides: (&'t Type, &'t Type),
}

impl<'t> Difference<'t> {
    /// Descends to the first child that differs.
    pub(crate) fn between(expected: &'t Type, found: &'t Type) -> Self {
        let mut names = Vec::new();
        let mut sides = (expected, found);
        while let (Type::Composite(a), Type::Composite(b)) = sides {
            if let Some(extra) = extra(a, b) {
                return Self { names, extra: Some(extra), sides };
            }
            let Some((name, x, y)) = common(a, b).find(|(_, x, y)| !can_agree(x, y)) else { break };
            names.push(name);
            sides = (x, y);
        }
        Self { names, extra: None, sides }
    }

    /// Whether the difference is in a child.
    pub(crate) fn is_inside(&self) -> bool {
        !self.names.is_empty() || self.extra.is_some()
    }

    /// The difference as a message about `whole`.
    pub(crate) fn message(&self, whole: &str) -> String {
        let children = self.names.iter().rev().map(|name| format!("child `{name}` of "));
        let place = children.collect::<String>() + whole;
        match self.extra {
            Some((name, true)) => format!("{place} has a further child `{name}`"),
            Some((name, false)) => format!("{place} has no child `{name}`"),
            None => format!("{place} is of another type"),
        }
    }
}

/// The name of a child that one of two composites must have and does not have.
fn extra<'t>(a: &'t Composite<Type>, b: &'t Composite<Type>) -> Option<(&'t str, bool)> {
    let lacks = |of: &Composite<Type>, name: &str| of.child(name).is_none();
    let missing = a.children.iter().find(|(name, _)| !b.is_open && lacks(b, name));
    let further = || b.children.iter().find(|(name, _)| !a.is_open && lacks(a, name));
    missing.map(|(name, _)| (&**name, false)).or_else(|| further().map(|(name, _)| (&**name, true)))
}

/// The children of both composites.
fn common<'t>(
    a: &'t Composite<Type>,
    b: &'t Composite<Type>,
) -> impl Iterator<Item = (&'t str, &'t Type, &'t Type)> {
    a.children.iter().filter_map(|(name, x)| Some((&**name, x, b.child(name)?)))
}

/// Whether two types can be equal, according to their structure and element types.
fn can_agree(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Unknown(_) | Type::Error, _) | (_, Type::Unknown(_) | Type::Error) => true,
        (Type::Tensor(a), Type::Tensor(b)) | (Type::Sparse(a), Type::Sparse(b)) => {
            !a.elem.intersect(b.elem).is_empty()
        }
        (Type::Scalar(a), Type::Scalar(b)) => !a.intersect(*b).is_empty(),
        (Type::Container(outer, a), Type::Container(other, b)) => outer == other && can_agree(a, b),
        (Type::Leaf(a), Type::Leaf(b)) => a == b,
        (Type::Composite(a), Type::Composite(b)) => {
            extra(a, b).is_none() && common(a, b).all(|(_, x, y)| can_agree(x, y))
        }
        (
            Type::Tensor(_)
            | Type::Sparse(_)
            | Type::Scalar(_)
            | Type::Container(..)
            | Type::Composite(_)
            | Type::Leaf(_),
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::elem::{Elem, ElemSet};

    fn composite<const N: usize>(children: [(&str, Type); N]) -> Type {
        let children = children.into_iter().map(|(name, ty)| (Arc::from(name), ty)).collect();
        Type::Composite(Composite { children, is_open: false })
    }

    #[test]
    fn the_innermost_child_that_differs_is_named() {
        let scalar = |elem| Type::Scalar(ElemSet::of(elem));
        let of = |elem| composite([("a", scalar(Elem::INT32)), ("b", composite([("c", scalar(elem))]))]);
        let (x, y) = (of(Elem::FLOAT), of(Elem::DOUBLE));
        let difference = Difference::between(&x, &y);
        assert_eq!(
            difference.message("the bundle"),
            "child `c` of child `b` of the bundle is of another type"
        );
        assert_eq!(difference.sides, (&scalar(Elem::FLOAT), &scalar(Elem::DOUBLE)));
        let less = composite([("a", scalar(Elem::INT32))]);
        assert_eq!(Difference::between(&x, &less).message("it"), "it has no child `b`");
        assert_eq!(Difference::between(&less, &x).message("it"), "it has a further child `b`");
        assert!(!Difference::between(&x, &x).is_inside());
    }
}
