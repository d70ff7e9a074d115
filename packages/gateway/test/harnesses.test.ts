import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@agentlightning/core';
import { parseJsonObject } from '@agentlightning/core/internal';
import { describe, expect, it } from 'vitest';
import { type BareUpstream, respondJson, startGateway, startUpstream } from './gateway-fixture.ts';

/** A whole request as a harness sends it: a file of `test/harnesses`. */
interface HarnessRequest {
  /** The code that writes it, or its report. */
  readonly source: string;
  readonly request: JsonObject;
  /** What the engine rejects: content in parts, or ids of tool calls that have not nine letters and digits. */
  readonly rejects?: { readonly what: 'parts' | 'ids'; readonly status: number; readonly body: JsonObject };
  readonly expected?: {
    /** Fields of the request that the engine receives. @default those of the request */
    readonly sent?: JsonObject;
    readonly changes?: readonly string[];
  };
}

const folder = join(import.meta.dirname, 'harnesses');
const requests = readdirSync(folder).map((file): [string, HarnessRequest] => [
  file.replace('.json', ''),
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
]);

async function engineOf({ rejects }: HarnessRequest): Promise<BareUpstream> {
  const upstream = await startUpstream((response) => {
    const text = upstream.requests.at(-1)?.body ?? '';
    const isRejected =
      (rejects?.what === 'parts' && /"content":\[/.test(text)) ||
      (rejects?.what === 'ids' && /"(?:tool_call_)?id":"(?![a-zA-Z0-9]{9}")/.test(text));
    if (isRejected) {
      const { status = 400, body } = rejects ?? {};
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    const logprobs = { content: [7, 8].map((id) => ({ token: String(id), logprob: -0.1 })) };
    const fields = { index: 0, finish_reason: 'stop', logprobs, token_ids: [7, 8], prompt_token_ids: [1, 2, 3] };
    const head = { id: 'chatcmpl-1', created: 1, model: 'm' };
    const message = { role: 'assistant', content: 'Done.' };
    if (parseJsonObject(text)?.stream !== true) {
      return respondJson(response, { ...head, choices: [{ ...fields, message }] });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`data: ${JSON.stringify({ ...head, choices: [{ ...fields, delta: message }] })}\n\ndata: [DONE]\n\n`);
  });
  return upstream;
}

describe.each(requests)('a request of %s', (_, harness) => {
  it.each([true, false])(
    'with stream %s reaches the engine as it was sent, twice, and is trainable',
    async (stream) => {
      await using upstream = await engineOf(harness);
      await using fixture = await startGateway({ upstream: { baseUrl: upstream.baseUrl } });
      const attempt = await fixture.attempt();
      const { stream_options: options, ...whole } = harness.request;
      const request = stream ? { ...whole, stream, stream_options: options ?? { include_usage: true } } : whole;
      for (const _again of [1, 2]) {
        const response = await fetch(`${fixture.baseUrl(attempt)}/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(request),
        });
        expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')]);
        const sent = parseJsonObject(upstream.requests.at(-1)?.body ?? '') ?? {};
        expect(sent).toMatchObject({ ...request, ...harness.expected?.sent });
      }
      // Once a refusal is known, no request is sent in vain.
      expect(upstream.requests).toHaveLength(harness.rejects === undefined ? 2 : 3);
      const calls = await fixture.calls(attempt);
      expect(calls.map(({ isTrainable }) => isTrainable)).toEqual([true, true]);
      expect(calls[0]?.request).toEqual(request);
      const changes = (await fixture.spans(attempt)).map(
        ({ attributes }) => attributes['agentlightning.request_changes'],
      );
      expect(changes).toEqual(Array(2).fill(harness.expected?.changes));
    },
  );
});
