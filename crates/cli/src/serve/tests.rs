//! Requests that are served, and requests that are not.

use std::io::{Read as _, Write as _};

use super::*;

const PORT: u16 = 4321;

fn parse(text: &str) -> Result<http::Request, Status> {
    http::read(&mut text.as_bytes(), PORT)
}

fn head(line: &str, fields: &[&str]) -> String {
    format!("{line}\r\n{}\r\n", fields.iter().map(|field| format!("{field}\r\n")).collect::<String>())
}

#[test]
fn a_request_names_this_server_as_its_host() {
    for host in ["127.0.0.1:4321", "localhost:4321", "LOCALHOST:4321"] {
        let request = parse(&head("GET /version?x=1 HTTP/1.1", &[&format!("Host: {host}")]));
        assert_eq!(request, Ok(http::Request { path: "/version".to_owned() }), "{host}");
    }
    for host in
        ["evil.example", "evil.example:4321", "127.0.0.1:80", "127.0.0.1", "127.0.0.1:4321.evil.example"]
    {
        let request = parse(&head("GET / HTTP/1.1", &[&format!("Host: {host}")]));
        assert_eq!(request, Err(Status::OtherHost), "{host}");
    }
    assert_eq!(parse(&head("GET / HTTP/1.1", &[])), Err(Status::Malformed));
    let twice = head("GET / HTTP/1.1", &["Host: 127.0.0.1:4321", "Host: evil.example"]);
    assert_eq!(parse(&twice), Err(Status::Malformed));
}

#[test]
fn malformed_and_long_requests_end() {
    let own = "Host: 127.0.0.1:4321";
    assert_eq!(parse(&head("POST / HTTP/1.1", &[own])), Err(Status::NotAllowed));
    assert_eq!(parse("GET / HTTP/1.1\r\nHost"), Err(Status::Malformed));
    assert_eq!(parse("\0\r\n\r\n"), Err(Status::Malformed));
    let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1 << 20));
    assert_eq!(parse(&long), Err(Status::TooLarge));
    let many: Vec<String> = (0..100).map(|at| format!("X-{at}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(parse(&head("GET / HTTP/1.1", &many)), Err(Status::TooLarge));
}

/// A source that changes once.
struct Once(Option<Page>);

impl Source for Once {
    fn refresh(&mut self) -> Option<Page> {
        self.0.take()
    }
}

fn page(version: u64) -> Page {
    Page { html: format!("<p>{version}</p>"), policy: "default-src 'none'".to_owned(), version }
}

/// The answer of a server to a path.
fn get(port: u16, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("the limit is set");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("the request is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    answer
}

#[test]
fn a_page_is_served_until_the_source_changes() {
    let server = Server::listen(0).expect("there is a free port");
    let port = server.port;
    assert_eq!(server.address(), format!("http://127.0.0.1:{port}/"));
    // The thread ends with the process, as the server does with the command.
    std::thread::spawn(move || server.run(page(1), Once(Some(page(2)))));
    let own = format!("127.0.0.1:{port}");
    // A connection without a request does not hold up others.
    let idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    let first = get(port, "/", &own);
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("<p>1</p>"), "{first}");
    assert!(
        first.contains("Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"),
        "{first}"
    );
    assert!(get(port, "/version", &own).ends_with("\r\n\r\n2"));
    assert!(get(port, "/", &own).ends_with("<p>2</p>"));
    assert!(get(port, "/other", &own).starts_with("HTTP/1.1 404 "));
    let other = get(port, "/", "evil.example");
    assert!(other.starts_with("HTTP/1.1 403 ") && !other.contains("<p>"), "{other}");
    drop(idle);
}

#[test]
fn a_long_request_has_an_answer() {
    let server = Server::listen(0).expect("there is a free port");
    let port = server.port;
    std::thread::spawn(move || server.run(page(1), Once(None)));
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("the limit is set");
    let field = "x".repeat(1 << 22);
    write!(stream, "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: {field}\r\n\r\n")
        .expect("the request is received");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the server answers");
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}
