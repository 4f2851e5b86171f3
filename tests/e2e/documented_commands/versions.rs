//! Test of the files that name the version by hand.

use super::read;

/// Files, with the text before and after the version.
const NAMED: [(&str, &str, &str); 9] = [
    ("CHANGELOG.md", "## ", "\n"),
    ("CITATION.cff", "\nversion: ", "\n"),
    ("packaging/README.md", " tare:", " run "),
    ("packaging/kubernetes/chart/Chart.yaml", "\nversion: ", "\n"),
    ("packaging/kubernetes/chart/Chart.yaml", "\nappVersion: ", "\n"),
    ("packaging/kubernetes/chart/values.yaml", "\n  name: tare:", "\n"),
    ("packaging/kubernetes/job.yaml", "image: tare:", "\n"),
    ("packaging/kubernetes/nightly/baseline.yaml", "image: tare:", "\n"),
    ("packaging/kubernetes/nightly/cronjob.yaml", "image: tare:", "\n"),
];

#[test]
fn files_name_the_version_that_is_built() {
    for (file, before, after) in NAMED {
        let text = read(file);
        let named = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
        let named = named.map(|(version, _)| version);
        assert_eq!(named, Some(env!("CARGO_PKG_VERSION")), "{file}");
    }
}
