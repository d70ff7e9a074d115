import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { curlCommand } from './curl-command.ts';

/** The arguments that a shell passes to curl. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }\n${command}`;
  const output = execFileSync('sh', ['-c', script], { env: { BASE_URL: 'http://model/v1', API_KEY: 'key' } });
  return output.toString().split('\0').slice(0, -1);
}

test('the shell passes the body unchanged, whatever it contains', () => {
  const requestBody = JSON.stringify({ text: `'; echo hostile; ' $(id) \`id\` \\ "quoted" \n ${'$'}HOME` });
  const span = { spanId: 's', name: 'call', status: 'OK', responseBody: null, requestBody };
  const words = argumentsOf(curlCommand({ ...span, attributes: { 'agentlightning.api': 'responses' } }));
  expect(words[0]).toBe('http://model/v1/responses');
  expect(words.at(-1)).toBe(requestBody);
  expect(words).toContain('authorization: Bearer key');
});
