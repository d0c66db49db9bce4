//! What a piece of the screen is, for a theme to say how it looks.

/// Every style of the screen. The view names roles; only a theme knows colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// Less important: times, counts, summaries.
    Muted,
    /// Hardly there: rules, gutters, hints.
    Faint,
    /// What the eye should find first: the prompt mark, the focused thing.
    Accent,
    /// Emphasis inside a text.
    Strong,
    Emphasis,
    Strike,
    /// What the person wrote.
    User,
    Thinking,
    Success,
    Warning,
    Error,
    Border,
    BorderFocused,
    /// The frame of a dialog that waits for an answer.
    BorderAlert,
    /// Text marked by mouse or keys.
    Selection,
    /// The chosen line of a list.
    Chosen,
    /// Where a search found something, and the place it stands at.
    Match,
    CurrentMatch,
    Heading,
    Link,
    Quote,
    ListMark,
    InlineCode,
    /// The ground of a block of code, and its text where nothing highlights it.
    CodeBlock,
    TableBorder,
    /// A control or invisible character made visible.
    Escaped,
    /// Whole lines of a diff, and the changed words inside them.
    Added,
    AddedWord,
    Removed,
    RemovedWord,
    LineNumber,
    HunkHeader,
    /// States of a call.
    Queued,
    Executing,
    Completed,
    Failed,
    Yielded,
    Skipped,
    /// The frame and name of a permission mode.
    ModeDefault,
    ModeAcceptEdits,
    ModePlan,
    ModeDontAsk,
    ModeBypass,
    StatusLine,
    /// A key in the footer, and what it does.
    Key,
    KeyHint,
    Placeholder,
    /// Highlighted code.
    Keyword,
    String,
    Comment,
    Number,
    Type,
    Function,
    Variable,
    Constant,
    Operator,
    Punctuation,
    Attribute,
}
