//! What `additionalProps` gave to a form: it sees that when it is asked again (spec 2.7.1). Forms are filled in within minutes, so that it is kept in
//! memory, within bounds; an id that is not known any more, or on another server, is that of a form that begins anew.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use millrace_model::component::PropDef;
use millrace_model::ids::OrgId;
use parking_lot::Mutex;

/// Bytes of all answers that are kept.
const BYTES_MAX: usize = 16 << 20;
/// Bytes of one of them; a larger one is not kept.
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Bytes of an id that a client chooses.
const ID_BYTES_MAX: usize = 80;

/// The organization, the component's module, and the id that the form was given.
pub(crate) type FormKey = (OrgId, String, String);

#[derive(Default)]
struct Kept {
    answers: HashMap<FormKey, (Arc<[PropDef]>, usize)>,
    /// The oldest first.
    order: VecDeque<FormKey>,
    bytes: usize,
}

/// The latest answers by form.
#[derive(Default)]
pub(crate) struct EarlierProps(Mutex<Kept>);

impl EarlierProps {
    /// What the form was told last.
    pub(crate) fn of(&self, key: &FormKey) -> Option<Arc<[PropDef]>> {
        self.0.lock().answers.get(key).map(|(props, _)| props.clone())
    }

    /// Keeps what a form is told; `bytes`: its size as JSON.
    pub(crate) fn keep(&self, key: FormKey, props: Arc<[PropDef]>, bytes: usize) {
        if bytes > ANSWER_BYTES_MAX || key.2.len() > ID_BYTES_MAX {
            return;
        }
        let mut kept = self.0.lock();
        let before = kept.answers.insert(key.clone(), (props, bytes));
        kept.bytes += bytes;
        match before {
            Some((_, before)) => kept.bytes -= before,
            None => kept.order.push_back(key),
        }
        while kept.bytes > BYTES_MAX
            && let Some(oldest) = kept.order.pop_front()
        {
            if let Some((_, gone)) = kept.answers.remove(&oldest) {
                kept.bytes -= gone;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use millrace_model::IdSource;

    use super::*;

    fn props(name: &str) -> Arc<[PropDef]> {
        Arc::from([PropDef { name: name.into(), ..PropDef::default() }])
    }

    #[test]
    fn the_latest_answer_of_a_form_is_kept_and_the_oldest_forms_go() {
        let (earlier, org) = (EarlierProps::default(), OrgId::generate(&IdSource::default()));
        let key = |id: &str| (org.clone(), "module".to_owned(), id.to_owned());
        earlier.keep(key("a"), props("one"), 100);
        earlier.keep(key("a"), props("two"), 200);
        assert_eq!(earlier.of(&key("a")).as_deref(), Some(props("two").as_ref()));
        assert_eq!((earlier.of(&key("b")), earlier.of(&(org.clone(), "other".into(), "a".into()))), (None, None));
        for n in 0..BYTES_MAX / ANSWER_BYTES_MAX {
            earlier.keep(key(&format!("f{n}")), props("x"), ANSWER_BYTES_MAX);
        }
        assert!(earlier.of(&key("a")).is_none() && earlier.of(&key("f0")).is_some());
        assert_eq!(earlier.0.lock().bytes, BYTES_MAX);
        earlier.keep(key("large"), props("x"), ANSWER_BYTES_MAX + 1);
        earlier.keep(key(&"i".repeat(ID_BYTES_MAX + 1)), props("x"), 1);
        assert_eq!((earlier.of(&key("large")), earlier.0.lock().bytes), (None, BYTES_MAX));
    }
}
