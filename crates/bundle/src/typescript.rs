//! TypeScript that a parser of JavaScript accepts: modifiers of class members, and type arguments,
//! which JavaScript reads as comparisons.

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    BindingIdentifier, Class, ImportDeclaration, Program, TSType, TSTypeParameterInstantiation,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan as _, SourceType};

use crate::BundleError;
use crate::language::first_error;

/// Types that have no declaration.
const KEYWORDS: [&str; 9] =
    ["any", "unknown", "string", "number", "boolean", "object", "symbol", "bigint", "never"];
/// Operands of a comparison that may be a type as well, whatever the file declares.
const EITHER: [&str; 7] = ["this", "null", "undefined", "true", "false", "Infinity", "NaN"];

/// Refuses JavaScript with a modifier of TypeScript. The bundler would keep it, and Node does not
/// say its line.
pub(crate) fn check(path: &str, code: &str, kind: SourceType) -> Result<(), BundleError> {
    if kind.is_typescript() {
        return Ok(());
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, code, kind).parse();
    let Some(offset) = first_modifier(&parsed.program) else { return Ok(()) };
    let why = "a modifier of TypeScript, such as `private`, is no JavaScript";
    Err(refused(path, code, offset, why))
}

/// Places of type parameters at most that are tried for an error.
const PLACES_MAX: usize = 50;

/// Refuses `<T>(…) => …` in a text with JSX, where it begins an element: the bundler would find the
/// fault far behind it.
pub(crate) fn check_type_parameters(
    path: &str,
    code: &str,
    kind: SourceType,
) -> Result<(), BundleError> {
    let has_elements = code.contains("</") || code.contains("/>");
    if !has_elements || !code.contains(">(") || first_error(code, kind).is_none() {
        return Ok(());
    }
    let (mut mended, mut first) = (code.to_owned(), None);
    let mut wrong = first_error(code, SourceType::tsx()).unwrap_or(0);
    for end in code.match_indices(">(").map(|(end, _)| end).take(PLACES_MAX) {
        let name = code[..end].rfind('<').filter(|at| is_name(&code[at + 1..end]));
        let Some(begin) = name else { continue };
        let mut tried = mended.clone();
        tried.insert(end + mended.len() - code.len(), ',');
        let further = first_error(&tried, SourceType::tsx());
        if further.is_none_or(|further| further > wrong + 1) {
            (mended, wrong) = (tried, further.unwrap_or(usize::MAX));
            first.get_or_insert(begin);
        }
        if further.is_none() {
            break;
        }
    }
    match first.filter(|_| wrong == usize::MAX) {
        Some(begin) => Err(refused(
            path,
            code,
            begin,
            "in a file with JSX, `<T>(…)` begins an element; write type parameters of an arrow function as `<T,>(…)`",
        )),
        None => Ok(()),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

fn refused(path: &str, code: &str, offset: usize, why: &str) -> BundleError {
    let before = &code[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    BundleError::Syntax { text: format!("{path}:{line}:{column}: {why}") }
}

/// The offset of the first declaration with a modifier of TypeScript, such as `private`.
pub(crate) fn first_modifier(program: &Program<'_>) -> Option<usize> {
    let mut modifiers = Modifiers::default();
    modifiers.visit_program(program);
    modifiers.first
}

#[derive(Default)]
struct Modifiers {
    first: Option<usize>,
}

impl<'a> Visit<'a> for Modifiers {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        let is_typescript = match kind {
            AstKind::Class(class) => class.r#abstract || class.declare,
            AstKind::MethodDefinition(method) => {
                method.r#type.is_abstract()
                    || method.r#override
                    || method.optional
                    || method.accessibility.is_some()
            }
            AstKind::PropertyDefinition(field) => {
                field.r#type.is_abstract()
                    || field.declare
                    || field.r#override
                    || field.optional
                    || field.definite
                    || field.readonly
                    || field.accessibility.is_some()
            }
            AstKind::AccessorProperty(field) => {
                field.r#type.is_abstract() || field.r#override || field.accessibility.is_some()
            }
            AstKind::FormalParameter(parameter) => {
                parameter.accessibility.is_some() || parameter.readonly || parameter.r#override
            }
            AstKind::TSIndexSignature(_) => true,
            _ => false,
        };
        if is_typescript && self.first.is_none() {
            self.first = Some(kind.span().start as usize);
        }
    }
}

/// Whether a text that is JavaScript, too, has type arguments of a call: `get<User>(url)` compares
/// the result of a comparison, as no JavaScript does. `f(a < b, c > (d))` is in doubt, as is
/// `a < b | c > (d)`: types are meant if no white space is before the `<`, and what it encloses are
/// no variables.
pub(crate) fn has_type_arguments(code: &str) -> bool {
    may_have_type_arguments(code)
        && [SourceType::ts(), SourceType::tsx()].into_iter().any(|kind| {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, code, kind).parse();
            if parsed.panicked || !parsed.diagnostics.is_empty() {
                return false;
            }
            let mut lists = Lists { code, ..Lists::default() };
            lists.visit_program(&parsed.program);
            lists.sure || lists.doubtful.iter().any(|parts| lists.are_types(parts))
        })
}

/// Whether a `>` that ends no arrow is before a parenthesis or a template. Most files have none and
/// are not parsed again.
fn may_have_type_arguments(code: &str) -> bool {
    code.match_indices('>').any(|(at, _)| {
        !code[..at].ends_with('=') && code[at + 1..].trim_start().starts_with(['(', '`'])
    })
}

/// Lists of type arguments.
#[derive(Default)]
struct Lists<'c> {
    code: &'c str,
    /// Whether one has no meaning in JavaScript.
    sure: bool,
    /// The parts of those that may be comparisons.
    doubtful: Vec<Vec<&'c str>>,
    /// Names that are no types: neither of classes nor imported.
    variables: HashSet<String>,
}

impl Lists<'_> {
    fn are_types(&self, parts: &[&str]) -> bool {
        let is_variable = |name: &str| self.variables.contains(name);
        let is_type = |part: &&str| {
            root_of(part).is_none_or(|root| KEYWORDS.contains(&root) && !is_variable(root))
        };
        let names = || parts.iter().filter_map(|part| root_of(part));
        let is_name = |name: &&str| {
            !EITHER.contains(name) && !name.starts_with(|first: char| first.is_ascii_digit())
        };
        parts.iter().any(is_type)
            || (!names().any(is_variable) && names().any(|name| is_name(&name)))
    }

    fn list(&mut self, arguments: &TSTypeParameterInstantiation<'_>) {
        let mut parts = Vec::new();
        for argument in &arguments.params {
            flatten(argument, self.code, &mut parts);
        }
        let before = &self.code[..arguments.span.start as usize];
        if parts.len() == 1 {
            self.sure = true;
        } else if !before.ends_with(char::is_whitespace) {
            self.doubtful.push(parts);
        }
    }
}

impl<'a> Visit<'a> for Lists<'_> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        let arguments = match kind {
            AstKind::CallExpression(call) => &call.type_arguments,
            AstKind::NewExpression(new) => &new.type_arguments,
            AstKind::TaggedTemplateExpression(template) => &template.type_arguments,
            _ => return,
        };
        if let Some(arguments) = arguments {
            self.list(arguments);
        }
    }

    fn visit_binding_identifier(&mut self, name: &BindingIdentifier<'a>) {
        self.variables.insert(name.name.to_string());
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        walk::walk_class(self, class);
        if let Some(id) = &class.id {
            self.variables.remove(id.name.as_str());
        }
    }

    fn visit_import_declaration(&mut self, _: &ImportDeclaration<'a>) {}
}

/// The texts of the members of unions and intersections: `|` and `&` are operators of JavaScript.
fn flatten<'c>(of: &TSType<'_>, code: &'c str, parts: &mut Vec<&'c str>) {
    let members = match of {
        TSType::TSUnionType(union) => &union.types,
        TSType::TSIntersectionType(intersection) => &intersection.types,
        _ => {
            let span = of.span();
            parts.push(&code[span.start as usize..span.end as usize]);
            return;
        }
    };
    for member in members {
        flatten(member, code, parts);
    }
}

/// The first name of what may be a variable or its member, such as `a` of `a.b[0]`.
fn root_of(part: &str) -> Option<&str> {
    let is_part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let end = part.find(|c| !is_part_of_name(c)).unwrap_or(part.len());
    let is_member = part.chars().all(|c| is_part_of_name(c) || ".[]".contains(c));
    (end > 0 && is_member && !part.contains("[]")).then(|| &part[..end])
}

#[cfg(test)]
mod tests {
    use super::{check, check_type_parameters, has_type_arguments};
    use crate::language::{first_error, is_typescript};
    use oxc_span::SourceType;

    /// Such code is JavaScript to a parser.
    fn is_javascript(code: &str) -> bool {
        first_error(code, SourceType::mjs()).is_none()
    }

    #[test]
    fn type_arguments_of_calls_are_typescript() {
        for code in [
            "class User {}; export default { run: () => api.get<User>('/me') };",
            "export default axios<any>($, { url });",
            "export default new Set<string>(['a']);",
            "export default Array<string>(3);",
            "export default [1].reduce<number>((a, b) => a + b, 0);",
            "export default await Promise.all<any>([a]);",
            "export default t<string>`x`;",
            "export default f<Array<string>>(x);",
            "export default [new Map<string, number>([['a', 1]])];",
            "class A {} class B {} export default [f<A, B>(x)];",
            "import { A, B } from './types'; export default [f<A | B>(x)];",
            "export default [f<'a' | 'b'>(x)];",
            "const number = 1; export default [f<string, number>(number)];",
        ] {
            assert!(is_javascript(code), "{code}");
            assert!(is_typescript(code), "{code}");
        }
    }

    #[test]
    fn comparisons_are_javascript() {
        for code in [
            "const [a, b, c, d] = x; export default [a < b, c > (d)];",
            "let a, b, c, d; f(a<b,c>(d=1)); g(a<b|c>(d=2));",
            "import { LOW, HIGH } from './limits'; export default f(a < LOW, HIGH > (b));",
            "export default (a, b) => a < b && b > (a + 1);",
            "export default (a, b, c) => [a<b.length, c>(b[0])];",
            "export default (a, b, c) => a < b >> (c);",
            "let a, b, c; for (let i = 0, j = 9; i < a, j > (b + c); i++, j--);",
            "export default (a, b) => f(a<0|255>(b=a));",
            "const string = 1, number = 2; export default (a, b) => [a<string, number>(b)];",
            "const a = <b>(c)</b>; export default '<c>(d)';",
            "// get<User>(x)\nexport default (a) => a > (1);",
        ] {
            assert!(!is_typescript(code), "{code}");
            assert!(!has_type_arguments(code), "{code}");
        }
    }

    #[test]
    fn type_parameters_beside_jsx_are_refused_with_their_line() {
        let check = |code: &str| {
            let kind = crate::language::kind_of("a.ts", code);
            check_type_parameters("a.ts", code, kind).map_err(|error| error.to_string())
        };
        for code in [
            "let a;\nconst x = <T>(y: T) => { return <b>{y}</b> };",
            "let a;\nconst x = <T>(y: T) => <b>(y)</b>; const z = <U>(y: U) => <i/>;",
        ] {
            let said = check(code).expect_err(code);
            assert!(said.contains("a.ts:2:11: ") && said.contains("<T,>(…)"), "{said}");
        }
        for code in [
            "const x = <T,>(y: T) => { return <b>{y}</b> };",
            "const x = <T>(y: T) => '</b>';",
            "const x = <T>(y: T) => '</b>'; const x +",
            "const x = <b>(y)</b>; const x +",
        ] {
            assert_eq!(check(code), Ok(()), "{code}");
        }
    }

    #[test]
    fn javascript_with_a_modifier_is_refused_with_its_line() {
        let code = "class A {\n  private x = 1;\n}";
        let error = check("a.mjs", code, SourceType::mjs()).expect_err("no JavaScript");
        assert!(error.to_string().contains("a.mjs:2:3: "), "{error}");
        assert!(check("a.ts", code, SourceType::ts()).is_ok());
        assert!(check("a.mjs", "class A { private = 1; }", SourceType::mjs()).is_ok());
    }

    #[test]
    fn modifiers_are_typescript_and_names_are_not() {
        for member in [
            "private items = new Map();",
            "public size() {}",
            "protected f() {}",
            "readonly x = 1;",
            "static readonly x = 1;",
            "override f() {}",
            "static override f() {}",
            "override get x() { return 1; }",
            "override async f() {}",
            "declare x;",
            "x?;",
            "f?() {}",
            "public constructor() {}",
            "constructor(private x) {}",
            "constructor(readonly x = 1) {}",
            "private static x = 1;",
            "private get x() { return 1; }",
            "private accessor x = 1;",
        ] {
            let code = format!("class A {{ {member} }}\nexport default {{ run() {{}} }};");
            assert!(is_typescript(&code), "{code}");
        }
        assert!(is_typescript("abstract class A { abstract f(); } export default {};"));
        for member in [
            "private = 1; public() {}",
            "readonly; override; declare = 2; abstract() {}",
            "static private = 1; static readonly() {}",
            "get private() { return 1; } set public(x) {} async override() {} *declare() {}",
            "private\nx = 1;",
            "'private' = 1; [x] = 2; #y = 3; static {}",
        ] {
            let code = format!("class A {{ {member} }}\nexport default {{ run() {{}} }};");
            assert!(!is_typescript(&code), "{code}");
        }
    }
}
