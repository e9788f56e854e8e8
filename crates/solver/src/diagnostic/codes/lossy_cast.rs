//! Diagnostic code `lossy-cast`, reported by typeloom-compiler.

super::code!("lossy-cast", Error, "a cast that the compiler would insert can lose values");
