//! Import specifiers: `name`, `@scope/name`, with a version pin and a subpath.

/// Why what is neither a file nor a package is refused.
pub(crate) const NO_PACKAGE: &str = "it is no package name; a file of yours is imported by its path (`./x.mjs`) or as `#x` of `imports` in package.json, `paths` of tsconfig.json are not read";

/// Why a range is refused that names no version of the registry, and what would work.
pub(crate) fn not_of_registry(range: &str) -> &'static str {
    match range.split_once(':').map_or("", |(protocol, _)| protocol) {
        "workspace" | "file" | "link" | "portal" => {
            "only versions from the npm registry can be installed; import files of your own by their path (`../shared/index.mjs`), they are bundled with the code"
        }
        "catalog" => {
            "only versions from the npm registry can be installed, and no catalog is read; write the version into package.json"
        }
        _ => {
            "only versions from the npm registry can be installed; name a version that is published there, or bundle the package's code with your own"
        }
    }
}

/// A bare specifier, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bare {
    /// `axios`, `@scope/name`.
    pub(crate) name: String,
    /// What stands behind `@`.
    pub(crate) range: Option<String>,
    /// `/lib/x.js`, or nothing.
    pub(crate) subpath: String,
}

impl Bare {
    /// None for what is no package name.
    pub(crate) fn parse(specifier: &str) -> Option<Self> {
        let (scope, rest) = match specifier.strip_prefix('@') {
            Some(scoped) => {
                let (scope, rest) = scoped.split_once('/')?;
                (Some(scope), rest)
            }
            None => (None, specifier),
        };
        let name_end = rest.find(['@', '/']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(name_end);
        let (range, subpath) = match rest.strip_prefix('@') {
            Some(pinned) => {
                let end = pinned.find('/').unwrap_or(pinned.len());
                (Some(pinned[..end].to_owned()), &pinned[end..])
            }
            None => (None, rest),
        };
        let fits = |part: &str| {
            !part.is_empty()
                && part.len() <= 214
                && !part.starts_with('.')
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
        };
        if !fits(name) || scope.is_some_and(|s| !fits(s)) {
            return None;
        }
        let name = scope.map_or_else(|| name.to_owned(), |scope| format!("@{scope}/{name}"));
        Some(Self { name, range: range.filter(|r| !r.is_empty()), subpath: subpath.to_owned() })
    }
}

/// Node's own modules. Without `node:` only these very names: `punycode/` and `buffer/` are
/// packages.
pub(crate) fn is_builtin(specifier: &str) -> bool {
    const BUILTINS: &[&str] = &[
        "_http_agent",
        "_http_client",
        "_http_common",
        "_http_incoming",
        "_http_outgoing",
        "_http_server",
        "_stream_duplex",
        "_stream_passthrough",
        "_stream_readable",
        "_stream_transform",
        "_stream_wrap",
        "_stream_writable",
        "_tls_common",
        "_tls_wrap",
        "assert",
        "assert/strict",
        "async_hooks",
        "buffer",
        "child_process",
        "cluster",
        "console",
        "constants",
        "crypto",
        "dgram",
        "diagnostics_channel",
        "dns",
        "dns/promises",
        "domain",
        "events",
        "fs",
        "fs/promises",
        "http",
        "http2",
        "https",
        "inspector",
        "inspector/promises",
        "module",
        "net",
        "os",
        "path",
        "path/posix",
        "path/win32",
        "perf_hooks",
        "process",
        "punycode",
        "querystring",
        "readline",
        "readline/promises",
        "repl",
        "stream",
        "stream/consumers",
        "stream/promises",
        "stream/web",
        "string_decoder",
        "sys",
        "timers",
        "timers/promises",
        "tls",
        "trace_events",
        "tty",
        "url",
        "util",
        "util/types",
        "v8",
        "vm",
        "wasi",
        "worker_threads",
        "zlib",
    ];
    specifier.starts_with("node:") || BUILTINS.contains(&specifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_and_subpaths_come_apart() {
        let check = |text: &str, name: &str, range: Option<&str>, subpath: &str| {
            assert_eq!(
                Bare::parse(text),
                Some(Bare {
                    name: name.into(),
                    range: range.map(Into::into),
                    subpath: subpath.into()
                }),
                "{text}"
            );
        };
        check("axios", "axios", None, "");
        check("axios@0.19.2", "axios", Some("0.19.2"), "");
        check("axios@^1", "axios", Some("^1"), "");
        check("lodash/get", "lodash", None, "/get");
        check("@scope/name@~2/sub.js", "@scope/name", Some("~2"), "/sub.js");
        check("@scope/name", "@scope/name", None, "");
        for bad in ["", "@scope", "../x", "./x", "/etc/passwd", "a b", "https://x.y/z"] {
            assert_eq!(Bare::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn builtins_are_known_with_and_without_node() {
        assert!(is_builtin("node:fs") && is_builtin("fs") && is_builtin("fs/promises"));
        assert!(!is_builtin("fs-extra") && !is_builtin("punycode/") && !is_builtin("buffer@6"));
    }
}
