//! Registries: trees of components that an organization brought, and how they are searched.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{OrgId, RegistryId};

/// A tree of components, laid out as `components/<app>/{sources,actions}/<slug>/<slug>.mjs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Its id.
    pub id: RegistryId,
    /// The organization.
    pub org_id: OrgId,
    /// Its name, unique in the organization.
    pub name: String,
    /// Where it came from, for people and for updating it; the server never reads it.
    pub origin: String,
    /// The revision of the origin, such as a commit; empty where it has none.
    pub revision: String,
    /// How many files it has.
    pub file_count: i64,
    /// How many components it has.
    pub component_count: i64,
    /// How many files of components are not in the index; none: the last update was before this was
    /// counted.
    pub unindexed_count: Option<i64>,
    /// The update that failed since the files were last replaced.
    pub failed_update: Option<FailedUpdate>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When its files were last replaced.
    pub updated_at: Timestamp,
}

/// An update of a registry that the server refused: the registry stays as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedUpdate {
    /// When.
    pub at: Timestamp,
    /// Why, of at most [`REASON_CHARS_MAX`] characters.
    pub message: String,
}

/// Most files that are kept of those that an update could not index.
pub const UNINDEXED_MAX: usize = 200;
/// Most characters that are kept of a reason.
pub const REASON_CHARS_MAX: usize = 500;

/// A file that should be a component, and why it is not in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unindexed {
    /// Its path below the root.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A reason as it is kept: its beginning, where it is longer than [`REASON_CHARS_MAX`].
pub fn kept_reason(reason: &str) -> String {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        None => reason.to_owned(),
        Some(_) => reason.chars().take(REASON_CHARS_MAX - 1).chain(['…']).collect(),
    }
}

/// What is kept of the files that an update could not index: the first [`UNINDEXED_MAX`].
pub fn kept_unindexed(all: &[Unindexed]) -> Vec<Unindexed> {
    let kept = |file: &Unindexed| Unindexed {
        path: kept_reason(&file.path),
        reason: kept_reason(&file.reason),
    };
    all.iter().take(UNINDEXED_MAX).map(kept).collect()
}

/// The registry that code was read from, and the state that it was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromRegistry {
    /// Its name.
    pub name: String,
    /// The revision of its origin; empty where it had none, or none was kept.
    pub revision: String,
    /// When that state of it was indexed; none: it was before this was kept.
    pub indexed_at: Option<Timestamp>,
}

/// A component of a tree, as its code says without running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryComponent {
    /// Its key.
    pub key: String,
    /// Its shown name; empty where the code does not tell.
    pub name: String,
    /// Its shown text; empty where the code does not tell.
    pub description: String,
    /// Its version; empty where the code does not tell.
    pub version: String,
    /// `source` or `action`.
    pub component_type: String,
    /// The folder of its app.
    pub app: String,
    /// The entry's path below the root.
    pub path: String,
    /// SHA-256 of the entry's text, lower case hex.
    pub hash: String,
}

impl AsRef<Self> for RegistryComponent {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryFile {
    /// Its path below the root.
    pub path: String,
    /// SHA-256 of the text, lower case hex.
    pub hash: String,
    /// The text.
    pub text: String,
}

/// The folder below `components/` that a path is in; empty for one elsewhere.
pub fn app_of(path: &str) -> &str {
    path.strip_prefix("components/")
        .and_then(|below| below.split_once('/'))
        .map_or("", |(app, _)| app)
}

/// Folders of other apps that a file may import from: `@pipedream/<app>` and `../<app>/`. More than
/// it does import, never less.
pub fn apps_mentioned(text: &str) -> BTreeSet<&str> {
    let name = |rest: &'_ str| {
        rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(rest.len())
    };
    let after = |marker: &'static str| {
        text.match_indices(marker).map(move |(at, _)| &text[at + marker.len()..])
    };
    after("@pipedream/")
        .chain(after("../"))
        .map(|rest| &rest[..name(rest)])
        .filter(|app| !app.is_empty())
        .collect()
}

/// The components that fit, best first. All words must be found; a hit in the key or name weighs
/// more than one in the description, a whole word more than a part. Without words, all of the app
/// in the order of keys.
pub fn search<'c, C: AsRef<RegistryComponent>>(
    components: impl IntoIterator<Item = &'c C>,
    words: &str,
    app: Option<&str>,
    limit: usize,
) -> Vec<&'c C> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let of_app = components
        .into_iter()
        .filter(|component| app.is_none_or(|app| component.as_ref().app == app));
    let mut found: Vec<(u32, &C)> = of_app
        .filter_map(|component| Some((score(component.as_ref(), &words)?, component)))
        .collect();
    let key = |component: &'c C| component.as_ref().key.as_str();
    found.sort_by(|(a, first), (b, second)| {
        b.cmp(a)
            .then_with(|| key(first).len().cmp(&key(second).len()))
            .then_with(|| key(first).cmp(key(second)))
    });
    found.into_iter().take(limit).map(|(_, component)| component).collect()
}

/// None where a word is nowhere.
fn score(component: &RegistryComponent, words: &[String]) -> Option<u32> {
    let (key, name, description) = (
        component.key.to_lowercase(),
        component.name.to_lowercase(),
        component.description.to_lowercase(),
    );
    let mut total = 0;
    for word in words {
        let score =
            weight(&key, word, 20).max(weight(&name, word, 20)).max(weight(&description, word, 2));
        // The whole key, or the app, is what was meant.
        total += score
            + if key == *word { 100 } else { 0 }
            + if component.app == *word { 10 } else { 0 };
        if score == 0 {
            return None;
        }
    }
    Some(total)
}

fn weight(text: &str, word: &str, whole: u32) -> u32 {
    if !text.contains(word) {
        0
    } else if text.split(|c: char| !c.is_alphanumeric()).any(|part| part == word) {
        whole
    } else {
        whole / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(key: &str, name: &str, description: &str) -> RegistryComponent {
        let app = key.split('-').next().unwrap_or_default();
        RegistryComponent {
            key: key.into(),
            name: name.into(),
            description: description.into(),
            version: "0.0.1".into(),
            component_type: "source".into(),
            app: app.into(),
            path: format!("components/{app}/sources/x/x.mjs"),
            hash: String::new(),
        }
    }

    #[test]
    fn keys_and_names_come_before_descriptions() {
        let all = [
            component("mail-new-message", "New Message", "Emits each mail"),
            component("chat-new-message", "New Message", "Emits what is said"),
            component("files-new-file", "New File", "Emits when a message holds a file"),
            component("chat-messages", "Messages", "All of them"),
        ];
        let keys = |words: &str, app| {
            search(&all, words, app, 10).into_iter().map(|c| c.key.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            keys("message", None),
            ["chat-new-message", "mail-new-message", "chat-messages", "files-new-file"]
        );
        assert_eq!(keys("New MESSAGE chat", None), ["chat-new-message"]);
        assert_eq!(keys("", Some("chat")), ["chat-messages", "chat-new-message"]);
        assert!(keys("nothing", None).is_empty() && keys("message", Some("none")).is_empty());
        assert_eq!(search(&all, "", None, 1).len(), 1);
    }

    #[test]
    fn what_is_kept_of_an_update_is_bounded() {
        let file = |n: usize| Unindexed { path: format!("{n}.mjs"), reason: "ü".repeat(n) };
        let kept = kept_unindexed(&(400..700).map(file).collect::<Vec<_>>());
        assert_eq!((kept.len(), kept[0].path.as_str()), (UNINDEXED_MAX, "400.mjs"));
        let chars = |n: usize| kept[n].reason.chars().count();
        assert_eq!((chars(0), chars(100), chars(101)), (400, 500, 500));
        assert!(kept[100].reason.ends_with('ü') && kept[101].reason.ends_with("ü…"));
    }

    #[test]
    fn other_apps_that_a_file_names() {
        let text = "import a from '@pipedream/google_drive/x.mjs'; import b from \"../../../slack-bot/y.mjs\"; import './z.mjs'";
        assert_eq!(
            apps_mentioned(text).into_iter().collect::<Vec<_>>(),
            ["google_drive", "slack-bot"]
        );
        assert_eq!(
            (app_of("components/slack/slack.app.mjs"), app_of("package.json")),
            ("slack", "")
        );
    }
}
