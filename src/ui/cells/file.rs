//! What a call has read of a file: numbered lines with syntax colours.

use ratatui::text::Span;

use super::CellContext;
use super::call::{bar, output};
use crate::theme::Role;
use crate::ui::diff::code_line;
use crate::ui::text::{Indent, Row, chop};

/// The first lines of what was read of `path`. Text below the numbered lines is shown as it is.
pub fn rows(text: &str, path: &str, most: usize, cx: &mut CellContext) -> Vec<Row> {
    let margin = bar(cx.theme);
    let (mut rows, shown, rest) = code_rows(text, path, most, &margin, cx);
    rows.extend(output(rest, most - shown, cx));
    rows
}

/// The numbered lines at the beginning of `text`, how many they are, and the text below them.
pub fn code_rows<'t>(
    text: &'t str,
    path: &str,
    most: usize,
    margin: &[Span<'static>],
    cx: &mut CellContext,
) -> (Vec<Row>, usize, &'t str) {
    let mut lines: Vec<(&str, &str)> = Vec::new();
    let mut rest = text;
    while lines.len() < most
        && let (line, after) = rest.split_once('\n').unwrap_or((rest, ""))
        && let Some(line) = numbered(line)
    {
        lines.push(line);
        rest = after;
    }
    let code: String = lines.iter().flat_map(|(_, line)| [line, "\n"]).collect();
    let colours = match lines.len() {
        0 => None,
        _ => cx.code.colours(path, &code),
    };
    let colours = colours.unwrap_or_default();
    let digits = lines.last().map_or(0, |(number, _)| number.len());
    let style = cx.theme.style(Role::LineNumber);
    let mut rows = Vec::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        let beside = |number: &str| {
            let mut spans = margin.to_vec();
            spans.push(Span::styled(format!("{number:>digits$} "), style));
            spans
        };
        let first = beside(number);
        let indent = Indent {
            gutter: u16::try_from(first.iter().map(Span::width).sum::<usize>()).unwrap_or(0),
            first,
            rest: beside(""),
        };
        let line = code_line(line, colours.line(index), cx.theme);
        rows.extend(chop(line, cx.width, &indent));
    }
    (rows, lines.len(), rest)
}

/// A line number and its line.
fn numbered(line: &str) -> Option<(&str, &str)> {
    let (number, line) = line.split_once('\t')?;
    let number = number.trim_start();
    let counts = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    counts.then_some((number, line))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::rows;
    use crate::theme::{Role, Theme};
    use crate::ui::cells::CellContext;
    use crate::ui::highlight::{CodeColours, Highlighted};

    /// Treats every `fn` at the start of a line as a keyword, and records the requests.
    #[derive(Default)]
    struct Keywords(Vec<(String, String)>);

    impl CodeColours for Keywords {
        fn colours(&mut self, language: &str, code: &str) -> Option<Arc<Highlighted>> {
            self.0.push((language.to_owned(), code.to_owned()));
            let keyword = |line: &str| {
                let found = line.starts_with("fn").then_some((0..2, Role::Keyword));
                found.into_iter().collect()
            };
            let lines = code.lines().map(keyword).collect();
            Some(Arc::new(Highlighted { lines }))
        }
    }

    /// The rows as text, the words in the colour of keywords, and the requested colours.
    fn drawn(text: &str, most: usize) -> (Vec<String>, Vec<String>, Vec<(String, String)>) {
        let theme = Theme::builtin("dark").expect("a theme that comes with the program");
        let mut code = Keywords::default();
        let mut cx = CellContext {
            width: 24,
            theme: &theme,
            code: &mut code,
        };
        let rows = rows(text, "src/lib.rs", most, &mut cx);
        let keyword = theme.style(Role::Keyword).fg;
        let spans = rows.iter().flat_map(|row| &row.line.spans);
        let keywords = spans.filter(|span| span.style.fg == keyword);
        let keywords = keywords.map(|span| span.content.to_string()).collect();
        let shown = rows.iter().map(|row| row.line.to_string()).collect();
        (shown, keywords, code.0)
    }

    #[test]
    fn lines_keep_their_numbers_and_get_their_colours() {
        let (shown, keywords, asked) = drawn("     9\tfn main() {\n    10\t}\n", 10);
        assert_eq!(shown, ["  │  9 fn main() {", "  │ 10 }"]);
        assert_eq!(keywords, ["fn"]);
        let code = "fn main() {\n}\n".to_owned();
        assert_eq!(asked, [("src/lib.rs".to_owned(), code)]);
    }

    #[test]
    fn text_below_the_lines_and_omitted_lines_are_shown() {
        let (shown, ..) = drawn("1\tone\n2\ttwo\n\n(cut off)", 10);
        assert_eq!(shown, ["  │ 1 one", "  │ 2 two", "  │ ", "  │ (cut off)"]);
        let (shown, ..) = drawn("1\tone\n2\ttwo\n3\tthree\n", 1);
        assert_eq!(shown, ["  │ 1 one", "  │ … 2 more lines"]);
    }

    #[test]
    fn output_without_line_numbers_is_plain() {
        let (shown, keywords, asked) = drawn("fn is\tno number", 10);
        assert_eq!(shown.len(), 1);
        assert_eq!(keywords, [""; 0]);
        assert_eq!(asked, []);
    }
}
