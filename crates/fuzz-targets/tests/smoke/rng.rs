//! A small deterministic generator (SplitMix64) and its mutations of files.

/// SplitMix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Applies one to four mutations: flips bits, replaces bytes, duplicates, removes or moves chunks, or
    /// replaces them with numbers.
    pub(crate) fn mutilate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let (from, to) = self.range(bytes.len(), 64);
            match self.below(8) {
                0 | 1 => {
                    if let Some(byte) = bytes.get_mut(from) {
                        *byte ^= 1 << self.below(8);
                    }
                }
                2 => bytes[from..to].iter_mut().for_each(|byte| *byte = self.next() as u8),
                3 => drop(bytes.splice(to..to, bytes[from..to].to_vec())),
                4 => drop(bytes.drain(from..to)),
                5 => {
                    let chunk: Vec<_> = bytes.drain(from..to).collect();
                    let at = self.below(bytes.len() + 1);
                    drop(bytes.splice(at..at, chunk));
                }
                6 => {
                    let huge = self.pick(&[[0xff; 9], [0x80; 9], [0; 9]]);
                    drop(bytes.splice(from..from, huge.into_iter().chain([1])));
                }
                _ => bytes.truncate(bytes.len() - self.below(bytes.len().min(16) + 1)),
            }
        }
        bytes
    }

    fn range(&mut self, length: usize, longest: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        (from, (from + self.below(longest)).min(length))
    }
}
