import { aModelCallSpan } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { attemptFailureCause } from './failure-cause.ts';

const failed = (code: string, origin = 'agent') => ({
  status: 'failed' as const,
  metadata: { error: { code, message: 'It failed.', origin } },
});
const call = (sequenceId: number, code: 'OK' | 'ERROR') => ({
  ...aModelCallSpan({ sequenceId }),
  status: { code, message: null },
});

test.each([
  ['an agent that threw', failed('AGENT_FAILED'), [call(1, 'OK')], 'agent_error'],
  [
    'an agent that threw after its last call failed',
    failed('AGENT_FAILED'),
    [call(1, 'OK'), call(2, 'ERROR')],
    'model_error',
  ],
  [
    'an agent that recovered from a failed call',
    failed('AGENT_FAILED'),
    [call(2, 'OK'), call(1, 'ERROR')],
    'agent_error',
  ],
  ['a timeout', failed('TIMEOUT'), [call(1, 'ERROR')], 'timeout'],
  ['a timeout of the model', failed('TIMEOUT', 'infrastructure'), [call(1, 'ERROR')], 'infrastructure'],
  ['a crash', failed('AGENT_CRASHED'), [], 'crash'],
  ['an unreachable service', failed('UNREACHABLE', 'infrastructure'), [], 'infrastructure'],
  ['a lost runner', { status: 'timeout' as const, metadata: null }, [], 'infrastructure'],
] as const)('%s', (...[, attempt, spans, cause]) => {
  expect(attemptFailureCause(attempt, spans)).toBe(cause);
});
