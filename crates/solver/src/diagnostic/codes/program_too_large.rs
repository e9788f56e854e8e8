//! Diagnostic code `program-too-large`, reported by typeloom-compiler and typeloom-runtime.

super::code!("program-too-large", Error, "a program is too large after the expansion of its functions");
