//! Diagnostic code `lossy-cast`: an error of typeloom-compiler, which states the message.

super::code!("lossy-cast", Error, "a cast that the compiler would insert can lose values");
