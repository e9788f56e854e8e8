//! Tests of whole scenes and pictures.

mod contents;
mod hostile;
mod large;
mod recorded;
