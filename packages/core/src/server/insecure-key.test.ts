import { expect, test } from 'vitest';
import { StoreClient } from '../store-client/store-client.ts';

const apiKey = 'aglk_1';

test.each(['http://store.example:4747', 'http://10.0.0.7:4747', 'http://127.0.0.1.example.com'])(
  'a key for %s is rejected before sending, unless explicitly allowed',
  (baseUrl) => {
    expect(() => new StoreClient({ baseUrl, apiKey })).toThrow(/Store key refused for http/);
    expect(() => new StoreClient({ baseUrl, apiKey, allowInsecureKey: true })).not.toThrow();
    expect(() => new StoreClient({ baseUrl })).not.toThrow();
  },
);

test.each(['https://store.example', 'http://localhost:4747', 'http://127.0.0.1:4747', 'http://[::1]:4747'])(
  'a key for %s is accepted',
  (baseUrl) => {
    expect(() => new StoreClient({ baseUrl, apiKey })).not.toThrow();
  },
);
