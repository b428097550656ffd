//! Names of the values that a type allows, as errors list them.

use crate::component::PropDef;
use crate::prop_type::PropType;
use crate::shown;

/// Names of props that one error lists.
const NAMES_SHOWN: usize = 50;

/// The allowed values; none, where every value fits.
pub(super) fn value(prop_type: PropType, def: &PropDef) -> Option<String> {
    Some(match prop_type {
        PropType::Text => "a string".to_owned(),
        PropType::Integer => format!("an integer{}", bounds(def)),
        PropType::Boolean => "true or false".to_owned(),
        PropType::Object => "an object".to_owned(),
        PropType::App => {
            let app = def.app().unwrap_or_default();
            format!(
                "a connected account of {app}: {{\"authProvisionId\": \"apn_…\"}}; `millrace accounts list --app {app}` shows them"
            )
        }
        PropType::HttpRequest => {
            "an object with `url`, and optionally `method`, `headers`, `params`, `auth` and `body`"
                .to_owned()
        }
        PropType::Sql => {
            "a query: a string, or an object with the string `query` and optionally the array `params`"
                .to_owned()
        }
        PropType::FileStore => {
            "a file store: its name, 1 to 64 letters, digits, `-`, `_` and `.`; it need not exist yet"
                .to_owned()
        }
        PropType::DataStore
        | PropType::Alert
        | PropType::HttpInterface
        | PropType::TimerInterface
        | PropType::AppHook
        | PropType::Db
        | PropType::Service
        | PropType::Other => return None,
    })
}

/// The allowed items of a list.
pub(super) fn items(prop_type: PropType, def: &PropDef) -> String {
    let name = def.prop_type.trim_end_matches("[]");
    match prop_type {
        PropType::App => "connected accounts, each {\"authProvisionId\": \"apn_…\"}".to_owned(),
        PropType::Integer => format!("{name} values{}", bounds(def)),
        PropType::Text
        | PropType::Boolean
        | PropType::Object
        | PropType::HttpRequest
        | PropType::Sql
        | PropType::DataStore
        | PropType::FileStore
        | PropType::Alert
        | PropType::HttpInterface
        | PropType::TimerInterface
        | PropType::AppHook
        | PropType::Db
        | PropType::Service
        | PropType::Other => format!("{name} values"),
    }
}

/// The names that an error lists.
pub(super) fn names(defs: &[PropDef]) -> String {
    let names: Vec<_> =
        defs.iter().take(NAMES_SHOWN).map(|def| format!("`{}`", shown(&def.name))).collect();
    match defs.len().checked_sub(NAMES_SHOWN) {
        _ if defs.is_empty() => "none".to_owned(),
        Some(more @ 1..) => format!("{} and {more} more", names.join(", ")),
        _ => names.join(", "),
    }
}

/// What an integer has to be, behind the words `an integer`.
fn bounds(def: &PropDef) -> String {
    match (def.min, def.max) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" of at least {min}"),
        (None, Some(max)) => format!(" of at most {max}"),
        (None, None) => String::new(),
    }
}
