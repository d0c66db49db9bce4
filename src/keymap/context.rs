//! Where a key can be pressed. The application decides which contexts are active.

macro_rules! contexts {
    ($($(#[$doc:meta])* $context:ident: $name:literal, $title:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Context {
            $($(#[$doc])* $context,)*
        }

        impl Context {
            /// In the order of the help.
            pub const ALL: &'static [Self] = &[$(Self::$context,)*];

            /// As it is written in a keymap.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$context => $name,)* }
            }

            /// The heading of its keys in the help.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$context => $title,)* }
            }
        }
    };
}

contexts! {
    /// The input has the focus.
    Composer: "composer", "Writing";
    /// The input has the focus and is empty, so letters can be bound.
    ComposerEmpty: "composer-empty", "In an empty input";
    Completion: "completion", "Completing a word";
    HistorySearch: "history-search", "Searching the history";
    /// A turn runs.
    Working: "working", "While the model works";
    /// The input has the focus, and the conversation is scrolled up.
    Scrolled: "scrolled", "Away from the end";
    /// A request failed and waits for its retry.
    Retry: "retry", "Before a retry";
    Global: "global", "Everywhere";
    /// The conversation has the focus.
    Scroll: "scroll", "In the conversation";
    /// The search query is being typed.
    Search: "search", "Typing a search";
    Select: "select", "Selecting text";
    /// The list of tool calls has the focus.
    Panel: "panel", "In the tool panel";
    /// The detail view of a call.
    Detail: "detail", "In a call's details";
    Permission: "permission", "Permission question";
    Hunks: "hunks", "Picking changes";
    /// The rule of an "always" is being edited.
    RuleEdit: "rule-edit", "Editing a rule";
    /// The reason of a denial is being typed.
    Reason: "reason", "Writing a reason";
    Question: "question", "Question from a tool";
    /// A tool asks, and has answers to choose from.
    Choice: "choice", "Choosing an answer";
    /// An answer is being written.
    ChoiceText: "choice-text", "Writing an answer";
    /// A field of a form has the keys, and it is not a text.
    Form: "form", "Filling in a form";
    /// A field of a form is being typed.
    FormText: "form-text", "Typing into a form";
    /// The question whether to trust the project.
    Trust: "trust", "Trust question";
    Picker: "picker", "Picking from a list";
    Servers: "servers", "In the list of MCP servers";
    /// A new title is being typed.
    Rename: "rename", "Renaming a session";
    /// A page to read.
    Pager: "pager", "Reading a page";
    Help: "help", "In this help";
}

impl Context {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|context| context.name() == name)
    }

    /// Whether something is asked here, with a short help of its own.
    pub const fn is_question(self) -> bool {
        matches!(
            self,
            Self::Permission | Self::Hunks | Self::Choice | Self::Form | Self::Trust
        )
    }

    /// Whether letters are typed here. Binding one would make it impossible to type.
    pub const fn takes_text(self) -> bool {
        match self {
            Self::Composer
            | Self::Completion
            | Self::HistorySearch
            | Self::Search
            | Self::RuleEdit
            | Self::Reason
            | Self::ChoiceText
            | Self::FormText
            | Self::Picker
            | Self::Rename
            | Self::Help
            // These are active around the input, too.
            | Self::Scrolled
            | Self::Working
            | Self::Global => true,
            Self::ComposerEmpty
            | Self::Retry
            | Self::Scroll
            | Self::Select
            | Self::Panel
            | Self::Detail
            | Self::Permission
            | Self::Hunks
            | Self::Question
            | Self::Choice
            | Self::Form
            | Self::Trust
            | Self::Servers
            | Self::Pager => false,
        }
    }
}
