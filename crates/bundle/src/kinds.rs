//! Kinds of files, between the parser and the bundler: what each is read as, and how newer syntax
//! is lowered.

use std::collections::BTreeSet;

use millrace_model::tsconfig::Tsconfig;
use oxc_span::SourceType;
use rolldown_common::{
    BundlerTransformOptions, CompilerAssumptions, DecoratorOptions, Either, ModuleType,
    TypeScriptOptions,
};

use crate::author::Author;
use crate::common_types::without_types;
use crate::language::needs_lowering;
use crate::namespaces::qualified;
use crate::{BundleError, depth, growth, typescript};

/// Refuses files that are nested too deep, and those whose fault the bundler would not name.
pub(crate) fn check_given(author: &Author) -> Result<(), BundleError> {
    for (path, text) in author.given() {
        let kind = author.kind_of(&path, &path, &text);
        depth::check(&path, &text, kind)?;
        typescript::check_type_parameters(&path, &text, kind)?;
        growth::check_authored(&path, &text, kind)?;
    }
    growth::check_exports(&author.given(), |path, text| author.kind_of(path, path, text))
}

/// Refuses a file of a package that is nested too deep, or whose enums take too long.
pub(crate) fn check_packaged(path: &str, text: &str, kind: SourceType) -> Result<(), BundleError> {
    depth::check(path, text, kind)?;
    growth::check_enums(path, text, kind)
}

/// What the author's `tsconfig.json` files say of a bundle: all of it is made in one way.
#[derive(Clone, Copy)]
pub(crate) struct Compiler {
    /// Whether decorators are TypeScript's older ones.
    pub(crate) experimental_decorators: bool,
    /// Whether fields of classes are made by assignment.
    assigns_fields: bool,
}

impl Compiler {
    /// What the nearest `tsconfig.json` of the files says that an option concerns, and that of the
    /// entry where a file has none or they disagree.
    pub(crate) fn of(author: &Author) -> Self {
        let entry = author.tsconfig(author.entry()).unwrap_or_default();
        let files: Vec<(Tsconfig, String)> = author
            .given()
            .into_iter()
            .map(|(path, text)| (author.tsconfig(&path).unwrap_or_else(|| entry.clone()), text))
            .collect();
        let agreed = |word: &str, option: fn(&Tsconfig) -> bool| {
            let concerned = files.iter().filter(|(_, text)| text.contains(word));
            let said: BTreeSet<bool> = concerned.map(|(config, _)| option(config)).collect();
            if said.len() == 1 { said.contains(&true) } else { option(&entry) }
        };
        Self {
            experimental_decorators: agreed("@", |config| config.experimental_decorators),
            assigns_fields: agreed("class", |config| config.assigns_fields),
        }
    }
}

/// How syntax is lowered that the Node in use does not have, where the author's files have such.
pub(crate) fn lowered(
    author: &Author,
    node_version: &str,
) -> Result<Option<BundlerTransformOptions>, BundleError> {
    let compiler = Compiler::of(author);
    let major = node_version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let mut needs = false;
    for (path, text) in author.given() {
        let config = author.tsconfig(&path).or_else(|| author.tsconfig(author.entry()));
        let not_read = of_extended(&config.unwrap_or_default());
        needs |= needs_lowering(&path, &text, major, compiler.experimental_decorators, &not_read)?;
    }
    let target = if major == 0 { "es2025".to_owned() } else { format!("node{major}") };
    let decorator = DecoratorOptions {
        legacy: Some(true),
        emit_decorator_metadata: Some(compiler.experimental_decorators),
        ..DecoratorOptions::default()
    };
    // A target would have the code of packages transformed, too.
    Ok((needs || compiler.assigns_fields).then(|| BundlerTransformOptions {
        target: needs.then_some(Either::Left(target)),
        decorator: Some(decorator),
        assumptions: Some(CompilerAssumptions {
            set_public_class_fields: Some(compiler.assigns_fields),
            ..CompilerAssumptions::default()
        }),
        typescript: Some(TypeScriptOptions {
            remove_class_fields_without_initializer: Some(compiler.assigns_fields),
            ..TypeScriptOptions::default()
        }),
        ..BundlerTransformOptions::default()
    }))
}

/// What a refusal says of files that a `tsconfig.json` extends and that cannot be read.
fn of_extended(config: &Tsconfig) -> String {
    let names: Vec<String> = config.not_read.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "; its tsconfig.json extends {}, which cannot be read here: write the option into the tsconfig.json itself",
        names.join(", ")
    )
}

/// A file's code as the bundler reads it right.
pub(crate) fn readable(path: &str, code: String, kind: &ModuleType) -> String {
    let Some(read_as) = source_type(kind) else { return code };
    let code = without_types(path, &code, read_as).unwrap_or(code);
    qualified(&code, read_as).unwrap_or(code)
}

pub(crate) fn module_type(kind: SourceType) -> ModuleType {
    match (kind.is_typescript(), kind.is_jsx()) {
        (true, true) => ModuleType::Tsx,
        (true, false) => ModuleType::Ts,
        (false, true) => ModuleType::Jsx,
        (false, false) => ModuleType::Js,
    }
}

/// How code of such a module is read; None: it is no code.
pub(crate) fn source_type(of_module: &ModuleType) -> Option<SourceType> {
    match of_module {
        ModuleType::Js => Some(SourceType::unambiguous()),
        ModuleType::Jsx => Some(SourceType::unambiguous().with_jsx(true)),
        ModuleType::Ts => Some(SourceType::ts()),
        ModuleType::Tsx => Some(SourceType::tsx()),
        _ => None,
    }
}

/// Whether a file names the function that makes its elements. Only the classic JSX transform, the
/// default of TypeScript and other tools, calls such a function.
pub(crate) fn names_factory(code: &str) -> bool {
    let has = |pragma: &str| {
        code.match_indices(pragma).any(|(at, _)| code[at + pragma.len()..].starts_with([' ', '\t']))
    };
    has("@jsx") && !has("@jsxRuntime") && !has("@jsxImportSource")
}
