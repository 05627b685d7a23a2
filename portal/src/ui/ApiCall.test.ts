import { describe, expect, it } from 'vitest';
import { curlOf } from './ApiCall';

describe('a call for a shell', () => {
  it('reads with the token of the environment', () => {
    expect(curlOf({ method: 'GET', path: '/api/v1/skus' })).toBe('curl -H "Authorization: Bearer $GPUAAS_TOKEN" "$GPUAAS_URL/api/v1/skus"');
  });

  it('writes with a key of its own and a quoted body', () => {
    const line = curlOf({ method: 'POST', path: '/api/v1/tokens', body: { name: "ada's" } });
    expect(line).toContain('-X POST');
    expect(line).toContain('-H "Idempotency-Key: $(uuidgen)"');
    expect(line).toContain(`-d '{"name":"ada'\\''s"}'`);
  });
});
