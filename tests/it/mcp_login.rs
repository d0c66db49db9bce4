//! Logging in to an MCP server, against an authorization server of our own on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::Program;
use crate::support::program::{files_below, finish};

/// An MCP server that wants a login, and the place to log in, at one address.
struct Site {
    base: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

#[derive(Debug, Clone)]
struct Request {
    path: String,
    query: HashMap<String, String>,
    /// The form or JSON of a POST.
    body: String,
    bearer: Option<String>,
}

impl Site {
    /// Its first token is valid for so many seconds.
    fn open(valid: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("bound"));
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (known, at) = (seen.clone(), base.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (known, at) = (known.clone(), at.clone());
                std::thread::spawn(move || serve(&stream, &at, valid, &known));
            }
        });
        Self { base, seen }
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    fn requests(&self, path: &str) -> Vec<Request> {
        let seen = self.seen.lock().expect("not poisoned");
        let seen = seen.iter().filter(|request| request.path == path);
        seen.cloned().collect()
    }
}

fn serve(stream: &TcpStream, base: &str, valid: u64, seen: &Mutex<Vec<Request>>) -> Option<()> {
    let request = read(stream)?;
    seen.lock().expect("not poisoned").push(request.clone());
    let (status, headers, body) = answer(&request, base, valid);
    let length = body.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = stream;
    stream.write_all(reply.as_bytes()).ok()
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut bearer) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => bearer = value.strip_prefix("Bearer ").map(str::to_owned),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request {
        path: path.to_owned(),
        query: pairs(query),
        body: String::from_utf8(body).ok()?,
        bearer,
    })
}

fn pairs(query: &str) -> HashMap<String, String> {
    let url = format!("http://x/?{query}");
    let url = reqwest::Url::parse(&url).expect("an address");
    url.query_pairs()
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn answer(request: &Request, base: &str, valid: u64) -> (&'static str, String, String) {
    let json = |value: Value| {
        (
            "200 OK",
            "Content-Type: application/json\r\n".to_owned(),
            value.to_string(),
        )
    };
    match request.path.as_str() {
        // Only the answer to a refused request names this address.
        "/where-to-log-in" => {
            json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        })),
        "/register" => {
            let wanted: Value = serde_json::from_str(&request.body).expect("JSON");
            json(json!({"client_id": "client-1", "redirect_uris": wanted["redirect_uris"]}))
        }
        "/authorize" => {
            let (back, state) = (&request.query["redirect_uri"], &request.query["state"]);
            let denied = request.query.contains_key("deny");
            let answer = if denied {
                "error=access_denied"
            } else {
                "code=code-1"
            };
            let to = format!("{back}?{answer}&state={state}");
            ("302 Found", format!("Location: {to}\r\n"), String::new())
        }
        "/token" => {
            let (access, seconds) = match pairs(&request.body)["grant_type"].as_str() {
                "refresh_token" => ("access-token-2", 3_600),
                _ => ("access-token-1", valid),
            };
            json(json!({
                "access_token": access, "token_type": "Bearer", "expires_in": seconds,
                "refresh_token": "refresh-token-1",
            }))
        }
        "/mcp" => talk(request, base),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

fn talk(request: &Request, base: &str) -> (&'static str, String, String) {
    let known = ["access-token-1", "access-token-2"];
    if !request
        .bearer
        .as_deref()
        .is_some_and(|token| known.contains(&token))
    {
        let where_to =
            format!("WWW-Authenticate: Bearer resource_metadata=\"{base}/where-to-log-in\"\r\n");
        return ("401 Unauthorized", where_to, String::new());
    }
    let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "site", "version": "1"},
        }),
        Some("tools/list") => {
            json!({"tools": [{"name": "secret_tool", "inputSchema": {"type": "object"}}]})
        }
        _ => return ("202 Accepted", String::new(), String::new()),
    };
    let reply = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    (
        "200 OK",
        "Content-Type: application/json\r\n".to_owned(),
        reply.to_string(),
    )
}

/// Gets a page as a browser does; returns where it leads.
fn visit(url: &str) -> Option<String> {
    let parsed = reqwest::Url::parse(url).expect("an address");
    let port = parsed.port().expect("a port");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let target = &url[url.find(&port.to_string()).expect("its port") + port.to_string().len()..];
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").expect("sent");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("text");
    let location = page
        .lines()
        .find_map(|line| line.strip_prefix("Location: "));
    location.map(|to| to.trim().to_owned())
}

/// Begins a login without a browser; returns the program and the address to open.
fn begin(program: &Program) -> (Child, String) {
    let mut command = program.command(&["mcp", "login", "site"]);
    command
        .env("PATH", program.workspace())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let stdout = child.stdout.as_mut().expect("a pipe");
    let mut text = String::new();
    let mut byte = [0];
    while !text
        .lines()
        .any(|line| line.starts_with("http") && text.ends_with('\n'))
    {
        let count = stdout.read(&mut byte).expect("readable");
        assert!(count > 0, "it ended: {text}");
        text.push(char::from(byte[0]));
    }
    let address = text.lines().find(|line| line.starts_with("http"));
    (child, address.expect("an address").to_owned())
}

fn with_site(valid: u64) -> (Program, Site) {
    let (program, site) = (Program::new(), Site::open(valid));
    let added = program.run(&["mcp", "add", "--transport", "http", "site", &site.url()]);
    assert_eq!(added.code, Some(0), "{added:?}");
    (program, site)
}

fn log_in(program: &Program) {
    let (child, address) = begin(program);
    let back = visit(&address).expect("it leads back");
    assert_eq!(visit(&back), None);
    let output = finish(child);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains("Logged in"), "{output:?}");
}

#[test]
fn a_server_that_wants_a_login_says_so_and_works_after_it() {
    let (program, site) = with_site(3_600);
    let before = program.run(&["mcp", "test", "site"]);
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(
        before.stdout.contains("agent-tui mcp login site"),
        "{before:?}"
    );
    log_in(&program);
    let after = program.run(&["mcp", "test", "site"]);
    assert_eq!(after.code, Some(0), "{after:?}");
    assert!(after.stdout.contains("mcp__site__secret_tool"), "{after:?}");
    // The login proves that the code belongs to it.
    let [asked] = &site.requests("/authorize")[..] else {
        panic!("one login: {:?}", site.requests("/authorize"));
    };
    assert_eq!(asked.query["code_challenge_method"], "S256");
    assert_eq!(asked.query["resource"], site.url());
    let [got] = &site.requests("/token")[..] else {
        panic!("one token: {:?}", site.requests("/token"));
    };
    let form = pairs(&got.body);
    assert!(form.contains_key("code_verifier"), "{form:?}");
}

#[test]
fn tokens_are_in_a_private_file_and_nowhere_else() {
    let (program, _site) = with_site(3_600);
    log_in(&program);
    let tested = program.run(&["mcp", "test", "site", "--debug"]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    let with_token: Vec<_> = files_below(&program.data())
        .into_iter()
        .chain(files_below(&program.config()))
        .chain(files_below(&program.workspace()))
        .filter(|file| {
            let bytes = std::fs::read(file).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains("access-token")
        })
        .collect();
    let [file] = &with_token[..] else {
        panic!("one file: {with_token:?}");
    };
    let mode = file.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!(tested.stdout + &tested.stderr).contains("access-token"));
}

#[test]
fn a_token_that_expires_is_refreshed() {
    let (program, site) = with_site(1);
    log_in(&program);
    let tested = program.run(&["mcp", "test", "site"]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    let grants: Vec<String> = site
        .requests("/token")
        .iter()
        .map(|request| pairs(&request.body)["grant_type"].clone())
        .collect();
    assert_eq!(grants, ["authorization_code", "refresh_token"]);
    let used = site.requests("/mcp").into_iter().filter_map(|it| it.bearer);
    assert!(used.into_iter().all(|token| token == "access-token-2"));
}

#[test]
fn a_page_that_does_not_know_the_login_cannot_end_it_and_a_refusal_does() {
    let (program, _site) = with_site(3_600);
    let (child, address) = begin(&program);
    let back = visit(&format!("{address}&deny=1")).expect("it leads back");
    let (page, _) = back.split_once('?').expect("parameters");
    assert_eq!(visit(&format!("{page}?code=stolen&state=wrong")), None);
    assert_eq!(visit(&back), None);
    let output = finish(child);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output
            .stderr
            .contains("the login was refused: access_denied"),
        "{output:?}"
    );
}

#[test]
fn the_persons_browser_is_opened_with_the_address() {
    let (program, _site) = with_site(3_600);
    // Reading the pipe waits until the browser has been started.
    let opened = program.path("opened");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &opened, mode).expect("a pipe");
    let script = format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display());
    let browser = program.put("browser", script);
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let mut command = program.command(&["mcp", "login", "site"]);
    let child = command.env("BROWSER", &browser).spawn().expect("started");
    let address = std::fs::read_to_string(&opened).expect("an address");
    let back = visit(address.trim()).expect("it leads back");
    assert_eq!(visit(&back), None);
    let output = finish(child);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains(address.trim()), "{output:?}");
}
