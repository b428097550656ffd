//! Readers of a request's fields, derived from a struct: `field: form`, with a comment that says
//! what it is. The same lines declare the route's parameters.

use millrace_model::clock::Timestamp;
use millrace_model::people::Role;
use millrace_model::tenant::{Scope, Scopes};
use serde_json::{Map, Value};

use crate::contract::routes::{Kind, Param};
use crate::contract::shape::of;
use crate::error::ApiError;
use crate::extract::Params;

/// What a request gives: its parameters, and how they are read.
pub(crate) trait Input: Sized {
    /// As the route declares them.
    const PARAMS: &'static [Param];

    /// Reads them; the first that is wrong is named.
    fn read(params: &Params) -> Result<Self, ApiError>;
}

/// Makes a struct of a request's fields and its [`Input`]; with `for`, the [`Input`] of a struct of
/// the engine.
macro_rules! input {
    (for $name:ident { $($(#[doc = $about:literal])* $field:ident: $form:ty,)* }) => {
        impl $crate::input::Input for $name {
            const PARAMS: &'static [$crate::contract::routes::Param] =
                &[$($crate::input::param::<$form>(stringify!($field), concat!($($about),*)),)*];

            fn read(
                params: &$crate::extract::Params,
            ) -> Result<Self, $crate::error::ApiError> {
                $(let $field = <$form as $crate::input::Read>::read(
                    params, stringify!($field), concat!($($about),*).trim(),
                )?;)*
                Ok(Self { $($field,)* })
            }
        }
    };
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $about:literal])* $field:ident: $form:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $name {
            $(pub(crate) $field: <$form as $crate::input::Read>::Value,)*
        }

        $crate::input::input! { for $name { $($(#[doc = $about])* $field: $form,)* } }
    };
}
pub(crate) use input;

/// The parameter that a field declares.
pub(crate) const fn param<R: Read>(name: &'static str, about: &'static str) -> Param {
    Param { required: R::IS_REQUIRED, ..Param::new(name, R::KIND, about.trim_ascii()) }
}

/// A form of values: how one is read where it is given, and None where it is absent or null.
pub(crate) trait Form {
    const KIND: Kind;
    type Value;

    fn read(params: &Params, field: &str) -> Result<Option<Self::Value>, ApiError>;
}

/// A field: a form that must be given, or that may be absent.
pub(crate) trait Read {
    const KIND: Kind;
    const IS_REQUIRED: bool;
    type Value;

    fn read(params: &Params, field: &str, about: &str) -> Result<Self::Value, ApiError>;
}

impl<F: Form> Read for F {
    const KIND: Kind = F::KIND;
    const IS_REQUIRED: bool = true;
    type Value = F::Value;

    fn read(params: &Params, field: &str, about: &str) -> Result<F::Value, ApiError> {
        F::read(params, field)?.ok_or_else(|| ApiError::missing(field, about))
    }
}

impl<F: Form> Read for Option<F> {
    const KIND: Kind = F::KIND;
    const IS_REQUIRED: bool = false;
    type Value = Option<F::Value>;

    fn read(params: &Params, field: &str, _: &str) -> Result<Self::Value, ApiError> {
        F::read(params, field)
    }
}

/// A field of an update: absent leaves what is there, null takes it away.
pub(crate) struct Change<F>(std::marker::PhantomData<F>);

impl<F: Form> Read for Change<F> {
    const KIND: Kind = F::KIND;
    const IS_REQUIRED: bool = false;
    type Value = Option<Option<F::Value>>;

    fn read(params: &Params, field: &str, _: &str) -> Result<Self::Value, ApiError> {
        params.0.contains_key(field).then(|| F::read(params, field)).transpose()
    }
}

/// Makes the [`Form`] of a type that [`Params`] reads.
macro_rules! forms {
    ($($form:ty: $kind:ident = $read:ident -> $value:ty,)*) => {$(
        impl Form for $form {
            const KIND: Kind = Kind::$kind;
            type Value = $value;

            fn read(params: &Params, field: &str) -> Result<Option<$value>, ApiError> {
                params.$read(field)
            }
        }
    )*};
}

/// A list of words, or a text with commas between them.
pub(crate) struct Words;
/// A time in epoch seconds.
pub(crate) struct EpochSecs;

forms! {
    String: Text = text -> String,
    bool: Flag = flag -> bool,
    u32: Number = number -> u32,
    u64: Number = number -> u64,
    i64: Number = number -> i64,
    Map<String, Value>: Object = object -> Map<String, Value>,
    Words: Words = words -> Vec<String>,
}

impl Form for EpochSecs {
    const KIND: Kind = Kind::Number;
    type Value = Timestamp;

    fn read(params: &Params, field: &str) -> Result<Option<Timestamp>, ApiError> {
        // Beyond the year 9999 it is a time in milliseconds by mistake.
        match params.number::<i64>(field) {
            Ok(None) => Ok(None),
            Ok(Some(secs)) if (0..=253_402_300_799).contains(&secs) => {
                Ok(Some(Timestamp(secs * 1000)))
            }
            _ => Err(ApiError::field(field, format!("`{field}` is not a time in epoch seconds"))),
        }
    }
}

impl Form for Role {
    const KIND: Kind = Kind::Of(of::<Role>());
    type Value = Self;

    fn read(params: &Params, field: &str) -> Result<Option<Self>, ApiError> {
        let Some(text) = params.text(field)? else { return Ok(None) };
        Self::parse(&text).map(Some).ok_or_else(|| {
            let shown = millrace_model::shown(&text);
            let allowed = "allowed are owner, member and viewer";
            ApiError::field(field, format!("`{field}` is `{shown}`, {allowed}"))
        })
    }
}

/// What a key may do. Nothing is given that was not asked for by its name.
impl Form for Scopes {
    const KIND: Kind = Kind::WordsOf(of::<Scope>());
    type Value = Self;

    fn read(params: &Params, field: &str) -> Result<Option<Self>, ApiError> {
        let allowed = || Scope::ALL.map(Scope::as_str).join(", ");
        let Some(words) = params.words(field)? else { return Ok(None) };
        let parsed = words.iter().map(|word| {
            Scope::parse(word).ok_or_else(|| {
                let shown = millrace_model::shown(word);
                let text = format!("`{shown}` is not a scope; allowed are {}", allowed());
                ApiError::field(field, text)
            })
        });
        let scopes = Self::of(parsed.collect::<Result<_, _>>()?);
        scopes.map(Some).ok_or_else(|| {
            ApiError::field(field, format!("`{field}` is empty; allowed are {}", allowed()))
        })
    }
}
