//! Forms in which props are filled in (spec 2.7.1): `additionalProps` sees what it gave to a form
//! when the form asks again.

use crate::clock::Timestamp;
use crate::component::PropDef;
use crate::ids::{FormId, OrgId};

/// How long a form is known after it was last told props: a day, in milliseconds.
pub const KEPT_MS: i64 = 24 * 3600 * 1000;
/// Forms of an organization that are known; those told longest ago go first.
pub const FORMS_MAX: u32 = 1_000;
/// Bytes of the definitions, as JSON, that are kept of a form; of larger ones the next question
/// does not tell.
pub const PROPS_BYTES_MAX: usize = 256 << 10;

/// A form.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Its id.
    pub id: FormId,
    /// Whose it is.
    pub org_id: OrgId,
    /// The module whose props it asks for.
    pub artifact_id: String,
    /// The definitions that `additionalProps` made or changed when it was asked last.
    pub props: Vec<PropDef>,
    /// When it goes.
    pub expires_at: Timestamp,
}
