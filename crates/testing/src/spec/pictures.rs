//! Pictures of diagnostics: the problems that documents show as text, as a terminal with colours shows them.
//!
//! A picture belongs to a fence `snapshot human` or `snapshot`, and shows the problems of the model in the
//! preceding fence: a `graph` of the manual, or an `onnx` example on the page of a code. The model is checked
//! again; the text of the picture is the text of the fence, or it is an error.
//!
//! **Invariant:** the text of a model is escaped: `anstyle-svg` writes it as character data of XML.
//!
//! The pictures are products of the build of the site. They are not part of the repository.

use std::path::{Path, PathBuf};

use anstyle_svg::Term;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use typeloom_onnx::prost::Message as _;
use typeloom_report::human::{self, Color};

use crate::spec::document::Malformed;
use crate::spec::kinds::{self, Settings, graph};
use crate::spec::pattern::lines_match;

/// The name of the model in the text.
const FILE: &str = "model.onnx";

/// Minimum width of a picture.
const MIN_WIDTH: usize = 480;

/// A picture of the problems in one fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// The position of its fence among those of the document that have a picture, from 0.
    pub number: usize,
    /// The picture, in SVG.
    pub svg: String,
}

/// A fenced block of a document.
struct Block {
    info: String,
    text: String,
    line: usize,
}

/// The pictures of a document.
///
/// # Errors
/// A fence does not show the problems of the model before it.
pub fn of_document(file: &Path, text: &str) -> Result<Vec<Picture>, Malformed> {
    let mut pictures = Vec::new();
    let mut model: Option<Block> = None;
    for block in blocks(text) {
        match block.info.split_whitespace().next() {
            Some("graph" | "onnx") => model = Some(block),
            Some("snapshot") if matches!(block.info.as_str(), "snapshot" | "snapshot human") => {
                let malformed = |message| Malformed { file: file.to_owned(), line: block.line, message };
                let model =
                    model.as_ref().ok_or_else(|| malformed("there is no model before it".to_owned()))?;
                let svg = picture(model, &block.text).map_err(malformed)?;
                pictures.push(Picture { number: pictures.len(), svg });
            }
            _ => {}
        }
    }
    Ok(pictures)
}

/// The name of the file of a picture: that of its document without `.md`, and the number.
#[must_use]
pub fn file_name(document: &Path, picture: &Picture) -> PathBuf {
    let stem = document.with_extension("");
    PathBuf::from(format!("{}-{}.svg", stem.display(), picture.number))
}

/// Draws the problems of a model, whose text without colours is `shown`.
fn picture(model: &Block, shown: &str) -> Result<String, String> {
    let settings = settings(&model.info)?;
    let bytes = graph::parse(&model.text, &settings).map_err(|error| error.to_string())?.encode_to_vec();
    let mut checked =
        typeloom_ops::check::check(&bytes, &settings.options).map_err(|error| error.to_string())?;
    let found = graph::problems(&mut checked, &settings);
    let plain = human::diagnostics(FILE, &found, Color::Never);
    let [written, lines] = [shown, &plain].map(|text| text.trim_end().lines().collect::<Vec<_>>());
    if !lines_match(&written, &lines) {
        return Err(format!("the problems of the model are\n{plain}"));
    }
    let colored = human::diagnostics(FILE, &found, Color::Always);
    Ok(Term::new().min_width_px(MIN_WIDTH).render_svg(colored.trim_end()))
}

/// The options of a fence with a model. `fails=` and `passes` of the pages of codes concern their tests only.
fn settings(info: &str) -> Result<Settings, String> {
    let words: Vec<&str> = info.split_whitespace().skip(1).collect();
    let options: Vec<&str> =
        words.into_iter().filter(|word| !word.starts_with("fails=") && *word != "passes").collect();
    kinds::settings(&options)
}

/// The fenced blocks of a document, in order.
fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut is_open = false;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let line = 1 + text[..range.start].bytes().filter(|byte| *byte == b'\n').count();
                found.push(Block { info: info.to_string(), text: String::new(), line });
                is_open = true;
            }
            Event::Text(words) if is_open => {
                if let Some(block) = found.last_mut() {
                    block.text.push_str(&words);
                }
            }
            Event::End(TagEnd::CodeBlock) => is_open = false,
            _ => {}
        }
    }
    found
}
