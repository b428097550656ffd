//! A saved component and what its module says of itself (spec 2.6).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::dedupe::Strategy;
use crate::ids::{ComponentId, OrgId};
use crate::prop_type::PropType;
use crate::registry::FromRegistry;

/// A component's kind; a module without `type` is a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ComponentType {
    /// Emits events.
    Source,
    /// A step of a workflow.
    Action,
}

impl ComponentType {
    /// As components and records name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Action => "action",
        }
    }
}

/// A hook of a source (spec 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// When deployed.
    Deploy,
    /// When deployed, updated or made active.
    Activate,
    /// When updated, made inactive or deleted.
    Deactivate,
}

impl Hook {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Deploy, Self::Activate, Self::Deactivate];

    /// The hook of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// As the component writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Activate => "activate",
            Self::Deactivate => "deactivate",
        }
    }
}

/// What loading the module tells: made in a host, so checked before use ([`Manifest::check`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Shown name.
    pub name: Option<String>,
    /// Key within the namespace.
    pub key: Option<String>,
    /// Free-form version.
    pub version: Option<String>,
    /// `source` or `action`.
    #[serde(rename = "type")]
    pub component_type: Option<String>,
    /// Shown text.
    pub description: Option<String>,
    /// Name of the dedupe strategy.
    pub dedupe: Option<String>,
    /// Whether there is a `run` method.
    pub has_run: bool,
    /// Hooks that exist.
    pub hooks: Vec<Hook>,
    /// Functions among the hooks that are called by no name of a hook: nothing runs them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_hooks: Vec<String>,
    /// Names of methods.
    pub methods: Vec<String>,
    /// Whether there is `additionalProps`.
    pub has_additional_props: bool,
    /// Hints about its effects, as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// The exported test event.
    pub sample_emit: Option<Value>,
    /// Definitions in order, each with its `name`.
    pub props: Vec<PropDef>,
}

/// One prop's definition: the fields that rules read, and the rest as given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PropDef {
    /// The prop's name.
    pub name: String,
    /// The type as written; unknown types are kept (reference 3).
    #[serde(rename = "type")]
    pub prop_type: String,
    /// Whether a value may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// The value when none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Hidden and encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<bool>,
    /// Least integer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_written")]
    pub min: Option<f64>,
    /// Greatest integer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_written")]
    pub max: Option<f64>,
    /// Everything else, passed through.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A whole number without a fraction, as JavaScript writes it.
fn as_written<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number {
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            (*number as i64).serialize(serializer)
        }
        number => number.serialize(serializer),
    }
}

impl PropDef {
    /// The slug of the app whose account, or accounts, the prop holds (spec 2.7.1: `app` and arrays
    /// of it).
    pub fn app(&self) -> Option<&str> {
        (self.item_type() == PropType::App)
            .then(|| self.rest.get("app").and_then(Value::as_str).unwrap_or(""))
    }

    /// Whether a configured value is required at deploy: interfaces, services, apps' display and
    /// optional or defaulted props are not, nor what a form does not show or let be changed.
    pub fn required(&self) -> bool {
        self.asks_for_value() && self.item_type().needs_value()
    }

    /// Whether a form asks for a value and has none of its own.
    pub fn asks_for_value(&self) -> bool {
        let is_set = |field: &str| self.rest.get(field) == Some(&Value::Bool(true));
        !(self.optional == Some(true)
            || is_set("hidden")
            || is_set("disabled")
            || self.default.is_some()
            || self.rest.contains_key("static"))
    }

    /// The type of the value, or of a list's items.
    pub fn item_type(&self) -> PropType {
        PropType::parse(&self.prop_type).0
    }

    /// Whether the value is one of this type, and no list of them.
    pub fn is(&self, prop_type: PropType) -> bool {
        PropType::parse(&self.prop_type) == (prop_type, false)
    }
}

/// A module that is not a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// No `name`.
    #[error(
        "the component has no `name`; a component's default export needs name, version and run"
    )]
    NoName,
    /// No `run`.
    #[error("the action `{name}` has no `run` method; an action needs `async run({{ $ }})`")]
    ActionWithoutRun {
        /// The action's name.
        name: String,
    },
    /// Neither source nor action.
    #[error("`{value}` is not a component type; allowed are `source` and `action`")]
    Type {
        /// The value given.
        value: String,
    },
    /// Not a strategy.
    #[error("`{value}` is not a dedupe strategy; allowed are `unique`, `greatest` and `last`")]
    Dedupe {
        /// The value given.
        value: String,
    },
    /// A key that no index can hold.
    #[error(
        "the component's `key` has {bytes} bytes; at most {KEY_BYTES_MAX} are allowed, such as `app_name-do-something`"
    )]
    Key {
        /// Its length, bytes.
        bytes: usize,
    },
}

/// The longest key of a component, bytes: keys are parts of the database's indexes, and an entry of
/// those of Postgres holds 2,700.
pub const KEY_BYTES_MAX: usize = 300;

impl Manifest {
    /// Checks what every component needs and gives its type (spec 2.6).
    pub fn check(&self) -> Result<ComponentType, ManifestError> {
        let name = self
            .name
            .as_deref()
            .map(str::trim)
            .filter(|n| !n.is_empty())
            .ok_or(ManifestError::NoName)?;
        self.dedupe_strategy()?;
        match self.component_type.as_deref() {
            None | Some("source") => Ok(ComponentType::Source),
            Some("action") if self.has_run => Ok(ComponentType::Action),
            Some("action") => Err(ManifestError::ActionWithoutRun { name: crate::shown(name) }),
            Some(other) => Err(ManifestError::Type { value: crate::shown(other) }),
        }
    }

    /// That its key, where it has one, is not too long to be kept.
    pub fn check_key(&self) -> Result<(), ManifestError> {
        match self.key.as_deref().map_or(0, str::len) {
            bytes if bytes > KEY_BYTES_MAX => Err(ManifestError::Key { bytes }),
            _ => Ok(()),
        }
    }

    /// The dedupe strategy, if one is named.
    pub fn dedupe_strategy(&self) -> Result<Option<Strategy>, ManifestError> {
        match self.dedupe.as_deref() {
            None | Some("") => Ok(None),
            Some("unique") => Ok(Some(Strategy::Unique)),
            Some("greatest") => Ok(Some(Strategy::Greatest)),
            Some("last") => Ok(Some(Strategy::Last)),
            Some(other) => Err(ManifestError::Dedupe { value: crate::shown(other) }),
        }
    }
}

/// The files beside a component's entry, as they were sent: enough to write them to disk again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CodeFiles {
    /// The entry's path below the root that all paths have in common.
    pub entry: String,
    /// The texts of the other files by path.
    #[serde(default)]
    pub others: BTreeMap<String, String>,
}

/// Code that was deployed or published, not an instance of it (spec 2.8).
#[derive(Clone, Debug)]
pub struct SavedComponent {
    /// Its id.
    pub id: ComponentId,
    /// The organization.
    pub org_id: OrgId,
    /// The author's source text of the entry.
    pub code: String,
    /// SHA-256 of `code`, lower case hex (facts 0).
    pub code_hash: String,
    /// The files that came with the code, where it came as a file.
    pub files: Option<CodeFiles>,
    /// Where the code came from, if from an address.
    pub url: Option<String>,
    /// The registry that the code came from; none where it came from elsewhere, or was saved before
    /// this was kept.
    pub registry: Option<FromRegistry>,
    /// Source or action.
    pub component_type: ComponentType,
    /// What its module says.
    pub manifest: Manifest,
    /// The built module.
    pub artifact_id: String,
    /// Whether it was published for use by key.
    pub published: bool,
    /// When it was saved.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A built module: immutable, its id the SHA-256 of its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256 of `code`, lower case hex.
    pub id: String,
    /// One ES module.
    pub code: String,
    /// Source map as JSON.
    pub source_map: Option<String>,
    /// Package lock as JSON.
    pub lock: String,
    /// Whether it answers HTTP requests itself.
    pub responds: Responds,
}

/// What lies beside a module, for code reads files beside its own or loads code by name: packages
/// as installed, and the author's own files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// By the name of their folder in the store of packages.
    pub packages: BTreeMap<String, PlacedPackage>,
    /// Names by which the module, and code as it runs, imports them, and their folders.
    pub links: BTreeMap<String, String>,
    /// The author's own files by path, as [`crate::own_files::text_of`] gives them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// A package that lies beside a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedPackage {
    /// The name that it is imported by.
    pub import_name: String,
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `sha512-…` of its archive.
    pub integrity: String,
    /// Folders of the packages that it needs, by the name that it imports them by.
    pub needs: BTreeMap<String, String>,
}

/// Whether code answers HTTP requests with `$.respond`, as far as it can be told without running
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Responds {
    /// Nothing in it leads there. Should it answer all the same, that comes too late.
    #[default]
    Never,
    /// It, or a package of it, may: a client waits for the end of the run, and gets the default
    /// answer where there is no other.
    Perhaps,
    /// Its author takes `respond` from `$`: a run that ends without an answer is a fault.
    Surely,
}
