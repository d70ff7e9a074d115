import { AgentLightningError, NotFoundError, ValidationError } from '@agentlightning/core';
import { describe, expect, it } from 'vitest';
import { ErrorCategory, ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure, toFailure } from './failure.ts';
import { classifyCallError, toConnectError } from './grpc-error.ts';

const reasons = Object.values(ErrorReason).filter((reason) => reason !== ErrorReason.UNSPECIFIED);

describe('an error on the wire', () => {
  it.each(reasons)('reason %d round-trips, with its gRPC status', (reason) => {
    const thrown = new RuntimeError({
      reason,
      message: 'what happened',
      field: 'trained[0].end',
      datumIndex: 0,
      nextSequence: 0,
      retryAfterMs: 20,
      gradientsDiscarded: true,
      memory: { tokens: 9_000, maxTokensSeenOk: 0 },
      staleness: { versionLag: 3, maxVersionLag: 0 },
      probe: { logprobGap: 0.5, maxLogprobGap: 0.001, tokens: 128 },
      remedy: 'what to do',
    });
    const sent = toConnectError(thrown);
    const caught = classifyCallError(sent);
    expect(caught.kind).toBe('runtime');
    const { code, message, field, datumIndex, nextSequence, retryAfterMs, gradientsDiscarded } = thrown;
    const { memory, staleness, probe, category, remedy } = thrown;
    const places = { field, datumIndex, nextSequence, retryAfterMs };
    const same = { code, message, reason, ...places, gradientsDiscarded, memory, staleness, probe, category, remedy };
    expect(caught.error).toMatchObject(same);
    expect(sent.code).not.toBe(0);
  });

  it('has the memory details and the category', () => {
    const details = { tokens: 9_000, maxTokensSeenOk: 6_000 };
    const thrown = new AgentLightningError({ code: 'RESOURCE_EXHAUSTED', message: 'no memory', details });
    const failure = toFailure(thrown);
    expect(failure).toMatchObject({ reason: ErrorReason.OUT_OF_MEMORY, numTokens: 9_000, maxTokensSeenOk: 6_000 });
    expect(failure.category).toBe(ErrorCategory.SERVER);
    expect(fromFailure(failure)).toMatchObject({ code: 'RESOURCE_EXHAUSTED', memory: details, category: 'server' });
    expect(toFailure(new NotFoundError('Checkpoint', 'x')).category).toBe(ErrorCategory.USER);
  });

  it.each([
    [new NotFoundError('Checkpoint', 'x'), 'NOT_FOUND', 'Checkpoint x not found'],
    [new ValidationError('file', [{ path: 'a', message: 'b' }]), 'RUNTIME_REJECTED', 'file is not valid: a: b'],
    [new AgentLightningError({ code: 'NON_FINITE', message: 'NaN' }), 'NON_FINITE', 'NaN'],
    [new AgentLightningError({ code: 'STORE_FULL', message: 'disk' }), 'INTERNAL', 'disk'],
    [new RangeError('boom'), 'INTERNAL', 'boom'],
    ['just text', 'INTERNAL', 'just text'],
  ])('converts any error of an engine: %s', (thrown, code, text) => {
    const caught = fromFailure(toFailure(thrown));
    expect(caught).toMatchObject({ code, message: `[${code}] ${text}` });
  });
});
