import { expect, test } from 'vitest';
import { endpointOf, subjectOverrides } from './subject-options.ts';

test('an endpoint has an address, a model and the name of the variable with its key', () => {
  expect(endpointOf({})).toBeNull();
  const flags = { endpoint: 'https://api.example.org/v1', model: 'tiny', keyEnv: 'EXAMPLE_KEY' };
  expect(endpointOf(flags)).toEqual({ baseUrl: flags.endpoint, model: 'tiny', apiKey: { env: 'EXAMPLE_KEY' } });
});

test.each([
  [{ endpoint: 'http://127.0.0.1:8000/v1' }, /--endpoint has no model/],
  [{ model: 'tiny' }, /require an endpoint/],
  [{ endpoint: 'localhost:8000', model: 'tiny' }, /not an HTTP address/],
])('%j is an error', (flags, message) => {
  expect(() => endpointOf(flags)).toThrow(message);
});

test('flags that are absent replace nothing', () => {
  expect(Object.keys(subjectOverrides({ seed: 3 }, { concurrency: undefined }))).toEqual(['run']);
});
