//! Modules from their recording to the artifact.

mod components;
mod composites;
mod exports;
mod hostile;
mod interfaces;
mod lowering;
mod peers;
mod pipeline;
mod recording;
mod slots;
mod strict_errors;
