//! `cargo xtask bill-of-materials FILE`: what the binary is made of, in the format of CycloneDX 1.5. Packages of tests and
//! build tools are no part of it. The file has neither a time nor a serial number: the same sources give the same file.

use crate::TaskResult;
use crate::process;
use crate::repository::Repository;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Target of the binary of `make release`.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// Answer of `cargo metadata`, as far as it is used.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// `None` for packages of this workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for a dependency of the program itself, else `dev` or `build`.
    kind: Option<String>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<TaskResult> {
    let [file] = arguments else { bail!("expected one argument, the file") };
    fs::write(repository.path(file), text(repository, TARGET)?)
        .with_context(|| format!("cannot write {file}"))?;
    Ok(TaskResult::Passed)
}

/// Returns the bill of materials of the binary of a target. Packages of other platforms are left out.
pub(crate) fn text(repository: &Repository, target: &str) -> Result<String> {
    let mut command = repository.command("cargo");
    command.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
    let metadata = serde_json::from_str(&process::output(&mut command)?)
        .context("cannot read the answer of cargo metadata")?;
    let lock =
        fs::read_to_string(repository.path("Cargo.lock")).context("cannot read Cargo.lock")?;
    let mut bill = bill_of_materials(&metadata, &checksums(&lock))?;
    let compiler = process::output(repository.command("rustc").arg("--version"))?;
    bill["metadata"]["tools"] = json!({
        "components": [{ "type": "application", "name": "rustc", "version": compiler.trim() }],
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Returns the SHA-256 checksums of a lock file's packages, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
    };
    let packages = lock.split("[[package]]\n").skip(1);
    let checksum = |package: &str| {
        let name = (value(package, "name")?, value(package, "version")?);
        Some((name, value(package, "checksum")?))
    };
    packages.filter_map(checksum).collect()
}

fn bill_of_materials(
    metadata: &Metadata,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Value> {
    let packages: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let needs: BTreeMap<&str, BTreeSet<&str>> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), program_needs(node))).collect();
    let root = metadata.packages.iter().find(|one| one.name == "tare" && one.source.is_none());
    let root = root.context("cargo metadata does not list the package tare")?;
    let mut used = BTreeSet::new();
    let mut left = vec![root.id.as_str()];
    while let Some(id) = left.pop() {
        if used.insert(id) {
            left.extend(needs.get(id).into_iter().flatten());
        }
    }
    let used: Vec<&Package> = used.iter().filter_map(|id| packages.get(id).copied()).collect();
    let components = used.iter().filter(|one| one.id != root.id);
    let components: Vec<Value> =
        components.map(|package| component(package, checksums)).collect::<Result<_>>()?;
    let dependencies: Vec<Value> = used
        .iter()
        .map(|package| {
            let needs = needs.get(package.id.as_str()).into_iter().flatten();
            let on: Vec<String> =
                needs.filter_map(|id| packages.get(id)).map(|one| url(one)).collect();
            json!({ "ref": url(package), "dependsOn": on })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": url(root), "name": root.name,
                "version": root.version, "purl": url(root), "licenses": licenses(root),
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Returns the packages that are linked into the program with this one.
fn program_needs(node: &Node) -> BTreeSet<&str> {
    let linked = |one: &&Dependency| one.dep_kinds.iter().any(|kind| kind.kind.is_none());
    node.deps.iter().filter(linked).map(|one| one.pkg.as_str()).collect()
}

/// Returns a package's URL (package-url), which is its reference, too.
fn url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn licenses(package: &Package) -> Value {
    package.license.as_ref().map_or_else(|| json!([]), |license| json!([{ "expression": license }]))
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Result<Value> {
    let mut component = json!({
        "type": "library", "bom-ref": url(package), "name": package.name,
        "version": package.version, "purl": url(package), "licenses": licenses(package),
    });
    if package.source.is_some() {
        let name = (package.name.clone(), package.version.clone());
        let checksum = checksums.get(&name);
        let checksum =
            checksum.with_context(|| format!("Cargo.lock has no checksum of {name:?}"))?;
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    Ok(component)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_s_own_packages_are_listed_with_their_checksums_and_no_others() {
        let kinds = |kind: Value| json!([{ "kind": kind, "target": null }]);
        let package = |name: &str, source: Value| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source });
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [
                package("tare", Value::Null), package("tare-own", Value::Null),
                package("linked", json!("registry")), package("tested", json!("registry")),
                package("built", json!("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "tare", "deps": [
                    { "pkg": "tare-own", "dep_kinds": kinds(Value::Null) },
                    { "pkg": "tested", "dep_kinds": kinds(json!("dev")) },
                    { "pkg": "built", "dep_kinds": kinds(json!("build")) },
                ] },
                { "id": "tare-own", "deps": [{ "pkg": "linked", "dep_kinds": kinds(Value::Null) }] },
                { "id": "linked", "deps": [] },
            ] },
        }))
        .unwrap();
        let lock = "version = 4\n\n[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\n\
            source = \"registry\"\nchecksum = \"00ff\"\n\n[[package]]\nname = \"tare\"\nversion = \"1.0.0\"\n";
        let bill = bill_of_materials(&metadata, &checksums(lock)).unwrap();
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&str> = components.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["linked", "tare-own"]);
        assert_eq!(components[0]["hashes"][0]["content"], "00ff");
        assert_eq!(components[0]["purl"], "pkg:cargo/linked@1.0.0");
        let depends = bill["dependencies"].as_array().unwrap();
        assert!(depends.contains(&json!({
            "ref": "pkg:cargo/tare@1.0.0", "dependsOn": ["pkg:cargo/tare-own@1.0.0"],
        })));
        assert!(bill_of_materials(&metadata, &BTreeMap::new()).is_err(), "a checksum is missing");
    }
}
