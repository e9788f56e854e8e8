//! Diagnostic code `slot-binding`: an error of typeloom-compiler and typeloom-runtime, which states the message.

super::code!("slot-binding", Error, "a slot of a module and the component bound to it do not fit");
