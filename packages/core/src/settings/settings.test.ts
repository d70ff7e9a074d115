import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { didYouMean, nearestName } from './nearest-name.ts';
import { parseSettings, type SettingsDescription } from './parse-settings.ts';

const schema = z.strictObject({
  steps: z.int().min(1).default(3),
  rate: z.number().gt(0).lt(1).exactOptional(),
  name: z.string().min(1).exactOptional(),
  level: z.enum(['token', 'sequence']).exactOptional(),
  tasks: z.array(z.string()).min(1).exactOptional(),
  agent: z.custom<() => number>((value) => typeof value === 'function', 'must be a function () => number').optional(),
  url: z.url().exactOptional(),
  clip: z.union([z.literal(0), z.number().gt(1)]).exactOptional(),
  policies: z.record(z.string(), z.strictObject({ agents: z.array(z.string()).optional() })).exactOptional(),
  runtime: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('embedded'), model: z.string().optional() }),
      z.strictObject({ type: z.literal('grpc'), address: z.string(), apiKey: z.string().optional() }),
    ])
    .exactOptional(),
});

function refusal(value: unknown, description?: SettingsDescription): string {
  try {
    parseSettings(schema, value, description);
  } catch (error) {
    if (AgentLightningError.isInstance(error) && error.code === 'CONFIG') return error.message;
    throw error;
  }
  throw new TypeError('the settings were accepted');
}

test('valid settings are returned with defaults', () => {
  expect(parseSettings(schema, { rate: 0.5 })).toEqual({ steps: 3, rate: 0.5 });
});

describe('messages have path, requirement and value', () => {
  test.each<[unknown, string]>([
    [{ steps: 0 }, 'steps: must be at least 1, not 0'],
    [{ steps: '8' }, 'steps: must be a number, not "8"'],
    [{ steps: 0.5 }, 'steps: must be a whole number, not 0.5'],
    [{ steps: Number.NaN }, 'steps: must be a number, not NaN'],
    [{ rate: 1 }, 'rate: must be less than 1, not 1'],
    [{ name: '' }, 'name: must not be empty, not ""'],
    [{ tasks: [] }, 'tasks: must have at least 1 entry, not []'],
    [{ tasks: ['a', 1] }, 'tasks.1: must be text, not 1'],
    [{ agent: 'agent.ts' }, 'agent: must be a function () => number, not "agent.ts"'],
    [{ url: 'here' }, 'url: must be a URL, such as http://localhost:8000/v1, not "here"'],
    [{ clip: 'no' }, 'clip: must be 0 or a number, not "no"'],
    [{ level: 'tokens' }, 'level: must be one of "token", "sequence", not "tokens"; did you mean "token"?'],
    [{ runtime: { type: 'grpc' } }, 'runtime.address: is missing; it must be text'],
    [
      { runtime: { type: 'gprc' } },
      'runtime.type: must be one of "embedded", "grpc", not "gprc"; did you mean "grpc"?',
    ],
    [undefined, 'is missing; it must be an object'],
    [[], 'must be an object, not []'],
    [{ steps: 0, rate: 0 }, 'steps: must be at least 1, not 0; rate: must be more than 0, not 0'],
  ])('%j', (value, message) => {
    expect(refusal(value)).toContain(`[CONFIG] ${message}`);
  });

  test('messages have the description and the path prefix', () => {
    expect(refusal({ steps: 0 }, { what: 'algorithm x', within: ['policies', 'one'] })).toContain(
      'algorithm x: policies.one.steps: must be at least 1, not 0',
    );
  });

  test('secrets are redacted and long values truncated', () => {
    expect(refusal({ runtime: { type: 'grpc', address: 1, apiKey: 5 } })).toContain('runtime.apiKey: must be text');
    expect(refusal({ runtime: { type: 'grpc', address: 1, apiKey: 5 } })).not.toContain('not 5');
    expect(refusal({ name: { apiKey: 'sk-1' } })).toContain('name: must be text, not {"apiKey":"…"}');
    // Also outside of secret fields: an address given instead of an object contains its password.
    expect(refusal({ runtime: 'postgresql://agl:pass/w@rd@db:5432/agl' })).toContain(
      'runtime: must be an object, not "postgresql://…@db:5432/agl"',
    );
    expect(refusal({ name: ['http://token@host/v1?at=@', 'http://host:80'] })).toContain(
      'not ["http://…@host/v1?at=@","http://host:80"]',
    );
    expect(refusal({ name: { 'http://a:b/c@d': ['see http://agl:secret@host', 'x://a:b "c" @d'] } })).toContain(
      'not {"http://…@d":["see http://…@host","x://…@d"]}',
    );
    const headers = { Authorization: 'Bearer 1', 'set-cookie': '2', authToken: '3', maxTokens: 4 };
    expect(refusal({ name: { headers } })).toContain(
      'not {"headers":{"Authorization":"…","set-cookie":"…","authToken":"…","maxTokens":4}}',
    );
    const keys = z.strictObject({ apiKeys: z.array(z.string()) });
    expect(() => parseSettings(keys, { apiKeys: [123_456] })).toThrow(/^\[CONFIG\] apiKeys\.0: must be text$/);
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(refusal({ name: circular })).toContain('not an object');
    expect(refusal({ name: Array.from({ length: 999 }, () => 1) }).length).toBeLessThan(300);
  });
});

describe('suggestions for unknown options', () => {
  test.each<[unknown, string]>([
    [{ stepz: 1 }, 'there is no option "stepz"; did you mean "steps"?'],
    [{ policies: { writer: { agent: [] } } }, 'no option "policies.writer.agent"; did you mean "agents"?'],
    [{ runtime: { type: 'grpc', address: '', adress: '' } }, '"runtime.adress"; did you mean "address"?'],
    [{ runtime: { type: 'embedded', adress: '' } }, '"runtime.adress"; there are type, model'],
    [{ zzzzzzzzzz: 1 }, 'no option "zzzzzzzzzz"; there are steps, rate, name, level'],
  ])('%j', (value, message) => {
    expect(refusal(value)).toContain(message);
  });

  test('a hint replaces the suggestion', () => {
    const hintOf = (key: string): string | null => (key === 'epochs' ? 'it is of trainings' : null);
    expect(refusal({ epochs: 1 }, { hintOf })).toContain('there is no option "epochs": it is of trainings');
  });
});

test('the nearest name is found only within a small edit distance', () => {
  const word = fc.stringMatching(/^[a-z]{5,12}$/);
  fc.assert(
    fc.property(word, fc.nat(), (name, place) => {
      const cut = name.slice(0, place % name.length) + name.slice((place % name.length) + 1);
      expect(nearestName(cut, [name])).toBe(name);
      expect(nearestName(`${name}x`, [name, `${name}xyz`])).toBe(name);
      expect(nearestName(name.toUpperCase(), ['0123456789', name])).toBe(name);
    }),
  );
  expect(didYouMean('temperature', ['rate', 'steps'])).toBe('');
  expect(didYouMean('anything', [])).toBe('');
});
