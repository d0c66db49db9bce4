//! What an exchange waits for, and what arrives.

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use crate::executor::pipeline::Report;
use crate::hooks;
use crate::provider::{Batch, ProviderError, ResponseStream};

/// What the exchange waits for, in addition to its calls.
pub(super) enum Waiting {
    /// Only for calls, or for the person.
    Nothing,
    Open(BoxFuture<'static, Result<Box<dyn ResponseStream>, ProviderError>>),
    Stream(Box<dyn ResponseStream>),
    NextTry(Instant),
    /// The tools are about to change; then this attempt is sent.
    Tools(BoxFuture<'static, ()>, u32),
    /// Hooks look at a message.
    PromptCheck(BoxFuture<'static, hooks::Answer>),
    /// Hooks are asked whether the turn may end.
    MayStop(BoxFuture<'static, hooks::Answer>),
}

/// What has arrived.
pub(super) enum Arrived {
    Opened(Result<Box<dyn ResponseStream>, ProviderError>),
    Batch(Batch),
    TimeToTry,
    ToolsSettled(u32),
    DeltasDue,
    PromptChecked(hooks::Answer),
    MayStop(hooks::Answer),
    Report(Report),
}

impl Waiting {
    /// Cancel-safe: nothing that has not arrived is lost.
    pub async fn arrival(&mut self) -> Arrived {
        let arrived = match self {
            Waiting::Nothing => std::future::pending().await,
            Waiting::Stream(stream) => return Arrived::Batch(stream.next().await),
            Waiting::Open(opening) => Arrived::Opened(opening.await),
            Waiting::NextTry(at) => {
                sleep_until(*at).await;
                Arrived::TimeToTry
            }
            Waiting::Tools(settling, attempt) => {
                settling.await;
                Arrived::ToolsSettled(*attempt)
            }
            Waiting::PromptCheck(asking) => Arrived::PromptChecked(asking.await),
            Waiting::MayStop(asking) => Arrived::MayStop(asking.await),
        };
        *self = Waiting::Nothing;
        arrived
    }
}

/// Waits until that time, or forever without one.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
