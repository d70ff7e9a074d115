import { expect, test } from 'vitest';
import { recordedRuntime } from './recorded-runtime.ts';

test('no key of a runtime gets into the record of a run', () => {
  const record = recordedRuntime({
    type: 'grpc',
    address: 'gpu.example:443',
    apiKey: 'secret-1',
    inferenceApiKey: 'secret-2',
    tls: { authority: 'theirs', certificate: 'ours', privateKey: 'secret-3' },
  });
  expect(JSON.stringify(record)).not.toContain('secret');
  expect(JSON.parse(JSON.stringify(record))).toEqual({
    type: 'grpc',
    address: 'gpu.example:443',
    tls: { authority: 'theirs', certificate: 'ours' },
  });
});

test('nor does that of a model endpoint', () => {
  const endpoint = { type: 'endpoint', baseUrl: 'http://there/v1', model: 'm', maxConcurrent: null } as const;
  const record = recordedRuntime({ ...endpoint, apiKey: 'secret', keySource: 'the key in KEY' });
  expect(JSON.parse(JSON.stringify(record))).toEqual(endpoint);
});
