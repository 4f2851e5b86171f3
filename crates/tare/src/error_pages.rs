//! Pages of the guide on errors, each with a code that keeps its meaning.
//!
//! Errors come from twenty crates, as a reason and a remedy in words. A page is found by these words; a test holds them
//! against the list of all messages, so that an error that is worded anew keeps its page.

/// Page of the guide on one kind of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErrorPage {
    /// Code at the end of an error: `E05`.
    pub(crate) code: &'static str,
    /// Words of the errors that the page is on.
    words: &'static [&'static str],
    /// Page as the guide has it, in Markdown.
    markdown: &'static str,
}

macro_rules! error_page {
    ($code:literal, $($words:literal),+ $(,)?) => {
        ErrorPage {
            code: $code,
            words: &[$($words),+],
            markdown: include_str!(concat!("../errors/", $code, ".md")),
        }
    };
}

/// All pages. An error with the words of several has the first of them.
pub(crate) const ERROR_PAGES: [ErrorPage; 19] = [
    error_page!(
        "E01",
        "unprivileged user namespaces",
        "user namespaces are off",
        "limit of user namespaces is reached",
        "forbids user namespaces",
    ),
    error_page!("E02", "this kernel has no ", "the kernel module "),
    error_page!("E03", " is not installed", "install the plugin there, or set CNI_PATH"),
    error_page!("E04", " cannot be opened for reading and writing"),
    error_page!(
        "E05",
        "Docker is not running",
        "permission denied on the Docker socket",
        "closed the connection: dockerd stopped",
        "no Docker Engine answers at",
        "cannot use the Docker context",
    ),
    error_page!(
        "E06",
        "cannot reach Podman's service",
        "there is no socket of Podman",
        "`podman system service` does not start",
    ),
    error_page!("E09", "load the image into the nodes", "use the static binary that"),
    error_page!("E08", "`tare kubernetes rbac", "a namespace whose Pod Security Standard allows"),
    error_page!(
        "E07",
        "read the configuration of the Kubernetes cluster",
        "log in to the cluster again",
        "check the cluster with `kubectl get --raw /readyz`",
    ),
    error_page!("E10", "use --allow-exec if you trust"),
    error_page!(
        "E11",
        " already holds a run",
        "another tare measures this run",
        "use a directory of your own, named without links",
        "choose a writable directory with free space",
    ),
    error_page!(
        "E12",
        " is not a journal of tare",
        " in journal format ",
        "name the directory of a run"
    ),
    error_page!("E13", "of which a run may take half", ", or use --force"),
    error_page!("E15", "does not know the token", "the token is empty"),
    error_page!("E16", "raise --max-", "this listener's machine allows"),
    error_page!(
        "E14",
        "start `tare listen` on that machine",
        "is not a tare listener",
        "the listener did not answer in time",
        "the listener ended, or the connection was lost",
    ),
    error_page!("E17", "packets take another path"),
    error_page!(
        "E18",
        "unknown network `",
        "unknown workload `",
        "unknown option `+",
        "`tare list networks` shows the names",
    ),
    error_page!("E19", "no archive of `tare bundle`", " is not what was packed"),
];

impl ErrorPage {
    /// Returns the title.
    pub(crate) fn title(&self) -> &'static str {
        let first = self.markdown.lines().next().unwrap_or_default();
        first.split_once(": ").map_or(first, |(_, title)| title)
    }

    /// Returns the page for a terminal: links are their words.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = self.markdown;
        while let Some((before, after)) = rest.split_once("](") {
            let (head, label) = before.rsplit_once('[').unwrap_or((before, ""));
            text.extend([head, label]);
            rest = after.split_once(')').map_or("", |(_, rest)| rest);
        }
        text + rest
    }
}

/// Returns what stands at the end of an error to point to its page. Empty if the line says all there is to say.
pub(crate) fn pointer(line: &str) -> String {
    find(line).map(|page| format!(" (tare explain {})", page.code)).unwrap_or_default()
}

/// Returns the page on an error, by the line that a user sees. Returns `None` if there is none.
fn find(line: &str) -> Option<&'static ErrorPage> {
    ERROR_PAGES.iter().find(|page| page.words.iter().any(|words| line.contains(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_on_messages_that_tare_has() {
        let messages = include_str!("../../../tests/messages.txt");
        for page in &ERROR_PAGES {
            for words in page.words {
                assert!(messages.contains(words), "{}: no message has `{words}`", page.code);
            }
        }
    }

    #[test]
    fn the_guide_lists_every_page_once() {
        let list = include_str!("../errors/README.md");
        let contents = include_str!("../../../docs/SUMMARY.md");
        for page in &ERROR_PAGES {
            let (code, title) = (page.code, page.title());
            assert!(page.markdown.starts_with(&format!("# {code}: {title}\n")), "{code}");
            assert!(list.contains(&format!("| [{code}]({code}.md) | {title} |\n")), "{code}");
            let entry = format!("- [{code}: {title}](guide/src/errors/{code}.md)\n");
            assert_eq!(contents.matches(&entry).count(), 1, "{entry}");
            assert_eq!(ERROR_PAGES.iter().filter(|other| other.code == code).count(), 1);
        }
    }

    #[test]
    fn a_page_is_found_by_an_error_and_printed_without_the_targets_of_its_links() {
        let line =
            "cannot run: the study's network x runs y: use --allow-exec if you trust the study";
        let page = find(line).unwrap();
        assert_eq!(page.code, "E10");
        assert!(page.text().contains("needs no leave. TRUST.md says"), "{}", page.text());
        assert_eq!(find("a trial has only 3 samples"), None);
    }
}
