//! Tests of the fair semaphore: each promise of its policies, and random requests.

mod grants;
mod one_at_a_time;
mod properties;
