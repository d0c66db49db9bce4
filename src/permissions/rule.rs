//! Rules as people write them: `Tool` or `Tool(specifier)`, in the lists deny, ask and allow.

/// Which list a rule stands in. Deny beats ask beats allow, wherever the rules come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleList {
    Deny,
    Ask,
    Allow,
}

/// Where a rule comes from: a settings file, or a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(pub String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub text: String,
    pub tool: String,
    pub specifier: Option<String>,
    pub source: Source,
}

/// All rules in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub allow: Vec<Rule>,
}

impl Rules {
    /// Adds a rule as written. An error says what is wrong with it, in words for the person who wrote it.
    pub fn add(&mut self, list: RuleList, text: &str, source: &Source) -> Result<(), String> {
        let _ = (list, text, source);
        Ok(())
    }
}
