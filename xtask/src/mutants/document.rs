//! List of mutants, `tests/MUTANTS.md`. Each is a heading with its name, a line of text, its packages and a diff.

use anyhow::{Context, Result, bail};

/// Fault inserted into the sources, which a test must notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Name, from the heading.
    pub(super) name: String,
    /// Sentence that describes the fault.
    pub(super) description: String,
    /// Packages whose tests must notice it.
    pub(super) packages: Vec<String>,
    /// Unified diff that inserts the fault.
    pub(super) diff: String,
}

/// Reads all mutants of a document. Fails if one is incomplete or if two have the same name.
pub(super) fn parse(document: &str) -> Result<Vec<Mutant>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut in_diff = false;
    for line in document.lines() {
        if let Some(name) = line.strip_prefix("### ").filter(|_| !in_diff) {
            mutants.push(Mutant { name: name.trim().to_owned(), ..Mutant::default() });
            continue;
        }
        // A heading of a section ends a mutant's text, but not a diff.
        let Some(mutant) = mutants.last_mut() else { continue };
        if in_diff {
            in_diff = line != "```";
            if in_diff {
                mutant.diff.push_str(line);
                mutant.diff.push('\n');
            }
        } else if line == "```diff" {
            in_diff = true;
        } else {
            mutant.read_text(line);
        }
    }
    if in_diff {
        bail!("the diff of the last mutant has no end");
    }
    check(&mutants)?;
    Ok(mutants)
}

impl Mutant {
    fn read_text(&mut self, line: &str) {
        if let Some(packages) = line.strip_prefix("package: ") {
            self.packages = packages.split(',').map(|name| name.trim().to_owned()).collect();
        } else if self.description.is_empty() && !line.starts_with('#') {
            self.description = line.trim().to_owned();
        }
    }

    fn missing_field(&self) -> Option<&'static str> {
        if self.description.is_empty() {
            Some("line of text")
        } else if self.packages.is_empty() || self.packages.iter().any(String::is_empty) {
            Some("line `package: NAME`")
        } else if self.diff.is_empty() {
            Some("```diff block")
        } else {
            None
        }
    }
}

fn check(mutants: &[Mutant]) -> Result<()> {
    for (at, mutant) in mutants.iter().enumerate() {
        if let Some(missing) = mutant.missing_field() {
            bail!("the mutant {:?} has no {missing}", mutant.name);
        }
        if mutants[..at].iter().any(|other| other.name == mutant.name) {
            bail!("two mutants are called {:?}", mutant.name);
        }
    }
    mutants.first().map(drop).context("no mutant: expected headings `### NAME`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "# Mutants\n\nText.\n\n## Lab\n\n### mtu-ignored\n\nThe MTU is not set.\n\n\
                            package: tare-lab, tare-tests\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-### a\n+### b\n \n```\n\n\
                            ## Statistics\n\n### mean\nThe mean is the median.\npackage: tare-stats\n```diff\n-a\n+b\n```\n";

    #[test]
    fn mutants_have_packages_and_a_diff() {
        let mutants = parse(DOCUMENT).unwrap();
        assert_eq!(mutants.len(), 2);
        assert_eq!(mutants[0].name, "mtu-ignored");
        assert_eq!(mutants[0].description, "The MTU is not set.");
        assert_eq!(mutants[0].packages, ["tare-lab", "tare-tests"]);
        assert_eq!(mutants[0].diff, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-### a\n+### b\n \n");
        assert_eq!((&*mutants[1].name, &*mutants[1].diff), ("mean", "-a\n+b\n"));
    }

    #[test]
    fn incomplete_documents_are_errors() {
        for (document, problem) in [
            ("# Mutants\n", "no mutant"),
            ("### a\n", "no line of text"),
            ("### a\ntext\n", "no line `package: NAME`"),
            ("### a\ntext\npackage: b,\n```diff\nx\n```", "no line `package: NAME`"),
            ("### a\ntext\npackage: b\n", "no ```diff block"),
            ("### a\ntext\npackage: b\n```diff\nx\n", "has no end"),
            (
                "### a\nt\npackage: b\n```diff\nx\n```\n### a\nt\npackage: b\n```diff\nx\n```",
                "two mutants",
            ),
        ] {
            let error = parse(document).unwrap_err().to_string();
            assert!(error.contains(problem), "{document:?}: {error}");
        }
    }
}
