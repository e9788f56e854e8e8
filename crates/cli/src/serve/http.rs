//! The part of HTTP/1.1 that one page needs: requests without a body, and one answer for each connection.

use std::io::{ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use super::TIMEOUT;

/// Maximum size of the head of a request, in bytes.
pub(super) const MAX_HEAD: usize = 1 << 14;

/// Maximum number of fields in the head of a request.
const MAX_FIELDS: usize = 64;

/// A request that is allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path without a query.
    pub(super) path: String,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    Malformed,
    OtherHost,
    NotFound,
    NotAllowed,
    Timeout,
    TooLarge,
}

impl Status {
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::Malformed => "400 Bad Request",
            Self::OtherHost => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::NotAllowed => "405 Method Not Allowed",
            Self::Timeout => "408 Request Timeout",
            Self::TooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// Reads the head of a request to the server on a port.
pub(super) fn read(stream: &mut impl Read, port: u16) -> Result<Request, Status> {
    let start = Instant::now();
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        let count = match stream.read(&mut chunk) {
            Ok(0) => return Err(Status::Malformed),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Status::Timeout);
            }
            Err(_) => return Err(Status::Malformed),
        };
        head.extend_from_slice(&chunk[..count]);
        if let Some(request) = parse(&head, port)? {
            return Ok(request);
        }
        if head.len() > MAX_HEAD {
            return Err(Status::TooLarge);
        }
        if start.elapsed() > TIMEOUT {
            return Err(Status::Timeout);
        }
    }
}

/// Ends a connection after the answer to a request that was not read to its end. A connection that is closed
/// while bytes are unread is reset, and the client may lose the answer, so the rest is received first, as far
/// as it arrives within [`TIMEOUT`].
pub(super) fn finish(mut stream: TcpStream) -> std::io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let (start, mut chunk) = (Instant::now(), [0; 1024]);
    while start.elapsed() < TIMEOUT && stream.read(&mut chunk)? > 0 {}
    Ok(())
}

/// The request, or `None` if its head is not complete.
fn parse(head: &[u8], port: u16) -> Result<Option<Request>, Status> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Status::TooLarge),
        Err(_) => return Err(Status::Malformed),
    }
    let mut hosts = request.headers.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(Status::Malformed) };
    let names = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    // Port 80 is left out by browsers.
    let plain = if port == 80 { &["127.0.0.1", "localhost"][..] } else { &[] };
    let is_own = |name: &str| host.value.eq_ignore_ascii_case(name.as_bytes());
    if !names.iter().any(|name| is_own(name)) && !plain.iter().any(|name| is_own(name)) {
        return Err(Status::OtherHost);
    }
    if request.method != Some("GET") {
        return Err(Status::NotAllowed);
    }
    let target = request.path.unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Some(Request { path }))
}

/// An answer.
pub(super) struct Answer<'a> {
    status: Status,
    kind: &'static str,
    policy: &'a str,
    body: &'a str,
}

impl<'a> Answer<'a> {
    /// The answer to a request that is not served.
    pub(super) fn of(status: Status) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", policy: "default-src 'none'", body: status.text() }
    }

    /// A page.
    pub(super) fn page(html: &'a str, policy: &'a str) -> Self {
        Self { status: Status::Ok, kind: "text/html; charset=utf-8", policy, body: html }
    }

    /// A text.
    pub(super) fn text(text: &'a str) -> Self {
        Self { body: text, ..Self::of(Status::Ok) }
    }

    /// The bytes of the answer.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Self { status, kind, policy, body } = self;
        let head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Content-Security-Policy: {policy}; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
             Connection: close\r\n\r\n",
            status.text(),
            body.len()
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }
}
