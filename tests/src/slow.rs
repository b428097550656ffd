//! Tests of very many cases, which run a part of them unless all are asked for.

/// Whether all cases are run: `MILLRACE_SLOW_TESTS`. What it lengthens, and what each runs without
/// it, is listed in `CONTRIBUTING.md`.
pub fn all_cases() -> bool {
    std::env::var_os("MILLRACE_SLOW_TESTS").is_some_and(|set| !set.is_empty())
}
