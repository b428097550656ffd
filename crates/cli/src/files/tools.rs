//! Names of files that tools of a developer's machine find by themselves, and run or read as
//! configuration: a server must not write one.
//!
//! Code has a name without a dot in it, but for a few parts that no tool looks for
//! ([`PLAIN_PARTS`]), and is no test by its name or folder. Of data, formats of configuration lie
//! below a folder, and have none of the names that tools look for.

use crate::files::tree;

/// Files by their ending. A tool looks for such a file in the folder where it is started, in those
/// above, or in the whole tree.
const FOUND_BY_NAME: [(&[&str], &[&str]); 6] = [
    (
        &["json", "jsonc", "json5"],
        &[
            "bower",
            "composer",
            "deno",
            "eas",
            "firebase",
            "jsconfig",
            "nest-cli",
            "npm-shrinkwrap",
            "nx",
            "package",
            "package-lock",
            "pm2",
            "project",
            "renovate",
            "rush",
            "tsconfig",
            "turbo",
            "vercel",
            "workflow",
        ],
    ),
    (
        &["yaml", "yml"],
        &[
            "action",
            "ansible",
            "appveyor",
            "azure-pipelines",
            "bitbucket-pipelines",
            "buildspec",
            "chart",
            "cloudbuild",
            "compose",
            "dvc",
            "millrace",
            "mkdocs",
            "netlify",
            "playbook",
            "pnpm-lock",
            "pnpm-workspace",
            "pubspec",
            "skaffold",
            "workflow",
        ],
    ),
    (
        &["md"],
        &["agent", "agents", "claude", "copilot-instructions", "gemini", "qwen", "skill", "warp"],
    ),
    (&["xml"], &["build", "phpunit", "pom"]),
    (&["txt"], &["constraints", "requirements"]),
    (&["mjs", "js", "ts", "cjs", "mts", "tsx", "jsx", "cts"], &["pm2", "setuptests"]),
];
/// Names of tools' own files, whatever their ending: most tools read several formats, and later
/// versions more.
const TOOLS: [&str; 43] = [
    "angular",
    "babel",
    "biome",
    "brunch-config",
    "cakefile",
    "cmakelists",
    "cmakepresets",
    "cmakeuserpresets",
    "dangerfile",
    "devcontainer",
    "docker-compose",
    "dprint",
    "ember-cli-build",
    "eslint-local-rules",
    "gruntfile",
    "gulpfile",
    "helmfile",
    "jakefile",
    "jest-preset",
    "jest-setup",
    "knexfile",
    "knip",
    "kustomization",
    "lefthook",
    "lerna",
    "lint-staged",
    "meson_options",
    "mocharc",
    "nodemon",
    "ormconfig",
    "package-scripts",
    "plopfile",
    "pnpmfile",
    "pre-commit-hooks",
    "pulumi",
    "serverless",
    "simple-git-hooks",
    "taskfile",
    "truffle",
    "truffle-config",
    "typedoc",
    "wallaby",
    "webpackfile",
];
/// Beginnings of such names: `gatsby-node.ts`, `requirements-dev.txt`.
const TOOL_PREFIXES: [&str; 3] = ["gatsby-", "requirements-", "requirements_"];
/// Names of code that tools look for at the top of a project only; below it they are authors'.
const AT_THE_TOP: [&str; 6] =
    ["codegen", "instrumentation", "instrumentation-client", "middleware", "proxy", "vercel"];
/// Parts of a name between its first and its last that a file of data has none of, as in
/// `jest.config.json`.
const MIDDLES: [&str; 4] = ["conf", "config", "override", "workspace"];
/// Parts of a name of code between its first and its last that no tool looks for, as in
/// `slack.app.mjs` and `index.d.ts`; numbers are as good.
const PLAIN_PARTS: [&str; 24] = [
    "app",
    "client",
    "common",
    "const",
    "constants",
    "d",
    "dto",
    "enum",
    "helper",
    "helpers",
    "mapper",
    "min",
    "model",
    "models",
    "module",
    "queries",
    "query",
    "schema",
    "service",
    "types",
    "type",
    "util",
    "utils",
    "validator",
];
/// Words with which the name of a test begins or ends, as in `test.mjs`, `test-a.mjs` and
/// `a_spec.js`: `node --test`, vitest, jest, mocha, ava, deno and bun run it.
const TEST_WORDS: [&str; 7] = ["bench", "cy", "e2e", "spec", "specs", "test", "tests"];
/// Folders in which tools find what they run.
const FOLDERS: [&str; 10] = [
    "__mocks__",
    "__test__",
    "__tests__",
    "cypress",
    "e2e",
    "requirements",
    "spec",
    "specs",
    "test",
    "tests",
];
/// Formats in which tools have their configuration: at the top of a folder, where tools look first,
/// nobody needs a file of data in one.
const CONFIGURATION: [&str; 7] = ["json", "json5", "jsonc", "md", "xml", "yaml", "yml"];

/// Whether a tool may run a file of this path or read it as its configuration.
pub(crate) fn is_found_by_a_tool(path: &str) -> bool {
    // Letters of both cases are the same on some machines, `ſ` and `s` too.
    let path = path.to_uppercase().to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let Some((stem, ending)) = name.rsplit_once('.') else { return true };
    let is_top = folders.is_empty() || folders.rsplit('/').next() == Some("sources");
    let is_configuration = CONFIGURATION.contains(&ending);
    let mut parts = stem.split('.');
    let first = parts.next().unwrap_or(stem);
    let by_name = FOUND_BY_NAME
        .iter()
        .filter(|(endings, _)| endings.contains(&ending))
        // `tsconfig.build.json`, `docker-compose.prod.yml`.
        .any(|(_, stems)| stems.contains(&first));
    let by_parts = if is_configuration || !tree::ENDINGS.contains(&ending) {
        parts.any(|part| MIDDLES.contains(&part))
    } else {
        is_test(stem) || parts.any(|part| !is_plain(part))
    };
    let is_code = !is_configuration && tree::ENDINGS.contains(&ending);
    by_name
        // Of code, `serverless.app.mjs` is an author's.
        || TOOLS.contains(if is_code { &stem } else { &first })
        || TOOL_PREFIXES.iter().any(|prefix| first.starts_with(prefix))
        || (is_top && is_code && AT_THE_TOP.contains(&stem))
        || by_parts
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || (is_configuration && is_top)
}

fn is_test(stem: &str) -> bool {
    let mut words = stem.split(['.', '-', '_']);
    let is_word = |word: Option<&str>| word.is_some_and(|word| TEST_WORDS.contains(&word));
    is_word(words.clone().next()) || is_word(words.next_back())
}

fn is_plain(part: &str) -> bool {
    PLAIN_PARTS.contains(&part)
        || part.trim_start_matches('v').bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_found_by_a_tool;

    #[test]
    fn names_that_tools_look_for_are_told_from_those_of_authors() {
        for path in [
            "package.json",
            "steps/Package.JSON",
            "vite.config.ts",
            "lib/jest.config.cjs",
            "karma.conf.js",
            "lefthook.yml",
            "docker-compose.yml",
            "a/compose.prod.yaml",
            "millrace.yaml",
            "sub/millrace.yml",
            "sub/workflow.yaml",
            "sub/workflow.json",
            "workflow.yml",
            "sources/x.yaml",
            "a/sources/x.yml",
            "Makefile",
            "tsconfig.build.json",
            "AGENTS.md",
            "docs/CLAUDE.md",
            "notes.md",
            "anything.yml",
            "pom.xml",
            "sub/CMakeLists.txt",
            "gulpfile.js",
            "a/__tests__/b.mjs",
            "a/b.test.mjs",
            "vitest.workspace.ts",
            "webpack.mix.js",
            "next.config.mjs",
            "data.json",
            "words.jsonc",
            "sources/x.json",
            "test.mjs",
            "lib/Test.MJS",
            "te\u{17f}t.js",
            "test-a.mjs",
            "a-test.js",
            "lib/a_test.ts",
            "a.spec.tsx",
            "a_spec.cjs",
            "test/a.mjs",
            "lib/Tests/x.json",
            "spec/helpers.js",
            "e2e/a.ts",
            "a.cy.ts",
            "index.test-d.ts",
            "a.bench.mjs",
            "sanity.cli.ts",
            "steps/webpack.babel.js",
            "lib/knexfile.js",
            "lib/jest.config.json",
            "src/setupTests.ts",
            "serverless.js",
            "serverless.ts",
            "sub/serverless.json",
            "gatsby-node.js",
            "gatsby-ssr.tsx",
            "simple-git-hooks.js",
            "package-scripts.js",
            "vercel.ts",
            "codegen.ts",
            "knip.ts",
            "middleware.ts",
            "instrumentation.ts",
            "eslint-local-rules.js",
            "jest-preset.js",
            "pnpmfile.js",
            "truffle.js",
            "typedoc.js",
            "mocharc.js",
            "requirements-dev.txt",
            "requirements/dev.txt",
            "meson_options.txt",
            "sub/CMakePresets.json",
            "CMakeUserPresets.json",
            "sub/helmfile.yaml",
            "sub/pre-commit-hooks.yaml",
            "circle.yml",
            "launch.json",
            "tasks.json",
            "mcp.json",
            "sub/QWEN.md",
            "sub/WARP.md",
        ] {
            assert!(is_found_by_a_tool(path), "{path}");
        }
        for path in [
            "steps/a.mjs",
            "acme.app.mjs",
            "lib/config.json",
            "config.mjs",
            "lib/data.json",
            "lib/prices.2024.json",
            "x.csv",
            "sources/x.mjs",
            "lib/package.mjs",
            "t/a.html",
            "words.txt",
            "lib/notes.md",
            "lib/rates.yaml",
            "steps/latest.mjs",
            "steps/contest.mjs",
            "steps/speculate.mjs",
            "steps/check-tests-of-a.mjs",
            "lib/test.csv",
            "src/slack-client.mjs",
            "lib/orders.v2.mjs",
            "lib/orders.service.ts",
            "types/index.d.ts",
            "x.tar.gz",
            "schema.graphql",
            "workflows/x/a.mjs",
            "build.mjs",
            "jquery.min.js",
            "steps/app.mjs",
            "lib/middleware.mjs",
            "steps/server.ts",
            "serverless.app.mjs",
            "requirement.txt",
        ] {
            assert!(!is_found_by_a_tool(path), "{path}");
        }
    }
}
