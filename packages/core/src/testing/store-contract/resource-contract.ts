import { describe, expect } from 'vitest';
import type { NamedResources } from '../../store/resource.ts';
import type { StoreTest } from './store-test.ts';

const everyKind: NamedResources = {
  model: {
    resourceType: 'proxy_llm',
    endpoint: 'http://localhost:4750/v1',
    model: 'policy',
    apiKey: null,
    samplingParameters: { temperature: 1, stop: ['\n'] },
  },
  judge: { resourceType: 'llm', endpoint: 'http://localhost:1/v1', model: 'm', apiKey: 'k', samplingParameters: {} },
  prompt: { resourceType: 'prompt_template', template: 'Answer {question}', engine: 'f-string' },
};

/** Versioned resources; the last written one is the latest. */
export function describeResources(test: StoreTest): void {
  describe('resources', () => {
    test('are returned unchanged, with a version and times', async ({ store, clock }) => {
      const added = await store.addResources(everyKind);
      expect(added).toEqual({
        resourcesId: expect.stringMatching(/^rs-[0-9a-f]{12}$/),
        version: 1,
        resources: everyKind,
        createTimeMs: clock.now(),
        updateTimeMs: clock.now(),
      });
      expect(await store.getResources(added.resourcesId)).toEqual(added);
    });

    test('increment their version with every update', async ({ store, clock }) => {
      const added = await store.addResources(everyKind);
      await clock.advance(1000);
      const updated = await store.updateResources(added.resourcesId, {});
      expect(updated).toEqual({ ...added, version: 2, resources: {}, updateTimeMs: clock.now() });
      expect(await store.getResources(added.resourcesId)).toEqual(updated);
    });

    test('are created by the first update of a new id', async ({ store }) => {
      expect(await store.updateResources('rs-mine', everyKind)).toMatchObject({ resourcesId: 'rs-mine', version: 1 });
    });

    test('have the last written one as latest', async ({ store }) => {
      expect(await store.getLatestResources()).toBeNull();
      const first = await store.addResources({});
      const second = await store.addResources({});
      expect(await store.getLatestResources()).toEqual(second);
      const rewritten = await store.updateResources(first.resourcesId, everyKind);
      expect(await store.getLatestResources()).toEqual(rewritten);
    });

    test('are listed with sorting and pagination', async ({ store }) => {
      for (const id of ['rs-a', 'rs-b', 'rs-c']) await store.updateResources(id, {});
      await store.updateResources('rs-a', everyKind);
      const ids = async (query: Parameters<typeof store.queryResources>[0]): Promise<string[]> =>
        (await store.queryResources(query)).items.map((item) => item.resourcesId);
      expect(await ids({})).toEqual(['rs-b', 'rs-c', 'rs-a']);
      expect(await ids({ sortBy: 'version', sortOrder: 'desc', limit: 1 })).toEqual(['rs-a']);
      expect(await ids({ resourcesId: 'rs-b' })).toEqual(['rs-b']);
      expect(await ids({ resourcesIdContains: 's-' })).toHaveLength(3);
      await expect(store.queryResources({ limit: 0 })).rejects.toMatchObject({ code: 'VALIDATION' });
    });

    test('report an unknown id as NOT_FOUND', async ({ store }) => {
      await expect(store.getResources('rs-unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });
  });
}
