//! Templates of text formats, in the notation of Jinja.
//!
//! A line with a tag only leaves no line. Values are written as they are: the writers of the formats escape
//! the text of a model.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

/// Renders a template of this crate with a context.
///
/// # Panics
/// Panics if the template is malformed or reads a value that the context does not have. Both are independent
/// of the model, and the tests render each template.
pub(crate) fn render(template: &str, context: &impl Serialize) -> String {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    let mut environment = Environment::new();
    environment.set_syntax(syntax.build().expect("the delimiters are the default ones"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.render_str(template, Serde(context)).expect("the tests render each template")
}
