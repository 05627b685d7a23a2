//! What guests are made of and what hosts say about them: images, what launches bring, laboratories, plans and comparisons.

mod hosts;
mod images;
mod lab;
mod launches;
