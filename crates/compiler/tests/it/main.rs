//! Tests of the compiler on small modules and models.

mod modules;
