mod files;
mod functions;
mod names;
mod opsets;
mod random;
mod support;
mod types;
