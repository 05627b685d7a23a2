// Where one signs in: with a token, or with the identity provider, whichever the control plane offers.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { Refusal } from '../api/client';
import { beginOidc, readSignInWays, signInWithToken } from '../api/session';
import { sessionKey } from '../app/session';
import { strings } from '../strings';
import { Button, TextField } from '../ui/controls';
import { Loading, Note, ProblemNote } from '../ui/states';

const words = strings.tenant.signIn;

/** A path of this portal to go back to; anything else becomes the start page. */
export function safeBack(back: string | null): string {
  return back !== null && /^\/(?![/\\])/.test(back) ? back : '/';
}

/** The page. */
export function Component() {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: readSignInWays, retry: false });
  const [token, setToken] = useState('');
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    document.title = `${words.title} · ${strings.shared.product}`;
  }, []);

  const withToken = async (): Promise<void> => {
    setPending(true);
    setError(undefined);
    try {
      const session = await signInWithToken(token.trim());
      queries.clear();
      queries.setQueryData(sessionKey, session);
      await navigate(safeBack(search.get('back')), { replace: true });
    } catch (cause) {
      setError(cause);
    } finally {
      setPending(false);
    }
  };
  const withProvider = async (): Promise<void> => {
    setError(undefined);
    try {
      window.location.assign(await beginOidc(safeBack(search.get('back'))));
    } catch (cause) {
      setError(cause);
    }
  };

  return (
    <main className="front">
      <div className="front-box card">
        <div className="brand">
          <img src="/favicon.svg" alt="" />
          {strings.shared.product}
        </div>
        <h1>{words.title}</h1>
        {ways.isPending && <Loading lines={2} />}
        {ways.error && <ProblemNote error={ways.error} onRetry={() => void ways.refetch()} />}
        {ways.data?.oidc && (
          <Button tone="primary" onPress={() => void withProvider()}>
            {words.withProvider(ways.data.oidc.name)}
          </Button>
        )}
        {ways.data?.token && (
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              void withToken();
            }}
          >
            <TextField label={words.token} hint={words.tokenHint} value={token} onChange={setToken} secret focusFirst={!ways.data.oidc} />
            <Button tone={ways.data.oidc ? 'plain' : 'primary'} submit pending={pending} disabled={token.trim() === ''}>
              {words.withToken}
            </Button>
          </form>
        )}
        {error instanceof Refusal && (error.signedOut || error.problem?.code === 'invalid_body') ? (
          <Note tone="bad" title={words.refused}>
            <p>{words.refusedDetail}</p>
          </Note>
        ) : (
          error !== undefined && <ProblemNote error={error} />
        )}
      </div>
    </main>
  );
}
