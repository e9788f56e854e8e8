//! Variables and their binders: scopes, and the order of a scheme's variables.
//!
//! Variables are de Bruijn pairs: how many binders further out, and which place of that binder. A scheme is in normal
//! form when its places are in the order of first use and each is used, so that alpha-equivalent schemes are one type.
//!
//! First use is in preorder. The operands of sums, products, minima and maxima have no order, so variables are first
//! numbered by their other occurrences; a single variable left over comes last; several left over are numbered in the
//! way that makes the text of those operands smallest, which is found by trying (hence the bound on how many).
//!
//! **Invariant:** only open parts are walked, each once per depth, so a closed type of any size costs nothing.

use std::collections::HashSet;

use crate::dim::int_of;
use crate::error::TypeError;
use crate::layout::{self, Role};
use crate::pool::Pool;
use crate::tag::{Sort, Tag};

/// The most variables of one scheme that may occur in commutative positions only.
pub(crate) const MAX_AMBIGUOUS: usize = 5;

/// The deepest nesting of constants that is searched for variables.
const MAX_CONST_DEPTH: u32 = 64;

/// The most characters compared for telling apart variables in commutative positions.
const MAX_KEY: usize = 1 << 16;

/// Types by reference: those of a pool, or those of a pool together with a graph that is not in it yet.
pub(crate) trait View {
    /// Tag, words and number of free binders.
    fn node(&self, reference: u32) -> (Tag, &[u32], u8);
    fn name(&self, name: u32) -> &str;
}

impl View for Pool {
    #[inline]
    fn node(&self, reference: u32) -> (Tag, &[u32], u8) {
        let node = &self.nodes[reference as usize];
        (node.tag, self.words(reference), node.free)
    }

    fn name(&self, name: u32) -> &str {
        self.names.get(name)
    }
}

/// One use of a place of the binder in question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Use {
    pub(crate) index: u32,
    pub(crate) sort: u32,
}

/// Walks the open part of `body`; pushes the uses of the binder around it, each place once, in preorder. Commutative
/// nodes are left to `deferred` if it is given, else walked like others.
fn walk(
    view: &impl View,
    start: (u32, u32),
    seen: &mut HashSet<(u32, u32)>,
    uses: &mut Vec<Use>,
    mut deferred: Option<&mut Vec<(u32, u32)>>,
) {
    let mut stack = vec![start];
    let mut children = Vec::new();
    while let Some((reference, level)) = stack.pop() {
        let (tag, words, free) = view.node(reference);
        if u32::from(free) <= level || !seen.insert((reference, level)) {
            continue;
        }
        if tag == Tag::Bound {
            if words[0] == level {
                let found = Use { index: words[1], sort: words[2] };
                if !uses.contains(&found) {
                    uses.push(found);
                }
            }
            continue;
        }
        if let Some(deferred) = deferred.as_deref_mut()
            && is_unordered(tag, words)
        {
            deferred.push((reference, level));
            continue;
        }
        let body = layout::binder_body(tag);
        children.clear();
        layout::for_each(tag, words, |role, at, word| {
            if let Role::Child(_) = role {
                children.push((word, if body == Some(at) { level + 1 } else { level }));
            }
        });
        stack.extend(children.iter().rev());
    }
}

fn is_unordered(tag: Tag, words: &[u32]) -> bool {
    match tag {
        Tag::DimSum => words.len() > 5,
        _ => tag.is_commutative(),
    }
}

/// The uses of a binder's places in the order that the normal form gives them.
pub(crate) fn uses(view: &impl View, body: u32) -> Result<Vec<Use>, TypeError> {
    let mut seen = HashSet::new();
    let mut ordered = Vec::new();
    let mut deferred = Vec::new();
    walk(view, (body, 0), &mut seen, &mut ordered, Some(&mut deferred));
    if deferred.is_empty() {
        return Ok(ordered);
    }
    let mut all = ordered.clone();
    let mut seen = HashSet::new();
    for &start in &deferred {
        walk(view, start, &mut seen, &mut all, None);
    }
    let left = &mut all[ordered.len()..];
    match left {
        [] => return Ok(ordered),
        [_] => return Ok(all),
        _ if left.len() > MAX_AMBIGUOUS => {
            return Err(TypeError::AmbiguousVariables { count: left.len(), max: MAX_AMBIGUOUS });
        }
        _ => {}
    }
    let mut best: Option<(String, Vec<Use>)> = None;
    let mut failed = None;
    permutations(left, &mut |candidate| {
        let numbering = [&ordered[..], candidate].concat();
        let mut key = String::new();
        for &(reference, level) in &deferred {
            match const_key(view, reference, level, &numbering, 0) {
                Ok(part) => key.push_str(&part),
                Err(error) => failed = Some(error),
            }
            key.push(';');
        }
        if best.as_ref().is_none_or(|(smallest, _)| key < *smallest) {
            best = Some((key, numbering));
        }
    });
    match (failed, best) {
        (Some(error), _) => Err(error),
        (None, Some((_, numbering))) => Ok(numbering),
        (None, None) => Ok(all),
    }
}

/// Calls `f` with every order of `items` (Heap's algorithm, on at most [`MAX_AMBIGUOUS`] items).
fn permutations(items: &mut [Use], f: &mut impl FnMut(&[Use])) {
    let mut counters = vec![0; items.len()];
    f(items);
    let mut at = 1;
    while at < items.len() {
        if counters[at] < at {
            items.swap(if at % 2 == 0 { 0 } else { counters[at] }, at);
            f(items);
            counters[at] += 1;
            at = 1;
        } else {
            counters[at] = 0;
            at += 1;
        }
    }
}

/// Text of a constant that does not depend on the order of operands or on ids, with the binder's places renumbered.
fn const_key(
    view: &impl View,
    reference: u32,
    level: u32,
    numbering: &[Use],
    depth: u32,
) -> Result<String, TypeError> {
    if depth > MAX_CONST_DEPTH {
        return Err(TypeError::ConstTooLarge);
    }
    let (tag, words, _) = view.node(reference);
    let mut parts = Vec::new();
    match tag {
        Tag::Bound if words[0] == level => {
            let at = numbering.iter().position(|used| used.index == words[1]).unwrap_or(numbering.len());
            return Ok(format!("v{at}"));
        }
        Tag::Bound => return Ok(format!("b{}.{}", i64::from(words[0]) - i64::from(level), words[1])),
        Tag::DimSum => {
            for term in words[2..].chunks_exact(3) {
                let key = const_key(view, term[2], level, numbering, depth + 1)?;
                parts.push(format!("{}*{key}", int_of(term[0], term[1])));
            }
            parts.sort_unstable();
            parts.insert(0, int_of(words[0], words[1]).to_string());
        }
        Tag::DimConst => parts.push(int_of(words[0], words[1]).to_string()),
        Tag::DimSymbol => parts.push(format!("{:?}", view.name(words[0]))),
        _ => {
            let mut children = Vec::new();
            layout::for_each_child(tag, words, |child| children.push(child));
            for child in children {
                parts.push(const_key(view, child, level, numbering, depth + 1)?);
            }
            if tag.is_commutative() {
                parts.sort_unstable();
            }
        }
    }
    let key = format!("{}({})", tag.name(), parts.join(","));
    if key.len() > MAX_KEY { Err(TypeError::ConstTooLarge) } else { Ok(key) }
}

/// Checks every use of a binder's places against their sorts.
pub(crate) fn check_uses(uses: &[Use], sorts: &[u32]) -> Result<(), TypeError> {
    for used in uses {
        let Some(&bound) = sorts.get(used.index as usize) else {
            return Err(TypeError::VariableOutOfScope { index: used.index, count: sorts.len() as u32 });
        };
        if bound != used.sort {
            let name = |sort| Sort::from_number(sort).unwrap_or(Sort::Type);
            return Err(TypeError::VariableSort { expected: name(bound), found: name(used.sort) });
        }
    }
    Ok(())
}

/// Whether a scheme with these uses and this many places is in normal form.
pub(crate) fn is_normal(uses: &[Use], places: usize) -> bool {
    uses.len() == places && uses.iter().enumerate().all(|(at, used)| used.index as usize == at)
}

impl Pool {
    /// Checks the body of a declaration or a scheme; a scheme must be in normal form.
    pub(crate) fn check_binder(&self, tag: Tag, body: u32, sorts: &[u32]) -> Result<(), TypeError> {
        let found = if self.nodes[body as usize].free == 0 { Vec::new() } else { uses(self, body)? };
        check_uses(&found, sorts)?;
        if tag == Tag::Scheme && !is_normal(&found, sorts.len()) {
            return Err(TypeError::Layout { tag });
        }
        Ok(())
    }
}
