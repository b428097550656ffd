//! Attacks, each a component of ours that tries one thing, deployed as any user would. Each must
//! fail with a clear error and leave the server and a neighbour as they were. The server runs as an
//! ordinary user.

mod addresses;
mod answers;
mod audit_log;
mod bundling;
mod ceilings;
mod command_line;
mod command_line_files;
mod command_line_headers;
mod corners;
mod damaged;
mod damaged_files;
mod damaged_rows;
mod doctor;
mod egress;
mod endless;
mod foreign_people;
mod groups;
mod keys;
mod killer;
mod many_listeners;
mod memory;
mod modes;
mod much_of_little;
mod names;
mod neighbours;
mod nesting;
mod no_room;
mod pauses;
mod reach;
mod rebinding;
mod refusals;
mod replaced;
mod requests;
mod resources;
mod roles;
mod scopes;
mod sending;
mod sessions;
mod sign_in;
mod streams;
mod support;
mod turns;
mod waiting;
mod walls;
