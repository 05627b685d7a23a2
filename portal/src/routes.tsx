// All pages by their paths. Each is loaded when it is opened, so that the first one is there soon.
import { createBrowserRouter, Navigate, Outlet, useParams, useRouteError } from 'react-router';
import { useRead } from './api/reads';
import { isOperator } from './api/session';
import * as things from './api/things';
import { ScopeProvider, useScope } from './app/scope';
import { SignedIn, useSession } from './app/session';
import { Shell } from './app/Shell';
import { operatorNav, operatorRoutes } from './pages/operator/routes';
import { tenantRoutes } from './pages/tenant/routes';
import { strings } from './strings';
import { Button } from './ui/controls';
import { Page } from './ui/Page';
import { Denied, Empty, Loading, Missing, Note, Reading, Refused } from './ui/states';

const words = strings.shared;

function Start() {
  const session = useSession();
  const { current, ready, error, retry } = useScope();
  const first = operatorNav[0];
  if (isOperator(session) && first) return <Navigate to={first.to} replace />;
  if (current) return <Navigate to={`/projects/${current.project.id}`} replace />;
  if (error) return <Refused error={error} onRetry={retry} />;
  if (!ready) return <Loading />;
  return (
    <Page title={words.product}>
      <Empty title={strings.tenant.start.noProject}>
        <p>{strings.tenant.start.noProjectDetail}</p>
      </Empty>
    </Page>
  );
}

function OperatorsOnly() {
  const session = useSession();
  if (!isOperator(session)) return <Page title={words.nav.operator}><Denied /></Page>;
  return <Outlet />;
}

/** Links that name an allocation alone lead to its page in its project. */
function AllocationById() {
  const { allocationId = '' } = useParams();
  const found = useRead(things.allocation(allocationId));
  return <Reading of={found}>{(it) => <Navigate to={`/projects/${it.project_id}/allocations/${it.id}`} replace />}</Reading>;
}

function NotFound() {
  return (
    <Page title={words.missing}>
      <Missing />
    </Page>
  );
}

function Broken() {
  const error = useRouteError();
  return (
    <div className="front">
      <div className="front-box">
        <Note tone="bad" title={words.unexpected}>
          <p>{words.unexpectedDetail}</p>
          <p className="small soft">{error instanceof Error ? error.message : String(error)}</p>
          <div>
            <Button onPress={() => window.location.reload()}>{words.reload}</Button>
          </div>
        </Note>
      </div>
    </div>
  );
}

/** The router. */
export const router = createBrowserRouter([
  {
    errorElement: <Broken />,
    hydrateFallbackElement: <Loading />,
    children: [
      { path: '/sign-in', lazy: () => import('./pages/SignIn') },
      {
        element: (
          <SignedIn>
            <ScopeProvider>
              <Shell />
            </ScopeProvider>
          </SignedIn>
        ),
        children: [
          { index: true, element: <Start /> },
          { path: '/allocations/:allocationId', element: <AllocationById /> },
          ...tenantRoutes,
          { path: '/operator', element: <OperatorsOnly />, children: operatorRoutes },
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
  },
]);
