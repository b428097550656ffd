//! Bound on how deep code is nested: the work of a bundler grows with the square of it, and engines
//! read no deeper.

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{Expression, JSXChild, Program, Statement, TSType};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use crate::BundleError;

/// Levels of syntax within each other: brackets, operators, functions, blocks, elements and types.
/// V8 itself reads 1,400 (objects) to 2,000 (lists) brackets on Node's stack.
const LEVELS_MAX: usize = 2_000;

/// Refuses a module that is nested too deep; `name` is its file's in the error.
pub(crate) fn check(name: &str, code: &str, kind: SourceType) -> Result<(), BundleError> {
    // A character opens a level or two at most.
    if code.len() < LEVELS_MAX / 4 {
        return Ok(());
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let Some(offset) = exceeded_at(&parsed.program) else { return Ok(()) };
    let before = &code[..code.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Err(BundleError::Nested { place: format!("{name}:{line}:{column}"), levels_max: LEVELS_MAX })
}

/// Where a program is nested deeper than allowed, if it is.
pub(crate) fn exceeded_at(program: &Program<'_>) -> Option<usize> {
    let mut depth = Depth { levels: 0, exceeded_at: None };
    depth.visit_program(program);
    depth.exceeded_at
}

struct Depth {
    levels: usize,
    /// Where the limit is exceeded first; nothing is looked into from there on.
    exceeded_at: Option<usize>,
}

impl<'a> Visit<'a> for Depth {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        self.levels += 1;
        if self.levels > LEVELS_MAX && self.exceeded_at.is_none() {
            self.exceeded_at = Some(kind.span().start as usize);
        }
    }

    fn leave_node(&mut self, _: AstKind<'a>) {
        self.levels -= 1;
    }

    fn visit_expression(&mut self, expression: &Expression<'a>) {
        if self.exceeded_at.is_none() {
            walk::walk_expression(self, expression);
        }
    }

    fn visit_statement(&mut self, statement: &Statement<'a>) {
        if self.exceeded_at.is_none() {
            walk::walk_statement(self, statement);
        }
    }

    fn visit_jsx_child(&mut self, child: &JSXChild<'a>) {
        if self.exceeded_at.is_none() {
            walk::walk_jsx_child(self, child);
        }
    }

    fn visit_ts_type(&mut self, of_type: &TSType<'a>) {
        if self.exceeded_at.is_none() {
            walk::walk_ts_type(self, of_type);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A syntax, as `kind`, that is nested so deep.
    fn nested(
        kind: SourceType,
        before: &str,
        open: &str,
        close: &str,
        levels: usize,
    ) -> Result<(), String> {
        let code = format!("\n  {before}{}1{}", open.repeat(levels), close.repeat(levels));
        let work = move || check("a.js", &code, kind).map_err(|error| error.to_string());
        std::thread::Builder::new()
            .stack_size(256 << 20)
            .spawn(work)
            .expect("a thread")
            .join()
            .expect("ends")
    }

    #[test]
    fn each_kind_of_nesting_is_bounded_and_names_its_line() {
        let (js, jsx, ts) = (SourceType::unambiguous(), SourceType::jsx(), SourceType::ts());
        for (kind, before, open, close) in [
            (js, "x = ", "[", "]"),
            (js, "x = ", "(", ")"),
            (js, "", "{", "}"),
            (js, "x = ", "{a:", "}"),
            (js, "x = ", "!", ""),
            (js, "x = ", "-(", ")"),
            (js, "x = ", "1+", ""),
            (js, "x = ", "a=>", ""),
            (js, "x = ", "a?", ":b"),
            (js, "x = ", "a?b:", ""),
            (js, "x = ", "`${", "}`"),
            (js, "x = ", "f(", ")"),
            (js, "x = ", "a??", ""),
            (js, "x = ", "new ", ""),
            (js, "x = ", "await ", ""),
            (js, "x = ", "function(){return ", "}"),
            (js, "x = ", "class{x=", "}"),
            (js, "", "if(a)", ""),
            (js, "", "if(a){}else ", ""),
            (js, "", "a:", ""),
            (js, "", "for(;;)", ""),
            (js, "", "try{", "}finally{}"),
            (js, "x = ", "a[", "]"),
            (js, "x=a", ".b", ""),
            (js, "x", "=y", ""),
            (jsx, "x = ", "<a>", "</a>"),
            (jsx, "x = ", "<a b={", "}/>"),
            (ts, "let x: ", "a<", ">"),
            (ts, "let x: ", "[", "]"),
            (ts, "let x: ", "keyof ", ""),
            (ts, "let x = 1", " as any", ""),
        ] {
            let error = nested(kind, before, open, close, 3_000).expect_err(open);
            assert!(error.starts_with("`a.js:2:") && error.contains("2000"), "{open}: {error}");
            assert_eq!(nested(kind, before, open, close, 200), Ok(()), "{open}");
        }
        assert_eq!(nested(js, "x = '", "[", "]';//", 9_000), Ok(()), "a text is no nesting");
    }
}
