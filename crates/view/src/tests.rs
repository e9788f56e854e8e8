//! Tests of whole scenes and pictures.

mod answers;
mod contents;
mod engine;
mod hostile;
mod large;
mod recorded;
