//! Bounds on code of which a bundler makes far more than is given: enums whose members repeat each
//! other's text, and files that export all of each other.

use std::collections::{BTreeMap, HashMap};

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionExpression, BinaryOperator, Expression, Function, Program, Statement,
    TSEnumDeclaration, TSEnumMemberName,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_semantic::ScopeFlags;
use oxc_span::{GetSpan as _, SourceType};

use crate::BundleError;
use crate::tree::join;

/// Text of the enums of a file that the bundler computes.
const ENUM_BYTES_MAX: u64 = 64 << 10;
/// What a number has as a text at most, about.
const NUMBER_BYTES: u64 = 24;
/// Operators in a row outside of functions whose cubes may be so much together: the bundler looks
/// for side effects of such a sum in that time, about 3 s for 500 of them.
const SUM_CUBES_MAX: u64 = 500 * 500 * 500;
/// Ways from a file to others along `export *` that the bundler may follow, for all files together:
/// it follows each, and of `n` files that export all of each other there are more than `n!`.
const WAYS_MAX: u64 = 20_000;

/// Refuses a file of a package with enums whose members grow too large.
pub(crate) fn check_enums(name: &str, code: &str, kind: SourceType) -> Result<(), BundleError> {
    if !kind.is_typescript() || !code.contains("enum") {
        return Ok(());
    }
    let allocator = Allocator::default();
    enums_of(name, code, &Parser::new(&allocator, code, kind).parse().program)
}

/// Refuses a file of the author's with such enums, or with sums that are too long.
pub(crate) fn check_authored(name: &str, code: &str, kind: SourceType) -> Result<(), BundleError> {
    let allocator = Allocator::default();
    let program = Parser::new(&allocator, code, kind).parse().program;
    enums_of(name, code, &program)?;
    let mut sums = Sums::default();
    sums.visit_program(&program);
    refused(name, code, sums.exceeded_at, || {
        "sums outside of functions have too many parts, more than 500 in one; write a text as one text with line breaks, or join a list".into()
    })
}

fn enums_of(name: &str, code: &str, program: &Program<'_>) -> Result<(), BundleError> {
    let mut enums = Enums::default();
    enums.visit_program(program);
    refused(name, code, enums.exceeded_at, || {
        format!(
            "the texts that members of enums make of other members have more than {ENUM_BYTES_MAX} bytes together; write them as constants or functions"
        )
    })
}

/// The refusal of a file that exceeds a bound at an offset.
fn refused(
    name: &str,
    code: &str,
    offset: Option<usize>,
    what: impl FnOnce() -> String,
) -> Result<(), BundleError> {
    let Some(offset) = offset else { return Ok(()) };
    let line = code[..code.floor_char_boundary(offset)].matches('\n').count() + 1;
    Err(BundleError::Grows { place: format!("{name}:{line}"), what: what() })
}

#[derive(Default)]
struct Sums {
    cubes: u64,
    exceeded_at: Option<usize>,
}

impl<'a> Visit<'a> for Sums {
    fn visit_expression(&mut self, value: &Expression<'a>) {
        let (mut length, mut rest) = (0_u64, value);
        while let Expression::BinaryExpression(binary) = rest {
            length += 1;
            self.visit_expression(&binary.right);
            rest = &binary.left;
        }
        self.cubes = self.cubes.saturating_add(length.saturating_pow(3));
        if self.cubes > SUM_CUBES_MAX && self.exceeded_at.is_none() {
            self.exceeded_at = Some(rest.span().start as usize);
        }
        walk::walk_expression(self, rest);
    }

    // Code of functions has no effect where it is declared.
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
}

/// Lengths of the members of enums, each as its `Enum.member`.
#[derive(Default)]
struct Enums {
    known: HashMap<(String, String), u64>,
    made: u64,
    exceeded_at: Option<usize>,
}

impl Enums {
    /// The length of a text that is computed, and whether it is made of others.
    fn length(&self, of_enum: &str, value: &Expression<'_>) -> (u64, bool) {
        let of = |of_enum: &str, member: &str| {
            let key = (of_enum.to_owned(), member.to_owned());
            (self.known.get(&key).copied().unwrap_or(NUMBER_BYTES), true)
        };
        match value {
            Expression::StringLiteral(text) => (text.value.len() as u64, false),
            Expression::ParenthesizedExpression(inner) => self.length(of_enum, &inner.expression),
            Expression::TemplateLiteral(template) => {
                let own = template.quasis.iter().map(|text| text.value.raw.len() as u64);
                let others = template.expressions.iter().map(|part| self.length(of_enum, part));
                let others = others.fold((0_u64, false), |(sum, made), (length, is_made)| {
                    (sum.saturating_add(length), made || is_made)
                });
                (others.0.saturating_add(own.sum()), others.1)
            }
            // Sums of many parts lean to the left.
            Expression::BinaryExpression(_) => {
                let (mut sum, mut made, mut rest) = (0_u64, false, value);
                while let Expression::BinaryExpression(binary) = rest
                    && binary.operator == BinaryOperator::Addition
                {
                    let (length, is_made) = self.length(of_enum, &binary.right);
                    (sum, made) = (sum.saturating_add(length), made || is_made);
                    rest = &binary.left;
                }
                if std::ptr::eq(rest, value) {
                    return (NUMBER_BYTES, false);
                }
                let (length, is_made) = self.length(of_enum, rest);
                (sum.saturating_add(length), made || is_made)
            }
            Expression::Identifier(member) => of(of_enum, &member.name),
            Expression::StaticMemberExpression(member) => match &member.object {
                Expression::Identifier(object) => of(&object.name, &member.property.name),
                _ => (NUMBER_BYTES, false),
            },
            Expression::ComputedMemberExpression(member) => {
                match (&member.object, &member.expression) {
                    (Expression::Identifier(object), Expression::StringLiteral(name)) => {
                        of(&object.name, &name.value)
                    }
                    _ => (NUMBER_BYTES, false),
                }
            }
            _ => (NUMBER_BYTES, false),
        }
    }
}

impl<'a> Visit<'a> for Enums {
    fn visit_ts_enum_declaration(&mut self, declared: &TSEnumDeclaration<'a>) {
        let of_enum = declared.id.name.as_str();
        for member in &declared.body.members {
            let (length, is_made) = match &member.initializer {
                Some(value) => self.length(of_enum, value),
                None => (NUMBER_BYTES, false),
            };
            if is_made {
                self.made = self.made.saturating_add(length);
            }
            if self.made > ENUM_BYTES_MAX && self.exceeded_at.is_none() {
                self.exceeded_at = Some(member.span.start as usize);
            }
            if let TSEnumMemberName::Identifier(_)
            | TSEnumMemberName::String(_)
            | TSEnumMemberName::ComputedString(_) = &member.id
            {
                let name = member.id.static_name().to_string();
                self.known.insert((of_enum.to_owned(), name), length);
            }
        }
        walk::walk_ts_enum_declaration(self, declared);
    }
}

/// Refuses files that export all of each other in too many ways. `kind_of` says how a file is read.
pub(crate) fn check_exports(
    files: &[(String, String)],
    kind_of: impl Fn(&str, &str) -> SourceType,
) -> Result<(), BundleError> {
    let starred: Vec<&(String, String)> =
        files.iter().filter(|(_, text)| text.contains("export") && text.contains('*')).collect();
    // An import may leave the ending out, or name another one: files are compared without it.
    let at: HashMap<&str, usize> =
        starred.iter().enumerate().map(|(at, (path, _))| (stem(path), at)).collect();
    let mut exports: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, (path, text)) in starred.iter().enumerate() {
        let specifiers = all_exported(text, kind_of(path, text));
        let found = specifiers.iter().filter_map(|specifier| {
            let target = specifier.starts_with('.').then(|| join(specifier, path))??;
            at.get(stem(&target)).or_else(|| at.get(format!("{target}/index").as_str())).copied()
        });
        exports.insert(index, found.collect());
    }
    let mut ways = 0;
    for start in 0..starred.len() {
        let mut on_way = vec![false; starred.len()];
        if !follow(start, &exports, &mut on_way, &mut ways) {
            return Err(BundleError::Grows {
                place: starred[start].0.clone(),
                what: "files with `export * from` lead to each other from here in too many ways; export from each file only what it declares, or name what is exported".into(),
            });
        }
    }
    Ok(())
}

/// Follows all ways from a file; false where there are too many.
fn follow(
    from: usize,
    exports: &BTreeMap<usize, Vec<usize>>,
    on_way: &mut [bool],
    ways: &mut u64,
) -> bool {
    *ways += 1;
    if *ways > WAYS_MAX {
        return false;
    }
    on_way[from] = true;
    let fits = exports
        .get(&from)
        .into_iter()
        .flatten()
        .all(|to| on_way[*to] || follow(*to, exports, on_way, ways));
    on_way[from] = false;
    fits
}

/// The specifiers of `export * from` of a file.
fn all_exported(code: &str, kind: SourceType) -> Vec<String> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let all = parsed.program.body.iter().filter_map(|statement| match statement {
        Statement::ExportAllDeclaration(export) if export.exported.is_none() => {
            Some(export.source.value.to_string())
        }
        _ => None,
    });
    all.collect()
}

/// A path without its ending.
fn stem(path: &str) -> &str {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    path[name_at..].rfind('.').map_or(path, |at| &path[..name_at + at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enums_that_repeat_each_other_are_bounded() {
        let chain = |members: usize, of: &dyn Fn(usize) -> String| {
            let members = (1..members).map(|n| format!("A{n} = {},\n", of(n - 1)));
            format!("enum E {{ A0 = 'text',\n{}}}", members.collect::<String>())
        };
        let check = |code: &str| check_enums("a.ts", code, SourceType::ts());
        for of in [
            |n: usize| format!("`${{A{n}}}${{A{n}}}`"),
            |n: usize| format!("A{n} + A{n}"),
            |n: usize| format!("(E.A{n}) + E['A{n}']"),
        ] {
            let error = check(&chain(40, &of)).expect_err("grows").to_string();
            assert!(error.contains("`a.ts:") && error.contains("enums"), "{error}");
            assert!(check(&chain(8, &of)).is_ok());
        }
        let large = format!("enum E {{ A = '{}', B = 1 + 2, C }}", "x".repeat(200_000));
        assert!(check(&large).is_ok(), "what is written out is as large as it is");
    }

    #[test]
    fn long_sums_outside_of_functions_are_bounded() {
        let sum = |parts: usize| vec!["'a'"; parts].join(" + ");
        let check = |code: &str| check_authored("a.js", code, SourceType::mjs());
        let error = check(&format!("\nconst a = {};", sum(1_900))).expect_err("long").to_string();
        assert!(error.contains("`a.js:2`") && error.contains("sums"), "{error}");
        assert!(check(&format!("const a = {};", sum(400))).is_ok());
        assert!(check(&format!("f(() => {});", sum(1_900))).is_ok());
        assert!(check(&format!("const a = {};", sum(100)).repeat(50)).is_ok());
        assert!(check(&format!("const a = {};", sum(400)).repeat(5)).is_err());
    }

    #[test]
    fn files_that_export_all_of_each_other_are_bounded() {
        let kind = |_: &str, _: &str| SourceType::ts();
        let each = |count: usize, ending: &str| -> Vec<(String, String)> {
            let all = |own| (0..count).filter(move |n| *n != own);
            let text = |own| all(own).map(|n| format!("export * from './f{n}{ending}';"));
            (0..count).map(|n| (format!("d/f{n}.ts"), text(n).collect())).collect()
        };
        for ending in ["", ".js", ".ts"] {
            let error = check_exports(&each(9, ending), kind).expect_err("too many").to_string();
            assert!(error.contains("`d/f0.ts`") && error.contains("export *"), "{error}");
            assert!(check_exports(&each(5, ending), kind).is_ok());
        }
        // A file of many that export all of one.
        let mut barrel: Vec<_> = (0..400)
            .map(|n| (format!("d/f{n}/index.ts"), "export * from '../common';".to_owned()))
            .collect();
        barrel.push(("d/common.ts".into(), "export const a = 1;".into()));
        let all = (0..400).map(|n| format!("export * from './f{n}';"));
        barrel.push(("d/index.ts".into(), all.collect()));
        assert!(check_exports(&barrel, kind).is_ok());
    }
}
