//! Diagnostic code `node-failed`, reported by typeloom-runtime.

super::code!("node-failed", Error, "a node failed when the model ran");
