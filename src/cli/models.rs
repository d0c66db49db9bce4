//! The models known without asking a server: those in the settings, and the provider's default.

use super::args::Args;
use super::project::{Audience, Project, TrustAnswer};
use crate::app::job::ModelRow;
use crate::provider::models::context_window;
use crate::provider::wires::Wire;

/// Reads the settings again: they may have changed since the program started.
pub fn known(args: &Args, provider: &str) -> Vec<ModelRow> {
    let mut rows: Vec<ModelRow> = Vec::new();
    let settings = Project::inspect(args, Audience::Person, &TrustAnswer::default())
        .map(|project| project.settings)
        .unwrap_or_default();
    let mut add = |name: &str, source: String| {
        if rows.iter().all(|row| row.name != name) {
            rows.push(ModelRow {
                name: name.to_owned(),
                context: context_window(name),
                price: settings.prices.get(name).copied(),
                source,
            });
        }
    };
    let origin = |key: &str| {
        let source = settings.origins.get(key);
        source.map_or_else(|| "settings".to_owned(), ToString::to_string)
    };
    if let Some(model) = &args.model {
        add(model, "--model".to_owned());
    }
    if let Some(model) = &settings.model {
        add(model, origin("model"));
    }
    for name in settings.prices.keys() {
        add(name, origin(&format!("prices.{name}")));
    }
    if let Some(wire) = Wire::named(provider) {
        add(wire.facts().model, format!("default of {provider}"));
    }
    rows
}
