//! A page: one HTML file with the graph of a model, for browsers.
//!
//! The file contains everything that it needs: the [`scene`](crate::scene), the engine (this crate as
//! WebAssembly, see `engine::wasm`), the script and the style. Without scripts or WebAssembly, its [`table`]
//! of values and diagnostics stays.
//!
//! # Security
//!
//! A content security policy allows the script and the style of this file by their SHA-256, and nothing else:
//! no other script, no attribute with script or style, no request to any host. The page of
//! `typeloom view --serve` also asks its own server for changes. The scene and the engine are base64 in
//! elements that browsers do not run. Text of a model is escaped in the table, and the script inserts it as
//! text.
//!
//! **Invariant:** the same scene gives the same bytes on every machine.
//!
//! **Limits:** the table has [`table::MAX_ROWS`] values and as many diagnostics. The script shows all of
//! them.

pub mod table;

use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::scene::Scene;
use crate::svg::escaped;
use crate::text::{MAX_DETAIL, file_names, short};
use crate::wire;

const SCRIPT: &str = include_str!("../assets/page.js");
const SCRIPT_HASH: &str = include_str!("../assets/page.js.sha256");
const STYLE: &str = include_str!("../assets/page.css");
const STYLE_HASH: &str = include_str!("../assets/page.css.sha256");
/// The engine as a zlib stream.
const ENGINE: &[u8] = include_bytes!("../assets/engine.wasm.zlib");

/// The start of the text that only pages have, within the first 4,096 bytes.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"typeloom ";

/// The effort of compression: the speed of higher levels falls, and the size does not.
const LEVEL: u8 = 7;

/// The way in which a page reaches a browser.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// As a file.
    #[default]
    File,
    /// By a server, which names the version of the page at `version`; the page loads itself again when that
    /// changes.
    Server {
        /// The version of this page.
        version: u64,
    },
}

/// The page of a scene.
#[must_use]
pub fn render(scene: &Scene, title: &str, delivery: Delivery) -> String {
    let name = short(&file_names(title), MAX_DETAIL);
    let scene_data = STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(&wire::encode(scene), LEVEL));
    let engine_data = STANDARD.encode(ENGINE);
    let mut out = String::with_capacity(scene_data.len() + engine_data.len() + (1 << 16));
    push(&mut out, format_args!("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"));
    let policy = policy(delivery);
    push(&mut out, format_args!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n"));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    push(&mut out, format_args!("{GENERATOR}{}\">\n", env!("CARGO_PKG_VERSION")));
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n");
    if let Delivery::Server { version } = delivery {
        push(&mut out, format_args!("<meta name=\"typeloom-version\" content=\"{version}\">\n"));
    }
    // Without this, browsers ask servers for an icon.
    out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    push(&mut out, format_args!("<title>{} - typeloom</title>\n", escaped(&name)));
    // The script is first, so that it hides the tables before browsers draw them.
    push(&mut out, format_args!("<style>{STYLE}</style>\n<script>{SCRIPT}</script>\n</head>\n<body>\n"));
    table::push(&mut out, scene, title);
    for (id, data) in [("scene", scene_data), ("engine", engine_data)] {
        push(
            &mut out,
            format_args!("<script type=\"application/octet-stream\" id=\"{id}\">{data}</script>\n"),
        );
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// The content security policy of a page.
#[must_use]
pub fn policy(delivery: Delivery) -> String {
    let connect = match delivery {
        Delivery::File => "",
        Delivery::Server { version: _ } => " connect-src 'self';",
    };
    format!(
        "default-src 'none'; script-src 'sha256-{SCRIPT_HASH}' 'wasm-unsafe-eval'; style-src 'sha256-{STYLE_HASH}'; \
         img-src data: blob:;{connect} base-uri 'none'; form-action 'none'"
    )
}

fn push(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests;
