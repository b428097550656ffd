//! Questions on a terminal.

use std::io::IsTerminal as _;
use std::sync::Once;
use std::time::Duration;

use console::Term;
use dialoguer::{Confirm, Input, MultiSelect, Password, Select};
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::client::profile::{DEFAULT_URL, check_url};
use crate::error::CliError;
use crate::files::given;
use crate::terminal::line::escaped;
use crate::terminal::typed;

/// What `login` reads from standard input at most.
const STDIN_BYTES_MAX: u64 = 16 * 1024;

/// How long a command has that ends by itself on Ctrl-C, as `dev` does.
const END_TIME: Duration = Duration::from_millis(500);
/// The last of a list of options that may not be all.
const OTHER: &str = "(another value)";
/// Exit status of a program that Ctrl-C ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether there is somebody to ask.
pub(crate) fn can_ask() -> bool {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if is_terminal {
        static ONCE: Once = Once::new();
        ONCE.call_once(end_on_interrupt);
    }
    is_terminal
}

/// Ctrl-C would end the program in the middle of a question, which hides the cursor. With a handler
/// the question ends with an error, and the cursor comes back; what is not a question ends here.
#[expect(clippy::exit, reason = "Ctrl-C ends the program wherever it is")]
fn end_on_interrupt() {
    let Ok(mut interrupts) = signal(SignalKind::interrupt()) else { return };
    tokio::spawn(async move {
        interrupts.recv().await;
        tokio::time::sleep(END_TIME).await;
        show_cursor();
        std::process::exit(INTERRUPTED.into());
    });
}

fn show_cursor() {
    // Nothing is to be done about a terminal that is gone.
    let _ = Term::stderr().show_cursor();
}

/// A text that cannot do without; without a terminal it is missing. `argument`: as the command line
/// calls it.
pub(crate) fn required(argument: &str, question: &str) -> Result<String, CliError> {
    if !can_ask() {
        return Err(CliError::Usage {
            message: format!("{argument} is missing"),
            hint: "run the command with --help to see what is allowed",
        });
    }
    asked(argument, Input::new().with_prompt(question).interact_text())
}

/// One of some things.
pub(crate) fn chosen<T: Copy>(
    what: &str,
    question: &str,
    choices: &[(&str, T)],
) -> Result<T, CliError> {
    let missing = || CliError::Usage {
        message: format!("{what} is missing"),
        hint: "run the command with --help to see what is allowed",
    };
    if !can_ask() {
        return Err(missing());
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let at = asked(what, Select::new().with_prompt(question).items(&names).default(0).interact())?;
    choices.get(at).map(|(_, choice)| *choice).ok_or_else(missing)
}

/// A yes or no; without a terminal it is no.
pub(crate) fn confirmed(question: &str) -> Result<bool, CliError> {
    if !can_ask() {
        return Ok(false);
    }
    asked("yes or no", Confirm::new().with_prompt(question).default(false).interact())
}

/// Address and key of a server: those given, else asked for, else read from standard input.
pub(crate) fn login(
    url: Option<String>,
    api_key: Option<String>,
) -> Result<(String, String), CliError> {
    let (url, api_key) = match (url, api_key) {
        (url, Some(key)) => (url, key),
        (url, None) if can_ask() => {
            let url = match url {
                Some(url) => url,
                None => asked(
                    "the address",
                    Input::new()
                        .with_prompt("Server")
                        .default(DEFAULT_URL.to_owned())
                        .interact_text(),
                )?,
            };
            (Some(url), asked("the API key", Password::new().with_prompt("API key").interact())?)
        }
        (url, None) => {
            let text = given::stdin(STDIN_BYTES_MAX)?;
            let (read_url, key) = credentials(&text);
            (url.or(read_url), key.ok_or(CliError::NoKey)?)
        }
    };
    Ok((check_url(url.as_deref().unwrap_or(DEFAULT_URL))?, api_key))
}

/// A line that is an address, and the first that is not.
fn credentials(text: &str) -> (Option<String>, Option<String>) {
    let lines = || text.lines().map(str::trim).filter(|l| !l.is_empty());
    let is_url = |line: &&str| line.starts_with("http://") || line.starts_with("https://");
    (lines().find(is_url).map(str::to_owned), lines().find(|l| !is_url(l)).map(str::to_owned))
}

/// Values of the fields of an account that its provider connects: an empty standard input gives
/// none, as the fields may all be optional.
pub(crate) fn oauth_account(fields: &[Value]) -> Result<Map<String, Value>, CliError> {
    if can_ask() {
        return account(fields);
    }
    let text = given::stdin(STDIN_BYTES_MAX)?;
    if text.trim().is_empty() { Ok(Map::new()) } else { values(&text) }
}

/// Values of an account's fields: asked for on a terminal, else a JSON object on standard input.
pub(crate) fn account(fields: &[Value]) -> Result<Map<String, Value>, CliError> {
    if !can_ask() {
        return values(&given::stdin(STDIN_BYTES_MAX)?);
    }
    let mut given_values = Map::new();
    for field in fields {
        let name = field["name"].as_str().unwrap_or_default();
        let label = field["label"].as_str().unwrap_or(name);
        let label = escaped(label);
        let text = if field["optional"] == true {
            format!("{label} (may be empty)")
        } else {
            label.into_owned()
        };
        let typed = match field["type"].as_str() {
            Some("password") => asked(
                name,
                Password::new().with_prompt(text).allow_empty_password(true).interact(),
            )?,
            _ => {
                // It is shown as it is: one that would steer the terminal is none.
                let default = field["default"]
                    .as_str()
                    .filter(|text| *escaped(text) == **text)
                    .unwrap_or_default()
                    .to_owned();
                asked(
                    name,
                    Input::new()
                        .with_prompt(text)
                        .default(default)
                        .allow_empty(true)
                        .interact_text(),
                )?
            }
        };
        if !typed.is_empty() {
            given_values.insert(name.to_owned(), typed.into());
        }
    }
    Ok(given_values)
}

fn values(text: &str) -> Result<Map<String, Value>, CliError> {
    millrace_model::json::from_str(text).map_err(|e| CliError::Usage {
        message: format!("standard input is not a JSON object of the account's fields: {e}"),
        hint: "write an object such as {\"api_key\": \"…\"} to standard input, or run it on a terminal to be asked",
    })
}

/// A value for a prop, by what the component says of it: chosen of its options, else typed.
/// `takes_other`: the options may not be all, and another value can be typed.
pub(crate) fn prop(name: &str, def: &Value, takes_other: bool) -> Result<Value, CliError> {
    match def["options"].as_array().filter(|options| !options.is_empty()) {
        Some(options) => of_options(name, def, options, takes_other),
        None => typed_prop(name, def),
    }
}

/// One option, or several of a list.
fn of_options(
    name: &str,
    def: &Value,
    options: &[Value],
    takes_other: bool,
) -> Result<Value, CliError> {
    let text = question(name, def);
    let mut shown: Vec<String> = options.iter().map(option_label).collect();
    if takes_other {
        shown.push(OTHER.to_owned());
    }
    if def["type"].as_str().is_some_and(|t| t.ends_with("[]")) {
        let chosen = asked(
            name,
            MultiSelect::new()
                .with_prompt(format!("{text} (space chooses, enter ends)"))
                .items(&shown)
                .interact(),
        )?;
        let mut values: Vec<Value> =
            chosen.iter().filter_map(|at| options.get(*at)).map(|o| chosen_value(def, o)).collect();
        if chosen.contains(&options.len()) {
            match typed_prop(name, def)? {
                Value::Array(others) => values.extend(others),
                other => values.push(other),
            }
        }
        return Ok(Value::Array(values));
    }
    let at = asked(name, Select::new().with_prompt(text).items(&shown).default(0).interact())?;
    options.get(at).map_or_else(|| typed_prop(name, def), |option| Ok(chosen_value(def, option)))
}

/// The value of an option as a form sends it: with its label where the prop asks for that.
fn chosen_value(def: &Value, option: &Value) -> Value {
    let value = option.get("value").unwrap_or(option);
    if def["withLabel"] == true && !value.is_null() {
        let label = option.get("label").cloned().unwrap_or_else(|| option_text(option).into());
        return json!({ "__lv": { "label": label, "value": value } });
    }
    value.clone()
}

/// What a prompt asks.
fn question(name: &str, def: &Value) -> String {
    let label = def["label"].as_str().unwrap_or(name);
    let text =
        def["description"].as_str().map_or_else(|| label.to_owned(), |d| format!("{label} ({d})"));
    escaped(&text).into_owned()
}

fn typed_prop(name: &str, def: &Value) -> Result<Value, CliError> {
    let text = question(name, def);
    if def["secret"] == true {
        return Ok(Value::from(asked(name, Password::new().with_prompt(text).interact())?));
    }
    if def["type"] == "boolean" {
        return Ok(Value::from(asked(name, Confirm::new().with_prompt(text).interact())?));
    }
    let prompt = format!("{text}{}", typed::form(def));
    let input = Input::new().with_prompt(prompt);
    let text: String = asked(
        name,
        input
            .validate_with(|text: &String| typed::value(name, def, text).map(|_| ()))
            .interact_text(),
    )?;
    typed::value(name, def, &text).map_err(|problem| CliError::Usage {
        message: problem,
        hint: "run the command with --help to see what is allowed",
    })
}

fn option_label(option: &Value) -> String {
    escaped(&option_text(option)).into_owned()
}

fn option_text(option: &Value) -> String {
    let shown = option.get("label").or_else(|| option.get("value")).unwrap_or(option);
    shown.as_str().map_or_else(|| shown.to_string(), str::to_owned)
}

fn asked<T>(what: &str, answer: dialoguer::Result<T>) -> Result<T, CliError> {
    answer.map_err(|source| {
        show_cursor();
        let dialoguer::Error::IO(error) = &source;
        if error.kind() == std::io::ErrorKind::Interrupted {
            return CliError::Interrupted;
        }
        CliError::Ask { what: what.to_owned(), source }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_chosen_option_goes_with_its_label_where_the_prop_asks_for_it() {
        let (option, plain) = (json!({ "label": "One", "value": 1 }), json!("red"));
        let chosen = |def, option| super::chosen_value(&def, option);
        assert_eq!(chosen(json!({}), &option), 1);
        assert_eq!(chosen(json!({}), &plain), "red");
        let with_label = json!({ "withLabel": true });
        let labelled = |label, value| json!({ "__lv": { "label": label, "value": value } });
        assert_eq!(chosen(with_label.clone(), &option), labelled("One", json!(1)));
        let none = json!({ "label": "None", "value": null });
        assert_eq!(chosen(with_label.clone(), &none), json!(null));
        assert_eq!(chosen(with_label, &plain), labelled("red", json!("red")));
    }

    #[test]
    fn a_key_is_read_with_or_without_an_address() {
        let read = |text| super::credentials(text);
        assert_eq!(read("k\n"), (None, Some("k".into())));
        assert_eq!(read("http://x\nk\n"), (Some("http://x".into()), Some("k".into())));
        assert_eq!(read("k\nhttps://x"), (Some("https://x".into()), Some("k".into())));
        assert_eq!(read("\n"), (None, None));
    }
}
