//! Decision trees in a flat array.
//!
//! Both children of a node are adjacent, so that a step is `next + (comparison is false)`. All ordered
//! comparisons are stored as `<=`: with `next_down(t)` the next smaller float, `x < t` is
//! `x <= next_down(t)`, and `>=` and `>` are negations with the children exchanged. A node also states its
//! child for NaN.
//!
//! **Invariant:** every index of a child is greater than that of its parent, so a walk ends.

use crate::element::{Number, Real};
use crate::error::{KernelErrorKind, invalid};

/// Comparison of a feature and a threshold. The first child is taken if it holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test<T> {
    LessOrEqual(T),
    Less(T),
    GreaterOrEqual(T),
    Greater(T),
    Equal(T),
    NotEqual(T),
    /// Equal to an element of a set.
    Member(Vec<T>),
}

/// A node of a tree before packing.
#[derive(Clone, Debug)]
pub(super) enum Source<T> {
    Branch {
        feature: usize,
        test: Test<T>,
        /// Whether the test holds for NaN.
        missing: bool,
        /// Indices of the nodes if the test holds and if it does not.
        children: [usize; 2],
    },
    /// Weights with their targets.
    Leaf(Vec<(usize, T)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    LessOrEqual,
    Equal,
    Member,
    Leaf,
}

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    /// Threshold, or the first weight of a leaf.
    value: T,
    /// Index of the feature; for a leaf, the number of weights.
    feature: u32,
    /// Index of the first child; for a leaf, of the first weight.
    next: u32,
    kind: Kind,
    /// Whether NaN selects the first child.
    missing: bool,
}

/// Trees with a common input.
#[derive(Debug)]
pub(super) struct Forest<T> {
    nodes: Vec<Node<T>>,
    roots: Vec<u32>,
    weights: Vec<(usize, T)>,
    /// Members of the sets, by node.
    sets: std::collections::HashMap<u32, Vec<T>>,
    /// Least number of features of a row.
    features: usize,
    /// Whether all comparisons are `<=`.
    is_uniform: bool,
    /// Steps of the longest walk of each tree, together.
    steps: u64,
}

/// The leaf of a walk.
pub(super) struct Leaf<'f, T> {
    /// The first weight; 0 without weights.
    pub(super) value: T,
    pub(super) weights: &'f [(usize, T)],
}

impl<T: Real> Forest<T> {
    /// Packs trees. A node with several parents is copied; the copies of all nodes are bounded.
    pub(super) fn new(
        source: &dyn Fn(usize) -> Option<Source<T>>,
        roots: &[usize],
        count: usize,
    ) -> Result<Self, KernelErrorKind> {
        let limit = count.saturating_mul(4).saturating_add(64);
        if u32::try_from(limit).is_err() {
            return invalid(format!("{count} nodes are too many"));
        }
        let mut forest = Self {
            nodes: Vec::with_capacity(count),
            roots: Vec::with_capacity(roots.len()),
            weights: Vec::new(),
            sets: std::collections::HashMap::new(),
            features: 0,
            is_uniform: true,
            steps: 0,
        };
        let mut open = Vec::new();
        for root in roots {
            forest.roots.push(forest.nodes.len() as u32);
            open.push((*root, forest.reserve(1), 1_u64));
            let mut longest = 0;
            while let Some((from, at, steps)) = open.pop() {
                longest = longest.max(steps);
                if forest.nodes.len() > limit {
                    return invalid("the trees have cycles or share too many nodes");
                }
                match source(from) {
                    None => return invalid(format!("node {from} is missing")),
                    Some(Source::Leaf(weights)) => forest.set_leaf(at, weights),
                    Some(Source::Branch { feature, test, missing, children }) => {
                        let next = forest.reserve(2);
                        let children = if forest.set_branch(at, feature, test, missing, next)? {
                            [children[1], children[0]]
                        } else {
                            children
                        };
                        open.extend([(children[1], next + 1, steps + 1), (children[0], next, steps + 1)]);
                    }
                }
            }
            forest.steps = forest.steps.saturating_add(longest);
        }
        Ok(forest)
    }

    /// Steps of the longest walk of each tree, together.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    fn reserve(&mut self, count: usize) -> usize {
        let at = self.nodes.len();
        let blank = Node { value: T::ZERO, feature: 0, next: 0, kind: Kind::Leaf, missing: false };
        self.nodes.resize(at + count, blank);
        at
    }

    fn set_leaf(&mut self, at: usize, weights: Vec<(usize, T)>) {
        self.nodes[at].value = weights.first().map_or(T::ZERO, |(_, weight)| *weight);
        self.nodes[at].feature = weights.len() as u32;
        self.nodes[at].next = self.weights.len() as u32;
        self.weights.extend(weights);
    }

    /// Sets a branch, and returns whether its children are exchanged.
    fn set_branch(
        &mut self,
        at: usize,
        feature: usize,
        test: Test<T>,
        missing: bool,
        next: usize,
    ) -> Result<bool, KernelErrorKind> {
        let Ok(index) = u32::try_from(feature) else { return invalid(format!("feature {feature}")) };
        self.features = self.features.max(feature.saturating_add(1));
        let (kind, value, is_exchanged) = match test {
            Test::LessOrEqual(value) => (Kind::LessOrEqual, value, false),
            Test::Less(value) => (Kind::LessOrEqual, next_down(value), false),
            // Nothing is above or equal to NaN, so all numbers take the child for failure.
            Test::GreaterOrEqual(value) | Test::Greater(value) if Number::is_nan(value) => {
                (Kind::LessOrEqual, T::infinity(), true)
            }
            Test::GreaterOrEqual(value) => (Kind::LessOrEqual, next_down(value), true),
            Test::Greater(value) => (Kind::LessOrEqual, value, true),
            Test::Equal(value) => (Kind::Equal, value, false),
            Test::NotEqual(value) => (Kind::Equal, value, true),
            Test::Member(set) => {
                self.sets.insert(at as u32, set);
                (Kind::Member, T::ZERO, false)
            }
        };
        self.is_uniform &= kind == Kind::LessOrEqual;
        // NaN fails all tests but `!=`; the first child of an exchanged test is the one for failure.
        let holds_for_nan = missing || (kind == Kind::Equal && is_exchanged);
        let missing = holds_for_nan != is_exchanged;
        self.nodes[at] = Node { value, feature: index, next: next as u32, kind, missing };
        Ok(is_exchanged)
    }

    /// Number of trees.
    pub(super) fn len(&self) -> usize {
        self.roots.len()
    }

    /// Checks that rows have all features that the trees test.
    pub(super) fn check(&self, columns: usize) -> Result<(), KernelErrorKind> {
        if columns < self.features {
            return invalid(format!("the trees test {} features of {columns}", self.features));
        }
        Ok(())
    }

    /// The leaf of a tree for a row that has all features.
    #[inline]
    pub(super) fn walk(&self, tree: usize, row: &[T]) -> Leaf<'_, T> {
        let mut at = self.roots[tree];
        let leaf = if self.is_uniform {
            loop {
                let node = &self.nodes[at as usize];
                if node.kind == Kind::Leaf {
                    break node;
                }
                let x = row[node.feature as usize];
                at = node.next + u32::from(!((x <= node.value) | (node.missing & Number::is_nan(x))));
            }
        } else {
            loop {
                let node = &self.nodes[at as usize];
                if node.kind == Kind::Leaf {
                    break node;
                }
                let x = row[node.feature as usize];
                let holds = match node.kind {
                    Kind::LessOrEqual => x <= node.value,
                    Kind::Equal => x == node.value,
                    Kind::Member => self.sets.get(&at).is_some_and(|set| set.contains(&x)),
                    Kind::Leaf => false,
                };
                at = node.next + u32::from(!(holds | (node.missing & Number::is_nan(x))));
            }
        };
        Leaf {
            value: leaf.value,
            weights: &self.weights[leaf.next as usize..(leaf.next + leaf.feature) as usize],
        }
    }
}

/// The greatest number less than `x`; NaN if there is none.
fn next_down<T: Real>(x: T) -> T {
    if x == T::neg_infinity() {
        return T::nan();
    }
    x.below()
}

#[cfg(test)]
mod tests {
    use super::{Forest, Source, Test};

    fn choice(test: Test<f32>, missing: bool, x: f32) -> f32 {
        let source = |at: usize| match at {
            0 => Some(Source::Branch { feature: 0, test: test.clone(), missing, children: [1, 2] }),
            1 => Some(Source::Leaf(vec![(0, 1.0)])),
            2 => Some(Source::Leaf(vec![(0, 0.0)])),
            _ => None,
        };
        Forest::new(&source, &[0], 3).expect("a tree").walk(0, &[x]).value
    }

    #[test]
    fn packed_tests_agree_with_the_comparisons() {
        let numbers = [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-45, 1.0, 1.000_000_1, f32::INFINITY, f32::NAN];
        for t in numbers {
            for x in numbers {
                let cases = [
                    (Test::LessOrEqual(t), x <= t),
                    (Test::Less(t), x < t),
                    (Test::GreaterOrEqual(t), x >= t),
                    (Test::Greater(t), x > t),
                    (Test::Equal(t), x == t),
                    (Test::NotEqual(t), x != t),
                    (Test::Member(vec![t, 1.0]), x == t || x == 1.0),
                ];
                for (test, holds) in cases {
                    let shown = format!("{test:?} of {x}");
                    assert_eq!(choice(test.clone(), false, x), f32::from(u8::from(holds)), "{shown}");
                    let holds = holds || x.is_nan();
                    assert_eq!(choice(test, true, x), f32::from(u8::from(holds)), "{shown}, missing");
                }
            }
        }
    }

    #[test]
    fn cycles_are_rejected() {
        let source = |_: usize| {
            Some(Source::Branch { feature: 0, test: Test::Less(1.0_f32), missing: false, children: [0, 0] })
        };
        assert!(Forest::new(&source, &[0], 1).is_err());
    }
}
