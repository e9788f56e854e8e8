//! Results that the next pictures are likely to need again: those of the last two pictures.

use std::hash::Hash;
use std::sync::Arc;

use crate::layout::{Layout, LinkSpec, Size, layout};
use crate::level::Level;
use crate::map::Map;
use crate::scene::{GroupId, Scene};

/// Results by key. The memory is that of two pictures.
#[derive(Debug)]
struct Recent<K, V> {
    current: Map<K, Arc<V>>,
    previous: Map<K, Arc<V>>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { current: Map::default(), previous: Map::default() }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    fn get(&mut self, key: K, make: impl FnOnce(&K) -> V) -> Arc<V> {
        if let Some(known) = self.current.get(&key) {
            return Arc::clone(known);
        }
        let value = self.previous.remove(&key).unwrap_or_else(|| Arc::new(make(&key)));
        self.current.insert(key, Arc::clone(&value));
        value
    }

    /// Begins a new picture.
    fn turn(&mut self) {
        self.previous = std::mem::take(&mut self.current);
    }
}

/// The input of a layout, as bits.
#[derive(PartialEq, Eq, Hash, Debug)]
struct LayoutKey(Vec<u64>);

impl LayoutKey {
    fn of(boxes: &[Size], links: &[LinkSpec]) -> Self {
        let size = |size: &Size| [size.width.to_bits(), size.height.to_bits()];
        let mut bits = vec![boxes.len() as u64];
        bits.extend(boxes.iter().flat_map(size));
        for LinkSpec { from, to, label } in links {
            bits.extend([*from as u64, *to as u64]);
            bits.extend(size(label));
        }
        Self(bits)
    }
}

/// The levels and layouts of the last two pictures of one scene.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    levels: Recent<GroupId, Level>,
    layouts: Recent<LayoutKey, Layout>,
}

impl Cache {
    /// The level of a group.
    pub(crate) fn level(&mut self, scene: &Scene, group: GroupId) -> Arc<Level> {
        self.levels.get(group, |group| Level::of(scene, *group))
    }

    /// The layout of boxes and links.
    pub(crate) fn layout(&mut self, boxes: &[Size], links: &[LinkSpec]) -> Arc<Layout> {
        self.layouts.get(LayoutKey::of(boxes, links), |_| layout(boxes, links))
    }

    /// Begins a new picture.
    pub(crate) fn turn(&mut self) {
        self.levels.turn();
        self.layouts.turn();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn results_of_the_last_two_pictures_are_not_computed_again() {
        let computed = Cell::new(0);
        let mut recent: Recent<u32, u32> = Recent::default();
        let get = |recent: &mut Recent<u32, u32>, key| {
            let value = recent.get(key, |key| {
                computed.set(computed.get() + 1);
                key * 2
            });
            (*value, computed.get())
        };
        assert_eq!([get(&mut recent, 1), get(&mut recent, 1)], [(2, 1), (2, 1)]);
        recent.turn();
        assert_eq!([get(&mut recent, 1), get(&mut recent, 2)], [(2, 1), (4, 2)]);
        recent.turn();
        assert_eq!(get(&mut recent, 2), (4, 2));
        recent.turn();
        assert_eq!(get(&mut recent, 1), (2, 3));
    }

    #[test]
    fn layouts_of_different_inputs_have_different_keys() {
        let size = |width| Size { width, height: 1.0 };
        let link = |to, width| LinkSpec { from: 0, to, label: size(width) };
        let keys = [
            LayoutKey::of(&[size(1.0)], &[]),
            LayoutKey::of(&[size(2.0)], &[]),
            LayoutKey::of(&[size(1.0)], &[link(0, 1.0)]),
            LayoutKey::of(&[size(1.0)], &[link(1, 1.0)]),
            LayoutKey::of(&[size(1.0), size(1.0)], &[link(1, 1.0)]),
            LayoutKey::of(&[size(1.0), size(1.0)], &[link(1, 2.0)]),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(keys[..at].iter().all(|other| other != key), "{at}");
        }
    }
}
