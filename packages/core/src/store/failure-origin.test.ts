import { describe, expect, test } from 'vitest';
import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { attemptFailureOrigin, failureMetadata, failureOriginOf, recordedFailure } from './failure-origin.ts';

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });

describe('failure origin', () => {
  test.each([
    ['a refused connection', refused],
    ['fetch that could not connect', new TypeError('fetch failed', { cause: refused })],
    ['an agent that threw such an error', agentFailed(new TypeError('fetch failed', { cause: refused }))],
    ['an HTTP 503 of an OpenAI client', agentFailed(Object.assign(new Error('503'), { status: 503 }))],
    ['an HTTP 502 of the AI SDK, after retries', retryError(Object.assign(new Error('502'), { statusCode: 502 }))],
    [
      'a stream that the gateway broke off',
      agentFailed(Object.assign(new Error('it closes'), { code: 'UNREACHABLE' })),
    ],
    ['several errors, one of them a connection', new AggregateError([new Error('no'), refused])],
    ['a crashed environment', new AgentLightningError({ code: 'ENVIRONMENT_FAILED', message: 'exit code 1' })],
    ['a store that cannot be reached', new AgentLightningError({ code: 'UNREACHABLE', message: 'store' })],
  ])('of %s is the infrastructure', (_name, error) => {
    expect(failureOriginOf(error)).toBe('infrastructure');
  });

  test.each([
    ['an exception', agentFailed(new Error('no such key'))],
    ['an HTTP 400', agentFailed(Object.assign(new Error('400'), { status: 400 }))],
    ['an HTTP 500', agentFailed(Object.assign(new Error('500'), { status: 500 }))],
    ['the time limit', new AgentLightningError({ code: 'TIMEOUT', message: 'too slow' })],
    ['a value that is not an error', 'ECONNREFUSED'],
    ['causes in a circle', circular()],
  ])('of %s is the agent', (_name, error) => {
    expect(failureOriginOf(error)).toBe('agent');
  });

  test('is stored in the metadata of the attempt', () => {
    const metadata = failureMetadata({ metadata: { note: 1 } }, agentFailed(refused));
    expect(metadata).toEqual({
      note: 1,
      error: { code: 'AGENT_FAILED', message: '[AGENT_FAILED] it threw', origin: 'infrastructure' },
    });
    expect(attemptFailureOrigin({ status: 'failed', metadata })).toBe('infrastructure');
    const missing = { code: 'ENVIRONMENT_FAILED', message: 'no package', remedy: 'Install it.' } as const;
    expect(
      recordedFailure({ metadata: failureMetadata({ metadata: null }, new AgentLightningError(missing)) }),
    ).toEqual({
      ...missing,
      message: '[ENVIRONMENT_FAILED] no package',
      origin: 'infrastructure',
    });
  });

  test.each([
    ['succeeded', null],
    ['running', null],
    ['failed', 'agent'],
    ['timeout', 'infrastructure'],
    ['unresponsive', 'infrastructure'],
  ] as const)('of an attempt that is %s without a record is %s', (status, origin) => {
    expect(attemptFailureOrigin({ status, metadata: null })).toBe(origin);
  });
});

function agentFailed(cause: unknown): AgentLightningError {
  return new AgentLightningError({ code: 'AGENT_FAILED', message: 'it threw', cause });
}

function retryError(lastError: Error): Error {
  return Object.assign(new Error('Failed after 3 attempts'), { lastError, errors: [lastError] });
}

function circular(): Error {
  const error = new Error('again');
  error.cause = error;
  return error;
}
