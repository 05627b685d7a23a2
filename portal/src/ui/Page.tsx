// The frame of one page: where it is, what it is called, what can be done, and the API calls behind it. The heading takes the
// focus when a page opens, so that the keyboard and screen readers begin there.
import { useEffect, useRef, type ReactNode } from 'react';
import { Link, useLocation } from 'react-router';
import { strings } from '../strings';
import { ApiCalls, type Call } from './ApiCall';

const words = strings.shared;

/** A step on the way to a page. */
export interface Crumb {
  label: string;
  to: string;
}

interface PageProps {
  title: string;
  /** What stands in the window's title when the heading alone would not say it. */
  windowTitle?: string;
  /** Beside the title, such as a state. */
  mark?: ReactNode;
  lead?: ReactNode;
  crumbs?: readonly Crumb[];
  actions?: ReactNode;
  calls?: readonly Call[];
  /** Uses the whole window, such as the fleet map. */
  wide?: boolean;
  children: ReactNode;
}

/** A page. */
export function Page({ title, windowTitle, mark, lead, crumbs, actions, calls = [], wide, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { pathname } = useLocation();
  useEffect(() => {
    document.title = `${windowTitle ?? title} · ${words.product}`;
  }, [title, windowTitle]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [pathname]);
  return (
    <div className={wide ? 'page page-wide' : 'page'}>
      <div className="page-head">
        <div className="page-head-text">
          {crumbs && crumbs.length > 0 && (
            <nav aria-label={words.breadcrumbs}>
              <ol className="crumbs">
                {crumbs.map((crumb) => (
                  <li key={crumb.to}>
                    <Link to={crumb.to}>{crumb.label}</Link> /
                  </li>
                ))}
              </ol>
            </nav>
          )}
          <div className="row">
            <h1 ref={heading} tabIndex={-1}>
              {title}
            </h1>
            {mark}
          </div>
          {lead !== undefined && <p className="soft">{lead}</p>}
        </div>
        {actions !== undefined && <div className="page-actions">{actions}</div>}
      </div>
      {children}
      <ApiCalls calls={calls} />
    </div>
  );
}
