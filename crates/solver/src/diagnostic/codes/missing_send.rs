//! Diagnostic code `missing-send`, reported by typeloom-compiler.

super::code!("missing-send", Error, "a node takes values from different peers without a send");
