//! The role of each piece of the screen; the theme decides how it looks.

/// One line per role, with its name in a theme file.
macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident: $name:literal,)*) => {
        /// Every style of the screen. The view names roles; only a theme knows colours.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl Role {
            pub const ALL: &'static [Self] = &[$(Self::$role,)*];

            /// As it is written in a theme.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }
        }
    };
}

roles! {
    /// Ordinary text.
    Text: "text",
    /// Less important: times, counts, summaries.
    Muted: "muted",
    /// Barely visible: lines, gutters, hints.
    Faint: "faint",
    /// What should be noticed first: the prompt mark, the focused thing.
    Accent: "accent",
    /// Emphasis inside a text.
    Strong: "strong",
    Emphasis: "emphasis",
    Strike: "strike",
    /// What the person wrote.
    User: "user",
    /// The background of the rows that the person wrote.
    UserGround: "user-ground",
    Thinking: "thinking",
    Success: "success",
    Warning: "warning",
    Error: "error",
    Border: "border",
    BorderFocused: "border-focused",
    /// The frame of a dialog that waits for an answer.
    BorderAlert: "border-alert",
    /// Text selected with the mouse or keys.
    Selection: "selection",
    /// The selected line of a list.
    Chosen: "chosen",
    /// Search matches, and the current one.
    Match: "match",
    CurrentMatch: "current-match",
    /// Headings: the first level, the second (and those of the program itself), and all below.
    Title: "title",
    Heading: "heading",
    Subheading: "subheading",
    Link: "link",
    Quote: "quote",
    ListMark: "list-mark",
    InlineCode: "inline-code",
    /// The background of a code block, and its text without highlighting.
    CodeBlock: "code-block",
    TableBorder: "table-border",
    /// A control or invisible character made visible.
    Escaped: "escaped",
    /// Whole lines of a diff, and the changed words inside them.
    Added: "added",
    AddedWord: "added-word",
    Removed: "removed",
    RemovedWord: "removed-word",
    LineNumber: "line-number",
    HunkHeader: "hunk-header",
    /// States of a call.
    Queued: "queued",
    Executing: "executing",
    Completed: "completed",
    Failed: "failed",
    Yielded: "yielded",
    Skipped: "skipped",
    /// The frame and name of a permission mode.
    ModeDefault: "mode-default",
    ModeAcceptEdits: "mode-accept-edits",
    ModePlan: "mode-plan",
    ModeDontAsk: "mode-dont-ask",
    ModeBypass: "mode-bypass",
    StatusLine: "status-line",
    /// A key in the footer, and what it does.
    Key: "key",
    KeyHint: "key-hint",
    Placeholder: "placeholder",
    /// Highlighted code.
    Keyword: "keyword",
    String: "string",
    Comment: "comment",
    Number: "number",
    Type: "type",
    Function: "function",
    Variable: "variable",
    Constant: "constant",
    Operator: "operator",
    Punctuation: "punctuation",
    Attribute: "attribute",
}

impl Role {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }
}
