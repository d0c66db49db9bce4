//! A web server on loopback with scripted answers, for tests.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// An image with one transparent pixel.
pub const DOT: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0b, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x60, 0x00, 0x02, 0x00,
    0x00, 0x05, 0x00, 0x01, 0x7a, 0x5e, 0xab, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44,
    0xae, 0x42, 0x60, 0x82,
];

/// An answer as it goes over the wire.
pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub fn html(body: &str) -> Vec<u8> {
    answer("200 OK", "Content-Type: text/html\r\n", body.as_bytes())
}

impl Server {
    /// Answers each path as given, all others as `*`; an empty answer means that it never answers.
    pub fn start<const N: usize>(answers: [(&str, Vec<u8>); N]) -> Self {
        Self::listen(answers, |stream| Box::new(stream))
    }

    /// The same over TLS, as `pages.example`, with the certificate of the fixtures.
    pub fn start_tls<const N: usize>(answers: [(&str, Vec<u8>); N]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate()], key)
            .expect("they belong together");
        let config = Arc::new(config);
        Self::listen(answers, move |stream| {
            let server = rustls::ServerConnection::new(config.clone()).expect("a server");
            Box::new(rustls::StreamOwned::new(server, stream))
        })
    }

    fn listen<const N: usize>(
        answers: [(&str, Vec<u8>); N],
        wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let answers: HashMap<String, Vec<u8>> = answers
            .into_iter()
            .map(|(path, answer)| (path.to_owned(), answer))
            .collect();
        let log = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                serve(wrap(stream), &answers, &log);
            }
        });
        Self { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The paths that were requested.
    pub fn requested(&self) -> Vec<String> {
        let requests = self.requests();
        requests.iter().map(|it| path_of(it).to_owned()).collect()
    }

    /// All that was sent, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("unpoisoned").clone()
    }
}

trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

fn serve(
    mut stream: Box<dyn Stream>,
    answers: &HashMap<String, Vec<u8>>,
    log: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
        head.push(byte[0]);
    }
    if head.is_empty() {
        // A client that did not trust the certificate.
        return;
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut body = vec![0; length_of_body(&head)];
    let _ = stream.read_exact(&mut body);
    let request = format!("{head}{}", String::from_utf8_lossy(&body));
    let path = path_of(&request).to_owned();
    log.lock().expect("unpoisoned").push(request);
    let missing = answer(
        "404 Not Found",
        "Content-Type: text/plain\r\n",
        b"no such page",
    );
    let reply = answers.get(&path).or(answers.get("*")).unwrap_or(&missing);
    if reply.is_empty() {
        std::mem::forget(stream);
        return;
    }
    let _ = stream.write_all(reply);
    let _ = stream.flush();
}

/// What only tests trust.
const CERTIFICATE: &[u8] = include_bytes!("../../../tests/fixtures/tls/pages-cert.pem");
const KEY: &[u8] = include_bytes!("../../../tests/fixtures/tls/pages-key.pem");

/// The certificate of the server.
pub fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate")
}

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

fn length_of_body(head: &str) -> usize {
    let mut lines = head.lines();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value)
    });
    length
        .and_then(|length| length.trim().parse().ok())
        .unwrap_or(0)
}
