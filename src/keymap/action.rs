//! Everything that a key can ask for. Performing it is the application's part.

/// One line for each action: how a file names it, what the footer says, what the help says.
macro_rules! actions {
    ($($action:ident: $name:literal, $short:literal, $sentence:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $sentence] $action,)*
        }

        impl Action {
            pub const ALL: &'static [Self] = &[$(Self::$action,)*];

            /// As it is written in a keymap.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$action => $name,)* }
            }

            /// A word or two, for the footer.
            pub const fn describe(self) -> &'static str {
                match self { $(Self::$action => $short,)* }
            }

            /// A sentence, for the help.
            pub const fn explain(self) -> &'static str {
                match self { $(Self::$action => $sentence,)* }
            }
        }
    };
}

actions! {
    Send: "send", "send", "Send the message.";
    Newline: "newline", "new line", "Begin a new line.";
    HistoryPrevious: "history-previous", "previous message", "Go up; from the first line, to the message sent before.";
    HistoryNext: "history-next", "next message", "Go down; from the last line, to the message sent after.";
    SearchHistory: "search-history", "search history", "Search the messages sent before.";
    OpenEditor: "open-editor", "editor", "Write the message in your editor.";
    Accept: "accept", "accept", "Take what is proposed.";

    Interrupt: "interrupt", "interrupt", "Stop the turn; what has been done stays.";
    Background: "background", "background", "Let the command go on in the background.";
    RetryNow: "retry-now", "retry now", "Send the request again without waiting.";
    ClearOrQuit: "clear-or-quit", "clear or quit", "Clear the input; when it is empty, press twice to quit.";
    Quit: "quit", "quit", "Leave agent-tui; the session can be resumed.";

    TogglePanel: "toggle-panel", "tools", "Go to the tool calls, and back.";
    Palette: "palette", "commands", "Find a command by its name.";
    ToggleDetails: "toggle-details", "details", "Open or fold the details of the last calls.";
    NextMode: "next-mode", "mode", "Change to the next permission mode.";
    Help: "help", "keys", "Show what the keys do.";
    Redraw: "redraw", "redraw", "Paint the screen again.";
    Suspend: "suspend", "suspend", "Go back to the shell for a while; `fg` returns.";
    Back: "back", "back", "Close this and go back.";

    Scroll: "scroll", "scroll", "Go into the conversation, to scroll, search and copy.";
    LineDown: "line-down", "down", "Go a line down.";
    LineUp: "line-up", "up", "Go a line up.";
    PageDown: "page-down", "page down", "Go a page down.";
    PageUp: "page-up", "page up", "Go a page up.";
    HalfPageDown: "half-page-down", "half page down", "Go half a page down.";
    HalfPageUp: "half-page-up", "half page up", "Go half a page up.";
    Top: "top", "top", "Go to the beginning.";
    Bottom: "bottom", "end", "Go to the end.";
    NextMessage: "next-message", "next message", "Go to the next message.";
    PreviousMessage: "previous-message", "previous message", "Go to the message before.";
    ToggleThinking: "toggle-thinking", "thinking", "Show or fold what the model thought.";
    ToggleDiffStyle: "toggle-diff-style", "diff style", "Show diffs side by side, or in one column.";
    PrintConversation: "print-conversation", "print", "Print the whole conversation to the normal screen.";

    Search: "search", "search", "Search the conversation.";
    NextMatch: "next-match", "next match", "Go to the next match.";
    PreviousMatch: "previous-match", "previous match", "Go to the match before.";

    Select: "select", "select", "Select text with the keys.";
    Copy: "copy", "copy", "Copy this to the clipboard.";
    Left: "left", "left", "Go a character to the left.";
    Right: "right", "right", "Go a character to the right.";
    WordLeft: "word-left", "word left", "Go a word to the left.";
    WordRight: "word-right", "word right", "Go a word to the right.";
    LineStart: "line-start", "line start", "Go to the start of the line.";
    LineEnd: "line-end", "line end", "Go to the end of the line.";

    Next: "next", "next", "Go to the next one.";
    Previous: "previous", "previous", "Go to the one before.";
    Open: "open", "open", "Open it, or fold it again.";
    Choose: "choose", "choose", "Take the chosen one.";

    Mark: "mark", "mark", "Mark this one, or take its mark away.";
    Dismiss: "dismiss", "let it decide", "Leave the question without an answer; the call goes on.";

    CancelCall: "cancel-call", "cancel", "Cancel this call; the others go on.";
    RunAgain: "run-again", "run again", "Run this call again.";
    AnswerByHand: "answer-by-hand", "answer", "Write the result of this call yourself.";

    AllowOnce: "allow-once", "yes", "Allow this call.";
    AllowForSession: "allow-for-session", "yes, for this session", "Allow such calls until the session ends.";
    AllowAlways: "allow-always", "always", "Allow such calls from now on; shows the rule, and where it is saved.";
    Deny: "deny", "no", "Deny this call.";
    DenyWithReason: "deny-with-reason", "no, tell the model why", "Deny this call, and tell the model why.";
    DenyAndInterrupt: "deny-and-interrupt", "no, stop the turn", "Deny this call, and stop the turn.";
    ChooseHunks: "choose-hunks", "pick changes", "Decide on each change of the diff by itself.";
    WidenRule: "widen-rule", "wider or exact", "Offer a wider rule, or the exact one again.";
    SaveRule: "save-rule", "save", "Save the rule, and allow this call.";
    SendReason: "send-reason", "send", "Send what you wrote.";

    DoNotTrust: "do-not-trust", "not now", "Work on without trusting the project.";
    Trust: "trust", "trust it", "Trust the project: its settings count from now on.";

    AcceptHunk: "accept-hunk", "accept", "Accept this change.";
    RejectHunk: "reject-hunk", "skip", "Skip this change.";
    AcceptRest: "accept-rest", "accept all", "Accept this change and all that follow.";
    RejectRest: "reject-rest", "skip all", "Skip this change and all that follow.";
    SplitHunk: "split-hunk", "split", "Split this change into smaller ones.";
    ApplyHunks: "apply-hunks", "apply", "Make the changes that you accepted.";
}

impl Action {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.name() == name)
    }
}
