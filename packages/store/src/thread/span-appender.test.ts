import { join } from 'node:path';
import { systemClock } from '@agentlightning/core';
import { aSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { lineInOneThread } from '../../test/line-in-one-thread.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { LoneSpanWriter } from './lone-span-writer.ts';
import { ThreadStore } from './thread-store.ts';

async function open(file: string): Promise<ThreadStore> {
  const limits = { durability: 'process', maxSizeBytes: null } as const;
  const loneSpans = LoneSpanWriter.open({ path: file, clock: systemClock, ...limits });
  return new ThreadStore({ ...(await lineInOneThread(file)), reader: null, loneSpans });
}

test('those who watch are told of every span, also of those that can wait to be told of', async () => {
  await using folder = await temporaryFolder();
  const store = await open(join(folder.path, 'agl.db'));
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const changes = store.watchChanges({ kindIn: ['spans', 'attempt'] });
  await changes.next();
  const { sequenceId: _own, ...span } = aSpan({ rolloutId, attemptId: attempt.attemptId });
  for (const spanId of ['a', 'b', 'c']) await store.appendSpans([{ ...span, spanId: spanId.repeat(16) }]);
  const told: string[] = [];
  for await (const change of changes) {
    if (change.kind === 'attempt') told.push(change.status);
    if (change.kind === 'spans') told.push(`span ${change.lastSequenceId}`);
    if (told.length === 4) break;
  }
  expect(told.toSorted()).toEqual(['running', 'span 1', 'span 2', 'span 3']);
  await store.close();
});

test('those who watch are told of a span that came alone before they are told of what came right after it', async () => {
  await using folder = await temporaryFolder();
  const store = await open(join(folder.path, 'agl.db'));
  const { rolloutId, attempt } = await store.startRollout({ input: 1 });
  const changes = store.watchChanges({ kindIn: ['attempt'] });
  await changes.next();
  const span = aSpan({ rolloutId, attemptId: attempt.attemptId });
  const written = [
    store.appendSpans([span]),
    store.updateAttempt(rolloutId, 'latest', { status: 'succeeded' }),
    store.appendSpans([{ ...span, spanId: 'f'.repeat(16) }]),
  ];
  const told: string[] = [];
  for await (const change of changes) {
    if (change.kind === 'attempt') told.push(change.status);
    if (told.length === 2) break;
  }
  expect(told).toEqual(['running', 'succeeded']);
  await Promise.all(written);
  await store.close();
});
