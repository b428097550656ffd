//! An author's own code that depends on where its file lies. The file is bundled, so what it says
//! of its place is rewritten to the place of its copy, which lies beside the bundle with the other
//! files of its author.

use std::collections::{BTreeMap, BTreeSet};

use millrace_model::own_files::{lead, named};
use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    CallExpression, ExportAllDeclaration, ExportFromDeclaration, Expression, ImportDeclaration,
    ImportExpression, ImportMeta,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan as _, SourceType};

use crate::author::has_ending;
use crate::language::kind_of;
use crate::place_dependent::{is_plain_require, is_text, is_typeof};
use crate::tree;

/// Files that lie beside a bundle at most: they are linked for each host that loads it.
pub(crate) const OWN_FILES_MAX: usize = 3_000;

/// What the rewritten code calls: what Node gives to the file of that path. It stands in the
/// bundle's first line, and is seen by nobody else. `component` is the name of the folder that the
/// runner makes.
pub(crate) const OWN_BANNER: &str = r#"const __millraceFile = ((createRequire, known) => (path) => { let at = known.get(path); if (at) return at; const url = new URL("./component/" + path.split("/").map(encodeURIComponent).join("/"), import.meta.url).href; const require = createRequire(url); const filename = require("node:url").fileURLToPath(url); const from = (name) => { name = String(name); const tmp = /^(?:file:\/\/)?(\/tmp\/[^?#]*)(.*)$/.exec(name); if (tmp) try { return require("node:url").pathToFileURL(require.resolve(decodeURIComponent(tmp[1]))).href + tmp[2]; } catch { return name; } return name.startsWith("./") || name.startsWith("../") ? new URL(name, url).href : name; }; at = { url, filename, dirname: require("node:path").dirname(filename), require, resolve: (name) => { const found = from(name); if (found.includes(":")) return found; const file = require.resolve(found); return file.startsWith("/") ? require("node:url").pathToFileURL(file).href : "node:" + file; }, load: (name, options) => import(from(name), options).catch((error) => { const bundle = import.meta.url; const all = [[bundle, url], [new URL("./component/", bundle).href, ""], [new URL("./", bundle).href, ""]]; for (const field of ["message", "url"]) try { if (typeof error[field] === "string") for (const [long, short] of all) error[field] = error[field].replaceAll(long, short).replaceAll(decodeURI(long.slice(7)), short.startsWith("file://") ? decodeURI(short.slice(7)) : short); } catch {} throw error; }) }; known.set(path, at); return at; })(__millraceRequire, new Map());"#;

/// The code of a file with its place in it, where it depends on that.
pub(crate) fn placed(path: &str, code: &str) -> Option<String> {
    if !["__dirname", "__filename", "import.meta", "require", "import("]
        .iter()
        .any(|token| code.contains(token))
    {
        return None;
    }
    let allocator = Allocator::default();
    let kind = kind_of(path, code);
    let kind = if kind.is_typescript() { kind } else { SourceType::jsx() };
    let mut parsed = Parser::new(&allocator, code, kind).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        parsed = Parser::new(&allocator, code, SourceType::cjs().with_jsx(true)).parse();
        if parsed.panicked || !parsed.diagnostics.is_empty() {
            return None;
        }
    }
    let at = format!("__millraceFile({})", serde_json::Value::from(path));
    let mut finder = Finder { at: &at, edits: Vec::new() };
    finder.visit_program(&parsed.program);
    let mut edits = finder.edits;
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    for (name, references) in semantic.scoping().root_unresolved_references() {
        let member = match name.as_str() {
            "__dirname" => "dirname",
            "__filename" => "filename",
            "require" => "require",
            _ => continue,
        };
        for id in references {
            let node = semantic.scoping().get_reference(*id).node_id();
            let names_tmp = matches!(semantic.nodes().parent_kind(node), AstKind::CallExpression(call) if call.common_js_require().is_some_and(|name| name.value.starts_with(TMP)));
            if is_typeof(&semantic, node)
                || (member == "require" && is_plain_require(&semantic, node) && !names_tmp)
            {
                continue;
            }
            let span = semantic.nodes().kind(node).span();
            let is_short = matches!(semantic.nodes().parent_kind(node), AstKind::ObjectProperty(property) if property.shorthand);
            let before = if is_short { format!("{name}: ") } else { String::new() };
            edits.push((span.start, span.end, format!("{before}{at}.{member}")));
        }
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_unstable();
    let (mut placed, mut end) = (String::with_capacity(code.len() + 64 * edits.len()), 0);
    for (from, to, text) in edits {
        placed.push_str(code.get(end..from as usize)?);
        placed.push_str(&text);
        end = to as usize;
    }
    placed.push_str(code.get(end..)?);
    Some(placed)
}

struct Finder<'t> {
    at: &'t str,
    edits: Vec<(u32, u32, String)>,
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.edits.push((meta.span.start, meta.span.end, self.at.to_owned()));
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if !is_text(&import.source) || is_in_tmp(&import.source) {
            self.edits.push((
                import.span.start,
                import.source.span().start,
                format!("{}.load(", self.at),
            ));
        }
        walk::walk_import_expression(self, import);
    }
}

/// The folder in which code writes files: what it loads from there is made as it runs.
const TMP: &str = "/tmp/";

fn is_in_tmp(specifier: &Expression<'_>) -> bool {
    matches!(specifier, Expression::StringLiteral(text) if text.value.strip_prefix("file://").unwrap_or(&text.value).starts_with(TMP))
}

/// What code imports that is loaded as it lies: code that a reader names, such as that of a worker
/// or of a folder of plugins, and what that code imports of its author's. Specifiers, each with the
/// path of the file that it stands in.
pub(crate) fn loose(
    files: &BTreeMap<String, String>,
    readers: &BTreeSet<String>,
) -> Vec<(String, String)> {
    let is_code = |path: &str| has_ending(path) && !path.ends_with(".json");
    let mut waiting: BTreeSet<String> = BTreeSet::new();
    let mut begins: BTreeSet<String> = BTreeSet::new();
    for reader in readers {
        let Some(code) = files.get(reader) else { continue };
        let folder = reader.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A text may stand in code as often as it likes.
        for text in BTreeSet::from_iter(named(code)) {
            let Some(base) = lead(folder, &text) else { continue };
            waiting.extend(tree::candidates(&base).find(|path| files.contains_key(path)));
            // The beginning of a name that is made as the code runs.
            if text.contains('/') && (text.starts_with('.') || text.starts_with('/')) {
                begins.insert(if text.ends_with('/') { format!("{base}/") } else { base });
            }
        }
    }
    // Beginnings in their order: what begins with an earlier one is there already.
    let mut last: Option<&String> = None;
    for begin in &begins {
        if last.is_some_and(|last| begin.starts_with(last.as_str())) {
            continue;
        }
        last = Some(begin);
        let named = files.range(begin.clone()..).take_while(|(path, _)| path.starts_with(begin));
        waiting.extend(named.map(|(path, _)| path.clone()));
    }
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(path) = waiting.pop_first() {
        if !is_code(&path) || readers.contains(&path) || !seen.insert(path.clone()) {
            continue;
        }
        let Some(code) = files.get(&path) else { continue };
        for specifier in imports(&path, code) {
            if specifier.starts_with('.') {
                waiting.extend(tree::join(&specifier, &path).and_then(|base| {
                    tree::candidates(&base).find(|path| files.contains_key(path))
                }));
            } else {
                found.push((path.clone(), specifier));
            }
        }
    }
    found
}

/// What a file imports, however it does.
pub(crate) fn imports(path: &str, code: &str) -> BTreeSet<String> {
    let kind = kind_of(path, code);
    let kind = if kind.is_typescript() { kind } else { SourceType::jsx() };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let mut imports = Imports::default();
    imports.visit_program(&parsed.program);
    imports.0
}

#[derive(Default)]
struct Imports(BTreeSet<String>);

impl<'a> Visit<'a> for Imports {
    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        if !import.import_kind.is_type() {
            self.0.insert(import.source.value.to_string());
        }
    }

    fn visit_export_from_declaration(&mut self, export: &ExportFromDeclaration<'a>) {
        self.0.insert(export.source.value.to_string());
    }

    fn visit_export_all_declaration(&mut self, export: &ExportAllDeclaration<'a>) {
        self.0.insert(export.source.value.to_string());
    }

    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Expression::StringLiteral(name) = &import.source {
            self.0.insert(name.value.to_string());
        }
        walk::walk_import_expression(self, import);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(name) = call.common_js_require() {
            self.0.insert(name.value.to_string());
        }
        walk::walk_call_expression(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_says_of_its_place_names_the_place_of_its_copy() {
        let at = r#"__millraceFile("a/b.mjs")"#;
        for (code, expected) in [
            ("f(new URL('x', import.meta.url));", format!("f(new URL('x', {at}.url));")),
            (
                "f(__dirname + '/x', typeof __dirname);",
                format!("f({at}.dirname + '/x', typeof __dirname);"),
            ),
            ("f({ __filename });", format!("f({{ __filename: {at}.filename }});")),
            (
                "require('./t/' + n); require('fs');",
                format!("{at}.require('./t/' + n); require('fs');"),
            ),
            (
                "require('/tmp/x.cjs'); import('/tmp/x.mjs');",
                format!("{at}.require('/tmp/x.cjs'); {at}.load('/tmp/x.mjs');"),
            ),
            (
                "await import(`./h/${n}.mjs`); await import('./x.mjs');",
                format!("await {at}.load(`./h/${{n}}.mjs`); await import('./x.mjs');"),
            ),
        ] {
            assert_eq!(placed("a/b.mjs", code).as_deref(), Some(&*expected), "{code}");
        }
        assert_eq!(
            placed("a.ts", "const d: string = __dirname;").as_deref(),
            Some(r#"const d: string = __millraceFile("a.ts").dirname;"#)
        );
        for code in [
            "const __dirname = 1; f(__dirname);",
            "require('x')",
            "// __dirname",
            "import x from './x.mjs'",
        ] {
            assert_eq!(placed("a.mjs", code), None, "{code}");
        }
    }

    #[test]
    fn code_that_is_loaded_as_it_lies_is_found_with_what_it_imports() {
        let files: BTreeMap<String, String> = [
            ("c/main.mjs", "new Worker(new URL('./work/worker.mjs', import.meta.url)); import(`./plugins/${name}.mjs`);"),
            ("c/work/worker.mjs", "import _ from 'lodash'; import './more.mjs';"),
            ("c/work/more.mjs", "export * from 'deep'; const x = require('x/y');"),
            ("c/plugins/a.mjs", "await import('of-a');"),
            ("c/other.mjs", "import 'not-named';"),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
        let found: BTreeSet<String> = loose(&files, &BTreeSet::from(["c/main.mjs".to_owned()]))
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["deep", "lodash", "of-a", "x/y"]);
    }
}
