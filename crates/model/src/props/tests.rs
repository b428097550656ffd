use super::*;

fn def(name: &str, prop_type: &str, rest: Value) -> PropDef {
    let mut whole = rest;
    whole["name"] = json!(name);
    whole["type"] = json!(prop_type);
    serde_json::from_value(whole).expect("a definition")
}

fn check_one(definition: PropDef, value: Value) -> Result<Value, String> {
    let name = definition.name.clone();
    let given = json!({ &name: value }).as_object().cloned().unwrap_or_default();
    check(&[definition], &given, Site::Source, Timestamp(1_700_000_000_000))
        .map(|kept| kept.get(&name).cloned().unwrap_or(Value::Null))
        .map_err(|errors| errors[0].to_string())
}

#[test]
fn wrong_types_name_the_prop_the_value_and_what_is_allowed() {
    insta::assert_json_snapshot!([
        check_one(def("n", "integer", json!({ "min": 1, "max": 9 })), json!(12)),
        check_one(def("n", "integer", json!({})), json!("12")),
        check_one(def("b", "boolean", json!({})), json!("yes")),
        check_one(def("s", "string", json!({})), json!({ "a": 1 })),
        check_one(def("o", "object", json!({})), json!([1])),
        check_one(def("l", "string[]", json!({})), json!(["a", {}])),
        check_one(def("t", "$.interface.timer", json!({})), json!({ "intervalSeconds": 0 })),
        check_one(def("t", "$.interface.timer", json!({})), json!({ "cron": "nonsense" })),
        check_one(def("s", "string", json!({})), Value::Null),
    ]);
}

#[test]
fn good_values_are_kept() {
    assert_eq!(
        check_one(def("t", "$.interface.timer", json!({ "default": { "intervalSeconds": 900 } })), Value::Null),
        Ok(json!({ "cron": null, "interval_seconds": 900 }))
    );
    assert_eq!(check_one(def("s", "string", json!({ "default": "x" })), Value::Null), Ok(json!("x")));
    assert_eq!(check_one(def("s", "string", json!({})), json!({ "__lv": { "label": "L", "value": "v" } })), Ok(json!("v")));
    assert_eq!(check_one(def("x", "unheard.of", json!({})), json!({ "any": 1 })), Ok(json!({ "any": 1 })));
    assert_eq!(check_one(def("o", "object", json!({})), json!("{\"a\":1}")), Ok(json!("{\"a\":1}")));
}

#[test]
fn a_value_over_64_kb_is_refused_and_an_unknown_prop_too() {
    let error = check_one(def("s", "string", json!({})), json!("x".repeat(VALUE_BYTES_MAX + 1))).expect_err("too large");
    assert!(error.contains("65537"), "{error}");
    let given = json!({ "nope": 1 }).as_object().cloned().unwrap_or_default();
    let errors = check(&[], &given, Site::Source, Timestamp(0)).expect_err("unknown");
    assert_eq!(errors[0].prop(), "nope");
}

#[test]
fn a_step_takes_expressions_for_any_type() {
    let given = json!({ "n": "{{steps.a.$return_value}}" }).as_object().cloned().unwrap_or_default();
    assert!(check(&[def("n", "integer", json!({}))], &given, Site::Step, Timestamp(0)).is_ok());
}
