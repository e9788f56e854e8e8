//! Diagnostic code `invalid-module`: an error of typeloom-module, which states the message.

super::code!("invalid-module", Error, "the recording of a module has an error");
