//! Diagnostic code `program-interface`: an error of typeloom-compiler, which states the message.

super::code!(
    "program-interface",
    Error,
    "the interface of a program cannot be described, or is not the recorded one"
);
