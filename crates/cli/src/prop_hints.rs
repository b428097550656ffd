//! Hints of errors about props: what is to be given, and in which form.

use serde_json::Value;

/// The props that the server found missing or wrong, each with what it says of it.
pub(crate) fn prop_problems(details: &Value) -> Vec<(&str, &str)> {
    details["props"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| Some((p["prop"].as_str()?, p["problem"].as_str().unwrap_or(""))))
        .collect()
}

/// Those of them that are to be given: what the component does not have is not.
pub(crate) fn to_give(details: &Value) -> impl Iterator<Item = (&str, &str)> {
    let problems = prop_problems(details).into_iter();
    problems.filter(|(_, problem)| !problem.starts_with("the component has no prop"))
}

/// What to give on a command line, where props are missing or wrong.
pub(crate) fn missing_props(details: &Value) -> Option<String> {
    let is = |problem: &str, words: &[&str]| words.iter().any(|word| problem.contains(word));
    let flag = |(prop, problem): (&str, &str)| match problem {
        of if is(of, &["`millrace accounts ", "authProvisionId"]) => format!("--prop {prop}=apn_…"),
        of if is(of, &["(integer[]) is required", "an array of integer values"]) => {
            format!("--prop '{prop}=[1]'")
        }
        of if is(of, &["(boolean[]) is required", "an array of boolean values"]) => {
            format!("--prop '{prop}=[true]'")
        }
        of if is(of, &["[]) is required", "allowed is an array of "]) => {
            format!("--prop '{prop}=[\"VALUE\"]'")
        }
        // What was typed is JSON of another type: in quotes it is text.
        of if is(of, &["allowed is a string"]) => format!("--prop '{prop}=\"VALUE\"'"),
        of if is(of, &["(object) is required", "allowed is an object"]) => {
            format!("--prop '{prop}={{\"NAME\": \"VALUE\"}}'")
        }
        of if is(of, &["($.interface.timer) is required", "intervalSeconds"]) => {
            format!("--prop '{prop}={{\"intervalSeconds\": 60}}'")
        }
        _ => format!("--prop {prop}=VALUE"),
    };
    let flags: Vec<String> = to_give(details).map(flag).collect();
    (!flags.is_empty()).then(|| format!("give {}", flags.join(" ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prop_is_hinted_at_in_the_form_that_works() {
        let hint = |problem: &str| {
            missing_props(&json!({ "props": [{ "prop": "p", "problem": problem }] }))
        };
        let check = |problem: &str, form: &str| {
            assert_eq!(hint(problem), Some(format!("give --prop {form}")), "{problem}");
        };
        let wrong =
            |allowed: &str| format!("the prop `p` has the value `true`, allowed is {allowed}");
        check(&wrong("a string"), "'p=\"VALUE\"'");
        check("the prop `p` (string) is required and has no value", "p=VALUE");
        check("the prop `p` (integer[]) is required and has no value", "'p=[1]'");
        check(&wrong("an array of integer values from 1 to 9"), "'p=[1]'");
        check(&wrong("an array of boolean values"), "'p=[true]'");
        check("the prop `p` (string[]) is required and has no value", "'p=[\"VALUE\"]'");
    }
}
