//! parsing
