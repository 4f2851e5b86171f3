//! Table of the parts of `make test-system` that a change of a file can break.

use crate::parts::TestPart;
use std::collections::BTreeMap;

const ALL: &[TestPart] = &TestPart::ALL;
const NONE: &[TestPart] = &[];
const TOOLS: &[TestPart] = &[TestPart::Tools];
const ENGINES: &[TestPart] = &[TestPart::Engines];
const PAGE: &[TestPart] = &[TestPart::Page];
const SHARED: &[TestPart] = &[TestPart::Engines, TestPart::Page];
const PACKAGES: &[TestPart] = &[TestPart::Packages];
const VM: &[TestPart] = &[TestPart::Vm];

/// File with the versions of all dependencies.
pub(crate) const LOCK: &str = "Cargo.lock";

/// Prefixes of paths, and the parts that a change below them can break. The longest prefix of a path decides. `make
/// test` covers paths without parts.
const TABLE: &[(&str, &[TestPart])] = &[
    // Versions of dependencies, and how tests are chosen and run.
    (LOCK, ALL),
    (".ci/", ALL),
    (".config/", ALL),
    ("rust-toolchain", ALL),
    ("xtask/src/expected_skips.rs", ALL),
    ("Makefile", ALL),
    ("scripts/", ALL),
    ("scripts/docker.sh", ENGINES),
    // The build and the lanes themselves: every part runs by them, and the shortest shows it.
    (".cargo/", PAGE),
    ("Cargo.toml", PAGE),
    ("tests/Cargo.toml", PAGE),
    ("xtask/", PAGE),
    ("xtask/src/clean_roots.rs", ENGINES),
    ("xtask/src/dist/", PACKAGES),
    ("xtask/src/vm/", VM),
    // Engines and Swarms.
    ("crates/docker/", ENGINES),
    ("crates/netns-probe/", ENGINES),
    ("crates/swarm/", ENGINES),
    ("tests/engines/", ENGINES),
    ("tests/support/engine", ENGINES),
    ("tests/support/swarm.rs", ENGINES),
    // Engines and browsers that several tests share.
    ("tests/support/keeper.rs", SHARED),
    ("tests/support/shared.rs", SHARED),
    // Networks that need daemons or a kernel that few machines have.
    ("crates/lab/src/networks/", VM),
    ("crates/lab/src/plan/wiring/", VM),
    ("crates/lab/src/programs/", VM),
    ("crates/sandbox/src/addressing/", VM),
    ("crates/sandbox/src/devices/", VM),
    ("crates/sandbox/src/kernel.rs", VM),
    ("crates/sandbox/src/program.rs", VM),
    ("crates/sandbox/src/programs/", VM),
    ("crates/lab/src/stand_ins/weave_sleeve/", VM),
    ("crates/lab/tests/", VM),
    ("tests/support/vm_support.rs", VM),
    ("tests/vm/", VM),
    // Foreign tools and databases.
    ("crates/tools/", TOOLS),
    ("tests/support/listener.rs", TOOLS),
    ("tests/tools/", TOOLS),
    // The page.
    ("crates/report/", PAGE),
    ("tests/page/", PAGE),
    ("tests/support/chromium.rs", PAGE),
    // Packages of a version.
    ("packaging/", PACKAGES),
    // A cluster's lane installs these.
    ("packaging/kubernetes/", NONE),
    ("tests/packages/", PACKAGES),
    // Covered by `make check` and `make test`.
    (".gitignore", NONE),
    ("CITATION.cff", NONE),
    ("LICENSE", NONE),
    ("action.yml", NONE),
    ("bench/", NONE),
    ("clippy.toml", NONE),
    ("crates/", NONE),
    ("deny.toml", NONE),
    ("docs/", NONE),
    ("examples/", NONE),
    ("fuzz/", NONE),
    ("rustfmt.toml", NONE),
    ("studies/", NONE),
    ("tests/MUTANTS.md", NONE),
    ("tests/e2e/", NONE),
    ("tests/golden/", NONE),
    ("tests/kubernetes/", NONE),
    ("tests/messages.txt", NONE),
    ("tests/soak/", NONE),
    ("tests/support/", NONE),
    ("tools/", NONE),
    // Programs of a test cluster, which has its own lane.
    ("xtask/cluster/", NONE),
    ("xtask/cluster-addons/", NONE),
    ("xtask/helm/", NONE),
    ("xtask/src/cluster_programs.rs", NONE),
    // What `make check` runs.
    ("xtask/src/advisories.rs", NONE),
    ("xtask/src/book/", NONE),
    ("xtask/src/house/", NONE),
    ("xtask/src/links/", NONE),
    ("xtask/src/messages/", NONE),
    ("xtask/src/mutants/", NONE),
];

/// Suffix of documents, which break no part, wherever they are.
const DOCUMENT: &str = ".md";

/// Returns the affected parts, each with the first path that causes it.
pub(crate) fn by_part<'a>(paths: &[&'a str]) -> BTreeMap<TestPart, &'a str> {
    let mut causes = BTreeMap::new();
    for path in paths {
        for part in parts_of(path) {
            causes.entry(*part).or_insert(*path);
        }
    }
    causes
}

/// Returns the parts of a path. A path without a row can break all parts.
fn parts_of(path: &str) -> &'static [TestPart] {
    if path.ends_with(DOCUMENT) {
        return NONE;
    }
    let rows = TABLE.iter().filter(|(prefix, _)| path.starts_with(prefix));
    rows.max_by_key(|(prefix, _)| prefix.len()).map_or(ALL, |(_, parts)| parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;
    use crate::repository::Repository;

    #[test]
    fn paths_have_their_parts() {
        for (path, parts) in [
            ("crates/docker/src/lib.rs", ENGINES),
            ("crates/docker/README.md", NONE),
            ("crates/lab/src/networks/ovs/mod.rs", VM),
            ("crates/sandbox/src/devices/gre.rs", VM),
            ("crates/sandbox/src/netlink/mod.rs", NONE),
            ("crates/stats/src/lib.rs", NONE),
            ("crates/tools/src/adapters/wrk.rs", TOOLS),
            ("crates/report/src/html/page.js", PAGE),
            ("tests/support/engine", ENGINES),
            ("packaging/deb/postinst", PACKAGES),
            ("tests/support/lib.rs", NONE),
            ("tests/e2e/quick.rs", NONE),
            ("Cargo.lock", ALL),
            ("xtask/src/main.rs", PAGE),
            ("xtask/src/vm/kernel.rs", VM),
            ("xtask/src/links/mod.rs", NONE),
            ("scripts/docker.sh", ENGINES),
            ("docs/guide/src/page.md", NONE),
            ("a/new/folder.rs", ALL),
        ] {
            assert_eq!(parts_of(path), parts, "{path}");
        }
    }

    #[test]
    fn each_part_names_its_first_cause() {
        let paths =
            ["README.md", "tests/vm/main.rs", "crates/lab/tests/lab/main.rs", "tests/page/page.rs"];
        let causes: Vec<(TestPart, &str)> = by_part(&paths).into_iter().collect();
        assert_eq!(
            causes,
            [(TestPart::Page, "tests/page/page.rs"), (TestPart::Vm, "tests/vm/main.rs")]
        );
    }

    /// A renamed folder would silently lose its part.
    #[test]
    fn every_row_with_a_part_is_a_path_of_the_repository() {
        let repository = Repository::find().unwrap();
        for (prefix, parts) in TABLE {
            let there = repository.path(prefix).exists() || *prefix == "rust-toolchain";
            assert!(
                there || parts.is_empty(),
                "{prefix} is not there: name its new place in TABLE"
            );
        }
    }

    #[test]
    fn every_file_of_the_repository_has_a_row() {
        let repository = Repository::find().unwrap();
        let listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
        let Ok(files) = process::output(repository.command("git").args(listed)) else {
            return; // Without git (an unpacked source archive) there is no list of files.
        };
        for file in files.lines().filter(|file| repository.path(file).exists()) {
            let known = TABLE.iter().any(|(prefix, _)| file.starts_with(prefix));
            assert!(known || file.ends_with(DOCUMENT), "{file} has no row in TABLE");
        }
    }
}
