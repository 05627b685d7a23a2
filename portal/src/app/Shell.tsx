// The frame around every page: menu, project and region, theme, how the connection stands, who is signed in.
import { useQueryClient } from '@tanstack/react-query';
import { Suspense, useEffect, type ReactNode } from 'react';
import { NavLink, Outlet, useNavigate, useParams } from 'react-router';
import { useConnection } from '../api/live';
import { useRead } from '../api/reads';
import { isOperator, signOut } from '../api/session';
import * as things from '../api/things';
import { operatorNav, operatorRoutes } from '../pages/operator/routes';
import { tenantRoutes } from '../pages/tenant/routes';
import { strings } from '../strings';
import { useSeconds } from '../ui/clock';
import { Select } from '../ui/controls';
import { sentence } from '../ui/format';
import { ChartIcon, ChipIcon, HomeIcon, HookIcon, KeyIcon, MenuIcon, PeopleIcon, QueueIcon, RocketIcon, SunIcon, TokenIcon, ToneMark, UserIcon } from '../ui/icons';
import { Drawer, MenuButton, tell, Toasts } from '../ui/overlays';
import { Loading } from '../ui/states';
import { fetchPages } from './pages';
import { useScope } from './scope';
import { useSession } from './session';
import { setTheme, useTheme, type Theme } from './theme';

const words = strings.shared;

function NavItem({ to, children, icon, end, onGo }: { to: string; children: ReactNode; icon: ReactNode; end?: boolean; onGo: (() => void) | undefined }) {
  return (
    <li>
      <NavLink to={to} end={end ?? false} className="nav-link" {...(onGo ? { onClick: onGo } : {})}>
        {icon}
        {children}
      </NavLink>
    </li>
  );
}

function Sidebar({ onGo }: { onGo?: () => void }) {
  const session = useSession();
  const { current } = useScope();
  const base = current ? `/projects/${current.project.id}` : '';
  return (
    <nav className="sidebar" aria-label={words.mainNav}>
      <NavLink to="/" className="brand" {...(onGo ? { onClick: onGo } : {})}>
        <img src="/favicon.svg" alt="" />
        {words.product}
      </NavLink>
      <div className="stack">
        {current && (
          <div className="nav-group">
            <h2>{current.path}</h2>
            <ul className="plain-list">
              <NavItem to={base} end icon={<HomeIcon />} onGo={onGo}>
                {words.nav.home}
              </NavItem>
              <NavItem to={`${base}/launch`} icon={<RocketIcon />} onGo={onGo}>
                {words.nav.launch}
              </NavItem>
              <NavItem to={`${base}/allocations`} icon={<ChipIcon />} onGo={onGo}>
                {words.nav.allocations}
              </NavItem>
              <NavItem to={`${base}/queue`} icon={<QueueIcon />} onGo={onGo}>
                {words.nav.queue}
              </NavItem>
              <NavItem to={`${base}/usage`} icon={<ChartIcon />} onGo={onGo}>
                {words.nav.usage}
              </NavItem>
              <NavItem to={`${base}/ssh-keys`} icon={<KeyIcon />} onGo={onGo}>
                {words.nav.sshKeys}
              </NavItem>
              <NavItem to={`/tenants/${current.tenant.id}/members`} icon={<PeopleIcon />} onGo={onGo}>
                {words.nav.members}
              </NavItem>
              <NavItem to={`/tenants/${current.tenant.id}/webhooks`} icon={<HookIcon />} onGo={onGo}>
                {words.nav.webhooks}
              </NavItem>
            </ul>
          </div>
        )}
        <div className="nav-group">
          <h2>{words.you}</h2>
          <ul className="plain-list">
            <NavItem to="/tokens" icon={<TokenIcon />} onGo={onGo}>
              {words.nav.tokens}
            </NavItem>
          </ul>
        </div>
        {isOperator(session) && operatorNav.length > 0 && (
          <div className="nav-group">
            <h2>{words.nav.operator}</h2>
            <ul className="plain-list">
              {operatorNav.map((item) => (
                <NavItem key={item.to} to={item.to} icon={item.icon} end={item.end ?? false} onGo={onGo}>
                  {item.label}
                </NavItem>
              ))}
            </ul>
          </div>
        )}
      </div>
    </nav>
  );
}

function ProjectPicker() {
  const { all, current } = useScope();
  const navigate = useNavigate();
  const byTenant = new Map<string, typeof all>();
  for (const each of all) byTenant.set(each.tenant.id, [...(byTenant.get(each.tenant.id) ?? []), each]);
  const groups = [...byTenant.entries()].map(([id, list]) => ({
    id,
    label: list[0]?.tenant.name ?? id,
    options: list.map((each) => ({ id: each.project.id, label: each.path, detail: each.project.name })),
  }));
  if (all.length === 0) return null;
  return (
    <Select
      compact
      label={words.project}
      placeholder={words.chooseProject}
      value={current?.project.id}
      groups={groups}
      onChange={(id) => void navigate(`/projects/${id}`)}
    />
  );
}

function RegionFilter() {
  const { regionId, setRegionId } = useScope();
  const regions = useRead(things.regions);
  const items = regions.data?.items ?? [];
  if (items.length < 2) return null;
  return (
    <Select
      compact
      label={words.region}
      value={items.some((region) => region.id === regionId) ? regionId : 'all'}
      onChange={(id) => setRegionId(id === 'all' ? undefined : id)}
      options={[
        { id: 'all', label: words.allRegions },
        ...items.map((region) => ({ id: region.id, label: region.slug, detail: region.enabled ? region.name : words.regionClosed, disabled: !region.enabled })),
      ]}
    />
  );
}

function LostFor({ retryAt }: { retryAt: number }) {
  const now = useSeconds();
  return <>{words.lost(Math.max(0, Math.ceil((retryAt - now) / 1000)))}</>;
}

function ConnectionState() {
  const connection = useConnection();
  const tone = connection.kind === 'live' ? 'good' : connection.kind === 'lost' ? 'warn' : 'busy';
  return (
    <span className="connection" data-kind={connection.kind} data-tone={tone} role="status">
      <ToneMark tone={tone} size={10} />
      {connection.kind === 'live' ? words.live : connection.kind === 'lost' ? <LostFor retryAt={connection.retryAt} /> : words.connecting}
    </span>
  );
}

function ThemeMenu() {
  const theme = useTheme();
  const entries: [Theme, string][] = [
    ['system', words.themeSystem],
    ['light', words.themeLight],
    ['dark', words.themeDark],
  ];
  return (
    <MenuButton label={words.theme} iconOnly entries={entries.map(([id, label]) => ({ id, label, selected: id === theme, onAction: () => setTheme(id) }))}>
      <SunIcon />
    </MenuButton>
  );
}

function AccountMenu() {
  const session = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = async (): Promise<void> => {
    try {
      await signOut();
      queries.clear();
      await navigate('/sign-in');
    } catch (cause) {
      tell(cause instanceof Error ? cause.message : String(cause), 'bad');
    }
  };
  return (
    <MenuButton
      label={words.account}
      iconOnly
      entries={[
        { id: 'settings', label: words.settings, detail: session.who.principal.name, onAction: () => void navigate('/settings') },
        { id: 'tokens', label: words.tokens, onAction: () => void navigate('/tokens') },
        { id: 'api', label: words.apiReference, onAction: () => window.location.assign('/docs/api') },
        {
          id: 'sign-out',
          label: words.signOut,
          ...(session.who.principal.platform_role ? { detail: sentence(session.who.principal.platform_role) } : {}),
          onAction: () => void leave(),
        },
      ]}
    >
      <UserIcon />
    </MenuButton>
  );
}

/** The frame. */
export function Shell() {
  const { projectId } = useParams();
  const operates = isOperator(useSession());
  useEffect(() => fetchPages(operates ? [...tenantRoutes, ...operatorRoutes] : tenantRoutes), [operates]);
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        {words.skip}
      </a>
      <Sidebar />
      <header className="topbar">
        <Drawer label={words.menu} trigger={<MenuIcon />}>
          {(close) => <Sidebar onGo={close} />}
        </Drawer>
        <ProjectPicker />
        <div className="second-line">
          <RegionFilter />
        </div>
        <span className="push" />
        <div className="second-line">
          <ConnectionState />
        </div>
        <ThemeMenu />
        <AccountMenu />
        <span className="line-break" />
      </header>
      <main id="main" className="content" tabIndex={-1}>
        <Suspense fallback={<Loading />}>
          <Outlet key={projectId} />
        </Suspense>
      </main>
      <Toasts />
    </div>
  );
}
