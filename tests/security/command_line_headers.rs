//! The command line beside a server whose status lines, headers and ids of events are odd.

use std::sync::atomic::{AtomicUsize, Ordering};

use millrace_tests::cli::Shell;
use millrace_tests::peer::{Peer, Says};
use millrace_tests::slow;
use serde_json::json;

use crate::command_line::{COMMANDS, FILES, goes_on, run, steers};

/// An answer with headers as they stand here.
fn raw(status: &str, headers: &[&[u8]], body: &str) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\nconnection: close\r\n").into_bytes();
    for header in headers {
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Answers by what is odd in them.
fn answers() -> Vec<(String, Vec<u8>)> {
    let record = json!({ "data": { "id": "p_x", "name": "w", "name_slug": "w" } }).to_string();
    let waiting = json!({ "error": "many deploys wait", "code": "deploys_waiting" }).to_string();
    let long = "x".repeat(60_000);
    let mut answers = Vec::new();
    for after in ["18446744073709551615", "18446744073709551616"] {
        let header = format!("retry-after: {after}");
        answers.push((header.clone(), raw("429 X", &[header.as_bytes()], &waiting)));
    }
    let odd_after: &[&[u8]] = &[b"retry-after: -1", b"retry-after: \xff", b"retry-after: soon"];
    answers.push(("odd retry-after".into(), raw("429 X", odd_after, &waiting)));
    for length in ["18446744073709551615", "-1", "1"] {
        let header = format!("content-length: {length}");
        answers.push((header.clone(), raw("200 OK", &[header.as_bytes()], &record)));
    }
    for encoding in ["gzip", "deflate, gzip, \u{e9}"] {
        let header = format!("content-encoding: {encoding}");
        answers.push((header.clone(), raw("200 OK", &[header.as_bytes()], &record)));
    }
    let odd: &[&[u8]] = &[
        b"content-type: \xff\xfe; charset=\x80",
        b"content-type: text/html; charset=\"",
        b"etag: W/\"\xff",
        b"etag: \"\"\"",
        b"set-cookie: a=b; expires=Thu, 99 Foo 99999 99:99:99 GMT; max-age=99999999999999999999",
        b"location: http://[::",
        b"content-disposition: attachment; filename=../../.bashrc",
        b"date: never",
        b"link: <",
        b"x-ratelimit-reset: 18446744073709551615",
        b"refresh: 0; url=file:///etc/passwd",
        b"alt-svc: h2=\":1\"",
    ];
    for status in ["201 \x1b[2J", "404 \x1b[2J", "999 X", "304 X"] {
        answers.push((format!("odd headers, {status:?}"), raw(status, odd, &record)));
    }
    let huge = [format!("etag: {long}"), format!("set-cookie: {long}"), format!("link: {long}")];
    let huge: Vec<&[u8]> = huge.iter().map(String::as_bytes).collect();
    answers.push(("huge headers".into(), raw("200 OK", &huge, &record)));
    let chunks: &[&[u8]] = &[b"transfer-encoding: chunked"];
    for size in ["ffffffffffffffff", "-1"] {
        let body = format!("{size}\r\n{record}");
        answers.push((format!("a chunk of {size}"), raw("200 OK", chunks, &body)));
    }
    for (status, location) in [
        ("301 X", &b"location: \xff"[..]),
        ("302 X", b"location: http://[::"),
        ("307 X", b"location: http://user:pass@127.0.0.1:1/\x1b"),
        ("308 X", b"location: http://x.example/\xe2\x80\xae"),
        ("308 X", b"x: no location"),
    ] {
        let name = format!("{status}, {}", location.escape_ascii());
        answers.push((name, raw(status, &[location], &record)));
    }
    answers
}

/// Headers are read by one client for all commands: each answer meets a third of them, and each of
/// them a third of the answers. With `MILLRACE_SLOW_TESTS` each meets all.
#[test]
fn no_header_of_a_server_makes_the_command_line_panic() {
    let answers = answers();
    let all = slow::all_cases();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::SeqCst);
                    let Some((name, bytes)) = answers.get(nth) else { return };
                    let (shell, bytes) = (Shell::alone(), bytes.clone());
                    shell.write(FILES);
                    let peer = Peer::start(move |_| Says::Raw(bytes.clone()));
                    for (at, args) in COMMANDS.iter().enumerate() {
                        if goes_on(args) || !(all || (at + nth).is_multiple_of(3)) {
                            continue;
                        }
                        let done = run(&shell, &peer.url, args);
                        let words: String = done.stderr.chars().take(2_000).collect();
                        assert!(
                            (0..=2).contains(&done.code) && !words.contains("panicked"),
                            "{name} {args:?}: {} {words}",
                            done.code
                        );
                        assert!(
                            !steers(&done.stdout) && !steers(&words),
                            "{name} {args:?}: {words}"
                        );
                    }
                }
            });
        }
    });
}

/// An id that no header holds is not sent back, and the stream goes on without it.
#[test]
fn no_id_of_an_event_makes_a_command_try_without_end() {
    let long = "1".repeat(100_000);
    for id in ["a\0b", "a\rb", "\u{1b}[2J", "日", long.as_str()] {
        for args in [&["events", "dc_x", "-f"][..], &["logs", "p_x", "-f"]] {
            let events = format!("id: {id}\ndata: {{}}\n\n");
            let asked = AtomicUsize::new(0);
            let peer = Peer::start(move |head| {
                if !head.contains("/sse") && !head.contains("/stream") {
                    return Says::Json(json!({ "data": [] }).to_string());
                }
                match asked.fetch_add(1, Ordering::SeqCst) {
                    0 => Says::Events(events.clone()),
                    _ => Says::Status("404 Not Found"),
                }
            });
            let done = run(&Shell::alone(), &peer.url, args);
            assert!(
                [1, 2].contains(&done.code) && !done.stderr.contains("panicked"),
                "{args:?} {id:.10?}: {done:?}"
            );
        }
    }
}

/// Where a server sends its requests on to is another's: neither a body nor a key goes there.
#[test]
fn no_redirect_makes_the_command_line_send_anything_elsewhere() {
    std::thread::scope(|scope| {
        for status in ["301 X", "303 X", "307 X", "308 X"] {
            scope.spawn(move || {
                let other = Peer::start(|_| Says::Json(json!({ "data": [] }).to_string()));
                let location = format!("location: {}/v1/elsewhere", other.url);
                let bytes = raw(status, &[location.as_bytes()], "");
                let peer = Peer::start(move |_| Says::Raw(bytes.clone()));
                let shell = Shell::alone();
                shell.write(FILES);
                for args in COMMANDS.iter().filter(|args| !goes_on(args)) {
                    let asked = peer.requests();
                    let done = run(&shell, &peer.url, args);
                    assert_eq!(other.requests(), 0, "{status} {args:?}");
                    if peer.requests() > asked {
                        assert!(
                            done.code == 1
                                && done.stderr.contains(&format!("redirects to `{}`", other.url))
                                && done.stderr.contains(&format!("--url {}", other.url)),
                            "{status} {args:?}: {done:?}"
                        );
                    }
                }
            });
        }
    });
}

/// What is downloaded to be uploaded comes from the host that a person named.
#[test]
fn no_redirect_makes_the_command_line_download_from_elsewhere() {
    let shell = Shell::alone();
    let server = Peer::start(|_| Says::Json(json!({ "data": { "name": "near" } }).to_string()));
    let other = Peer::start(|_| Says::As("200 OK", "application/gzip", "x".into()));
    let elsewhere = format!("location: {}/x.tar.gz", other.url);
    let peer = Peer::start(move |head| {
        let location = match head.split(' ').nth(1) {
            Some("/away.tar.gz" | "/p/latest") => elsewhere.as_bytes(),
            Some("/near.tar.gz") => b"location: /here.tar.gz",
            Some("/round.tar.gz") => b"location: /round.tar.gz",
            _ => return Says::As("200 OK", "application/gzip", "x".into()),
        };
        Says::Raw(raw("302 X", &[location], ""))
    });
    let add = |what: &str| {
        run(&shell, &server.url, &["registry", "add", what, "--npm-registry", &peer.url])
    };
    for what in [&format!("{}/away.tar.gz", peer.url), "npm:p"] {
        let said = add(what).fails(1);
        assert!(
            said.contains(&format!("not followed: `{}/x.tar.gz`", other.url)),
            "{what}: {said}"
        );
    }
    assert_eq!((other.requests(), server.requests()), (0, 0));
    add(&format!("{}/round.tar.gz", peer.url)).fails(1);
    add(&format!("{}/near.tar.gz", peer.url)).ok();
    assert_eq!(server.requests(), 1);
}
