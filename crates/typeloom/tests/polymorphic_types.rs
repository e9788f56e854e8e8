//! Runs the example `polymorphic_types` and compares its output with the recorded one.

#[path = "../examples/polymorphic_types.rs"]
mod example;

/// Recorded with `cargo run -q --example polymorphic_types > crates/typeloom/tests/polymorphic_types.txt`.
const RECORDED: &str = include_str!("polymorphic_types.txt");

#[test]
fn the_output_of_the_example_equals_the_record() -> Result<(), Box<dyn std::error::Error>> {
    example::main()?;
    assert_eq!(example::walk()?, RECORDED);
    Ok(())
}
