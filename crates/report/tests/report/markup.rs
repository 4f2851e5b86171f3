//! XML parser, small and strict: browsers and other parsers accept what it accepts.

use std::collections::BTreeSet;

/// Returns the path of every element by names, with its identifier. Fails if the text is not well formed.
pub(crate) fn read(text: &str) -> Result<Vec<String>, String> {
    let mut rest = text.strip_prefix("<!DOCTYPE html>\n").ok_or("no doctype")?;
    let (mut open, mut found): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    while let Some((before, after)) = rest.split_once('<') {
        literal(before)?;
        if let Some(after) = after.strip_prefix('/') {
            let (name, after) = after.split_once('>').ok_or("an end tag does not end")?;
            if open.pop() != Some(name) {
                return Err(format!("</{name}> ends nothing"));
            }
            rest = after;
            continue;
        }
        let (tag, after) = tag(after)?;
        let (body, empty) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        open.push(name);
        found.push(format!("{}{}", open.join(">"), identifier(attributes)?));
        rest = after;
        if empty {
            open.pop();
        } else if name == "style" || name == "script" {
            let (content, _) = rest.split_once("</").ok_or("no end")?;
            let inner = content.split_once("<![CDATA[").map_or(content, |(before, _)| before);
            literal(inner)?;
            rest = &rest[content.len()..];
        }
    }
    if open.is_empty() { Ok(found) } else { Err(format!("{} does not end", open.join(">"))) }
}

/// Splits off a tag at its `>`. A `>` inside of quotes does not end it.
fn tag(text: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '<' => return Err(format!("< in a tag: {}", &text[..at])),
            '>' if !quoted => return Ok((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    Err("a tag does not end".to_owned())
}

/// Fails if a text contains markup.
fn literal(text: &str) -> Result<(), String> {
    for (_, after) in text.match_indices('&').map(|(at, _)| text.split_at(at)) {
        let known = ["&lt;", "&gt;", "&amp;", "&quot;"].iter().any(|one| after.starts_with(one));
        if !known {
            return Err(format!("an unknown entity: {}", &after[..after.len().min(20)]));
        }
    }
    Ok(())
}

/// Returns `#id` of an element. Its attributes must be quoted and unique.
fn identifier(attributes: &str) -> Result<String, String> {
    let (mut rest, mut names, mut id) = (attributes, BTreeSet::new(), String::new());
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").ok_or(format!("no value: {rest}"))?;
        let (value, after) = after.split_once('"').ok_or(format!("no end: {rest}"))?;
        literal(value)?;
        if !names.insert(name) {
            return Err(format!("{name} stands twice: {attributes}"));
        }
        if name == "id" {
            id = format!("#{value}");
        }
        rest = after.trim_start_matches(' ');
    }
    Ok(id)
}

#[test]
fn what_is_not_well_formed_is_refused() {
    for bad in [
        "<p>",
        "<p></b>",
        "<p x=1></p>",
        "<p>&nbsp;</p>",
        "<p a=\"\" a=\"\"></p>",
        "<p a=\"<\"></p>",
    ] {
        assert!(read(&format!("<!DOCTYPE html>\n{bad}")).is_err(), "{bad}");
    }
    let good = "<!DOCTYPE html>\n<a id=\"x\"><br/>&lt;<p y=\">\"></p></a>";
    assert_eq!(read(good).unwrap(), ["a#x", "a>br", "a>p"]);
}
