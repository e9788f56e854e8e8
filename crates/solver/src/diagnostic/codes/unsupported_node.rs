//! Diagnostic code `unsupported-node`, reported by typeloom-compiler and typeloom-runtime.

super::code!("unsupported-node", Error, "nothing that is bound or installed can run a node");
