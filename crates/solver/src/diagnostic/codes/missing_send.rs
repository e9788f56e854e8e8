//! Diagnostic code `missing-send`: an error of typeloom-compiler, which states the message.

super::code!("missing-send", Error, "a node takes values from different peers without a send");
