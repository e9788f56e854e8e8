//! Matching of the variables of two generic types.
//!
//! Variables of a scheme are numbered by first use, so an added field or another order of fields changes the
//! numbers. Both bodies are walked in parallel, fields and variants by name and all other children by
//! position; variables that meet are matched one to one at their first meeting. Operands of commutative
//! constants have no order and are skipped. Variables that remain are matched in the order of their numbers.

use std::collections::{HashMap, HashSet};

use crate::binder::is_unordered;
use crate::layout::{self, FieldList, FieldLists};
use crate::pool::Pool;
use crate::tag::Tag;

/// Returns the old variable for every variable of the new scheme. Variables without a match get the numbers
/// after those of the old scheme. `old` and `new` are the schemes' words. Every visited pair is subtracted
/// from `left`; returns `None` if there are too many.
pub(crate) fn variables(
    pool: &Pool,
    old: &[u32],
    new: &[u32],
    left: &mut usize,
) -> Option<HashMap<u32, u32>> {
    let (old_sorts, new_sorts) = (&old[1..], &new[1..]);
    let mut to_old: HashMap<u32, u32> = HashMap::new();
    let mut taken: HashSet<u32> = HashSet::new();
    let mut seen = HashSet::new();
    let mut todo = vec![(old[0], new[0], 0)];
    let mut children = Vec::new();
    while let Some((a, b, level)) = todo.pop() {
        *left = left.checked_sub(1)?;
        let (old, new) = (&pool.nodes[a as usize], &pool.nodes[b as usize]);
        if u32::from(old.free) <= level || u32::from(new.free) <= level || old.tag != new.tag {
            continue;
        }
        let (a_words, b_words) = (pool.words(a), pool.words(b));
        if old.tag == Tag::Bound {
            let is_own = a_words[0] == level && b_words[0] == level && a_words[2] == b_words[2];
            if is_own && !to_old.contains_key(&b_words[1]) && taken.insert(a_words[1]) {
                to_old.insert(b_words[1], a_words[1]);
            }
            continue;
        }
        let unordered = is_unordered(old.tag, a_words) || is_unordered(new.tag, b_words);
        if unordered || !seen.insert((a, b, level)) {
            continue;
        }
        pairs_below(old.tag, a_words, b_words, level, &mut children);
        todo.extend(children.drain(..).rev());
    }
    let mut free: Vec<u32> =
        (0..old_sorts.len() as u32).filter(|variable| !taken.contains(variable)).collect();
    let mut next = old_sorts.len() as u32;
    for (variable, sort) in (0..).zip(new_sorts) {
        to_old.entry(variable).or_insert_with(|| {
            match free.iter().position(|&old| old_sorts[old as usize] == *sort) {
                Some(at) => free.remove(at),
                None => {
                    next += 1;
                    next - 1
                }
            }
        });
    }
    Some(to_old)
}

/// Appends the pairs of corresponding children of two types of one tag, with the number of binders around
/// them.
fn pairs_below(tag: Tag, old: &[u32], new: &[u32], level: u32, pairs: &mut Vec<(u32, u32, u32)>) {
    let mut parts: HashMap<u32, FieldList<'_>> =
        FieldLists::of(tag, new).map(|part| (part.name, part)).collect();
    for part in FieldLists::of(tag, old) {
        let Some(other) = parts.remove(&part.name) else { continue };
        if part.named && other.named {
            let types: HashMap<u32, u32> = other.field_names().zip(other.field_types()).collect();
            let fields = part.field_names().zip(part.field_types());
            pairs.extend(fields.filter_map(|(name, ty)| types.get(&name).map(|&new| (ty, new, level))));
        } else {
            pairs.extend(part.field_types().zip(other.field_types()).map(|(old, new)| (old, new, level)));
        }
    }
    if matches!(tag, Tag::Struct | Tag::Enum) {
        return;
    }
    layout::for_each_scoped_child(tag, old, |at, child, is_bound| {
        pairs.extend(new.get(at).map(|&other| (child, other, level + u32::from(is_bound))));
    });
}
