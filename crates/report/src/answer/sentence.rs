//! Sentences, with the names of networks apart from the other words, so that each medium can set them in its own type.

use crate::text::one_line;

/// Part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// Label of a network.
    Name(String),
    /// Other words.
    Words(String),
}

/// Sentence about networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    spans: Vec<Span>,
}

impl Sentence {
    /// Returns the parts in their order.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Adds words.
    pub(crate) fn words(mut self, words: impl AsRef<str>) -> Self {
        match self.spans.last_mut() {
            Some(Span::Words(before)) => before.push_str(words.as_ref()),
            _ => self.spans.push(Span::Words(words.as_ref().to_owned())),
        }
        self
    }

    /// Adds the label of a network.
    pub(crate) fn name(mut self, label: &str) -> Self {
        self.spans.push(Span::Name(one_line(label)));
        self
    }

    /// Adds labels: `a`, `a and b`, `a, b and c`.
    pub(crate) fn names(mut self, labels: &[&str]) -> Self {
        for (at, label) in labels.iter().enumerate() {
            self = match labels.len() - at {
                _ if at == 0 => self,
                1 => self.words(" and "),
                _ => self.words(", "),
            };
            self = self.name(label);
        }
        self
    }

    /// Returns the sentence as text, names between backticks.
    pub(crate) fn plain(&self) -> String {
        let part = |span: &Span| match span {
            Span::Name(name) => format!("`{}`", name.replace('`', "")),
            Span::Words(words) => words.clone(),
        };
        self.spans.iter().map(part).collect()
    }
}

/// Joins phrases: `a`, `a and b`, `a, b and c`.
pub(crate) fn join(phrases: &[String]) -> String {
    match phrases {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Joins clauses, each verb once: `costs A and B, and adds C`.
pub(crate) fn predicate(clauses: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let mut together: Vec<(&str, Vec<String>)> = Vec::new();
    for (verb, object) in clauses {
        match together.iter_mut().find(|(known, _)| *known == verb) {
            Some((_, objects)) => objects.push(object),
            None => together.push((verb, vec![object])),
        }
    }
    let clauses: Vec<String> =
        together.iter().map(|(verb, objects)| format!("{verb} {}", join(objects))).collect();
    match &clauses[..] {
        // An `and` within a clause needs a comma before the `and` between clauses.
        [first @ .., last]
            if clauses.len() > 1 && clauses.iter().any(|one| one.contains(" and ")) =>
        {
            format!("{}, and {last}", first.join(", "))
        }
        _ => join(&clauses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_as_in_english() {
        let listed = |labels: &[&str]| Sentence::default().names(labels).words(".").plain();
        assert_eq!(listed(&["a"]), "`a`.");
        assert_eq!(listed(&["a", "b"]), "`a` and `b`.");
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b` and `c`.");
        assert_eq!(join(&["x".to_owned(), "y".to_owned()]), "x and y");
        let clauses = |all: &[(&'static str, &str)]| {
            predicate(all.iter().map(|(verb, object)| (*verb, (*object).to_owned())))
        };
        assert_eq!(clauses(&[("costs", "a"), ("adds", "b")]), "costs a and adds b");
        let three = [("costs", "a"), ("adds", "b"), ("costs", "c")];
        assert_eq!(clauses(&three), "costs a and c, and adds b");
    }

    #[test]
    fn a_label_cannot_leave_its_backticks() {
        assert_eq!(Sentence::default().name("a`b\nc").plain(), "`ab c`");
    }
}
