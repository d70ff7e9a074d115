import { AgentLightningError, NotFoundError, ValidationError } from '@agentlightning/core';
import { describe, expect, it } from 'vitest';
import { ErrorReason } from '../gen/agentlightning/runtime/v1/error_pb.ts';
import { RuntimeError } from '../runtime-error.ts';
import { fromFailure, toFailure } from './failure.ts';
import { classifyCallError, toServiceError } from './grpc-error.ts';

const reasons = Object.values(ErrorReason).filter((reason) => reason !== ErrorReason.UNSPECIFIED);

describe('an error on the wire', () => {
  it.each(reasons)('reason %d arrives as it was thrown, in a status of its own', (reason) => {
    const thrown = new RuntimeError({
      reason,
      message: 'what happened',
      field: 'trained[0].end',
      datumIndex: 0,
      nextSequence: 0,
      retryAfterMs: 20,
      gradientsDiscarded: true,
    });
    const sent = Object.assign(new Error('status'), toServiceError(thrown));
    const caught = classifyCallError(sent);
    expect(caught.kind).toBe('answered');
    const { code, message, field, datumIndex, nextSequence, retryAfterMs, gradientsDiscarded } = thrown;
    const same = { code, message, field, datumIndex, nextSequence, retryAfterMs, gradientsDiscarded, reason };
    expect(caught.error).toMatchObject(same);
    expect(sent.code).not.toBe(0);
  });

  it.each([
    [new NotFoundError('Checkpoint', 'x'), 'NOT_FOUND', 'Checkpoint x not found'],
    [new ValidationError('file', [{ path: 'a', message: 'b' }]), 'RUNTIME_REJECTED', 'file is not valid: a: b'],
    [new AgentLightningError({ code: 'NON_FINITE', message: 'NaN' }), 'NON_FINITE', 'NaN'],
    [new AgentLightningError({ code: 'STORE_FULL', message: 'disk' }), 'INTERNAL', 'disk'],
    [new RangeError('boom'), 'INTERNAL', 'boom'],
    ['just text', 'INTERNAL', 'just text'],
  ])('takes whatever an engine throws: %s', (thrown, code, text) => {
    const caught = fromFailure(toFailure(thrown));
    expect(caught).toMatchObject({ code, message: `[${code}] ${text}` });
  });
});
