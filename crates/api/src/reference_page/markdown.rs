//! Markdown to HTML for pages that people read in a browser. Raw HTML in the text is shown as text, images are left out and
//! links may only lead to this server or to `https` addresses, so no page can carry a script or a request to somebody else.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Renders Markdown.
pub(super) fn render(text: &str) -> Markup {
    rendered(text, false)
}

/// Renders one paragraph of Markdown without the paragraph around it.
pub(super) fn render_inline(text: &str) -> Markup {
    rendered(text, true)
}

fn rendered(text: &str, inline: bool) -> Markup {
    let mut inside_image = 0_u32;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(move |event| match event {
        Event::Start(Tag::Image { .. }) => {
            inside_image += 1;
            None
        }
        Event::End(TagEnd::Image) => {
            inside_image = inside_image.saturating_sub(1);
            None
        }
        _ if inside_image > 0 => None,
        Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) if inline => None,
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Some(Event::Start(Tag::Link { link_type, dest_url: safe_address(dest_url), title, id }))
        }
        other => Some(other),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    PreEscaped(out)
}

fn safe_address(address: CowStr<'_>) -> CowStr<'_> {
    let on_this_server = address.starts_with('#') || (address.starts_with('/') && !address.starts_with("//"));
    if on_this_server || address.starts_with("https://") { address } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn nothing_active_survives() {
        let text = "Hi <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n![x](https://elsewhere.example/p.png)\n\n\
            [a](javascript:alert(1)) [b](//elsewhere.example) [c](https://docs.example/x) [d](/docs/errors)";
        let out = render(text).into_string();
        assert!(!out.contains("<script") && !out.contains("<img") && !out.contains("javascript:"), "{out}");
        assert!(!out.contains("\"//elsewhere"), "{out}");
        assert!(out.contains("href=\"https://docs.example/x\"") && out.contains("href=\"/docs/errors\""), "{out}");
    }

    #[test]
    fn code_is_escaped() {
        let out = render("```json\n{\"a\": \"<b>\"}\n```\nand `<i>`").into_string();
        assert!(out.contains("&lt;b&gt;") && out.contains("&lt;i&gt;"), "{out}");
    }
}
