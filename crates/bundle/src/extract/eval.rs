//! Values of expressions, across the modules of a tree, without running anything.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use indexmap::IndexMap;
use parking_lot::Mutex;

use super::lower::lower;
use super::module::{Element, Export, Expr, Imported, Member, Module};
use crate::specifier::Bare;
use crate::tree::{self, Files};

/// How deep names may lead to names.
const DEPTH_MAX: u32 = 150;
/// How many expressions are looked at for one component: code can be written whose value is larger
/// than any memory.
const STEPS_MAX: u32 = 200_000;
/// A longer text that is put together is not looked at.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Constants of the platform's module that props are made of.
const PLATFORM_NUMBERS: &[(&str, f64)] = &[("DEFAULT_POLLING_SOURCE_TIMER_INTERVAL", 900.0)];

/// A value as far as it is known.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Unknown,
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Arc<str>),
    Array(Arc<Vec<Value>>),
    Object(Arc<Object>),
    Function,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    pub(super) entries: IndexMap<String, Value>,
    /// There may be more than the entries.
    pub(super) open: bool,
}

impl Object {
    /// The value of a member; unknown where it may be among what is not known.
    pub(super) fn get(&self, name: &str) -> Value {
        match self.entries.get(name) {
            Some(value) => value.clone(),
            None if self.open => Value::Unknown,
            None => Value::Undefined,
        }
    }
}

impl Value {
    pub(super) fn member(&self, name: &str) -> Value {
        match self {
            Self::Object(object) => object.get(name),
            _ => Self::Unknown,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The modules of a tree, read when first asked for and shared between threads.
pub(crate) struct Workspace<'f> {
    files: &'f dyn Files,
    modules: Mutex<HashMap<String, Option<Arc<Module>>>>,
}

impl<'f> Workspace<'f> {
    pub(crate) fn new(files: &'f dyn Files) -> Self {
        Self { files, modules: Mutex::default() }
    }

    pub(super) fn module(&self, path: &str) -> Option<Arc<Module>> {
        if let Some(known) = self.modules.lock().get(path) {
            return known.clone();
        }
        // Two threads may read one module at once: the same module either way.
        let module = self.files.read(path).map(|text| Arc::new(lower(path, &text)));
        self.modules.lock().insert(path.to_owned(), module.clone());
        module
    }
}

/// One component's evaluation.
pub(super) struct Evaluation<'w, 'f> {
    workspace: &'w Workspace<'f>,
    /// Every path that was looked for, there or not: what the outcome depends on.
    pub(super) looked_for: RefCell<BTreeSet<String>>,
    depth: Cell<u32>,
    steps: Cell<u32>,
}

impl<'w, 'f> Evaluation<'w, 'f> {
    pub(super) fn new(workspace: &'w Workspace<'f>) -> Self {
        Self { workspace, looked_for: RefCell::default(), depth: Cell::new(0), steps: Cell::new(0) }
    }

    pub(super) fn module(&self, path: &str) -> Option<Arc<Module>> {
        self.looked_for.borrow_mut().insert(path.to_owned());
        self.workspace.module(path)
    }

    /// The file that a specifier means; None for packages and what is not there.
    pub(super) fn resolve(&self, specifier: &str, importer: &str) -> Option<String> {
        let exists = |path: &String| self.module(path).is_some();
        if specifier.starts_with('.') {
            let base = tree::join(specifier, importer)?;
            return tree::candidates(&base).find(exists);
        }
        let bare = Bare::parse(specifier).filter(|bare| bare.range.is_none())?;
        let folder = tree::app_folder(&bare.name, importer)?;
        if !bare.subpath.is_empty() {
            let base = format!("{folder}{}", bare.subpath);
            return tree::candidates(&base).find(exists);
        }
        let manifest = format!("{folder}/package.json");
        let main =
            self.export(&manifest, "main").text().and_then(|main| tree::join(main, &manifest));
        main.and_then(|main| tree::candidates(&main).find(exists))
            .or_else(|| tree::app_files(&folder).find(exists))
    }

    /// An export of a file.
    pub(super) fn export(&self, path: &str, name: &str) -> Value {
        let Some(_deeper) = self.deeper() else { return Value::Unknown };
        let Some(module) = self.module(path) else { return Value::Unknown };
        match module.exports.get(name) {
            Some(Export::Expr(e)) => return self.value(e, path, &module),
            Some(Export::From(specifier, what)) => return self.imported(specifier, what, path),
            None => {}
        }
        if module.is_broken {
            return Value::Unknown;
        }
        if let Some(e) = &module.common_js {
            let whole = self.value(e, path, &module);
            return if name == "default" { whole } else { whole.member(name) };
        }
        if name != "default" {
            for specifier in &module.export_all {
                match self.imported(specifier, &Imported::Named(name.to_owned()), path) {
                    Value::Undefined => {}
                    value => return value,
                }
            }
        }
        Value::Undefined
    }

    /// What `require` of a file gives.
    fn whole(&self, path: &str) -> Value {
        match self.module(path) {
            Some(module) if module.common_js.is_some() || module.is_broken => {
                self.export(path, "default")
            }
            Some(module) => {
                let entries = module
                    .exports
                    .keys()
                    .map(|name| (name.clone(), self.export(path, name)))
                    .collect();
                Value::Object(Arc::new(Object { entries, open: !module.export_all.is_empty() }))
            }
            None => Value::Unknown,
        }
    }

    fn imported(&self, specifier: &str, what: &Imported, importer: &str) -> Value {
        let Some(_deeper) = self.deeper() else { return Value::Unknown };
        match (self.resolve(specifier, importer), what) {
            (Some(path), Imported::Named(name)) => self.export(&path, name),
            (Some(path), Imported::Namespace) => self.whole(&path),
            (None, Imported::Named(name)) if specifier == "@pipedream/platform" => PLATFORM_NUMBERS
                .iter()
                .find(|(n, _)| n == name)
                .map_or(Value::Unknown, |(_, number)| Value::Number(*number)),
            (None, _) => Value::Unknown,
        }
    }

    fn value(&self, e: &Expr, path: &str, module: &Module) -> Value {
        let Some(_deeper) = self.deeper() else { return Value::Unknown };
        match e {
            Expr::Unknown => Value::Unknown,
            Expr::Undefined => Value::Undefined,
            Expr::Null => Value::Null,
            Expr::Bool(b) => Value::Bool(*b),
            Expr::Number(n) => Value::Number(*n),
            Expr::Text(text) => Value::Text(text.as_str().into()),
            Expr::Function => Value::Function,
            Expr::Array(elements) => self.array(elements, path, module),
            Expr::Object(members) => self.object(members, path, module),
            Expr::Of(of, name) => self.value(of, path, module).member(name),
            Expr::Without(of, names) => match self.value(of, path, module) {
                Value::Object(object) => {
                    let mut rest = (*object).clone();
                    rest.entries.retain(|name, _| !names.contains(name));
                    Value::Object(Arc::new(rest))
                }
                _ => Value::Unknown,
            },
            Expr::Join(parts) => self.joined(parts, path, module),
            Expr::Require(specifier) => {
                self.resolve(specifier, path).map_or(Value::Unknown, |path| self.whole(&path))
            }
            Expr::Name(name) => match (module.bindings.get(name), module.imports.get(name)) {
                (Some(bound), _) => self.value(bound, path, module),
                (None, Some((specifier, what))) => self.imported(specifier, what, path),
                (None, None) => Value::Unknown,
            },
        }
    }

    fn array(&self, elements: &[Element], path: &str, module: &Module) -> Value {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            match element {
                Element::One(e) => items.push(self.value(e, path, module)),
                Element::Spread(e) => match self.value(e, path, module) {
                    Value::Array(more) => items.extend(more.iter().cloned()),
                    _ => return Value::Unknown,
                },
            }
        }
        Value::Array(Arc::new(items))
    }

    fn object(&self, members: &[Member], path: &str, module: &Module) -> Value {
        let mut object = Object::default();
        for member in members {
            match member {
                Member::Named(name, e) => {
                    object.entries.insert(name.clone(), self.value(e, path, module));
                }
                Member::Computed(name, e) => match self.value(name, path, module) {
                    Value::Text(name) => {
                        object.entries.insert(name.to_string(), self.value(e, path, module));
                    }
                    _ => open(&mut object),
                },
                Member::Spread(e) => match self.value(e, path, module) {
                    Value::Object(more) => {
                        if more.open {
                            open(&mut object);
                        }
                        object.entries.extend(
                            more.entries.iter().map(|(name, value)| (name.clone(), value.clone())),
                        );
                    }
                    Value::Undefined
                    | Value::Null
                    | Value::Function
                    | Value::Bool(_)
                    | Value::Number(_) => {}
                    _ => open(&mut object),
                },
            }
        }
        Value::Object(Arc::new(object))
    }

    fn joined(&self, parts: &[Expr], path: &str, module: &Module) -> Value {
        let mut text = String::new();
        let mut sum = Some(0.0);
        for part in parts {
            match self.value(part, path, module) {
                Value::Text(part) => {
                    text.push_str(&part);
                    sum = None;
                }
                Value::Number(n) => {
                    // `1 + 2` is a sum, and how a text shows a fraction is left to the code.
                    sum = sum.map(|sum| sum + n);
                    if n.fract() != 0.0 || n.abs() > 1e15 {
                        return Value::Unknown;
                    }
                    text.push_str(&n.to_string());
                }
                _ => return Value::Unknown,
            }
            if text.len() > TEXT_BYTES_MAX {
                return Value::Unknown;
            }
        }
        sum.map_or_else(|| Value::Text(text.into()), Value::Number)
    }

    /// One expression deeper, as long as the guard lives; None where it goes too deep or on for too
    /// long.
    fn deeper(&self) -> Option<Deeper<'_>> {
        self.steps.set(self.steps.get() + 1);
        if self.depth.get() >= DEPTH_MAX || self.steps.get() >= STEPS_MAX {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        Some(Deeper(&self.depth))
    }
}

struct Deeper<'e>(&'e Cell<u32>);

impl Drop for Deeper<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// What is not known may have any name, also one that was there before.
fn open(object: &mut Object) {
    object.open = true;
    object.entries.values_mut().for_each(|value| *value = Value::Unknown);
}
