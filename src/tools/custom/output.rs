//! Tool output that is more than text: JSON with content blocks.

use serde_json::Value;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::protocol::{Image, ResultBlock};
use crate::tools::files::image::Format;
use crate::tools::{ToolError, ToolOutput};

/// The blocks, if the output is JSON with content. `isError` makes it an error.
pub fn blocks(printed: &str) -> Option<Result<ToolOutput, ToolError>> {
    let printed = printed.trim();
    if !printed.starts_with('{') {
        return None;
    }
    let json: Value = serde_json::from_str(printed).ok()?;
    let blocks: Vec<ResultBlock> = match json.get("content")? {
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        Value::String(text) => vec![ResultBlock::text(text)],
        _ => return None,
    };
    let is_error = ["isError", "is_error"].iter().any(|key| json[*key] == true);
    if is_error {
        return Some(Err(ToolError::new(ResultBlock::texts(&blocks))));
    }
    Some(Ok(ToolOutput {
        for_model: if blocks.is_empty() {
            vec![ResultBlock::text("(no output)")]
        } else {
            blocks
        },
        ..ToolOutput::default()
    }))
}

fn block(block: &Value) -> ResultBlock {
    match block["type"].as_str() {
        Some("text") => match block["text"].as_str() {
            Some(text) => ResultBlock::text(text),
            None => ResultBlock::text(block.to_string()),
        },
        Some("image") => image(block).map_or_else(ResultBlock::text, ResultBlock::Image),
        // The model may understand a block of an unknown kind.
        Some(_) | None => ResultBlock::text(block.to_string()),
    }
}

/// An image in the format of either protocol; the error says what is wrong with it.
fn image(block: &Value) -> Result<Image, String> {
    let data = block["data"].as_str().or(block["source"]["data"].as_str());
    let data = data.ok_or("(an image without data)")?;
    let bytes = BASE64_STANDARD.decode(data.trim());
    let bytes = bytes.map_err(|error| format!("(an image that is not base64: {error})"))?;
    let format = Format::of(&bytes).ok_or("(an image of an unknown format)")?;
    format
        .check(&bytes)
        .map_err(|error| format!("(an image that can't be shown: {error})"))?;
    Ok(Image::base64(format.media_type(), data.trim()))
}
