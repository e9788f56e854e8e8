//! The memory of dropped tensors, for later ones.

use std::sync::{Mutex, PoisonError};

use super::Memory;

/// Maximum number of bytes that are kept.
const MAX_KEPT: usize = 1 << 27;

/// The memory of tensors that [return to it](super::AnyTensor::return_to) when they are dropped, on any
/// thread.
///
/// It keeps at most 128 MiB; the budget counts them as held. If a tensor is dropped after this, its memory is
/// freed.
#[derive(Debug, Default)]
pub struct Returned(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    list: Vec<Memory>,
    bytes: usize,
}

impl Returned {
    /// Takes all memory.
    #[must_use]
    pub fn take(&self) -> Vec<Memory> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).list
    }

    pub(super) fn receive(&self, memory: Memory) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + memory.capacity() <= MAX_KEPT {
            kept.bytes += memory.capacity();
            kept.list.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::AnyTensor;
    use super::*;

    fn tensor(len: usize, home: &Arc<Returned>) -> AnyTensor {
        let mut tensor = AnyTensor::from(vec![1.0_f32; len]);
        tensor.return_to(home);
        tensor
    }

    #[test]
    fn the_last_owner_returns_the_memory_once() {
        let home = Arc::new(Returned::default());
        let tensor = tensor(1000, &home);
        let (address, other) = (tensor.bytes().as_ptr(), tensor.clone());
        drop(tensor);
        assert!(home.take().is_empty());
        drop(other);
        let [memory] = home.take().try_into().expect("one tensor was dropped");
        let again = AnyTensor::from_elements_with::<f32>(&[999], memory, |out| out.fill(2.0));
        let again = again.expect("the shape fits");
        assert_eq!(again.bytes().as_ptr(), address);
        // The next tensor in the memory has another owner.
        drop(again);
        assert!(home.take().is_empty());
    }

    #[test]
    fn memory_without_a_home_and_in_excess_is_freed() {
        let home = Arc::new(Returned::default());
        let late = tensor(1000, &home);
        drop(home);
        drop(late);
        let home = Arc::new(Returned::default());
        for _ in 0..3 {
            drop(tensor(MAX_KEPT / 8, &home));
        }
        assert_eq!(home.take().len(), 2);
        drop(tensor(MAX_KEPT / 8, &home));
        assert_eq!(home.take().len(), 1);
    }
}
