//! The tests of this folder in one binary.

mod edges;
mod fast_paths;
mod hostile;
mod laws;
mod learned;
mod quantized;
mod threads;
mod windows;
