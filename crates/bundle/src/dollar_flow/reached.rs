//! Names that `$` reaches.

use std::collections::{HashMap, HashSet};

use super::{DOLLAR, DollarFlow, UNSEEN};

/// Where a value of a name goes.
enum Way<'s> {
    Move(&'s str),
    /// To the parameter at an index of the functions of a name.
    Call(Option<&'s str>, usize),
}

impl DollarFlow {
    /// Whether `$` goes where what is done with it cannot be seen. Looks at each move and at each
    /// parameter once, however much code there is.
    pub(crate) fn is_unseen(&self) -> bool {
        let mut ways: HashMap<&str, Vec<Way<'_>>> = HashMap::new();
        for (from, to) in &self.moves {
            ways.entry(from).or_default().push(Way::Move(to));
        }
        for (callee, index, given) in &self.calls {
            for name in given {
                ways.entry(name).or_default().push(Way::Call(callee.as_deref(), *index));
            }
        }
        let (mut reached, mut called) = (HashSet::from([DOLLAR]), HashSet::new());
        let mut waiting = vec![DOLLAR];
        while let Some(name) = waiting.pop() {
            for way in ways.remove(name).unwrap_or_default() {
                let next = match way {
                    Way::Move(to) => vec![to],
                    Way::Call(callee, index) if called.insert((callee, index)) => {
                        self.bound_by(callee, index)
                    }
                    Way::Call(..) => continue,
                };
                waiting.extend(next.into_iter().filter(|next| reached.insert(next)));
            }
        }
        reached.contains(UNSEEN)
    }

    /// Names that the argument at `index` is bound to.
    fn bound_by<'s>(&'s self, callee: Option<&str>, index: usize) -> Vec<&'s str> {
        let Some(functions) = callee.and_then(|name| self.functions.get(name)) else {
            return vec![UNSEEN];
        };
        let bound = functions.iter().filter_map(|f| f.items.get(index).or(f.rest.as_ref()));
        bound.flatten().map(String::as_str).collect()
    }
}
