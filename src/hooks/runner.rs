//! Runs all hooks of an event in parallel, and combines their answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::config::{Active, Hook, matching};
use super::event::Event;
use super::output::HookOutput;
use super::payload::Payload;
use super::process::{self, Place, Ran};
use super::trace;
use crate::process::{Programs, Variables};
use crate::protocol::{Mode, SessionId};

/// How long nothing happens before the person is told that the agent waits for them.
pub const IDLE_AFTER: Duration = Duration::from_secs(60);
/// The time limit for all hooks at the session's end, so that the program ends quickly.
const LAST_WAIT: Duration = Duration::from_millis(700);

/// The hooks of a session.
pub struct Runner {
    /// Replaced when the settings change.
    active: RwLock<Arc<Active>>,
    /// Where to find bash.
    programs: Arc<Programs>,
    project: PathBuf,
    session: SessionId,
    transcript: PathBuf,
    /// Secrets that no hook may read.
    keys: Vec<String>,
    pub idle_after: Duration,
}

/// The fields that every hook gets.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonFields {
    pub cwd: PathBuf,
    pub mode: Mode,
}

/// One hook with its result.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRun {
    pub hook: Hook,
    pub ran: Ran,
    pub output: HookOutput,
}

impl Runner {
    pub fn new(
        hooks: Vec<Hook>,
        project: &Path,
        session: SessionId,
        transcript: &Path,
        programs: Arc<Programs>,
    ) -> Self {
        Self {
            programs,
            active: RwLock::new(Arc::new(Active {
                hooks,
                env: BTreeMap::new(),
            })),
            project: project.to_owned(),
            session,
            transcript: transcript.to_owned(),
            keys: crate::config::keys(),
            idle_after: IDLE_AFTER,
        }
    }

    /// The hooks that run now.
    pub fn active(&self) -> Arc<Active> {
        let active = self.active.read();
        active.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// These hooks run from now on.
    pub fn replace(&self, active: Active) {
        let mut now = self.active.write().unwrap_or_else(PoisonError::into_inner);
        *now = Arc::new(active);
    }

    /// Whether this event has any hook.
    pub fn has(&self, event: Event) -> bool {
        self.active().hooks.iter().any(|hook| hook.event == event)
    }

    /// Whether a hook of this event matches this tool, or another subject.
    pub fn wants(&self, event: Event, subject: &str) -> bool {
        !matching(&self.active().hooks, event, subject).is_empty()
    }

    /// Runs the hooks of an event, and waits for all of them.
    pub async fn fire(
        &self,
        payload: &Payload,
        common: &CommonFields,
        cancel: &CancellationToken,
    ) -> Answer {
        let input = self.input(payload, common);
        let runs = self.run_matching(payload, &input, cancel).await;
        let output = runs.iter().map(|runs| (&runs.hook, runs.output.clone()));
        let answer = Answer::of(payload.event, output);
        trace::answered(payload, &answer);
        answer
    }

    /// What the hooks read on their stdin.
    pub fn input(&self, payload: &Payload, common_fields: &CommonFields) -> Vec<u8> {
        let common = json!({
            "session_id": self.session,
            "transcript_path": self.transcript,
            "cwd": common_fields.cwd,
            "permission_mode": common_fields.mode.name(),
        });
        let common = match common {
            Value::Object(common) => common,
            _ => Map::new(),
        };
        let mut input = payload.input(common).to_string().into_bytes();
        crate::config::without_keys(&mut input, &self.keys);
        input.push(b'\n');
        input
    }

    /// Runs each matching hook, all at once. The results are in the order of the settings.
    pub async fn run_matching(
        &self,
        payload: &Payload,
        input: &[u8],
        cancel: &CancellationToken,
    ) -> Vec<HookRun> {
        let active = self.active();
        let hooks = matching(&active.hooks, payload.event, payload.subject());
        // A hook gets no keys, even if commands do.
        let variables = &Variables {
            more: active.env.clone(),
            pass_keys: false,
        };
        let runs = hooks.into_iter().map(|hook| async move {
            let limit = match payload.event {
                Event::SessionEnd => hook.timeout.min(LAST_WAIT),
                _ => hook.timeout,
            };
            let place = Place {
                programs: &self.programs,
                project: &self.project,
                variables,
            };
            let ran = process::run(&hook.command, limit, place, input, cancel).await;
            let output = HookOutput::by(payload.event, &ran);
            trace::ran(payload, hook, &ran, &output);
            HookRun {
                hook: hook.clone(),
                ran,
                output,
            }
        });
        join_all(runs).await
    }
}
