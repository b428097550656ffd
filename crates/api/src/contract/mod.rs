//! Contract of the API: each route, its parameters and answers, and the OpenAPI document made of
//! these.

pub(crate) mod bounds;
pub(crate) mod codes;
pub(crate) mod known;
pub(crate) mod openapi;
pub(crate) mod param;
pub(crate) mod responses;
pub(crate) mod routes;
pub(crate) mod schemas;
pub(crate) mod shape;
pub(crate) mod table;
