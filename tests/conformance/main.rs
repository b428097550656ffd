//! A file for each chapter of the spec, a test for each clause, named after it.

mod accounts;
mod apply;
mod bad_input;
mod cli;
mod data_stores;
mod effects;
mod flow;
mod oauth;
mod postgres;
mod registries;
mod replays;
mod rest;
mod s2_resources;
mod s3_lifecycle;
mod s4_endpoints;
mod s6_events;
mod s7_errors;
mod s8_imports;
mod webhooks;
mod workflow_files;
mod workflows;
