//! Finder of code that answers HTTP requests itself, on the syntax tree. Where the tree does not
//! show it, the run decides: see [`Responds`].

use std::collections::HashSet;

use millrace_model::component::Responds;
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, AssignmentTargetPropertyIdentifier, AssignmentTargetPropertyProperty, BindingPattern,
    BindingProperty, CallExpression, ComputedMemberExpression, Expression, ForInStatement,
    ImportDeclaration, NewExpression, ObjectPattern, PropertyKey, SpreadElement,
    StaticMemberExpression, StringLiteral, TemplateElement, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::language::kind_of;
use crate::sloppy::BEGINNING;

/// The member of `$` that answers.
const RESPOND: &str = "respond";
/// What a step's `run` gets it in.
const DOLLAR: &str = "$";

/// Whether a component answers: `texts` are its author's files, by path, `bundle` is that code with
/// all the packages that it reaches.
pub(crate) fn responds<'a>(
    texts: impl Iterator<Item = (&'a String, &'a String)>,
    bundle: &str,
) -> Responds {
    let mut may = false;
    for (path, text) in texts.filter(|(path, _)| !path.ends_with(".json")) {
        // Code that is made of texts, or takes all members of `$`, need not name it.
        if [RESPOND, "eval", "Function", "vm", "Object", "Reflect", "..."]
            .iter()
            .any(|word| text.contains(word))
            || text.contains(" in ")
        {
            let seen = visited(kind_of(path, text), text, Author::default());
            if seen.found {
                return Responds::Surely;
            }
            may |= seen.may;
        }
    }
    if may || visited(SourceType::mjs(), bundle, Anybody::default()).found {
        Responds::Perhaps
    } else {
        Responds::Never
    }
}

fn visited<V: for<'a> Visit<'a>>(kind: SourceType, text: &str, mut visitor: V) -> V {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    visitor.visit_program(&parsed.program);
    visitor
}

/// Finds `respond` taken from `$`, in whatever spelling.
#[derive(Default)]
struct Author {
    /// Other names of `$`.
    names: HashSet<String>,
    found: bool,
    /// Whether code does what may reach it without a word: it is made at run time, or goes through
    /// all members of `$`.
    may: bool,
}

impl Author {
    fn is_dollar(&self, value: &Expression<'_>) -> bool {
        match value.get_inner_expression() {
            Expression::Identifier(name) => {
                name.name == DOLLAR || self.names.contains(name.name.as_str())
            }
            Expression::StaticMemberExpression(member) => member.property.name == DOLLAR,
            _ => false,
        }
    }

    /// A name or pattern that `$` is bound to.
    fn bind(&mut self, pattern: &BindingPattern<'_>) {
        match pattern {
            BindingPattern::BindingIdentifier(name) => {
                _ = self.names.insert(name.name.to_string());
            }
            BindingPattern::ObjectPattern(object) => self.found |= takes_respond(object),
            BindingPattern::AssignmentPattern(assigned) => self.bind(&assigned.left),
            BindingPattern::ArrayPattern(_) => {}
        }
    }
}

impl<'a> Visit<'a> for Author {
    fn visit_binding_property(&mut self, property: &BindingProperty<'a>) {
        if is_named(&property.key, DOLLAR) {
            self.bind(&property.value);
        }
        walk::walk_binding_property(self, property);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.may |= makes_code(&call.callee);
        let of_all = matches!(call.callee.get_inner_expression(), Expression::StaticMemberExpression(member) if is_one_of(&member.object, &["Object", "Reflect"]));
        self.may |= of_all
            && call
                .arguments
                .iter()
                .filter_map(Argument::as_expression)
                .any(|given| self.is_dollar(given));
        walk::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, made: &NewExpression<'a>) {
        self.may |= makes_code(&made.callee);
        walk::walk_new_expression(self, made);
    }

    fn visit_spread_element(&mut self, spread: &SpreadElement<'a>) {
        self.may |= self.is_dollar(&spread.argument);
        walk::walk_spread_element(self, spread);
    }

    fn visit_for_in_statement(&mut self, each: &ForInStatement<'a>) {
        self.may |= self.is_dollar(&each.right);
        walk::walk_for_in_statement(self, each);
    }

    fn visit_import_declaration(&mut self, import: &ImportDeclaration<'a>) {
        self.may |= ["vm", "node:vm"].contains(&import.source.value.as_str());
    }

    fn visit_variable_declarator(&mut self, declarator: &VariableDeclarator<'a>) {
        if declarator.init.as_ref().is_some_and(|value| self.is_dollar(value)) {
            self.bind(&declarator.id);
        }
        walk::walk_variable_declarator(self, declarator);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.found |= member.property.name == RESPOND && self.is_dollar(&member.object);
        walk::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        self.found |= member.static_property_name().is_some_and(|name| name == RESPOND)
            && self.is_dollar(&member.object);
        walk::walk_computed_member_expression(self, member);
    }
}

/// Finds whatever may lead to `respond` of a `$` that was handed on: the name as a member or a
/// text, and members of `$` that are computed.
#[derive(Default)]
struct Anybody {
    found: bool,
}

impl<'a> Visit<'a> for Anybody {
    fn visit_object_pattern(&mut self, object: &ObjectPattern<'a>) {
        self.found |= takes_respond(object);
        walk::walk_object_pattern(self, object);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        property: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.found |= property.binding.name == RESPOND;
        walk::walk_assignment_target_property_identifier(self, property);
    }

    fn visit_assignment_target_property_property(
        &mut self,
        property: &AssignmentTargetPropertyProperty<'a>,
    ) {
        self.found |= is_named(&property.name, RESPOND);
        walk::walk_assignment_target_property_property(self, property);
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.found |= member.property.name == RESPOND;
        walk::walk_static_member_expression(self, member);
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        let is_dollar = matches!(member.object.get_inner_expression(), Expression::Identifier(name) if name.name == DOLLAR);
        self.found |= is_dollar && !member.expression.is_literal();
        walk::walk_computed_member_expression(self, member);
    }

    fn visit_string_literal(&mut self, text: &StringLiteral<'a>) {
        self.found |= text.value == RESPOND;
        // A file that is evaluated: only what may be found in it is parsed.
        if text.value.contains(BEGINNING)
            && (text.value.contains(RESPOND) || text.value.contains("$["))
        {
            self.found |= visited(SourceType::cjs(), &text.value, Self::default()).found;
        }
    }

    fn visit_template_element(&mut self, text: &TemplateElement<'a>) {
        self.found |= text.value.raw == RESPOND;
    }
}

/// Whether calling it makes code of a text.
fn makes_code(callee: &Expression<'_>) -> bool {
    let made = ["eval", "Function", "AsyncFunction", "GeneratorFunction"];
    match callee.get_inner_expression() {
        // Indirect: `(0, eval)(…)`, `globalThis.eval(…)`.
        Expression::SequenceExpression(parts) => {
            parts.expressions.last().is_some_and(|last| is_one_of(last, &made))
        }
        Expression::StaticMemberExpression(member) => made.contains(&member.property.name.as_str()),
        callee => is_one_of(callee, &made),
    }
}

fn is_one_of(value: &Expression<'_>, names: &[&str]) -> bool {
    matches!(value.get_inner_expression(), Expression::Identifier(name) if names.contains(&name.name.as_str()))
}

fn takes_respond(object: &ObjectPattern<'_>) -> bool {
    object.properties.iter().any(|property| is_named(&property.key, RESPOND))
}

fn is_named(key: &PropertyKey<'_>, name: &str) -> bool {
    key.static_name().is_some_and(|own| own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Responds {
        responds([(&"a.mjs".to_owned(), &code.to_owned())].into_iter(), code)
    }

    #[test]
    fn code_that_takes_respond_from_dollar_answers_however_it_is_written() {
        for body in [
            "$.respond({ status: 200 })",
            "$?.respond?.({})",
            "$['respond']({})",
            "$[`respond`]({})",
            "const { respond } = $; respond({})",
            "const { respond: answer } = $; answer({})",
            "const { 'respond': answer, flow } = $",
            "let { respond = null } = $",
            "const say = $.respond; say({})",
            "const say = $.respond.bind($)",
            "$.respond.call($, {})",
            "helper($.respond)",
            "const dollar = $; dollar.respond({})",
            "const dollar = $; const { respond } = dollar",
        ] {
            assert_eq!(
                of(&format!("export default {{ async run({{ $ }}) {{ {body} }} }}")),
                Responds::Surely,
                "{body}"
            );
        }
        for code in [
            "export default { run({ $: { respond } }) { respond({}) } }",
            "export default { run({ $: dollar }) { dollar.respond({}) } }",
            "export default { run(args) { args.$.respond({}) } }",
            "export default { run(args) { const { $ } = args; $.respond({}) } }",
            "export const reply = ($ = {}) => $.respond({})",
        ] {
            assert_eq!(of(code), Responds::Surely, "{code}");
        }
        let typed = "const f = async ($: any) => { await ($ as Dollar)!.respond({}) }".to_owned();
        assert_eq!(responds([(&"a.ts".to_owned(), &typed)].into_iter(), ""), Responds::Surely);
    }

    #[test]
    fn code_that_may_reach_it_perhaps_answers() {
        for code in [
            "export const reply = (ctx) => ctx.respond({})",
            "export const reply = ({ respond }) => respond({})",
            "export const reply = (ctx) => Reflect.get(ctx, 'respond')({})",
            "const name = `respond`; export const reply = (ctx) => ctx[name]({})",
            "export default { run({ $ }) { for (const name of Object.keys($)) $[name]; } }",
            "export default { run({ $ }) { $['res' + 'pond']({}); } }",
            "let respond; export const take = (ctx) => { ({ respond } = ctx); }",
            "let f; export const take = (ctx) => { ({ respond: f } = ctx); }",
            "const o = {}; export const take = (ctx) => { ({ 'respond': o.f } = ctx); }",
            "export default { run({ $ }) { eval('$.res' + 'pond({})'); } }",
            "export default { run({ $ }) { (0, eval)(this.code)($); } }",
            "export default { run({ $ }) { new Function('$', this.code)($); } }",
            "const AsyncFunction = (async () => {}).constructor; export default { run({ $ }) { return new AsyncFunction('$', this.code)($); } }",
            "import vm from 'node:vm'; export default { run({ $ }) { vm.runInNewContext(this.code, { $ }); } }",
            "export default { run({ $ }) { for (const name in $) this[name]($); } }",
            "export default { run({ $ }) { Object.entries($).forEach(this.each); } }",
            "export default { run({ $ }) { const all = { ...$ }; this.each(all); } }",
            "export default { run({ $ }) { Reflect.ownKeys($).map(this.each); } }",
        ] {
            assert_eq!(of(code), Responds::Perhaps, "{code}");
        }
        // In a package, whatever its author's files say.
        let own =
            "import { reply } from 'reply'; export default { run({ $ }) { return reply($); } }"
                .to_owned();
        assert_eq!(
            responds(
                [(&"a.mjs".to_owned(), &own)].into_iter(),
                "function r(e){return e.respond({status:200})}"
            ),
            Responds::Perhaps
        );
        let evaluated = crate::sloppy::evaluated("exports.reply = (e) => e.respond({});", "r.cjs");
        let evaluated = evaluated.expect("is CommonJS");
        assert_eq!(
            responds([(&"a.mjs".to_owned(), &own)].into_iter(), &evaluated),
            Responds::Perhaps
        );
    }

    #[test]
    fn words_are_no_members() {
        for code in [
            "// $.respond() is not called\nexport const text = 'call $.respond()';",
            "export const respond = 1; export function f(respond) { return respond; } export default { respond: 2, respondTo() {} };",
            "export default { run({ $ }) { $.export('a', 1); $['flow'].exit(); $[0]; } }",
            "export default { run({ $, steps }) { const all = { ...steps }; Object.keys(all); for (const name in steps) this.each(name, $); } }",
        ] {
            assert_eq!(of(code), Responds::Never, "{code}");
        }
        let json = r#"{ "a": "respond" }"#.to_owned();
        assert_eq!(
            responds([(&"a.json".to_owned(), &json)].into_iter(), "export default 1"),
            Responds::Never
        );
    }
}
