// The timeline of one allocation, live while the allocation lives.
import { useEffect, useState } from 'react';
import { answer, api, pageSize, type Schemas } from '../../api/client';
import { useRead, type Read } from '../../api/reads';
import { follow } from '../../api/stream';
import { strings } from '../../strings';
import { bytes, relative } from '../../ui/format';
import { useSeconds } from '../../ui/clock';
import type { Tone } from '../../ui/icons';
import { Timeline } from '../../ui/pieces';
import { Loading, Reading } from '../../ui/states';
import { linesOf, nothingKnown, withEntry, type Entry, type Known, type Line } from './timeline';

const words = strings.tenant.allocation;

/** A whole timeline, for one that has ended. */
export function timelineRead(allocationId: string): Read<Entry[]> {
  return {
    key: ['timeline', allocationId],
    touches: { nouns: ['allocation'], subject: allocationId },
    read: async () => {
      const items: Entry[] = [];
      let after = 0;
      for (;;) {
        const page: Schemas['TimelinePage'] = await answer(
          api.GET('/api/v1/allocations/{allocation_id}/timeline', {
            params: { path: { allocation_id: allocationId }, query: { after, page_size: pageSize } },
          }),
        );
        items.push(...page.items);
        if (!page.more || page.next_after <= after) return items;
        after = page.next_after;
      }
    },
  };
}

function toneOfLine(line: Line): Tone {
  if (line.entry.state === 'failed') return 'bad';
  if (line.entry.state === 'done' || line.past) return 'good';
  return 'busy';
}

function Eta({ eta, speed }: { eta: string | undefined; speed: number | undefined }) {
  const now = useSeconds();
  return (
    <span className="small soft">
      {speed !== undefined && `${bytes(speed)}/s `}
      {eta !== undefined && Date.parse(eta) - now > 5000 && words.done(relative(eta, now))}
    </span>
  );
}

function Lines({ known }: { known: Known }) {
  const lines = linesOf(known);
  if (lines.length === 0) return <Loading lines={3} />;
  return (
    <Timeline
      label={words.timeline}
      items={lines.map((line) => ({
        key: line.key,
        at: line.entry.at,
        tone: toneOfLine(line),
        title: strings.codes.timelineStep[line.entry.step],
        percent: line.percent,
        detail: (
          <>
            {line.entry.detail} {line.percent !== undefined && <Eta eta={known.underWay?.eta} speed={known.underWay?.bytes_per_s} />}
          </>
        ),
      }))}
    />
  );
}

function Following({ allocationId }: { allocationId: string }) {
  const [known, setKnown] = useState(nothingKnown);
  useEffect(
    () =>
      follow({
        url: `/api/v1/allocations/${encodeURIComponent(allocationId)}/timeline/stream?after=0`,
        onMessage: (message) => setKnown((before) => withEntry(before, JSON.parse(message.data) as Entry)),
        // How the connection stands is told once, in the top bar.
        onConnection: () => undefined,
      }),
    [allocationId],
  );
  return <Lines known={known} />;
}

function Ended({ allocationId }: { allocationId: string }) {
  const entries = useRead(timelineRead(allocationId));
  return <Reading of={entries}>{(items) => <Lines known={items.reduce(withEntry, nothingKnown)} />}</Reading>;
}

/** The timeline. */
export function LiveTimeline({ allocationId, ended }: { allocationId: string; ended: boolean }) {
  return ended ? <Ended allocationId={allocationId} /> : <Following allocationId={allocationId} />;
}
