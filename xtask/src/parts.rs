//! Parts of `make test-system`.

use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::fmt;

/// Part of the system tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Foreign tools and databases as workloads.
    Tools,
    /// Docker Engines and Swarms.
    Engines,
    /// The page in a browser.
    Page,
    /// A virtual machine, whose kernel has all modules.
    Vm,
}

impl Part {
    /// All parts, in the order in which they run.
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Engines, Self::Page, Self::Vm];

    /// Name of the part, and of the test binary that has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Engines => "engines",
            Self::Page => "page",
            Self::Vm => "vm",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads parts from their names with commas between them.
pub(crate) fn parse(list: &str) -> Result<BTreeSet<Part>> {
    let mut parts = BTreeSet::new();
    for name in list.split(',') {
        let Some(part) = Part::ALL.into_iter().find(|part| part.name() == name) else {
            bail!(
                "invalid part {name:?}: expected tools, engines, page or vm, with commas between them"
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
        let read: Vec<Part> = parse("vm,tools,vm").unwrap().into_iter().collect();
        assert_eq!(read, [Part::Tools, Part::Vm]);
        for wrong in ["", "vm,", "VM", "soak"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
