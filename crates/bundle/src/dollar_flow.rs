//! Flow of `$` through the code of an author: whether a member of it may be taken by a name that
//! only a run knows, or code that is not the author's gets it. Values are followed by the names of
//! variables, fields and parameters, regardless of scope: that finds too much rather than too
//! little, and ordinary code (`steps.trigger.event.body[key]`, `helper({ $ })`) passes.

mod reached;

use std::collections::HashMap;

use oxc_ast::ast::{
    Argument, ArrayExpressionElement, ArrowFunctionExpression, AssignmentExpression,
    AssignmentTarget, BindingPattern, BindingProperty, CallExpression, Class, ClassElement,
    ComputedMemberExpression, Expression, ForInStatement, ForOfStatement, ForStatementLeft,
    FormalParameter, FormalParameters, Function, MethodDefinition, MethodDefinitionKind,
    NewExpression, ObjectExpression, ObjectProperty, ObjectPropertyKind, PropertyDefinition,
    PropertyKey, ReturnStatement, SpreadElement, StringLiteral, VariableDeclarator,
    YieldExpression,
};
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::ScopeFlags;

/// What a step's `run` gets `respond` in.
const DOLLAR: &str = "$";
/// Out of sight: a name that no code has.
const UNSEEN: &str = "";
/// The method that gets `$`.
const RUN: &str = "run";
/// Takes `$` for its `export`; a function of `@pipedream/platform`.
const AXIOS: &str = "axios";

/// Names of values and where they go, of all files of an author.
#[derive(Default)]
pub(crate) struct DollarFlow {
    /// From one name to another.
    moves: Vec<(String, String)>,
    /// Names given to the parameter at an index of the functions of a name; none: of unknown ones.
    calls: Vec<(Option<String>, usize, Vec<String>)>,
    /// Parameters of functions, by name: what each is bound to.
    functions: HashMap<String, Vec<Parameters>>,
}

struct Parameters {
    items: Vec<Vec<String>>,
    rest: Option<Vec<String>>,
}

impl DollarFlow {
    fn move_all(&mut self, from: &[String], to: &[String]) {
        for from in from {
            self.moves.extend(to.iter().map(|to| (from.clone(), to.clone())));
        }
    }

    fn lose(&mut self, value: &Expression<'_>) {
        self.move_all(&names_of(value), &[UNSEEN.to_owned()]);
    }

    fn define(&mut self, name: &str, params: &FormalParameters<'_>) {
        let items: Vec<_> = params.items.iter().map(|item| bound_names(&item.pattern)).collect();
        let rest = params.rest.as_ref().map(|rest| bound_names(&rest.rest.argument));
        if name == RUN {
            let context = items.first().or(rest.as_ref()).cloned().unwrap_or_default();
            self.move_all(&[DOLLAR.to_owned()], &context);
        }
        self.functions.entry(name.to_owned()).or_default().push(Parameters { items, rest });
    }

    /// A value that gets a name.
    fn name(&mut self, name: &str, value: &Expression<'_>) {
        match value.get_inner_expression() {
            Expression::FunctionExpression(function) => self.define(name, &function.params),
            Expression::ArrowFunctionExpression(function) => self.define(name, &function.params),
            Expression::ClassExpression(class) => self.define_class(name, class),
            value => self.move_all(&names_of(value), &[name.to_owned()]),
        }
    }

    fn define_class(&mut self, name: &str, class: &Class<'_>) {
        for element in &class.body.body {
            if let ClassElement::MethodDefinition(method) = element
                && method.kind == MethodDefinitionKind::Constructor
            {
                self.define(name, &method.value.params);
            }
        }
    }

    /// A function that is called where it is written: a name of its own is its place.
    fn call_at_once(&mut self, params: &FormalParameters<'_>, call: &CallExpression<'_>) {
        let place = format!("({}", params.span.start);
        self.define(&place, params);
        self.call(Some(place), 0, &call.arguments);
    }

    fn call(&mut self, callee: Option<String>, skipped: usize, arguments: &[Argument<'_>]) {
        for (index, argument) in arguments.iter().enumerate().skip(skipped) {
            let given = match argument {
                Argument::SpreadElement(spread) => names_of(&spread.argument),
                given => given.as_expression().map(names_of).unwrap_or_default(),
            };
            if !given.is_empty() {
                self.calls.push((callee.clone(), index - skipped, given));
            }
        }
    }
}

impl<'a> Visit<'a> for DollarFlow {
    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        if let Some(id) = &function.id {
            self.define(&id.name, &function.params);
        }
        walk::walk_function(self, function, flags);
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        if let Some(id) = &class.id {
            self.define_class(&id.name, class);
        }
        walk::walk_class(self, class);
    }

    fn visit_method_definition(&mut self, method: &MethodDefinition<'a>) {
        if let Some(name) = method.key.static_name() {
            self.define(&name, &method.value.params);
        }
        walk::walk_method_definition(self, method);
    }

    fn visit_property_definition(&mut self, property: &PropertyDefinition<'a>) {
        if let (Some(name), Some(value)) = (key_of(&property.key), &property.value) {
            self.name(&name, value);
        }
        walk::walk_property_definition(self, property);
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        match key_of(&property.key) {
            Some(name) => self.name(&name, &property.value),
            None => self.lose(&property.value),
        }
        walk::walk_object_property(self, property);
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let Some(value) = &declarator.init {
            match &declarator.id {
                BindingPattern::BindingIdentifier(id) => self.name(&id.name, value),
                pattern => self.move_all(&names_of(value), &bound_names(pattern)),
            }
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_formal_parameter(&mut self, parameter: &FormalParameter<'a>) {
        if let Some(value) = &parameter.initializer {
            self.move_all(&names_of(value), &bound_names(&parameter.pattern));
        }
        walk::walk_formal_parameter(self, parameter);
    }

    fn visit_binding_property(&mut self, property: &BindingProperty<'a>) {
        if let Some(name) = property.key.static_name() {
            self.move_all(&[name.into_owned()], &bound_names(&property.value));
        }
        walk::walk_binding_property(self, property);
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        let value = &assignment.right;
        match target_name(&assignment.left) {
            Some(name) => self.name(&name, value),
            None => self.lose(value),
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if member.static_property_name().is_none() && !member.expression.is_literal() {
            self.lose(&member.object);
        }
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let callee = call.callee.get_inner_expression();
        let name = names_of(callee).pop();
        match callee {
            Expression::FunctionExpression(f) => self.call_at_once(&f.params, call),
            Expression::ArrowFunctionExpression(f) => self.call_at_once(&f.params, call),
            Expression::StaticMemberExpression(member) => {
                let object = member.object.get_inner_expression();
                let is = |name: &str| object.is_specific_id(name);
                let method = member.property.name.as_str();
                match method {
                    _ if is("console") || is("JSON") || method == AXIOS => {}
                    "call" | "bind" | "apply" if is_member_of_dollar(object) => {}
                    "call" => {
                        self.call(None, 0, &call.arguments[..call.arguments.len().min(1)]);
                        self.call(names_of(object).pop(), 1, &call.arguments);
                    }
                    RUN if matches!(object, Expression::ThisExpression(_)) => {}
                    _ if method == RUN || is("Object") || is("Reflect") => {
                        self.call(None, 0, &call.arguments);
                    }
                    _ => self.call(name, 0, &call.arguments),
                }
                if matches!(object, Expression::ArrayExpression(_)) {
                    self.lose(object);
                }
            }
            Expression::Identifier(id) if id.name == AXIOS => {}
            _ => self.call(name, 0, &call.arguments),
        }
        walk::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, made: &NewExpression<'a>) {
        self.call(names_of(&made.callee).pop(), 0, &made.arguments);
        walk::walk_new_expression(self, made);
    }

    fn visit_for_of_statement(&mut self, each: &ForOfStatement<'a>) {
        if let ForStatementLeft::VariableDeclaration(declaration) = &each.left {
            for declarator in &declaration.declarations {
                self.move_all(&names_of(&each.right), &bound_names(&declarator.id));
            }
        } else {
            self.lose(&each.right);
        }
        walk::walk_for_of_statement(self, each);
    }

    fn visit_for_in_statement(&mut self, each: &ForInStatement<'a>) {
        self.lose(&each.right);
        walk::walk_for_in_statement(self, each);
    }

    fn visit_spread_element(&mut self, spread: &SpreadElement<'a>) {
        self.lose(&spread.argument);
        walk::walk_spread_element(self, spread);
    }

    fn visit_return_statement(&mut self, returned: &ReturnStatement<'a>) {
        if let Some(value) = &returned.argument {
            self.lose(value);
        }
        walk::walk_return_statement(self, returned);
    }

    fn visit_yield_expression(&mut self, yielded: &YieldExpression<'a>) {
        if let Some(value) = &yielded.argument {
            self.lose(value);
        }
        walk::walk_yield_expression(self, yielded);
    }

    fn visit_arrow_function_expression(&mut self, function: &ArrowFunctionExpression<'a>) {
        if let Some(value) = function.body.as_expression() {
            self.lose(value);
        }
        walk::walk_arrow_function_expression(self, function);
    }

    fn visit_string_literal(&mut self, text: &StringLiteral<'a>) {
        // However it is loaded, its code is made of texts.
        if ["vm", "node:vm"].contains(&text.value.as_str()) {
            self.move_all(&[DOLLAR.to_owned()], &[UNSEEN.to_owned()]);
        }
    }
}

/// Names under which a value is known: of a variable or field, and of what it is made of.
fn names_of(value: &Expression<'_>) -> Vec<String> {
    match value.get_inner_expression() {
        Expression::Identifier(id) => vec![id.name.to_string()],
        Expression::StaticMemberExpression(member) => vec![member.property.name.to_string()],
        Expression::PrivateFieldExpression(member) => vec![format!("#{}", member.field.name)],
        Expression::ComputedMemberExpression(member) => match member.static_property_name() {
            Some(name) => vec![name.to_string()],
            // An element of a list that was followed.
            None if member.expression.is_literal() => names_of(&member.object),
            None => vec![],
        },
        Expression::ConditionalExpression(either) => {
            [names_of(&either.consequent), names_of(&either.alternate)].concat()
        }
        Expression::LogicalExpression(either) => {
            [names_of(&either.left), names_of(&either.right)].concat()
        }
        Expression::SequenceExpression(all) => {
            all.expressions.last().map(names_of).unwrap_or_default()
        }
        Expression::AwaitExpression(awaited) => names_of(&awaited.argument),
        Expression::AssignmentExpression(assignment) => names_of(&assignment.right),
        Expression::ChainExpression(chain) => {
            chain.expression.as_member_expression().map_or_else(Vec::new, |member| {
                member.static_property_name().into_iter().map(str::to_owned).collect()
            })
        }
        Expression::ArrayExpression(list) => {
            let element = |element: &ArrayExpressionElement<'_>| match element {
                ArrayExpressionElement::SpreadElement(spread) => names_of(&spread.argument),
                element => element.as_expression().map(names_of).unwrap_or_default(),
            };
            list.elements.iter().flat_map(element).collect()
        }
        Expression::ObjectExpression(object) => names_in(object),
        _ => Vec::new(),
    }
}

/// Names of an object's values; without `$` under its own name, by which it is followed out of the
/// object.
fn names_in(object: &ObjectExpression<'_>) -> Vec<String> {
    let of = |property: &ObjectPropertyKind<'_>| match property {
        ObjectPropertyKind::SpreadProperty(spread) => names_of(&spread.argument),
        ObjectPropertyKind::ObjectProperty(property) if is_dollar(&property.key) => Vec::new(),
        ObjectPropertyKind::ObjectProperty(property) => names_of(&property.value),
    };
    object.properties.iter().flat_map(of).collect()
}

/// Names that a pattern binds to what it is given, or to an object with the rest of it.
fn bound_names(pattern: &BindingPattern<'_>) -> Vec<String> {
    match pattern {
        BindingPattern::BindingIdentifier(id) => vec![id.name.to_string()],
        BindingPattern::AssignmentPattern(assigned) => bound_names(&assigned.left),
        BindingPattern::ArrayPattern(list) => {
            let items = list.elements.iter().flatten().flat_map(bound_names);
            items.chain(list.rest.iter().flat_map(|rest| bound_names(&rest.argument))).collect()
        }
        BindingPattern::ObjectPattern(object) => {
            let has_dollar = object.properties.iter().any(|property| is_dollar(&property.key));
            let is_unseen = object
                .properties
                .iter()
                .any(|property| property.computed && property.key.static_name().is_none());
            let rest = object.rest.iter().filter(|_| !has_dollar);
            let rest = rest.flat_map(|rest| bound_names(&rest.argument));
            rest.chain(is_unseen.then(|| UNSEEN.to_owned())).collect()
        }
    }
}

fn key_of(key: &PropertyKey<'_>) -> Option<String> {
    match key {
        PropertyKey::PrivateIdentifier(id) => Some(format!("#{}", id.name)),
        key => key.static_name().map(std::borrow::Cow::into_owned),
    }
}

fn is_dollar(key: &PropertyKey<'_>) -> bool {
    key.static_name().is_some_and(|name| name == DOLLAR)
}

/// Whether it is `$.export`, or `x.$.export`.
fn is_member_of_dollar(value: &Expression<'_>) -> bool {
    matches!(value, Expression::StaticMemberExpression(member)
        if names_of(&member.object).iter().any(|name| name == DOLLAR))
}

/// The variable or field that is assigned.
fn target_name(target: &AssignmentTarget<'_>) -> Option<String> {
    match target {
        AssignmentTarget::AssignmentTargetIdentifier(id) => Some(id.name.to_string()),
        AssignmentTarget::StaticMemberExpression(member) => Some(member.property.name.to_string()),
        AssignmentTarget::PrivateFieldExpression(member) => Some(format!("#{}", member.field.name)),
        _ => None,
    }
}
