//! Kernels for speed. Each computes what its plain form defines, and tests compare the two.
//!
//! | kernels | plain form | compared in |
//! |---|---|---|
//! | [`fused`]: a node and those that follow it | the nodes one by one | `tests/fused.rs` of the runtime |
//! | `product`: matrix products | the sum over the inner axis | `tests/windows.rs`, `tests/fast_paths.rs` |
//! | `product::integer`: those of 8-bit integers | the same | `product/integer/tests.rs` |
//! | `convolution`: convolutions as products | the sum over each window | `tests/windows.rs` |
//! | `planes`: depthwise convolutions | the same | `tests/windows.rs` |
//! | `polyphase`: windows as shifted planes | the loops over windows in `ops::pool` | `tests/windows.rs` |
//! | `quantised`: 8-bit integers | the general paths of `ops::quantize` | its tests, `tests/quantized.rs` |
//! | `reductions`: reductions of floats | `row` in `ops::reduce` | `tests/fast_paths.rs` |
//! | `softmax` | its definition | `tests/fast_paths.rs` |
//! | [`threads`]: parts of one kernel on several threads | one thread | `tests/threads.rs` |

pub(crate) mod convolution;
pub mod fused;
pub(crate) mod planes;
pub(crate) mod polyphase;
pub(crate) mod product;
pub(crate) mod quantised;
pub(crate) mod reductions;
pub(crate) mod softmax;
pub mod threads;
