//! Runs on request, of code that may not be deployed: `deploy` builds it, and `run` executes it.
//!
//! | file | job |
//! | --- | --- |
//! | `actions` | runs an action by itself, without a stored run |
//! | `workflow_tests` | tests of undeployed versions, and live runs on request |

pub(crate) mod actions;
pub(crate) mod workflow_tests;
