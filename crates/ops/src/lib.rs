//! The operator catalogue: what every standard operator declares, and the rules that declarations
//! cannot express.
//!
//! [`table`] holds the declarations as facts. It knows nothing about rules: a rule is attached to a
//! declaration by its dense [`table::SchemaId`].

pub mod table;
