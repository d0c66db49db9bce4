//! A tool without its input type, as the executor handles it.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use futures_util::future::{BoxFuture, FutureExt};
use jsonschema::Validator;
use serde::Deserialize;
use serde_json::Value;

use super::{
    DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated, input_schema, lenient,
};
use crate::permissions::Grant;
use crate::protocol::{FileDiff, PartOfFile, Program, ServerTool, ToolDefinition, Touches};

/// A longer message about a violation does not repeat the value.
const LONGEST_PROBLEM: usize = 300;

/// What the input alone says about a call. The defaults are the strict ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFacts {
    pub safe: bool,
    pub read_only: bool,
    pub subject: Option<String>,
}

/// The defaults are those of a tool that runs on this machine, is always offered and changes no files it could show in
/// advance.
pub trait AnyTool: Send + Sync {
    fn spec(&self) -> &ToolSpec;
    fn definition(&self, about: &DescribeCx) -> ToolDefinition;
    fn is_enabled(&self, _about: &DescribeCx) -> bool {
        true
    }
    /// The tool of the provider that runs its calls, if it does.
    fn served_by(&self, _about: &DescribeCx) -> Option<ServerTool> {
        None
    }
    /// Never panics or fails: an input that does not match the schema gets the strict facts.
    fn facts(&self, input: &Value) -> CallFacts;
    /// What a call touches; the input may be any JSON.
    fn touches(&self, input: &Value) -> Touches;
    /// An example of an input.
    fn sample(&self) -> Value;
    /// What a call starts on this machine, for the person who is asked; `None` if the input shows it.
    fn program(&self, _cx: &ToolCx) -> Option<Program> {
        None
    }
    /// Does the work that the first call would otherwise wait for, such as compiling the schema.
    fn prepare(&self);
    /// Every violation of the schema, worded for the model.
    fn violations(&self, input: &Value) -> Vec<String>;
    /// Checks what the schema can't express.
    fn validate<'a>(
        &'a self,
        _input: &'a Value,
        _cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Validated, ToolError>> {
        ready(Ok(Validated::Fine)).boxed()
    }
    /// The files as the call would leave them, as far as they are known before it runs.
    fn preview<'a>(&'a self, _input: &'a Value, _cx: &'a ToolCx) -> BoxFuture<'a, Vec<FileDiff>> {
        ready(Vec::new()).boxed()
    }
    /// Makes the call, or only the part of it that leaves these files with these texts.
    fn call<'a>(
        &'a self,
        input: &'a Value,
        part: Option<Vec<PartOfFile>>,
        grant: Grant,
        cx: ToolCx,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// Makes an [`AnyTool`] from a [`Tool`]. Holds its schema, which is compiled on first use.
pub struct Erased<T> {
    tool: T,
    spec: ToolSpec,
    schema: OnceLock<Value>,
    validator: OnceLock<Option<Validator>>,
}

impl<T: Tool> Erased<T> {
    pub fn new(tool: T) -> Self {
        Self {
            spec: tool.spec(),
            tool,
            schema: OnceLock::new(),
            validator: OnceLock::new(),
        }
    }

    fn schema(&self) -> &Value {
        self.schema.get_or_init(input_schema::<T::Input>)
    }

    fn validator(&self) -> Option<&Validator> {
        let compile = || jsonschema::validator_for(self.schema()).ok();
        self.validator.get_or_init(compile).as_ref()
    }

    fn parse(&self, input: &Value) -> Result<T::Input, ToolError> {
        let input = lenient::meant(self.schema(), input);
        T::Input::deserialize(&*input).map_err(|error| {
            let name = &self.spec.name;
            ToolError::new(format!("The input of {name} does not fit: {error}"))
                .with_sentence("the model sent invalid input")
        })
    }
}

/// Every violation of a tool's schema.
pub fn violations(validator: Option<&Validator>, name: &str, input: &Value) -> Vec<String> {
    let Some(validator) = validator else {
        return vec![format!(
            "the schema of {name} does not compile; please report this"
        )];
    };
    validator
        .iter_errors(input)
        .map(|error| {
            let path = error.instance_path().to_string();
            let mut problem = error.to_string();
            if problem.len() > LONGEST_PROBLEM {
                problem = error.masked_with("the value").to_string();
            }
            if path.is_empty() {
                problem
            } else {
                format!("`{path}`: {problem}")
            }
        })
        .collect()
}

impl<T: Tool> AnyTool for Erased<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn definition(&self, about: &DescribeCx) -> ToolDefinition {
        ToolDefinition {
            name: self.spec.name.to_string(),
            description: self.tool.description(about),
            input_schema: self.schema().clone(),
            strict: self.tool.is_strict(),
            input_examples: self.tool.input_examples(),
            server: self.tool.served_by(about),
        }
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        self.tool.is_enabled(about)
    }

    fn served_by(&self, about: &DescribeCx) -> Option<ServerTool> {
        self.tool.served_by(about)
    }

    fn facts(&self, input: &Value) -> CallFacts {
        let ask = || {
            let subject = self.spec.subject.of(input);
            let input = self.parse(input).ok()?;
            Some(CallFacts {
                safe: self.tool.is_concurrency_safe(&input),
                read_only: self.tool.is_read_only(&input),
                subject,
            })
        };
        catch_unwind(AssertUnwindSafe(ask))
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    fn touches(&self, input: &Value) -> Touches {
        self.tool.touches(input)
    }

    fn sample(&self) -> Value {
        self.tool.sample()
    }

    fn prepare(&self) {
        self.validator();
    }

    fn violations(&self, input: &Value) -> Vec<String> {
        let input = lenient::meant(self.schema(), input);
        violations(self.validator(), &self.spec.name, &input)
    }

    fn validate<'a>(
        &'a self,
        input: &'a Value,
        cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Validated, ToolError>> {
        async move {
            let input = self.parse(input)?;
            self.tool.validate(&input, cx).await
        }
        .boxed()
    }

    fn preview<'a>(&'a self, input: &'a Value, cx: &'a ToolCx) -> BoxFuture<'a, Vec<FileDiff>> {
        async move {
            match self.parse(input) {
                Ok(input) => self.tool.preview(&input, cx).await,
                Err(_) => Vec::new(),
            }
        }
        .boxed()
    }

    fn call<'a>(
        &'a self,
        input: &'a Value,
        part: Option<Vec<PartOfFile>>,
        grant: Grant,
        cx: ToolCx,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move {
            let input = self.parse(input)?;
            match part {
                None => self.tool.call(input, grant, cx).await,
                Some(files) => self.tool.call_in_part(input, files, grant, cx).await,
            }
        }
        .boxed()
    }
}
