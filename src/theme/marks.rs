//! How roles differ without colours: bold, dim, italic, underlined, reversed.

use ratatui::style::Modifier;

use super::Role;

pub(super) const fn of(role: Role) -> Modifier {
    match role {
        Role::Accent
        | Role::Strong
        | Role::User
        | Role::Warning
        | Role::Error
        | Role::BorderFocused
        | Role::BorderAlert
        | Role::Heading
        | Role::InlineCode
        | Role::Added
        | Role::Executing
        | Role::ModeAcceptEdits
        | Role::ModePlan
        | Role::ModeDontAsk
        | Role::Key => Modifier::BOLD,

        Role::Muted
        | Role::Faint
        | Role::Border
        | Role::TableBorder
        | Role::Removed
        | Role::LineNumber
        | Role::HunkHeader
        | Role::Queued
        | Role::Yielded
        | Role::StatusLine
        | Role::KeyHint
        | Role::Placeholder
        | Role::Comment => Modifier::DIM,

        Role::Emphasis | Role::Quote | Role::Subheading => Modifier::ITALIC,
        Role::Thinking => Modifier::DIM.union(Modifier::ITALIC),
        Role::Strike => Modifier::CROSSED_OUT,
        Role::Skipped => Modifier::DIM.union(Modifier::CROSSED_OUT),

        Role::Match | Role::Link => Modifier::UNDERLINED,
        Role::AddedWord | Role::Failed | Role::Title => Modifier::BOLD.union(Modifier::UNDERLINED),
        Role::RemovedWord => Modifier::DIM.union(Modifier::UNDERLINED),

        Role::Selection | Role::Chosen | Role::Escaped => Modifier::REVERSED,
        Role::CurrentMatch | Role::ModeBypass => Modifier::BOLD.union(Modifier::REVERSED),

        Role::Text
        | Role::Success
        | Role::ListMark
        | Role::CodeBlock
        | Role::UserGround
        | Role::Completed
        | Role::ModeDefault
        | Role::Keyword
        | Role::String
        | Role::Number
        | Role::Type
        | Role::Function
        | Role::Variable
        | Role::Constant
        | Role::Operator
        | Role::Punctuation
        | Role::Attribute => Modifier::empty(),
    }
}
