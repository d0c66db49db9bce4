//! What follows from an answer of the model, while it streams and once it is complete.

use super::super::words::{
    EMPTY_ANSWER, STREAM_HINT, cut_short, kept_of, not_run, refusal, silent, stream_problem,
};
use super::names::{Names, admitted, with_all_calls};
use super::{After, CompleteAnswer, Next, Partial, Stage, Turn};
use crate::protocol::{Block, CallRef, Ending, Message, ServerCall, StopReason, ToolCall, Usage};
use crate::provider::{ProviderError, ProviderErrorKind, Response, StreamEvent};

impl Turn {
    pub(super) fn streamed(&mut self, event: StreamEvent) -> Vec<Next> {
        match event {
            StreamEvent::Text(text) => {
                self.answer.open_text.push_str(&text);
                vec![Next::ShowText(text)]
            }
            StreamEvent::Thinking(text) => vec![Next::ShowThinking(text)],
            StreamEvent::ToolStarted { id, name } => {
                let call = self.answer.calls.open(&id, &mut self.numbers);
                vec![Next::ShowInputStarted { call, name }]
            }
            StreamEvent::ToolInput { id, fragment } => {
                let call = self.answer.calls.open(&id, &mut self.numbers);
                vec![Next::ShowInput { call, fragment }]
            }
            StreamEvent::Serving { id, name } => {
                let call = self.served.begin(id, &mut self.numbers);
                vec![Next::ShowServing { call, name }]
            }
            StreamEvent::BlockEnded(block) => self.block_ended(block),
        }
    }

    fn block_ended(&mut self, block: Block) -> Vec<Next> {
        let next = match &block {
            Block::ToolUse(call) => {
                let runs = call.input.is_object() && !self.repeated.is_repeated_too_often(call);
                let name = self.answer.calls.end(&call.id, runs, &mut self.numbers);
                self.answer.called |= runs;
                runs.then(|| Next::Execute(admitted(name, call)))
            }
            // Both were streamed as text, so they are in the log.
            Block::Text { .. } | Block::Refusal { .. } => {
                self.answer.open_text.clear();
                None
            }
            other => {
                let server_call = ServerCall::of(other);
                let call = server_call.map(|it| self.served.name(&it, &mut self.numbers));
                Some(Next::Keep {
                    block: other.clone(),
                    call,
                })
            }
        };
        self.answer.ended.push(block);
        next.into_iter().collect()
    }

    pub(super) fn over(&mut self, response: Response) -> Vec<Next> {
        let answer = std::mem::take(&mut self.answer);
        let started = answer.called && !self.limits.calls_wait;
        match (response.error, started) {
            (Some(error), false) => {
                let hint = Some(STREAM_HINT.into());
                let kind = if error.retryable {
                    ProviderErrorKind::Retry { after: None }
                } else {
                    ProviderErrorKind::Final
                };
                let mut nexts = vec![Next::Discard];
                nexts.extend(self.failed(ProviderError {
                    kind,
                    message: stream_problem(&error),
                    hint,
                }));
                nexts
            }
            (Some(error), true) => {
                let after = if error.retryable {
                    After::Broken(stream_problem(&error))
                } else {
                    After::End(Ending::Failed {
                        problem: stream_problem(&error),
                        hint: Some(STREAM_HINT.into()),
                    })
                };
                let mut nexts = vec![Next::ReportBroken(kept_of(&error))];
                nexts.extend(self.drain(answer.ended, answer.calls, None, response.usage, after));
                nexts
            }
            (None, _) => {
                self.failures = 0;
                let refused = response.stop_reason == Some(StopReason::Refusal);
                let after = if refused
                    && !response
                        .blocks
                        .iter()
                        .any(|block| matches!(block, Block::Refusal { .. }))
                {
                    After::End(refusal(response.stop_details.as_ref()))
                } else {
                    After::Loop
                };
                // The incomplete text of a refusal is discarded, but calls that ran stay.
                let void = refused && !answer.called && after != After::Loop;
                let blocks = if void {
                    Vec::new()
                } else {
                    with_all_calls(response.blocks, answer.ended)
                };
                let mut nexts = Vec::from_iter(void.then_some(Next::Discard));
                let (stop_reason, usage) = (response.stop_reason, response.usage);
                nexts.extend(self.drain(blocks, answer.calls, stop_reason, usage, after));
                nexts
            }
        }
    }

    pub(super) fn failed(&mut self, error: ProviderError) -> Vec<Next> {
        self.answer = Partial::default();
        self.repeated.begin_answer();
        self.failures += 1;
        let wait = match error.kind {
            ProviderErrorKind::Retry { after } => {
                self.retry.wait(self.failures, after, self.random.f64())
            }
            ProviderErrorKind::ContextFull | ProviderErrorKind::Final => None,
        };
        match wait {
            Some(wait) => self.wait(error.message, wait, self.failures),
            None => self.finish(Ending::Failed {
                problem: error.message,
                hint: error.hint,
            }),
        }
    }

    pub(super) fn interrupted(&mut self) -> Vec<Next> {
        let answer = std::mem::take(&mut self.answer);
        let mut blocks = answer.ended;
        if !answer.open_text.trim().is_empty() {
            blocks.push(Block::text(answer.open_text));
        }
        self.drain(
            blocks,
            answer.calls,
            None,
            Usage::default(),
            After::End(Ending::Interrupted),
        )
    }

    fn drain(
        &mut self,
        blocks: Vec<Block>,
        calls: Names,
        stop_reason: Option<StopReason>,
        usage: Usage,
        after: After,
    ) -> Vec<Next> {
        self.stage = Stage::Draining(Box::new(CompleteAnswer {
            blocks,
            stop_reason,
            usage,
            after,
            calls,
            origin: self.origin.clone(),
        }));
        vec![Next::Drain]
    }

    /// An answer of an earlier run of the program, of which these calls continue.
    pub(super) fn reopened(
        &mut self,
        answer: Message,
        calls: &[CallRef],
        continuing: Vec<ToolCall>,
    ) -> Vec<Next> {
        self.prompted = true;
        let calls = Names::ended(answer.tool_uses().zip(calls.iter().copied()));
        self.stage = Stage::Draining(Box::new(CompleteAnswer {
            origin: answer.origin.unwrap_or_else(|| self.origin.clone()),
            blocks: answer.content,
            stop_reason: None,
            usage: Usage::default(),
            after: After::Loop,
            calls,
        }));
        let continuing = continuing.into_iter().map(Next::Continue);
        continuing.chain([Next::Drain]).collect()
    }

    pub(super) fn drained(&mut self, mut complete: CompleteAnswer) -> Vec<Next> {
        if !complete.blocks.is_empty() || complete.stop_reason.is_some() {
            self.responses += 1;
            self.spent.0 += 1;
        }
        self.used.count(complete.usage);
        self.spent.1.count(complete.usage);
        let message = Message::from_assistant(complete.blocks, complete.origin);
        let mut nexts = Vec::new();
        let mut calls = Vec::new();
        for call in message.tool_uses() {
            if !call.input.is_object() {
                self.repeated.is_repeated_too_often(call);
            }
            let named = complete.calls.take(&call.id, &mut self.numbers);
            calls.push(named.call);
            if !named.runs {
                let result = not_run(call, complete.stop_reason.as_ref());
                let call = admitted(named.call, call);
                nexts.push(Next::Settle { call, result });
            }
        }
        let text = message.text();
        let blank = text.trim().is_empty();
        if !blank {
            self.last_text = text;
        }
        let has_text = !message.is_blank();
        // A pause without any content would be requested again with the same history, without end.
        let paused = has_text && complete.stop_reason == Some(StopReason::PauseTurn);
        self.pauses.count(paused && calls.is_empty());
        let continues = !calls.is_empty() || paused;
        let mut after = complete.after;
        if calls.is_empty() {
            let problem = cut_short(complete.stop_reason.as_ref());
            let nothing = blank && !continues && after == After::Loop;
            let problem = problem.or_else(|| nothing.then(|| EMPTY_ANSWER.to_owned()));
            if nothing && self.is_silent() {
                after = After::End(silent(problem));
            } else {
                nexts.extend(problem.map(Next::Warn));
            }
        }
        if complete.usage != Usage::default() {
            nexts.push(Next::Count(complete.usage));
        }
        if has_text {
            nexts.push(Next::Answer {
                message,
                stop_reason: complete.stop_reason,
                usage: complete.usage,
            });
        }
        if !calls.is_empty() {
            nexts.push(Next::Deliver {
                calls,
                then: self.repeated.note(),
            });
        }
        nexts.extend(self.after(after, continues));
        nexts
    }

    /// Whether the whole exchange produced nothing, and no person is there to notice.
    fn is_silent(&self) -> bool {
        !self.limits.pauses && self.responses <= 1 && self.last_text.is_empty()
    }
}
