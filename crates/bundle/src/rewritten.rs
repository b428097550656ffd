//! Rewriter of code that cannot be bundled into one file as it is.

/// `require(__dirname + "/x")` is `require("./x")`: only so can one file hold both. And
/// `const require_x = require("./x")`, which bundlers of the rolldown family write, is named apart
/// from what this bundler calls the module: it would declare one of the names twice.
pub(crate) fn rewritten(code: &str) -> Option<String> {
    const COMPUTED: [&str; 2] = ["require(__dirname + '/", "require(__dirname + \"/"];
    const BUNDLED: &str = "require_";
    let is_computed = COMPUTED.iter().any(|text| code.contains(text));
    let is_bundled = code.contains("const require_") && code.contains(" = require(");
    if !is_computed && !is_bundled {
        return None;
    }
    let code = code.replace(COMPUTED[0], "require('./").replace(COMPUTED[1], "require(\"./");
    if !is_bundled {
        return Some(code);
    }
    let mut renamed = String::with_capacity(code.len() + 256);
    let mut rest = code.as_str();
    while let Some(at) = rest.find(BUNDLED) {
        let is_name = !renamed_end(&renamed, &rest[..at])
            .is_some_and(|c| c.is_alphanumeric() || "_$.".contains(c));
        renamed.push_str(&rest[..at]);
        renamed.push_str(if is_name { "required_" } else { BUNDLED });
        rest = &rest[at + BUNDLED.len()..];
    }
    renamed.push_str(rest);
    Some(renamed)
}

/// The character before what comes next.
fn renamed_end(done: &str, more: &str) -> Option<char> {
    more.chars().next_back().or_else(|| done.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn names_that_bundlers_give_to_modules_are_named_apart() {
        let code = "const require_context = require('./context.cjs'); const require_context$1 = require('./b.cjs'); x.require_y; a(require_context.c);";
        let expected = "const required_context = require('./context.cjs'); const required_context$1 = require('./b.cjs'); x.require_y; a(required_context.c);";
        assert_eq!(rewritten(code).as_deref(), Some(expected));
        assert_eq!(rewritten("require(__dirname + '/x.js')").as_deref(), Some("require('./x.js')"));
        assert_eq!(rewritten("const x = require('./x'); y.require_z"), None);
    }
}
