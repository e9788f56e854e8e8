//! Diagnostic code `program-interface`, reported by typeloom-compiler.

super::code!(
    "program-interface",
    Error,
    "the interface of a program cannot be described, or is not the recorded one"
);
