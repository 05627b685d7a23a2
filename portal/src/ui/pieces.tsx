// Small pieces that show one value: a state, a sum, a moment, something to copy, facts in two columns, bars.
import { useState, type CSSProperties, type ReactNode } from 'react';
import { Button as AriaButton, Disclosure as AriaDisclosure, DisclosurePanel, Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components';
import { strings } from '../strings';
import { useNow } from './clock';
import { Button } from './controls';
import { count, duration, localTime, money, relative, sentence, utcTime } from './format';
import { CheckIcon, ChevronIcon, CopyIcon, ToneMark, type Tone } from './icons';
import { tell } from './overlays';
import { toneOf } from './state';

const words = strings.shared;

/** A state: a shape, a colour and a word. */
export function StateBadge({ state, tone, label }: { state: string; tone?: Tone; label?: string }) {
  const shown = tone ?? toneOf(state);
  return (
    <span className="badge" data-tone={shown}>
      <ToneMark tone={shown} size={10} />
      {label ?? sentence(state)}
    </span>
  );
}

/** A sum, in millionths of the platform's currency. */
export function Money({ micros, per }: { micros: number; per?: string }) {
  return (
    <span className="number nowrap">
      {money(micros)}
      {per && <span className="soft"> {per}</span>}
    </span>
  );
}

/** A length of time, in seconds. */
export function Duration({ seconds }: { seconds: number }) {
  return <span className="number nowrap">{duration(seconds)}</span>;
}

/** A moment: local, with UTC on hover; or told from now. */
export function Time({ at, from = 'clock' }: { at: string; from?: 'clock' | 'now' }) {
  const now = useNow();
  return (
    <time dateTime={at} title={from === 'now' ? `${localTime(at)} · ${utcTime(at)}` : utcTime(at)} className={from === 'now' ? 'number nowrap' : 'number'}>
      {from === 'now' ? relative(at, now) : localTime(at)}
    </time>
  );
}

/** Puts text on the clipboard, and says so. */
export function CopyButton({ text, what, small = true }: { text: string; what: string; small?: boolean }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    tell(words.copied);
    setTimeout(() => setDone(false), 2000);
  };
  return (
    <Button small={small} tone="quiet" label={words.copyThing(what)} onPress={() => void copy()}>
      {done ? <CheckIcon /> : <CopyIcon />}
    </Button>
  );
}

/** Text to copy, such as a command. */
export function CopyField({ text, what, block }: { text: string; what: string; block?: boolean }) {
  return (
    <div className={block ? 'copy copy-block' : 'copy'}>
      {/* A long line can be scrolled with the keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} what={what} />
    </div>
  );
}

/** Facts in two columns; those without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null && value !== false)
        .map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A box of a page, with a heading. */
export function Card({ title, actions, children, id }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; id?: string }) {
  return (
    <section className="card" {...(id ? { id } : {})}>
      {(title !== undefined || actions !== undefined) && (
        <div className="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div className="row push">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** A number with what it counts. */
export function Tile({ label, value, detail }: { label: string; value: ReactNode; detail?: ReactNode }) {
  return (
    <div className="tile">
      <span className="small soft">{label}</span>
      <span className="tile-value">{value}</span>
      {detail !== undefined && <span className="small soft">{detail}</span>}
    </div>
  );
}

/** One part of a bar. */
export interface BarPart {
  label: string;
  value: number;
  tone: Tone;
  hatched?: boolean;
}

interface BarsProps {
  label: string;
  parts: readonly BarPart[];
  /** What the whole bar stands for; the sum of the parts when that is more. */
  whole: number;
  unit: string;
  legend?: boolean;
  head?: ReactNode;
}

/** Parts of a whole, drawn and written. */
export function Bars({ label, parts, whole, unit, legend = true, head }: BarsProps) {
  const sum = parts.reduce((total, part) => total + part.value, 0);
  const all = Math.max(whole, sum, 1);
  const told = parts.map((part) => `${part.label} ${count(part.value)}`).join(', ');
  return (
    <div className="meter">
      <div className="meter-head">
        <span>{label}</span>
        <span className="number">{head ?? `${count(sum)} / ${count(whole)} ${unit}`}</span>
      </div>
      <div className="bars" role="img" aria-label={`${label}: ${told}; ${count(whole)} ${unit}`}>
        {parts
          .filter((part) => part.value > 0)
          .map((part) => (
            <div
              key={part.label}
              className="bar"
              data-tone={part.tone}
              {...(part.hatched ? { 'data-pattern': 'hatch' } : {})}
              style={{ width: `${(100 * part.value) / all}%` } satisfies CSSProperties}
            />
          ))}
      </div>
      {legend && (
        <ul className="legend">
          {parts.map((part) => (
            <li key={part.label}>
              <span className="swatch" data-tone={part.tone} {...(part.hatched ? { 'data-pattern': 'hatch' } : {})} aria-hidden="true" />
              {part.label} <span className="number">{count(part.value)}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Something that opens in place. */
export function Disclosure({ title, children, open }: { title: string; children: ReactNode; open?: boolean }) {
  return (
    <AriaDisclosure className="disclosure" defaultExpanded={open ?? false}>
      <AriaButton slot="trigger" className="button" data-tone="quiet" data-size="small" data-disclosure-button>
        <ChevronIcon /> {title}
      </AriaButton>
      <DisclosurePanel className="disclosure-panel">{children}</DisclosurePanel>
    </AriaDisclosure>
  );
}

/** One of several views of the same thing. */
export interface TabView {
  id: string;
  title: string;
  content: ReactNode;
}

/** Several views of one thing, one at a time. */
export function Tabs({ label, views, selected, onSelect }: { label: string; views: readonly TabView[]; selected?: string; onSelect?: (id: string) => void }) {
  return (
    <AriaTabs
      className="tabs"
      {...(selected === undefined ? {} : { selectedKey: selected })}
      {...(onSelect ? { onSelectionChange: (key) => onSelect(String(key)) } : {})}
    >
      <TabList aria-label={label}>
        {views.map((view) => (
          <Tab key={view.id} id={view.id}>
            {view.title}
          </Tab>
        ))}
      </TabList>
      {views.map((view) => (
        <TabPanel key={view.id} id={view.id}>
          {view.content}
        </TabPanel>
      ))}
    </AriaTabs>
  );
}

/** One entry of a timeline. */
export interface TimelineItem {
  key: string;
  at: string;
  tone: Tone;
  title: ReactNode;
  detail?: ReactNode;
  /** How far it has come, in percent. */
  percent?: number | undefined;
}

/** What happened, oldest first. */
export function Timeline({ items, label }: { items: readonly TimelineItem[]; label: string }) {
  return (
    <ol className="timeline" aria-label={label}>
      {items.map((item) => (
        <li key={item.key} data-tone={item.tone}>
          <span className="timeline-mark">
            <ToneMark tone={item.tone} />
          </span>
          <div>
            <div className="timeline-head">
              <strong>{item.title}</strong>
              <span className="small soft">
                <Time at={item.at} />
              </span>
            </div>
            {item.detail !== undefined && <div>{item.detail}</div>}
            {item.percent !== undefined && (
              <progress max={100} value={item.percent} aria-label={typeof item.title === 'string' ? item.title : label}>
                {item.percent} %
              </progress>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}
