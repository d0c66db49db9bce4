//! A response that is known before it is played: what the built-in and the scripted model have in common.
//!
//! [`Recording`] builds a response and emits the events that a decoder of a real wire would; [`Playback`] yields them,
//! with their waits. A block that is open when the response fails is part of the response, but never reported as ended:
//! as with the wire formats, so that half a text is never taken for a whole one.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Batch, Response, ResponseStream, StreamError, StreamEvent};
use crate::protocol::{Block, StopReason, ToolUse};

/// Text and how it arrives: whole, or some words at a time with a wait between the pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Whole,
    Words { at_once: usize, every: Duration },
}

/// A response being built.
#[derive(Debug, Default)]
pub(super) struct Recording {
    cues: VecDeque<Cue>,
    blocks: Vec<Block>,
    open: Option<Open>,
}

/// A response being played.
#[derive(Debug)]
pub(super) struct Playback {
    cues: VecDeque<Cue>,
    /// The end of the current wait. Kept here, so that it continues after `next` was cancelled.
    wake_at: Option<Instant>,
    response: Response,
}

#[derive(Debug)]
enum Cue {
    Wait(Duration),
    Event(StreamEvent),
}

/// A block that has begun. Waits do not end it: that is how a stream stalls in the middle of a text.
#[derive(Debug)]
enum Open {
    Text(String),
    Thinking(String),
}

impl Recording {
    pub(super) fn wait(&mut self, wait: Duration) {
        if !wait.is_zero() {
            self.cues.push_back(Cue::Wait(wait));
        }
    }

    /// Continues the open text block, or begins one. Empty text creates no block, because providers refuse one.
    pub(super) fn text(&mut self, text: &str, flow: Flow) {
        if text.is_empty() {
            return;
        }
        if let Some(Open::Text(whole)) = &mut self.open {
            whole.push_str(text);
        } else {
            self.close();
            self.open = Some(Open::Text(text.to_owned()));
        }
        self.flow(text, flow, StreamEvent::Text);
    }

    /// Continues the open thinking block, or begins one.
    pub(super) fn thinking(&mut self, text: &str, flow: Flow) {
        if text.is_empty() {
            return;
        }
        if let Some(Open::Thinking(whole)) = &mut self.open {
            whole.push_str(text);
        } else {
            self.close();
            self.open = Some(Open::Thinking(text.to_owned()));
        }
        self.flow(text, flow, StreamEvent::Thinking);
    }

    /// A call whose input is not an object is never reported as ended: it cannot run.
    pub(super) fn call(&mut self, call: ToolUse, flow: Flow) {
        self.close();
        let id = &call.id;
        self.event(StreamEvent::ToolStarted {
            id: id.clone(),
            name: call.name.clone(),
        });
        let raw = call
            .input_raw
            .clone()
            .unwrap_or_else(|| call.input.to_string());
        self.flow(&raw, flow, |fragment| StreamEvent::ToolInput {
            id: id.clone(),
            fragment,
        });
        if call.input.is_object() {
            self.end_block(Block::ToolUse(call));
        } else {
            self.blocks.push(Block::ToolUse(call));
        }
    }

    /// Ends the response normally. Without a given reason, it depends on whether there are calls.
    pub(super) fn finish(mut self, model: &str, stop_reason: Option<StopReason>) -> Playback {
        self.close();
        let has_calls = self.blocks.iter().any(|b| matches!(b, Block::ToolUse(_)));
        let stop_reason = stop_reason.unwrap_or(if has_calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        });
        let response = Response {
            model: Some(model.to_owned()),
            stop_reason_raw: Some(stop_reason.clone().into()),
            stop_reason: Some(stop_reason),
            complete: true,
            ..Response::default()
        };
        self.play(response)
    }

    /// Ends the response in the middle of its text.
    pub(super) fn fail(mut self, model: &str, error: StreamError) -> Playback {
        if let Some(open) = self.open.take() {
            self.blocks.push(open.into_block());
        }
        let response = Response {
            model: Some(model.to_owned()),
            error: Some(error),
            ..Response::default()
        };
        self.play(response)
    }

    fn play(self, response: Response) -> Playback {
        Playback {
            cues: self.cues,
            wake_at: None,
            response: Response {
                blocks: self.blocks,
                ..response
            },
        }
    }

    fn flow(&mut self, text: &str, flow: Flow, event: impl Fn(String) -> StreamEvent) {
        let (pieces, every) = match flow {
            Flow::Whole => (vec![text], Duration::ZERO),
            Flow::Words { at_once, every } => (pieces(text, at_once), every),
        };
        for (index, piece) in pieces.into_iter().enumerate() {
            if index > 0 {
                self.wait(every);
            }
            self.event(event(piece.to_owned()));
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.end_block(open.into_block());
        }
    }

    fn end_block(&mut self, block: Block) {
        self.event(StreamEvent::BlockEnded(block.clone()));
        self.blocks.push(block);
    }

    fn event(&mut self, event: StreamEvent) {
        self.cues.push_back(Cue::Event(event));
    }
}

impl Open {
    fn into_block(self) -> Block {
        match self {
            Open::Text(text) => Block::text(text),
            Open::Thinking(thinking) => Block::Thinking {
                thinking,
                signature: None,
                item: None,
            },
        }
    }
}

impl ResponseStream for Playback {
    fn next(&mut self) -> BoxFuture<'_, Batch> {
        self.batch().boxed()
    }
}

impl Playback {
    /// Cancel-safe: it only waits while it holds no event, and the wait's end is in the state.
    async fn batch(&mut self) -> Batch {
        let mut events = Vec::new();
        while let Some(cue) = self.cues.pop_front() {
            match cue {
                Cue::Event(event) => events.push(event),
                Cue::Wait(wait) => {
                    self.cues.push_front(Cue::Wait(wait));
                    if !events.is_empty() {
                        return Batch::Events(events);
                    }
                    let wake_at = *self.wake_at.get_or_insert_with(|| Instant::now() + wait);
                    tokio::time::sleep_until(wake_at).await;
                    self.wake_at = None;
                    self.cues.pop_front();
                }
            }
        }
        Batch::Over(events, Box::new(std::mem::take(&mut self.response)))
    }
}

/// The text in pieces of `words` words, each with the white space after it.
fn pieces(text: &str, words: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut count, mut in_space) = (0, 0, false);
    for (at, character) in text.char_indices() {
        if in_space && !character.is_whitespace() {
            count += 1;
            if count == words {
                pieces.push(&text[start..at]);
                (start, count) = (at, 0);
            }
        }
        in_space = character.is_whitespace();
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::{Flow, Playback, Recording, pieces};
    use crate::protocol::{Block, StopReason, ToolUse};
    use crate::provider::{
        Batch, Response, ResponseStream, StreamError, StreamErrorKind, StreamEvent,
    };

    const SECOND: Duration = Duration::from_secs(1);

    fn bash(input: Value) -> ToolUse {
        ToolUse {
            id: "1".into(),
            name: "Bash".into(),
            input: input.into(),
            input_raw: None,
            input_error: None,
        }
    }

    async fn drain(mut playback: Playback) -> (Vec<StreamEvent>, Response) {
        let mut all = Vec::new();
        loop {
            match playback.next().await {
                Batch::Events(events) => all.extend(events),
                Batch::Over(events, response) => {
                    all.extend(events);
                    return (all, *response);
                }
            }
        }
    }

    #[test]
    fn pieces_lose_nothing() {
        assert_eq!(
            pieces("one two  three\nfour", 1),
            ["one ", "two  ", "three\n", "four"]
        );
        assert_eq!(pieces("one two three", 2), ["one two ", "three"]);
        assert_eq!(pieces("  one", 1), ["  ", "one"]);
        assert_eq!(pieces("one ", 1), ["one "]);
        assert_eq!(pieces("", 1), Vec::<&str>::new());
    }

    #[tokio::test]
    async fn blocks_end_before_the_next_begins() {
        let mut recording = Recording::default();
        recording.thinking("hm", Flow::Whole);
        recording.text("I will look.", Flow::Whole);
        recording.call(bash(json!({"command": "ls"})), Flow::Whole);
        let (events, response) = drain(recording.finish("m", None)).await;

        let thinking = Block::Thinking {
            thinking: "hm".into(),
            signature: None,
            item: None,
        };
        let text = Block::text("I will look.");
        let call = Block::ToolUse(bash(json!({"command": "ls"})));
        let expected = [
            StreamEvent::Thinking("hm".into()),
            StreamEvent::BlockEnded(thinking.clone()),
            StreamEvent::Text("I will look.".into()),
            StreamEvent::BlockEnded(text.clone()),
            StreamEvent::ToolStarted {
                id: "1".into(),
                name: "Bash".into(),
            },
            StreamEvent::ToolInput {
                id: "1".into(),
                fragment: "{\"command\":\"ls\"}".into(),
            },
            StreamEvent::BlockEnded(call.clone()),
        ];
        assert_eq!(events, expected);
        let whole = Response {
            model: Some("m".into()),
            blocks: vec![thinking, text, call],
            stop_reason: Some(StopReason::ToolUse),
            stop_reason_raw: Some("tool_use".into()),
            complete: true,
            ..Response::default()
        };
        assert_eq!(response, whole);
    }

    #[tokio::test]
    async fn a_call_without_an_object_is_never_reported_as_ended() {
        let mut recording = Recording::default();
        let broken = ToolUse {
            input_raw: Some("{\"comm".into()),
            input_error: Some("invalid_json".into()),
            ..bash(Value::Null)
        };
        recording.call(broken.clone(), Flow::Whole);
        let (events, response) = drain(recording.finish("m", Some(StopReason::MaxTokens))).await;
        let expected = [
            StreamEvent::ToolStarted {
                id: "1".into(),
                name: "Bash".into(),
            },
            StreamEvent::ToolInput {
                id: "1".into(),
                fragment: "{\"comm".into(),
            },
        ];
        assert_eq!(events, expected);
        assert_eq!(response.blocks, [Block::ToolUse(broken)]);
        assert_eq!(response.stop_reason, Some(StopReason::MaxTokens));
    }

    #[tokio::test]
    async fn a_failed_response_keeps_its_open_text_but_does_not_end_it() {
        let error = StreamError {
            kind: StreamErrorKind::Truncated,
            code: "truncated".into(),
            message: "gone".into(),
            retryable: true,
        };
        let mut recording = Recording::default();
        recording.text("Let me", Flow::Whole);
        let (events, response) = drain(recording.fail("m", error.clone())).await;
        assert_eq!(events, [StreamEvent::Text("Let me".into())]);
        let cut = Response {
            model: Some("m".into()),
            blocks: vec![Block::text("Let me")],
            error: Some(error),
            ..Response::default()
        };
        assert_eq!(response, cut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_stalls_the_text_without_ending_its_block() {
        let mut recording = Recording::default();
        recording.text("one ", Flow::Whole);
        recording.wait(SECOND);
        recording.text("two", Flow::Whole);
        let mut playback = recording.finish("m", None);

        let start = Instant::now();
        let first = playback.next().await;
        assert_eq!(first, Batch::Events(vec![StreamEvent::Text("one ".into())]));
        assert_eq!(start.elapsed(), Duration::ZERO);
        let Batch::Over(events, response) = playback.next().await else {
            panic!("nothing is left to wait for");
        };
        assert_eq!(start.elapsed(), SECOND);
        let whole = Block::text("one two");
        let expected = [
            StreamEvent::Text("two".into()),
            StreamEvent::BlockEnded(whole.clone()),
        ];
        assert_eq!(events, expected);
        assert_eq!(response.blocks, [whole]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_goes_on_where_it_was() {
        let mut recording = Recording::default();
        recording.wait(SECOND);
        recording.text("late", Flow::Whole);
        let mut playback = recording.finish("m", None);

        let start = Instant::now();
        for _ in 0..3 {
            let early = tokio::time::timeout(Duration::from_millis(300), playback.next()).await;
            assert!(early.is_err(), "the wait is not over");
        }
        let Batch::Over(events, _) = playback.next().await else {
            panic!("nothing is left to wait for");
        };
        assert_eq!(events.first(), Some(&StreamEvent::Text("late".into())));
        assert_eq!(start.elapsed(), SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn words_come_one_after_the_other() {
        let mut recording = Recording::default();
        let flow = Flow::Words {
            at_once: 1,
            every: SECOND,
        };
        recording.text("one two three", flow);
        let start = Instant::now();
        let (events, _) = drain(recording.finish("m", None)).await;
        assert_eq!(start.elapsed(), 2 * SECOND);
        let expected = [
            StreamEvent::Text("one ".into()),
            StreamEvent::Text("two ".into()),
            StreamEvent::Text("three".into()),
            StreamEvent::BlockEnded(Block::text("one two three")),
        ];
        assert_eq!(events, expected);
    }
}
