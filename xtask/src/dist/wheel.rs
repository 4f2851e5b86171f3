//! Python wheel, which brings the program to users of pip, pipx and uv: `tare`, and `tare-bench`, which is the name of the
//! package, so that `uvx tare-bench` finds it. Format: PEP 427 and the specification of binary distributions.

use super::Workspace;
use super::contents::{Contents, below};
use super::file_tree::PackageFile;
use super::target::DistTarget;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Write;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Name of the package in file names; the index knows it as `tare-bench`.
const NAME: &str = "tare_bench";

/// Program of the package's name.
const LAUNCHER: &str = "packaging/wheel/tare-bench";

/// Platforms on which a static binary runs: glibc from 2.17 on, by both of its names, and musl.
const PLATFORMS: [&str; 3] = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"];

/// Writes the wheel.
pub(super) fn write(
    workspace: &Workspace<'_>,
    target: &DistTarget,
    contents: &Contents,
) -> Result<()> {
    let version = workspace.release.version;
    let launcher = workspace.repository.path(LAUNCHER);
    let launcher =
        fs::read(&launcher).with_context(|| format!("cannot read {}", launcher.display()))?;
    let platforms = platforms(target);
    let name = format!("{NAME}-{version}-py3-none-{}.whl", platforms.join("."));
    let path = workspace.output.join(name);
    let mut files = files(contents, version, &platforms, launcher);
    let record = format!("{NAME}-{version}.dist-info/RECORD");
    files.push(PackageFile::new(record.as_str(), record_text(&files, &record)));
    write_zip(&path, &files).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the platform tags.
fn platforms(target: &DistTarget) -> Vec<String> {
    PLATFORMS.iter().map(|platform| format!("{platform}_{}", target.machine)).collect()
}

/// Returns all files but the record.
fn files(
    contents: &Contents,
    version: &str,
    platforms: &[String],
    launcher: Vec<u8>,
) -> Vec<PackageFile> {
    let scripts = format!("{NAME}-{version}.data/scripts");
    let about = format!("{NAME}-{version}.dist-info");
    let is_licence = |file: &&PackageFile| file.path.starts_with("LICENSE");
    let licences: Vec<PackageFile> =
        contents.documents.iter().filter(is_licence).cloned().collect();
    let mut files = vec![
        PackageFile::program(format!("{scripts}/tare"), contents.program.as_slice()),
        PackageFile::program(format!("{scripts}/tare-bench"), launcher),
        PackageFile::new(format!("{about}/METADATA"), metadata(version, contents)),
        PackageFile::new(format!("{about}/WHEEL"), wheel_text(platforms)),
    ];
    files.extend(below(&format!("{about}/licenses/"), &licences));
    files
}

fn metadata(version: &str, contents: &Contents) -> Vec<u8> {
    let head = format!(
        "Metadata-Version: 2.4
Name: tare-bench
Version: {version}
Summary: Measures the cost of container networks, with confidence intervals
License-Expression: Apache-2.0 OR MIT
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Requires-Python: >=3.7
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Benchmark
Classifier: Topic :: System :: Networking
Description-Content-Type: text/markdown

"
    );
    let readme = contents.documents.iter().find(|file| file.path == "README.md");
    [head.as_bytes(), readme.map_or(&[], |file| &file.content)].concat()
}

fn wheel_text(platforms: &[String]) -> String {
    let tags: String =
        platforms.iter().map(|platform| format!("Tag: py3-none-{platform}\n")).collect();
    format!("Wheel-Version: 1.0\nGenerator: tare-xtask\nRoot-Is-Purelib: false\n{tags}")
}

/// Returns the list of files with their checksums, itself without one.
fn record_text(files: &[PackageFile], record: &str) -> String {
    let line = |file: &PackageFile| {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.content));
        format!("{},sha256={digest},{}\n", file.path, file.content.len())
    };
    let mut text: String = files.iter().map(line).collect();
    text.push_str(&format!("{record},,\n"));
    text
}

fn write_zip(path: &std::path::Path, files: &[PackageFile]) -> Result<()> {
    let mut archive = ZipWriter::new(File::create(path)?);
    for file in files {
        // The first time that zip can express, so that no time of the build is in the archive.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(file.mode);
        archive.start_file(file.path.as_str(), options)?;
        archive.write_all(&file.content)?;
    }
    archive.finish()?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::contents;
    use super::super::target::TARGETS;
    use super::*;

    fn example() -> Vec<PackageFile> {
        files(&contents::example(), "1.2.3", &platforms(&TARGETS[1]), b"#!/bin/sh\n".to_vec())
    }

    fn text(files: &[PackageFile], name: &str) -> String {
        let path = format!("tare_bench-1.2.3.dist-info/{name}");
        let file = files.iter().find(|file| file.path == path).unwrap();
        String::from_utf8(file.content.clone()).unwrap()
    }

    #[test]
    fn both_programs_are_scripts_of_the_environment() {
        let files = example();
        let programs: Vec<&str> =
            files.iter().filter(|file| file.mode == 0o755).map(|file| file.path.as_str()).collect();
        assert_eq!(
            programs,
            ["tare_bench-1.2.3.data/scripts/tare", "tare_bench-1.2.3.data/scripts/tare-bench"]
        );
        let wheel = text(&files, "WHEEL");
        assert!(wheel.contains("Tag: py3-none-manylinux2014_aarch64\n"), "{wheel}");
        assert!(wheel.contains("Tag: py3-none-musllinux_1_1_aarch64\n"), "{wheel}");
        let metadata = text(&files, "METADATA");
        assert!(metadata.contains("Name: tare-bench\nVersion: 1.2.3\n"), "{metadata}");
        assert!(metadata.ends_with("\n\nx"), "the README is the description: {metadata}");
    }

    #[test]
    fn the_record_has_the_checksum_of_every_file_and_none_of_itself() {
        let record = record_text(&[PackageFile::new("a", "abc")], "RECORD");
        // SHA-256 of "abc" from FIPS 180-2.
        let known = "a,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\nRECORD,,\n";
        assert_eq!(record, known);
    }

    #[test]
    fn the_same_files_give_the_same_archive() {
        let scratch = tempfile::tempdir().unwrap();
        let paths = ["one.whl", "another.whl"].map(|name| scratch.path().join(name));
        for path in &paths {
            write_zip(path, &example()).unwrap();
        }
        let [one, another] = paths.map(|path| fs::read(path).unwrap());
        assert!(!one.is_empty() && one == another);
    }
}
