//! Lists whose places stay: who goes leaves a hole, and the next to come fills it. So a place is a small number that names one
//! thing as long as it is there, and the list is no longer than it ever had to be.

/// Puts a thing into a hole, or at the end. Says where.
pub(crate) fn put<T>(places: &mut Vec<Option<T>>, holes: &mut Vec<u32>, thing: T) -> u32 {
    if let Some(hole) = holes.pop() {
        places[hole as usize] = Some(thing);
        return hole;
    }
    places.push(Some(thing));
    u32::try_from(places.len() - 1).unwrap_or(u32::MAX)
}

/// Takes the thing at a place away, and leaves a hole.
pub(crate) fn take<T>(places: &mut [Option<T>], holes: &mut Vec<u32>, place: u32) -> Option<T> {
    let thing = places.get_mut(place as usize)?.take()?;
    holes.push(place);
    Some(thing)
}

#[cfg(test)]
mod tests {
    use super::{put, take};

    #[test]
    fn holes_are_filled_before_the_list_grows() {
        let (mut places, mut holes) = (vec![], vec![]);
        assert_eq!(["a", "b", "c"].map(|thing| put(&mut places, &mut holes, thing)), [0, 1, 2]);
        assert_eq!([1, 1, 7].map(|place| take(&mut places, &mut holes, place)), [Some("b"), None, None]);
        assert_eq!(["d", "e"].map(|thing| put(&mut places, &mut holes, thing)), [1, 3]);
        assert_eq!(places, [Some("a"), Some("d"), Some("c"), Some("e")]);
    }
}
