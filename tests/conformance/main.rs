//! A file or folder for each chapter of the spec (`s…`) and of the reference (`r…`), a test for
//! each clause, named after it: `s6_4_…` is of section 6.4; `r2_9_…` of the ninth row of the
//! reference's table of endpoints, `r3_12_…` of the twelfth point of its section 3; `f5_7_…` of the
//! seventh of the points on which naive runtimes break, in what is known of the public registry.

mod apply;
mod artifacts;
mod behind_proxies;
mod changes_at_once;
mod cli;
mod clock_changes;
mod command_line_refusals;
mod contract;
mod cut_off;
mod external_users;
mod f5_registry_facts;
mod former_owners;
mod half_closed;
mod history;
mod http_triggers;
mod lifetimes;
mod long_lists;
mod master_key;
mod nodes;
mod one_at_a_time;
mod one_at_a_time_more;
mod operations;
mod own_sources;
mod people;
mod postgres;
mod postgres_start;
mod properties;
mod r1_conventions;
mod r2_endpoints;
mod r3_components;
mod r4_workflows;
mod refused_changes;
mod s2_resources;
mod s3_lifecycle;
mod s4_1_subscriptions;
mod s4_6_command_line;
mod s4_endpoints;
mod s5_authentication;
mod s6_events;
mod s7_errors;
mod s8_limits;
mod s9_versioning;
mod sdk;
mod sdk_rest;
mod settings;
mod sign_in;
mod streams_elsewhere;
mod subscription_pages;
mod system;
mod terminal;
mod terminal_values;
mod while_activating;
mod workflow_files;
