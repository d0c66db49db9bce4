use std::sync::Arc;

use crate::app::commands::Commands;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::pager::{Content, Pager};
use crate::app::dialogs::picker::{Item, Mark, Picker};
use crate::app::job::{Job, JobResult, ModelRow, SessionRow};
use crate::app::page::Line;
use crate::app::rig::{App, change, opened, past};
use crate::app::transcript::{Cell, Entry};
use crate::app::{Effect, ExitReason, Msg, Opening, OpeningSession};
use crate::protocol::{
    AgentEvent, AgentKind, Allows, Block, Command, CustomCommand, Ending, HookInfo, Message, Mode,
    NamedFile, Price, SessionCommand, SessionEvent, Spending, TurnEvent, Usage,
};
use crate::session::Record;
use crate::theme::Theme;

/// The effects of a command, without those that sending any draft has.
pub fn run(app: &mut App, command: &str) -> Vec<Effect> {
    app.update(Msg::Pasted(command.to_owned()));
    let mut effects = app.press("enter");
    effects.retain(|effect| {
        let kept = matches!(
            effect,
            Effect::Start(Job::KeepInHistory(_) | Job::KeepDraft(_))
        );
        !kept
    });
    effects
}

pub fn flash(app: &App) -> Option<&str> {
    app.state.flash.as_ref().map(|flash| flash.text.as_str())
}

pub fn last_notice(app: &App) -> Option<&str> {
    match &app.state.transcript.last()?.cell {
        Cell::Notice { text, .. } => Some(text),
        _ => None,
    }
}

pub fn picker(app: &App) -> &Picker {
    match app.state.dialogs.last() {
        Some(Dialog::Picker(picker)) => picker,
        other => panic!("no list is open: {other:?}"),
    }
}

pub fn pager(app: &App) -> &Pager {
    match app.state.dialogs.last() {
        Some(Dialog::Pager(pager)) => pager,
        other => panic!("no page is open: {other:?}"),
    }
}

/// The open page, as text.
pub fn page(app: &App) -> String {
    let Content::Lines(lines) = &pager(app).content else {
        panic!("the page is not of lines");
    };
    let lines: Vec<String> = lines.iter().map(Line::plain).collect();
    lines.join("\n")
}

#[test]
fn every_command_does_something() {
    for command in Commands::default().all() {
        let mut app = App::new();
        let effects = run(&mut app, &format!("/{}", command.name));
        let happened = !effects.is_empty()
            || !app.state.dialogs.is_empty()
            || app.state.flash.is_some()
            || app.state.transcript.len() > 1;
        assert!(happened, "/{}", command.name);
    }
}

#[test]
fn an_unknown_command_is_not_sent_but_named() {
    let mut app = App::new();
    assert_eq!(run(&mut app, "/nonsense"), []);
    let flash = flash(&app).unwrap_or_default();
    assert!(flash.starts_with("unknown command /nonsense"), "{flash}");
}

#[test]
fn clear_begins_a_new_conversation_but_not_in_the_middle_of_a_turn() {
    let mut app = App::working();
    assert_eq!(run(&mut app, "/clear"), []);
    assert_eq!(flash(&app), Some("still working; press Esc first"));
    app.ends(Ending::Done);
    let opening = Opening {
        session: OpeningSession::New,
        model: None,
        mode: Some(Mode::Default),
    };
    assert_eq!(run(&mut app, "/clear"), [Effect::Open(opening)]);
    assert_eq!(app.state.transcript.len(), 1);
    assert!(app.state.calls.is_empty());
}

#[test]
fn switching_the_model_continues_the_same_conversation_in_the_same_mode() {
    let mut app = App::new();
    app.press("shift+tab shift+tab");
    let opening = Opening {
        session: OpeningSession::Same,
        model: Some("other".to_owned()),
        mode: Some(Mode::Plan),
    };
    assert_eq!(run(&mut app, "/model other"), [Effect::Open(opening)]);
}

#[test]
fn an_earlier_conversation_is_chosen_from_a_list_or_by_its_id() {
    let open = |id: &str| {
        Effect::Open(Opening {
            session: OpeningSession::Id(id.to_owned()),
            model: None,
            mode: Some(Mode::Default),
        })
    };
    let mut app = App::new();
    assert_eq!(run(&mut app, "/resume abc"), [open("abc")]);
    let mut app = App::new();
    assert_eq!(
        run(&mut app, "/sessions"),
        [Effect::Start(Job::ListSessions { everywhere: false })]
    );
    let row = |id: &str| SessionRow {
        id: id.to_owned(),
        when: "yesterday".to_owned(),
        title: format!("about {id}"),
        ..SessionRow::default()
    };
    // The first one is the open session; the selection starts after it.
    let rows = vec![row("session"), row("one"), row("two")];
    app.update(Msg::JobDone(JobResult::Sessions(rows)));
    assert_eq!(app.press("down enter"), [open("two")]);
}

#[test]
fn the_changes_of_a_conversation_are_shown_again() {
    let mut app = App::working();
    assert_eq!(run(&mut app, "/diff"), []);
    assert_eq!(flash(&app), Some("no changes in this session yet"));
    app.tool("a", "Edit").running().changes(change());
    run(&mut app, "/diff");
    let pager = pager(&app);
    assert_eq!(pager.title, "1 change in this session");
    assert!(matches!(&pager.content, Content::Changes(calls) if calls.len() == 1));
    app.press("esc");
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn cost_says_what_is_known() {
    let mut app = App::working();
    run(&mut app, "/cost");
    let text = page(&app);
    assert!(
        text.contains("no price known for this model; set it under \"prices\""),
        "{text}"
    );
    app.press("esc");
    app.turn_event(TurnEvent::Spent(Spending {
        used: Usage {
            input_tokens: Some(10),
            output_tokens: Some(20),
            cache_read_input_tokens: Some(30),
            cache_creation_input_tokens: Some(4),
            ..Usage::default()
        },
        cost: Some(0.126),
        context: Some(64),
    }));
    run(&mut app, "/cost");
    let expected = [
        "tokens in       14",
        "tokens out      20",
        "from the cache  30",
        "context         64 of 200000 tokens (0 %)",
        "cost            $0.13",
    ];
    assert_eq!(page(&app), expected.join("\n"));
}

#[test]
fn tools_lists_what_the_model_can_use() {
    let mut app = App::new();
    run(&mut app, "/tools");
    let tools = picker(&app);
    let is_off = |item: &&Item| item.about.ends_with("· off");
    let (off, offered): (Vec<&Item>, Vec<&Item>) = tools.shown().partition(is_off);
    let names: Vec<&str> = offered.iter().map(|item| item.label.as_str()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let off: Vec<&str> = off.iter().map(|item| item.label.as_str()).collect();
    // Nothing was added with files here, and no subagents.
    let without_use = ["Skill", "SlashCommand", "Task", "TaskOutput"];
    assert!(without_use.iter().all(|name| off.contains(name)), "{off:?}");
    assert!(
        ["Bash", "Edit", "Read"]
            .iter()
            .all(|name| names.contains(name))
    );
    let bash = tools.shown().find(|item| item.label == "Bash");
    let bash = bash.expect("it is listed");
    assert_eq!(bash.about, "built in · asks unless read-only");
    assert!(bash.hint.ends_with(" tokens"), "{}", bash.hint);
    let preview: Vec<String> = bash.preview.iter().map(Line::plain).collect();
    assert!(preview.iter().any(|line| line.contains("\"command\": {")));
}

#[test]
fn a_theme_can_be_named_and_a_wrong_name_is_reported() {
    let mut app = App::new();
    let keep = Job::KeepTheme("light".to_owned());
    assert_eq!(run(&mut app, "/theme light"), [Effect::Start(keep)]);
    assert_eq!(app.state.settings.theme.name, "light");
    let list = || [Effect::Start(Job::ListThemes)];
    assert_eq!(run(&mut app, "/theme lihgt"), list());
    app.update(Msg::JobDone(JobResult::Themes(Vec::new())));
    assert_eq!(flash(&app), Some("no theme named \"lihgt\"; see /theme"));
}

#[test]
fn init_is_a_message_that_shows_its_name_only() {
    let mut app = App::new();
    let effects = run(&mut app, "/init");
    let [Effect::Send(Command::Session(SessionCommand::Submit(_)))] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let shown = app.state.transcript.last().map(|entry| entry.cell.clone());
    let text = "/init".to_owned();
    assert_eq!(shown, Some(Cell::User { text, images: 0 }));
}

#[test]
fn quit_quits_even_while_a_turn_runs() {
    let mut app = App::working();
    assert_eq!(run(&mut app, "/quit"), [Effect::Quit(ExitReason::Asked)]);
}

#[test]
fn settings_are_replaced_as_a_whole_when_the_theme_changes() {
    let mut app = App::new();
    let before = Arc::clone(&app.state.settings);
    run(&mut app, "/theme dark");
    assert!(!Arc::ptr_eq(&before, &app.state.settings));
    assert_eq!(app.state.settings.theme_epoch, before.theme_epoch + 1);
}

#[test]
fn opening_another_conversation_does_not_stop_the_persons_command() {
    let mut app = App::new();
    app.aside("person_1", "sleep 5");
    for command in ["/clear", "/model other", "/resume abc"] {
        assert_eq!(run(&mut app, command), [], "{command}");
        assert_eq!(
            flash(&app),
            Some("your command is still running; press Esc first")
        );
    }
}

#[test]
fn another_conversation_starts_with_an_empty_queue() {
    let mut app = App::working();
    app.types("later");
    app.press("enter");
    app.press("esc");
    app.ends(Ending::Interrupted);
    run(&mut app, "/clear");
    assert!(app.state.queue.is_empty());
    assert_eq!(app.draft(), "later");
    app.press("ctrl+c");
    app.accept_message("from elsewhere");
    let last = app.state.transcript.last().map(|entry| entry.cell.clone());
    let text = "from elsewhere".to_owned();
    assert_eq!(last, Some(Cell::User { text, images: 0 }));
}

#[test]
fn a_custom_theme_can_be_named() {
    let mut app = App::new();
    let list = Effect::Start(Job::ListThemes);
    assert_eq!(run(&mut app, "/theme mine"), [list]);
    let mut mine = Theme::plain();
    mine.name = "mine".to_owned();
    let themes = vec![Theme::plain(), mine];
    let effects = app.update(Msg::JobDone(JobResult::Themes(themes)));
    let keep = Job::KeepTheme("mine".to_owned());
    assert_eq!(effects, [Effect::Start(keep)]);
    assert_eq!(app.state.settings.theme.name, "mine");
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn the_theme_can_follow_the_terminal_again() {
    let mut app = App::new();
    let keep = Job::KeepTheme("auto".to_owned());
    assert_eq!(run(&mut app, "/theme auto"), [Effect::Start(keep)]);
    assert!(app.state.flash.is_some());
}

#[test]
fn a_refusal_is_said_with_its_hint_below_the_conversation_that_comes_back() {
    let mut app = App::new();
    run(&mut app, "/resume nonsense");
    app.update(Msg::Refused {
        problem: "there is no such session".to_owned(),
        hint: Some("see `agent-tui sessions`".to_owned()),
    });
    app.types("hello");
    app.press("enter");
    let message = Message::user("before");
    let past = past([Record::User { message }]);
    app.receive(AgentEvent::Session(SessionEvent::Opened(opened(past))));
    let notice_of = |entry: &Entry| match &entry.cell {
        Cell::User { text, .. } | Cell::Notice { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    let entries = app.state.transcript.entries();
    let texts: Vec<String> = entries.iter().map(notice_of).collect();
    let expected = [
        "Welcome",
        "before",
        "there is no such session",
        "see `agent-tui sessions`",
        "hello",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn hooks_lists_active_hooks_by_event_with_their_file() {
    let mut app = App::new();
    let list = Effect::Send(Command::Session(SessionCommand::ListHooks));
    assert_eq!(run(&mut app, "/hooks"), [list]);
    app.receive(AgentEvent::Session(SessionEvent::Hooks(Vec::new())));
    assert_eq!(
        flash(&app),
        Some("no active hooks (add them under \"hooks\" in settings)")
    );
    let hooks = vec![HookInfo {
        event: "PreToolUse",
        matcher: "Edit|Write".to_owned(),
        command: "./guard.sh".to_owned(),
        origin: ".claude/settings.json".to_owned(),
    }];
    app.receive(AgentEvent::Session(SessionEvent::Hooks(hooks)));
    let hook = picker(&app).chosen().expect("a hook").clone();
    assert_eq!(&*hook.group, "PreToolUse");
    assert_eq!((&*hook.label, &*hook.about), ("Edit|Write", "./guard.sh"));
    assert_eq!(hook.hint, ".claude/settings.json");
    app.press("enter");
    let whole =
        "event  PreToolUse\nfor    Edit|Write\nfrom   .claude/settings.json\n\nCommand\n./guard.sh";
    assert_eq!(page(&app), whole);
    app.press("esc");
    assert_eq!(picker(&app).len(), 1, "the list is open again");
}

#[test]
fn the_doctors_findings_are_a_page_that_esc_closes() {
    let mut app = App::new();
    assert_eq!(run(&mut app, "/doctor"), [Effect::Start(Job::Examine)]);
    assert_eq!(flash(&app), Some("checking …"));
    let findings = ["settings", "  ok", "rules", "  none"]
        .map(Line::text)
        .to_vec();
    app.update(Msg::JobDone(JobResult::Examined(findings)));
    assert_eq!(page(&app), "settings\n  ok\nrules\n  none");
    assert_eq!(flash(&app), None, "it is there");
    app.press("esc");
    assert!(app.state.dialogs.is_empty());
    assert_eq!(app.state.transcript.len(), 1, "nothing of it stays");
}

#[test]
fn models_are_chosen_from_a_list_and_others_by_typing_their_names() {
    let mut app = App::new();
    let provider = "builtin".to_owned();
    assert_eq!(
        run(&mut app, "/model"),
        [Effect::Start(Job::ListModels { provider })]
    );
    let row = |name: &str| ModelRow {
        name: name.to_owned(),
        context: Some(200_000),
        price: Some(Price {
            input: 3.0,
            output: 15.0,
        }),
        source: "settings".to_owned(),
    };
    app.update(Msg::JobDone(JobResult::Models(vec![
        row("small"),
        row("large"),
    ])));
    let items: Vec<(&str, &str)> = picker(&app)
        .shown()
        .map(|item| (item.label.as_str(), item.hint.as_str()))
        .collect();
    let hint = "$3 in · $15 out · 200k context";
    assert_eq!(
        items,
        [
            ("builtin", "200k context"),
            ("small", hint),
            ("large", hint)
        ]
    );
    let current = picker(&app).chosen().and_then(|item| item.mark);
    assert_eq!(current, Some(Mark::Current));
    app.types("larger");
    let effects = app.press("enter");
    let [Effect::Open(opening)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(opening.model.as_deref(), Some("larger"));
}

fn custom(name: &str, arguments: &str, about: &str) -> CustomCommand {
    CustomCommand {
        name: name.into(),
        arguments: arguments.into(),
        about: about.into(),
        prompt: "Review $ARGUMENTS with care.".into(),
        allows: Allows {
            rules: Vec::new(),
            file: NamedFile {
                path: "/config/commands/c.md".into(),
                name: "c.md".into(),
            },
        },
        model: None,
        for_model: true,
        skill: None,
    }
}

#[test]
fn a_custom_command_is_completed_and_sent_with_its_arguments() {
    let mut app = App::new();
    app.receive(AgentEvent::Session(SessionEvent::Commands(vec![
        custom("review", "[FILE]", "review a file"),
        custom("quit", "", "a name that is taken"),
    ])));
    app.types("/revi");
    let completion = app.state.composer.completion().expect("it is completed");
    let item = completion.chosen().expect("something to choose");
    assert_eq!(
        (item.name.as_str(), &*item.arguments, &*item.about),
        ("review", "[FILE]", "review a file")
    );
    app.press("tab");
    assert_eq!(app.draft(), "/review ");
    app.types("a.rs");
    let effects = app.press("enter");
    let sent = effects.iter().find_map(|effect| match effect {
        Effect::Send(Command::Session(SessionCommand::Submit(blocks))) => Some(blocks.clone()),
        _ => None,
    });
    assert_eq!(
        sent,
        Some(vec![Block::text("/review a.rs")]),
        "the agent fills it in"
    );
    app.ends(Ending::Done);
    assert_eq!(run(&mut app, "/quit"), [Effect::Quit(ExitReason::Asked)]);
}

#[test]
fn agents_lists_the_types_with_tools_model_and_source() {
    let mut app = App::new();
    let list = Command::Session(SessionCommand::ListAgents);
    assert_eq!(run(&mut app, "/agents"), [Effect::Send(list)]);
    let kind = AgentKind {
        name: "reviewer".into(),
        description: "Use it after changes".into(),
        prompt: "You review.".into(),
        tools: Some(vec!["Read".into(), "Grep".into()]),
        disallowed: Vec::new(),
        model: Some("fast".into()),
        mode: None,
        max_turns: 50,
        source: ".claude/agents/r.md".into(),
    };
    let text = AgentEvent::Session(SessionEvent::Agents(vec![kind]));
    app.update(Msg::Agent(text.into()));
    let Some(Dialog::Picker(picker)) = app.state.dialogs.last() else {
        panic!("a list is open");
    };
    let item = picker.shown().next().expect("one");
    assert_eq!(item.label, "reviewer");
    assert_eq!(item.about, "Read, Grep · fast");
    assert_eq!(item.hint, ".claude/agents/r.md");
}
