//! Imports between the modules of a crate, by syntax.

use super::graph::Graph;
use crate::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, UseTree, Visibility};

/// Path of a module or of a name in it, from the root of its crate.
type Names = Vec<String>;

/// Module of a crate: a file.
#[derive(Default)]
struct Module {
    /// Names that the file defines itself.
    defined: BTreeSet<String>,
    /// Re-exported names, with their paths.
    exported: BTreeMap<String, Names>,
    /// Imported names, with their paths.
    imported: BTreeMap<String, Names>,
    /// Paths that the file uses: imports, and paths in its code.
    used: Vec<Names>,
}

/// Returns the modules of a crate with the modules that each uses. A module may use its parents: with them it is one
/// idea. Modules for tests and for fuzzing are left out.
pub(super) fn module_graph(source: &Path) -> Graph {
    let files = sources::rust_files(source).unwrap();
    let modules = files.iter().filter_map(|file| {
        let name = module_of(file.strip_prefix(source).unwrap())?;
        Some((name, sources::read(file).unwrap()))
    });
    graph_of_sources(&modules.collect())
}

/// Returns the path of a file's module. Returns `None` for a module for tests or fuzzing.
fn module_of(file: &Path) -> Option<Names> {
    let path = file.with_extension("");
    let mut name: Names = path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    let last = name.last()?.as_str();
    if ["tests", "fuzzing", "test_data", "simulated"].contains(&last) {
        return None;
    }
    if ["lib", "main", "mod"].contains(&last) {
        name.pop();
    }
    Some(name)
}

/// Returns the graph of modules with these texts.
fn graph_of_sources(sources: &BTreeMap<Names, String>) -> Graph {
    let parsed = sources.iter().map(|(path, text)| {
        let mut reader = Reader { path: path.clone(), module: Module::default() };
        reader.visit_file(&syn::parse_file(text).unwrap());
        (path.clone(), reader.module)
    });
    let modules: BTreeMap<Names, Module> = parsed.collect();
    let mut graph = Graph::new();
    for (path, module) in &modules {
        let uses = module.used.iter().filter_map(|name| resolve(&modules, name, 0));
        let others = uses.filter(|other| !path.starts_with(other)).map(|other| other.join("::"));
        graph.insert(path.join("::"), others.collect());
    }
    graph
}

/// Returns the module that defines a name. Returns `None` for a name of another crate, and for a module itself.
fn resolve(modules: &BTreeMap<Names, Module>, name: &[String], depth: usize) -> Option<Names> {
    let at = (0..name.len()).rev().find(|&length| modules.contains_key(&name[..length]))?;
    let (path, rest) = name.split_at(at);
    let module = &modules[path];
    match module.exported.get(&rest[0]) {
        Some(origin) if depth < 8 && !module.defined.contains(&rest[0]) => {
            resolve(modules, &[origin, &rest[1..]].concat(), depth + 1)
        }
        _ => (!modules.contains_key(name)).then(|| path.to_vec()),
    }
}

/// Walk over a file.
struct Reader {
    path: Names,
    module: Module,
}

impl Reader {
    /// Returns a path from the root of the crate. Returns `None` if it leaves the crate, as far as the file shows.
    fn absolute(&self, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => self.path.clone(),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                let base = self.path.get(..self.path.len().checked_sub(up)?)?;
                return Some([base, &path[up..]].concat());
            }
            name => self.module.imported.get(name)?.clone(),
        };
        Some([&base[..], rest].concat())
    }

    /// Takes one name of a `use` item.
    fn take(&mut self, path: &[String], name: &str, is_exported: bool) {
        let Some(absolute) = self.absolute(path) else { return };
        if is_exported {
            self.module.exported.insert(name.to_owned(), absolute);
        } else {
            self.module.imported.insert(name.to_owned(), absolute.clone());
            self.module.used.push(absolute);
        }
    }

    fn take_tree(&mut self, tree: &UseTree, path: &mut Names, is_exported: bool) {
        match tree {
            UseTree::Path(one) => {
                path.push(one.ident.to_string());
                self.take_tree(&one.tree, path, is_exported);
                path.pop();
            }
            UseTree::Group(group) => {
                for one in &group.items {
                    self.take_tree(one, path, is_exported);
                }
            }
            UseTree::Name(one) if one.ident == "self" => {
                let name = path.last().cloned().unwrap_or_default();
                self.take(&path.clone(), &name, is_exported);
            }
            UseTree::Name(one) => {
                let name = one.ident.to_string();
                self.take(&[&path[..], std::slice::from_ref(&name)].concat(), &name, is_exported);
            }
            UseTree::Rename(one) => {
                let full = [&path[..], &[one.ident.to_string()]].concat();
                self.take(&full, &one.rename.to_string(), is_exported);
            }
            UseTree::Glob(_) => {}
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let name = match item {
            Item::Const(one) => Some(&one.ident),
            Item::Enum(one) => Some(&one.ident),
            Item::Fn(one) => Some(&one.sig.ident),
            Item::Static(one) => Some(&one.ident),
            Item::Struct(one) => Some(&one.ident),
            Item::Trait(one) => Some(&one.ident),
            Item::Type(one) => Some(&one.ident),
            _ => None,
        };
        self.module.defined.extend(name.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let is_for_tests = module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
        match &module.content {
            None => {
                // A child is known by its name, as an import is.
                let path = [&self.path[..], &[module.ident.to_string()]].concat();
                self.module.imported.insert(module.ident.to_string(), path);
            }
            Some(_) if is_for_tests => {}
            Some(_) => visit::visit_item_mod(self, module),
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_exported = !matches!(item.vis, Visibility::Inherited);
        self.take_tree(&item.tree, &mut Vec::new(), is_exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Names = path.segments.iter().map(|one| one.ident.to_string()).collect();
        if names.len() > 1
            && let Some(absolute) = self.absolute(&names)
        {
            self.module.used.push(absolute);
        }
        visit::visit_path(self, path);
    }
}

#[test]
fn imports_are_followed_to_the_file_that_defines_a_name() {
    let sources = [
        ("", "mod a; mod b; mod c; pub use c::C;"),
        ("a", "use crate::b::{self, B}; fn f() { b::g(); }"),
        ("b", "pub struct B; fn g() -> super::C {} #[cfg(test)] mod tests { use crate::a::f; }"),
        ("c", "use crate::a; pub struct C; fn h() { a::f() }"),
    ];
    let names =
        |path: &str| -> Names { if path.is_empty() { Vec::new() } else { vec![path.to_owned()] } };
    let sources = sources.map(|(path, text)| (names(path), text.to_owned())).into_iter().collect();
    let graph = graph_of_sources(&sources);
    let uses = |module: &str| graph[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((uses("a"), uses("b"), uses("c")), (vec!["b"], vec!["c"], vec!["a"]));
    assert_eq!(super::graph::circles(&graph), [vec!["a", "b", "c"]]);
}
