//! An image: an entry first, then its bytes, then launched from until it is retired. Nobody decides here: each move is an
//! operator's, made in the transaction of their request.

use crate::diagram;
pub use model::image::ImageState as State;

/// The published graph.
pub const EDGES: &[(State, State)] =
    &[(State::Registered, State::Available), (State::Registered, State::Retired), (State::Available, State::Retired)];

/// The graph as Mermaid text.
pub fn diagram() -> String {
    diagram::mermaid(State::Registered, EDGES)
}
