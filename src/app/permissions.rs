//! What the person asks about permissions: what decided about a call, which rules there are, what they would decide.

use super::AppState;
use super::call::Call;
use super::transcript::NoticeKind;

impl AppState {
    /// Says what decided about the last call, or about the last one that is called so.
    pub(super) fn tell_why(&mut self, which: &str) {
        let which = which.to_lowercase();
        let named = |call: &&Call| {
            let name = format!("{} {}", call.tool, call.subject()).to_lowercase();
            !call.decisions.is_empty() && name.contains(&which)
        };
        let calls = self.calls.iter().rev().map(|(_, call)| call);
        let Some(call) = calls.into_iter().find(named) else {
            self.flash(if which.is_empty() {
                "nothing has been decided about yet".to_owned()
            } else {
                format!("nothing has been decided about a call with `{which}`")
            });
            return;
        };
        let mut lines = vec![format!("{} {}", call.tool, call.subject())];
        lines.extend(call.decisions.iter().cloned());
        self.notice(NoticeKind::Info, lines.join("\n"));
    }
}
