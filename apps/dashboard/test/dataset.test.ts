import { openStore, type SqlStore } from '@agentlightning/store';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Dashboard, type DatasetRequest, serveDashboard } from '../src/index.ts';
import { fillStore, sampleRunId } from './sample-store.ts';

const requests: DatasetRequest[] = [];

async function* datasets(request: DatasetRequest): AsyncGenerator<string> {
  requests.push(request);
  yield '{"messages":[]}\n';
  yield '{"messages":["é"]}\n';
}

let store: SqlStore;
let dashboard: Dashboard;

beforeAll(async () => {
  store = await openStore(':memory:');
  await fillStore(store);
  dashboard = await serveDashboard({ store, datasets });
});

afterAll(async () => {
  await dashboard.close();
  await store.close();
});

const download = (query: string): Promise<Response> => fetch(`${dashboard.url}/api/runs/${query}`);

test('a data set is downloaded as lines of JSON', async () => {
  const response = await download(`${sampleRunId}/dataset?from=rewards&minReward=0.5`);
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${sampleRunId}-chat.jsonl"`);
  expect(await response.text()).toBe('{"messages":[]}\n{"messages":["é"]}\n');
  expect(requests.at(-1)).toEqual({ run: sampleRunId, format: 'chat', by: 'rewards', mode: 'train', minReward: 0.5 });
  await (await download(`${sampleRunId}/dataset?format=preference&minReward=0.5`)).text();
  expect(requests.at(-1)).toEqual({ run: sampleRunId, format: 'preference', by: 'annotations', mode: 'train' });
});

test('unknown runs and formats are refused before the download', async () => {
  expect((await download('run-none/dataset')).status).toBe(404);
  expect((await download(`${sampleRunId}/dataset?format=csv`)).status).toBe(400);
});
