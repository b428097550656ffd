//! Parameter of a route: its name, form, bounds and description.

use millrace_model::page::Page;

use crate::contract::bounds::Bounds;
use crate::contract::shape::Shape;

/// The form of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A value of a type.
    Of(Shape),
    /// A list of such values.
    ListOf(Shape),
    /// An object with fields such as these parameters.
    Fields(&'static [&'static [Param]]),
    /// An object of any JSON.
    Object,
    /// A list of strings, or a string with commas between them.
    Words,
    /// The same of the words of a type.
    WordsOf(Shape),
    /// Any JSON.
    Any,
}

/// A parameter of the query or body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) bounds: Bounds,
    pub(crate) about: &'static str,
}

impl Param {
    pub(crate) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        let bounds = Bounds { least: None, most: None, default: None };
        Self { name, kind, required: false, bounds, about }
    }

    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// See [`Bounds`] for what is counted.
    pub(crate) const fn within(self, least: u32, most: u32) -> Self {
        let bounds = Bounds { least: Some(least), most: Some(most), ..self.bounds };
        Self { bounds, ..self }
    }

    pub(crate) const fn at_least(self, least: u32) -> Self {
        Self { bounds: Bounds { least: Some(least), ..self.bounds }, ..self }
    }

    pub(crate) const fn at_most(self, most: u32) -> Self {
        Self { bounds: Bounds { most: Some(most), ..self.bounds }, ..self }
    }

    /// The value where the parameter is absent.
    pub(crate) const fn by_default(self, value: u32) -> Self {
        Self { bounds: Bounds { default: Some(value), ..self.bounds }, ..self }
    }
}

pub(crate) const FIELDS: &[Param] = &[
    Param::new("include", Kind::Text, "Only these fields of the record, with commas between them"),
    Param::new("exclude", Kind::Text, "All but these fields"),
];

/// How many items an answer has.
pub(crate) const fn limit(about: &'static str, default: u32) -> Param {
    Param::new("limit", Kind::Number, about).within(1, Page::LIMIT_MAX).by_default(default)
}

pub(crate) const PAGE: &[Param] = &[
    limit("Items on a page", Page::LIMIT_DEFAULT),
    Param::new("after", Kind::Text, "Items after this cursor: the `end_cursor` of the page before"),
    Param::new(
        "before",
        Kind::Text,
        "Items before this cursor: the `start_cursor` of the page after",
    ),
];
