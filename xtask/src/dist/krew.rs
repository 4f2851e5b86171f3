//! Manifest for krew, the manager of kubectl's plugins: `packaging/krew/tare.yaml` with the version, the address of the archives
//! and their checksums. kubectl runs the program as `kubectl-tare`.

use super::Workspace;
use super::checksums::sha256;
use super::target::{DistTarget, TARGETS};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// Template in the checkout.
const TEMPLATE: &str = "packaging/krew/tare.yaml";

/// Variable with the address below which the files of a release are published.
const ADDRESS: &str = "TARE_RELEASE_URL";

/// Address where none is given. `kubectl krew install --archive` needs none.
const DEFAULT_ADDRESS: &str = "https://example.org/tare";

/// Writes the manifest, if there are archives of all targets.
pub(super) fn write(workspace: &Workspace<'_>, archives: &[(&DistTarget, PathBuf)]) -> Result<()> {
    if !TARGETS.iter().all(|target| archives.iter().any(|(built, _)| *built == target)) {
        println!("no manifest for krew: it needs the archives of all targets");
        return Ok(());
    }
    let template = workspace.repository.path(TEMPLATE);
    let template = fs::read_to_string(&template)
        .with_context(|| format!("cannot read {}", template.display()))?;
    let address = std::env::var(ADDRESS).unwrap_or_else(|_| DEFAULT_ADDRESS.to_owned());
    let mut values = vec![
        ("VERSION".to_owned(), workspace.release.version.to_owned()),
        ("URL".to_owned(), address),
    ];
    for (target, archive) in archives {
        values.push((format!("SHA256_{}", target.debian.to_uppercase()), sha256(archive)?));
    }
    let path = workspace.output.join("tare.yaml");
    fs::write(&path, fill(&template, &values)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Replaces `@NAME@` by the values.
fn fill(template: &str, values: &[(String, String)]) -> Result<String> {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("@{name}@"), value);
    }
    if let Some(line) = text.lines().find(|line| line.contains('@')) {
        bail!("{TEMPLATE}: no value for {:?}", line.trim());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;
    use saphyr::{LoadableYamlNode, Yaml};

    fn filled() -> String {
        let template = fs::read_to_string(Repository::find().unwrap().path(TEMPLATE)).unwrap();
        let values = [
            ("VERSION", "1.2.3"),
            ("URL", "https://h/d"),
            ("SHA256_AMD64", &"0a".repeat(32)),
            ("SHA256_ARM64", &"1b".repeat(32)),
        ];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fill(&template, &values).unwrap()
    }

    fn text<'a>(node: &'a Yaml<'_>, key: &str) -> &'a str {
        node[key].as_str().unwrap_or_else(|| panic!("{key} is a string: {node:?}"))
    }

    /// Rules of krew's own validation (internal/index/validation), as far as they concern this manifest.
    #[test]
    fn the_manifest_has_the_shape_that_krew_requires() {
        let filled = filled();
        let document = &Yaml::load_from_str(&filled).unwrap()[0];
        assert_eq!(text(document, "apiVersion"), "krew.googlecontainertools.github.com/v1alpha2");
        assert_eq!(text(document, "kind"), "Plugin");
        assert_eq!(text(&document["metadata"], "name"), "tare");
        let spec = &document["spec"];
        assert_eq!(text(spec, "version"), "v1.2.3");
        let short = text(spec, "shortDescription");
        assert!(short.len() <= 50 && !short.ends_with('.') && !short.contains('\n'), "{short}");
        assert!(!text(spec, "description").is_empty());
        assert!(text(spec, "homepage").starts_with("https://"));
        let platforms = spec["platforms"].as_sequence().unwrap();
        assert_eq!(platforms.len(), TARGETS.len());
        for (platform, target) in platforms.iter().zip(&TARGETS) {
            let labels = &platform["selector"]["matchLabels"];
            assert_eq!((text(labels, "os"), text(labels, "arch")), ("linux", target.debian));
            let archive = format!("https://h/d/v1.2.3/tare-1.2.3-{}.tar.gz", target.triple);
            assert_eq!(text(platform, "uri"), archive);
            let sum = text(platform, "sha256");
            assert!(sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sum}");
            assert_eq!(text(platform, "bin"), "tare");
            let files = platform["files"].as_sequence().unwrap();
            assert!(files.iter().all(|file| text(file, "to") == "."), "{files:?}");
            assert!(files.iter().any(|file| text(file, "from").ends_with("/tare")), "{files:?}");
        }
    }

    #[test]
    fn a_value_that_is_missing_is_an_error() {
        let error = fill("a: @X@\n", &[]).unwrap_err().to_string();
        assert!(error.contains("no value for \"a: @X@\""), "{error}");
    }
}
