//! Tests of the fair semaphore: what policies promise, one by one, and for random requests.

mod grants;
mod one_at_a_time;
mod properties;
