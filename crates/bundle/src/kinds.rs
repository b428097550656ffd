//! Kinds of files, between the parser and the bundler: what each is read as, and how newer syntax
//! is lowered.

use oxc_span::SourceType;
use rolldown_common::{BundlerTransformOptions, DecoratorOptions, Either, ModuleType};

use crate::author::Author;
use crate::language::needs_lowering;
use crate::{BundleError, depth, growth, typescript};

/// Refuses files that are nested too deep, and those whose fault the bundler would not name.
pub(crate) fn check_given(author: &Author) -> Result<(), BundleError> {
    for (path, text) in author.given() {
        let kind = author.kind_of(&path, &path, &text);
        depth::check(&path, &text, kind)?;
        typescript::check_type_parameters(&path, &text, kind)?;
        growth::check_enums(&path, &text, kind)?;
        growth::check_sums(&path, &text, kind)?;
    }
    growth::check_exports(&author.given(), |path, text| author.kind_of(path, path, text))
}

/// How syntax is lowered that the Node in use does not have, where the author's files have such.
pub(crate) fn lowered(
    author: &Author,
    node_version: &str,
) -> Result<Option<BundlerTransformOptions>, BundleError> {
    let experimental = author.has_experimental_decorators();
    let major = node_version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let mut needs = false;
    for (path, text) in author.given() {
        needs |= needs_lowering(&path, &text, major, experimental)?;
    }
    let target = if major == 0 { "es2025".to_owned() } else { format!("node{major}") };
    let decorator = DecoratorOptions {
        legacy: Some(true),
        emit_decorator_metadata: Some(experimental),
        ..DecoratorOptions::default()
    };
    Ok(needs.then(|| BundlerTransformOptions {
        target: Some(Either::Left(target)),
        decorator: Some(decorator),
        ..BundlerTransformOptions::default()
    }))
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
