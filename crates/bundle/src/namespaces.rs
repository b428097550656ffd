//! Namespaces in several parts: a later part sees what the earlier ones export by its name alone.
//!
//! The compiler behind the bundler makes a function of each part and leaves such names as they are,
//! where TypeScript's own writes `Namespace.name`.

use std::collections::{BTreeMap, BTreeSet};

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    BindingIdentifier, Declaration, Statement, TSEnumMemberName, TSNamespaceDeclaration,
    TSNamespaceDeclarationBody,
};
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan as _, SourceType, Span};

/// A later part of a namespace, with the names that the earlier ones export.
struct Part {
    namespace: String,
    span: Span,
    names: BTreeSet<String>,
}

/// The same code with those names qualified. None: there are none.
pub(crate) fn qualified(code: &str, kind: SourceType) -> Option<String> {
    let words = ["namespace ", "module "];
    if !kind.is_typescript() || !words.iter().any(|word| code.contains(word)) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let parts = later_parts(&parsed.program.body);
    if parsed.panicked || parts.is_empty() {
        return None;
    }
    let semantic = SemanticBuilder::new().with_build_nodes(true).build(&parsed.program).semantic;
    let mut edits = Vec::new();
    for (name, references) in semantic.scoping().root_unresolved_references() {
        for id in references {
            let node = semantic.scoping().get_reference(*id).node_id();
            let at = semantic.nodes().kind(node).span();
            let sees = |part: &&Part| {
                part.span.start <= at.start
                    && at.end <= part.span.end
                    && part.names.contains(name.as_str())
            };
            let Some(part) = parts.iter().find(sees) else { continue };
            let parent = semantic.nodes().parent_kind(node);
            let is_short =
                matches!(parent, AstKind::ObjectProperty(property) if property.shorthand);
            let before = if is_short { format!("{name}: ") } else { String::new() };
            edits.push((at.start as usize, format!("{before}{}.", part.namespace)));
        }
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_unstable();
    let mut written = code.to_owned();
    for (at, text) in edits.into_iter().rev() {
        written.insert_str(at, &text);
    }
    Some(written)
}

/// The parts of namespaces at the top of a file that come after others of their name. What an enum
/// of the name has counts as exported.
fn later_parts(statements: &[Statement<'_>]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut exported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for statement in statements {
        let declaration = match statement {
            Statement::ExportDeclaration(export) => Some(&export.declaration),
            statement => statement.as_declaration(),
        };
        match declaration {
            Some(Declaration::TSNamespaceDeclaration(namespace)) => {
                let name = namespace.id.name.to_string();
                if let Some(names) = exported.get(&name) {
                    let names = names.clone();
                    parts.push(Part { namespace: name.clone(), span: namespace.span, names });
                }
                exported.entry(name).or_default().extend(exports(namespace));
            }
            Some(Declaration::TSEnumDeclaration(list)) => {
                let members = list.body.members.iter().filter_map(|member| match &member.id {
                    TSEnumMemberName::Identifier(name) => Some(name.name.to_string()),
                    _ => None,
                });
                exported.entry(list.id.name.to_string()).or_default().extend(members);
            }
            _ => {}
        }
    }
    parts
}

/// The names that a part exports.
fn exports(namespace: &TSNamespaceDeclaration<'_>) -> BTreeSet<String> {
    let TSNamespaceDeclarationBody::TSModuleBlock(block) = &namespace.body else {
        return BTreeSet::new();
    };
    let mut names = Names::default();
    for statement in &block.body {
        let Statement::ExportDeclaration(export) = statement else { continue };
        match &export.declaration {
            Declaration::VariableDeclaration(variables) => {
                variables.declarations.iter().for_each(|one| names.visit_binding_pattern(&one.id));
            }
            Declaration::FunctionDeclaration(function) => {
                names.0.extend(function.id.as_ref().map(|id| id.name.to_string()));
            }
            Declaration::ClassDeclaration(class) => {
                names.0.extend(class.id.as_ref().map(|id| id.name.to_string()));
            }
            Declaration::TSEnumDeclaration(list) => {
                names.0.insert(list.id.name.to_string());
            }
            Declaration::TSNamespaceDeclaration(inner) => {
                names.0.insert(inner.id.name.to_string());
            }
            _ => {}
        }
    }
    names.0
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'a> Visit<'a> for Names {
    fn visit_binding_identifier(&mut self, name: &BindingIdentifier<'a>) {
        self.0.insert(name.name.to_string());
    }
}

#[cfg(test)]
mod tests {
    use oxc_span::SourceType;

    use super::qualified;

    #[test]
    fn names_of_earlier_parts_are_qualified_and_own_ones_are_not() {
        let first = "namespace C { export const base = 1, b = 2; const own = 3; }";
        for (later, expected) in [
            (
                "namespace C { export const u = base + 1; }",
                "namespace C { export const u = C.base + 1; }",
            ),
            (
                "export namespace C { f({ base, x: b }); }",
                "export namespace C { f({ base: C.base, x: C.b }); }",
            ),
            ("namespace C { const base = 2; f(base); }", ""),
            ("namespace C { f(own, C.base); }", ""),
            ("namespace D { f(base); }", ""),
            ("f(base);", ""),
        ] {
            let found = qualified(&format!("{first}\n{later}"), SourceType::ts());
            let expected = (!expected.is_empty()).then(|| format!("{first}\n{expected}"));
            assert_eq!(found, expected, "{later}");
        }
        let of_enum = "enum E { A = 1 }\nnamespace E { export const b = A; }";
        assert_eq!(
            qualified(of_enum, SourceType::ts()).as_deref(),
            Some("enum E { A = 1 }\nnamespace E { export const b = E.A; }")
        );
    }
}
