use reqwest::Url;

use super::document;

const PAGE: &str = r#"<!doctype html><html><head><title>Guide &amp; notes</title><style>p{}</style></head><body>
<nav><a href="/">Home</a><a href="/x">X</a></nav>
<main><h1>Guide</h1><p>Read <a href="../start?a=1">the start</a> and <b>then</b> <code>run it</code>.</p>
<h2>Steps</h2><ol><li>One</li><li>Two<ul><li>Inner</li></ul></li></ol>
<pre><code class="language-sh">ls -l
[a](b)
</code></pre>
<table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody><tr><td>a</td><td>1</td></tr></tbody></table>
<script>alert("no")</script></main><footer>Imprint</footer></body></html>"#;

#[test]
fn a_page_keeps_its_text_and_loses_its_navigation() {
    let base = Url::parse("https://example.com/docs/page.html").expect("a URL");
    let document = document(PAGE, &base);
    assert_eq!(document.title.as_deref(), Some("Guide & notes"));
    let text = document.text;
    for part in [
        "# Guide\n",
        "Read [the start](https://example.com/start?a=1) and **then** `run it`.",
        "## Steps",
        "1. One\n2. Two",
        "- Inner",
        "```sh\nls -l\n[a](b)\n```",
        "| Name | Value |",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for part in ["Home", "alert", "Imprint", "p{}"] {
        assert!(!text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("\n\n\n"), "{text}");
}

#[test]
fn a_page_that_is_all_navigation_is_still_shown() {
    let base = Url::parse("https://example.com/").expect("a URL");
    let page = "<header><p>All that there is to say stands in here, in the header.</p></header>";
    assert!(document(page, &base).text.contains("All that there is"));
}

fn text(html: &str) -> String {
    let base = Url::parse("https://example.com/docs/page.html").expect("a URL");
    document(html, &base).text
}

#[test]
fn code_is_fenced_and_has_no_links_inside() {
    assert_eq!(
        text("<p>Run:</p><pre class=programlisting>\n  ls <a href='/x'>-l</a>\n</pre>"),
        "Run:\n\n```\n  ls -l\n```"
    );
    assert_eq!(
        text("<pre><code class='language-js'>a();</code><button>copy</button></pre>"),
        "```js\na();\n```"
    );
    assert_eq!(
        text("<pre>struct A<div>where B</div>{}<code>c</code><code>d</code></pre>"),
        "```\nstruct A\nwhere B\n{}c\nd\n```"
    );
    assert_eq!(text("<pre>a ``` b</pre>"), "````\na ``` b\n````");
}

#[test]
fn links_inside_the_page_are_text_and_links_from_a_heading_to_itself_are_gone() {
    assert_eq!(
        text(
            "<a href='#main'>Skip to content</a><h2><a href='#a'>Part</a> <a href='#a'>¶</a></h2>"
        ),
        "## Part"
    );
    assert_eq!(
        text("<p><a href='javascript:x()'>a</a> <a href='b c'>d</a><a href='/e'> </a></p>"),
        "a [d](https://example.com/docs/b%20c)"
    );
    assert_eq!(
        text("<head><base href='https://other.org/x/'></head><p><a href='y'>z</a></p>"),
        "[z](https://other.org/x/y)"
    );
}

#[test]
fn images_are_shown_by_what_they_say_and_never_as_data() {
    assert_eq!(
        text("<p>a <img src='i.png' alt='A chart'> <img src='x.gif' alt=''></p>"),
        "a ![A chart](https://example.com/docs/i.png)"
    );
    assert_eq!(
        text("<img alt=logo src='data:image/png;base64,AAAA'>"),
        "![logo]()"
    );
}

#[test]
fn a_table_has_no_padding_and_keeps_its_bars() {
    let page = "<table><caption>Sizes</caption><tr><th>A<th>B</tr><tr><td>a|b<td>a much longer cell\n<br>of two lines</tr>\
                <tr><td colspan=2>both</tr></table>";
    assert_eq!(
        text(page),
        "Sizes\n\n| A | B |\n| --- | --- |\n| a\\|b | a much longer cell of two lines |\n| both |  |"
    );
    assert_eq!(
        text("<table><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>"),
        "| a | 1 |\n| --- | --- |\n| b | 2 |",
        "without a header the first row is one"
    );
    assert_eq!(
        text("<table><tr><td><h1>Head</h1></td><td><p>Text</p></td></tr></table>"),
        "# Head\n\nText",
        "a table that arranges the page"
    );
}

#[test]
fn what_is_hidden_or_around_the_content_is_left_out() {
    let page = "<div role=navigation>menu</div><header>site</header><div hidden>secret</div>\
                <section><header><h1>The title</h1></header><p>The text.</p></section>\
                <article><aside>A note.</aside></article><aside>advert</aside><ul><li><button>x</button></li></ul>";
    assert_eq!(text(page), "# The title\n\nThe text.\n\nA note.");
    let filled = "word ".repeat(60);
    assert_eq!(
        text(&format!(
            "<div>Everywhere</div><main><p>{filled}</p></main>"
        )),
        filled.trim(),
        "what a page declares as its main part"
    );
}

#[test]
fn hostile_markup_is_text_and_costs_little() {
    for opened in [
        "<div>",
        "<b>",
        "<ul><li>",
        "<blockquote>",
        "<table><tr><td>",
        "<span>",
    ] {
        let page = format!("<title>T</title>{}the text", opened.repeat(20_000));
        assert_eq!(text(&page).trim_start_matches("T "), "the text", "{opened}");
    }
    let unclosed = (0..20_000).fold(String::new(), |page, id| {
        page + &format!("<p><b id={id}></p>")
    });
    assert_eq!(text(&format!("{unclosed}the text")), "the text");
    let page = format!("{}<script>no</script>a &amp; b", "<i>".repeat(300));
    assert_eq!(text(&page), "a & b");
    let many = "<b>x</b>".repeat(100_000);
    assert_eq!(text(&many), format!("**{}**", "x".repeat(100_000)));
    let wide = format!(
        "<table><tr><td>{}<td>b</tr>{}</table>",
        "y".repeat(100_000),
        "<tr><td>c<td>d</tr>".repeat(1000)
    );
    assert!(text(&wide).len() < 150_000);
}
