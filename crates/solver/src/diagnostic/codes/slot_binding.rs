//! Diagnostic code `slot-binding`, reported by typeloom-compiler and typeloom-runtime.

super::code!("slot-binding", Error, "a slot of a module and the component bound to it do not fit");
