//! A small XML tree, written and read by `quick-xml`. All text goes through its escaping; nothing is pasted together.
//! Control characters cannot stand in XML at all, so whoever builds a tree checks its texts first ([`fits`]); a reader
//! gets limits of size, depth and count, because what it reads may come from a broken host.

use quick_xml::{
    Reader, Writer, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesEnd, BytesStart, BytesText, Event},
};

const BYTES_MAX: usize = 1024 * 1024;
const DEPTH_MAX: usize = 32;
const ELEMENTS_MAX: usize = 20_000;

/// One element with its attributes, its own text and its children in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
    pub children: Vec<Element>,
}

/// Why a text is not XML that is understood here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the XML cannot be read: {0}")]
pub struct XmlFault(pub String);

/// Whether a text can stand in XML and come back unchanged.
pub(crate) fn fits(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

impl Element {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn with(mut self, attribute: &str, value: impl ToString) -> Self {
        self.attributes.push((attribute.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn text(mut self, text: impl ToString) -> Self {
        self.text = text.to_string();
        self
    }

    pub(crate) fn child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    pub(crate) fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    pub(crate) fn get(&self, attribute: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == attribute).map(|(_, value)| value.as_str())
    }

    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(crate) fn first(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// An attribute of a descendant, the way given by names.
    pub(crate) fn at(&self, way: &[&str], attribute: &str) -> Option<&str> {
        self.down(way)?.get(attribute)
    }

    /// A descendant, the way given by names.
    pub(crate) fn down(&self, way: &[&str]) -> Option<&Element> {
        way.iter().try_fold(self, |here, name| here.first(name))
    }

    /// The element as text, indented.
    pub(crate) fn write(&self) -> Result<String, XmlFault> {
        let mut writer = Writer::new_with_indent(vec![], b' ', 2);
        self.write_to(&mut writer)?;
        String::from_utf8(writer.into_inner()).map_err(fault)
    }

    fn write_to(&self, writer: &mut Writer<Vec<u8>>) -> Result<(), XmlFault> {
        let mut start = BytesStart::new(self.name.as_str());
        for (name, value) in &self.attributes {
            start.push_attribute((name.as_str(), value.as_str()));
        }
        if self.text.is_empty() && self.children.is_empty() {
            return writer.write_event(Event::Empty(start)).map_err(fault);
        }
        writer.write_event(Event::Start(start)).map_err(fault)?;
        if !self.text.is_empty() {
            writer.write_event(Event::Text(BytesText::new(&self.text))).map_err(fault)?;
        }
        for child in &self.children {
            child.write_to(writer)?;
        }
        writer.write_event(Event::End(BytesEnd::new(self.name.as_str()))).map_err(fault)
    }

    /// Reads a text that holds one element.
    pub(crate) fn read(text: &str) -> Result<Self, XmlFault> {
        if text.len() > BYTES_MAX {
            return Err(fault(format!("it is longer than {BYTES_MAX} bytes")));
        }
        let mut reader = Reader::from_str(text);
        let (mut open, mut root, mut count) = (vec![], None, 0);
        loop {
            let event = reader.read_event().map_err(fault)?;
            match event {
                Event::Start(_) | Event::Empty(_) if root.is_some() => return Err(fault("it holds two elements")),
                Event::Start(start) => open.push(opened(&start)?),
                Event::Empty(start) => close(opened(&start)?, &mut open, &mut root),
                Event::End(_) => {
                    let mut closed: Element = open.pop().ok_or_else(|| fault("it closes what is not open"))?;
                    closed.tidy();
                    close(closed, &mut open, &mut root);
                }
                Event::Text(text) => put(&mut open, &text.xml_content(XmlVersion::Implicit1_0))?,
                Event::CData(text) => put(&mut open, &text.xml_content(XmlVersion::Implicit1_0))?,
                Event::GeneralRef(named) => {
                    let character = named.resolve_char_ref().map_err(fault)?;
                    let name: &str = &named;
                    let resolved = character.map(String::from);
                    let known = resolved.or_else(|| resolve_predefined_entity(name).map(str::to_owned));
                    put(&mut open, &known.ok_or_else(|| fault(format!("it names an unknown entity {name}")))?)?;
                }
                Event::DocType(_) => return Err(fault("it brings a document type")),
                Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
                Event::Eof => break,
            }
            count += 1;
            if open.len() > DEPTH_MAX || count > ELEMENTS_MAX {
                return Err(fault("it is too deep or has too many parts"));
            }
        }
        if !open.is_empty() {
            return Err(fault("it ends too early"));
        }
        root.ok_or_else(|| fault("it is empty"))
    }

    // Between children there is only layout; alone, the text is what was written.
    fn tidy(&mut self) {
        if !self.children.is_empty() {
            self.text = self.text.trim().to_owned();
        }
    }
}

fn opened(start: &BytesStart<'_>) -> Result<Element, XmlFault> {
    let mut element = Element::new(start.name().as_ref());
    for attribute in start.attributes() {
        let attribute = attribute.map_err(fault)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(fault)?;
        element.attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(element)
}

fn close(closed: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(closed),
        None => *root = Some(closed),
    }
}

fn put(open: &mut [Element], text: &str) -> Result<(), XmlFault> {
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim().is_empty() => {}
        None => return Err(fault("it has text outside of its element")),
    }
    Ok(())
}

fn fault(why: impl ToString) -> XmlFault {
    XmlFault(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_one_element_is_refused() {
        let deep = "<a>".repeat(40) + &"</a>".repeat(40);
        for bad in
            ["", " ", "x", "<a>", "</a>", "<a/><b/>", "<a></b>", "<a>&x;</a>", "<!DOCTYPE a><a/>", "<a x=1/>", &deep]
        {
            assert!(Element::read(bad).is_err(), "{bad}");
        }
        assert!(Element::read(&format!("<a>{}</a>", " ".repeat(BYTES_MAX))).is_err());
    }

    #[test]
    fn text_and_layout_are_told_apart() {
        let read = Element::read("<?xml version='1.0'?>\n<a>\n <!-- x -->\n <b> 1 &lt;&#50; </b>\n</a>\n").unwrap();
        assert_eq!(read.text, "");
        assert_eq!(read.first("b").unwrap().text, " 1 <2 ");
    }

    proptest! {
        #[test]
        fn what_fits_comes_back(value in "\\PC{0,40}|[<>&'\"\\]\\[!-]{0,12}", text in "\\PC{1,40}|[<>&'\"\\]\\[!-]{1,12}") {
            prop_assume!(fits(&value) && fits(&text));
            let tree = Element::new("a").with("x", &value).with("y", "1").child(Element::new("b").text(&text)).child(Element::new("c"));
            prop_assert_eq!(Element::read(&tree.write().unwrap()), Ok(tree));
        }

        #[test]
        fn no_text_upsets_the_reader(text in "\\PC{0,80}|(<|>|a|/|&|;|#|x|'|\"|=| |!|-|\\[|\\]|\\?){0,40}") {
            let _ = Element::read(&text);
        }
    }
}
