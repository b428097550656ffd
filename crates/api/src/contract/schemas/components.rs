//! Fields of records of components, their forms, and the registries that they come from.

use super::Fields;
use super::parts::COMPONENT_TYPE;

pub(super) const COMPONENTS: &[(&str, &str, Fields)] = &[
    (
        "Component",
        "A saved component",
        &[
            ("id", "string"),
            ("code", "string"),
            ("code_hash", "string"),
            ("name", "string|null"),
            ("key", "string|null"),
            ("version", "string|null"),
            ("description", "string|null"),
            ("type", COMPONENT_TYPE),
            ("files", "#CodeFiles|null"),
            ("configurable_props", "[#Prop]"),
            ("annotations", "#Json"),
            ("apps", "[string]"),
            ("component_url", "string|null"),
            ("published", "boolean"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    (
        "ConnectComponent",
        "A component that a key names",
        &[
            ("key", "string"),
            ("name", "string"),
            ("version", "string"),
            ("description", "string|null"),
            ("component_type", COMPONENT_TYPE),
            ("configurable_props", "[#Prop]"),
            ("annotations", "#Annotations|null"),
            ("stash", "null"),
        ],
    ),
    (
        "RegistryComponent",
        "A component that a key names: a saved one, or one of a registry, which has an id from its first deploy on",
        &[
            ("id", "string|null"),
            ("code", "string"),
            ("code_hash", "string"),
            ("name", "string|null"),
            ("key", "string|null"),
            ("version", "string|null"),
            ("description", "string|null"),
            ("type", COMPONENT_TYPE),
            ("files?", "#CodeFiles|null"),
            ("configurable_props", "[#Prop]"),
            ("annotations", "#Json"),
            ("apps", "[string]"),
            ("app?", "string"),
            ("path?", "string"),
            ("versions?", "[string]"),
            ("component_url?", "string|null"),
            ("published", "boolean"),
            ("created_at?", "integer"),
            ("updated_at?", "integer"),
        ],
    ),
    (
        "FoundComponent",
        "A component of a registry that fits",
        &[
            ("key", "string"),
            ("name", "string"),
            ("description", "string"),
            ("version", "string"),
            ("type", COMPONENT_TYPE),
            ("app", "string"),
        ],
    ),
    (
        "Found",
        "What fits, best first: keys by type, and all components",
        &[("sources", "[string]"), ("actions", "[string]"), ("components", "[#FoundComponent]")],
    ),
    (
        "FoundKeys",
        "What fits; the keys stand beside `data` too, where clients of the hosted platform look for them",
        &[("data", "#Found"), ("sources", "[string]"), ("actions", "[string]")],
    ),
    ("Registry", "A registry: a tree of components", REGISTRY),
    (
        "Unindexed",
        "A file of a registry that is no component, and why",
        &[("path", "string"), ("reason", "string")],
    ),
    (
        "DeletedRegistry",
        "A registry that was deleted",
        &[("name", "string"), ("deleted", "boolean")],
    ),
    ("Unpublished", "A key that was taken away", &[("key", "string"), ("published", "boolean")]),
    (
        "Options",
        "Options of a prop, or why there are none",
        &[("options", "[#Json]"), ("context", "#Json"), ("errors", "[string]")],
    ),
    (
        "ConnectOptions",
        "Options of a prop, or why there are none",
        &[
            ("options", "[#Json]"),
            ("stringOptions", "null"),
            ("context", "#JsonObject|null"),
            ("observations", "[#Observation]"),
            ("errors", "[string]"),
        ],
    ),
    (
        "ConnectDynamicProps",
        "Props that depend on others, or why there are none",
        &[
            ("dynamicProps", "#ConnectForm|null"),
            ("observations", "[#Observation]"),
            ("errors", "[string]"),
        ],
    ),
    (
        "DynamicProps",
        "Props that depend on others, or why there are none",
        &[("dynamic_props", "#Form|null"), ("errors", "[string]")],
    ),
];

pub(super) const REGISTRY: Fields = &[
    ("id", "string"),
    ("name", "string"),
    ("origin", "string"),
    ("revision", "string"),
    ("file_count", "integer"),
    ("component_count", "integer"),
    ("created_at", "integer"),
    ("updated_at", "integer"),
];
