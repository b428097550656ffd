//! Entity tag of a workflow's record (`ETag`, `If-Match`): the draft's revision, and a hash of each
//! field beside the draft that a request can set.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::workflow::Workflow;

/// The fields beside the draft, in the order of their hashes.
const FIELDS: [&str; 5] = ["name", "active", "note", "tags", "made_from"];
/// Hex digits of a field's hash.
const HASH_DIGITS: usize = 8;

/// `REVISION-HASHES`, as the server makes it, or `REVISION` alone: that one names the draft only.
/// A hash for each field tells a client which fields were changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowTag {
    /// The revision of the draft.
    pub revision: i64,
    /// The hash of each field; none: the client names the draft only.
    hashes: Option<[String; FIELDS.len()]>,
}

impl WorkflowTag {
    /// The tag of a record.
    pub fn of(workflow: &Workflow) -> Self {
        let Workflow { name, active, note, tags, made_from, drafted, .. } = workflow;
        Self {
            revision: drafted.revision,
            hashes: Some([hash(name), hash(active), hash(note), hash(tags), hash(made_from)]),
        }
    }

    /// The fields beside the draft that differ between both. A tag of a revision alone has none.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        let (Some(own), Some(others)) = (&self.hashes, &other.hashes) else { return Vec::new() };
        let pairs = own.iter().zip(others).zip(FIELDS);
        pairs.filter(|((own, other), _)| own != other).map(|(_, field)| field).collect()
    }
}

impl fmt::Display for WorkflowTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.revision)?;
        self.hashes.as_ref().map_or(Ok(()), |hashes| write!(f, "-{}", hashes.concat()))
    }
}

/// Not a tag of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTag;

impl FromStr for WorkflowTag {
    type Err = NoTag;

    fn from_str(text: &str) -> Result<Self, NoTag> {
        let (revision, hashes) = match text.split_once('-') {
            None => (text, None),
            Some((revision, hashes)) => (revision, Some(parts(hashes).ok_or(NoTag)?)),
        };
        Ok(Self { revision: revision.parse().map_err(|_| NoTag)?, hashes })
    }
}

fn parts(hashes: &str) -> Option<[String; FIELDS.len()]> {
    let is_whole = hashes.len() == HASH_DIGITS * FIELDS.len();
    if !is_whole || !hashes.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some(std::array::from_fn(|n| hashes[n * HASH_DIGITS..][..HASH_DIGITS].to_owned()))
}

fn hash(value: &impl Serialize) -> String {
    // A text, a list of texts and a map of texts are always JSON.
    let json = serde_json::to_vec(value).unwrap_or_default();
    let digest = Sha256::digest(json);
    digest[..HASH_DIGITS / 2].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::made_from::MadeFrom;
    use crate::workflow::{Drafted, WorkflowVersion};

    fn workflow() -> Workflow {
        let at = Timestamp(1);
        Workflow {
            id: "p_1".parse().unwrap(),
            org_id: "o_1".parse().unwrap(),
            project_id: "proj_1".parse().unwrap(),
            name: "w".into(),
            name_slug: "w".into(),
            active: true,
            draft: WorkflowVersion::default(),
            drafted: Drafted { revision: 3, is_changed: true, at, by: None },
            deployment_id: None,
            made_from: None,
            note: None,
            tags: Vec::new(),
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn each_field_beside_the_draft_changes_the_tag_and_is_named() {
        type Change = (&'static str, fn(&mut Workflow));
        let tag = WorkflowTag::of(&workflow());
        let changes: [Change; 5] = [
            ("name", |w| w.name = "v".into()),
            ("active", |w| w.active = false),
            ("note", |w| w.note = Some("n".into())),
            ("tags", |w| w.tags = vec!["a".into(), "b".into()]),
            ("made_from", |w| w.made_from = Some(MadeFrom::default())),
        ];
        for (field, change) in changes {
            let mut other = workflow();
            change(&mut other);
            let other = WorkflowTag::of(&other);
            assert_eq!((tag.changed_fields(&other), other.revision), (vec![field], 3));
        }
        let mut same = workflow();
        same.drafted.revision = 4;
        same.updated_at = Timestamp(2);
        assert_eq!(tag.changed_fields(&WorkflowTag::of(&same)), Vec::<&str>::new());
    }

    #[test]
    fn a_tag_is_read_as_it_is_written_and_a_revision_alone_names_no_fields() {
        let tag = WorkflowTag::of(&workflow());
        assert_eq!(tag.to_string().parse(), Ok(tag.clone()));
        let revision: WorkflowTag = "3".parse().unwrap();
        assert_eq!((revision.revision, revision.to_string().as_str()), (3, "3"));
        assert!(revision.changed_fields(&tag).is_empty());
        let cut = tag.to_string();
        for wrong in ["", "-", "3-", "x", "3-é", "3-0000000é00", &cut[..cut.len() - 1]] {
            assert_eq!(wrong.parse::<WorkflowTag>(), Err(NoTag), "{wrong}");
        }
    }
}
