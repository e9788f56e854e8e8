//! Diagnostic code `node-failed`: an error of typeloom-runtime, which states the message.

super::code!("node-failed", Error, "a node failed when the model ran");
