//! Events: what happened, as a list and live.

use api::event::{CloudEvent, EventList, EventPage, EventQuery};
use clap::Subcommand;
use model::{
    number::{EventPosition, PageSize},
    text::RecordedName,
};

use crate::{args::examples, failure::Failure, output, output::Format, session::Session, table};

/// Verbs of events.
#[derive(Debug, Subcommand)]
#[command(after_help = examples!["gpuaas event list --limit 20", "gpuaas event follow"])]
pub enum EventCommand {
    /// List events after a position, oldest first
    #[command(after_help = examples!["gpuaas event list", "gpuaas event list --after 1200 --limit 500 -o json", "gpuaas event list --subject alc_01jh2n6f4zw8q9r0s1t2v3x4y5"])]
    List {
        /// Only events after this position
        #[arg(long, default_value = "0", value_name = "SEQUENCE")]
        after: EventPosition,
        /// Only events of the thing with this id
        #[arg(long, value_name = "ID")]
        subject: Option<RecordedName>,
        /// How many at most
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Follow events live until Ctrl-C; a lost connection is taken up where it broke
    #[command(after_help = examples!["gpuaas event follow", "gpuaas event follow --after 0 -o json", "gpuaas event follow --after 0 --limit 10"])]
    Follow {
        /// Start after this position; from now on when absent
        #[arg(long, value_name = "SEQUENCE")]
        after: Option<EventPosition>,
        /// Stop after this many
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        limit: Option<u64>,
    },
}

/// Carries out a verb.
pub async fn run(session: &Session, command: EventCommand) -> Result<(), Failure> {
    match command {
        EventCommand::List { after, subject, limit } => {
            let page = list(session, after, subject, usize::try_from(limit).unwrap_or(usize::MAX)).await?;
            output::list(session.format, &table::EVENTS, &page.items, &page)
        }
        EventCommand::Follow { after, limit } => follow(session, after, limit).await,
    }
}

async fn list(
    session: &Session,
    mut after: EventPosition,
    subject: Option<RecordedName>,
    limit: usize,
) -> Result<EventPage, Failure> {
    let mut all = EventPage { items: Vec::new(), next_after: after.get(), head: 0 };
    loop {
        let wanted =
            i64::try_from(limit - all.items.len()).unwrap_or(PageSize::MAX).clamp(PageSize::MIN, PageSize::MAX);
        let page_size = PageSize::try_from(wanted).ok();
        let query = EventQuery { after: Some(after), subject: subject.clone(), page_size };
        let page = session.query::<EventList>(api::Nothing {}, query).await?;
        let went_on = page.next_after > after.get();
        all.items.extend(page.items);
        all.next_after = page.next_after;
        all.head = page.head;
        if all.items.len() >= limit || !went_on || page.next_after >= page.head {
            return Ok(all);
        }
        after = EventPosition::try_from(page.next_after).map_err(|error| {
            Failure::Server(format!("the server answered with a position that is not one: {error}"))
        })?;
    }
}

fn print_event(format: Format, event: &CloudEvent) -> Result<(), Failure> {
    match format {
        Format::Table => output::data(&table::row(&table::EVENTS, &output::ordered(event)?)),
        Format::Json => output::data(&output::json_line(event)?),
        Format::Yaml => output::data(&format!("---\n{}", output::yaml_text(event)?)),
    }
}

async fn follow(session: &Session, after: Option<EventPosition>, limit: Option<u64>) -> Result<(), Failure> {
    let mut seen = 0u64;
    session
        .events(after, |event| {
            print_event(session.format, &event)?;
            seen += 1;
            Ok(limit.is_some_and(|limit| seen >= limit))
        })
        .await
}
