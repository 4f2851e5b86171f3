//! Test of docs/TRUST.md: every test that it names exists.

use crate::repository::Repository;
use crate::sources;
use std::path::{Path, PathBuf};

/// Page of the promises.
const PAGE: &str = "docs/TRUST.md";

/// Returns the names of tests in a page: code with `::`, such as `files::a_name_is_a_name`.
fn named_tests(page: &str) -> Vec<&str> {
    let code = page.split('`').skip(1).step_by(2);
    code.filter(|text| text.contains("::")).collect()
}

/// Returns true if a file is the module of this name, or one of its folder.
fn is_module(file: &Path, name: &str) -> bool {
    let stem = file.file_stem();
    let folder = file.parent().and_then(Path::file_name);
    [stem, folder].into_iter().flatten().any(|part| part == name)
}

#[test]
fn every_test_that_holds_a_promise_exists() {
    let repository = Repository::find().unwrap();
    let page = sources::read(&repository.path(PAGE)).unwrap();
    let files: Vec<PathBuf> = ["crates", "tests"]
        .iter()
        .flat_map(|folder| sources::rust_files(&repository.path(folder)).unwrap())
        .collect();
    let named = named_tests(&page);
    assert!(named.len() > 30, "{named:?}");
    for test in named {
        let (module, _) = test.split_once("::").unwrap();
        let (_, function) = test.rsplit_once("::").unwrap();
        let head = format!("fn {function}(");
        let found = files
            .iter()
            .filter(|file| is_module(file, module))
            .any(|file| sources::read(file).unwrap().contains(&head));
        assert!(found, "{PAGE} names {test}, which is no test");
    }
}
