use std::collections::BTreeMap;

use super::*;

/// A person's and a project's files.
struct ElicitationRouter {
    home: tempfile::TempDir,
    command_line: Vec<String>,
    trusted: bool,
    attended: bool,
}

impl ElicitationRouter {
    fn new() -> Self {
        Self {
            home: tempfile::tempdir().expect("a directory"),
            command_line: Vec::new(),
            trusted: true,
            attended: true,
        }
    }

    /// A project with this `.mcp.json`.
    fn with(servers: &str) -> Self {
        let router = Self::new();
        router.put("work/.mcp.json", servers);
        router
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    fn memory(&self) -> Memory {
        Memory::new(
            &self.home.path().join("data"),
            &self.home.path().join("work"),
        )
    }

    fn load(&self) -> Loaded {
        let home = self.home.path();
        let files = Files::read(&home.join("config"), &home.join("work"), None);
        load(Inputs {
            files: &files,
            command_line: &self.command_line,
            trusted: self.trusted,
            memory: &self.memory(),
            attended: self.attended,
            variables: &|name| (name == "TOKEN").then(|| "hunter22".to_owned()),
        })
    }

    /// The only server.
    fn only(&self) -> Server {
        let loaded = self.load();
        assert_eq!((loaded.errors, loaded.unusable), (vec![], vec![]));
        let [server] = <[Server; 1]>::try_from(loaded.servers).expect("one server");
        server
    }

    /// The commands of all servers, by name, with their sources.
    fn commands(&self) -> Vec<(String, String, Source)> {
        let servers = self.load().servers.into_iter();
        servers.map(|it| (it.name, it.shown, it.source)).collect()
    }

    fn errors(&self) -> Vec<String> {
        let root = self.home.path().join("work").display().to_string();
        let errors = self.load().errors.into_iter();
        errors
            .map(|it| it.to_string().replace(&format!("{root}/"), ""))
            .collect()
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_program_and_an_address_are_read_with_all_their_fields() {
    let program = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "timeout": 5000}}}"#,
    )
    .only();
    assert_eq!(
        program.transport,
        Transport::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: map(&[("K", "v")]),
        }
    );
    assert_eq!(
        (program.timeout, program.source, program.file, program.shown),
        (
            Duration::from_secs(5),
            Source::Project,
            ".mcp.json".to_owned(),
            "npx -y x".to_owned()
        )
    );
    let address = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"type": "http", "url": "https://x/mcp", "headers": {"A": "b"}}}}"#,
    )
    .only();
    assert_eq!(
        (address.transport, address.timeout),
        (
            Transport::Http {
                url: "https://x/mcp".to_owned(),
                headers: map(&[("A", "b")]),
            },
            TIMEOUT
        )
    );
}

#[test]
fn a_type_is_optional_and_comments_are_skipped() {
    let router = ElicitationRouter::with(
        "{\n  // mine\n  \"mcpServers\": {\"a\": {\"url\": \"http://x\"}, \"b\": {\"command\": \"c\"}}\n}",
    );
    let transports: Vec<bool> = router
        .load()
        .servers
        .iter()
        .map(|server| matches!(server.transport, Transport::Http { .. }))
        .collect();
    assert_eq!(transports, [true, false]);
}

#[test]
fn variables_are_expanded_everywhere_and_never_shown() {
    let program = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"command": "${SHELL_:-sh}", "args": ["--token", "${TOKEN}"], "env": {"K": "x-${TOKEN}"}}}}"#,
    )
    .only();
    assert_eq!(
        program.transport,
        Transport::Stdio {
            command: "sh".to_owned(),
            args: vec!["--token".to_owned(), "hunter22".to_owned()],
            env: map(&[("K", "x-hunter22")]),
        }
    );
    assert_eq!(program.shown, "${SHELL_:-sh} --token ${TOKEN}");
    let address = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"url": "https://${HOST:-x}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}"#,
    )
    .only();
    assert_eq!(
        (address.transport.secrets(), &*address.shown),
        (vec!["hunter22".to_owned()], "https://${HOST:-x}/mcp")
    );
}

#[test]
fn a_variable_that_is_not_set_is_named_and_costs_only_its_server() {
    let router = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET}"}}, "b": {"command": "y"}}}"#,
    );
    let loaded = router.load();
    let why: Vec<&str> = loaded.unusable.iter().map(|it| it.why.as_str()).collect();
    assert_eq!(
        why,
        ["${NOT_SET} is not set; set it, or write ${NOT_SET:-default}"]
    );
    assert_eq!((loaded.servers.len(), loaded.errors), (1, vec![]));
}

#[test]
fn a_mistake_is_reported_with_its_file_line_and_column() {
    for (text, error) in [
        (
            "{\n  \"mcpServers\": {,}\n}",
            "`.mcp.json`, line 2, column 18: key must be a string",
        ),
        (
            "[]",
            "`.mcp.json`, line 1, column 1: expected an object: `{\"mcpServers\": { … }}`",
        ),
        (
            "{\"mcpServers\": []}",
            "`.mcp.json`, line 1, column 16: `mcpServers` must be an object: {\"NAME\": { … }}",
        ),
        (
            "{\"a\": {\"command\": \"x\"}}",
            "`.mcp.json`, line 1, column 1: put the servers inside `mcpServers`",
        ),
        (
            "{\"mcpServers\": {\"a\": {\n\"command\": 7}}}",
            "`.mcp.json`, line 2, column 12: `command` of MCP server `a` must be a text",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"args\": [\"y\", 1]}}}",
            "`.mcp.json`, line 2, column 9: `args` of MCP server `a` must be a list of texts",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"args\": []}}}",
            "`.mcp.json`, line 1, column 22: MCP server `a` needs `command` or `url`",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"type\": \"htp\", \"url\": \"http://x\"}}}",
            "`.mcp.json`, line 1, column 31: `type` of MCP server `a` must be `stdio` or `http`",
        ),
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"timeout\": -1}}}",
            "`.mcp.json`, line 1, column 50: `timeout` of MCP server `a` must be a whole number of milliseconds above 0",
        ),
        (
            "{\"mcpServers\": {\"a\": 3}}",
            "`.mcp.json`, line 1, column 22: MCP server `a` must be an object with `command` or `url`",
        ),
    ] {
        assert_eq!(ElicitationRouter::with(text).errors(), [error], "{text}");
    }
}

#[test]
fn an_unknown_field_is_named_and_the_server_still_works() {
    let router =
        ElicitationRouter::with(r#"{"mcpServers": {"a": {"command": "x", "comand": "y"}}}"#);
    let loaded = router.load();
    assert_eq!(loaded.servers.len(), 1);
    let [warning] = &loaded.warnings[..] else {
        panic!("one warning: {:?}", loaded.warnings);
    };
    assert!(
        warning.ends_with(
            ".mcp.json`, line 1, column 39: unknown field `comand` of MCP server `a`; did you mean `command`?"
        ),
        "{warning}"
    );
}

#[test]
fn the_highest_file_that_names_a_server_defines_it() {
    let mut router = ElicitationRouter::new();
    let server =
        |command: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "{command}"}}}}}}"#);
    let expect = |router: &ElicitationRouter, command: &str, source: Source| {
        assert_eq!(
            router.commands(),
            [("a".to_owned(), command.to_owned(), source)]
        );
    };
    router.put("config/settings.json", &server("user"));
    expect(&router, "user", Source::User);
    router.put("work/.mcp.json", &server("shared"));
    expect(&router, "shared", Source::Project);
    router.put("work/.claude/settings.local.json", &server("claude"));
    expect(&router, "claude", Source::Local);
    router.put("work/.agent-tui/settings.json", &server("project"));
    expect(&router, "project", Source::Project);
    router.put("work/.agent-tui/settings.local.json", &server("local"));
    expect(&router, "local", Source::Local);
    router.put("named.json", &server("named"));
    let named = router.home.path().join("named.json");
    router.command_line.push(named.display().to_string());
    expect(&router, "named", Source::CommandLine(named));
    router.command_line.push(server("typed"));
    expect(&router, "typed", Source::CommandLine(INLINE.into()));
}

#[test]
fn a_project_that_is_not_trusted_does_not_replace_the_persons_own_server() {
    let mut router = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"command": "evil"}, "b": {"command": "x"}}}"#,
    );
    router.trusted = false;
    router.put(
        "config/settings.json",
        r#"{"mcpServers": {"a": {"command": "mine"}}}"#,
    );
    let servers = router.load().servers;
    let servers: Vec<(&str, bool)> = servers.iter().map(|it| (&*it.shown, it.trusted)).collect();
    assert_eq!(servers, [("mine", true), ("x", false)]);
}

#[test]
fn trust_in_one_server_ends_when_its_command_changes() {
    let mut router = ElicitationRouter::with(
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#,
    );
    router.trusted = false;
    let trusted = |router: &ElicitationRouter| -> Vec<bool> {
        router.load().servers.iter().map(|it| it.trusted).collect()
    };
    assert_eq!(trusted(&router), [false, false]);
    let mark = router.load().servers[0].mark.clone();
    router.memory().trust_server(&mark).expect("kept");
    assert_eq!(trusted(&router), [true, false]);
    router.attended = false;
    assert_eq!(trusted(&router), [false, false], "nobody is there");
    router.memory().add_server(&mark).expect("kept");
    assert_eq!(trusted(&router), [true, false], "added by the person");
    router.attended = true;
    router.put(
        "work/.mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["--evil"]}}}"#,
    );
    assert_eq!(trusted(&router), [false]);
}

#[test]
fn a_server_that_is_off_or_of_an_unknown_kind_says_so() {
    let router = ElicitationRouter::with(
        r#"{"mcpServers": {
            "off": {"command": "x", "disabled": true},
            "old": {"type": "sse", "url": "http://x"},
            "ftp": {"url": "ftp://me:hunter22@x"},
            "bad": {"url": "http://x", "headers": {"A": "b\nc"}}
        }}"#,
    );
    let unusable = router.load().unusable;
    let unusable: Vec<_> = unusable
        .iter()
        .map(|it| (&*it.name, it.state, &*it.why))
        .collect();
    assert_eq!(
        unusable,
        [
            ("bad", McpState::Unusable, "header `A` is not valid in HTTP"),
            (
                "ftp",
                McpState::Unusable,
                "`ftp://****@x` is not an http or https address"
            ),
            ("off", McpState::Disabled, "`disabled` in .mcp.json"),
            (
                "old",
                McpState::Unusable,
                "type `sse` is not supported; use `http` or `stdio`"
            ),
        ]
    );
}

#[test]
fn a_named_file_that_does_not_exist_is_an_error() {
    let mut router = ElicitationRouter::new();
    router.command_line.push("/nowhere/x.json".to_owned());
    let errors = router.errors();
    assert_eq!(
        errors,
        ["can't read `/nowhere/x.json`: No such file or directory (os error 2)"]
    );
    router.command_line = vec!["{\"mcpServers\": 1}".to_owned()];
    assert_eq!(
        router.errors(),
        ["`--mcp-config`, line 1, column 16: `mcpServers` must be an object: {\"NAME\": { … }}"]
    );
}
