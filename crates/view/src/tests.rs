//! Tests of whole scenes and pictures.

mod answers;
mod causes;
mod compare;
mod contents;
mod engine;
mod hostile;
mod large;
mod reach;
mod recorded;
mod search;
mod targets;
