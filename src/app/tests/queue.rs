//! Messages sent while a turn runs: when they are sent, when they come back, and how the person takes them back.

use super::sending::sent_prompts;
use crate::app::flash::Tone;
use crate::app::job::JobResult;
use crate::app::pointer::{Pointer, PointerKind, Target};
use crate::app::rig::{App, millis, submit};
use crate::app::transcript::Cell;
use crate::app::{Effect, Msg, Stage};
use crate::protocol::{
    AgentEvent, Block, Command, Ending, Image, QueuedSelection, SessionCommand, SessionEvent,
    TurnCommand, TurnEvent,
};

fn waiting(app: &App) -> Vec<&str> {
    let queue = app.state.queue.iter();
    queue.map(|waiting| waiting.shown.as_str()).collect()
}

/// Sends a message while the turn runs.
fn queue(app: &mut App, text: &str) {
    app.types(text);
    assert_eq!(app.commands("enter"), [submit(text)]);
}

fn want(text: &str) -> Command {
    let message = vec![Block::text(text)];
    Command::Session(SessionCommand::TakeBack(QueuedSelection::One(message)))
}

/// The agent gives these back.
fn return_messages(app: &mut App, texts: &[&str]) -> Vec<Effect> {
    let messages = texts.iter().map(|text| vec![Block::text(*text)]);
    let taken = SessionEvent::TakenBack(messages.collect());
    app.receive(AgentEvent::Session(taken))
}

fn flash(app: &App) -> Option<&str> {
    app.state.flash.as_ref().map(|flash| flash.text.as_str())
}

#[test]
fn a_message_sent_while_a_turn_runs_is_queued_visibly() {
    let mut app = App::working();
    queue(&mut app, "and the docs");
    assert_eq!(waiting(&app), ["and the docs"]);
    assert_eq!(sent_prompts(&app), ["fix the failing test"]);

    app.accept_message("and the docs");
    assert!(app.state.queue.is_empty());
    assert_eq!(sent_prompts(&app), ["fix the failing test", "and the docs"]);
}

#[test]
fn a_queued_message_is_shown_as_it_looked_in_the_queue() {
    let mut app = App::working();
    app.update(Msg::Pasted("line\n".repeat(100)));
    app.press("enter");
    let waited = waiting(&app)[0].to_owned();
    app.accept_message(&"line\n".repeat(100));
    assert_eq!(sent_prompts(&app)[1], waited);
    assert!(waited.len() < 50, "{waited:?}");
}

#[test]
fn enter_on_an_empty_line_sends_the_queue_at_once() {
    let mut app = App::working();
    queue(&mut app, "rather this");
    assert_eq!(
        app.commands("enter"),
        [Command::Turn(TurnCommand::SendQueue)]
    );
    assert_eq!(
        app.state.work().map(|work| &work.stage),
        Some(&Stage::Interrupting)
    );

    // The turn stops to send the message, which does not come back.
    assert_eq!(app.ends(Ending::Interrupted), []);
    app.accept_message("rather this");
    assert!(app.state.queue.is_empty());
    assert!(app.state.is_working());
}

#[test]
fn enter_on_an_empty_line_shows_the_end_where_the_message_will_be() {
    let mut app = App::working();
    queue(&mut app, "rather this");
    app.press("pgup");
    assert!(!app.state.scroll.is_following());
    app.press("enter");
    assert!(app.state.scroll.is_following());
}

#[test]
fn enter_twice_on_an_empty_line_interrupts_once() {
    let mut app = App::working();
    queue(&mut app, "rather this");
    app.press("enter");
    assert_eq!(app.press("enter"), []);
    assert_eq!(app.press("enter"), []);
}

#[test]
fn after_an_interrupt_the_agent_gives_queued_messages_back() {
    let mut app = App::working();
    queue(&mut app, "later");
    app.types("half a thou");
    assert_eq!(app.commands("esc"), [Command::Turn(TurnCommand::Interrupt)]);
    assert_eq!(waiting(&app), ["later"], "it may be on its way out");
    return_messages(&mut app, &["later"]);
    assert!(app.state.queue.is_empty());
    assert_eq!(app.draft(), "later\nhalf a thou");
    assert_eq!(app.ends(Ending::Interrupted), []);
}

#[test]
fn messages_that_come_back_as_one_say_so() {
    let mut app = App::working();
    queue(&mut app, "first");
    queue(&mut app, "second");
    app.press("esc");
    return_messages(&mut app, &["first", "second"]);
    assert_eq!(app.draft(), "first\n\nsecond");
    let event = app.state.flash.as_ref().map(|flash| flash.text.as_str());
    assert_eq!(
        event,
        Some("2 queued messages are back in the input, as one")
    );
}

#[test]
fn a_message_sent_while_the_turn_stops_stays_queued_and_is_sent() {
    let mut app = App::working();
    queue(&mut app, "before");
    app.press("esc");
    queue(&mut app, "rather this");
    return_messages(&mut app, &["before"]);
    assert_eq!(waiting(&app), ["rather this"]);
    assert_eq!(app.draft(), "before");
    assert_eq!(app.ends(Ending::Interrupted), []);
    assert_eq!(waiting(&app), ["rather this"]);
    app.accept_message("rather this");
    assert_eq!(sent_prompts(&app), ["fix the failing test", "rather this"]);
    assert!(app.state.is_working());
}

#[test]
fn a_second_interrupt_takes_nothing_back() {
    let mut app = App::working();
    app.press("esc");
    queue(&mut app, "rather this");
    app.press("esc");
    assert_eq!(app.press("enter"), []);
    app.ends(Ending::Interrupted);
    app.accept_message("rather this");
    assert_eq!(app.draft(), "");
}

#[test]
fn a_message_after_one_that_is_about_to_be_sent_waits_behind_it() {
    let mut app = App::working();
    app.press("esc");
    queue(&mut app, "first");
    app.ends(Ending::Interrupted);
    queue(&mut app, "second");
    assert_eq!(waiting(&app), ["first", "second"]);
    app.accept_message("first").accept_message("second");
    assert_eq!(sent_prompts(&app)[1..], ["first", "second"]);
}

#[test]
fn enter_while_a_message_comes_back_sends_it_once_it_is_there() {
    let mut app = App::working();
    queue(&mut app, "later");
    app.press("esc");
    assert_eq!(app.press("enter"), []);
    let sent = Effect::Send(submit("later"));
    assert!(return_messages(&mut app, &["later"]).contains(&sent));
    assert_eq!(app.draft(), "");
}

#[test]
fn enter_is_forgotten_if_the_message_was_sent_before_it_came_back() {
    let mut app = App::working();
    queue(&mut app, "later");
    app.press("up enter");
    app.accept_message("later");
    queue(&mut app, "another");
    app.press("up");
    assert_eq!(return_messages(&mut app, &["another"]), []);
    assert_eq!(app.draft(), "another");
}

#[test]
fn up_on_the_empty_line_takes_the_last_one_back_for_editing() {
    let mut app = App::working();
    queue(&mut app, "one");
    queue(&mut app, "two");
    assert_eq!(app.commands("up"), [want("two")]);
    assert_eq!(waiting(&app), ["one", "two"], "until the agent has said so");
    return_messages(&mut app, &["two"]);
    assert_eq!(waiting(&app), ["one"]);
    assert_eq!(app.draft(), "two");
    // In a draft, ↑ works as usual.
    assert_eq!(app.commands("up"), []);
    assert_eq!(waiting(&app), ["one"]);
}

#[test]
fn a_turn_is_not_stopped_for_a_message_that_is_being_taken_back() {
    let mut app = App::working();
    queue(&mut app, "one");
    app.press("up");
    assert_eq!(app.press("enter"), []);
    let stage = app.state.work().map(|work| &work.stage);
    assert_eq!(stage, Some(&Stage::Running));
}

#[test]
fn a_turn_that_accepts_the_message_it_was_stopping_for_continues() {
    let mut app = App::working();
    queue(&mut app, "one");
    app.press("enter");
    app.accept_message("one");
    let stage = app.state.work().map(|work| &work.stage);
    assert_eq!(stage, Some(&Stage::Running));
}

#[test]
fn up_twice_takes_two_back_each_once() {
    let mut app = App::working();
    queue(&mut app, "same");
    queue(&mut app, "same");
    assert_eq!(app.commands("up up up"), [want("same"), want("same")]);
    return_messages(&mut app, &["same"]);
    assert_eq!(waiting(&app), ["same"]);
    return_messages(&mut app, &["same"]);
    assert!(app.state.queue.is_empty());
    assert_eq!(app.draft(), "same\nsame");
}

#[test]
fn a_message_that_was_sent_before_it_could_be_taken_back_is_sent_once() {
    let mut app = App::working();
    queue(&mut app, "one");
    app.press("up");
    app.accept_message("one");
    return_messages(&mut app, &[]);
    assert_eq!(flash(&app), Some("already sent"));
    assert_eq!(app.draft(), "");
    assert!(app.state.queue.is_empty());
}

#[test]
fn a_click_takes_any_of_them_back() {
    let mut app = App::working();
    queue(&mut app, "one");
    queue(&mut app, "two");
    let click = |number| {
        Msg::Pointed(Pointer {
            kind: PointerKind::Pressed { times: 1 },
            target: Target::Queued(number),
        })
    };
    assert_eq!(app.update(click(0)), [Effect::Send(want("one"))]);
    assert_eq!(app.update(click(0)), [], "it is on its way");
    assert_eq!(app.update(click(7)), []);
    return_messages(&mut app, &["one"]);
    assert_eq!(waiting(&app), ["two"]);
}

#[test]
fn any_of_them_is_taken_back_or_removed_in_a_list() {
    let mut app = App::working();
    for text in ["one", "two", "three"] {
        queue(&mut app, text);
    }
    assert_eq!(app.commands("alt+up up enter"), [want("two")]);
    assert!(app.state.dialogs.is_empty());
    return_messages(&mut app, &["two"]);
    assert_eq!(app.draft(), "two");

    assert_eq!(app.commands("alt+up up ctrl+d"), [want("one")]);
    return_messages(&mut app, &["one"]);
    assert_eq!(flash(&app), Some("message removed"));
    assert_eq!(app.draft(), "two");
    assert_eq!(waiting(&app), ["three"]);
    // The list follows the queue, and closes when nothing is left.
    assert_eq!(app.state.dialogs.len(), 1);
    app.accept_message("three");
    assert!(app.state.dialogs.is_empty());
    app.press("alt+up");
    assert_eq!(flash(&app), Some("no queued messages"));
}

#[test]
fn a_message_that_is_sent_moves_no_other_under_the_key_in_the_list() {
    let mut app = App::working();
    for text in ["one", "two", "three"] {
        queue(&mut app, text);
    }
    app.press("alt+up up");
    app.accept_message("one");
    assert_eq!(app.commands("ctrl+d"), [want("two")]);
}

#[test]
fn with_an_empty_queue_up_goes_through_the_history() {
    let mut app = App::working();
    assert_eq!(app.commands("up"), []);
    assert_eq!(app.draft(), "fix the failing test");
}

#[test]
fn taking_nothing_back_leaves_the_draft_alone() {
    let mut app = App::typed("draft");
    return_messages(&mut app, &[]);
    assert_eq!(app.draft(), "draft");
}

#[test]
fn a_queued_image_comes_back_with_its_message() {
    let mut app = App::working();
    app.update(Msg::Pasted("/tmp/a.png".to_owned()));
    let image = Block::Image(Image::base64("image/png", "AAAA"));
    app.update(Msg::JobDone(JobResult::Attached {
        path: "/tmp/a.png".into(),
        result: Ok(image.clone()),
    }));
    let sent = app.commands("enter");
    let [Command::Session(SessionCommand::Submit(blocks))] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    assert!(blocks.contains(&image));
    app.receive(AgentEvent::Session(SessionEvent::TakenBack(vec![
        blocks.clone(),
    ])));
    let event = app.state.flash.as_ref().map(|flash| flash.tone);
    assert_eq!(event, Some(Tone::Information));
    assert_eq!(app.commands("enter"), sent);
}

#[test]
fn an_image_that_cannot_be_restored_is_reported() {
    let mut app = App::working();
    let image = Block::Image(Image::base64("image/png", "AAAA"));
    let message = vec![image, Block::text("what is it?")];
    app.receive(AgentEvent::Session(SessionEvent::TakenBack(vec![message])));
    assert_eq!(app.draft(), "what is it?");
    let flash = app.state.flash.as_ref().map(|flash| flash.text.as_str());
    assert_eq!(
        flash,
        Some("an image could not be put back; attach it again")
    );
}

fn retrying(app: &mut App, problem: &str) {
    app.turn_event(TurnEvent::Retrying {
        problem: problem.to_owned(),
        attempt: 1,
        wait: millis(5000),
    });
}

#[test]
fn before_a_retry_every_letter_is_typed_and_enter_on_the_empty_line_tries_at_once() {
    let mut app = App::working();
    retrying(&mut app, "overloaded");
    assert_eq!(
        app.commands("enter"),
        [Command::Turn(TurnCommand::RetryNow)]
    );
    app.types("rather stop");
    assert_eq!(app.draft(), "rather stop");
    assert_eq!(app.commands("enter"), [submit("rather stop")]);
    // The queued message goes out with the next attempt.
    assert_eq!(
        app.commands("enter"),
        [Command::Turn(TurnCommand::RetryNow)]
    );
}

#[test]
fn after_stopping_a_retry_its_reason_is_still_shown() {
    let mut app = App::working();
    retrying(&mut app, "rate limited (429): slow down, please");
    app.press("esc");
    app.ends(Ending::Interrupted);
    let notices = app.state.transcript.entries().iter();
    let notices = notices.filter_map(|entry| match &entry.cell {
        Cell::Notice { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(
        notices.collect::<Vec<_>>(),
        ["stopped while retrying: rate limited (429)"]
    );
}
