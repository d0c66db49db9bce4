//! The role of a `TextMate` scope.
//!
//! The innermost scope with a role decides; among the prefixes that match it, the longest.

use syntect::parsing::{ParseScopeError, Scope, ScopeStack};

use crate::theme::Role;

const ROLES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("constant", Role::Constant),
    ("constant.numeric", Role::Number),
    ("entity.name.class", Role::Type),
    ("entity.name.constant", Role::Constant),
    ("entity.name.enum", Role::Type),
    ("entity.name.function", Role::Function),
    ("entity.name.impl", Role::Type),
    ("entity.name.interface", Role::Type),
    ("entity.name.label", Role::Constant),
    ("entity.name.macro", Role::Function),
    ("entity.name.section", Role::Keyword),
    ("entity.name.struct", Role::Type),
    ("entity.name.tag", Role::Keyword),
    ("entity.name.trait", Role::Type),
    ("entity.name.type", Role::Type),
    ("entity.name.union", Role::Type),
    ("entity.other.attribute-name", Role::Attribute),
    ("entity.other.inherited-class", Role::Type),
    ("keyword", Role::Keyword),
    ("keyword.operator", Role::Operator),
    ("keyword.operator.word", Role::Keyword),
    ("markup.bold", Role::Strong),
    ("markup.deleted", Role::Removed),
    ("markup.heading", Role::Keyword),
    ("markup.inserted", Role::Added),
    ("markup.italic", Role::Emphasis),
    ("markup.raw", Role::String),
    ("markup.underline.link", Role::String),
    ("meta.annotation", Role::Attribute),
    ("meta.diff.range", Role::HunkHeader),
    ("punctuation", Role::Punctuation),
    ("punctuation.definition.annotation", Role::Attribute),
    ("punctuation.definition.comment", Role::Comment),
    ("punctuation.definition.string", Role::String),
    ("storage", Role::Keyword),
    ("string", Role::String),
    ("support.class", Role::Type),
    ("support.constant", Role::Constant),
    ("support.function", Role::Function),
    ("support.macro", Role::Function),
    ("support.type", Role::Type),
    ("variable", Role::Variable),
    ("variable.annotation", Role::Attribute),
    ("variable.function", Role::Function),
    ("variable.language", Role::Keyword),
];

pub struct Scopes {
    /// Longest prefix first.
    roles: Vec<(Scope, Role)>,
}

impl Scopes {
    pub fn new() -> Result<Self, ParseScopeError> {
        let parsed = ROLES
            .iter()
            .map(|(name, role)| Ok((Scope::new(name)?, *role)));
        let mut roles = parsed.collect::<Result<Vec<_>, ParseScopeError>>()?;
        roles.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
        Ok(Self { roles })
    }

    pub fn role(&self, stack: &ScopeStack) -> Option<Role> {
        stack.scopes.iter().rev().find_map(|scope| {
            let found = self
                .roles
                .iter()
                .find(|(prefix, _)| prefix.is_prefix_of(*scope));
            found.map(|(_, role)| *role)
        })
    }
}
