//! `agent-tui` without a subcommand: the screen and its agent.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use tokio::runtime::Handle;

use super::UsageError;
use super::args::{Args, ModeName};
use super::doctor;
use super::launch::{engine, setup, this_thread};
use super::models;
use super::project::{Audience, Project, TrustAnswer};
use super::servers::Servers;
use crate::agent;
use crate::app::{Opening, OpeningSession};
use crate::config::Dirs;
use crate::executor::Asking;
use crate::git;
use crate::hooks::payload::Source;
use crate::process::Programs;
use crate::runtime::{
    self, Answers, Exit, Launch, LaunchFailure, LaunchRequest, Launcher, Refusal, RequestedTheme,
};
use crate::settings::trust::{Memory, Review};

pub fn run(args: &Args) -> Result<u8, UsageError> {
    runtime::check_terminal().map_err(|problem| {
        UsageError::new(problem.to_string())
            .hint("without a terminal, use -p: `agent-tui -p \"search TODO in *.rs\"`; see `agent-tui --help`")
    })?;
    let project = Project::inspect(args, Audience::Person, &TrustAnswer::default())?;
    project.check_named(args)?;
    let (engine, screen) = (engine()?, this_thread()?);
    let servers = Servers::default();
    let launch = Launch {
        dirs: project.dirs.clone(),
        workspace: project.workspace.clone(),
        theme: theme(args, &project),
        prompt: args.prompt.clone(),
        choose_session: args.resume == Some(None),
        answers: answers(args, &project, engine.handle().clone()),
        launcher: launcher(args, project, engine.handle().clone(), servers.clone()),
    };
    let exit = screen.block_on(runtime::run(launch));
    engine.block_on(servers.close());
    // A tool that ignores cancellation must not keep the program alive.
    engine.shutdown_background();
    screen.shutdown_background();
    match exit {
        Ok(Exit::Refused(refusal)) | Err(refusal) => Err(explain(refusal)),
        Ok(exit) => Ok(exit.code()),
    }
}

fn answers(args: &Args, project: &Project, engine: Handle) -> Answers {
    let (first, second) = (args.clone(), args.clone());
    let places = project.places(args);
    Answers {
        branch: Arc::new(move || {
            let own = std::iter::once(&places.workspace).chain(&places.additional);
            let programs = Programs::find(own.map(PathBuf::as_path));
            engine.block_on(git::status::branch_of(&programs, &places.workspace))
        }),
        doctor: Arc::new(move || doctor::for_screen(&first)),
        models: Arc::new(move |provider| models::known(&second, provider)),
    }
}

fn theme(args: &Args, project: &Project) -> Option<RequestedTheme> {
    if let Some(name) = args.theme.clone() {
        return Some(RequestedTheme { name, file: None });
    }
    let file = project.settings.origins.get("theme");
    Some(RequestedTheme {
        name: project.settings.theme.clone()?,
        file: Some(file.map_or_else(|| "the settings".to_owned(), ToString::to_string)),
    })
}

/// Sets up an agent according to the arguments, except for what is to be opened instead. It runs on the engine, so that
/// it can't block the screen.
fn launcher(args: &Args, project: Project, engine: Handle, servers: Servers) -> Launcher {
    let args = Arc::new(args.clone());
    let first = Mutex::new(Some(project));
    let answer = Arc::new(Mutex::new(TrustAnswer::default()));
    Box::new(move |order| {
        let LaunchRequest { opening, trust } = order;
        let (args, answer, servers) = (args.clone(), answer.clone(), servers.clone());
        let known = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let launch = async move {
            let fresh = match &opening {
                Some(Opening {
                    session: OpeningSession::New,
                    ..
                }) => Source::Clear,
                Some(_) | None => Source::Startup,
            };
            let args = opened(&args, opening);
            let mut notices = Vec::new();
            if let Some((review, yes)) = trust {
                notices.extend(save_trust(&answer, review, yes).await);
            }
            let answer = answer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            // The settings may have changed since the program started.
            let project =
                known.map_or_else(|| Project::inspect(&args, Audience::Person, &answer), Ok);
            let project = project.map_err(refused)?;
            if project.must_ask(&answer) {
                return Err(LaunchFailure::Untrusted(Box::new(project.review)));
            }
            let mut setup = setup(&args, project, Asking::Person, fresh, &servers)
                .await
                .map_err(refused)?;
            setup.notices.extend(notices);
            Ok(agent::spawn(setup))
        };
        let engine = engine.clone();
        async move {
            match engine.spawn(launch).await {
                Ok(agent) => agent,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        .boxed()
    })
}

/// Saves the person's decision about the project; returns what they should know about that.
async fn save_trust(answer: &Mutex<TrustAnswer>, review: Review, yes: bool) -> Option<String> {
    {
        let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Some(review.mark());
        if yes {
            answer.yes = mark;
        } else {
            answer.no = mark;
        }
    }
    if !yes {
        return None;
    }
    let remember = move || {
        let memory = Memory::new(&Dirs::find().data, &review.workspace);
        memory.remember(&review)
    };
    let kept = tokio::task::spawn_blocking(remember).await.ok()?;
    let problem = kept.err()?;
    Some(format!(
        "the project is trusted for this run only; saving it failed: {problem}"
    ))
}

fn refused(error: UsageError) -> LaunchFailure {
    LaunchFailure::Refused(Refusal {
        problem: error.problem,
        hint: error.hint,
    })
}

fn opened(args: &Args, opening: Option<Opening>) -> Args {
    let mut args = args.clone();
    // The person chooses on the screen.
    args.resume = args.resume.filter(Option::is_some);
    let Some(Opening {
        session,
        model,
        mode,
    }) = opening
    else {
        return args;
    };
    let id = match session {
        OpeningSession::Id(id) => Some(Some((id, false))),
        OpeningSession::Fork(id) => Some(Some((id, true))),
        OpeningSession::New => Some(None),
        // None was open yet: use the one from the arguments.
        OpeningSession::Same => None,
    };
    if let Some(id) = id {
        (args.go_on, args.fork) = (false, id.as_ref().is_some_and(|(_, fork)| *fork));
        args.resume = id.map(|(id, _)| Some(id));
    }
    args.model = model.or(args.model);
    args.permission_mode = mode.map(ModeName).or(args.permission_mode);
    args
}

fn explain(refusal: Refusal) -> UsageError {
    UsageError {
        problem: refusal.problem,
        hint: refusal.hint,
    }
}
