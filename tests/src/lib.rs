//! The end-to-end tests live in `conformance/` and `crash/`; this library is only their harness.
