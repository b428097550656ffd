//! Finder of code that answers HTTP requests itself, on the syntax tree. Where the tree does not
//! show it, the run decides: see [`Responds`].

use std::collections::HashSet;

use millrace_model::component::Responds;
use oxc_allocator::Allocator;
use oxc_ast::ast::{
    AssignmentTargetPropertyIdentifier, AssignmentTargetPropertyProperty, BindingPattern,
    BindingProperty, CallExpression, ComputedMemberExpression, Expression, NewExpression,
    ObjectPattern, PropertyKey, StaticMemberExpression, StringLiteral, TemplateElement,
    VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::SourceType;

use crate::dollar_flow::DollarFlow;
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
    let mut flow = DollarFlow::default();
    for (path, text) in texts.filter(|(path, _)| !path.ends_with(".json")) {
        let mut author = Author::default();
        visit(kind_of(path, text), text, &mut author, &mut flow);
        if author.found {
            return Responds::Surely;
        }
        may |= author.may;
    }
    if may || flow.is_unseen() || anybody(SourceType::mjs(), bundle) {
        Responds::Perhaps
    } else {
        Responds::Never
    }
}

fn visit(kind: SourceType, text: &str, author: &mut Author, flow: &mut DollarFlow) {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind).parse();
    author.visit_program(&parsed.program);
    flow.visit_program(&parsed.program);
}

/// Whether code that may be anybody's leads there.
fn anybody(kind: SourceType, text: &str) -> bool {
    let allocator = Allocator::default();
    let mut visitor = Anybody::default();
    visitor.visit_program(&Parser::new(&allocator, text, kind).parse().program);
    visitor.found
}

/// Finds `respond` taken from `$`, in whatever spelling.
#[derive(Default)]
struct Author {
    /// Other names of `$`.
    names: HashSet<String>,
    found: bool,
    /// Whether code is made at run time, which may reach it without a word.
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
        walk::walk_call_expression(self, call);
    }

    fn visit_new_expression(&mut self, made: &NewExpression<'a>) {
        self.may |= makes_code(&made.callee);
        walk::walk_new_expression(self, made);
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
            self.found |= anybody(SourceType::cjs(), &text.value);
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
            // By a name that only a run knows, of a `$` that was handed on.
            "export default { async run(ctx) { const n = 'res' + 'pond'; await ctx.$[n]({}) } }",
            "const help = (c) => c.$[n]({}); export default { run(ctx) { return help(ctx) } }",
            "export default { methods: { ok(o, k) { return o[k]({}) } }, run({ $ }) { return this.ok($, ['re', 'spond'].join('')) } }",
            "class A { constructor(d) { this.c = d } go() { return this.c[n]({}) } } export default { run({ $ }) { return new A($).go() } }",
            "class A { #c; constructor(d) { this.#c = d } go() { return this.#c[n]({}) } } export default { run({ $ }) { return new A($).go() } }",
            "function a(x) { return b(x) } function b(y) { return y?.[n]({}) } export default { run({ $ }) { return a($) } }",
            "function a(...all) { return all[0][n]({}) } export default { run({ $ }) { return a($) } }",
            "export default { run({ $ }) { let d; d = $; return d[n]({}) } }",
            "export default { run({ $ }) { const { [n]: f } = $; return f({}) } }",
            "export default { run({ $ }) { let f; ({ [n]: f } = $); return f({}) } }",
            "export default { run({ $ }) { const { flow, ...rest } = $; return rest[n]({}) } }",
            "export default { run({ $ }) { for (const d of [$]) d[n]({}) } }",
            "export default { run({ steps, ...rest }) { return rest[n][m]({}) } }",
            "export default { run() { return arguments[0].$[n]({}) } }",
            "export default { run(ctx) { return ((c) => c[n])(ctx.$)({}) } }",
            "export default { run({ $ }) { const f = function () { return this[n]({}) }; return f.call($) } }",
            // To code that is not its author's.
            "export default { async run({ $ }) { const v = await import('node:vm'); v.runInNewContext('d.r({})', { d: $ }) } }",
            "export default { run({ $ }) { require('vm').runInNewContext(this.code, { $ }) } }",
            "export default { run({ $ }) { return import('vm').then((v) => v.runInThisContext(this.code)($)) } }",
            "import help from 'help'; export default { run({ $ }) { return help($) } }",
            "import help from 'help'; export default { run(ctx) { return help(ctx) } }",
            "export default { run({ $ }) { const p = new Proxy($, this.traps); return p } }",
            "export default { run({ $ }) { globalThis.d = [$]; } }; export const f = (n) => d[0][n]({})",
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
            "export default { methods: { each(name, $) {} }, run({ $, steps }) { const all = { ...steps }; Object.keys(all); for (const name in steps) this.each(name, $); } }",
            // Ordinary code pays nothing for `$` being handed on.
            "export default { run({ steps, $ }) { return steps.trigger.event.body[key] } }",
            "export default { run(ctx) { const list = ctx.steps.a.$return_value; return list[i][this.key] } }",
            "import { axios } from '@pipedream/platform'; export default { run({ $ }) { return axios($, { url: urls[i] }) } }",
            "export default { methods: { _request({ $ = this, path, ...args }) { return axios($, { headers: args[path], ...args }) } }, run({ $ }) { return this._request({ $, path: this[name] }) } }",
            "const get = async ($, options) => axios($, options[options.kind]); export default { run({ $ }) { return get($, this) } }",
            "export default { run({ $ }) { console.log($); const e = $.export.bind($); e(names[0], 1) } }",
            "export default { run({ steps, $, ...rest }) { for (const k in rest) all[k] = rest[k] } }",
            "import cheerio from 'cheerio'; export default { run() { const $ = cheerio.load(this.html); return $('a').map((i, el) => $(el).attr(names[i])) } }",
            "import common from './common.mjs'; function run2({ $ }) {} export default { run({ $ }) { return this.app.send({ $, data: this.fields[0] }) } }",
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
