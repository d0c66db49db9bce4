//! From arguments to a running agent.

use std::io;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use tokio::runtime::{Builder, Runtime};

use super::args::Args;
use super::project::{Audience, Project};
use super::reload;
use super::servers::{self, Servers};
use super::{UsageError, prompt, session};
use crate::agent;
use crate::agent::system_prompt::{PromptContext, system_prompt};
use crate::config::add_key_variable;
use crate::config::dirs::create_private_dir;
use crate::conversation::{limits, small_model};
use crate::executor::{self, Asking, Context, Shared};
use crate::git::{self, Git};
use crate::headless;
use crate::headless::output::Output;
use crate::hooks::payload::Source;
use crate::permissions::{Store, names};
use crate::process::signals::Signals;
use crate::process::{Programs, Variables, scarce};
use crate::protocol::{AgentId, Mode, SentTools, ServerTool, SessionId, WebSearch};
use crate::provider::Provider;
use crate::provider::builtin::Builtin;
use crate::provider::choose::{self, Choice, KeyFound, ProviderOptions, ProviderRequest};
use crate::provider::retry;
use crate::runtime::{FoundTerminal, end_guard, guard_commands};
use crate::session::record::VERSION;
use crate::session::store::new_id;
use crate::session::{History, Record, Writer};
use crate::settings::Settings;
use crate::tools::Environment;
use crate::tools::bash::groups::Groups;
use crate::tools::files::{Checkpoints, Locks};
use crate::tools::offered::Tools;
use crate::tools::registry::{Offer, Registry};
use crate::tools::small_model::SmallModel;
use crate::tools::subagents::{StartRequests, Tasks, port};

/// How long idle threads are kept: longer than anyone works without a break.
const KEEP_ALIVE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an answer may be, unless the settings say otherwise.
const MAX_OUTPUT_TOKENS: u32 = 32_000;

/// `agent-tui -p`.
pub fn headless(args: &Args) -> Result<u8, UsageError> {
    let terminal = FoundTerminal::now();
    let project = Project::find(args, Audience::Nobody)?;
    let prompt = prompt::read(args, &project.settings)?;
    let runtime = engine()?;
    guard_commands();
    let servers = Servers::default();
    let code = runtime.block_on(async {
        // Installed first, so that a signal can't leave anything behind.
        let mut signals = Signals::listen()
            .map_err(|error| UsageError::new(format!("can't listen for signals: {error}")))?;
        let run = headless::Run {
            format: args.output_format,
            prompt,
            cwd: project.workspace.clone(),
            mode: project.mode(args),
        };
        let setup = tokio::select! {
            setup = setup(args, project, Asking::Nobody, Source::Startup, &servers) => setup?,
            signal = signals.next() => return Ok(signal.exit_code()),
        };
        let output = Output::start().map_err(no_threads)?;
        let exit = headless::run(agent::spawn(setup), run, output, signals).await;
        Ok(exit.code())
    });
    runtime.block_on(servers.close());
    // A tool that ignores cancellation must not keep the program alive.
    runtime.shutdown_background();
    terminal.restore();
    end_guard();
    code
}

/// The runtime of the agent and its calls. One thread handles everything that waits, because waking another one for
/// each piece of an answer costs more than the piece; long work and disk I/O get their own threads.
pub(super) fn engine() -> Result<Runtime, UsageError> {
    started(Builder::new_multi_thread().worker_threads(1))
}

/// The runtime of the screen: the main thread.
pub(super) fn this_thread() -> Result<Runtime, UsageError> {
    started(&mut Builder::new_current_thread())
}

fn started(builder: &mut Builder) -> Result<Runtime, UsageError> {
    // Tokio panics if its last blocking thread ends and it can't start another, so one is kept.
    builder.enable_all().thread_keep_alive(KEEP_ALIVE);
    let built = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let runtime = builder.build()?;
        drop(runtime.spawn_blocking(|| ()));
        Ok(runtime)
    }));
    let built = built.unwrap_or_else(|_| Err(Errno::AGAIN.into()));
    built.map_err(no_threads)
}

/// Why the program cannot run here.
pub(super) fn no_threads(error: io::Error) -> UsageError {
    let error = scarce::explained(error);
    UsageError::new(format!("can't start threads: {error}"))
}

/// Everything that a conversation needs. `asking` says whether a person can be asked, `fresh` why a new session begins
/// if none is resumed.
pub(super) async fn setup(
    args: &Args,
    mut project: Project,
    asking: Asking,
    fresh: Source,
    servers: &Servers,
) -> Result<agent::Setup, UsageError> {
    let servers = servers.open(args, &project);
    let programs = project.programs(args);
    // Git is slow, so everything else is done meanwhile.
    let git = git::status::ask(&programs, &project.workspace);
    let choice = choose(args, &project.settings, asking).await?;
    require_key(&choice)?;
    let Choice {
        provider, model, ..
    } = choice;
    let session = session::open(args, &project, asking)?;
    let prompt_context = PromptContext {
        workspace: project.workspace.clone(),
        config_dir: project.dirs.config.clone(),
        trust: project.project_trust(args),
        provider: provider.name().to_owned(),
        model: model.clone(),
    };
    let (search, search_problem) = search(&project.settings, provider.as_ref());
    let run = Run {
        session: &session.id,
        log: &session.log.path(),
        programs,
        model: &model,
        search,
        small_model: small_model(&project.settings, &provider, &session.id),
        sent: session.history.tools(),
    };
    let (shared, tools, mut notices) = set_up_calls(args, &mut project, asking, run)?;
    shared.set_mode(mode(args, &project, asking, &session.history));
    let (context, start_requests) = context(shared, tools, session.cwd);
    let log = session.log;
    if let Some(servers) = &servers {
        servers.attach(&context.tools);
    }
    servers::ready(servers.as_ref(), asking).await;
    let git = git.finish().await;
    log_run(&log, provider.name(), &model, git.branch.clone());
    log_mode(&log, &context, &session.history);
    let settings = &project.settings;
    let system = system_prompt(&prompt_context, &git.lines);
    notices.extend(system.notices);
    notices.extend(session.notices);
    notices.extend(search_problem);
    Ok(agent::Setup {
        context_window: project.window(&model),
        system: system.parts,
        branch: git.branch,
        limits: limits(args, settings, &model, asking),
        prices: Arc::new(settings.prices.clone()),
        policy: policy(settings),
        retry: retries(settings),
        beginning: if session.resumed {
            Source::Resume
        } else {
            fresh
        },
        max_output_tokens: settings.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS),
        provider,
        model,
        context: Arc::new(context),
        session: session.id,
        log,
        history: session.history,
        start_requests,
        subagents: session.subagents,
        past: session.past,
        notices,
        servers,
    })
}

/// What a single call runs with that belongs to no session, and what the person should know about it.
pub(super) fn alone(
    args: &Args,
    mut project: Project,
    asking: Asking,
) -> Result<(Context, Vec<String>), UsageError> {
    let session = new_id();
    let log = project.dirs.sessions().join(format!("{session}.jsonl"));
    let model = args.model.as_ref().or(project.settings.model.as_ref());
    let run = Run {
        session: &session,
        log: &log,
        programs: project.programs(args),
        model: &model.cloned().unwrap_or_default(),
        search: project.search(args),
        small_model: None,
        sent: &SentTools::default(),
    };
    let (shared, tools, notices) = set_up_calls(args, &mut project, asking, run)?;
    Ok((Context::new(Arc::new(shared), tools), notices))
}

/// What is known of a run before its calls can be made.
struct Run<'r> {
    session: &'r SessionId,
    log: &'r Path,
    programs: Arc<Programs>,
    model: &'r str,
    search: Option<WebSearch>,
    small_model: Option<SmallModel>,
    /// What earlier requests of the session said about tools.
    sent: &'r SentTools,
}

/// What calls run with: what they share and their tools. The last are notices for the person.
fn set_up_calls(
    args: &Args,
    project: &mut Project,
    asking: Asking,
    run: Run<'_>,
) -> Result<(Shared, Tools, Vec<String>), UsageError> {
    let results_dir = real(project.dirs.results()).join(&run.session.0);
    project.allow_reading(&results_dir)?;
    let (catalogue, problems) = project.extensions(args);
    let (registry, taken) = Project::registry(&catalogue);
    let mut offer = project.offer(args, &catalogue);
    offer.about.search.clone_from(&run.search);
    let tools = tools(project, run.model, registry, offer, run.sent);
    let mut notices = project.notices(&catalogue.now().tools);
    let offered = tools.snapshot();
    let names: Vec<&str> = offered.names().collect();
    notices.extend(project.settings.unknown_tools(&names));
    notices.extend(problems.into_iter().chain(taken));
    let hooks = project.hooks(run.session, run.log, &run.programs);
    let mut env = environment(args, project, results_dir, run.programs);
    env.search = run.search;
    env.small_model = run.small_model;
    let mut shared = shared(args, project, asking, env);
    shared.hooks = Some(hooks);
    shared.catalogue = Some(catalogue);
    Ok((shared, tools, notices))
}

fn log_run(log: &Writer, provider: &str, model: &str, branch: Option<String>) {
    let begun = Record::Run {
        version: VERSION,
        provider: provider.to_owned(),
        model: model.to_owned(),
        branch,
    };
    // If the log can't be written, the first real record reports it.
    let _ = log.write(AgentId::MAIN, &begun);
}

/// The web search to use, and a notice if the settings ask for one that is not available.
fn search(settings: &Settings, provider: &dyn Provider) -> (Option<WebSearch>, Option<String>) {
    let search = settings.web_search.clone();
    // From now on its key is kept out of logs and commands.
    search
        .as_ref()
        .and_then(WebSearch::key_variable)
        .map(add_key_variable);
    if search != Some(WebSearch::Provider) {
        return (search, None);
    }
    if !provider.serves(ServerTool::WebSearch) {
        let name = provider.name();
        let notice = format!("web search is off: {name} has none; set a `backend` in `webSearch`");
        return (None, Some(notice));
    }
    if settings.rules.restricts(names::WEB_SEARCH) {
        let notice = "web search is off: your rules restrict it, and the provider can't ask you";
        return (None, Some(notice.to_owned()));
    }
    (search, None)
}

/// The model that answers questions about pages, if the settings name one.
fn small_model(
    settings: &Settings,
    provider: &Arc<dyn Provider>,
    session: &SessionId,
) -> Option<SmallModel> {
    let model = settings.small_model.clone()?;
    Some(small_model::small_model(small_model::Parts {
        provider: provider.clone(),
        price: settings.prices.get(&model).copied(),
        model,
        retry: retries(settings),
        session: session.0.clone(),
    }))
}

fn tools(
    project: &Project,
    model: &str,
    registry: Registry,
    mut offer: Offer,
    sent: &SentTools,
) -> Tools {
    model.clone_into(&mut offer.about.model);
    offer.window = project.window(model);
    let tools = Tools::resumed(registry, offer, sent.clone());
    let preparing = tools.snapshot();
    tokio::task::spawn_blocking(move || preparing.prepare());
    tools
}

/// What the main conversation's calls run with, and what they request.
fn context(shared: Shared, tools: Tools, cwd: Option<PathBuf>) -> (Context, StartRequests) {
    let mut context = Context::new(Arc::new(shared), tools);
    let (starter, start_requests) = port();
    context.starter = starter;
    if let Some(cwd) = cwd {
        context.set_cwd(cwd);
    }
    (context, start_requests)
}

pub(super) async fn choose(
    args: &Args,
    settings: &Settings,
    asking: Asking,
) -> Result<Choice, UsageError> {
    let wanted = ProviderRequest {
        builtin: match asking {
            Asking::Person => Builtin::for_screen(),
            Asking::Nobody => Builtin::headless(),
        },
        flags: ProviderOptions {
            provider: args.provider.clone(),
            model: args.model.clone(),
            base_url: args.base_url.clone(),
        },
        settings: ProviderOptions {
            provider: settings.provider.clone(),
            model: settings.model.clone(),
            base_url: settings.base_url.clone(),
        },
        stall: settings.stall_seconds.map(Duration::from_secs),
    };
    choose::choose(wanted).await.map_err(|error| {
        let file = settings.origins.get("provider");
        let usage = match file.filter(|_| args.provider.is_none()) {
            Some(file) => UsageError::new(format!("{file}: {}", error.problem)),
            None => UsageError::new(error.problem),
        };
        match error.hint {
            Some(hint) => usage.hint(hint),
            None => usage,
        }
    })
}

/// Without a key every request to the vendor's own address would fail. Another server may do without one.
fn require_key(choice: &Choice) -> Result<(), UsageError> {
    let KeyFound::Missing(wire) = choice.about.key else {
        return Ok(());
    };
    let facts = wire.facts();
    let address = choice.about.address.as_ref();
    if address.is_none_or(|(address, _)| !address.starts_with(facts.url)) {
        return Ok(());
    }
    let problem = format!("no API key for {}", facts.name);
    Err(UsageError::new(problem).hint(facts.how_to_get_a_key()))
}

/// A directory without links and `..`, as rules see it; created if necessary.
fn real(directory: PathBuf) -> PathBuf {
    let made = create_private_dir(&directory).and_then(|()| directory.canonicalize());
    made.unwrap_or(directory)
}

fn environment(
    args: &Args,
    project: &Project,
    results_dir: PathBuf,
    programs: Arc<Programs>,
) -> Environment {
    let places = project.places(args);
    let additional = places.additional;
    Environment {
        workspace: project.workspace.clone(),
        additional: additional
            .iter()
            .filter_map(|directory| directory.canonicalize().ok())
            .collect(),
        results_dir,
        checkpoints: Checkpoints::new(project.dirs.checkpoints()),
        locks: Locks::new(project.dirs.locks()),
        groups: Groups::default(),
        tasks: Tasks::default(),
        variables: Variables {
            more: project.settings.env.clone(),
            pass_keys: project.settings.pass_provider_keys == Some(true),
        },
        home: places.home,
        unasked: project.settings.unasked.unwrap_or_default(),
        base_access: OnceLock::new(),
        search: None,
        small_model: None,
        git: Git::new(programs.clone()),
        programs,
    }
}

/// A session that was left in plan mode stays in it, unless the command line names another mode: a plan that waits for
/// approval is presented again.
fn mode(args: &Args, project: &Project, asking: Asking, history: &History) -> Mode {
    match (asking, args.permission_mode, history.mode()) {
        (Asking::Person, None, Some(Mode::Plan)) => Mode::Plan,
        (Asking::Person | Asking::Nobody, _, _) => project.mode(args),
    }
}

/// A mode that the log does not know yet.
fn log_mode(log: &Writer, context: &Context, history: &History) {
    let mode = context.shared.mode();
    if history.mode().unwrap_or_default() != mode {
        let _ = log.write(AgentId::MAIN, &Record::Mode { mode });
    }
}

/// What all calls of the session share, except the hooks, which need it.
fn shared(args: &Args, project: &Project, asking: Asking, env: Environment) -> Shared {
    let (rules, mode) = (project.settings.rules.clone(), project.mode(args));
    let mut shared = Shared::new(rules, mode, asking, project.places(args), Arc::new(env));
    shared.set_tool_settings(project.settings.all_tools());
    shared.store = Some(Store::new(&project.dirs.data, &project.workspace));
    shared.live = Some(reload::live(args, project));
    shared
}

fn retries(settings: &Settings) -> retry::Policy {
    let standard = retry::Policy::default();
    retry::Policy {
        tries: settings
            .retries
            .map_or(standard.tries, |retries| retries.saturating_add(1)),
        ..standard
    }
}

fn policy(settings: &Settings) -> executor::Policy {
    let standard = executor::Policy::default();
    executor::Policy {
        order: executor::Order::Scheduled,
        limit: settings.max_tool_concurrency.unwrap_or(standard.limit),
        while_streaming: settings
            .streaming_execution
            .unwrap_or(standard.while_streaming),
        on_bash_error: settings.on_bash_error.unwrap_or(standard.on_bash_error),
    }
}

fn limits(args: &Args, settings: &Settings, model: &str, asking: Asking) -> limits::Limits {
    limits::Limits {
        // The caller fills this in.
        hooked: limits::HookedSteps::default(),
        pauses: asking == Asking::Person,
        calls_wait: settings.streaming_execution == Some(false),
        max_turns: args.max_turns.or(settings.max_turns),
        max_tokens: settings.max_tokens,
        max_cost: settings.max_cost,
        price: settings.prices.get(model).copied(),
    }
}
