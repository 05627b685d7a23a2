//! How hosts become capacity, through the API and with an agent that reports simulated hosts: looking, approving, drifting,
//! promoting, draining, and what tenants see of it.

mod approval;
mod drift;
mod nodes;
mod tenants;
