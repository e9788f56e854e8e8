//! SVG: a picture that is complete in itself.
//!
//! The style is part of the file, with a light and a dark theme (`prefers-color-scheme`). There is no script,
//! no font and no reference to another file. A title and a description make it accessible; each box has its
//! full name and the messages of its diagnostics as a title, which browsers show on demand. Diagnostics are
//! shown by their codes, not by colour alone; links of incomplete types are dashed.
//!
//! The picture of a page is interactive: it has no style of its own, and boxes and links can be focused and
//! name their items, see `svg/interactive.rs`.
//!
//! **Invariant:** text of a model is character data of XML 1.0: the result is well-formed for any scene.

use std::fmt::Write as _;

use typeloom_solver::diagnostic::Severity;

use crate::drawing::{Arrow, Block, Drawing, LINE, PADDING, class_of, class_of_shape, text_size};
use crate::layout::{Point, Size};
use crate::plan::{Options, Plan};
use crate::scene::{Change, Scene};
use crate::text::{MAX_DETAIL, counted, short};

pub(crate) mod interactive;
pub(crate) mod overlay;

use interactive::Interaction;

/// The style of static pictures.
pub const STYLE: &str = include_str!("svg/style.css");

/// The picture of a scene.
#[must_use]
pub fn render(scene: &Scene, title: &str, options: &Options) -> String {
    let plan = Plan::of(scene, options);
    let drawing = Drawing::of(scene, &plan);
    write(scene, &drawing, title, plan.note().as_deref(), None)
}

/// The width and height of a picture with this note.
pub(crate) fn size(drawing: &Drawing, note: Option<&str>) -> Size {
    let below = if note.is_some() { LINE + PADDING } else { 0.0 };
    let wide = note.map_or(0.0, |note| text_size(note).width + 4.0 * PADDING);
    Size { width: drawing.size.width.max(wide).ceil(), height: (drawing.size.height + below).ceil() }
}

/// The text of a picture; a static one without an interaction.
pub(crate) fn write(
    scene: &Scene,
    drawing: &Drawing,
    title: &str,
    note: Option<&str>,
    interaction: Option<&Interaction<'_>>,
) -> String {
    let mut out = String::new();
    let title = &format!("Graph of {}", short(title, MAX_DETAIL));
    let drawn_note = note.filter(|_| interaction.is_none());
    let Size { width, height } = size(drawing, drawn_note);
    let role = if interaction.is_some() { "group" } else { "img" };
    push(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"typeloom-graph\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"{role}\" aria-labelledby=\"typeloom-title typeloom-summary\">\n"
        ),
    );
    push(&mut out, format_args!("<title id=\"typeloom-title\">{}</title>\n", escaped(title)));
    let summary = escaped(&summary(scene, note)).into_owned();
    push(&mut out, format_args!("<desc id=\"typeloom-summary\">{summary}</desc>\n"));
    if interaction.is_none() {
        push(&mut out, format_args!("<style>\n{STYLE}</style>\n"));
    }
    out.push_str(
        "<defs><marker id=\"typeloom-arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n",
    );
    push(&mut out, format_args!("<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>\n"));
    let (mut blocks, mut links) = (&drawing.blocks[..], &drawing.links[..]);
    let frames = drawing.blocks.last().map_or(0, |block| block.frame + 1);
    for frame in 0..frames {
        let (own_links, other_links) = links.split_at(links.partition_point(|it| it.frame <= frame));
        let (own_blocks, other_blocks) = blocks.split_at(blocks.partition_point(|it| it.frame <= frame));
        (links, blocks) = (other_links, other_blocks);
        for caption in drawing.captions.iter().filter(|caption| caption.frame == frame) {
            push_text(&mut out, "name", caption.at, &caption.text);
        }
        match interaction {
            None => {
                own_links.iter().for_each(|link| push_link(&mut out, link));
                own_blocks.iter().for_each(|block| push_block(&mut out, block, ""));
                own_links.iter().for_each(|link| push_label(&mut out, link));
            }
            Some(interaction) => interaction.push_frame(&mut out, frame, own_links, own_blocks),
        }
    }
    if let Some(note) = drawn_note {
        let at = Point { x: 2.0 * PADDING, y: drawing.size.height - PADDING };
        push_text(&mut out, "note", at, note);
    }
    out.push_str("</svg>\n");
    out
}

/// The number of nodes, changes and diagnostics.
fn summary(scene: &Scene, note: Option<&str>) -> String {
    let main = scene.group(scene.main());
    let mut parts = vec![counted(main.total, "node")];
    parts.extend(scene.comparison.as_ref().map(|comparison| counted(comparison.total, "change")));
    let count = |severity| scene.marks.iter().filter(|mark| mark.severity == severity).count();
    for severity in [Severity::Error, Severity::Warning] {
        if count(severity) > 0 {
            parts.push(counted(count(severity), severity.name()));
        }
    }
    parts.extend(note.map(str::to_owned));
    parts.join("; ")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

fn push_text(out: &mut String, class: &str, at: Point, text: &str) {
    let (x, y) = (number(at.x), number(at.y + LINE * 0.75));
    push(out, format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(text)));
}

/// A box; `attributes` are its classes after the first and other attributes, without the last quote.
fn push_block(out: &mut String, block: &Block, attributes: &str) {
    let Block { rect, label, is_expanded, frame: _ } = block;
    let severity = match label.severity {
        Some(Severity::Error) => " error",
        Some(Severity::Warning) => " warning",
        None => "",
    };
    let open = if *is_expanded { " open" } else { "" };
    let (shape, change) = (class_of_shape(label.shape), class_of_change(label.change));
    push(out, format_args!("<g class=\"{shape}{open}{change}{severity}{attributes}\">"));
    push(out, format_args!("<title>{}</title>", escaped(&label.detail)));
    push(
        out,
        format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\n",
            number(rect.at.x),
            number(rect.at.y),
            number(rect.size.width),
            number(rect.size.height)
        ),
    );
    for (at, line) in label.lines.iter().enumerate() {
        let at = Point { x: rect.at.x + PADDING, y: rect.at.y + PADDING + at as f64 * LINE };
        push_text(out, class_of(line.role), at, &line.text);
    }
    out.push_str("</g>\n");
}

fn push_link(out: &mut String, link: &Arrow) {
    let [first, inner @ .., last] = &link.points[..] else { return };
    let class = if link.is_incomplete { "link incomplete" } else { "link" };
    let severity = match link.severity {
        Some(Severity::Error) => " error",
        Some(Severity::Warning) => " warning",
        None => "",
    };
    let change = class_of_change(link.change);
    push(
        out,
        format_args!(
            "<path class=\"{class}{severity}{change}\" d=\"M{} {}",
            number(first.x),
            number(first.y)
        ),
    );
    // A curve from middle to middle, with the points between as controls.
    for (at, control) in inner.iter().enumerate() {
        let next = inner.get(at + 1).unwrap_or(last);
        let end = match inner.get(at + 1) {
            Some(_) => Point { x: (control.x + next.x) / 2.0, y: (control.y + next.y) / 2.0 },
            None => *next,
        };
        let [a, b, c, d] = [control.x, control.y, end.x, end.y].map(number);
        push(out, format_args!("Q{a} {b} {c} {d}"));
    }
    if inner.is_empty() {
        push(out, format_args!("L{} {}", number(last.x), number(last.y)));
    }
    out.push_str("\" marker-end=\"url(#typeloom-arrow)\"/>\n");
}

/// The class of a change between two models, behind another class.
fn class_of_change(change: Change) -> &'static str {
    match change {
        Change::Same => "",
        Change::Added => " added",
        Change::Removed => " removed",
        Change::Changed => " changed",
    }
}

fn push_label(out: &mut String, link: &Arrow) {
    let Some(center) = link.label.filter(|_| !link.text.is_empty()) else { return };
    let size = text_size(&link.text);
    let corner = Point { x: center.x - size.width / 2.0, y: center.y - size.height / 2.0 };
    let [x, y, width, height] = [corner.x, corner.y, size.width, size.height].map(number);
    push(
        out,
        format_args!("<rect class=\"edge\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"),
    );
    push_text(out, "type", corner, &link.text);
}

/// A coordinate with one digit after the point, without a trailing zero.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as character data of XML. The other characters that XML does not allow are escaped before, see
/// [`short`].
pub(crate) fn escaped(text: &str) -> std::borrow::Cow<'_, str> {
    let is_plain = |c: char| !matches!(c, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}');
    if text.chars().all(is_plain) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe.into()
}
