//! Names of classes and functions that the bundler renamed. Where two modules declare one name, one
//! of them is called `Name$1` in the bundle, and code would see that: as `constructor.name`, and as
//! the class of an error. Each is given the name that its author wrote.

use std::cell::OnceCell;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, BindingPattern, Class, Expression, Function,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::ScopeFlags;
use oxc_span::{GetSpan as _, SourceType};
use rolldown_common::OutputChunk;

/// The bundle's code with the names of classes and functions that it renamed.
pub(crate) fn with_own_names(chunk: &OutputChunk) -> Option<String> {
    let map = chunk.map.as_ref()?;
    let table = OnceCell::new();
    kept(&chunk.code, |line, column| {
        let table = table.get_or_init(|| map.generate_lookup_table());
        let token = map.lookup_token(table, line, column)?;
        let is_there = (token.get_dst_line(), token.get_dst_col()) == (line, column);
        map.get_name(token.get_name_id().filter(|_| is_there)?).map(str::to_owned)
    })
}

/// The bundle with the names of authors. `written`: what an author wrote where the bundle has a
/// name, by its line and column (UTF-16), both from 0; None where it is the same.
fn kept(code: &str, written: impl Fn(u32, u32) -> Option<String>) -> Option<String> {
    if !may_have_renamed(code) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, SourceType::mjs()).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut finder = Finder { found: Vec::new() };
    finder.visit_program(&parsed.program);
    finder.found.sort_unstable_by_key(|renamed| renamed.name_at);
    let mut place = Place::default();
    let mut edits: Vec<(usize, String)> = Vec::new();
    for Renamed { name_at, name, edit_at, is_class } in finder.found {
        let (line, column) = place.of(code, name_at);
        let Some(own) = written(line, column).filter(|own| *own != name) else { continue };
        let own = serde_json::Value::from(own);
        let target = if is_class { "this" } else { name.as_str() };
        let named = format!(
            "Object.defineProperty({target}, \"name\", {{ value: {own}, configurable: true }});"
        );
        edits.push((edit_at, if is_class { format!(" static {{ {named} }}") } else { named }));
    }
    if edits.is_empty() {
        return None;
    }
    edits.sort_unstable();
    let mut named = String::with_capacity(code.len() + 128 * edits.len());
    let mut done = 0;
    for (at, text) in edits {
        named.push_str(code.get(done..at)?);
        named.push_str(&text);
        done = at;
    }
    named.push_str(code.get(done..)?);
    Some(named)
}

/// Whether a bundle is worth to be parsed for it.
fn may_have_renamed(code: &str) -> bool {
    let is_renamed_after = |keyword: &str| {
        code.match_indices(keyword).any(|(at, _)| {
            let rest = &code[at + keyword.len()..];
            let end = rest.find(|c: char| !is_part_of_name(c)).unwrap_or(rest.len());
            looks_renamed(&rest[..end])
        })
    };
    let is_renamed_before = |keyword: &str| {
        code.match_indices(keyword).any(|(at, _)| {
            let start = code[..at].rfind(|c: char| !is_part_of_name(c)).map_or(0, |at| at + 1);
            code.get(start..at).is_some_and(looks_renamed)
        })
    };
    ["class ", "function ", "function* "].into_iter().any(is_renamed_after)
        || is_renamed_before(" = class")
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// `Name$1`.
fn looks_renamed(name: &str) -> bool {
    name.rsplit_once('$').is_some_and(|(before, number)| {
        !before.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

struct Renamed {
    name_at: usize,
    name: String,
    /// Where its own name is set: the beginning of a class's body, the end of a function.
    edit_at: usize,
    is_class: bool,
}

struct Finder {
    found: Vec<Renamed>,
}

impl Finder {
    fn class(&mut self, name: &str, name_at: u32, class: &Class<'_>) {
        let has_name = class.body.body.iter().any(|element| {
            element.r#static() && element.static_name().is_some_and(|name| name == "name")
        });
        if looks_renamed(name) && !has_name {
            self.found.push(Renamed {
                name_at: name_at as usize,
                name: name.to_owned(),
                edit_at: class.body.span.start as usize + 1,
                is_class: true,
            });
        }
    }
}

impl<'a> Visit<'a> for Finder {
    fn visit_class(&mut self, class: &Class<'a>) {
        if let Some(id) = &class.id {
            self.class(id.name.as_str(), id.span.start, class);
        }
        walk::walk_class(self, class);
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        if let Some(id) = function.id.as_ref().filter(|_| function.is_declaration())
            && looks_renamed(id.name.as_str())
        {
            self.found.push(Renamed {
                name_at: id.span.start as usize,
                name: id.name.to_string(),
                edit_at: function.span.end as usize,
                is_class: false,
            });
        }
        walk::walk_function(self, function, flags);
    }

    fn visit_variable_declarator(&mut self, declared: &VariableDeclarator<'a>) {
        if let (BindingPattern::BindingIdentifier(id), Some(Expression::ClassExpression(class))) =
            (&declared.id, &declared.init)
            && class.id.is_none()
        {
            self.class(id.name.as_str(), id.span.start, class);
        }
        walk::walk_variable_declarator(self, declared);
    }

    fn visit_assignment_expression(&mut self, assigned: &AssignmentExpression<'a>) {
        if let (
            AssignmentTarget::AssignmentTargetIdentifier(id),
            Expression::ClassExpression(class),
        ) = (&assigned.left, &assigned.right)
            && class.id.is_none()
        {
            self.class(id.name.as_str(), id.span().start, class);
        }
        walk::walk_assignment_expression(self, assigned);
    }
}

/// Lines and columns of places that are asked for in their order.
#[derive(Default)]
struct Place {
    at: usize,
    line: u32,
    line_begins_at: usize,
}

impl Place {
    fn of(&mut self, code: &str, at: usize) -> (u32, u32) {
        for (offset, _) in code[self.at..at].match_indices('\n') {
            self.line += 1;
            self.line_begins_at = self.at + offset + 1;
        }
        self.at = at;
        let column = code[self.line_begins_at..at].encode_utf16().count();
        (self.line, u32::try_from(column).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_renamed_has_its_own_name_and_nothing_else_is_touched() {
        let code = "/* ä */ class A$1 extends Error {\n}\nvar B$2 = class {};\nlet C$1;\nC$1 = class extends A$1 {\n  x = 1;\n};\nfunction f$1() {}\nclass Own$1 {}\nclass D$1 { static name = 'd'; }\nconst E = class G$3 {};";
        let written = |line: u32, column: u32| {
            let name = match (line, column) {
                (0, 14) => "A",
                (2, 4) => "B",
                (4, 0) => "C",
                (7, 9) => "f",
                (9, 6) => "D",
                (10, 16) => "G",
                _ => return None,
            };
            Some(name.to_owned())
        };
        let set = |target: &str, name: &str| {
            format!(
                "Object.defineProperty({target}, \"name\", {{ value: \"{name}\", configurable: true }});"
            )
        };
        let of_class = |name: &str| format!(" static {{ {} }}", set("this", name));
        let expected = code
            .replace("Error {", &format!("Error {{{}", of_class("A")))
            .replace("B$2 = class {", &format!("B$2 = class {{{}", of_class("B")))
            .replace("extends A$1 {", &format!("extends A$1 {{{}", of_class("C")))
            .replace("f$1() {}", &format!("f$1() {{}}{}", set("f$1", "f")))
            .replace("class G$3 {", &format!("class G$3 {{{}", of_class("G")));
        assert_eq!(kept(code, written).as_deref(), Some(expected.as_str()));
        for same in ["class A {}", "f$1(x);", "const a$1 = 1; class B {}", "'class A$1 {}'"] {
            assert_eq!(kept(same, |_, _| Some("A".into())), None, "{same}");
        }
        assert_eq!(kept(code, |_, _| None), None, "an author's own names");
    }
}
