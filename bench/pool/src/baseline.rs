//! Baseline: the published design of a portable type pool. It uses a 64-bit hash as identity, parallel arrays
//! of tags and data, an extra array for larger data, and a hash map from hash to index.
//!
//! The implementation has the best components for that design: the same multiplicative hash as the pool under
//! test, and a map without further hashing. It validates nothing. [`Plain`] differs in one point: its map
//! hashes the hash again, as the map of the standard library does by default.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use typeloom_pool::Tag;

use crate::Interner;

/// Hasher for `u64` keys that are already hashes.
#[derive(Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only u64 keys are hashed");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// The design with the standard library's default map.
pub type Plain = Baseline<RandomState>;

#[derive(Default)]
pub struct Baseline<S = BuildHasherDefault<Identity>> {
    tags: Vec<u8>,
    data: Vec<u32>,
    extra: Vec<u32>,
    hashes: Vec<u64>,
    index: HashMap<u64, u32, S>,
}

fn mix(left: u64, right: u64) -> u64 {
    let wide = u128::from(left) * u128::from(right);
    (wide as u64) ^ ((wide >> 64) as u64)
}

fn hash(tag: u8, words: &[u32]) -> u64 {
    let mut state = u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ words.len() as u64;
    for pair in words.chunks(2) {
        let word = u64::from(pair[0]) | pair.get(1).map_or(0, |&high| u64::from(high) << 32);
        state = mix(state ^ word, 0xe703_7ed1_a0b4_28db);
    }
    mix(state, 0x9e37_79b9_7f4a_7c15)
}

impl<S: BuildHasher> Baseline<S> {
    fn intern(&mut self, tag: u8, words: &[u32]) -> u32 {
        let hash = hash(tag, words);
        if let Some(&found) = self.index.get(&hash) {
            return found;
        }
        let id = self.tags.len() as u32;
        self.tags.push(tag);
        match *words {
            [] => self.data.push(0),
            [only] => self.data.push(only),
            _ => {
                self.data.push(self.extra.len() as u32);
                self.extra.push(words.len() as u32);
                self.extra.extend_from_slice(words);
            }
        }
        self.hashes.push(hash);
        self.index.insert(hash, id);
        id
    }

    /// Interns `count` words, gathered in an array if they fit.
    fn gather(&mut self, tag: u8, count: usize, fill: impl FnOnce(&mut [u32])) -> u32 {
        let mut few = [0; 16];
        match few.get_mut(..count) {
            Some(words) => {
                fill(words);
                self.intern(tag, words)
            }
            None => {
                let mut many = vec![0; count];
                fill(&mut many);
                self.intern(tag, &many)
            }
        }
    }

    pub fn bytes(&self) -> usize {
        // Memory of the map: 16 bytes and one control byte per slot, at most seven eighths full.
        let slots = (self.index.capacity() * 8 / 7).next_power_of_two();
        self.tags.capacity()
            + self.data.capacity() * 4
            + self.extra.capacity() * 4
            + self.hashes.capacity() * 8
            + slots * 17
    }
}

impl<S: BuildHasher> Interner for Baseline<S> {
    type Id = u32;
    type Name = u32;

    fn primitive(&mut self, tag: Tag) -> u32 {
        self.intern(tag as u8, &[])
    }

    fn container(&mut self, tag: Tag, child: u32) -> u32 {
        self.intern(tag as u8, &[child])
    }

    fn map(&mut self, key: u32, value: u32) -> u32 {
        self.intern(72, &[key, value])
    }

    fn function(&mut self, params: &[u32], returns: u32) -> u32 {
        self.gather(81, 1 + params.len(), |words| {
            words[0] = returns;
            words[1..].copy_from_slice(params);
        })
    }

    fn tuple(&mut self, elements: &[u32]) -> u32 {
        self.intern(82, elements)
    }

    fn structure(&mut self, name: u32, fields: &[(u32, u32)]) -> u32 {
        self.gather(83, 1 + 2 * fields.len(), |words| {
            words[0] = name;
            for (pair, &(name, ty)) in words[1..].as_chunks_mut().0.iter_mut().zip(fields) {
                *pair = [name, ty];
            }
        })
    }
}
