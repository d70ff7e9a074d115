import { describe, expect } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import type { Attributes, Span } from '../../spans/span.ts';
import type { Store } from '../../store/store.ts';
import { aSpan } from '../a-span.ts';
import { claimOne, type StoreTest } from './store-test.ts';

/** Large contents of records, such as images, which a store may keep once. */
export function describeContents(test: StoreTest): void {
  describe('images', () => {
    test('are returned unchanged, wherever they are in a span', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const spans = shapes.map((attributes, index) =>
        aSpan({ rolloutId, attemptId: attempt.attemptId, sequenceId: index + 1, attributes }),
      );
      const elaborate = aSpan({
        ...{ rolloutId, attemptId: attempt.attemptId, sequenceId: spans.length + 1 },
        status: { code: 'ERROR', message: `cannot read ${url(one)}` },
        events: [{ name: 'shown', timeMs: 1, attributes: { image: url(other) } }],
        resource: { attributes: { logo: url(one) }, schemaUrl: '' },
      });
      const all = [...spans, elaborate];
      expect(await store.appendSpans(all)).toEqual(all);
      expect((await store.querySpans({ rolloutId })).items).toEqual(all);
      expect((await store.searchSpans({ rolloutIdIn: [rolloutId] })).items).toEqual(all);
      expect(await store.readTraces([rolloutId])).toMatchObject([{ spans: all }]);
      expect((await store.searchSpans({ attributes: { image: url(one) } })).items).toEqual([all[0]]);
      const list = [url(one), url(one), 'x'];
      expect((await store.searchSpans({ attributes: { list } })).items).toEqual([all[2]]);
    });

    test('are returned unchanged in inputs of rollouts', async ({ store }) => {
      const input = { picture: url(one), texts: lookAlikes };
      const { rolloutId } = await claimOne(store, { input });
      await inputIs(store, rolloutId, input);
      await store.updateRollout(rolloutId, { input: [url(other)] });
      await inputIs(store, rolloutId, [url(other)]);
    });

    test('texts that look like references to them are returned unchanged', async ({ store }) => {
      const { rolloutId, attempt } = await claimOne(store);
      const attributes = { body: JSON.stringify([url(one), ...lookAlikes]), lookAlikes };
      const span = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes });
      await store.appendSpans([span]);
      expect((await store.querySpans({ rolloutId })).items).toEqual([span]);
    });

    test('are returned unchanged in inputs of traces of production', async ({ store }) => {
      const input = { picture: url(one), note: lookAlikes[0] ?? '' };
      const attributes = { 'agentlightning.operation.input': JSON.stringify(input) };
      const span = aSpan({ rolloutId: 'ro-1', attemptId: 'at-1', attributes });
      await store.recordTraces('support', [span]);
      await inputIs(store, 'ro-1', input);
      // Later spans of the trace leave it.
      await store.recordTraces('support', [aSpan({ rolloutId: 'ro-1', parentId: span.spanId, sequenceId: 2 })]);
      await inputIs(store, 'ro-1', input);
    });

    test('are kept while a rollout has them', async ({ store }) => {
      for (const runId of ['run-1', 'run-2', 'run-3']) await store.createRun({ runId, name: runId, config: {} });
      const spans: Span[] = [];
      for (const runId of ['run-1', 'run-2', 'run-3']) spans.push(await spanWithImage(store, runId));
      await store.deleteRun('run-1', { force: true });
      await store.deleteRollouts([spans[1]?.rolloutId ?? '']);
      const [, , kept] = spans;
      expect((await store.querySpans({ rolloutId: kept?.rolloutId ?? '' })).items).toEqual([kept]);
      await store.deleteRun('run-3', { force: true });
      // Recorded again after the last one was deleted.
      const again = await spanWithImage(store, 'run-2');
      expect((await store.querySpans({ rolloutId: again.rolloutId })).items).toEqual([again]);
    });

    test('are in the archive of a run', async ({ store }) => {
      await store.createRun({ runId: 'run-1', name: 'one', config: {} });
      const span = await spanWithImage(store, 'run-1');
      const parts: Uint8Array[] = [];
      for await (const part of store.exportRun('run-1')) parts.push(part);
      await store.deleteRun('run-1', { force: true });
      await store.importRun(
        (async function* () {
          yield* parts;
        })(),
      );
      expect((await store.querySpans({ rolloutId: span.rolloutId })).items).toEqual([span]);
      await inputIs(store, span.rolloutId, { image: url(one) });
    });
  });
}

const [one, other] = ['iVBORw0KGgo+/', '/9j/4AAQSkZJ'].map((part) => `${part.repeat(200)}==`);
const url = (content = ''): string => `data:image/png;base64,${content}`;

/** Bodies of requests as recorders have them. */
const shapes: readonly Attributes[] = [
  { image: url(one) },
  { image: one ?? '', encoding: 'base64' },
  { text: `before ![](${url(one)}) and\n${url(other)}`, list: [url(one), url(one), 'x'] },
  { body: JSON.stringify({ messages: [{ content: [{ type: 'image_url', image_url: { url: url(one) } }] }] }) },
  { body: JSON.stringify({ input: [{ content: [{ type: 'input_image', image_url: url(other) }] }] }, null, 2) },
  { body: JSON.stringify({ source: { type: 'base64', media_type: 'image/png', data: one } }) },
  { body: JSON.stringify({ nested: JSON.stringify({ again: JSON.stringify([url(one), `a\n${one}`]) }) }) },
  // Escape sequences before and after a content, another alphabet, line breaks, and contents that are too short.
  { body: `"base64"\\${one}\\n${one}\u0001${one}"${one}"${one}\ud800` },
  { body: url(`${one?.replaceAll('/', '_')}==`), lines: url(one?.replace(/.{76}/g, '$&\n')), short: url('AAAA') },
];

const digest = '0123456789abcdef'.repeat(4);
const lookAlikes = [
  `sha256:${digest}`,
  `\\u0073ha256:${digest}`,
  `"\\u0073ha256:${digest}"`,
  `\\\\u0073ha256:${digest}`,
  `${url()}\\u0073ha256:${digest}`,
  `\\\n\\u0073ha256:${digest}`,
  url(`sha256:${digest}`),
];

async function inputIs(store: Store, rolloutId: string, input: JsonValue): Promise<void> {
  const listed = await store.queryRollouts({ rolloutIdIn: [rolloutId] });
  const found = await store.searchRollouts();
  const read: readonly unknown[] = [
    (await store.getRollout(rolloutId)).input,
    listed.items[0]?.input,
    found.items.find(({ rollout }) => rollout.rolloutId === rolloutId)?.rollout.input,
  ];
  expect(read).toEqual([input, input, input]);
}

/** A span with an image of a succeeded rollout whose input has it too. */
async function spanWithImage(store: Store, runId: string): Promise<Span> {
  const { rolloutId, attempt } = await store.startRollout({ input: { image: url(one) }, runId });
  const span = aSpan({ rolloutId, attemptId: attempt.attemptId, attributes: { image: url(one) } });
  await store.appendSpans([span]);
  await store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' });
  return span;
}
