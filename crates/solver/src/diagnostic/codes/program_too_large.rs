//! Diagnostic code `program-too-large`: an error of typeloom-compiler and typeloom-runtime, which states the message.

super::code!("program-too-large", Error, "a program is too large after the expansion of its functions");
