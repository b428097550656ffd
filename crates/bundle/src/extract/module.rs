//! Model of a module: its top-level expressions, without the bodies of functions.

use std::collections::HashMap;

/// An expression as far as it can matter. What is [`Expr::Unknown`] cannot be known without running
/// the code.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    Unknown,
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Element>),
    Object(Vec<Member>),
    /// A function, method or arrow.
    Function,
    /// A binding of the module.
    Name(String),
    /// A member of a value.
    Of(Box<Expr>, String),
    /// The rest of a destructured object.
    Without(Box<Expr>, Vec<String>),
    /// Texts put together.
    Join(Vec<Expr>),
    /// `require("…")`.
    Require(String),
}

#[derive(Clone, Debug)]
pub(super) enum Element {
    One(Expr),
    Spread(Expr),
}

#[derive(Clone, Debug)]
pub(super) enum Member {
    Named(String, Expr),
    /// The name is itself an expression.
    Computed(Expr, Expr),
    Spread(Expr),
}

/// What a name was imported as.
#[derive(Clone, Debug)]
pub(super) enum Imported {
    /// `default` among them.
    Named(String),
    Namespace,
}

/// What an export name stands for.
#[derive(Clone, Debug)]
pub(super) enum Export {
    Expr(Expr),
    From(String, Imported),
}

#[derive(Debug, Default)]
pub(super) struct Module {
    /// It does not parse: nothing of it is known.
    pub(super) is_broken: bool,
    /// Local name to specifier and what of it.
    pub(super) imports: HashMap<String, (String, Imported)>,
    /// Constants, functions among them.
    pub(super) bindings: HashMap<String, Expr>,
    pub(super) exports: HashMap<String, Export>,
    /// `export * from`.
    pub(super) export_all: Vec<String>,
    /// `module.exports = …`.
    pub(super) common_js: Option<Expr>,
    /// `$auth` keys by what `$auth` is a member of: `this` gives none, `this.app` and `app` give
    /// `app`.
    pub(super) auth: Vec<(Option<String>, String)>,
    /// Specifiers of static and constant dynamic imports, for whoever wants the files that a
    /// component reaches.
    pub(super) specifiers: Vec<String>,
}
