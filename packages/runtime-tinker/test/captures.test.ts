import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { startFakeTinkerServer } from '../src/testing/index.ts';
import { type CapturedRequest, type Exchange, startRecorder, startReplay } from './captures/exchanges.ts';
import { runScenario } from './captures/scenario.ts';

vi.setConfig({ testTimeout: 60_000 });

async function recorded<TContent>(name: string): Promise<TContent> {
  return JSON.parse(await readFile(path.join(import.meta.dirname, 'captures', name), 'utf8')) as TContent;
}

const numbers = (length: number): unknown => Array.from({ length }, () => expect.any(Number));

test.each([
  { kind: 'skyrl', alpha: 32, models: [{ name: '/models/tiny-qwen3', isTrainable: true }] },
  { kind: 'hatchery', alpha: null, models: [] },
])('$kind accepts the requests that were recorded, and they are still those of this client', async (expected) => {
  const { kind, alpha, models } = expected;
  const problems: unknown[] = [];
  const server = await startReplay(await recorded<readonly Exchange[]>(`${kind}.json`), (found, wanted) =>
    problems.push({ found, wanted }),
  );
  try {
    const place = { url: server.url, apiKey: 'tml-test', baseModel: '/models/tiny-qwen3', isAveraging: true };
    const results = await runScenario(place);
    expect(results).toMatchObject({ alpha, models, sample: { tokens: numbers(3), logprobs: numbers(3) } });
    expect(results).toMatchObject({ scores: numbers(4), trained: numbers(4), restored: numbers(4) });
    expect(server.remaining()).toBe(0);
  } finally {
    await server.close();
    // `pnpm record` records again, what the real servers accept.
    expect(problems).toEqual([]);
  }
});

/** Fields of the newest SDK that older servers ignore, sent before the dialect is known. */
const ofNewerSdks: ReadonlySet<string> = new Set([
  'POST create_model: optimizer_config',
  'POST create_model: optimizer_config.type',
  'POST create_model: optimizer_config.type = adamw',
  'POST save_weights_for_sampler: kind',
]);

test.each([
  { dialect: 'json', sdk: '0.24.1' },
  { dialect: 'binary', sdk: '0.25.0' },
  { dialect: 'sequences', sdk: '0.38.0' },
] as const)('requests of the dialect $dialect have fields of the SDK $sdk only', async ({ dialect, sdk }) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'tinker-captures-'));
  const server = await startFakeTinkerServer({ dialect, directory, baseModels: ['tiny-random'] });
  const requests: CapturedRequest[] = [];
  const recorder = await startRecorder(server.url, ({ request, response }) => {
    // Those that were refused have shown the dialect.
    if (response.status < 400) requests.push(request);
  });
  try {
    await runScenario({ url: recorder.url, apiKey: server.apiKey, baseModel: 'tiny-random', isAveraging: false });
  } finally {
    await recorder.close();
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
  const known = fieldsOf(await recorded<readonly CapturedRequest[]>(`sdk-${sdk}.json`));
  // The SDK leaves unloading to the end of its session; the servers have it.
  const sent = fieldsOf(requests.filter(({ route }) => !/^GET|unload_model/.test(route)));
  expect([...sent].filter((field) => !known.has(field) && !(sdk !== '0.38.0' && ofNewerSdks.has(field)))).toEqual([]);
});

/** Names whose values are names of the protocol. */
const namedValues: ReadonlySet<string> = new Set(['type', 'dtype', 'loss_fn', 'lossFn']);

/** The paths of all fields of requests, with the values of those that name something. */
function fieldsOf(requests: readonly CapturedRequest[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown, where: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, `${where}[]`);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, field] of Object.entries(value)) {
        const inner = where.endsWith(': ') ? `${where}${name}` : `${where}.${name}`;
        found.add(inner);
        if (namedValues.has(name)) found.add(`${inner} = ${String(field)}`);
        visit(field, inner);
      }
    }
  };
  for (const { route, isBinary, body } of requests) visit(body, `${route}${isBinary ? ' (binary)' : ''}: `);
  return found;
}
