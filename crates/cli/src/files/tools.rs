//! Names of files that tools of a developer's machine find by themselves, and run or read as
//! configuration: a server must not write one.

/// Files by their ending. A tool looks for such a file in the folder where it is started, in those
/// above, or in the whole tree.
const FOUND_BY_NAME: [(&[&str], &[&str]); 6] = [
    (
        &["json", "jsonc", "json5"],
        &[
            "angular",
            "biome",
            "bower",
            "composer",
            "deno",
            "devcontainer",
            "eas",
            "firebase",
            "jsconfig",
            "lerna",
            "nest-cli",
            "nodemon",
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
            "docker-compose",
            "dvc",
            "kustomization",
            "lefthook",
            "millrace",
            "mkdocs",
            "netlify",
            "playbook",
            "pnpm-lock",
            "pnpm-workspace",
            "pubspec",
            "pulumi",
            "serverless",
            "skaffold",
            "taskfile",
            "workflow",
        ],
    ),
    (&["md"], &["agent", "agents", "claude", "copilot-instructions", "gemini", "skill"]),
    (&["xml"], &["build", "phpunit", "pom"]),
    (&["txt"], &["cmakelists", "constraints", "requirements"]),
    (
        &["mjs", "js", "ts", "cjs", "mts", "tsx", "jsx", "cts"],
        &["brunch-config", "dangerfile", "gruntfile", "gulpfile", "jakefile", "pm2"],
    ),
];
/// Parts of a name between its first and its last, as in `vite.config.ts` and `a.test.mjs`.
const MIDDLES: [&str; 12] = [
    "bench",
    "conf",
    "config",
    "cy",
    "dev",
    "mix",
    "override",
    "setup",
    "spec",
    "stories",
    "test",
    "workspace",
];
/// Folders in which tools find what they run.
const FOLDERS: [&str; 2] = ["__mocks__", "__tests__"];
/// Formats in which tools have their configuration: at the top of a folder, where tools look first,
/// nobody needs a file of data in one.
const CONFIGURATION: [&str; 4] = ["yaml", "yml", "xml", "md"];

/// Whether a tool may run a file of this path or read it as its configuration. Letters of both
/// cases are the same on some machines.
pub(crate) fn is_found_by_a_tool(path: &str) -> bool {
    let path = path.to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let Some((stem, ending)) = name.rsplit_once('.') else { return true };
    let by_name = FOUND_BY_NAME
        .iter()
        .filter(|(endings, _)| endings.contains(&ending))
        // `tsconfig.build.json`, `docker-compose.prod.yml`.
        .any(|(_, stems)| stem.split('.').next().is_some_and(|first| stems.contains(&first)));
    by_name
        || stem.split('.').skip(1).any(|part| MIDDLES.contains(&part))
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || (CONFIGURATION.contains(&ending)
            && (folders.is_empty() || folders.rsplit('/').next() == Some("sources")))
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
        ] {
            assert!(is_found_by_a_tool(path), "{path}");
        }
        for path in [
            "steps/a.mjs",
            "acme.app.mjs",
            "lib/config.json",
            "config.mjs",
            "data.json",
            "x.csv",
            "sources/x.mjs",
            "lib/package.mjs",
            "t/a.html",
            "words.txt",
            "lib/notes.md",
            "lib/rates.yaml",
            "test.mjs",
            "types/index.d.ts",
            "x.tar.gz",
            "schema.graphql",
            "workflows/x/a.mjs",
            "build.mjs",
            "jquery.min.js",
            "steps/app.mjs",
        ] {
            assert!(!is_found_by_a_tool(path), "{path}");
        }
    }
}
