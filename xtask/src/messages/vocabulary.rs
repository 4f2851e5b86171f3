//! Words that the program itself says: `crates/report/src/bundle/redact/vocabulary.txt`, which a redacted archive may keep.

use super::collector::{is_for_tests, texts};
use anyhow::Result;
use proc_macro2::TokenStream;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, LitStr, Macro};

/// Punctuation around a word.
const PUNCTUATION: &[char] =
    &['.', ',', ':', ';', '(', ')', '[', ']', '{', '}', '<', '>', '\'', '"', '`', '!', '?', '='];

/// Adds the words of a source file's texts. Tests and documentation are left out.
pub(super) fn add_source(words: &mut BTreeSet<String>, source: &str) -> Result<()> {
    let mut collector = Collector(words);
    collector.visit_file(&syn::parse_file(source)?);
    Ok(())
}

/// Adds the words of a text.
pub(super) fn add_text(words: &mut BTreeSet<String>, text: &str) {
    let said = text.split_whitespace().filter(|word| !word.contains('{'));
    for word in said.map(|word| word.trim_matches(PUNCTUATION)) {
        if is_word(word) {
            words.insert(word.to_owned());
        }
        // The parts of a name such as `cni:bridge+plain` are words too.
        words.extend(
            word.split([':', '+', '=', ',']).filter(|part| is_word(part)).map(str::to_owned),
        );
    }
}

/// Returns true for a word or a name that is said as it stands: no code, no path, and no place for a value.
fn is_word(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_alphanumeric() || "-_./:+='’–".contains(c))
        && !word.contains("::")
        && !word.starts_with(['/', '.'])
}

struct Collector<'w>(&'w mut BTreeSet<String>);

impl Collector<'_> {
    fn take(&mut self, tokens: TokenStream) {
        texts(tokens).iter().for_each(|text| add_text(self.0, text));
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.take(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.take(called.tokens.clone());
    }

    fn visit_lit_str(&mut self, text: &'ast LitStr) {
        add_text(self.0, &text.value());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_is_said_and_not_what_is_filled_in() {
        let mut words = BTreeSet::new();
        let source = r#"
            /// Documentation.
            fn f() { g("cannot open {path}: see `docker:bridge`"); h!("eth0 {}", 1) }
            #[cfg(test)] mod tests { const X: &str = "secret"; }
        "#;
        add_source(&mut words, source).unwrap();
        let expected = ["bridge", "cannot", "docker", "docker:bridge", "eth0", "open", "see"];
        assert_eq!(words.into_iter().collect::<Vec<_>>(), expected);
    }
}
