//! Everything that a key can trigger. `app` performs it.

/// One line per action: its name in a file, its words in the footer, its words in the help.
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
    Send: "send", "send", "Send the message";
    Newline: "newline", "new line", "Insert a new line";
    HistoryPrevious: "history-previous", "previous message", "Up a line; on the first line, the previous message";
    HistoryNext: "history-next", "next message", "Down a line; on the last line, the next message";
    SearchHistory: "search-history", "search history", "Search your earlier messages";
    EditQueue: "edit-queue", "queue", "Edit or remove a queued message";
    OpenEditor: "open-editor", "editor", "Edit the text in your editor";
    Accept: "accept", "accept", "Accept the suggestion";

    Interrupt: "interrupt", "interrupt", "Stop; finished work is kept";
    Background: "background", "background", "Move the command to the background";
    RetryNow: "retry-now", "retry now", "Retry without waiting";
    ClearOrQuit: "clear-or-quit", "clear or quit", "Clear the input; twice on an empty input quits";
    Quit: "quit", "quit", "Quit; you can resume the session later";

    TogglePanel: "toggle-panel", "tools", "Switch to the tool calls and back";
    Palette: "palette", "commands", "Find a command by name";
    ToggleDetails: "toggle-details", "details", "Show or hide details of the last calls";
    NextMode: "next-mode", "mode", "Switch to the next permission mode";
    Help: "help", "keys", "Show all keys";
    Redraw: "redraw", "redraw", "Redraw the screen";
    Suspend: "suspend", "suspend", "Suspend to the shell (`fg` returns)";
    Back: "back", "back", "Close and go back";

    Scroll: "scroll", "scroll", "Scroll, search and copy the conversation";
    LineDown: "line-down", "down", "Down a line";
    LineUp: "line-up", "up", "Up a line";
    PageDown: "page-down", "page down", "Down a page";
    PageUp: "page-up", "page up", "Up a page";
    HalfPageDown: "half-page-down", "half page down", "Down half a page";
    HalfPageUp: "half-page-up", "half page up", "Up half a page";
    Top: "top", "top", "Go to the top";
    Bottom: "bottom", "end", "Go to the end";
    NextMessage: "next-message", "next message", "Next message";
    PreviousMessage: "previous-message", "previous message", "Previous message";
    ToggleThinking: "toggle-thinking", "thinking", "Show or hide the model's thinking";
    ToggleDiffStyle: "toggle-diff-style", "diff style", "Switch diffs between side by side and unified";
    PrintConversation: "print-conversation", "print", "Print the whole conversation to the terminal";

    Search: "search", "search", "Search the conversation";
    NextMatch: "next-match", "next match", "Next match";
    PreviousMatch: "previous-match", "previous match", "Previous match";

    Select: "select", "select", "Select text with the keyboard";
    Copy: "copy", "copy", "Copy to the clipboard";
    Left: "left", "left", "Left a character";
    Right: "right", "right", "Right a character";
    WordLeft: "word-left", "word left", "Left a word";
    WordRight: "word-right", "word right", "Right a word";
    LineStart: "line-start", "line start", "Start of the line";
    LineEnd: "line-end", "line end", "End of the line";

    Next: "next", "next", "Next item";
    Previous: "previous", "previous", "Previous item";
    Open: "open", "open", "Open or close it";
    Choose: "choose", "choose", "Choose the selected item";
    Fork: "fork", "fork", "Continue with a copy of the session";
    Rename: "rename", "rename", "Give the session another title";
    Delete: "delete", "delete", "Delete it; press twice";
    AllDirectories: "all-directories", "all directories", "Sessions of all directories, or of this one";

    RestartServer: "restart-server", "restart", "Restart the MCP server";
    Switch: "switch", "off/on", "Switch the server or tool off or on; this is remembered";
    ShowLog: "show-log", "log", "Show what the server printed last";
    TrustServer: "trust-server", "trust", "Trust and start a server of the project; press twice";
    Login: "login", "log in", "Log in to the server in your browser";

    Mark: "mark", "mark", "Mark or unmark this one";
    NextQuestion: "next-question", "next question", "Next question, or the overview of your answers";
    PreviousQuestion: "previous-question", "previous question", "Question before this one";
    Dismiss: "dismiss", "skip", "Skip what is not answered; the call continues";

    Submit: "submit", "submit", "Submit the form";
    Decline: "decline", "decline", "Decline the form; the call continues";
    NextOption: "next-option", "next option", "Next option of this field";
    PreviousOption: "previous-option", "previous option", "Option before this one";

    NextTurn: "next-turn", "later turn", "Calls of the next turn";
    PreviousTurn: "previous-turn", "earlier turn", "Calls of the turn before";

    Fold: "fold", "fold", "Show all calls of a subagent, or none";
    CancelCall: "cancel-call", "stop", "Stop this call only";
    RunAgain: "run-again", "run again", "Run this call again";
    AnswerByHand: "answer-by-hand", "answer", "Type this call's result yourself";

    AllowOnce: "allow-once", "yes", "Allow this call once";
    AllowForSession: "allow-for-session", "yes, for this session", "Allow what the rule covers until the session ends";
    AllowAlways: "allow-always", "always", "Always allow: shows the rule and where it is saved";
    Deny: "deny", "no", "Deny this call";
    DenyWithReason: "deny-with-reason", "no, tell the model why", "Deny this call and tell the model why";
    DenyAndInterrupt: "deny-and-interrupt", "no, stop the turn", "Deny this call and stop the turn";
    ChooseHunks: "choose-hunks", "pick changes", "Accept or skip each change separately";
    SaveRule: "save-rule", "save", "Save the rule and allow this call";
    WidenRule: "widen-rule", "wider", "Change to the wider rule, or back to the exact one";
    SendReason: "send-reason", "send", "Send your text";

    DoNotTrust: "do-not-trust", "not now", "Continue without trusting the project";
    Trust: "trust", "trust", "Trust the project: its settings apply from now on";

    AcceptHunk: "accept-hunk", "accept", "Accept this change";
    RejectHunk: "reject-hunk", "skip", "Skip this change";
    AcceptRest: "accept-rest", "accept all", "Accept this change and all that follow";
    RejectRest: "reject-rest", "skip all", "Skip this change and all that follow";
    AcceptFile: "accept-file", "accept file", "Accept all changes in this file";
    RejectFile: "reject-file", "skip file", "Skip all changes in this file";
    SplitHunk: "split-hunk", "split", "Split this change into smaller ones";
    ApplyHunks: "apply-hunks", "apply", "Apply the accepted changes";
}

impl Action {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.name() == name)
    }
}
