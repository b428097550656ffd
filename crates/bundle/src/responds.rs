//! Whether code answers HTTP requests itself: a call of a member named `respond`, found on the syntax tree.

use oxc_allocator::Allocator;
use oxc_ast::ast::{CallExpression, Expression};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

#[derive(Default)]
struct Finder {
    found: bool,
}

impl<'a> Visit<'a> for Finder {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = &call.callee {
            self.found |= member.property.name == "respond";
        }
        walk::walk_call_expression(self, call);
    }
}

pub(crate) fn calls_respond(path: &str, text: &str) -> bool {
    if path.ends_with(".json") || !text.contains("respond") {
        return false;
    }
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::mjs());
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    let mut finder = Finder::default();
    finder.visit_program(&parsed.program);
    finder.found
}

#[cfg(test)]
mod tests {
    use super::calls_respond;

    #[test]
    fn only_calls_count() {
        assert!(calls_respond("a.mjs", "export default { run({ $ }) { return $.respond({ status: 200 }); } }"));
        assert!(calls_respond("a.ts", "const f = async ($: any) => { await $.respond({}) }"));
        assert!(!calls_respond("a.mjs", "// $.respond() is not called\nexport const text = '$.respond()'; export const f = $ => $.respond;"));
    }
}
