//! The result of a server's tool as a model can take it.
//!
//! A model takes text and four image formats. Everything else goes to a file, and the model gets its type, size and
//! path. Base64 never becomes text.

use std::io;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::describe::line;
use crate::protocol::{Image, ResultBlock};
use crate::text::{shortened, strip_ansi};
use crate::tools::files::human_size;
use crate::tools::files::image::Format;

/// A longer string in structured content that looks like Base64 goes to a file.
const LONGEST_BASE64: usize = 512;
const NOTHING: &str = "(the tool returned no content)";

/// Saves bytes in a file with this extension.
pub type Keep<'k> = &'k mut dyn FnMut(&[u8], &str) -> io::Result<PathBuf>;

#[derive(Debug, Clone, PartialEq)]
pub struct Mapped {
    pub blocks: Vec<ResultBlock>,
    pub is_error: bool,
}

/// The result of a tool call.
pub fn of_call(result: &Value, keep: Keep<'_>) -> Mapped {
    let content = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let mut blocks: Vec<ResultBlock> = Vec::new();
    for block in content {
        blocks.extend(of_block(block, keep));
    }
    let structured = result
        .get("structuredContent")
        .filter(|value| !value.is_null());
    if let Some(structured) = structured.filter(|it| !carries(content, it)) {
        let json = without_base64(structured, keep);
        let json = serde_json::to_string_pretty(&json).unwrap_or_default();
        blocks.push(ResultBlock::text(json));
    }
    if content.is_empty() && structured.is_none() && !result.is_object() {
        blocks.push(ResultBlock::text(readable(&result.to_string())));
    }
    if blocks.iter().all(is_blank) {
        blocks = vec![ResultBlock::text(NOTHING)];
    }
    Mapped {
        blocks,
        is_error: result["isError"] == true,
    }
}

/// The contents of a resource that was read.
pub fn of_resource(result: &Value, keep: Keep<'_>) -> Vec<ResultBlock> {
    let contents = result["contents"].as_array().into_iter().flatten();
    contents.flat_map(|part| resource(part, keep)).collect()
}

/// One block of content, of a result or of a prompt's message.
pub fn of_block(block: &Value, keep: Keep<'_>) -> Vec<ResultBlock> {
    let media_type = || text_of(block, "mimeType").unwrap_or("application/octet-stream");
    match (block["type"].as_str(), text_of(block, "data")) {
        (Some("text"), _) => {
            let text = text_of(block, "text").unwrap_or_default();
            vec![ResultBlock::text(readable(text))]
        }
        (Some("image" | "audio"), Some(data)) => vec![binary(data, media_type(), None, keep)],
        (Some("resource"), _) => resource(&block["resource"], keep),
        (Some("resource_link"), _) => vec![link(block)],
        // A block of an unknown kind: the model may understand it.
        _ => vec![ResultBlock::text(readable(
            &without_base64(block, keep).to_string(),
        ))],
    }
}

fn resource(resource: &Value, keep: Keep<'_>) -> Vec<ResultBlock> {
    let uri = line(text_of(resource, "uri").unwrap_or("unknown"));
    let media_type = text_of(resource, "mimeType");
    if let Some(data) = text_of(resource, "blob") {
        let media_type = media_type.unwrap_or("application/octet-stream");
        return match binary(data, media_type, Some(&uri), keep) {
            image @ ResultBlock::Image(_) => {
                vec![ResultBlock::text(format!("[resource {uri}]")), image]
            }
            text @ ResultBlock::Text { .. } => vec![text],
        };
    }
    let text = readable(text_of(resource, "text").unwrap_or_default());
    vec![ResultBlock::text(format!("[resource {uri}]\n{text}"))]
}

fn link(block: &Value) -> ResultBlock {
    let uri = line(text_of(block, "uri").unwrap_or("unknown"));
    let name = text_of(block, "title").or(text_of(block, "name"));
    let mut text = format!("[resource link {uri}");
    for more in [name, text_of(block, "mimeType")].into_iter().flatten() {
        text.push_str(", ");
        text.push_str(&line(more));
    }
    if let Some(size) = block["size"].as_u64() {
        text.push_str(", ");
        text.push_str(&human_size(size));
    }
    text.push(']');
    if let Some(about) = text_of(block, "description") {
        text.push(' ');
        text.push_str(&readable(about));
    }
    ResultBlock::text(text)
}

/// An image that a model takes, or a text that says where the bytes are.
fn binary(data: &str, media_type: &str, uri: Option<&str>, keep: Keep<'_>) -> ResultBlock {
    let media_type = line(media_type);
    let what = uri.map_or_else(
        || media_type.clone(),
        |uri| format!("resource {uri}, {media_type}"),
    );
    let compact: String = data.chars().filter(|it| !it.is_whitespace()).collect();
    let Ok(bytes) = BASE64_STANDARD.decode(&compact) else {
        return ResultBlock::text(format!("[{what}: the server sent invalid Base64]"));
    };
    let format = Format::of(&bytes);
    let problem = match format.map(|format| (format, format.check(&bytes))) {
        Some((format, Ok(()))) => {
            return ResultBlock::Image(Image::base64(format.media_type(), compact));
        }
        Some((_, Err(error))) => format!("; {error}"),
        None => String::new(),
    };
    let extension = format.map_or_else(
        || extension(&media_type),
        |format| extension(format.media_type()),
    );
    let size = human_size(bytes.len() as u64);
    ResultBlock::text(match keep(&bytes, &extension) {
        Ok(path) => format!("[{what}, {size}, saved to {}{problem}]", path.display()),
        Err(error) => format!("[{what}, {size}; it could not be saved: {error}]"),
    })
}

/// The usual extension of files of this type.
fn extension(media_type: &str) -> String {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    let (family, name) = kind.split_once('/').unwrap_or_default();
    let name = name.trim_start_matches("x-");
    match (family, name) {
        ("image", "jpeg") => "jpg",
        ("image", "svg+xml") => "svg",
        ("audio", "mpeg") => "mp3",
        ("audio", "wave") => "wav",
        ("text", "plain") => "txt",
        ("application", "gzip") => "gz",
        (_, name)
            if (1..=5).contains(&name.len())
                && name.chars().all(|it| it.is_ascii_alphanumeric()) =>
        {
            name
        }
        _ => "bin",
    }
    .to_owned()
}

/// Whether the blocks say all that the structured content says.
fn carries(content: &[Value], structured: &Value) -> bool {
    let texts = || content.iter().filter_map(|block| text_of(block, "text"));
    let same_json = |text: &str| {
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        parsed.is_some_and(|parsed| parsed == *structured || is_only_value(structured, &parsed))
    };
    if texts().any(same_json) {
        return true;
    }
    let whole = texts().collect::<Vec<_>>().join("\n");
    let is_in_text = |leaf: &Value| match leaf {
        Value::Null => true,
        Value::String(leaf) => {
            leaf.trim() == whole.trim()
                || content.iter().any(|block| is_in_block(block, leaf.trim()))
        }
        Value::Bool(_) | Value::Number(_) => {
            texts().any(|text| text.trim().parse().is_ok_and(|value: Value| value == *leaf))
        }
        Value::Array(_) | Value::Object(_) => false,
    };
    !content.is_empty() && leaves(structured).iter().all(|leaf| is_in_text(leaf))
}

/// SDKs wrap a plain value as `{"result": value}`.
fn is_only_value(structured: &Value, value: &Value) -> bool {
    structured
        .as_object()
        .is_some_and(|object| object.len() == 1 && object.values().all(|only| only == value))
}

fn is_in_block(block: &Value, leaf: &str) -> bool {
    match block {
        Value::String(text) => text.trim() == leaf,
        Value::Object(object) => object.values().any(|value| is_in_block(value, leaf)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().flat_map(leaves).collect(),
        Value::Object(object) => object.values().flat_map(leaves).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![value],
    }
}

fn without_base64(value: &Value, keep: Keep<'_>) -> Value {
    match value {
        Value::String(text) => match base64_in(text) {
            Some(bytes) => {
                let extension =
                    Format::of(&bytes).map_or("bin".to_owned(), |it| extension(it.media_type()));
                let size = human_size(bytes.len() as u64);
                let place = match keep(&bytes, &extension) {
                    Ok(path) => format!("saved to {}", path.display()),
                    Err(error) => format!("it could not be saved: {error}"),
                };
                Value::String(format!("[binary data, {size}, {place}]"))
            }
            None => Value::String(readable(text)),
        },
        Value::Array(values) => {
            let mut kept = Vec::new();
            for value in values {
                kept.push(without_base64(value, keep));
            }
            Value::Array(kept)
        }
        Value::Object(object) => {
            let mut kept = serde_json::Map::new();
            for (key, value) in object {
                kept.insert(key.clone(), without_base64(value, keep));
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The bytes of a string that is nothing but a long run of Base64, or a data URL with one.
fn base64_in(text: &str) -> Option<Vec<u8>> {
    let data = match text.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        None => text,
    };
    let is_long = data.len() > LONGEST_BASE64;
    let mixed = || data.bytes().any(|byte| !byte.is_ascii_lowercase());
    if !is_long || !mixed() {
        return None;
    }
    BASE64_STANDARD.decode(data.trim()).ok()
}

/// Text without what controls a terminal.
fn readable(text: &str) -> String {
    let text = strip_ansi(text);
    let is_kept = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t' | '\r');
    text.chars().filter(is_kept).collect()
}

fn is_blank(block: &ResultBlock) -> bool {
    match block {
        ResultBlock::Text { text } => text.trim().is_empty(),
        ResultBlock::Image(_) => false,
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A short text of an error that a server answered with.
pub fn error_text(message: &str) -> String {
    shortened(&readable(message), 4_000, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Maps a result; saved files are returned as their size and name.
    fn mapped(result: &Value) -> (Mapped, Vec<(usize, String)>) {
        let mut files = Vec::new();
        let mut keep = |bytes: &[u8], extension: &str| {
            files.push((bytes.len(), extension.to_owned()));
            Ok(PathBuf::from(format!("/r/{}.{extension}", files.len())))
        };
        let mapped = of_call(result, &mut keep);
        (mapped, files)
    }

    fn texts(result: &Value) -> String {
        ResultBlock::texts(&mapped(result).0.blocks)
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    /// A white pixel.
    const GIF: &str = "R0lGODlhAQABAAAAACwAAAAAAQABAAACADs=";

    #[test]
    fn text_is_passed_on_without_escape_sequences() {
        assert_eq!(
            texts(&json!({ "content": [text("a\u{1b}[31mb\u{7}\n\tc")] })),
            "ab\n\tc"
        );
    }

    #[test]
    fn a_result_without_content_says_so() {
        for result in [
            json!({}),
            json!({ "content": [] }),
            json!({ "content": [text(" ")] }),
        ] {
            assert_eq!(texts(&result), NOTHING);
        }
    }

    #[test]
    fn an_image_that_a_model_takes_stays_an_image() {
        let result =
            json!({ "content": [{ "type": "image", "data": GIF, "mimeType": "image/wrong" }] });
        let image = ResultBlock::Image(Image::base64("image/gif", GIF));
        assert_eq!(
            mapped(&result),
            (
                Mapped {
                    blocks: vec![image],
                    is_error: false
                },
                vec![]
            )
        );
    }

    #[test]
    fn audio_blobs_and_other_images_go_to_a_file_with_type_size_and_path() {
        let data = BASE64_STANDARD.encode("<svg/>");
        let result = json!({ "content": [
            { "type": "image", "data": data, "mimeType": "image/svg+xml" },
            { "type": "audio", "data": data, "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x://y", "blob": data, "mimeType": "application/zip" } },
        ] });
        let (mapped, files) = mapped(&result);
        let names: Vec<&str> = files
            .iter()
            .map(|(_, extension)| extension.as_str())
            .collect();
        assert_eq!(names, ["svg", "wav", "zip"]);
        assert_eq!(
            ResultBlock::texts(&mapped.blocks),
            "[image/svg+xml, 6 bytes, saved to /r/1.svg]\n[audio/wav, 6 bytes, saved to /r/2.wav]\n\
             [resource x://y, application/zip, 6 bytes, saved to /r/3.zip]"
        );
    }

    #[test]
    fn resources_and_links_name_their_uri() {
        let result = json!({ "content": [
            { "type": "resource", "resource": { "uri": "file:///a", "text": "hello" } },
            { "type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/plain", "size": 12, "description": "B" },
        ] });
        assert_eq!(
            texts(&result),
            "[resource file:///a]\nhello\n[resource link file:///b, b, text/plain, 12 bytes] B"
        );
    }

    #[test]
    fn structured_content_is_added_only_if_the_text_does_not_carry_it() {
        let plain = |structured: Value, content: Value| {
            texts(&json!({ "content": content, "structuredContent": structured }))
        };
        let repeated = json!({ "a": 1 });
        assert_eq!(
            plain(repeated, json!([text("{ \"a\": 1 }")])),
            "{ \"a\": 1 }"
        );
        assert_eq!(
            plain(
                json!({ "content": "long text" }),
                json!([text("long text")])
            ),
            "long text"
        );
        assert_eq!(plain(json!({ "result": 5 }), json!([text("5")])), "5");
        let added = plain(json!({ "temperature": 22.5 }), json!([text("warm")]));
        assert_eq!(added, "warm\n{\n  \"temperature\": 22.5\n}");
        assert_eq!(
            plain(json!({ "a": true }), json!([])),
            "{\n  \"a\": true\n}"
        );
    }

    #[test]
    fn structured_content_that_repeats_an_image_is_left_out() {
        let image = json!({ "type": "image", "data": GIF, "mimeType": "image/gif" });
        let result =
            json!({ "content": [image.clone()], "structuredContent": { "content": [image] } });
        let (mapped, files) = mapped(&result);
        assert_eq!((mapped.blocks.len(), files.len()), (1, 0));
    }

    #[test]
    fn base64_in_structured_content_goes_to_a_file() {
        let data = BASE64_STANDARD.encode([7; 2_000]);
        let (mapped, files) = mapped(
            &json!({ "content": [text("see below")], "structuredContent": { "data": data } }),
        );
        assert_eq!(files, [(2_000, "bin".to_owned())]);
        assert!(!ResultBlock::texts(&mapped.blocks).contains(&data));
    }

    #[test]
    fn errors_are_errors() {
        assert!(
            mapped(&json!({ "content": [text("no")], "isError": true }))
                .0
                .is_error
        );
    }

    proptest! {
        #[test]
        fn no_block_of_any_kind_becomes_base64_text(
            bytes in prop::collection::vec(any::<u8>(), 600..900),
            kind in prop::sample::select(vec!["image", "audio", "resource", "strange"]),
        ) {
            let data = BASE64_STANDARD.encode(&bytes);
            let block = json!({ "type": kind, "data": data, "mimeType": "a/b", "resource": { "uri": "u", "blob": data } });
            let (mapped, _) = mapped(&json!({ "content": [block], "structuredContent": { "x": [data] } }));
            prop_assert!(!ResultBlock::texts(&mapped.blocks).contains(&data));
        }
    }
}
