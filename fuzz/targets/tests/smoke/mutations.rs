//! Mutations of files.

use typeloom_testing::Random;

/// Applies one to four mutations: flips bits, replaces bytes, duplicates, removes or moves chunks, or
/// replaces them with numbers.
pub(crate) fn mutilate(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let (from, to) = range(random, bytes.len(), 64);
        match random.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte ^= 1 << random.below(8);
                }
            }
            2 => bytes[from..to].iter_mut().for_each(|byte| *byte = random.bits() as u8),
            3 => drop(bytes.splice(to..to, bytes[from..to].to_vec())),
            4 => drop(bytes.drain(from..to)),
            5 => {
                let chunk: Vec<_> = bytes.drain(from..to).collect();
                let at = random.below(bytes.len() + 1);
                drop(bytes.splice(at..at, chunk));
            }
            6 => {
                let huge = *random.pick(&[[0xff; 9], [0x80; 9], [0; 9]]);
                drop(bytes.splice(from..from, huge.into_iter().chain([1])));
            }
            _ => bytes.truncate(bytes.len() - random.below(bytes.len().min(16) + 1)),
        }
    }
    bytes
}

fn range(random: &mut Random, length: usize, longest: usize) -> (usize, usize) {
    let from = random.below(length + 1);
    (from, (from + random.below(longest)).min(length))
}
