//! A server of files.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Serves texts by path, and 404 elsewhere; gives the address. Gone with the test's process.
pub(crate) async fn serve(files: &[(&str, &str)]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let files: Vec<(String, String)> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.windows(4).any(|w| w == b"\r\n\r\n") {
                match stream.read_buf(&mut head).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            let head = String::from_utf8_lossy(&head);
            let path = head.split(' ').nth(1).unwrap_or("").split('?').next().unwrap_or("");
            let answer = match files.iter().find(|(name, _)| name == path) {
                Some((_, text)) => format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                    text.len()
                ),
                None => "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    .into(),
            };
            // A client that went away needs no answer.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    url
}
