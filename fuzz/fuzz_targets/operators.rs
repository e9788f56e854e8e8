#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| typeloom_fuzz_targets::operators(bytes));
