//! Ways in from outside. Nothing is accepted in a region until an operator has said who owns the firewall and the addresses
//! and what may be used of them; then each address and port is given out once. Nothing here opens anything.

use std::{collections::BTreeSet, net::Ipv4Addr};

use api::{
    Code, Nothing, Problem,
    ingress::{
        IngressCreate, IngressDelete, IngressList, IngressRange, IngressSettingsBody, IngressSettingsClear,
        IngressSettingsSet, IngressSettingsShow, IngressSettingsView, IngressShow, IngressView,
    },
    page::Page,
};
use model::{
    IngressId,
    allocation::{Desired, State},
    number::Port,
};
use store::{
    StoreError, allocations,
    ingresses::{self, IngressNew, IngressRow},
    regions::{self, RegionRow},
};

use super::{state_conflict, unknown};
use crate::front_door::{Answer, Ctx, Input, Refusal, Route, internal, route};

/// Ways in that a project may have.
const INGRESSES_MAX: i64 = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        route::<IngressSettingsShow>(settings_show),
        route::<IngressSettingsSet>(settings_set),
        route::<IngressSettingsClear>(settings_clear),
        route::<IngressList>(ingress_list),
        route::<IngressCreate>(ingress_create),
        route::<IngressShow>(ingress_show),
        route::<IngressDelete>(ingress_delete),
    ]
}

fn settings_show(
    ctx: &mut Ctx<'_, '_>,
    input: Input<IngressSettingsShow>,
) -> Result<Answer<IngressSettingsView>, Refusal> {
    let row = ctx.region(&input.path.region_id)?;
    settings_answer(row)
}

fn settings_set(
    ctx: &mut Ctx<'_, '_>,
    input: Input<IngressSettingsSet>,
) -> Result<Answer<IngressSettingsView>, Refusal> {
    let row = ctx.region(&input.path.region_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let outside = |(address, port): &(Ipv4Addr, i64)| !is_inside(&input.body.ranges, *address, *port);
    let left_out = ingresses::taken(ctx.tx, &row.id)?.iter().filter(|had| outside(had)).count();
    if left_out > 0 {
        let detail = format!("{left_out} ways in use addresses or ports that these ranges do not have.");
        return Err(Refusal::new(Code::StillInUse, detail));
    }
    let settings = serde_json::to_string(&input.body).map_err(|_| internal())?;
    regions::set_ingress(ctx.tx, &mut ctx.stamp, &row, Some(&settings))?;
    settings_answer(regions::get(ctx.tx, &row.id)?.ok_or_else(internal)?)
}

fn settings_clear(ctx: &mut Ctx<'_, '_>, input: Input<IngressSettingsClear>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.region(&input.path.region_id)?;
    ctx.check_version(input.if_match, row.version)?;
    let had = ingresses::taken(ctx.tx, &row.id)?.len();
    if had > 0 {
        return Err(Refusal::new(Code::StillInUse, format!("{had} ways in lead into the region.")));
    }
    // Taking back what is not there succeeds, and is no change.
    if row.ingress.is_some() {
        regions::set_ingress(ctx.tx, &mut ctx.stamp, &row, None)?;
    }
    Ok(Answer::new(Nothing {}).about(row.id, None))
}

fn settings_answer(row: RegionRow) -> Result<Answer<IngressSettingsView>, Refusal> {
    let (settings, version) = (settings_of(&row)?, row.version);
    let projected = match &settings {
        Some(set) => format!("Ways in to {} are possible in {}.", row.slug, words(&set.ranges)),
        None => format!("Nobody owns ways in to {}; none is accepted.", row.slug),
    };
    let view = IngressSettingsView {
        region_id: row.id.clone(),
        firewall_owner: settings.as_ref().map(|set| set.firewall_owner.clone()),
        address_owner: settings.as_ref().map(|set| set.address_owner.clone()),
        ranges: settings.map(|set| set.ranges).unwrap_or_default(),
        projected,
        version,
    };
    Ok(Answer::new(view).version(version).about(row.id, None))
}

fn settings_of(row: &RegionRow) -> Result<Option<IngressSettingsBody>, StoreError> {
    let why =
        |error: serde_json::Error| StoreError::Corrupt { column: "regions.ingress".into(), why: error.to_string() };
    row.ingress.as_deref().map(serde_json::from_str).transpose().map_err(why)
}

fn ingress_list(ctx: &mut Ctx<'_, '_>, input: Input<IngressList>) -> Result<Answer<Page<IngressView>>, Refusal> {
    let project = ctx.project(&input.path.project_id)?;
    let cursor = ctx.cursor(&input.query)?;
    let rows = ingresses::of_project(ctx.tx, &project.id, cursor.rows())?;
    Ok(Answer::page(cursor.page(rows, |row| row.id.as_str(), |row| Ok::<_, Refusal>(view(row)))?))
}

fn ingress_create(ctx: &mut Ctx<'_, '_>, input: Input<IngressCreate>) -> Result<Answer<IngressView>, Refusal> {
    let (project, body) = (ctx.project(&input.path.project_id)?, &input.body);
    let found = allocations::get(ctx.tx, &body.allocation_id)?.filter(|row| row.project_id == project.id);
    let allocation = found.ok_or_else(|| unknown("/allocation_id"))?;
    let region = regions::get(ctx.tx, &allocation.region_id)?.ok_or_else(internal)?;
    let Some(settings) = settings_of(&region)? else {
        let detail = format!(
            "Ingress must have an owner and a range set by an operator; for region {} there is none.",
            region.slug
        );
        return Err(Refusal::new(Code::IngressNotOwned, detail));
    };
    let placed = matches!(allocation.state, State::Reserved | State::Provisioning | State::Running);
    if !placed || allocation.desired != Desired::Running {
        let detail =
            format!("The allocation is {}; only one that has a place and is to stay gets a way in.", allocation.state);
        return Err(state_conflict(detail));
    }
    if ingresses::count(ctx.tx, &project.id)? >= INGRESSES_MAX {
        return Err(state_conflict(format!("The project has {INGRESSES_MAX} ways in; give one back first.")));
    }
    let taken = ingresses::taken(ctx.tx, &region.id)?.into_iter().collect();
    let (address, public_port) = choose(&settings.ranges, &taken, body.public_port).map_err(|none| match none {
        NotChosen::OutOfRange(port) => {
            let detail = format!("Ingress must be in {}, found port {port}.", words(&settings.ranges));
            let problem = Problem::new(Code::IngressOutOfRange, detail);
            Refusal::from(problem.with_field("/public_port", "a port that was set aside, or none"))
        }
        NotChosen::Taken(port) => taken_already(port),
        NotChosen::NothingFree => state_conflict("Every address and port that was set aside is in use."),
    })?;
    let id = IngressId::from_parts(ctx.stamp.now, ctx.stamp.bits());
    let new = IngressNew {
        id: &id,
        tenant_id: &project.tenant_id,
        project_id: &project.id,
        allocation_id: &allocation.id,
        region_id: &region.id,
        protocol: body.protocol,
        address,
        public_port,
        guest_port: body.guest_port.get(),
    };
    ingresses::insert(ctx.tx, &mut ctx.stamp, new).map_err(|error| match error {
        StoreError::UniqueViolation { .. } => taken_already(public_port),
        other => other.into(),
    })?;
    let row = ingresses::get(ctx.tx, &id)?.ok_or_else(internal)?;
    Ok(answer(row).at(format!("/api/v1/ingresses/{id}")))
}

fn taken_already(port: u16) -> Refusal {
    let problem = Problem::new(Code::NameTaken, format!("Port {port} is in use on every address that was set aside."));
    problem.with_field("/public_port", "a port that is not in use, or none").into()
}

fn ingress_show(ctx: &mut Ctx<'_, '_>, input: Input<IngressShow>) -> Result<Answer<IngressView>, Refusal> {
    Ok(answer(ctx.ingress(&input.path.ingress_id)?))
}

fn ingress_delete(ctx: &mut Ctx<'_, '_>, input: Input<IngressDelete>) -> Result<Answer<Nothing>, Refusal> {
    let row = ctx.ingress(&input.path.ingress_id)?;
    ctx.check_version(input.if_match, row.version)?;
    ingresses::delete(ctx.tx, &mut ctx.stamp, &row)?;
    Ok(Answer::new(Nothing {}).about(&row.id, Some(&row.tenant_id)))
}

fn answer(row: IngressRow) -> Answer<IngressView> {
    let (id, tenant, version) = (row.id.clone(), row.tenant_id.clone(), row.version);
    Answer::new(view(row)).version(version).about(id, Some(&tenant))
}

fn view(row: IngressRow) -> IngressView {
    let IngressRow { address, public_port, guest_port, protocol, .. } = &row;
    let projected = format!(
        "{address}:{public_port} is set aside for port {guest_port} of the guest over {protocol}. Opening it is up to the \
         owner of the firewall."
    );
    IngressView {
        projected,
        id: row.id,
        tenant_id: row.tenant_id,
        project_id: row.project_id,
        allocation_id: row.allocation_id,
        region_id: row.region_id,
        protocol: row.protocol,
        address: row.address,
        public_port: row.public_port,
        guest_port: row.guest_port,
        execution: row.state,
        version: row.version,
        created_at: row.created,
    }
}

fn words(ranges: &[IngressRange]) -> String {
    let word = |range: &IngressRange| format!("{} ports {} to {}", range.addresses, range.port_min, range.port_max);
    ranges.iter().map(word).collect::<Vec<_>>().join(" or ")
}

/// The addresses of a range that are given out. The first and the last name the network itself, where it has more than two.
fn addresses(range: &IngressRange) -> std::ops::RangeInclusive<u32> {
    let (first, last) = (u32::from(range.addresses.network()), u32::from(range.addresses.broadcast()));
    if last - first > 1 { first + 1..=last - 1 } else { first..=last }
}

fn has_port(range: &IngressRange, port: i64) -> bool {
    (range.port_min.get()..=range.port_max.get()).contains(&port)
}

fn is_inside(ranges: &[IngressRange], address: Ipv4Addr, port: i64) -> bool {
    ranges.iter().any(|range| addresses(range).contains(&u32::from(address)) && has_port(range, port))
}

/// Why no address and port could be given out.
#[derive(Debug, PartialEq, Eq)]
enum NotChosen {
    OutOfRange(Port),
    Taken(u16),
    NothingFree,
}

/// The first address and port that nobody has, with the wanted port where one is wanted. Looks at each taken one at most once
/// for each range.
fn choose(
    ranges: &[IngressRange],
    taken: &BTreeSet<(Ipv4Addr, i64)>,
    wanted: Option<Port>,
) -> Result<(Ipv4Addr, u16), NotChosen> {
    if let Some(port) = wanted.filter(|port| !ranges.iter().any(|range| has_port(range, port.get()))) {
        return Err(NotChosen::OutOfRange(port));
    }
    for range in ranges {
        let ports = match wanted {
            Some(port) if !has_port(range, port.get()) => continue,
            Some(port) => port.get()..=port.get(),
            None => range.port_min.get()..=range.port_max.get(),
        };
        let pairs = addresses(range).flat_map(|address| ports.clone().map(move |port| (Ipv4Addr::from(address), port)));
        let free = pairs.filter(|pair| !taken.contains(pair)).find_map(|(address, port)| {
            let port = u16::try_from(port).ok()?;
            Some((address, port))
        });
        if let Some(free) = free {
            return Ok(free);
        }
    }
    Err(wanted.and_then(|port| u16::try_from(port.get()).ok()).map_or(NotChosen::NothingFree, NotChosen::Taken))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn range(addresses: &str, low: i64, high: i64) -> IngressRange {
        let (port_min, port_max) = (low.try_into().unwrap(), high.try_into().unwrap());
        IngressRange { addresses: addresses.parse().unwrap(), port_min, port_max }
    }

    fn pick(ranges: &[IngressRange], taken: &[(&str, i64)], wanted: Option<i64>) -> Result<(Ipv4Addr, u16), NotChosen> {
        let taken = taken.iter().map(|(address, port)| (address.parse().unwrap(), *port)).collect();
        choose(ranges, &taken, wanted.map(|port| port.try_into().unwrap()))
    }

    fn at(address: &str, port: u16) -> Result<(Ipv4Addr, u16), NotChosen> {
        Ok((address.parse().unwrap(), port))
    }

    #[test]
    fn the_first_free_address_and_port_is_taken_and_none_twice() {
        let ranges = [range("203.0.113.8/30", 2000, 2001), range("198.51.100.1/32", 3000, 3000)];
        assert_eq!(pick(&ranges, &[], None), at("203.0.113.9", 2000));
        assert_eq!(pick(&ranges, &[("203.0.113.9", 2000)], None), at("203.0.113.9", 2001));
        assert_eq!(pick(&ranges, &[("203.0.113.9", 2001)], Some(2001)), at("203.0.113.10", 2001));
        assert_eq!(pick(&ranges, &[], Some(3000)), at("198.51.100.1", 3000));
        let mut taken = std::collections::BTreeSet::new();
        for _ in 0..5 {
            let (address, port) = choose(&ranges, &taken, None).unwrap();
            assert!(is_inside(&ranges, address, port.into()) && taken.insert((address, port.into())));
        }
        assert_eq!(choose(&ranges, &taken, None), Err(NotChosen::NothingFree));
        assert_eq!(choose(&ranges, &taken, Some(3000.try_into().unwrap())), Err(NotChosen::Taken(3000)));
    }

    #[test]
    fn a_port_outside_of_every_range_is_named_as_such() {
        let ranges = [range("203.0.113.8/29", 2000, 2999)];
        for port in [1, 1999, 3000, 65_535] {
            assert_eq!(pick(&ranges, &[], Some(port)), Err(NotChosen::OutOfRange(port.try_into().unwrap())));
        }
        for (address, port, inside) in [
            ("203.0.113.8", 2000, false),
            ("203.0.113.9", 2000, true),
            ("203.0.113.14", 2999, true),
            ("203.0.113.15", 2000, false),
            ("203.0.113.9", 3000, false),
        ] {
            assert_eq!(is_inside(&ranges, address.parse().unwrap(), port), inside, "{address}:{port}");
        }
    }
}
