//! The image of a launch that names none: the platform's default, else the only one there is. A guest gets its bytes; a machine
//! of a provider gets what that provider usually installs.

use model::image::ImageKind;
use store::{
    StoreError, Tx,
    images::{self, ImageRow},
};

/// The image, or why there is none.
pub(crate) fn usual_image(tx: &mut Tx<'_>) -> Result<Result<ImageRow, String>, StoreError> {
    if let Some(row) = images::default(tx)? {
        return Ok(Ok(row));
    }
    let kind = ImageKind::Base;
    let mut found = images::available(tx, kind, 100)?;
    Ok(match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => Err(format!("there is no image of the kind {kind} that can be launched")),
        (Some(_), others) => Err(format!("{} images of the kind {kind} could be meant", others + 1)),
    })
}
