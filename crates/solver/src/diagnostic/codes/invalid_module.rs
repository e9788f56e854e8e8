//! Diagnostic code `invalid-module`, reported by typeloom-module.

super::code!("invalid-module", Error, "the recording of a module has an error");
