//! Images: what guests are made of, who may sign them, and how one gets into the catalogue:
//! `keygen` once, `key add` once, then for each image `sign` (offline, beside the file), `add` and `upload`.

use api::{
    Nothing,
    image::{
        ImageKeyAdd, ImageKeyAddBody, ImageKeyList, ImageKeyPath, ImageKeyRevoke, ImageKeyShow, ImageList, ImagePath,
        ImageRegister, ImageRetire, ImageShow, ImageUpdate, ImageUpdateBody,
    },
};
use clap::{Args, Subcommand};
use model::{
    image::{ImageFormat, ImageKind, ImageSpec},
    text::{Ed25519Key, ImageName},
};
use serde::Serialize;
use std::path::PathBuf;

use crate::{
    args::{Consent, Global, Keyed, Pinned, examples, words},
    confirm::confirm,
    failure::Failure,
    image_signing::{self, Signing},
    output,
    session::{Extra, Session},
    table,
};

/// Verbs of images.
#[derive(Debug, Subcommand)]
#[command(after_help = examples![
    "gpuaas image list",
    "gpuaas image sign debian.raw --id debian-12 --kind base --key images.key > debian.json",
])]
pub enum ImageCommand {
    /// List images; tenants see those that can be launched
    #[command(after_help = examples!["gpuaas image list", "gpuaas image list -o json"])]
    List,
    /// Show an image
    #[command(after_help = examples!["gpuaas image show debian-12"])]
    Show(OfImage),
    /// Make a key that signs images: the private half into a file, the public half printed
    #[command(after_help = examples!["gpuaas image keygen images.key --key-id images-2026"])]
    Keygen(Keygen),
    /// Write and sign the entry of an image; works offline
    #[command(after_help = examples![
        "gpuaas image sign debian.raw --id debian-12 --kind base --key images.key > debian.json",
        "gpuaas image sign cuda.qcow2 --id cuda-13 --kind cuda --format qcow2 --minimum-disk-bytes 42949672960 --key images.key",
    ])]
    Sign(Sign),
    /// Register an image: its signed entry
    #[command(after_help = examples!["gpuaas image add debian.json"])]
    Add {
        /// The entry, as `gpuaas image sign` writes it
        entry: PathBuf,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// Bring the bytes of a registered image
    #[command(after_help = examples!["gpuaas image upload debian-12 debian.raw"])]
    Upload {
        /// The image
        image: ImageName,
        /// The file
        file: PathBuf,
    },
    /// Make an image the one that is launched when nobody names one
    #[command(after_help = examples!["gpuaas image default debian-12", "gpuaas image default debian-12 --off"])]
    Default {
        /// The image
        image: ImageName,
        /// No longer
        #[arg(long)]
        off: bool,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// Launch an image no more; what runs from it goes on
    #[command(after_help = examples!["gpuaas image retire debian-12 --yes"])]
    Retire {
        /// The image
        image: ImageName,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        keyed: Keyed,
        #[command(flatten)]
        pinned: Pinned,
    },
    /// The keys that may sign images
    #[command(subcommand)]
    Key(KeyCommand),
}

/// One image.
#[derive(Debug, Args)]
pub struct OfImage {
    /// The image
    image: ImageName,
}

/// A new key.
#[derive(Debug, Args)]
pub struct Keygen {
    /// Where the private half is written; must not exist
    file: PathBuf,
    /// The name by which entries will refer to it
    #[arg(long)]
    key_id: ImageName,
}

/// An entry to write.
#[derive(Debug, Args)]
pub struct Sign {
    /// The image
    file: PathBuf,
    /// Its name in the catalogue
    #[arg(long)]
    id: ImageName,
    /// What is in it
    #[arg(long, value_parser = words!(ImageKind))]
    kind: ImageKind,
    /// How the file is to be read
    #[arg(long, default_value = "raw", value_parser = words!(ImageFormat))]
    format: ImageFormat,
    /// The smallest disk it works on [default: what it fills]
    #[arg(long, value_name = "BYTES")]
    minimum_disk_bytes: Option<u64>,
    /// The private key, as `gpuaas image keygen` writes it
    #[arg(long, value_name = "PATH")]
    key: PathBuf,
}

/// Verbs of keys.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas image key list"])]
pub enum KeyCommand {
    /// Trust a key that signs images
    #[command(after_help = examples![
        "gpuaas image key add images-2026 d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    ])]
    Add {
        /// Its name
        key_id: ImageName,
        /// The public half, as `gpuaas image keygen` prints it
        public_key: Ed25519Key,
        #[command(flatten)]
        keyed: Keyed,
    },
    /// List keys, revoked ones too
    #[command(after_help = examples!["gpuaas image key list"])]
    List,
    /// Show a key
    #[command(after_help = examples!["gpuaas image key show images-2026"])]
    Show {
        /// Its name
        key_id: ImageName,
    },
    /// Trust a key no more; images that it signed stay
    #[command(after_help = examples!["gpuaas image key revoke images-2026 --yes"])]
    Revoke {
        /// Its name
        key_id: ImageName,
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        pinned: Pinned,
    },
}

/// A key that was made.
#[derive(Serialize)]
struct Made {
    key_id: ImageName,
    public_key: String,
}

/// Carries out a verb. Those that need no server are done without one.
pub async fn run(global: &Global, command: ImageCommand) -> Result<(), Failure> {
    match command {
        ImageCommand::Keygen(keygen) => {
            let public = image_signing::keygen(&keygen.file, &keygen.key_id)?;
            if !global.quiet {
                output::note(&format!(
                    "trust it with: gpuaas image key add {} {public}\nkeep {} where only you can read it",
                    keygen.key_id,
                    keygen.file.display()
                ));
            }
            output::object(global.output, &Made { key_id: keygen.key_id, public_key: public })
        }
        ImageCommand::Sign(sign) => {
            let Sign { file, id, kind, format, minimum_disk_bytes, key } = sign;
            let entry = image_signing::sign(&Signing { file: &file, id, kind, format, minimum_disk_bytes, key: &key })?;
            output::data(&image_signing::text(&entry)?)
        }
        online => with_server(&Session::open(global)?, online).await,
    }
}

async fn with_server(session: &Session, command: ImageCommand) -> Result<(), Failure> {
    match command {
        ImageCommand::Keygen(_) | ImageCommand::Sign(_) => Ok(()),
        ImageCommand::List => session.print_list(&table::IMAGES, session.list::<ImageList, _>(Nothing {}).await?),
        ImageCommand::Show(OfImage { image }) => {
            session.print(&session.show::<ImageShow>(ImagePath { image_id: image }).await?)
        }
        ImageCommand::Add { entry, keyed } => {
            let body: ImageSpec = image_signing::read_entry(&entry)?;
            session.print(&session.send::<ImageRegister>(Nothing {}, body, Extra::keyed(&keyed)).await?)
        }
        ImageCommand::Upload { image, file } => session.print(&session.upload(&image, &file).await?),
        ImageCommand::Default { image, off, pinned } => {
            let (path, body) = (ImagePath { image_id: image }, ImageUpdateBody { is_default: Some(!off) });
            session.print(&session.change::<ImageUpdate, ImageShow>(path, body, &pinned).await?)
        }
        ImageCommand::Retire { image, consent, keyed, pinned } => {
            confirm(&consent, &format!("Retire image {image}?"))?;
            let extra = Extra::keyed(&keyed).pinned(&pinned);
            session.print(&session.send::<ImageRetire>(ImagePath { image_id: image }, Nothing {}, extra).await?)
        }
        ImageCommand::Key(command) => key(session, command).await,
    }
}

async fn key(session: &Session, command: KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Add { key_id, public_key, keyed } => {
            let body = ImageKeyAddBody { key_id, public_key };
            session.print(&session.send::<ImageKeyAdd>(Nothing {}, body, Extra::keyed(&keyed)).await?)
        }
        KeyCommand::List => session.print_list(&table::IMAGE_KEYS, session.list::<ImageKeyList, _>(Nothing {}).await?),
        KeyCommand::Show { key_id } => session.print(&session.show::<ImageKeyShow>(ImageKeyPath { key_id }).await?),
        KeyCommand::Revoke { key_id, consent, pinned } => {
            confirm(&consent, &format!("Trust image key {key_id} no more?"))?;
            let path = ImageKeyPath { key_id: key_id.clone() };
            session.send::<ImageKeyRevoke>(path, Nothing {}, Extra::default().pinned(&pinned)).await?;
            session.note(&format!("image key {key_id} revoked"));
            Ok(())
        }
    }
}
