import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { loadUpstreams } from './load-upstreams.ts';

test.each([
  [
    [{ baseURL: 'http://a/v1' }],
    /0\.baseUrl: is missing; it must be text; there is no option "0\.baseURL"; did you mean "baseUrl"\?/,
  ],
  [
    [{ baseUrl: 'http://a/v1', capture: 'token' }],
    /0\.capture: must be one of .*, not "token"; did you mean "tokens"\?/,
  ],
  [[], /must have at least 1 entry, not \[\]/],
  // Who writes a key where its variable belongs does not find it in a log.
  [
    [{ baseUrl: 'http://a/v1', apiKey: { env: 'sk-live-1' }, headers: { 'X-Team': { env: 'Bearer 1' } } }],
    /0\.apiKey\.env: must be the name of an environment variable, not the key; 0\.headers\.X-Team\.env: must be the name of an environment variable, not the key$/,
  ],
  [[{ baseUrl: 'http://a/v1', apiKey: { env: 'ABSENT' } }], /0\.apiKey: the environment variable ABSENT is not set$/],
  [
    [{ baseUrl: 'http://a/v1', apiKeyEnv: 'KEY', headersEnv: { 'X-Team': 'TEAM' } }],
    /no option "0\.apiKeyEnv": it is now `apiKey: env\('NAME'\)`.*no option "0\.headersEnv": it is now `headers: /,
  ],
])('says what is wrong in a file of upstreams: %j', async (entries, message) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'agl-upstreams-'));
  const file = path.join(folder, 'upstreams.json');
  writeFileSync(file, JSON.stringify(entries));
  try {
    await expect(loadUpstreams(file, {})).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(message),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
