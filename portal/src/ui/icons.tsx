// The few pictures of the portal, drawn here so that nothing is fetched for them. All are decoration: what they stand for
// is always said in words beside them.
import type { ReactElement } from 'react';

interface IconProps {
  size?: number;
}

/** Makes an icon of lines in a square of 16. */
export function icon(path: ReactElement): (props: IconProps) => ReactElement {
  return function Icon({ size = 16 }: IconProps) {
    return (
      <svg
        width={`${size / 16}rem`}
        height={`${size / 16}rem`}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {path}
      </svg>
    );
  };
}

export const MenuIcon = icon(<path d="M2.5 4h11M2.5 8h11M2.5 12h11" />);
export const ChevronIcon = icon(<path d="m4.5 6.5 3.5 3.5 3.5-3.5" />);
export const CloseIcon = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const CopyIcon = icon(<path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />);
export const CheckIcon = icon(<path d="m3.5 8.5 3 3 6-7" />);
export const UserIcon = icon(<path d="M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-5 5.5c.6-2.3 2.6-3.5 5-3.5s4.4 1.2 5 3.5" />);
export const SunIcon = icon(<path d="M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5v1m0 11v1M1.5 8h1m11 0h1M3.4 3.4l.7.7m7.8 7.8.7.7m0-9.2-.7.7m-7.8 7.8-.7.7" />);
export const HomeIcon = icon(<path d="m2.5 7.5 5.5-5 5.5 5v6h-4v-4h-3v4h-4z" />);
export const RocketIcon = icon(<path d="M9.5 10.5 5.5 6.5c1.5-3 4-4.5 8-4-.5 4-1 6.5-4 8Zm-4-4-3 .5 3.5 3.5m3.5 0-.5 3-3-3.5M3 13l1.5-1.5" />);
export const ChipIcon = icon(<path d="M4.5 4.5h7v7h-7zM6.5 2v2.5m3-2.5v2.5m-3 7V14m3-2.5V14M2 6.5h2.5m-2.5 3h2.5m7-3H14m-2.5 3H14" />);
export const QueueIcon = icon(<path d="M2.5 4h8m-8 4h8m-8 4h5m4-6.5v6m0 0 2-2m-2 2-2-2" />);
export const ChartIcon = icon(<path d="M2.5 13.5h11M4.5 13.5v-5m3.5 5v-9m3.5 9v-6" />);
export const KeyIcon = icon(<path d="M6 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm1.8-4.3L13 3m-2 2 1.5 1.5" />);
export const PeopleIcon = icon(<path d="M6 8a2.3 2.3 0 1 0 0-4.6A2.3 2.3 0 0 0 6 8Zm-4 5c.4-2 2-3 4-3s3.6 1 4 3m.5-5.2a2 2 0 1 0-.8-3.7M14 12.5c-.3-1.5-1-2.3-2.3-2.7" />);
export const HookIcon = icon(<path d="M5.5 2.5v7a3 3 0 0 0 6 0v-1m0 0-2 2m2-2 2 2M4 2.5h3" />);
export const TokenIcon = icon(<path d="M2.5 5h11v6h-11zM5 8h.01M8 8h.01M11 8h.01" />);
export const MapIcon = icon(<path d="M2.5 2.5h4v4h-4zm7 0h4v4h-4zm-7 7h4v4h-4zm7 0h4v4h-4z" />);
export const DownIcon = icon(<path d="M8 2.5v8m0 0 3-3m-3 3-3-3M3 13.5h10" />);

/** How a thing stands, as a shape that can be told apart without colour. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'idle';

/** The shape of a tone: a disc, a half disc, a triangle, a square, a ring. */
export function ToneMark({ tone, size = 12 }: { tone: Tone; size?: number }) {
  const shapes: Record<Tone, ReactElement> = {
    good: <circle cx="6" cy="6" r="4.5" fill="currentColor" />,
    busy: (
      <>
        <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="currentColor" />
      </>
    ),
    warn: <path d="M6 1 11.3 10.5H.7z" fill="currentColor" />,
    bad: <rect x="1.5" y="1.5" width="9" height="9" fill="currentColor" />,
    idle: <circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  };
  return (
    <svg width={`${size / 16}rem`} height={`${size / 16}rem`} viewBox="0 0 12 12" aria-hidden="true" focusable="false">
      {shapes[tone]}
    </svg>
  );
}
