//! Options of the bundler: what Node does, where the bundler's own defaults differ.

use std::path::PathBuf;

use nodejs_semver::{Range, Version};
use rolldown::{
    BundlerOptions, CodeSplittingMode, InputItem, OutputFormat, Platform, RawMinifyOptions,
    ResolveOptions, SourceMapType, TsConfig,
};
use rolldown_common::{
    BundlerTransformOptions, InlineConstOption, OptimizationOption, TreeshakeOptions,
};

use crate::plugin::ENTRY;

/// Options for a bundle of packages below `root`, for such a Node.
pub(crate) fn options(
    root: PathBuf,
    transform: Option<BundlerTransformOptions>,
    node_version: &str,
) -> BundlerOptions {
    let endings = [".js", ".json", ".mjs", ".cjs", ".ts", ".tsx", ".jsx"];
    BundlerOptions {
        input: Some(vec![InputItem { name: Some("component".into()), import: ENTRY.into() }]),
        cwd: Some(root),
        platform: Some(Platform::Node),
        format: Some(OutputFormat::Esm),
        sourcemap: Some(SourceMapType::Hidden),
        transform,
        // Both remove calls that the bundler takes for pure, such as `decodeURIComponent(text)`,
        // though such a call may throw: then code gives other results than in Node.
        treeshake: TreeshakeOptions::Boolean(false),
        minify: Some(RawMinifyOptions::Bool(false)),
        // The bundler would compute constants, also texts that double with each of them.
        optimization: Some(OptimizationOption {
            inline_const: Some(InlineConstOption::Bool(false)),
            ..OptimizationOption::default()
        }),
        code_splitting: Some(CodeSplittingMode::Bool(false)),
        // A package's tsconfig.json is about how it was made.
        tsconfig: Some(TsConfig::Auto(false)),
        resolve: Some(ResolveOptions {
            // Node's order: what a package ships as TypeScript beside its JavaScript is not meant.
            extensions: Some(endings.map(str::to_owned).to_vec()),
            // The bundler's own defaults add `module`, which Node knows neither as a condition nor
            // as a field: code would get another object than in Node.
            condition_names: Some(conditions(node_version)),
            main_fields: Some(vec!["main".to_owned()]),
            ..ResolveOptions::default()
        }),
        ..BundlerOptions::default()
    }
}

/// Conditions of `exports` that hold in Node beside `import`, `require`, `node` and `default`.
fn conditions(node_version: &str) -> Vec<String> {
    // Those that load ES modules by `require` without an option.
    let requires_modules = Range::parse("^20.19.0 || >=22.12.0").ok();
    let version = Version::parse(node_version).ok();
    let holds = requires_modules.zip(version).is_some_and(|(range, node)| range.satisfies(&node));
    if holds { vec!["module-sync".to_owned()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::conditions;

    #[test]
    fn the_condition_for_required_modules_holds_where_node_loads_such() {
        for (node, holds) in [
            ("20.18.3", false),
            ("20.20.2", true),
            ("22.11.0", false),
            ("22.12.0", true),
            ("24.1.0", true),
            ("", false),
        ] {
            assert_eq!(conditions(node).contains(&"module-sync".to_owned()), holds, "{node}");
        }
    }
}
