//! Versions of programs and kernels, compared number by number.

/// Compares versions number by number: `6.12.48+deb13-amd64` is at least `6.7`. Missing numbers count as 0.
pub(crate) fn is_at_least(version: &str, least: &str) -> bool {
    let (version, least) = (numbers(version), numbers(least));
    let length = version.len().max(least.len());
    let padded = |numbers: &[u64]| -> Vec<u64> {
        (0..length).map(|at| numbers.get(at).copied().unwrap_or(0)).collect()
    };
    padded(&version) >= padded(&least)
}

/// Returns the dotted numbers at the beginning of a version.
fn numbers(version: &str) -> Vec<u64> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].split('.').map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        for (version, least, expected) in [
            ("6.7", "6.7", true),
            ("6.12.48+deb13-amd64", "6.7", true),
            ("6.1.0-40-amd64", "6.7", false),
            ("6.6.99", "6.7", false),
            ("7", "6.7", true),
            ("6.7.0", "6.7", true),
            ("6.7", "6.7.0", true),
            ("1.23.1", "1.23.1", true),
            ("1.9", "1.23.1", false),
            ("1.26rc1", "1.23.1", true),
            ("", "6.7", false),
            ("unknown", "0.1", false),
        ] {
            assert_eq!(is_at_least(version, least), expected, "{version} {least}");
        }
    }

    #[test]
    fn a_citation_names_the_version_of_the_sources() {
        let repository = crate::repository::Repository::find().unwrap();
        let citation = std::fs::read_to_string(repository.path("CITATION.cff")).unwrap();
        let line = format!("version: {}", env!("CARGO_PKG_VERSION"));
        assert!(citation.lines().any(|one| one == line), "CITATION.cff has no `{line}`");
    }
}
