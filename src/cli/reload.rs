//! Settings files that change while the program runs: stricter rules apply at once; wider ones only if they are the
//! person's own, or the person trusts them.

use std::path::Path;

use super::args::Args;
use super::project::Project;
use crate::executor::{Live, Reloaded};
use crate::hooks::{Active, Hook};
use crate::permissions::{Rule, Rules, Source, Store};
use crate::settings::extensions::Trusts;
use crate::settings::files::{Content, Files, Layer};
use crate::settings::trust::{Memory, Review};
use crate::settings::{Settings, SettingsError, Trust};

pub fn live(args: &Args, project: &Project) -> Live {
    let reader = Reader {
        workspace: project.workspace.clone(),
        memory: Memory::new(&project.dirs.data, &project.workspace),
        store: Store::new(&project.dirs.data, &project.workspace),
        trusted: if args.trust || project.trusted {
            Trusted::AtStart
        } else {
            Trusted::Not
        },
    };
    let load = move |before: &Files, now: Files, rules: &Rules, hooks: &Active| {
        reader.load(before, now, rules, hooks)
    };
    Live::new(project.files.clone(), Box::new(load))
}

/// Returns whether the project is trusted with its settings at that moment.
pub fn trusts(args: &Args, project: &Project) -> Trusts {
    let (always, at_first) = (args.trust, project.trusted);
    let (workspace, files) = (project.workspace.clone(), project.files.clone());
    let memory = Memory::new(&project.dirs.data, &workspace);
    let store = Store::new(&project.dirs.data, &workspace);
    let mark = project.review.mark();
    Box::new(move || {
        let now = || Review::inspect(&workspace, &files.again(), &store.saved(), &memory);
        // A decision of this run may not have been saved.
        let still = |review: Review| review.is_trusted() || review.mark() == mark;
        always || (at_first && still(now()))
    })
}

struct Reader {
    workspace: std::path::PathBuf,
    memory: Memory,
    store: Store,
    trusted: Trusted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trusted {
    /// Its settings at the start, and those that the person trusted since.
    AtStart,
    Not,
}

impl Reader {
    fn load(&self, before: &Files, now: Files, rules: &Rules, hooks: &Active) -> Reloaded {
        let mut notices = Vec::new();
        let files = with_last_valid(before, now, &mut notices);
        let used = last_valid(&files);
        let own = self.store.saved();
        let full = match self.trusted {
            Trusted::AtStart => {
                let review = Review::inspect(&self.workspace, &used, &own, &self.memory);
                review.is_trusted()
            }
            Trusted::Not => false,
        };
        let trust = match self.trusted {
            Trusted::Not => Trust::OnlyTightens { own: &own },
            Trusted::AtStart => Trust::Full,
        };
        let settings = Settings::merge(&used, trust);
        let untrusted = self.trusted == Trusted::AtStart && !full;
        let (hooks, are_new) = hooks_now(&settings, &files, untrusted, hooks);
        if are_new {
            notices.push(
                "the project's settings changed; you can trust its new hooks at the next start"
                    .to_owned(),
            );
        }
        let mut new = settings.rules;
        if untrusted {
            let all = new.allow.len();
            new.allow.retain(|rule| {
                let is_own = own.contains(&rule.text) || !is_of_project(&files, rule);
                is_own || rules.allow.iter().any(|known| known == rule)
            });
            if new.allow.len() < all {
                notices.push(
                    "the project's settings changed; you can trust its new allow rules at the next start"
                        .to_owned(),
                );
            }
        }
        tighten(&mut new, &files, trust);
        // Rules from flags and the session stay.
        let stays = |rule: &&Rule| !is_of_file(&files, rule);
        new.allow.extend(rules.allow.iter().filter(stays).cloned());
        // So do deny rules of an untrusted project: removing them would allow something.
        let forbids = |rule: &Rule| {
            let is_written = !matches!(rule.source, Source::Broken(_));
            let gone = is_of_missing(&files, rule);
            let untrusted = self.trusted == Trusted::Not && is_of_project(&files, rule);
            is_written && (gone || untrusted)
        };
        notices.extend(gone(before, &files, rules));
        for (new, old) in [(&mut new.deny, &rules.deny), (&mut new.ask, &rules.ask)] {
            for rule in old {
                if stays(&rule) || (forbids(rule) && !new.contains(rule)) {
                    new.push(rule.clone());
                }
            }
        }
        Reloaded {
            files,
            rules: new,
            hooks,
            notices,
        }
    }
}

/// The hooks of the changed files, and whether the project wants some that are not trusted. If the project's files have
/// changed since they were trusted, its hooks stay as they were: new ones would run code, and a removed one may have
/// denied something. So do the hooks of a file that is gone, like its rules.
fn hooks_now(
    settings: &Settings,
    files: &Files,
    untrusted: bool,
    before: &Active,
) -> (Active, bool) {
    let layer = |file: &Path| files.layers.iter().find(|layer| layer.path == file);
    let of_project = |file: &Path| layer(file).is_some_and(|layer| layer.owner.is_project());
    let is_gone = |file: &Path| layer(file).is_some_and(|it| it.content == Content::Missing);
    let set_by = settings.origins.get("disableAllHooks");
    let set_by = set_by.and_then(|source| source.path());
    let may_set = !untrusted || !set_by.is_some_and(of_project);
    if settings.disable_all_hooks == Some(true) && may_set {
        return (Active::default(), false);
    }
    let (mut hooks, held): (Vec<Hook>, Vec<Hook>) = settings
        .hooks
        .iter()
        .cloned()
        .partition(|hook| !untrusted || !of_project(&hook.file));
    let are_new = held.iter().any(|hook| !before.hooks.contains(hook));
    let stays = |hook: &&Hook| (untrusted && of_project(&hook.file)) || is_gone(&hook.file);
    for hook in before.hooks.iter().filter(stays) {
        if !hooks.contains(hook) {
            hooks.push(hook.clone());
        }
    }
    let env = if untrusted {
        before.env.clone()
    } else {
        settings.env.clone()
    };
    (Active { hooks, env }, are_new)
}

/// The current files. A file with errors keeps its last valid version.
fn with_last_valid(before: &Files, now: Files, notices: &mut Vec<String>) -> Files {
    let mut files = now;
    for (old, new) in before.layers.iter().zip(&mut files.layers) {
        let errors = errors(new);
        let Some(error) = errors.first() else {
            new.better = None;
            continue;
        };
        if old.content == new.content {
            continue;
        }
        if old.better.is_none() && self::errors(old).is_empty() {
            new.better = Some(old.content.clone());
        }
        notices.push(format!(
            "{error}; until it's fixed, its previous rules apply and everything else it might forbid asks"
        ));
    }
    files
}

fn errors(layer: &Layer) -> Vec<SettingsError> {
    let alone = Files::of(vec![layer.clone()]);
    Settings::merge(&alone, Trust::Full).errors
}

/// The last valid versions of the files.
fn last_valid(files: &Files) -> Files {
    let mut files = files.clone();
    for layer in &mut files.layers {
        if let Some(better) = &layer.better {
            layer.content = better.clone();
        }
    }
    files
}

/// A file that became invalid keeps its last valid version, but stricter rules in the new one apply, because the error
/// may be in a rule that was just added to deny something.
fn tighten(rules: &mut Rules, files: &Files, trust: Trust<'_>) {
    let broken = files.layers.iter().filter(|layer| layer.better.is_some());
    let broken = Files::of(broken.cloned().collect());
    let now = Settings::merge(&broken, trust).rules;
    rules
        .allow
        .retain(|rule| !is_of_file(&broken, rule) || now.allow.contains(rule));
    for (rules, now) in [(&mut rules.deny, now.deny), (&mut rules.ask, now.ask)] {
        for rule in now {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
}

/// Notices about files that are gone and had deny or ask rules: they may be about to be rewritten.
fn gone(before: &Files, now: &Files, rules: &Rules) -> Vec<String> {
    let pairs = before.layers.iter().zip(&now.layers);
    let gone = pairs.filter(|(old, new)| {
        let mut forbids = rules.deny.iter().chain(&rules.ask);
        old.content != Content::Missing
            && new.content == Content::Missing
            && forbids
                .any(|rule| matches!(&rule.source, Source::File(file) if file.path == new.path))
    });
    let notice = |(_, layer): (&Layer, &Layer)| {
        let path = layer.path.display();
        format!("`{path}` is gone; its deny and ask rules apply until the next start")
    };
    gone.map(notice).collect()
}

fn is_of_missing(files: &Files, rule: &Rule) -> bool {
    let mut layers = files.layers.iter();
    layers.any(|layer| layer.content == Content::Missing && is_of(layer, rule))
}

fn is_of_file(files: &Files, rule: &Rule) -> bool {
    let mut layers = files.layers.iter();
    layers.any(|layer| is_of(layer, rule))
}

fn is_of_project(files: &Files, rule: &Rule) -> bool {
    let mut layers = files.layers.iter();
    layers.any(|layer| layer.owner.is_project() && is_of(layer, rule))
}

/// Whether a rule comes from this file, or exists because the file is broken.
fn is_of(layer: &Layer, rule: &Rule) -> bool {
    rule.source.path() == Some(&layer.path)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::permissions::RuleList;

    struct Fixture {
        home: tempfile::TempDir,
        files: Files,
        rules: Rules,
        hooks: Active,
        trusted: Trusted,
    }

    impl Fixture {
        fn new(trusted: Trusted, project: &str) -> Self {
            let home = tempfile::tempdir().expect("a directory");
            let mut fixture = Self {
                files: Files::of(Vec::new()),
                rules: Rules::default(),
                hooks: Active::default(),
                home,
                trusted,
            };
            fixture.put("work/.agent-tui/settings.json", project);
            fixture.put("config/settings.json", "{}");
            fixture.files = Files::read(&fixture.path("config"), &fixture.path("work"), None);
            if trusted == Trusted::AtStart {
                let reader = fixture.reader();
                let review =
                    Review::inspect(&reader.workspace, &fixture.files, &[], &reader.memory);
                reader.memory.remember(&review).expect("kept");
            }
            let trust = match trusted {
                Trusted::Not => Trust::OnlyTightens { own: &[] },
                Trusted::AtStart => Trust::Full,
            };
            let settings = Settings::merge(&fixture.files, trust);
            fixture.hooks = settings.active_hooks();
            fixture.rules = settings.rules;
            let session = Source::Session;
            let added = fixture
                .rules
                .add(RuleList::Allow, "Bash(session)", &session);
            added.expect("a rule");
            fixture
        }

        fn path(&self, name: &str) -> PathBuf {
            self.home.path().join(name)
        }

        fn put(&self, name: &str, text: &str) {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            // A new file every time, because the clock may be too coarse for a test.
            let new = path.with_extension("new");
            std::fs::write(&new, text).expect("written");
            std::fs::rename(&new, path).expect("renamed");
        }

        fn reader(&self) -> Reader {
            let work = self.path("work");
            let data: &Path = &self.path("data");
            Reader {
                memory: Memory::new(data, &work),
                store: Store::new(data, &work),
                workspace: work,
                trusted: self.trusted,
            }
        }

        /// The rules after a change: deny, ask and allow; and the number of notices.
        fn load(&mut self) -> ([String; 3], usize) {
            let now = self.files.again();
            let before = &self.hooks;
            let reloaded = self.reader().load(&self.files, now, &self.rules, before);
            self.hooks = reloaded.hooks;
            self.files = reloaded.files;
            self.rules = reloaded.rules;
            let texts = |rules: &[Rule]| {
                let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
                texts.join(" ")
            };
            let Rules { deny, ask, allow } = &self.rules;
            let texts = [texts(deny), texts(ask), texts(allow)];
            (texts, reloaded.notices.len())
        }
    }

    fn is(deny: &str, ask: &str, allow: &str) -> [String; 3] {
        [deny, ask, allow].map(str::to_owned)
    }

    const BEFORE: &str = r#"{"permissions": {"allow": ["Bash(a)", "Bash(b)"]}}"#;
    const AFTER: &str = r#"{"permissions": {"allow": ["Bash(b)", "Bash(c)"], "deny": ["Bash(d)"], "ask": ["Bash(e)"]}}"#;

    #[test]
    fn stricter_rules_apply_at_once_and_wider_ones_only_with_trust() {
        for (trusted, allow, notices) in [
            (Trusted::Not, "Bash(session)", 0),
            (Trusted::AtStart, "Bash(b) Bash(session)", 1),
        ] {
            let mut fixture = Fixture::new(trusted, BEFORE);
            fixture.put("work/.agent-tui/settings.json", AFTER);
            assert_eq!(
                fixture.load(),
                (is("Bash(d)", "Bash(e)", allow), notices),
                "{trusted:?}"
            );
        }
    }

    #[test]
    fn the_persons_own_file_always_applies() {
        let mut fixture = Fixture::new(Trusted::Not, BEFORE);
        fixture.put(
            "config/settings.json",
            r#"{"permissions": {"allow": ["Bash(mine)"]}}"#,
        );
        assert_eq!(fixture.load(), (is("", "", "Bash(mine) Bash(session)"), 0));
        std::fs::remove_file(fixture.path("config/settings.json")).expect("removed");
        assert_eq!(fixture.load(), (is("", "", "Bash(session)"), 0));
    }

    #[test]
    fn a_file_that_breaks_keeps_its_deny_rules_asks_about_the_rest_and_is_reported_once() {
        for trusted in [Trusted::Not, Trusted::AtStart] {
            let mut fixture = Fixture::new(trusted, AFTER);
            fixture.put("work/.agent-tui/settings.json", "{");
            let (rules, notices) = fixture.load();
            let broken = is("Bash(d)", "Bash(e) *", "Bash(session)");
            assert_eq!((rules, notices), (broken.clone(), 1), "{trusted:?}");
            assert!(!fixture.files.changed());
            assert_eq!(fixture.load(), (broken.clone(), 0));
            // Another file changes, and this one is still broken.
            fixture.put("config/settings.json", "{ }");
            assert_eq!(fixture.load(), (broken, 0));
            fixture.put("work/.agent-tui/settings.json", AFTER);
            let allow = match trusted {
                Trusted::Not => "Bash(session)",
                Trusted::AtStart => "Bash(b) Bash(c) Bash(session)",
            };
            assert_eq!(fixture.load(), (is("Bash(d)", "Bash(e)", allow), 0));
        }
    }

    #[test]
    fn a_broken_rule_written_during_a_run_is_not_ignored() {
        for (text, deny, ask) in [
            (r#"{"permissions": {"deny": ["Bash(x)"],}}"#, "", "*"),
            (r#"{"permissions": {"denny": ["Bash(x)"]}}"#, "", "*"),
            (r#"{"permissions": {"deny": ["Bash(x"]}}"#, "", "Bash"),
            (
                r#"{"model": 7, "permissions": {"deny": ["Bash(x)"]}}"#,
                "Bash(x)",
                "",
            ),
            ("", "", "*"),
        ] {
            let mut fixture = Fixture::new(Trusted::Not, "{}");
            fixture.put(
                "config/settings.json",
                r#"{"permissions": {"allow": ["Bash(y)"]}}"#,
            );
            assert_eq!(fixture.load(), (is("", "", "Bash(y) Bash(session)"), 0));
            fixture.put("config/settings.json", text);
            let rules = is(deny, ask, "Bash(session)");
            assert_eq!(fixture.load(), (rules, 1), "{text}");
        }
    }

    #[test]
    fn a_removed_file_allows_nothing_and_keeps_its_deny_rules() {
        for trusted in [Trusted::Not, Trusted::AtStart] {
            let mut fixture = Fixture::new(trusted, AFTER);
            std::fs::remove_file(fixture.path("work/.agent-tui/settings.json")).expect("removed");
            let rules = is("Bash(d)", "Bash(e)", "Bash(session)");
            assert_eq!(fixture.load(), (rules.clone(), 1), "{trusted:?}");
            assert_eq!(fixture.load(), (rules, 0), "{trusted:?}");
        }
        // Moving a broken file away fixes it.
        let mut fixture = Fixture::new(Trusted::Not, "{");
        std::fs::remove_file(fixture.path("work/.agent-tui/settings.json")).expect("removed");
        assert_eq!(fixture.load(), (is("", "", "Bash(session)"), 0));
    }

    type Make<'f> = &'f dyn Fn(&Path);

    #[test]
    fn anything_in_place_of_a_settings_file_makes_everything_ask() {
        let path = "config/settings.json";
        let places: [(&str, Make<'_>); 4] = [
            ("a folder", &|path| {
                std::fs::create_dir(path).expect("made");
            }),
            ("a pipe", &|path| {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a pipe");
            }),
            ("a loop", &|path| {
                std::os::unix::fs::symlink(path, path).expect("linked");
            }),
            ("no text", &|path| {
                std::fs::write(path, b"{\xff}").expect("written");
            }),
        ];
        for (name, make) in places {
            for there_before in [true, false] {
                let mut fixture = Fixture::new(Trusted::Not, "{}");
                let file = fixture.path(path);
                std::fs::remove_file(&file).expect("removed");
                if there_before {
                    fixture.put(path, "{}");
                }
                fixture.load();
                let _ = std::fs::remove_file(&file);
                make(&file);
                assert!(fixture.files.changed(), "{name}");
                assert_eq!(fixture.load(), (is("", "*", "Bash(session)"), 1), "{name}");
            }
        }
    }

    #[test]
    fn a_project_can_remove_its_deny_rules_only_with_trust() {
        let (kept, gone) = (("Bash(d)", "Bash(e)"), ("", ""));
        for (trusted, (deny, ask)) in [(Trusted::Not, kept), (Trusted::AtStart, gone)] {
            let mut fixture = Fixture::new(trusted, AFTER);
            fixture.put("work/.agent-tui/settings.json", "{}");
            let rules = is(deny, ask, "Bash(session)");
            assert_eq!(fixture.load(), (rules, 0), "{trusted:?}");
        }
    }

    #[test]
    fn a_file_broken_from_the_start_stops_asking_once_it_is_fixed() {
        let mut fixture = Fixture::new(Trusted::Not, "{");
        assert_eq!(fixture.rules.ask.len(), 1, "everything is asked about");
        fixture.put("work/.agent-tui/settings.json", "{}");
        assert_eq!(fixture.load(), (is("", "", "Bash(session)"), 0));
    }

    #[test]
    fn a_personal_file_named_like_a_project_file_stays_personal() {
        let mut fixture = Fixture::new(Trusted::Not, "{}");
        fixture.put("named.json", r#"{"permissions": {"deny": ["Bash(n)"]}}"#);
        let named = fixture.path("named.json");
        fixture.files = Files::read(&fixture.path("config"), &fixture.path("work"), Some(&named));
        for layer in &mut fixture.files.layers {
            ".agent-tui/settings.json".clone_into(&mut layer.name);
        }
        fixture.rules = Settings::merge(&fixture.files, Trust::OnlyTightens { own: &[] }).rules;
        assert_eq!(fixture.rules.deny.len(), 1);
        // A project that is not trusted cannot revoke this; the person can.
        fixture.put("named.json", "{}");
        assert_eq!(fixture.load(), (is("", "", ""), 0));
    }

    fn hooks(fixture: &Fixture) -> Vec<&str> {
        let hooks = fixture.hooks.hooks.iter();
        hooks.map(|hook| hook.command.as_str()).collect()
    }

    fn with_hook(command: &str) -> String {
        let hook = format!(r#"{{"type": "command", "command": "{command}"}}"#);
        format!(
            r#"{{"env": {{"SAID": "{command}"}}, "hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}"#
        )
    }

    #[test]
    fn the_persons_hooks_change_at_once_and_stay_when_their_file_is_broken_or_gone() {
        let mut fixture = Fixture::new(Trusted::Not, "{}");
        let file = "config/settings.json";
        fixture.put(file, &with_hook("mine"));
        fixture.load();
        assert_eq!(hooks(&fixture), ["mine"]);
        assert_eq!(fixture.hooks.env["SAID"], "mine");
        fixture.put(file, "{");
        fixture.load();
        assert_eq!(hooks(&fixture), ["mine"], "broken");
        fixture.put(file, &with_hook("other"));
        fixture.load();
        assert_eq!(hooks(&fixture), ["other"]);
        std::fs::remove_file(fixture.path(file)).expect("removed");
        fixture.load();
        assert_eq!(hooks(&fixture), ["other"], "gone");
        fixture.put(file, r#"{"disableAllHooks": true}"#);
        fixture.load();
        assert_eq!(hooks(&fixture), [] as [&str; 0]);
    }

    #[test]
    fn a_projects_hooks_stay_as_they_were_trusted() {
        let file = "work/.agent-tui/settings.json";
        let mut fixture = Fixture::new(Trusted::AtStart, &with_hook("trusted"));
        assert_eq!(hooks(&fixture), ["trusted"]);
        fixture.put(file, &with_hook("new"));
        assert_eq!(fixture.load().1, 1, "the person is told");
        assert_eq!(hooks(&fixture), ["trusted"]);
        assert_eq!(fixture.hooks.env["SAID"], "trusted");
        fixture.put(file, r#"{"disableAllHooks": true}"#);
        fixture.load();
        assert_eq!(hooks(&fixture), ["trusted"]);
        fixture.put(file, &with_hook("trusted"));
        fixture.load();
        assert_eq!(hooks(&fixture), ["trusted"]);
        let mut fixture = Fixture::new(Trusted::Not, "{}");
        fixture.put(file, &with_hook("new"));
        fixture.load();
        assert_eq!(hooks(&fixture), [] as [&str; 0]);
    }
}
