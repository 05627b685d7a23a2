//! How large things may grow. A file that passes 800 lines or a function that passes 70 is two things under one name; the
//! limit is where a reader stops holding it in mind. Tests are read as often as code, so they are held to it too.

use super::{Violation, Workspace};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;

/// Finds files that are too long.
pub fn files(workspace: &Workspace) -> Vec<Violation> {
    let too_long = |text: &str| Some(text.lines().count()).filter(|lines| *lines > FILE_LINES_MAX);
    let violation = |source: &super::workspace::Source| {
        let lines = too_long(&source.text)?;
        let why = format!("{lines} lines; accepted: at most {FILE_LINES_MAX}, split by what a reader looks for");
        Some(Violation { file: source.path.clone(), line: FILE_LINES_MAX + 1, rule: "file-size", why })
    };
    workspace.sources.iter().filter_map(violation).collect()
}

/// Finds functions that are too long, from the line of `fn` to the closing brace, and files that are not Rust.
pub fn functions(workspace: &Workspace) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &workspace.sources {
        let mut functions = Functions::default();
        match syn::parse_file(&source.text) {
            Ok(file) => functions.visit_file(&file),
            Err(error) => functions.found.push((error.span().start().line, format!("does not parse: {error}"))),
        }
        let place = |(line, why)| Violation { file: source.path.clone(), line, rule: "function-size", why };
        found.extend(functions.found.into_iter().map(place));
    }
    found
}

#[derive(Default)]
struct Functions {
    found: Vec<(usize, String)>,
}

impl Functions {
    fn look(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line - first + 1;
        if lines > FUNCTION_LINES_MAX {
            let name = &signature.ident;
            let why = format!(
                "fn {name} has {lines} lines; accepted: at most {FUNCTION_LINES_MAX}, with a named step taken out of it"
            );
            self.found.push((first, why));
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.look(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::planted;
    use super::*;

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    fn functions_in(text: &str) -> Vec<Violation> {
        let mut workspace = planted::clean();
        workspace.source("control", "crates/control/src/planted.rs", text);
        functions(&workspace)
    }

    #[test]
    fn the_longest_allowed_function_passes_and_one_line_more_does_not() {
        assert_eq!(functions_in(&function_of(70)), Vec::new());
        let found = functions_in(&format!("//! P.\n\n#[test]\n{}", function_of(71)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 4);
        assert!(found[0].why.contains("fn long has 71 lines; accepted: at most 70"), "{}", found[0].why);
    }

    #[test]
    fn methods_defaults_of_traits_and_inner_functions_are_measured_too() {
        let long = function_of(71);
        assert_eq!(functions_in(&format!("impl A {{\n{long}}}")).len(), 1);
        assert_eq!(functions_in(&format!("trait A {{\n{long}}}")).len(), 1);
        assert_eq!(functions_in(&format!("mod tests {{\n{long}}}")).len(), 1);
        assert_eq!(functions_in(&format!("fn outer() {{\n{long}}}")).len(), 2);
    }

    #[test]
    fn a_file_that_does_not_parse_is_not_passed_over() {
        assert_eq!(functions_in("fn ( {").len(), 1);
    }

    #[test]
    fn the_longest_allowed_file_passes_and_one_line_more_does_not() {
        let mut workspace = planted::clean();
        workspace.source("control", "crates/control/src/a.rs", &"//\n".repeat(800));
        assert_eq!(files(&workspace), Vec::new());
        workspace.source("control", "crates/control/src/b.rs", &"//\n".repeat(801));
        let found = files(&workspace);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("801 lines; accepted: at most 800"), "{}", found[0].why);
    }
}
