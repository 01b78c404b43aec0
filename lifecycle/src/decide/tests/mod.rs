//! One test per row of the table, per sighting and per thing a person can ask for.

mod box_life;
mod caps;
mod table;
mod wishes;
