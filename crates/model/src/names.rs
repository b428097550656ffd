//! Search by name over an organization's records: matching and order of results.

/// The kinds of records that are found by name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NamedKind {
    /// A workflow.
    Workflow,
    /// A source.
    Source,
    /// A component, published or of a registry; its id is its key.
    Component,
    /// A connected account.
    Account,
    /// A data store.
    DataStore,
    /// A webhook.
    Webhook,
    /// A registry; its id is its name.
    Registry,
    /// A domain.
    Domain,
    /// A group of errors.
    ErrorGroup,
    /// A member of the organization.
    Member,
    /// A run; by its id only.
    Run,
    /// A replay of many runs; by its id only.
    Replay,
    /// A deployment of a workflow; by its id only.
    Deployment,
}

impl NamedKind {
    /// All, in the order in which those that fit equally well are shown.
    pub const ALL: [Self; 13] = [
        Self::Workflow,
        Self::Source,
        Self::Component,
        Self::Account,
        Self::DataStore,
        Self::Webhook,
        Self::Registry,
        Self::Domain,
        Self::ErrorGroup,
        Self::Member,
        Self::Run,
        Self::Replay,
        Self::Deployment,
    ];

    /// As shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Source => "source",
            Self::Component => "component",
            Self::Account => "account",
            Self::DataStore => "data_store",
            Self::Webhook => "webhook",
            Self::Registry => "registry",
            Self::Domain => "domain",
            Self::ErrorGroup => "error_group",
            Self::Member => "member",
            Self::Run => "run",
            Self::Replay => "replay",
            Self::Deployment => "deployment",
        }
    }

    /// Reads back [`NamedKind::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// A record by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its kind.
    pub kind: NamedKind,
    /// What names it in the API.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What else is known of it: an app, an address, a message; may be empty.
    pub about: String,
}

/// Words that are searched for.
#[derive(Clone, Debug)]
pub struct AskedName {
    whole: String,
    words: Vec<String>,
}

impl AskedName {
    /// The words of a text; none: there is nothing to search for.
    pub fn of(text: &str) -> Option<Self> {
        let whole = text.trim().to_lowercase();
        let words: Vec<String> = whole.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { whole, words })
    }

    /// How well a record fits, 0 the best; none: not every word is in it.
    pub fn rank(&self, record: &Named) -> Option<u8> {
        let (name, about) = (record.name.to_lowercase(), record.about.to_lowercase());
        if record.id.to_lowercase() == self.whole || name == self.whole {
            return Some(0);
        }
        if name.starts_with(&self.whole) {
            return Some(1);
        }
        let begins = |word: &String| {
            name.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word.as_str()))
        };
        if self.words.iter().all(begins) {
            return Some(2);
        }
        if self.words.iter().all(|word| name.contains(word.as_str())) {
            return Some(3);
        }
        self.words
            .iter()
            .all(|word| name.contains(word.as_str()) || about.contains(word.as_str()))
            .then_some(4)
    }

    /// The best `limit` of what fits: of equals those of an earlier kind, and of one kind in the
    /// order given.
    pub fn best(&self, records: Vec<Named>, limit: usize) -> Vec<Named> {
        let mut fitting: Vec<(u8, Named)> =
            records.into_iter().filter_map(|record| Some((self.rank(&record)?, record))).collect();
        fitting.sort_by_key(|(rank, record)| (*rank, record.kind));
        fitting.into_iter().take(limit).map(|(_, record)| record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: NamedKind, name: &str, about: &str) -> Named {
        Named { kind, id: format!("id_{name}"), name: name.into(), about: about.into() }
    }

    #[test]
    fn what_fits_best_comes_first() {
        let all = vec![
            named(NamedKind::Webhook, "other", "https://example.com/order"),
            named(NamedKind::Source, "reorder", ""),
            named(NamedKind::Source, "New order", ""),
            named(NamedKind::Source, "Orders in", ""),
            named(NamedKind::Workflow, "orders", ""),
            named(NamedKind::Account, "Order", ""),
            named(NamedKind::Account, "none", ""),
        ];
        let names = |text: &str, limit| {
            AskedName::of(text).map(|asked| {
                asked.best(all.clone(), limit).into_iter().map(|n| n.name).collect::<Vec<_>>()
            })
        };
        assert_eq!(
            names("ORDER", 10).unwrap(),
            ["Order", "orders", "Orders in", "New order", "reorder", "other"]
        );
        assert_eq!(names("order new", 10).unwrap(), ["New order"]);
        assert_eq!(names("id_none", 10).unwrap(), ["none"]);
        assert_eq!(names("order", 2).unwrap(), ["Order", "orders"]);
        assert_eq!(names(" ", 10), None);
    }

    #[test]
    fn kinds_are_read_as_they_are_written() {
        assert!(
            NamedKind::ALL.into_iter().all(|kind| NamedKind::parse(kind.as_str()) == Some(kind))
                && NamedKind::ALL.is_sorted()
        );
    }
}
