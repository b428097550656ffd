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
fn a_number_for_a_prop_of_text_is_its_text_but_an_option_keeps_its_type() {
    let text = |rest: Value, value: Value| check_one(def("zip", "string", rest), value);
    assert_eq!(text(json!({}), json!(12345)), Ok(json!("12345")));
    assert_eq!(text(json!({}), json!({ "__lv": { "label": "a", "value": 7 } })), Ok(json!("7")));
    assert_eq!(text(json!({ "withLabel": true }), json!("7")), Ok(json!("7")));
    for options in [json!({ "options": [1, 2] }), json!({ "remoteOptions": true })] {
        assert_eq!(text(options, json!(2)), Ok(json!(2)));
    }
    let list = |rest: Value| check_one(def("ids", "string[]", rest), json!([1, "b"]));
    assert_eq!(list(json!({})), Ok(json!(["1", "b"])));
    assert_eq!(list(json!({ "remoteOptions": true })), Ok(json!([1, "b"])));
}

#[test]
fn a_timer_without_a_schedule_is_refused_unless_it_is_optional() {
    let timer = |rest: Value| check_one(def("t", "$.interface.timer", rest), Value::Null);
    assert!(timer(json!({})).expect_err("is none").contains("is required"));
    assert_eq!(timer(json!({ "optional": true })), Ok(Value::Null));
    let default = json!({ "optional": true, "default": { "intervalSeconds": 5 } });
    assert_eq!(timer(default).expect("a schedule")["interval_seconds"], 5);
}

#[test]
fn a_timer_whose_cron_or_timezone_is_no_text_is_refused_as_that() {
    for wrong in [json!(5), json!(["Europe/Berlin"]), json!({ "$sealed": "x" }), json!(true)] {
        let cron = json!({ "cron": &wrong });
        let timezone = json!({ "cron": "* * * * *", "timezone": &wrong });
        for value in [cron, timezone] {
            let timer = def("t", "$.interface.timer", json!({}));
            let words = check_one(timer, value.clone()).expect_err("is no text");
            assert!(words.ends_with("and has to be a text"), "{value}: {words}");
        }
    }
}

#[test]
fn only_values_for_props_that_there_are_not_are_unknown() {
    let given = json!({ "n": 1, "m": null }).as_object().cloned().unwrap_or_default();
    let unknown = unknown(&[def("n", "integer", json!({}))], &given);
    let words: Vec<_> = unknown.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["the component has no prop `m`; it has `n`"]);
}

#[test]
fn a_refused_list_tells_which_item_and_its_bounds() {
    let words = check_one(def("l", "integer[]", json!({ "min": 1, "max": 9 })), json!([3, 10]))
        .expect_err("too large");
    assert_eq!(
        words,
        "the prop `l` has the value `[3,10]`, allowed is an array of integer values from 1 to 9; item 1 is not"
    );
    assert!(
        check_one(def("l", "integer[]", json!({})), json!("3"))
            .expect_err("no list")
            .ends_with("allowed is an array of integer values")
    );
    let accounts = def("a", "app[]", json!({ "app": "stripe" }));
    assert!(check_one(accounts.clone(), json!([{ "authProvisionId": "apn_1" }])).is_ok());
    assert!(
        check_one(accounts, json!(["sk_live"])).expect_err("no account").contains("item 0 is not")
    );
}

#[test]
fn a_request_begins_with_its_default() {
    let put = || def("r", "http_request", json!({ "default": { "method": "PUT", "headers": [] } }));
    let url = "https://a.test";
    assert_eq!(
        check_one(put(), json!({ "url": url })),
        Ok(json!({ "url": url, "method": "PUT", "headers": [] }))
    );
    assert_eq!(
        check_one(put(), json!({ "url": url, "method": "POST", "headers": [] })),
        Ok(json!({ "url": url, "method": "POST", "headers": [] }))
    );
    assert_eq!(check_one(put(), Value::Null), Ok(Value::Null));
    let whole = json!({ "url": url });
    assert_eq!(
        check_one(def("r", "http_request", json!({ "default": whole })), Value::Null),
        Ok(whole)
    );
}

#[test]
fn what_may_be_secret_is_not_repeated_in_errors() {
    for refused in [
        check_one(def("s", "string", json!({ "secret": true })), json!({ "key": "hunter2" })),
        check_one(def("a", "app", json!({ "app": "stripe" })), json!("hunter2")),
        check_one(def("a", "app[]", json!({ "app": "stripe" })), json!(["hunter2"])),
    ] {
        let words = refused.expect_err("refused");
        assert!(words.contains("not shown") && !words.contains("hunter2"), "{words}");
    }
    let words =
        check_one(def("a", "app", json!({ "app": "stripe" })), json!("apn_1!")).expect_err("no id");
    assert!(
        words.contains("`\"apn_1!\"`") && words.contains("millrace accounts list --app stripe"),
        "{words}"
    );
}

#[test]
fn good_values_are_kept() {
    assert_eq!(
        check_one(
            def("t", "$.interface.timer", json!({ "default": { "intervalSeconds": 900 } })),
            Value::Null
        ),
        Ok(json!({ "cron": null, "interval_seconds": 900 }))
    );
    assert_eq!(
        check_one(def("s", "string", json!({ "default": "x" })), Value::Null),
        Ok(json!("x"))
    );
    assert_eq!(
        check_one(def("s", "string", json!({})), json!({ "__lv": { "label": "L", "value": "v" } })),
        Ok(json!("v"))
    );
    assert_eq!(
        check_one(def("x", "unheard.of", json!({})), json!({ "any": 1 })),
        Ok(json!({ "any": 1 }))
    );
    assert_eq!(
        check_one(def("o", "object", json!({})), json!("{\"a\":1}")),
        Ok(json!("{\"a\":1}"))
    );
    let account = json!({ "authProvisionId": "apn_1" });
    assert_eq!(
        check_one(def("a", "app", json!({ "app": "stripe" })), json!("apn_1")),
        Ok(account.clone())
    );
    assert_eq!(
        check_one(def("a", "app[]", json!({ "app": "stripe" })), json!(["apn_1", account])),
        Ok(json!([account, account]))
    );
}

#[test]
fn a_label_comes_with_a_value_that_fits() {
    let one = |value: Value| check_one(def("s", "string", json!({ "withLabel": true })), value);
    let both = json!({ "label": "L", "value": "v" });
    for given in [both.clone(), json!({ "__lv": both })] {
        assert_eq!(one(given), Ok(both.clone()));
    }
    assert_eq!(one(json!("v")), Ok(json!("v")));
    for held in [
        json!({}),
        json!({ "label": "L" }),
        json!({ "label": "L", "value": null }),
        json!({ "label": "L", "value": { "x": 1 } }),
    ] {
        for given in [held.clone(), json!({ "__lv": held })] {
            let words = one(given).expect_err("refused");
            assert!(
                words.contains("a string, alone or as {\"label\": \"…\", \"value\": …}"),
                "{words}"
            );
        }
    }
    let list = |fields: Value, value: Value| check_one(def("l", "string[]", fields), value);
    let items = json!([{ "__lv": both }, "w"]);
    assert_eq!(list(json!({ "withLabel": true }), items.clone()), Ok(json!([both, "w"])));
    assert_eq!(list(json!({}), items), Ok(json!(["v", "w"])));
    assert_eq!(list(json!({}), json!({ "__lv": [both] })), Ok(json!(["v"])));
    assert!(
        list(json!({ "withLabel": true }), json!([{ "__lv": {} }]))
            .expect_err("refused")
            .contains("item 0 is not")
    );
}

#[test]
fn a_value_over_64_kb_is_refused_and_an_unknown_prop_too() {
    let error = check_one(def("s", "string", json!({})), json!("x".repeat(VALUE_BYTES_MAX + 1)))
        .expect_err("too large");
    assert!(error.contains("65537"), "{error}");
    let given = json!({ "nope": 1 }).as_object().cloned().unwrap_or_default();
    let errors = check(&[], &given, Site::Source, Timestamp(0)).expect_err("unknown");
    assert_eq!(errors[0].prop(), "nope");
}

#[test]
fn a_step_takes_expressions_for_any_type() {
    let given =
        json!({ "n": "{{steps.a.$return_value}}" }).as_object().cloned().unwrap_or_default();
    assert!(check(&[def("n", "integer", json!({}))], &given, Site::Step, Timestamp(0)).is_ok());
}
