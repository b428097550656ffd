//! Lowering of a syntax tree to [`Module`].

use std::collections::{BTreeSet, HashSet};

use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::depth::exceeded_at;
use crate::language::kind_of;

use super::auth::AuthKeys;
use super::module::{Element, Export, Expr, Imported, Member, Module};

/// Deeper literals are not looked into.
const DEPTH_MAX: usize = 100;

/// Reads a module.
pub(super) fn lower(path: &str, text: &str) -> Module {
    if path.ends_with(".json") {
        let value = millrace_model::json::from_str::<serde_json::Value>(text);
        return Module {
            is_broken: value.is_err(),
            common_js: value.ok().map(|value| json(&value, 0)),
            ..Module::default()
        };
    }
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::mjs());
    let allocator = Allocator::default();
    let mut parsed = Parser::new(&allocator, text, kind).parse();
    // Trees have thousands of files, nearly all of them in the language of their ending.
    if parsed.panicked && !kind.is_typescript() {
        parsed = Parser::new(&allocator, text, kind_of(path, text)).parse();
    }
    if parsed.panicked || exceeded_at(&parsed.program).is_some() {
        return Module { is_broken: true, ..Module::default() };
    }
    let mut lowering = Lowering { module: Module::default(), changed: BTreeSet::new() };
    for statement in &parsed.program.body {
        lowering.statement(statement);
    }
    if parsed.program.body.iter().any(has_variables) {
        let mut assigned = Assigned::default();
        assigned.visit_program(&parsed.program);
        lowering.changed.extend(assigned.names);
    }
    for name in &lowering.changed {
        lowering.module.bindings.remove(name);
        lowering.module.imports.remove(name);
    }
    if text.contains("$auth") {
        lowering.module.auth = AuthKeys::of(&parsed.program);
    }
    if text.contains("import(") || text.contains("require(") {
        let mut calls = Calls::default();
        calls.visit_program(&parsed.program);
        lowering.module.specifiers.extend(calls.specifiers);
    }
    lowering.module
}

/// Whether a statement declares what may be assigned to again.
fn has_variables(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::VariableDeclaration(declaration) => {
            declaration.kind != VariableDeclarationKind::Const
        }
        Statement::ExportDeclaration(export) => {
            matches!(&export.declaration, Declaration::VariableDeclaration(declaration) if declaration.kind != VariableDeclarationKind::Const)
        }
        _ => false,
    }
}

fn json(value: &serde_json::Value, depth: usize) -> Expr {
    use serde_json::Value;
    match value {
        _ if depth > DEPTH_MAX => Expr::Unknown,
        Value::Null => Expr::Null,
        Value::Bool(b) => Expr::Bool(*b),
        Value::Number(n) => n.as_f64().map_or(Expr::Unknown, Expr::Number),
        Value::String(s) => Expr::Text(s.clone()),
        Value::Array(items) => {
            Expr::Array(items.iter().map(|i| Element::One(json(i, depth + 1))).collect())
        }
        Value::Object(map) => Expr::Object(
            map.iter().map(|(k, v)| Member::Named(k.clone(), json(v, depth + 1))).collect(),
        ),
    }
}

struct Lowering {
    module: Module,
    /// Names whose value other statements change: what they hold is not known.
    changed: BTreeSet<String>,
}

impl Lowering {
    fn statement(&mut self, statement: &Statement<'_>) {
        match statement {
            Statement::ImportDeclaration(import) => self.import(import),
            Statement::ExportDefaultDeclaration(export) => {
                let value = match &export.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(_) => Expr::Function,
                    other => other.as_expression().map_or(Expr::Unknown, |e| expression(e, 0)),
                };
                self.module.exports.insert("default".into(), Export::Expr(value));
            }
            Statement::ExportNamedDeclaration(export) => self.export_names(export),
            Statement::ExportDeclaration(export) => self.export_declared(&export.declaration),
            Statement::ExportFromDeclaration(export) => {
                let source = export.source.value.to_string();
                self.module.specifiers.push(source.clone());
                for specifier in &export.specifiers {
                    let what = Imported::Named(specifier.local.name().to_string());
                    self.module.exports.insert(
                        specifier.exported.name().to_string(),
                        Export::From(source.clone(), what),
                    );
                }
            }
            Statement::ExportAllDeclaration(export) => {
                let source = export.source.value.to_string();
                self.module.specifiers.push(source.clone());
                match &export.exported {
                    Some(name) => {
                        self.module.exports.insert(
                            name.name().to_string(),
                            Export::From(source, Imported::Namespace),
                        );
                    }
                    None => self.module.export_all.push(source),
                }
            }
            Statement::VariableDeclaration(declaration) => self.variables(declaration),
            Statement::FunctionDeclaration(function) => self.function(function),
            Statement::ExpressionStatement(statement) => self.effect(&statement.expression),
            // Declared only, or types.
            Statement::ClassDeclaration(_)
            | Statement::EmptyStatement(_)
            | Statement::TSTypeAliasDeclaration(_)
            | Statement::TSInterfaceDeclaration(_) => {}
            other => {
                let mut names = Names::default();
                names.visit_statement(other);
                self.changed.extend(names.0);
            }
        }
    }

    fn import(&mut self, import: &ImportDeclaration<'_>) {
        if import.import_kind.is_type() {
            return;
        }
        let source = import.source.value.to_string();
        for specifier in import.specifiers.iter().flatten() {
            let (local, what) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(s) => {
                    (&s.local, Imported::Named(s.imported.name().to_string()))
                }
                ImportDeclarationSpecifier::ImportDefaultSpecifier(s) => {
                    (&s.local, Imported::Named("default".into()))
                }
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(s) => {
                    (&s.local, Imported::Namespace)
                }
            };
            self.module.imports.insert(local.name.to_string(), (source.clone(), what));
        }
        self.module.specifiers.push(source);
    }

    fn export_declared(&mut self, declaration: &Declaration<'_>) {
        let mut name = |name: &str| {
            self.module.exports.insert(name.to_owned(), Export::Expr(Expr::Name(name.to_owned())));
        };
        match declaration {
            Declaration::VariableDeclaration(variables) => {
                for declarator in &variables.declarations {
                    declarator
                        .id
                        .get_binding_identifiers()
                        .iter()
                        .for_each(|identifier| name(&identifier.name));
                }
                self.variables(variables);
            }
            Declaration::FunctionDeclaration(function) => {
                function.name().iter().for_each(|identifier| name(identifier));
                self.function(function);
            }
            _ => {}
        }
    }

    fn export_names(&mut self, export: &ExportNamedDeclaration<'_>) {
        for specifier in &export.specifiers {
            let value = Expr::Name(specifier.local.name().to_string());
            self.module.exports.insert(specifier.exported.name().to_string(), Export::Expr(value));
        }
    }

    fn function(&mut self, function: &Function<'_>) {
        if let Some(name) = function.name() {
            self.module.bindings.insert(name.to_string(), Expr::Function);
        }
    }

    fn variables(&mut self, declaration: &VariableDeclaration<'_>) {
        for declarator in &declaration.declarations {
            if let Some(init) = &declarator.init {
                self.bind(&declarator.id, expression(init, 0));
            }
        }
    }

    fn bind(&mut self, pattern: &BindingPattern<'_>, value: Expr) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                self.module.bindings.insert(name.name.to_string(), value);
            }
            BindingPattern::ObjectPattern(object) => {
                let mut taken = Vec::new();
                for property in &object.properties {
                    let Some(name) = property.key.static_name() else { return };
                    taken.push(name.to_string());
                    // A default counts only where there is no value, which is not known here.
                    if !matches!(property.value, BindingPattern::AssignmentPattern(_)) {
                        self.bind(
                            &property.value,
                            Expr::Of(Box::new(value.clone()), name.into_owned()),
                        );
                    }
                }
                if let Some(rest) = &object.rest {
                    self.bind(&rest.argument, Expr::Without(Box::new(value), taken));
                }
            }
            BindingPattern::ArrayPattern(_) | BindingPattern::AssignmentPattern(_) => {}
        }
    }

    /// `module.exports = …` and `exports.x = …` are exports; anything else may change whatever it
    /// names.
    fn effect(&mut self, effect: &Expression<'_>) {
        if let Expression::AssignmentExpression(assignment) = effect.get_inner_expression()
            && let AssignmentTarget::StaticMemberExpression(target) = &assignment.left
        {
            let name = target.property.name.as_str();
            match target.object.get_inner_expression() {
                Expression::Identifier(object) if object.name == "module" && name == "exports" => {
                    self.module.common_js = Some(expression(&assignment.right, 0));
                    return;
                }
                Expression::Identifier(object) if object.name == "exports" => {
                    self.module
                        .exports
                        .insert(name.to_owned(), Export::Expr(expression(&assignment.right, 0)));
                    return;
                }
                _ => {}
            }
        }
        let mut names = Names::default();
        names.visit_expression(effect);
        self.changed.extend(names.0);
    }
}

fn boxed(value: Expr, name: &str) -> Expr {
    Expr::Of(Box::new(value), name.to_owned())
}

fn expression(e: &Expression<'_>, depth: usize) -> Expr {
    if depth > DEPTH_MAX {
        return Expr::Unknown;
    }
    let below = |e: &Expression<'_>| expression(e, depth + 1);
    match e.get_inner_expression() {
        Expression::NullLiteral(_) => Expr::Null,
        Expression::BooleanLiteral(b) => Expr::Bool(b.value),
        Expression::NumericLiteral(n) => Expr::Number(n.value),
        Expression::StringLiteral(s) => Expr::Text(s.value.to_string()),
        Expression::TemplateLiteral(template) => {
            let mut parts = Vec::new();
            for (index, quasi) in template.quasis.iter().enumerate() {
                let Some(cooked) = &quasi.value.cooked else { return Expr::Unknown };
                parts.push(Expr::Text(cooked.to_string()));
                parts.extend(template.expressions.get(index).map(below));
            }
            Expr::Join(parts)
        }
        Expression::Identifier(name) if name.name == "undefined" => Expr::Undefined,
        Expression::Identifier(name) => Expr::Name(name.name.to_string()),
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
            Expr::Function
        }
        Expression::ArrayExpression(array) => {
            Expr::Array(array.elements.iter().map(|e| element(e, depth)).collect())
        }
        Expression::ObjectExpression(object) => {
            Expr::Object(object.properties.iter().map(|p| member(p, depth)).collect())
        }
        Expression::StaticMemberExpression(member) => {
            boxed(below(&member.object), &member.property.name)
        }
        Expression::ComputedMemberExpression(member) => {
            match member.expression.get_inner_expression() {
                Expression::StringLiteral(name) => boxed(below(&member.object), &name.value),
                _ => Expr::Unknown,
            }
        }
        Expression::ChainExpression(chain) => match &chain.expression {
            ChainElement::StaticMemberExpression(member) => {
                boxed(below(&member.object), &member.property.name)
            }
            _ => Expr::Unknown,
        },
        Expression::BinaryExpression(sum) if sum.operator == BinaryOperator::Addition => {
            Expr::Join(vec![below(&sum.left), below(&sum.right)])
        }
        Expression::UnaryExpression(unary) if unary.operator == UnaryOperator::UnaryNegation => {
            match below(&unary.argument) {
                Expr::Number(n) => Expr::Number(-n),
                _ => Expr::Unknown,
            }
        }
        Expression::CallExpression(call) => self::call(call, depth),
        _ => Expr::Unknown,
    }
}

fn element(element: &ArrayExpressionElement<'_>, depth: usize) -> Element {
    match element {
        ArrayExpressionElement::SpreadElement(spread) => {
            Element::Spread(expression(&spread.argument, depth + 1))
        }
        ArrayExpressionElement::Elision(_) => Element::One(Expr::Undefined),
        other => {
            Element::One(other.as_expression().map_or(Expr::Unknown, |e| expression(e, depth + 1)))
        }
    }
}

fn member(property: &ObjectPropertyKind<'_>, depth: usize) -> Member {
    match property {
        ObjectPropertyKind::SpreadProperty(spread) => {
            Member::Spread(expression(&spread.argument, depth + 1))
        }
        ObjectPropertyKind::ObjectProperty(property) => {
            // What a getter gives is known only to it.
            let value = if property.kind == PropertyKind::Init {
                expression(&property.value, depth + 1)
            } else {
                Expr::Unknown
            };
            match property.key.static_name() {
                Some(name) => Member::Named(name.into_owned(), value),
                None => Member::Computed(
                    property
                        .key
                        .as_expression()
                        .map_or(Expr::Unknown, |e| expression(e, depth + 1)),
                    value,
                ),
            }
        }
    }
}

/// The few calls whose result is known: identities, copies of objects and `require`.
fn call(call: &CallExpression<'_>, depth: usize) -> Expr {
    let argument = |index: usize| {
        call.arguments
            .get(index)
            .and_then(Argument::as_expression)
            .map(|e| expression(e, depth + 1))
    };
    if let Some(specifier) = call.common_js_require() {
        return Expr::Require(specifier.value.to_string());
    }
    match call.callee.get_inner_expression() {
        Expression::Identifier(name)
            if matches!(
                name.name.as_str(),
                "defineComponent" | "defineSource" | "defineAction" | "defineApp"
            ) =>
        {
            argument(0).unwrap_or(Expr::Unknown)
        }
        Expression::StaticMemberExpression(member) if member.object.is_specific_id("Object") => {
            match member.property.name.as_str() {
                "freeze" | "seal" => argument(0).unwrap_or(Expr::Unknown),
                // The first argument is changed; only a literal is nobody else's.
                "assign" if matches!(argument(0), Some(Expr::Object(_))) => Expr::Object(
                    (0..call.arguments.len())
                        .map(|index| Member::Spread(argument(index).unwrap_or(Expr::Unknown)))
                        .collect(),
                ),
                _ => Expr::Unknown,
            }
        }
        _ => Expr::Unknown,
    }
}

/// Every name that a piece of code mentions.
#[derive(Default)]
struct Names(HashSet<String>);

impl<'a> Visit<'a> for Names {
    fn visit_identifier_reference(&mut self, name: &IdentifierReference<'a>) {
        self.0.insert(name.name.to_string());
    }
}

/// Names that are assigned to.
#[derive(Default)]
struct Assigned {
    names: HashSet<String>,
}

impl<'a> Visit<'a> for Assigned {
    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(name) = target {
            self.names.insert(name.name.to_string());
        }
        oxc_ast_visit::walk::walk_simple_assignment_target(self, target);
    }
}

/// Constant specifiers of `import()` and `require()`.
#[derive(Default)]
struct Calls {
    specifiers: Vec<String>,
}

impl<'a> Visit<'a> for Calls {
    fn visit_import_expression(&mut self, import: &ImportExpression<'a>) {
        if let Expression::StringLiteral(text) = import.source.get_inner_expression() {
            self.specifiers.push(text.value.to_string());
        }
        oxc_ast_visit::walk::walk_import_expression(self, import);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        if let Some(text) = call.common_js_require() {
            self.specifiers.push(text.value.to_string());
        }
        oxc_ast_visit::walk::walk_call_expression(self, call);
    }
}
