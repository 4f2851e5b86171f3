//! Parts of `make test-system`.

use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::fmt;

/// Part of the system tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TestPart {
    /// Foreign tools and databases as workloads.
    Tools,
    /// Docker Engines and Swarms.
    Engines,
    /// HTML page in a browser.
    Page,
    /// Packages, installed in clean systems.
    Packages,
    /// A virtual machine, whose kernel has all modules.
    Vm,
}

impl TestPart {
    /// All parts, in the order in which they run.
    pub(crate) const ALL: [Self; 5] =
        [Self::Tools, Self::Engines, Self::Page, Self::Packages, Self::Vm];

    /// Returns the names of its test binaries.
    pub(crate) fn binaries(self) -> &'static [&'static str] {
        match self {
            Self::Tools => &["tools"],
            Self::Engines => &["engines", "engine29"],
            Self::Page => &["page"],
            Self::Packages => &["packages"],
            Self::Vm => &["vm"],
        }
    }

    /// Returns the name of the part.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Engines => "engines",
            Self::Page => "page",
            Self::Packages => "packages",
            Self::Vm => "vm",
        }
    }
}

impl fmt::Display for TestPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses parts from their names, separated by commas.
pub(crate) fn parse(list: &str) -> Result<BTreeSet<TestPart>> {
    let mut parts = BTreeSet::new();
    for name in list.split(',') {
        let Some(part) = TestPart::ALL.into_iter().find(|part| part.name() == name) else {
            bail!(
                "invalid part {name:?}: expected tools, engines, page, packages or vm, with commas between them"
            );
        };
        parts.insert(part);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_by_name() {
        let read: Vec<TestPart> = parse("vm,tools,vm").unwrap().into_iter().collect();
        assert_eq!(read, [TestPart::Tools, TestPart::Vm]);
        for wrong in ["", "vm,", "VM", "soak"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
