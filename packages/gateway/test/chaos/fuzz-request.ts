import type { JsonValue } from '@agentlightning/core';
import { damaged, fuzzValue } from './fuzz-value.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A request on the wire, and the behaviour of its client. */
export interface FuzzRequest {
  /** Raw bytes, mostly invalid HTTP; null for an HTTP request. */
  readonly raw: string | null;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** When the client disconnects, in milliseconds; null when it waits for the response. */
  readonly hangUpAfterMs: number | null;
}

const tool = { type: 'object', properties: { a: { type: 'number' } } };
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

const bodies: Readonly<Record<string, JsonValue>> = {
  '/chat/completions': {
    model: 'policy',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '5' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: tool } }],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.5,
    max_completion_tokens: 64,
  },
  '/completions': { model: 'policy', prompt: 'One, two,', max_tokens: 8, stream: false, logprobs: 1 },
  '/responses': {
    model: 'policy',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'What is 2 + 3?' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '5' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: tool, strict: true }],
    text: { format: { type: 'json_schema', name: 'n', schema: tool } },
    reasoning: { effort: 'low' },
    stream: true,
  },
  '/messages': {
    model: 'policy',
    max_tokens: 64,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: 'What is 2 + 3?' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '5' }] },
    ],
    tools: [{ name: 'f', input_schema: tool }],
    stream: true,
  },
  '/messages/count_tokens': { model: 'policy', messages: [{ role: 'user', content: 'hello' }] },
  '/embeddings': { model: 'policy', input: ['one', 'two'] },
};

const raws: readonly [string, ...string[]] = [
  'GARBAGE\r\n\r\n',
  'GET /v1/models HTTP/9.9\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
  `GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-big: ${'y'.repeat(70_000)}\r\n\r\n`,
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
  'GET http://169.254.169.254/latest HTTP/1.1\r\nhost: 169.254.169.254\r\nconnection: close\r\n\r\n',
  'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n',
  'GET /v1/models HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001',
];

const tails: readonly [string, ...string[]] = ['', '/', '//', '?x=1', '/%00', '/..', '%2e%2e/', '/%zz', '#'];
const methods: readonly [string, ...string[]] = ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'];
const otherPaths: readonly [string, ...string[]] = [
  '/models',
  '/health',
  '/metrics',
  '/admin/upstreams',
  '/admin/pause',
  '/',
];

/** Generates a request. `roots` are base URLs, some of them of attempts. */
export function fuzzRequest(random: SeededRandom, roots: readonly [string, ...string[]]): FuzzRequest {
  const hangUpAfterMs = random.happens(0.1) ? random.below(30) : null;
  const plain = { raw: null, headers: headersOf(random), hangUpAfterMs };
  if (random.happens(0.05)) return { ...plain, raw: random.of(raws), method: 'GET', path: '/', body: null };
  const root = random.happens(0.1) ? fuzzRoot(random) : random.of(roots);
  if (random.happens(0.1)) {
    const method = random.of(methods);
    const body = method === 'PUT' || method === 'PATCH' ? JSON.stringify(fuzzValue(random)) : null;
    return { ...plain, method, path: root + random.of(otherPaths) + random.of(tails), body };
  }
  const [path, body] = random.of(Object.entries(bodies) as [[string, JsonValue], ...[string, JsonValue][]]);
  const tail = random.happens(0.05) ? random.of(tails) : '';
  return { ...plain, method: 'POST', path: root + path + tail, body: textOf(random, body) };
}

function textOf(random: SeededRandom, body: JsonValue): string {
  const text = JSON.stringify(random.happens(0.2) ? body : damaged(random, body, random.of([0.01, 0.03, 0.1])));
  if (random.happens(0.05)) return text.slice(0, random.below(text.length + 1));
  if (random.happens(0.02)) return '['.repeat(20_000);
  return text;
}

function fuzzRoot(random: SeededRandom): string {
  const id = encodeURIComponent(
    JSON.stringify(fuzzValue(random))
      .slice(0, 200)
      .replaceAll(/[\ud800-\udfff]/g, '?'),
  );
  return random.of([
    `/rollout/${id}/attempt/${id}/v1`,
    `/proxy/rollout/${id}/attempt/0/mode/${id}/openai/v1`,
    '/rollout/%zz/attempt/%00/v1',
    `/${id}`,
  ]);
}

function headersOf(random: SeededRandom): Record<string, string> {
  const headers: Record<string, string> = {};
  if (random.happens(0.8))
    headers['content-type'] = random.of(['application/json', 'text/plain', 'multipart/form-data', 'x']);
  if (random.happens(0.1)) headers['content-encoding'] = random.of(['gzip', 'br', 'none']);
  if (random.happens(0.2)) headers['authorization'] = random.of(['Bearer x', 'Basic eDp5', 'Bearer aglat.a.b.c', '']);
  if (random.happens(0.1)) headers['x-rollout-id'] = random.of(['ro-1', '../..', '%00']);
  if (random.happens(0.1)) headers['x-attempt-id'] = random.of(['at-1', '', '0']);
  if (random.happens(0.1)) headers['x-agl-agent-path'] = random.of(['%E0%A4%A', '>>>', 'a>b'.repeat(500)]);
  if (random.happens(0.1)) headers['x-agl-trace-id'] = random.of(['zz', '0'.repeat(32)]);
  if (random.happens(0.1)) headers['x-request-id'] = random.of(['a b', 'y'.repeat(300), 'ok-1']);
  if (random.happens(0.05)) headers['expect'] = '100-continue';
  return headers;
}
