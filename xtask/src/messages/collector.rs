//! Messages of one source file, found by syntax.

use anyhow::Result;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprCall, ExprMethodCall, FieldValue, ImplItemFn, ItemConst, ItemImpl,
    ItemMod, Lit, LitStr, Local, Macro, Member, Meta, Pat,
};

/// Macros whose text a user reads wherever they stand.
const MACROS: [&str; 3] = ["anyhow", "bail", "ensure"];

/// Methods whose arguments become a part of an error.
const METHODS: [&str; 9] = [
    "context",
    "inspect_err",
    "listener_error",
    "map_err",
    "ok_or",
    "ok_or_else",
    "with_context",
    "with_reason",
    "with_remedy",
];

/// Functions and variants, beside errors, whose arguments become a message.
const FUNCTIONS: [&str; 7] = ["Failed", "Refused", "busy", "refuse", "refused", "said", "usage"];

/// Names of constants, variables and fields that hold a part of an error.
const PARTS: [&str; 7] = ["what", "why", "reason", "remedy", "allowed", "warning", "problem"];

/// Messages of a source file, in their order: texts of errors and remedies, and all that is written by `Display`. Tests
/// are left out.
pub(super) fn messages(source: &str) -> Result<Vec<String>> {
    let mut collector = Collector::default();
    collector.visit_file(&syn::parse_file(source)?);
    Ok(collector.messages)
}

/// Walk over a file's syntax.
#[derive(Default)]
struct Collector {
    messages: Vec<String>,
    /// Depth of expressions around the present one whose texts are messages.
    depth: usize,
}

impl Collector {
    fn push(&mut self, text: String) {
        if text.chars().any(char::is_alphabetic) && text.contains(' ') {
            self.messages.push(text);
        }
    }

    /// Visits something whose texts are messages.
    fn inside(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    /// Visits something whose texts are messages on a condition.
    fn inside_if(&mut self, is_message: bool, visit: impl FnOnce(&mut Self)) {
        if is_message { self.inside(visit) } else { visit(self) }
    }

    /// Takes all texts of a macro's arguments.
    fn take(&mut self, tokens: TokenStream) {
        texts(tokens).into_iter().for_each(|text| self.push(text));
    }
}

/// Returns all texts among tokens, in their order.
pub(super) fn texts(tokens: TokenStream) -> Vec<String> {
    let texts_of = |token| match token {
        TokenTree::Group(group) => texts(group.stream()),
        TokenTree::Literal(literal) => {
            let text = syn::parse_str::<LitStr>(&literal.to_string());
            text.iter().map(LitStr::value).collect()
        }
        TokenTree::Ident(_) | TokenTree::Punct(_) => Vec::new(),
    };
    tokens.into_iter().flat_map(texts_of).collect()
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("error")
            && let Meta::List(list) = &attribute.meta
        {
            self.take(list.tokens.clone());
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let last = item.trait_.as_ref().and_then(|(path, _)| path.segments.last());
        let displays = last.is_some_and(|segment| segment.ident == "Display");
        self.inside_if(displays, |this| visit::visit_item_impl(this, item));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        let is_part = is_part(&function.sig.ident.to_string());
        self.inside_if(is_part, |this| visit::visit_impl_item_fn(this, function));
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        let is_part = is_part(&item.ident.to_string());
        self.inside_if(is_part, |this| visit::visit_item_const(this, item));
    }

    fn visit_local(&mut self, local: &'ast Local) {
        self.inside_if(binds_part(&local.pat), |this| visit::visit_local(this, local));
    }

    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        let is_part = matches!(&field.member, Member::Named(name) if is_part(&name.to_string()));
        self.inside_if(is_part, |this| visit::visit_field_value(this, field));
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let makes_error = matches!(&*call.func, Expr::Path(function) if function.path.segments.iter().any(|segment| {
            let name = segment.ident.to_string();
            name.ends_with("Error") || FUNCTIONS.contains(&name.as_str())
        }));
        self.inside_if(makes_error, |this| visit::visit_expr_call(this, call));
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        let is_message = METHODS.iter().any(|method| call.method == method);
        self.inside_if(is_message, |this| {
            for argument in &call.args {
                this.visit_expr(argument);
            }
        });
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        let name = called.path.segments.last().map(|segment| segment.ident.to_string());
        if self.depth > 0 || name.is_some_and(|name| MACROS.contains(&name.as_str())) {
            self.take(called.tokens.clone());
        }
    }

    fn visit_lit(&mut self, literal: &'ast Lit) {
        if let Lit::Str(text) = literal
            && self.depth > 0
        {
            self.push(text.value());
        }
    }
}

/// Tells if an attribute leaves its item out of the program: `#[cfg(test)]`.
pub(super) fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
}

/// Tells if a pattern binds a part of an error: `why`, or `(reason, remedy)`.
fn binds_part(pattern: &Pat) -> bool {
    match pattern {
        Pat::Ident(name) => is_part(&name.ident.to_string()),
        Pat::Tuple(tuple) => tuple.elems.iter().any(binds_part),
        _ => false,
    }
}

/// Tells if a name is that of a part of an error.
fn is_part(name: &str) -> bool {
    let name = name.to_lowercase();
    PARTS.iter().any(|part| name == *part || name.ends_with(&format!("_{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_reads_is_found_in_its_order() {
        let source = r#"
            #[error("a port {0}: it is taken")] struct A;
            impl Display for B { fn fmt(&self) { write!(f, "of {n} trials") } }
            fn f() {
                let why = if x { "it is busy" } else { "it is gone" };
                let (reason, n) = match x { 1 => ("it is full", 1), _ => ("it is empty", 0) };
                bail!("no room: {}", "free some space");
                g().map_err(|e| Error::new(format!("open {path} now"), e).with_remedy("try it again"));
                println!("not a message");
                sh("ip link add x");
            }
            #[cfg(test)] mod tests { fn t() { bail!("not a message either") } }
        "#;
        let expected = [
            "a port {0}: it is taken",
            "of {n} trials",
            "it is busy",
            "it is gone",
            "it is full",
            "it is empty",
            "no room: {}",
            "free some space",
            "open {path} now",
            "try it again",
        ];
        assert_eq!(messages(source).unwrap(), expected);
    }
}
