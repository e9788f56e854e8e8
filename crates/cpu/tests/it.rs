//! The tests of this folder in one binary.

mod attention;
mod edges;
mod fast_paths;
mod hostile;
mod laws;
mod learned;
mod quantized;
mod threads;
mod windows;
