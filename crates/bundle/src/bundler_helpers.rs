//! Helper functions of the bundler that a bundle does not use. The bundler leaves nothing out of
//! the code that it is given, its own helpers among it; one of these names `createRequire`, and a
//! host loads more of Node's modules for code that does (`runtime/src/hosted.ts`).

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingPattern, Statement};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

/// The lines around the helpers, which are the first module of a bundle.
const BEGIN: &str = "//#region \\0rolldown/runtime.js\n";
const ANY_BEGIN: &str = "//#region ";
const END: &str = "\n//#endregion\n";
/// How all names of helpers begin.
const PREFIX: &str = "__";
/// What the helpers import.
const IMPORT: &str = "import { createRequire } from \"node:module\";";
const IMPORTED: &str = "createRequire";

struct Helper<'c> {
    name: String,
    text: &'c str,
}

/// The code without the helpers that nothing in it uses. Its lines stay where they are. None: there
/// is nothing to leave out.
pub(crate) fn without_unused(code: &str) -> Option<String> {
    let begin = code.find(BEGIN)?;
    if code.find(ANY_BEGIN)? != begin {
        return None;
    }
    let end = begin + code[begin..].find(END)?;
    let (before, region, rest) = (&code[..begin], &code[begin..end], &code[end..]);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, region, SourceType::mjs()).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return None;
    }
    let helpers: Vec<_> = parsed
        .program
        .body
        .iter()
        .map(|statement| helper(region, statement))
        .collect::<Option<_>>()?;
    let mut used = BTreeSet::new();
    let mut to_read = vec![rest];
    while let Some(text) = to_read.pop() {
        let words: BTreeSet<_> = names(text).collect();
        for helper in &helpers {
            if words.contains(helper.name.as_str()) && used.insert(helper.name.as_str()) {
                to_read.push(helper.text);
            }
        }
    }
    let mut kept = String::with_capacity(code.len());
    let is_imported = |text: &str| text.contains(IMPORTED);
    let needs_import = is_imported(rest)
        || helpers
            .iter()
            .any(|helper| used.contains(helper.name.as_str()) && is_imported(helper.text));
    match before.split_once(IMPORT) {
        Some((first, second)) if !needs_import => kept.extend([first, second]),
        _ => kept.push_str(before),
    }
    let mut left = region;
    for helper in &helpers {
        let (between, after) = left.split_once(helper.text)?;
        kept.push_str(between);
        if used.contains(helper.name.as_str()) {
            kept.push_str(helper.text);
        } else {
            kept.extend(helper.text.matches('\n'));
        }
        left = after;
    }
    kept.extend([left, rest]);
    Some(kept)
}

/// `var __name = …;`.
fn helper<'c>(region: &'c str, statement: &Statement<'_>) -> Option<Helper<'c>> {
    let Statement::VariableDeclaration(declaration) = statement else { return None };
    let [declarator] = &declaration.declarations[..] else { return None };
    let BindingPattern::BindingIdentifier(id) = &declarator.id else { return None };
    let name = id.name.as_str();
    let span = statement.span();
    name.starts_with(PREFIX).then_some(())?;
    let text = region.get(span.start as usize..span.end as usize)?;
    Some(Helper { name: name.to_owned(), text })
}

/// Words of a text that may be names of helpers.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut done = 0;
    text.match_indices(PREFIX).filter_map(move |(at, _)| {
        if at < done {
            return None;
        }
        let rest = &text[at..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        done = at + end;
        Some(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::without_unused;

    fn bundle(code: &str) -> String {
        format!(
            "import {{ createRequire }} from \"node:module\";\n\n//#region \\0rolldown/runtime.js\nvar __create = Object.create;\nvar __toESM = (mod) => {{\n\treturn __create(mod);\n}};\nvar __toESMore = 1;\nvar __require = /* #__PURE__ */ (() => createRequire(import.meta.url))();\n\n//#endregion\n{code}"
        )
    }

    #[test]
    fn helpers_that_are_used_stay_with_those_that_they_use_and_lines_stay_where_they_are() {
        let kept = |code: &str| {
            let whole = bundle(code);
            let kept = without_unused(&whole).unwrap_or_else(|| whole.clone());
            assert_eq!(kept.lines().count(), whole.lines().count());
            assert!(kept.ends_with(&format!("\n//#endregion\n{code}")), "{kept}");
            ["__create =", "__toESM =", "__toESMore =", "__require =", "import { createRequire }"]
                .map(|text| kept.contains(text))
        };
        assert_eq!(kept("run();"), [false; 5]);
        assert_eq!(kept("x = __toESM(y);"), [true, true, false, false, false]);
        assert_eq!(kept("x = `${__toESMore}`;"), [false, false, true, false, false]);
        assert_eq!(kept("__require('x')"), [false, false, false, true, true]);
        assert_eq!(kept("createRequire(x)"), [false, false, false, false, true]);
        assert_eq!(kept("x = ___create"), [false; 5], "another name");
    }

    #[test]
    fn code_that_only_looks_like_helpers_is_left_alone() {
        let own = "//#region mine\n//#endregion\n//#region \\0rolldown/runtime.js\nvar __a = run();\n\n//#endregion\n";
        assert_eq!(without_unused(own), None);
        let other = bundle("run();").replace("var __toESMore = 1;", "start();");
        assert_eq!(without_unused(&other), None);
    }
}
