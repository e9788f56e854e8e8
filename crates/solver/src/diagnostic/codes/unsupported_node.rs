//! Diagnostic code `unsupported-node`: an error of typeloom-compiler and typeloom-runtime, which states the message.

super::code!("unsupported-node", Error, "nothing that is bound or installed can run a node");
