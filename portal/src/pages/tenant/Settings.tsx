// Who is signed in and with what rights, how long the session lasts, and how the portal looks.
import { useScope } from '../../app/scope';
import { useSession } from '../../app/session';
import { setTheme, useTheme } from '../../app/theme';
import { strings } from '../../strings';
import { Choices } from '../../ui/controls';
import { sentence } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Card, Facts, Time } from '../../ui/pieces';

const words = strings.tenant.settings;

/** The page. */
export function Component() {
  const session = useSession();
  const { all, tenants } = useScope();
  const theme = useTheme();
  const { principal, token, bindings } = session.who;
  const placeOf = (tenantId: string, projectId: string | undefined): string =>
    projectId === undefined ? (tenants.find((each) => each.id === tenantId)?.slug ?? tenantId) : (all.find((each) => each.project.id === projectId)?.path ?? projectId);
  return (
    <Page title={words.title} calls={[{ method: 'GET', path: '/api/v1/whoami', cli: 'gpuaas whoami' }]}>
      <div className="grid-2">
        <Card title={words.you}>
          <Facts
            of={[
              [words.name, principal.name],
              [words.kind, sentence(principal.kind)],
              [words.platformRole, principal.platform_role && sentence(principal.platform_role)],
              [
                words.roles,
                bindings.length > 0 && (
                  <ul className="plain-list">
                    {bindings.map((binding) => (
                      <li key={`${binding.tenant_id} ${binding.project_id ?? ''} ${binding.role}`}>
                        {strings.codes.role[binding.role]}, {placeOf(binding.tenant_id, binding.project_id)}
                      </li>
                    ))}
                  </ul>
                ),
              ],
              [words.id, <code key="id">{principal.id}</code>],
            ]}
          />
        </Card>
        <Card title={words.session}>
          <Facts
            of={[
              [words.token, token.name],
              [words.scope, token.scope === 'read' ? strings.tenant.tokens.read : strings.tenant.tokens.write],
              [words.idle, <Time key="idle" at={session.idle_expires_at} />],
              [words.ends, <Time key="ends" at={session.expires_at} />],
              [words.tokenEnds, <Time key="token" at={token.expires_at} />],
            ]}
          />
        </Card>
        <Card title={words.looks}>
          <Choices
            label={strings.shared.theme}
            value={theme}
            onChange={(id) => setTheme(id === 'light' || id === 'dark' ? id : 'system')}
            choices={[
              { id: 'system', title: strings.shared.themeSystem },
              { id: 'light', title: strings.shared.themeLight },
              { id: 'dark', title: strings.shared.themeDark },
            ]}
          />
        </Card>
      </div>
    </Page>
  );
}
