//! The keys of `$auth` that code reads.

use std::collections::{BTreeMap, BTreeSet};

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};

/// Finds `x.$auth.key`, `x.$auth["key"]`, `const { key } = x.$auth` and reads through
/// `const auth = x.$auth`.
#[derive(Default)]
pub(super) struct AuthKeys {
    found: BTreeSet<(Option<String>, String)>,
    /// Names that hold an `$auth`, and whose.
    aliases: BTreeMap<String, Option<String>>,
}

impl AuthKeys {
    /// Keys by whose `$auth` it is: None for that of `this`.
    pub(super) fn of(program: &Program<'_>) -> Vec<(Option<String>, String)> {
        let mut keys = Self::default();
        // An alias is mostly declared before it is read; a second pass finds the others.
        keys.visit_program(program);
        if !keys.aliases.is_empty() {
            keys.visit_program(program);
        }
        keys.found.into_iter().collect()
    }

    /// Whose `$auth` an expression is.
    fn owner(&self, e: &Expression<'_>) -> Option<Option<String>> {
        let member = |member: &StaticMemberExpression<'_>| {
            (member.property.name == "$auth").then(|| holder(&member.object))
        };
        match e.get_inner_expression() {
            Expression::StaticMemberExpression(e) => member(e),
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::StaticMemberExpression(e) => member(e),
                _ => None,
            },
            Expression::Identifier(name) => self.aliases.get(name.name.as_str()).cloned(),
            _ => None,
        }
    }

    fn pattern(&mut self, pattern: &BindingPattern<'_>, owner: &Option<String>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                self.aliases.insert(name.name.to_string(), owner.clone());
            }
            BindingPattern::ObjectPattern(object) => {
                let names =
                    object.properties.iter().filter_map(|property| property.key.static_name());
                self.found.extend(names.map(|name| (owner.clone(), name.into_owned())));
            }
            BindingPattern::ArrayPattern(_) | BindingPattern::AssignmentPattern(_) => {}
        }
    }

    /// `const { $auth: { key } } = this.app` and `const { $auth } = this`.
    fn nested(&mut self, pattern: &BindingPattern<'_>, of: &Expression<'_>) {
        let BindingPattern::ObjectPattern(object) = pattern else { return };
        for property in &object.properties {
            if property.key.static_name().as_deref() == Some("$auth") {
                self.pattern(&property.value, &holder(of));
            }
        }
    }
}

/// The name of what holds the `$auth`: `this.app` and `app` give `app`, `this` gives none.
fn holder(e: &Expression<'_>) -> Option<String> {
    match e.get_inner_expression() {
        Expression::StaticMemberExpression(member) => Some(member.property.name.to_string()),
        Expression::Identifier(name) => Some(name.name.to_string()),
        _ => None,
    }
}

impl<'a> Visit<'a> for AuthKeys {
    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if let Some(init) = &declarator.init {
            match self.owner(init) {
                Some(owner) => self.pattern(&declarator.id, &owner),
                None => self.nested(&declarator.id, init),
            }
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        if let Some(owner) = self.owner(&member.object) {
            self.found.insert((owner, member.property.name.to_string()));
        }
        walk::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        if let Some(owner) = self.owner(&member.object)
            && let Expression::StringLiteral(name) = member.expression.get_inner_expression()
        {
            self.found.insert((owner, name.value.to_string()));
        }
        walk::walk_computed_member_expression(self, member);
    }
}
